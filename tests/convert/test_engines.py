"""Maps to the models of MuJoCo and Drake: joints by name, followers filled in, forces, matrices and derivatives."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bough import Builder, Dynamics, convert, load
from bough.errors import ModelError, ShapeError, UnknownNameError
from loop_robots import gripper

SOLID = '<geom size="0.1" pos="0.1 0.05 0.2" mass="1"/>'
HAND = f"""<mujoco><option><flag constraint="disable"/></option><worldbody>
<body name="palm"><freejoint name="base"/>{SOLID}
  <body name="thumb" pos="0.1 0 0"><joint name="thumb" axis="0 1 0"/>{SOLID}
    <body name="tip" pos="0 0 0.2"><joint name="tip" axis="1 1 0" type="slide"/>{SOLID}</body></body>
  <body name="arm" pos="-0.1 0 0"><joint name="ball" type="ball"/>{SOLID}
    <body name="finger" pos="0 0 0.3"><joint name="finger" axis="0 1 1"/>{SOLID}</body></body>
  <body name="cover" pos="0 0.2 0"><joint axis="1 0 0"/>{SOLID}</body></body></worldbody>
<equality><joint joint1="tip" joint2="finger" polycoef="0.1 -0.5 0 0 0"/></equality></mujoco>"""


@pytest.fixture(scope="module")
def hand():
    """Here, in MuJoCo, and the map between: a free base, a ball, a slide that follows a hinge, one without a name."""
    mujoco = pytest.importorskip("mujoco")
    model, theirs = load(HAND), mujoco.MjModel.from_xml_string(HAND)
    assert [c.follower for c in model.couplings] == ["tip"]
    return mujoco, model, theirs, convert.to_mujoco(model, theirs)


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv))


def inverse(mujoco, theirs, q, v, a):
    data = mujoco.MjData(theirs)
    data.qpos, data.qvel, data.qacc = q, v, a
    mujoco.mj_inverse(theirs, data)
    return data


def test_mujoco_moves_as_the_model_does(hand):
    mujoco, model, theirs, maps = hand
    q, v, a = state(model)
    there = maps.to_q(q), maps.to_v(v, q), maps.to_a(a, v, q)
    data, dynamics = inverse(mujoco, theirs, *there), Dynamics(model, general=True)
    for k, name in enumerate(["palm", "thumb", "tip", "arm", "finger", "cover"], 1):
        np.testing.assert_allclose(data.xpos[k], dynamics.placement(q, name)[:3, 3], atol=1e-12)
    tau = dynamics.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(maps.from_tau(data.qfrc_inverse, q), tau, atol=1e-10)
    np.testing.assert_allclose(maps.from_tau(maps.to_tau(tau, q), q), tau, atol=1e-12)
    H = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, H) if mujoco.__version__ >= "4" else mujoco.mj_fullM(theirs, H, data.qM)
    np.testing.assert_allclose(maps.from_matrix(H, q), dynamics.mass_matrix(q), atol=1e-10)
    J = np.zeros((3, theirs.nv))
    mujoco.mj_jacBody(theirs, data, J, None, 3)
    np.testing.assert_allclose(maps.from_jacobian(J, q), dynamics.jacobian(q, "tip")[:3], atol=1e-12)
    np.testing.assert_allclose(model.difference(q, maps.from_q(there[0])), 0, atol=1e-12)
    np.testing.assert_allclose(maps.from_v(there[1], q), v, atol=1e-12)
    np.testing.assert_allclose(maps.from_a(there[2], v, q), a, atol=1e-12)
    np.testing.assert_allclose(maps.inverse(q) @ maps.matrix(q), np.eye(model.nv), atol=1e-12)


def test_batches_are_rows(hand):
    _, model, _, maps = hand
    rng = np.random.default_rng(1)
    Q, V, A = model.random_configuration(rng, 3), *rng.normal(size=(2, 3, model.nv))
    for k in range(3):
        np.testing.assert_allclose(maps.to_a(A, V, Q)[k], maps.to_a(A[k], V[k], Q[k]), atol=1e-14)
        np.testing.assert_allclose(maps.to_tau(A, Q)[k], maps.to_tau(A[k], Q[k]), atol=1e-14)
        np.testing.assert_allclose(
            maps.from_tau(maps.to_v(V, Q), Q)[k], maps.matrix(Q[k]).T @ maps.to_v(V, Q)[k], atol=1e-13
        )


def test_a_joint_without_a_name_beside_one_that_has_its_number():
    mujoco = pytest.importorskip("mujoco")
    text = f"""<mujoco><worldbody><body><joint name="joint1" axis="1 0 0"/>{SOLID}</body>
        <body><freejoint/>{SOLID}</body></worldbody></mujoco>"""
    model = load(text)
    maps = convert.to_mujoco(model, mujoco.MjModel.from_xml_string(text))
    q = model.random_configuration(np.random.default_rng(0))
    np.testing.assert_array_equal(maps.to_q(q), q[[0, 1, 2, 3, 7, 4, 5, 6]])


def test_derivatives_of_inverse_dynamics(hand):
    """Differences there, along velocities there, become differences here."""
    mujoco, model, theirs, maps = hand
    q, v, a = state(model, 2)
    there, n, h = (maps.to_q(q), maps.to_v(v, q), maps.to_a(a, v, q)), theirs.nv, 1e-6

    def moved(part, direction):
        new = [x.copy() for x in there]
        if part == 0:
            mujoco.mj_integratePos(theirs, new[0], direction, 1.0)
        else:
            new[part] += direction
        return inverse(mujoco, theirs, *new).qfrc_inverse

    by = [np.array([(moved(k, e) - moved(k, -e)) / (2 * h) for e in h * np.eye(n)]).T for k in range(3)]
    found = maps.from_derivatives(by, q, v, a, moved(1, np.zeros(n)))
    dynamics = Dynamics(model, general=True)

    def ours(k, e):
        state = [q, v, a]
        state[k] = model.integrate(q, e) if k == 0 else state[k] + e
        return dynamics.inverse_dynamics(*state)

    for k, D in enumerate(found):
        expected = np.array([(ours(k, e) - ours(k, -e)) / (2 * h) for e in h * np.eye(model.nv)]).T
        np.testing.assert_allclose(D, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))


def test_followers_are_filled_in_and_may_be_checked():
    """In a gripper of published numbers; MuJoCo's equalities are soft, so that followers are not compared unasked."""
    mujoco = pytest.importorskip("mujoco")
    text = gripper()
    model, theirs = load(text), mujoco.MjModel.from_xml_string(text)
    maps = convert.to_mujoco(model, theirs)
    (tie,) = model.couplings
    q, _, _ = state(model)
    there = maps.to_q(q)
    place = theirs.joint(tie.follower).qposadr[0]
    assert there[place] == pytest.approx(tie.ratio * q[model.joint(tie.leader).q][0] + tie.offset)
    there[place] += 0.01
    np.testing.assert_array_equal(maps.from_q(there), q)
    with pytest.raises(ModelError, match=f"q of MuJoCo moves '{tie.follower}' apart from its leader"):
        convert.to_mujoco(model, theirs, tolerance=1e-6).from_q(there)
    with pytest.raises(ModelError, match=r"has mimic joints.*give the model of MuJoCo too"):
        convert.to_mujoco(model, q)
    with pytest.raises(ModelError, match=r"follows .* here, so that its row of H is not known"):
        maps.to_matrix(np.eye(model.nv))


