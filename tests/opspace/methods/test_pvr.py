"""Lambda^-1 by PV with streams between key bodies (PV-r) is J H^-1 J', on random trees and tasks."""

from opspace.cases import agrees


def test_definition():
    agrees("pvr")
