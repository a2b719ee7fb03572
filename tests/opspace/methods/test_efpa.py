"""Lambda^-1 by force propagation (EFPA) is J H^-1 J', on random trees and tasks."""

from opspace.cases import agrees


def test_definition():
    agrees("efpa")
