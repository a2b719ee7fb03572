"""Momentum about the world's origin and about the centre of mass, by definition."""

from quantities import hold


def test_definition():
    hold("momentum", "centroidal_momentum")
