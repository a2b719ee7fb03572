"""The centre of mass, its velocity and its Jacobian, by definition."""

from quantities import hold


def test_definition():
    hold("center_of_mass", "center_of_mass_velocity", "center_of_mass_jacobian")
