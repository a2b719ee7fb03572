"""Constrained dynamics beside the dense KKT system, Pinocchio and MuJoCo; loops, impacts, batches, C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import bough
from bough import close_loops, load, pose, position, relative, zoo
from bough.compile.routine import interpret
from bough.errors import ModelError, TaskError
from bough.opspace import ConstrainedDynamics, ConstrainedInverseDynamics, OperationalSpace, closure_tasks
from bough.opspace.sweeps.held import IMPACT
from models import random_state, random_twin
from opspace.cases import random_case
from opspace.mechanisms import GRIPPER, four_bar

pin = pytest.importorskip("pinocchio")


def state(model, seed=0, batch=None):
    rng = np.random.default_rng(seed)
    shape = (model.nv,) if batch is None else (batch, model.nv)
    return model.random_configuration(rng, batch), rng.normal(size=shape), rng.normal(size=shape)


def kkt(space, q, v, tau, target):
    """The least force that fits, and the motion under it, by dense algebra."""
    H, C, J = space.dynamics.mass_matrix(q), space.dynamics.bias_force(q, v), space.jacobian(q)
    A = J @ np.linalg.solve(H, J.T)
    gap = target - space.drift(q, v) - J @ np.linalg.solve(H, tau - C)
    force = np.linalg.pinv(A, rcond=1e-10, hermitian=True) @ gap
    return np.linalg.solve(H, tau - C + J.T @ force), force, A


def compose(cd):
    """Both routes to held motion, and impacts."""
    return (*cd._routes.by_name.values(), cd._routes.by_factor(IMPACT))


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(24))
def test_random_rows_on_random_trees_meet_the_kkt_system(seed):
    """Any joints, any tasks, redundant or not: rows that can be met are met, and forces are the least."""
    twin, tasks = random_case(seed, 6)
    space = OperationalSpace(twin.model, tasks, general=True)
    q, v, tau, _ = random_state(twin.model, seed)
    x = np.random.default_rng(seed).normal(size=twin.model.nv)
    target = space.jacobian(q) @ x + space.drift(q, v)
    qdd, force, A = kkt(space, q, v, tau, target)
    cd = ConstrainedDynamics(space, iterations=6)
    values = np.linalg.eigvalsh(A)
    small = values[values > 1e-10 * values.max()].min() / values.max()
    for found in (
        *(interpret(*way, q, v, tau, target, [0.0], [1e-7]) for way in compose(cd)[:2]), cd(q, v, tau, target),
    ):  # fmt: skip
        tolerance = 1e-9 / small
        np.testing.assert_allclose(found[0], qdd, rtol=tolerance, atol=tolerance * np.abs(qdd).max())
        J = space.jacobian(q)
        np.testing.assert_allclose(J.T @ found[1], J.T @ force, atol=tolerance * (1 + np.abs(J.T @ force).max()))
        assert found[2] < tolerance * (1 + np.abs(target).max())
    if small > 1e-3:
        np.testing.assert_allclose(found[1], force, rtol=1e-6, atol=1e-6 * np.abs(force).max())


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(8))
def test_impacts_stop_the_rows_and_nothing_else(seed):
    twin, tasks = random_case(seed, 5)
    space = OperationalSpace(twin.model, tasks, general=True)
    q, v, _, _ = random_state(twin.model, seed)
    cd, J, H = ConstrainedDynamics(space, iterations=6), space.jacobian(q), space.mass_matrix(q)
    e = 0.5 * np.ones(tasks.size)
    for found in (interpret(*compose(cd)[2], q, v, e, [1e-7]), cd.impact(q, v, 0.5)):
        np.testing.assert_allclose(J @ found[0], -0.5 * J @ v, atol=1e-6 * (1 + np.abs(J @ v).max()))
        np.testing.assert_allclose(H @ (found[0] - v), J.T @ found[1], atol=1e-8 * (1 + np.abs(J.T @ found[1]).max()))
    stopped = cd.impact(q, v).v
    assert stopped @ H @ stopped <= v @ H @ v * (1 + 1e-12)


def test_beside_pinocchio():
    """Two feet held, 6 rows each, in the frames' own axes; forces too."""
    parent, joints = [-1, 0, 1, 2, 0, 4, 5], ["floating", *["revolute"] * 6]
    twin = random_twin(3, parent, joints)
    q, v, tau, _ = random_state(twin.model, 3)
    frames = ("f3", "f6")
    cd = ConstrainedDynamics(OperationalSpace(twin.model, [pose(f, "local") for f in frames]))
    ours = cd(q, v, tau)
    contacts, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for f in frames:
        frame = twin.pin.frames[twin.pin.getFrameId(f)]
        six = pin.ContactType.CONTACT_6D
        contacts.append(pin.RigidConstraintModel(six, twin.pin, frame.parentJoint, frame.placement, pin.LOCAL))
        data.append(contacts[-1].createData())
    d = twin.pin.createData()
    pin.initConstraintDynamics(twin.pin, d, contacts, data)
    state = twin.q_to_pin(q), twin.v_to_pin(v), twin.v_to_pin(tau)
    qdd = pin.constraintDynamics(twin.pin, d, *state, contacts, data, pin.ProximalSettings(1e-12, 1e-12, 20))
    np.testing.assert_allclose(ours.qdd, twin.from_pin(qdd), rtol=1e-6, atol=1e-6 * np.abs(qdd).max())


