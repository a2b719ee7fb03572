"""Lambda^-1 by the LTDL factor of H is J H^-1 J', on random trees and tasks."""

from opspace.cases import agrees


def test_definition():
    agrees("ltdl")
