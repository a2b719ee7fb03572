"""Loops: closed by Gauss-Newton steps, beside the closed forms of four-bars and slider-cranks."""

from __future__ import annotations

import numpy as np
import pytest

from bough import Builder, Dynamics, close_loops, load, relative
from bough.errors import ModelError, NumericalError, TaskError, UnknownNameError
from bough.opspace import Loops, OperationalSpace, closure_tasks, mobility
from opspace.mechanisms import GRIPPER, ROD, four_bar, slider_crank


def freudenstein(angle, ground=1.0, crank=0.3, coupler=0.9, rocker=0.6):
    """The rocker's angle: K1 cos b - K2 cos a + K3 = cos(a - b) (Freudenstein 1954), both branches."""
    K1, K2 = ground / crank, ground / rocker
    K3 = (crank**2 - coupler**2 + rocker**2 + ground**2) / (2 * crank * rocker)
    A, B, C = K1 - np.cos(angle), -np.sin(angle), K2 * np.cos(angle) - K3
    base, spread = np.arctan2(B, A), np.arccos(C / np.hypot(A, B))
    return base + spread, base - spread


@pytest.mark.parametrize("angle", [0.2, 1.0, 2.5, -2.0])
def test_a_four_bar_closes_where_freudenstein_says(angle):
    model = four_bar()
    found = close_loops(model, [angle, -0.5, -1.5], hold=["crank"])
    assert found.success
    assert found.gap < 1e-11
    assert found.q[0] == angle
    gap = min(abs(np.angle(np.exp(1j * (found.q[2] - b)))) for b in freudenstein(angle))
    assert gap < 1e-10


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.0])
def test_a_slider_crank_closes_where_its_triangle_does(angle):
    found = close_loops(slider_crank(), [angle, -angle, 0.9], hold=["crank"])
    np.testing.assert_allclose(found.q[2], 0.3 * np.cos(angle) + np.sqrt(1 - (0.3 * np.sin(angle)) ** 2), atol=1e-10)


def test_mobility_and_redundancy():
    """One freedom is left in each; across the plane a connect has a row too many, and a weld of frames three."""
    model = four_bar()
    q = close_loops(model, [0.6, -0.5, -1.5]).q
    assert mobility(model, q) == (1, 2, 3, 1)
    assert mobility(slider_crank(), close_loops(slider_crank(), [0.7, -0.1, 0.9]).q) == (1, 2, 3, 1)
    rigid = Loops(four_bar(kind="weld")).mobility(q)
    assert (rigid.freedoms, rigid.rank, rigid.redundant) == (0, 3, 3)


def test_a_singular_four_bar_closes_too():
    """A parallelogram folded flat, where the loop may branch."""
    model = four_bar(1.0, 0.5, 1.0, 0.5)
    found = close_loops(model, [0.02, 0.01, -0.03])
    assert found.gap < 1e-11


def test_what_cannot_be_closed_is_named():
    model = four_bar(5.0)
    with pytest.raises(NumericalError, match=r"closure 'pin' stays open by 3\.2 m"):
        close_loops(model, [0.1, 0.2, -3.0])
    nearest = close_loops(model, [0.1, 0.2, -3.0], strict=False)
    assert not nearest.success
    np.testing.assert_allclose(nearest.gap, 3.2, atol=1e-4)
    with pytest.raises(UnknownNameError, match="did you mean 'crank'"):
        close_loops(model, np.zeros(3), hold="krank")
    tree = Builder("tree")
    tree.add_body("rod", **ROD)
    with pytest.raises(ModelError, match="has no closures"):
        close_loops(tree.build(), [0.0])


@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_rows_are_the_rates_of_the_gap(kind):
    model = four_bar(kind=kind)
    loops, rng = Loops(model, dynamics=Dynamics(model, general=True)), np.random.default_rng(1)
    q = close_loops(model, [0.6, -0.5, -1.5], strict=False).q if kind == "connect" else np.array([0.3, -0.8, 0.7])
    v, h = rng.normal(size=3), 1e-6
    rate = (loops.gap(model.integrate(q, h * v)) - loops.gap(model.integrate(q, -h * v))) / (2 * h)
    y = loops.space.jacobian(q) @ v
    # seen from a base that turns, an open gap turns with it
    turning = np.zeros(len(y)) if kind == "connect" else np.r_[np.cross([0, v[2], 0], loops.gap(q)[:3]), 0, 0, 0]
    np.testing.assert_allclose(rate, y + turning, atol=1e-8)
    many = np.stack([q, q + 0.1])
    np.testing.assert_allclose(loops.gap(many)[1], loops.gap(q + 0.1), atol=1e-14)


@pytest.mark.parametrize("reference", ["local", "local_world_aligned"])
@pytest.mark.parametrize("base", ["rocker", "world"])
def test_relative_tasks_at_points(reference, base):
    """The same as between frames that stand at those points."""
    model, rng = four_bar(), np.random.default_rng(0)
    point, other = np.array([0.1, -0.2, 0.3]), np.array([-0.4, 0.1, 0.2])
    builder = Builder("same")
    for name, parent, at in (("crank", "world", 0.0), ("coupler", "crank", 0.3), ("rocker", "world", 1.0)):
        builder.add_body(name, parent, placement=(at, 0, 0), **ROD)
    builder.add_frame("tip", "coupler", point)
    builder.add_frame("seat", base, other)
    same, q = builder.build(), rng.normal(size=3)
    first = relative("coupler", base, reference, point=point, other_point=other)
    second = relative("tip", "seat", reference)
    ours, theirs = (OperationalSpace(m, [t], general=True) for m, t in ((model, first), (same, second)))
    np.testing.assert_allclose(ours.jacobian(q), theirs.jacobian(q), atol=1e-14)
    np.testing.assert_allclose(first.position(ours.dynamics, q), second.position(theirs.dynamics, q), atol=1e-14)
    assert "point=[0.1, -0.2, 0.3]" in first.name
    with pytest.raises(TaskError, match="three finite numbers"):
        relative("coupler", base, point=(0, 1))


def test_a_gripper_from_mjcf_moves_on_its_loop():
    mujoco = pytest.importorskip("mujoco")
    model, theirs = load(GRIPPER), mujoco.MjModel.from_xml_string(GRIPPER)
    loops, start = Loops(model, dynamics=Dynamics(model, general=True)), model.neutral
    np.testing.assert_allclose(loops.gap(start), 0, atol=1e-12)
    assert loops.mobility(start).freedoms == 7
    q = start.copy()
    q[model.joint("driver").q] = 0.3
    q = close_loops(model, q, hold=["driver"], loops=loops).q
    data = mujoco.MjData(theirs)
    for joint in model.joints:
        place = theirs.jnt_qposadr[mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, joint.name)]
        if joint.type != "floating":
            data.qpos[place] = q[joint.q][0]
    data.qpos[:7] = [*q[:3], q[6], *q[3:6]]
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(data.efc_pos[:3], 0, atol=1e-9)


def test_tasks_of_closures_bear_their_names():
    assert [t.name for t in closure_tasks(four_bar())] == ["closure(pin)"]