def test_two_feet_and_a_loop_on_top_in_batches_and_single_precision():
    """A grasp that closes a loop which the feet close already: 18 rows, of which some are redundant for the arm."""
    model = zoo.humanoid()
    hands = relative("left_hand", "right_hand")
    space = OperationalSpace(model, [pose("left_foot"), pose("right_foot"), hands])
    cd = ConstrainedDynamics(space)
    q, v, tau = state(model, batch=5)
    many = cd(q, v, tau)
    for r in range(5):
        one = cd(q[r], v[r], tau[r])
        np.testing.assert_allclose(many.qdd[r], one.qdd, rtol=1e-8, atol=1e-8)
        expected = kkt(space, q[r], v[r], tau[r], np.zeros(18))
        np.testing.assert_allclose(one.qdd, expected[0], rtol=1e-7, atol=1e-7 * np.abs(expected[0]).max())
    single = cd(*(x.astype(np.float32) for x in (q, v, tau)))
    assert single.qdd.dtype == single.force.dtype == np.float32
    scale = np.abs(many.qdd).max()
    np.testing.assert_allclose(single.qdd, many.qdd, atol=2e-2 * scale)


@pytest.mark.parametrize("general", [True, False])
def test_loops_of_the_model_are_held(general):
    model = four_bar()
    q = close_loops(model, [0.6, -0.5, -1.5]).q
    v, tau = np.zeros(3), np.array([0.3, 0, 0])
    cd = ConstrainedDynamics(OperationalSpace(model, [position("crank", point=(0.3, 0, 0))], general=general))
    assert list(cd.tasks.slices) == ["position(crank, point=[0.3, 0.0, 0.0])", "closure(pin)"]
    held = cd(q, v, tau)
    np.testing.assert_allclose(held.qdd, 0, atol=1e-8)  # the crank is held, and so all is
    free = ConstrainedDynamics(OperationalSpace(model, closure_tasks(model), general=general))
    assert free.tasks.size == 3
    found = free(q, v, tau)
    assert found.residual < 1e-9
    expected = kkt(free.space, q, v, tau, np.zeros(3))
    np.testing.assert_allclose(found.qdd, expected[0], rtol=1e-7)
    np.testing.assert_allclose(found.force, expected[1], atol=1e-6)


