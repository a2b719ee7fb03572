"""OperationalSpace: identities, batches, outside engines, bad input."""

from __future__ import annotations

import copy
import pickle
from importlib.metadata import files

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.routine import interpret
from bough.compile.settings import on_threads
from bough.errors import BoughError, NonFiniteError, ShapeError, TaskError, UnknownNameError
from bough.opspace import (
    METHODS,
    OperationalSpace,
    TaskSet,
    center_of_mass,
    joint,
    momentum,
    orientation,
    pose,
    position,
    relative,
    rows,
)
from bough.opspace.methods import dof_tree, prepare
from bough.opspace.sweeps.factored import FACTORED
from opspace.cases import state

pin = pytest.importorskip("pinocchio")

pytestmark = pytest.mark.interpreted


def humanoid_space(**options):
    return OperationalSpace(zoo.humanoid(), [pose(f) for f in HANDS_AND_FEET], general=True, **options)


HANDS_AND_FEET = [f for f in zoo.humanoid().frame_names if f.endswith(("hand", "foot"))]


@pytest.fixture(scope="module")
def space():
    return humanoid_space()


def test_identities(space):
    q, v = state(space.model)
    op, H = space(q, v), bough.Dynamics(space.model, general=True).mass_matrix(q)
    m = space.tasks.size
    np.testing.assert_allclose(op.inertia @ op.inverse_inertia, np.eye(m), atol=1e-9)
    np.testing.assert_allclose(op.J @ op.jbar, np.eye(m), atol=1e-9)
    np.testing.assert_allclose(op.J @ np.linalg.solve(H, op.nullspace.T), 0, atol=1e-9)
    np.testing.assert_allclose(op.nullspace @ op.nullspace, op.nullspace, atol=1e-9)
    np.testing.assert_allclose(op.mu_rho, -op.inertia @ op.bias, rtol=1e-12)
    np.testing.assert_allclose(op.velocity, op.J @ v)
    F, tau0 = np.random.default_rng(1).normal(size=m), np.random.default_rng(2).normal(size=space.model.nv)
    np.testing.assert_allclose(op.joint_forces(F, tau0), op.J.T @ F + op.nullspace.T @ tau0, atol=1e-9)
    np.testing.assert_allclose(op.joint_forces(F), op.J.T @ F)
    np.testing.assert_allclose(op.jbar.T @ op.joint_forces(F, tau0), F, atol=1e-9)
    assert op.rank == m


