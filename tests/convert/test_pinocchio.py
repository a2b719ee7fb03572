"""Maps to Pinocchio's layout: every robot of example-robot-data, both ways, and everything that has no map."""

from __future__ import annotations

import numpy as np
import pytest

from bough import Builder, convert, load
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError, NonFiniteError, ShapeError, UnknownNameError
from robots import urdfs

pin = pytest.importorskip("pinocchio")

ROBOTS = urdfs()
NOT_LOADED = ("alex_psyonic_hands", "bravo7_gripper", "romeo.", "romeo_laas_small", "falcon.", "ur3.")
LOADED = [name for name in ROBOTS if not any(word in name for word in NOT_LOADED)]
FLOATERS = ("bluevolta.urdf", "quadrotor_base.urdf", "iris_simple.urdf")  # without a floating base nothing moves
CASES = [(n, f) for n in LOADED for f in (False, True) if f or not n.endswith(FLOATERS)]


def both(name: str, floating: bool, **options):
    """A robot here and there."""
    path = ROBOTS[name]
    root = [pin.JointModelFreeFlyer()] if floating else []
    return load(path, floating_base=floating), pin.buildModelFromUrdf(str(path), *root, **options)


def state(model, seed=1):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv))


def test_most_robots_are_compared():
    assert len(LOADED) >= 68


@pytest.mark.parametrize(("name", "floating"), CASES)
def test_every_robot_both_ways(name, floating):
    """Inverse dynamics, H and the Jacobian of Pinocchio, brought here; configurations and rates there and back."""
    model, reference = both(name, floating)
    maps, data = convert.to_pinocchio(model, reference), reference.createData()
    q, v, a = state(model)
    q_pin, v_pin, a_pin = maps.to_q(q), maps.to_v(v), maps.to_v(a)
    dynamics = Dynamics(model, general=True)

    tau_pin = pin.rnea(reference, data, q_pin, v_pin, a_pin)
    tau = dynamics.inverse_dynamics(q, v, a)
    close(maps.from_tau(tau_pin), tau)
    close(maps.from_tau(maps.to_tau(tau)), tau)
    H_pin = pin.crba(reference, data, q_pin)
    H_pin = np.triu(H_pin) + np.triu(H_pin, 1).T
    close(maps.from_matrix(H_pin), dynamics.mass_matrix(q))
    frame = model.body_names[-1]
    J_pin = pin.computeFrameJacobian(
        reference, data, q_pin, reference.getFrameId(frame), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    )
    close(maps.from_jacobian(J_pin), dynamics.jacobian(q, frame))

    np.testing.assert_allclose(model.difference(q, maps.from_q(q_pin)), 0, atol=1e-12)
    np.testing.assert_allclose(maps.from_v(v_pin), v, atol=1e-12)
    if maps.nv == model.nv:
        close(maps.to_tau(tau), tau_pin)
        close(maps.to_matrix(dynamics.mass_matrix(q)), H_pin)
        close(maps.to_jacobian(dynamics.jacobian(q, frame)), J_pin)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * max(np.abs(expected).max(initial=0), 1e-300))


def test_how_often_the_order_is_the_same():
    """What the docs say: all joints are laid out alike, and on so many robots they also come in one order."""
    same = 0
    for name in LOADED:
        model, reference = both(name, True)
        followers = {c.follower for c in model.couplings}
        same += [n for n in list(reference.names)[1:] if n not in followers] == list(model.joint_names)
    assert (same, len(LOADED)) == (37, 69)


def test_mimic_joints_of_pinocchio():
    """With mimic joints on both sides all is square; without, Pinocchio's follower carries no force."""
    name = next(name for name in LOADED if name.endswith("panda.urdf"))
    model, tied = both(name, False, mimic=True)
    free = pin.buildModelFromUrdf(str(ROBOTS[name]))
    q, v, tau = state(model)
    maps = convert.to_pinocchio(model, tied)
    assert maps.nv == model.nv
    H = pin.crba(tied, tied.createData(), maps.to_q(q))
    H = np.triu(H) + np.triu(H, 1).T
    close(maps.from_matrix(H), Dynamics(model, general=True).mass_matrix(q))

    maps = convert.to_pinocchio(model, free)
    assert maps.nv == model.nv + 1
    np.testing.assert_allclose(maps.from_tau(maps.to_tau(tau)), tau, atol=1e-14)
    with pytest.raises(ModelError, match=r"'panda_finger_joint2' is free in Pinocchio.*mimic=True"):
        maps.to_matrix(np.eye(model.nv))
    v_pin = maps.to_v(v)
    v_pin[-1] += 0.1
    with pytest.raises(ModelError, match="moves 'panda_finger_joint2' apart from its leader"):
        maps.from_v(v_pin)
    q_pin = maps.to_q(q)
    q_pin[-1] += 0.01
    with pytest.raises(ModelError, match="moves 'panda_finger_joint2' apart from its leader"):
        maps.from_q(q_pin)


