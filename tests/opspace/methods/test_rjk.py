"""Lambda^-1 by the recursion of Rodriguez, Jain and Kreutz-Delgado is J H^-1 J', on random trees and tasks."""

from opspace.cases import agrees


def test_definition():
    agrees("rjk")
