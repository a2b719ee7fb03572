"""Lambda^-1 by projections and vectors (PV) is J H^-1 J', on random trees and tasks."""

from opspace.cases import agrees


def test_definition():
    agrees("pv")
