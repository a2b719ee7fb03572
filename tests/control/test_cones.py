"""Second-order cones: friction in every direction alike, soles as four corners, and solvers that take none."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.control import Contact, Gains, Reference, WholeBody
from bough.control.cones import cone_set
from bough.errors import OptionError
from control.test_whole_body import DYN, FEET, MODEL, STANCE

pytest.importorskip("clarabel")
MU = 0.3


def pushed(direction, cone):
    """How hard the ground pushes against a centre of mass that is asked to accelerate wildly to one side."""
    controller = WholeBody(
        MODEL, [bough.center_of_mass()], [Contact(foot, MU) for foot in FEET], cone=cone, gains=Gains(0.0, 0.0),
        references={"center_of_mass": Reference(acceleration=50.0 * np.array([*direction, 0.0]))}, posture=STANCE,
        general=True,
    )  # fmt: skip
    command = controller(0.0, STANCE, np.zeros(MODEL.nv))
    assert command.success
    return np.array([command.forces[foot] for foot in FEET]), command


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 4])
def test_friction_is_alike_in_all_directions(angle):
    direction = (np.cos(angle), np.sin(angle))
    forces, command = pushed(direction, "second_order")
    side = np.linalg.norm(forces[:, :2], axis=1)
    assert (side <= MU * forces[:, 2] + 1e-5).all()
    total = forces.sum(axis=0)
    np.testing.assert_allclose(np.linalg.norm(total[:2]), MU * total[2], rtol=2e-2)
    np.testing.assert_allclose(total[:2] / np.linalg.norm(total[:2]), direction, atol=5e-2)
    inside, _ = pushed(direction, "pyramid")
    assert np.linalg.norm(inside.sum(axis=0)[:2]) < 1.001 * np.linalg.norm(total[:2])
    J = bough.OperationalSpace(MODEL, [bough.position(foot) for foot in FEET], general=True).jacobian(STANCE)
    tau = DYN.inverse_dynamics(STANCE, np.zeros(MODEL.nv), command.qdd) - J.T @ forces.ravel()
    np.testing.assert_allclose(tau, command.tau, atol=1e-4)


def test_along_an_axis_a_pyramid_gives_less():
    exact, inside = (pushed((1.0, 0.0), cone)[0].sum(axis=0) for cone in ("second_order", "pyramid"))
    assert exact[0] / exact[2] == pytest.approx(MU, rel=0.02)
    assert inside[0] / inside[2] == pytest.approx(MU / np.sqrt(2), rel=0.02)


def test_the_corners_of_a_rectangle_add_up_to_its_wrench():
    found = cone_set((Contact("foot", 0.5, size=(0.2, 0.1)), Contact("hand", 0.4)))
    assert found.M.shape == (9, 15)
    np.testing.assert_allclose(found.friction, [0.5] * 4 + [0.4])
    g = np.zeros(15)
    g[2] = 10.0  # the first corner is at (-0.1, -0.05)
    np.testing.assert_allclose(found.M @ g, [0, 0, 10, -0.5, 1.0, 0, 0, 0, 0])


def test_solvers_without_cones_and_other_shapes_are_refused():
    with pytest.raises(OptionError, match="'daqp' takes no second-order cones"):
        WholeBody(MODEL, [bough.center_of_mass()], [Contact(FEET[0])], cone="second_order", solver="daqp")
    with pytest.raises(OptionError, match="'pyramid' or 'second_order'"):
        WholeBody(MODEL, [bough.center_of_mass()], [Contact(FEET[0])], cone="ice")


def test_conflicts_are_named_here_too():
    controller = WholeBody(
        MODEL, [bough.center_of_mass()], [Contact(foot, MU, most=1.0) for foot in FEET], cone="second_order",
        posture=STANCE, general=True,
    )  # fmt: skip
    v = np.zeros(MODEL.nv)
    v[6:] = 100.0
    command = controller(0.0, STANCE, v)
    assert not command.success
    assert any("velocity or position limit" in name for name in command.conflicts)
