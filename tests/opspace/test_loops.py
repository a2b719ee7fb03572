"""Loops: closed by Gauss-Newton steps, beside the closed forms of four-bars and slider-cranks."""

from __future__ import annotations

import numpy as np
import pytest

from bough import Builder, Dynamics, close_loops, load, relative
from bough.errors import ModelError, NumericalError, TaskError, UnknownNameError
from bough.opspace import ConstrainedDynamics, Loops, OperationalSpace, closure_targets, closure_tasks, mobility
from opspace.mechanisms import GRIPPER, ROD, four_bar, rounded_four_bar, slider_crank, two_arms

KINDS = ("connect", "weld", "hinge", "slide", "cylindrical", "distance")


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
    assert (rigid.dofs, rigid.rank, rigid.redundant) == (0, 3, 3)


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
    assert loops.mobility(start).dofs == 7
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


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_kind(kind):
    """Their gap closes, J v is its rate, Jdot v that of J v, and the motion under them is that of the dense system."""
    model, rng = two_arms(kind), np.random.default_rng(2)
    loops = Loops(model, dynamics=Dynamics(model, general=True))
    closed = close_loops(model, model.random_configuration(rng), loops=loops)
    assert closed.gap < 1e-11
    q, space, h = closed.q, loops.space, 1e-6
    J, v = space.jacobian(q), rng.normal(size=model.nv)
    assert J.shape == (model.closures[0].rows, model.nv)
    for task in loops.tasks:
        away = model.integrate(q, 0.3 * v)
        error = task.error(loops.dynamics, away, closure_targets(model)[task.name])
        np.testing.assert_allclose(-error, loops.gap(away), atol=1e-14)
    ahead, behind = (model.integrate(q, s * h * v) for s in (1, -1))
    np.testing.assert_allclose(
        space.drift(q, v), (space.jacobian(ahead) - space.jacobian(behind)) @ v / (2 * h), atol=1e-7
    )
    v -= np.linalg.pinv(J) @ (J @ v)
    ahead, behind = (model.integrate(q, s * h * v) for s in (1, -1))
    np.testing.assert_allclose((loops.gap(ahead) - loops.gap(behind)) / (2 * h), 0, atol=1e-8)
    tau, H = rng.normal(size=model.nv), loops.dynamics.mass_matrix(q)
    push = tau - loops.dynamics.bias_force(q, v)
    m = len(J)
    whole = np.linalg.solve(np.block([[H, -J.T], [J, np.zeros((m, m))]]), np.concatenate([push, -space.drift(q, v)]))
    motion = ConstrainedDynamics(model)(q, v, tau)
    np.testing.assert_allclose(motion.qdd, whole[: model.nv], atol=1e-9 * np.abs(whole).max())
    np.testing.assert_allclose(motion.force, whole[model.nv :], atol=1e-7 * np.abs(whole).max())


@pytest.mark.parametrize(
    ("kind", "joint"),
    [("connect", "spherical"), ("hinge", "revolute"), ("slide", "prismatic"), ("cylindrical", "cylindrical")],
)
def test_a_closure_is_the_joint_that_it_replaces(kind, joint):
    """A free body that a loop ties to the world moves like one on a joint."""
    solid = {"mass": 1.3, "com": (0.1, 0.2, -0.4), "inertia": np.diag([0.03, 0.02, 0.04])}
    tied, jointed = Builder("tied"), Builder("jointed")
    tied.add_body("body", joint="floating", **solid)
    tied.add_closure("body", "world", kind)
    jointed.add_body("body", joint=joint, **solid)
    model, tree = tied.build(), jointed.build()
    rng = np.random.default_rng(3)
    q, v, tau = tree.random_configuration(rng), *rng.normal(size=(2, tree.nv))
    dynamics = Dynamics(tree, general=True)
    T, J = dynamics.placement(q, "body"), dynamics.jacobian(q, "body", "local")
    free = model.neutral.copy()
    free[:3], free[3:] = T[:3, 3], _quaternion(T[:3, :3])
    motion = ConstrainedDynamics(model)(free, J @ v, J @ np.linalg.solve(J.T @ J, tau))
    qdd = dynamics.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(motion.qdd, J @ qdd + _rate(dynamics, tree, q, v) @ v, atol=1e-9)


def _quaternion(R):
    """x y z w of a rotation that is no half turn."""
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 4.0 * w * w]) / (4.0 * w)


def _rate(dynamics, model, q, v, h=1e-6):
    ahead, behind = (dynamics.jacobian(model.integrate(q, s * h * v), "body", "local") for s in (1, -1))
    return (ahead - behind) / (2 * h)


@pytest.mark.parametrize("seed", range(6))
def test_loops_of_rounded_numbers_are_closed_as_well_as_they_can_be(seed):
    """Six digits leave some 1e-7 m across the plane, which no motion closes; the mechanism still moves and is held."""
    model = rounded_four_bar(seed)
    loops = Loops(model)
    q = close_loops(model, [0.6, -0.5, -1.2], loops=loops).q
    found = close_loops(model, q + [0.2, 0.0, 0.0], hold=["crank"], loops=loops)
    assert found.success
    assert found.q[0] == q[0] + 0.2
    assert 1e-10 < found.gap < 1e-5 * loops.scale[0]
    assert found.iterations < 20
    J = loops.space.jacobian(found.q)
    U, sigma, _ = np.linalg.svd(J[:, 1:], full_matrices=False)
    np.testing.assert_allclose((U.T @ loops.gap(found.q))[sigma > 1e-4], 0, atol=1e-10)  # the least squares
    assert loops.mobility(found.q).dofs == 1
    with pytest.warns(DeprecationWarning, match="called dofs"):
        assert loops.mobility(found.q).freedoms == 1
    assert loops.openness(found.q) == pytest.approx(np.abs(loops.gap(found.q) / loops.scale).max())
    with pytest.raises(NumericalError, match="closure 'pin' stays open by"):
        close_loops(model, q, tolerance=1e-13, loops=loops)


def test_the_size_of_a_loop_does_not_depend_on_where_it_stands():
    for far in (0.0, 100.0):
        builder = Builder("far")
        builder.add_body("a", placement=(far, 0, 0), **ROD)
        builder.add_body("b", placement=(far + 0.3, 0, 0), **ROD)
        builder.add_closure("a", "b", point=(0.3, 0, 0.4))
        np.testing.assert_allclose(Loops(builder.build()).scale, 0.5, rtol=1e-12)