def test_joints_that_are_welded_here_are_named():
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(HAND)
    model = load(HAND, weld={"thumb": 0.3})
    with pytest.raises(UnknownNameError, match=r"no joint 'thumb'.*in fixed="):
        convert.to_mujoco(model, theirs)
    maps = convert.to_mujoco(model, theirs, fixed={"thumb": 0.3}, tolerance=1e-9)
    q, v, _ = state(model)
    there = maps.to_q(q)
    assert there[theirs.joint("thumb").qposadr[0]] == 0.3
    np.testing.assert_allclose(model.difference(q, maps.from_q(there)), 0, atol=1e-12)
    assert maps.to_v(v, q)[theirs.joint("thumb").dofadr[0]] == 0.0
    there[theirs.joint("thumb").qposadr[0]] = 0.5
    with pytest.raises(ModelError, match=r"moves 'thumb', which is fixed at 0\.3 here"):
        maps.from_q(there)


def test_what_does_not_fit_is_refused_by_name(hand):
    _, model, theirs, maps = hand
    _, v, _ = state(model)
    with pytest.raises(ShapeError, match="is in other axes there: give q"):
        maps.to_v(v)
    other = Builder("other")
    other.add_body("palm", joint="floating", mass=1.0, inertia=np.eye(3))
    other.add_body("thumb", "palm", "prismatic", mass=1.0)
    with pytest.raises(ModelError, match="'thumb' is prismatic here and hinge in MuJoCo"):
        convert.to_mujoco(other.build(), theirs)
    with pytest.raises(UnknownNameError, match="MuJoCo's model has no joint 'extra'"):
        convert.to_mujoco(load(HAND.replace('name="thumb" axis', 'name="extra" axis')), theirs, fixed={"thumb": 0.0})


