"""Lambda^-1 by the recursion of Chang and Khatib is J H^-1 J', on random trees and tasks."""

from opspace.cases import agrees


def test_definition():
    agrees("chang_khatib")