def test_task_force_gives_the_acceleration_it_should(space):
    q, v = state(space.model, 3)
    op, dynamics = space(q, v), bough.Dynamics(space.model, general=True)
    F, tau0 = (
        np.random.default_rng(1).normal(size=space.tasks.size),
        np.random.default_rng(2).normal(size=space.model.nv),
    )
    expected = op.inverse_inertia @ F + op.bias
    for tau in (op.joint_forces(F), op.joint_forces(F, tau0)):
        actual = op.J @ dynamics.forward_dynamics(q, v, tau) + op.drift
        np.testing.assert_allclose(actual, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("general", [True, False])
def test_full_pass_equals_the_parts(general):
    space = OperationalSpace(zoo.arm(9), [pose("hand"), position("link4")], general=general, singular="damp")
    q, v = state(space.model)
    full, op = space.full(q, v), space(q, v)
    for name in full._fields:
        expected = getattr(op, name)
        np.testing.assert_allclose(getattr(full, name), expected, atol=1e-10 * np.abs(expected).max(), err_msg=name)
    np.testing.assert_allclose(full.jbar, op.jbar, atol=1e-10 * np.abs(op.jbar).max())
    np.testing.assert_allclose(op.nullspace, np.eye(9) - op.jbar @ op.J, atol=1e-9)


@pytest.mark.parametrize("threads", [1, 2])
def test_full_pass_of_a_batch(threads):
    """In parts, by several threads: as one row after the other; what is refused is named by its row of all."""
    space = OperationalSpace(zoo.arm(7), [pose("hand")])
    q, v = state(space.model, 3, batch=1200)
    bent, straight = q[0].copy(), q[346].copy()
    q = bent + 0.01 * v
    with on_threads(threads):
        full = space.full(q, v)
        for k in (0, 63, 64, 601, 1199):
            for found, expected in zip(full, space.full(q[k], v[k]), strict=True):
                np.testing.assert_allclose(found[k], expected, atol=1e-9 * np.abs(expected).max())
        q[701] = np.nan
        with pytest.raises(BoughError, match=r"q\[\(701, 0\)\] is nan"):
            space.full(q, v)
        q[701] = straight
        with pytest.raises(TaskError, match="singular at row 701 of the batch"):
            space.full(q, v)


def test_what_is_announced_comes_from_one_call():
    tasks = TaskSet(zoo.arm(9), [pose("hand")])
    q, v = state(tasks.model, 4)
    ahead = OperationalSpace(tasks.model, tasks, also=["nullspace"])
    assert ahead.foresees_jbar
    announced, plain = ahead(q, v), OperationalSpace(tasks.model, tasks, general=True)(q, v)
    for name in ("J", "bias", "inverse_inertia", "inertia", "jbar", "nullspace"):
        expected = getattr(plain, name)
        np.testing.assert_allclose(
            getattr(announced, name), expected, atol=1e-10 * np.abs(expected).max(), err_msg=name
        )
    with pytest.raises(TaskError, match="no velocity"):
        _ = ahead(q).bias


def test_batches_equal_single_calls(space):
    q, v = state(space.model, batch=5)
    many = space(q, v)
    for k in range(5):
        one = space(q[k], v[k])
        for name in ("J", "bias", "drift", "inverse_inertia", "inertia", "jbar", "nullspace", "mu_rho", "velocity"):
            a, b = getattr(many, name)[k], getattr(one, name)
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-10 * np.abs(b).max(), err_msg=name)


ROBOTS = {
    "talos_reduced.urdf": ("arm_left_7_link", "arm_right_7_link", "leg_left_6_link", "leg_right_6_link"),
    "g1_29dof_rev_1_0.urdf": (
        "left_wrist_yaw_link",
        "right_wrist_yaw_link",
        "left_ankle_roll_link",
        "right_ankle_roll_link",
    ),
}