def plant(joints):
    """A stand-in for Drake's MultibodyPlant: joints by (name, type, places in q and v)."""
    made = [
        SimpleNamespace(
            name=lambda n=name: n, type_name=lambda k=kind: k,
            position_start=lambda x=q: x.start, num_positions=lambda x=q: x.stop - x.start,
            velocity_start=lambda x=v: x.start, num_velocities=lambda x=v: x.stop - x.start,
        )
        for name, kind, q, v in joints
    ]  # fmt: skip
    return SimpleNamespace(
        GetJointIndices=lambda: range(len(made)), get_joint=lambda k: made[k],
        num_positions=lambda: max(q.stop for _, _, q, _ in joints),
        num_velocities=lambda: max(v.stop for _, _, _, v in joints),
    )  # fmt: skip


def test_drake_by_names():
    """Other places and a follower, beside the functions that keep the order."""
    builder, solid = Builder("robot"), {"mass": 1.0, "inertia": np.eye(3)}
    builder.add_body("base", joint="floating", **solid)
    builder.add_body("ball", "base", "spherical", **solid)
    builder.add_body("hinge", "ball", **solid)
    free = builder.build()
    builder.add_body("follower", "base", mimic=("hinge", 2.0, 0.1), **solid)
    model = builder.build()
    there = plant([
        ("weld", "weld", slice(0, 0), slice(0, 0)), ("follower", "revolute", slice(0, 1), slice(0, 1)),
        ("hinge", "revolute", slice(1, 2), slice(1, 2)), ("ball", "ball_rpy", slice(2, 5), slice(2, 5)),
        ("$world_base", "quaternion_floating", slice(5, 12), slice(5, 11)),
    ])  # fmt: skip
    maps = convert.to_drake(model, there)
    q, v, a = state(model)
    expected = convert.to_drake(free, q, v, a)
    found = maps.to_q(q), maps.to_v(v, q), maps.to_a(a, v, q)
    np.testing.assert_allclose(found[0], [2 * q[-1] + 0.1, q[-1], *expected[0][7:10], *expected[0][:7]], atol=1e-14)
    for new, old in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(new, [2 * old[-1], old[-1], *old[6:9], *old[:6]], atol=1e-13)
    np.testing.assert_allclose(model.difference(q, maps.from_q(found[0])), 0, atol=1e-12)
    np.testing.assert_allclose(maps.from_v(found[1], q), v, atol=1e-12)


def test_the_old_name_of_the_map_warns():
    with pytest.warns(DeprecationWarning, match="LayoutMap"):
        assert convert.PinocchioMap is convert.LayoutMap
