"""Placements, velocities and bias accelerations of frames in all references, by definition."""

from bough.dynamics.kinematics import REFERENCES
from quantities import hold


def test_definition():
    hold(
        "placement", *(f"{name} {reference}" for name in ("velocity", "bias_acceleration") for reference in REFERENCES)
    )