@pytest.mark.parametrize("robot", ROBOTS)
def test_real_robots_against_pinocchio(robot):
    path = next((str(f.locate()) for f in files("example-robot-data") or [] if f.name == robot), None)
    if path is None:
        pytest.skip(f"example-robot-data has no {robot}")
    frames, theirs = ROBOTS[robot], pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    model, data = bough.load(path, floating_base=True), theirs.createData()
    q, v = state(model)
    names = list(model.joint_names)
    order = [model.joints[names.index(n)] if n in names else model.joints[0] for n in theirs.names[1:]]
    x = np.concatenate([q[j.q] for j in order])
    columns = np.concatenate([np.arange(model.nv)[j.v] for j in order])
    ids = [theirs.frames[theirs.getFrameId(f)].parentJoint for f in frames]
    places = [theirs.frames[theirs.getFrameId(f)].placement for f in frames]
    six = pin.ContactType.CONTACT_6D
    contacts = [pin.RigidConstraintModel(six, theirs, k, at, pin.LOCAL) for k, at in zip(ids, places, strict=True)]
    datas = [c.createData() for c in contacts]
    expected = pin.computeDelassusMatrix(theirs, data, x, contacts, datas, 0.0)
    tasks = TaskSet(model, [pose(f, "local") for f in frames])
    for method in METHODS:
        (actual,) = interpret(*prepare(method, tasks), q)
        np.testing.assert_allclose(actual, expected, atol=1e-9 * np.abs(expected).max(), err_msg=method)
    aligned = OperationalSpace(model, [pose(f) for f in frames], general=True)(q, v)
    pin.forwardKinematics(theirs, data, x, v[columns], 0 * v)
    for k, f in enumerate(frames):
        rows, frame = slice(6 * k, 6 * k + 6), theirs.getFrameId(f)
        J = pin.computeFrameJacobian(theirs, data, x, frame, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(aligned.J[rows][:, columns], J, atol=1e-9)
        drift = pin.getFrameClassicalAcceleration(theirs, data, frame, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(aligned.drift[rows], drift.vector, atol=1e-9)


def test_mujoco():
    mujoco = pytest.importorskip("mujoco")
    tips = ["b3", "b5"]
    parent, rng = [-1, 0, 1, 2, 1, 4], np.random.default_rng(0)
    builder, xml = bough.Builder("arms"), {-1: []}
    for k, up in enumerate(parent):
        p, axis, c = rng.normal(size=3), rng.normal(size=3), 0.1 * rng.normal(size=3)
        builder.add_body(
            f"b{k}", "world" if up < 0 else f"b{up}", "revolute", p, axis=axis, mass=1.5, com=c,
            inertia=np.diag([0.2, 0.3, 0.25]),
        )  # fmt: skip
        text = lambda x: " ".join(repr(float(y)) for y in x)  # noqa: E731
        xml[k] = [
            f'<body name="b{k}" pos="{text(p)}"><joint name="j{k}" axis="{text(axis)}"/>'
            f'<inertial pos="{text(c)}" mass="1.5" diaginertia="0.2 0.3 0.25"/>'
        ]
    for k in range(len(parent) - 1, -1, -1):
        xml[parent[k]].insert(min(1, parent[k] + 1), "".join(xml[k]) + "</body>")
    theirs = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(xml[-1])}</worldbody></mujoco>")
    data = mujoco.MjData(theirs)
    q = rng.normal(size=6)
    data.qpos[:] = q
    mujoco.mj_forward(theirs, data)
    J = np.zeros((12, 6))
    for k, tip in enumerate(tips):
        mujoco.mj_jacBody(theirs, data, J[6 * k : 6 * k + 3], J[6 * k + 3 : 6 * k + 6], theirs.body(tip).id)
    solved = np.zeros((12, 6))
    mujoco.mj_solveM(theirs, data, solved, J)
    expected = J @ solved.T
    space = OperationalSpace(builder.build(), [pose(tip) for tip in tips], general=True)
    np.testing.assert_allclose(space.jacobian(q), J, atol=1e-10)
    for method in METHODS:
        (actual,) = interpret(*prepare(method, space.tasks), q)
        np.testing.assert_allclose(actual, expected, atol=1e-9 * np.abs(expected).max(), err_msg=method)


# Support


def test_support_and_packed_rows():
    model = zoo.ck_standin()
    tasks = TaskSet(
        model, [pose("left_hand"), relative("left_hand", "right_hand"), joint("head_link_joint"), center_of_mass()]
    )
    assert len(tasks.support[0]) == 16
    assert len(tasks.support[6]) == 23
    assert len(tasks.row_names) == tasks.size == 16
    assert tasks.row_names[0] == "pose(left_hand).x"
    op, constants = OperationalSpace(model, tasks, general=True)(model.neutral), (tasks.with_placements, tasks.pattern)
    packed_J, *_ = interpret(FACTORED, (model.mechanism, *constants, dof_tree(tasks)), tasks.sizes, model.neutral)
    p = tasks.pattern
    for r in range(tasks.size):
        e = slice(p.of_row[r], p.of_row[r + 1])
        packed = op.J[r, model.mechanism.v_index[p.dof[e]]]
        np.testing.assert_allclose(packed_J[e], packed, atol=1e-15)


def test_mimic_joints_are_served_by_the_dense_method():
    builder = bough.Builder("gripper")
    builder.add_body("wrist", "world", "revolute", mass=1, inertia=np.eye(3))
    for k, name in enumerate(("left", "right")):
        mimic = {"mimic": ("left", -1.0, 0.1)} if k else {}
        builder.add_body(name, "wrist", "revolute", (0.2, k, 0.1), axis=(1, 1, 0), mass=1, inertia=np.eye(3), **mimic)
    model = builder.build()
    space = OperationalSpace(
        model, [position("right", point=(1, 0, 1)), joint("left")], general=True, singular="truncate"
    )
    q, v = state(model)
    op, H = space(q, v), bough.Dynamics(model, general=True).mass_matrix(q)
    assert space.method == "dense"
    np.testing.assert_allclose(op.inverse_inertia, op.J @ np.linalg.solve(H, op.J.T), rtol=1e-10)
    h = 1e-6
    ahead, back = (space.jacobian(model.integrate(q, s * h * v)) @ v for s in (1, -1))
    np.testing.assert_allclose(op.drift, (ahead - back) / (2 * h), atol=1e-6)
    C = bough.Dynamics(model, general=True).bias_force(q, v)
    np.testing.assert_allclose(op.bias, op.drift - op.J @ np.linalg.solve(H, C), atol=1e-9)
    with pytest.raises(TaskError, match="mimic"):
        space.inverse_inertia(q, "pv")


# Bad input

ARM = zoo.arm(7)


@pytest.mark.parametrize(
    ("tasks", "error", "message"),
    [
        ([], TaskError, "empty"),
        ([pose("hnd")], UnknownNameError, "did you mean 'hand'"),
        ([joint("elbow")], UnknownNameError, "elbow"),
        ([pose("hand"), pose("hand")], TaskError, "listed 2 times"),
        ([pose("world")], TaskError, "fixed to the world"),
        ([relative("hand", "link7")], TaskError, "are both fixed to"),
        ([position("hand", "world", point=(1, 0, 0))], TaskError, "world reference"),
    ],
)
def test_bad_task_sets(tasks, error, message):
    with pytest.raises(error, match=message):
        OperationalSpace(ARM, tasks)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pose("hand", "global"), "reference 'global'"),
        (lambda: position("hand", point=(1, 2)), "three finite"),
        (lambda: rows("hand", np.zeros((2, 6))), "not zero"),
        (lambda: rows("hand", np.ones((2, 5))), r"shape \(k, 6\)"),
        (lambda: relative("hand", "link1", "world"), "relative task"),
        (lambda: momentum("all"), "expected one of linear, angular, both"),
        (lambda: OperationalSpace(ARM, [pose("hand")], method="magic"), "magic"),
        (lambda: OperationalSpace(ARM, [pose("hand")], singular="ignore"), "ignore"),
        (lambda: OperationalSpace(ARM, [pose("hand")], threshold=2.0), "between 0 and 1"),
        (lambda: OperationalSpace(ARM, [pose("hand")], damping=-1.0), "positive"),
        (lambda: OperationalSpace(ARM, [pose("hand")], also=["inverse"]).plan(), "planner knows no"),
    ],
)
def test_bad_choices(make, message):
    with pytest.raises(bough.BoughError, match=message):
        make()


