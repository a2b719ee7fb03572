"""Jacobians of frames in all references, by definition."""

from bough.dynamics.kinematics import REFERENCES
from quantities import hold


def test_definition():
    hold(*(f"jacobian {reference}" for reference in REFERENCES))