def test_a_gripper_moves_as_mujocos_matrices_say():
    """H, C and J of MuJoCo, its constraint made hard."""
    mujoco = pytest.importorskip("mujoco")
    model, theirs = load(GRIPPER), mujoco.MjModel.from_xml_string(GRIPPER)
    start = model.neutral.copy()
    start[model.joint("driver").q] = 0.2
    q = close_loops(model, start, hold=["driver"]).q
    cd = ConstrainedDynamics(OperationalSpace(model, closure_tasks(model)))
    data = mujoco.MjData(theirs)
    data.qpos[:] = [*q[:3], q[6], *q[3:6], *q[7:]]
    v = np.zeros(model.nv)
    v[6:] = cd.impact(q, np.r_[np.zeros(6), 1.0, -0.5, 0.3]).v[6:]
    J = cd.space.jacobian(q)
    v -= np.linalg.pinv(J) @ (J @ v)
    data.qvel[:] = v  # at the identity the base's axes are the world's
    tau = np.random.default_rng(0).normal(size=model.nv) * 0.01
    mujoco.mj_forward(theirs, data)
    H = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, H)
    ours = cd(q, v, tau)
    np.testing.assert_allclose(cd.space.mass_matrix(q)[6:, 6:], H[6:, 6:], rtol=1e-9)
    rows = data.efc_J.reshape(data.nefc, theirs.nv)[:3]
    np.testing.assert_allclose(np.abs(J[:, 6:]), np.abs(rows[:, 6:]), atol=1e-10)
    residual = H[6:] @ ours.qdd + data.qfrc_bias[6:] - tau[6:] - rows[:, 6:].T @ ours.force
    np.testing.assert_allclose(residual, 0, atol=1e-9)


def test_stabilised_rows_come_home():
    """Gaps and velocities along the rows decay as a critically damped oscillator's."""
    model = zoo.arm(7).with_gravity((0, 0, 0))
    task = position("hand")
    cd = ConstrainedDynamics(OperationalSpace(model, [task], general=True), stabilise=0.05)
    q, v, tau = state(model)
    home = task.position(cd.dynamics, q)[:3, 3] + [0.01, -0.02, 0.015]
    v, tau = 0.1 * v, 0.0 * tau
    for _ in range(1000):
        v = v + 1e-3 * cd(q, v, tau, gap=-task.error(cd.dynamics, q, home)).qdd
        q = model.integrate(q, 1e-3 * v)
    np.testing.assert_allclose(task.position(cd.dynamics, q)[:3, 3], home, atol=1e-6)


@pytest.mark.parametrize(("seed", "stabilise"), [(0, None), (1, None), (1, 0.1), (2, None)])
def test_mimic_joints_on_bodies_that_turn_meet_the_kkt_system(seed, stabilise):
    """Gears on moving bodies, a follower of a joint beside it, above it and on another limb: ties never drift."""
    rng = np.random.default_rng(seed)
    builder = bough.Builder("geared")
    floating = seed % 2 == 1
    builder.add_body("base", joint="floating" if floating else "revolute", mass=2.0, inertia=0.1 * np.eye(3))
    for name, up, mimic in (
        ("a", "base", None), ("beside", "base", ("a", -1.2, 0.0)), ("b", "a", None), ("above", "b", ("a", 0.7, 0.1)),
        ("c", "base", None), ("far", "c", ("b", -0.8, 0.0)), ("slide", "b", ("c", 0.05, 0.0)),
    ):  # fmt: skip
        kind = "prismatic" if name == "slide" else "revolute"
        more = {"mimic": mimic} if mimic else {}
        place = {"placement": rng.normal(size=3) * 0.3, "axis": rng.normal(size=3), "com": rng.normal(size=3) * 0.1}
        builder.add_body(name, up, kind, mass=rng.uniform(0.1, 1.0), inertia=0.02 * np.eye(3), **place, **more)
    model = builder.build()
    space = OperationalSpace(model, [position("far"), bough.orientation("slide")], general=seed > 0)
    q, v, tau = state(model, seed)
    found = ConstrainedDynamics(space, stabilise=stabilise, iterations=20)(q, v, tau)
    target = np.zeros(6) if stabilise is None else -2.0 / stabilise * (space.jacobian(q) @ v)
    qdd, force, A = kkt(space, q, v, tau, target)
    H, J = space.dynamics.mass_matrix(q), space.jacobian(q)
    left = H @ found.qdd + space.dynamics.bias_force(q, v) - tau - J.T @ found.force
    np.testing.assert_allclose(left, 0.0, atol=1e-8 * np.abs(tau - left).max())
    if np.linalg.cond(A) < 1e6:
        np.testing.assert_allclose(found.qdd, qdd, atol=1e-6 * np.abs(qdd).max())
        np.testing.assert_allclose(found.force, force, atol=1e-6 * np.abs(force).max())