def test_batches_are_rows():
    name = next(name for name in LOADED if name.endswith("talos_reduced.urdf"))
    model, reference = both(name, True)
    maps = convert.to_pinocchio(model, reference)
    Q = model.random_configuration(np.random.default_rng(0), 3)
    V = np.random.default_rng(1).normal(size=(3, model.nv))
    for k in range(3):
        np.testing.assert_array_equal(maps.to_q(Q)[k], maps.to_q(Q[k]))
        np.testing.assert_allclose(maps.to_v(V)[k], maps.to_v(V[k]), atol=1e-15)
        np.testing.assert_allclose(maps.from_q(maps.to_q(Q))[k], maps.from_q(maps.to_q(Q[k])), atol=1e-15)


def by_hand(joints, order=None):
    """The same chain of joints here and in Pinocchio, whose children may come in another order."""
    builder, reference = Builder("odd"), pin.Model()
    for k, joint in enumerate(joints):
        builder.add_body(f"b{k}", joint=joint, mass=1.0, inertia=np.eye(3))
    kinds = {
        "planar": pin.JointModelPlanar,
        "spherical": pin.JointModelSpherical,
        "continuous": pin.JointModelRUBZ,
        "revolute": pin.JointModelRZ,
        "floating": pin.JointModelFreeFlyer,
        "universal": pin.JointModelRZ,
        "cylindrical": pin.JointModelRZ,
    }
    model = builder.build()
    for k in order or range(len(joints)):
        number = reference.addJoint(0, kinds[joints[k]](), pin.SE3.Identity(), model.joint_names[k])
        reference.appendBodyToJoint(number, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
        reference.addBodyFrame(f"b{k}", number, pin.SE3.Identity(), 0)
    return model, reference


def test_every_kind_of_joint_in_reverse_order():
    model, reference = by_hand(("planar", "spherical", "continuous", "revolute", "floating"), [4, 3, 2, 1, 0])
    maps, data = convert.to_pinocchio(model, reference), reference.createData()
    q, v, a = state(model)
    np.testing.assert_allclose(model.difference(q, maps.from_q(maps.to_q(q))), 0, atol=1e-12)
    tau = pin.rnea(reference, data, maps.to_q(q), maps.to_v(v), maps.to_v(a))
    close(maps.from_tau(tau), Dynamics(model, general=True).inverse_dynamics(q, v, a))
    moved = pin.integrate(reference, maps.to_q(q), maps.to_v(v))
    np.testing.assert_allclose(model.difference(model.integrate(q, v), maps.from_q(moved)), 0, atol=1e-12)
    assert "another order" in repr(maps)


def test_a_floating_base_may_have_any_name():
    name = next(name for name in LOADED if name.endswith("solo12.urdf"))
    (model, reference), (floating, _) = both(name, False), both(name, True)
    other = pin.buildModelFromUrdf(str(ROBOTS[name]), pin.JointModelFreeFlyer(), "freedom")
    assert convert.to_pinocchio(floating, other).nv == floating.nv
    with pytest.raises(UnknownNameError, match="has no joint 'root_joint'"):
        convert.to_pinocchio(floating, reference)
    with pytest.raises(UnknownNameError, match="has no joint 'freedom'"):
        convert.to_pinocchio(model, other)


@pytest.mark.parametrize("joint", ["universal", "cylindrical"])
def test_joints_of_another_kind_are_refused(joint):
    with pytest.raises(ModelError, match=f"is {joint} here and RZ in Pinocchio"):
        convert.to_pinocchio(*by_hand((joint,)))


def test_a_mimic_joint_there_only():
    path = ROBOTS[next(name for name in LOADED if name.endswith("panda.urdf"))]
    with pytest.raises(ModelError, match="'panda_finger_joint2' follows another in Pinocchio's model and is free here"):
        convert.to_pinocchio(load(path, mimic="independent"), pin.buildModelFromUrdf(str(path), mimic=True))


def test_bad_input():
    model, reference = by_hand(("continuous", "revolute"))
    maps = convert.to_pinocchio(model, reference)
    with pytest.raises(ShapeError, match=r"q has shape \(5,\): expected \(2,\)"):
        maps.to_q(np.zeros(5))
    with pytest.raises(NonFiniteError, match="tau is not finite"):
        maps.to_tau([np.nan, 0])
    with pytest.raises(NonFiniteError, match="they make no angle"):
        maps.from_q(np.zeros(3))
    with pytest.raises(ShapeError, match="fill both triangles"):
        maps.from_matrix([[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ShapeError, match="expected \\(2, 2\\)"):
        maps.from_matrix(np.ones((1, 2)))