def test_bad_states():
    space = OperationalSpace(ARM, [orientation("hand")], general=True, method="pv")
    with pytest.raises(NonFiniteError):
        space.inverse_inertia(np.full(7, np.nan))
    with pytest.raises(ShapeError):
        space.inverse_inertia(np.zeros(6))
    with pytest.raises(TaskError, match="no velocity"):
        _ = space(np.zeros(7)).bias
    assert issubclass(TaskError, BoughError)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_spaces_and_states_are_copied_after_use(copied):
    model, rng = bough.zoo.arm(7), np.random.default_rng(0)
    options = {"method": "ltdl", "singular": "damp", "threshold": 1e-3, "damping": 1e-5, "dtype": np.float32}
    space = bough.OperationalSpace(model, [bough.pose(model.body_names[-1])], **options)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    state = space(q, v)
    want = state.jbar
    other, again = copied(space), copied(state)
    assert all(getattr(other, name) == value for name, value in options.items())
    np.testing.assert_array_equal(other(q, v).jbar, want)
    np.testing.assert_array_equal(again.jbar, want)
    assert again.space is not space


def test_tasks_that_are_no_list_are_refused_by_what_they_are():
    model = zoo.arm(4)
    for given, what in (("hand", "the name 'hand'"), (bough.pose("hand"), r"the task 'pose\(hand\)'")):
        with pytest.raises(TaskError, match=f"tasks are a list .* got {what}"):
            bough.OperationalSpace(model, given)