def test_mimic_joints_and_nonsense():
    builder = bough.Builder("tied")
    for name, up, mimic in (("a", "world", None), ("b", "a", ("a", 0.5, 0.1)), ("c", "b", None), ("d", "c", None)):
        options = {"mimic": mimic} if mimic else {}
        builder.add_body(name, up, placement=(0.5, 0, 0.1), mass=1.0, com=(0.2, 0.1, 0), axis=(0.3, 1, 0.2), **options)
    model = builder.build()
    space = OperationalSpace(model, [position("d")], general=True)
    q, v, tau = state(model)
    cd = ConstrainedDynamics(space)
    np.testing.assert_allclose(space.jacobian(q) @ cd(q, v, tau).qdd + space.drift(q, v), 0, atol=1e-6)
    np.testing.assert_allclose(space.jacobian(q) @ cd.impact(q, v).v, 0, atol=1e-6)
    with pytest.raises(TaskError, match="stabilise"):
        cd(q, v, tau, gap=np.zeros(3))
    with pytest.raises(TaskError, match=r"\(3,\), got \(2,\)"):
        cd(q, v, tau, np.zeros(2))
    with pytest.raises(TaskError, match="between 0 and 1"):
        cd.impact(q, v, 1.5)
    with pytest.raises(TaskError, match="above zero"):
        ConstrainedDynamics(space, stabilise=-1.0)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_exported_to_c(tmp_path):
    model = four_bar()
    cd = ConstrainedDynamics(OperationalSpace(model, closure_tasks(model)))
    source, _ = cd.export_c(tmp_path / "four_bar.c", prefix="bar")
    library = tmp_path / "model.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    q, (_, v, tau) = close_loops(model, [0.6, -0.5, -1.5]).q, state(model)
    outputs = np.zeros(3), np.zeros(3), np.zeros(1)
    given = q, v, tau, np.zeros(3), np.zeros(1), np.array([1e-7])
    call = ctypes.CDLL(str(library)).bar_constrained_dynamics
    call.restype = None
    call(*(ctypes.c_void_p(a.ctypes.data) for a in (*given, *outputs)))
    np.testing.assert_allclose(outputs[0], cd(q, v, tau).qdd, rtol=1e-9)


def test_long_chains_are_served_by_general_code():
    model = zoo.chain(200)
    frame = model.body_names[-1]
    space = OperationalSpace(model, [position(frame)])
    cd = ConstrainedDynamics(space)
    assert cd._routes.general
    found = cd(model.neutral, np.zeros(model.nv), np.zeros(model.nv))
    np.testing.assert_allclose(space.jacobian(model.neutral) @ found.qdd, 0, atol=1e-6 * np.abs(found.qdd).max())


@pytest.mark.parametrize("stabilise", [None, 0.1])
def test_a_row_that_fails_stops_no_other(stabilise):
    model = bough.zoo.arm(4)
    found = ConstrainedDynamics(OperationalSpace(model, [bough.position(model.body_names[-1])]), stabilise=stabilise)
    q = model.random_configuration(np.random.default_rng(0), 4)
    v, tau = np.ones((4, model.nv)), np.zeros((4, model.nv))
    expected = found(q, v, tau)
    v[1, 0] = np.nan
    rows, status = found.with_status(q, v, tau)
    assert status.tolist() == [0, 2, 0, 0]
    assert np.isnan(rows.qdd[1]).all()
    for r in (0, 2, 3):
        np.testing.assert_allclose(rows.qdd[r], expected.qdd[r], rtol=1e-12)
        np.testing.assert_allclose(rows.force[r], expected.force[r], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda space: ConstrainedDynamics(space.model), "has no closures"),
        (lambda space: ConstrainedDynamics(space, stabilise="soon"), "a time above zero"),
        (lambda space: ConstrainedDynamics(space, iterations=1.5), "iterations is a whole number"),
        (
            lambda space: ConstrainedDynamics(space).impact(np.zeros(4), np.zeros(4), [0.1, 0.2]),
            "one number or 3",
        ),
        (lambda space: ConstrainedDynamics(space)(np.zeros(4), np.zeros(4), np.zeros(4), "up"), "real numbers"),
        (lambda space: ConstrainedDynamics(space)("here", np.zeros(4), np.zeros(4)), "real numbers"),
    ],
)
def test_what_is_no_number_is_refused(make, words):
    model = bough.zoo.arm(4)
    with pytest.raises(bough.BoughError, match=words):
        make(OperationalSpace(model, [bough.position(model.body_names[-1])], general=True))


def test_the_cheaper_route_is_taken_and_both_agree():
    """An arm is short: its factor is cheap. A chain is deep: sweeps are. In single precision sweeps keep digits."""
    for model, choice in ((bough.zoo.arm(7), "factor"), (bough.zoo.chain(20), "pv")):
        space = OperationalSpace(model, [bough.pose(model.body_names[-1])])
        found = ConstrainedDynamics(space)
        plan = found.plan()
        assert plan.choice == choice
        assert plan.choice == min(plan.total, key=plan.total.get)
        assert "factor" in str(plan)
        q, v, tau = state(model, 0)
        one = found._settings[np.dtype(np.float64)]
        ways = [w._replace(routine=w.routine.without("damping")) for w in found._routes.by_name.values()]
        (a, f, _), (b, g, _) = (way.bind(found.tasks).call(q, v, tau, one[0], one[2]) for way in ways)
        np.testing.assert_allclose(a, b, atol=1e-8 * np.abs(a).max())
        np.testing.assert_allclose(f, g, atol=1e-6 * np.abs(f).max())
        single = ConstrainedDynamics(OperationalSpace(model, [bough.position(model.body_names[-1])], dtype=np.float32))
        assert single.plan().choice == "pv"
    with pytest.raises(TaskError, match="have one route"):
        ConstrainedDynamics(OperationalSpace(model, [bough.pose(model.body_names[-1])], general=True)).plan()


def test_rows_that_contradict_each_other_are_a_status():
    """Two prescribed accelerations for one point: in compiled code and in general code, the other rows as ever."""
    model = bough.zoo.arm(4)
    end, rng = model.body_names[-1], np.random.default_rng(0)
    q, rest = model.random_configuration(rng, 3), np.zeros((3, model.nv))
    wanted = np.zeros((3, 6))
    wanted[1, 0] = 1.0
    for general in (False, True):
        space = OperationalSpace(model, [bough.position(end), bough.position(end, name="again")], general=general)
        found, status = ConstrainedDynamics(space).with_status(q, rest, rest, wanted)
        assert status.tolist() == [0, 4, 0]
        assert found.residual[1] == pytest.approx(np.sqrt(0.5), rel=1e-3)
        bad = rest.copy()
        bad[2, 1] = np.inf
        assert ConstrainedDynamics(space).with_status(q, rest, bad)[1].tolist() == [0, 0, 2]


def test_rows_that_nothing_can_move_are_met_or_show_in_the_residual():
    """The origin of a body on its own axis: no force moves it, and none is needed."""
    model = bough.zoo.star(3)
    found = ConstrainedDynamics(OperationalSpace(model, [bough.position(model.body_names[-1])]))
    q, v, tau = np.zeros(3), np.ones(3), np.ones(3)
    motion = found(q, v, tau)
    np.testing.assert_allclose(motion.qdd, bough.Dynamics(model, general=True).forward_dynamics(q, v, tau), atol=1e-9)
    np.testing.assert_allclose(motion.force, 0, atol=1e-9)
    assert found(q, v, tau, np.array([1.0, 0.0, 0.0])).residual == pytest.approx(1.0)


def test_a_mechanism_whose_only_constraints_are_its_loops():
    model = four_bar()
    q, rng = close_loops(model, [0.6, -0.5, -1.5]).q, np.random.default_rng(0)
    v, tau = rng.normal(size=(2, 3))
    space = OperationalSpace(model, closure_tasks(model))
    for one in (ConstrainedDynamics, ConstrainedInverseDynamics):
        alone, same = one(model)(q, v, tau), one(space)(q, v, tau)
        for x, y in zip(alone, same, strict=True):
            np.testing.assert_array_equal(x, y)
        with pytest.raises(ModelError, match="has no closures"):
            one(zoo.arm(3))
        with pytest.raises(TaskError, match="or a model with loops, got 'arm'"):
            one("arm")
    with pytest.raises(TaskError, match=r"the task set is empty.*ConstrainedDynamics\(model\)"):
        OperationalSpace(model, [])
