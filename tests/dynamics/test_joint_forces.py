"""Reaction wrenches at joints, and generalized forces of wrenches at frames and points."""

import numpy as np
import pytest

import bough
from bough import zoo
from models import JOINT_TYPES, random_state, random_twin

PARENT = [-1, 0, 0, 1, 1, 2, 3, 4, 0]


@pytest.fixture(scope="module")
def model():
    return random_twin(3, PARENT, list(JOINT_TYPES)).model


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def newton_euler(model, q, v, qdd, wrenches):
    """What each joint exerts on its body, from the motion of the bodies alone: by finite differences of momenta."""
    dyn, h, names = bough.Dynamics(model), 1e-5, model.body_names
    ends = []
    for s in (h, -h):
        x = model.integrate(q, s * v + 0.5 * s * s * qdd)
        ends.append([momentum(dyn, model, k, x, v + s * qdd) for k in range(len(names))])
    T = [dyn.placement(q, name) for name in names]
    needed = []
    for k in range(len(names)):
        f, n = (ends[0][k][0] - ends[1][k][0]) / (2 * h), (ends[0][k][1] - ends[1][k][1]) / (2 * h)
        m, mc = model.inertias[k, 0], T[k][:3, :3] @ model.inertias[k, 1:4] + model.inertias[k, 0] * T[k][:3, 3]
        f, n = f - m * model.gravity, n - np.cross(mc, model.gravity)
        force, moment = wrenches[k, :3], wrenches[k, 3:]
        needed.append((f - force, n - moment - np.cross(T[k][:3, 3], force)))  # about the world's origin
    for k in range(len(names) - 1, -1, -1):
        if (p := int(model.parent[k])) >= 0:
            needed[p] = needed[p][0] + needed[k][0], needed[p][1] + needed[k][1]
    return np.array([
        np.concatenate([R[:3, :3].T @ f, R[:3, :3].T @ (n - np.cross(R[:3, 3], f))])
        for R, (f, n) in zip(T, needed, strict=True)
    ])  # fmt: skip


def momentum(dyn, model, k, q, v):
    """Linear and angular momentum of body k about the world's origin."""
    name = model.body_names[k]
    T, V = dyn.placement(q, name), dyn.velocity(q, v, name)
    R, x = T[:3, :3], model.inertias[k]
    m, mc = x[0], R @ x[1:4]
    I = R @ np.array([[x[4], x[5], x[7]], [x[5], x[6], x[8]], [x[7], x[8], x[9]]]) @ R.T
    linear, omega = V[:3], V[3:]
    p = m * linear + np.cross(omega, mc)
    about = I @ omega + np.cross(mc, linear)
    return p, about + np.cross(T[:3, 3], p)


@pytest.mark.parametrize("general", [False, True])
def test_joint_forces_are_what_bodies_need(model, general):
    q, v, _, qdd = random_state(model, 1)
    dyn = bough.Dynamics(model, general=general)
    wrenches = np.random.default_rng(3).normal(size=(len(model.body_names), 6))
    for forces in (None, wrenches):
        expected = newton_euler(model, q, v, qdd, 0 * wrenches if forces is None else forces)
        close(dyn.joint_forces(q, v, qdd, forces), expected, 1e-5)
    rows = dyn.joint_forces(np.tile(q, (3, 1)), v, qdd)
    close(rows, np.tile(dyn.joint_forces(q, v, qdd), (3, 1, 1)))


def test_joint_forces_of_pinocchio():
    pin = pytest.importorskip("pinocchio")
    twin = random_twin(5, [-1, 0, 1, 1, 0], ["floating", "revolute", "spherical", "prismatic", "revolute"])
    q, v, _, qdd = random_state(twin.model, 2)
    pin.rnea(twin.pin, twin.data, twin.q_to_pin(q), twin.v_to_pin(v), twin.v_to_pin(qdd))
    found = bough.Dynamics(twin.model).joint_forces(q, v, qdd)
    for j, f in zip(twin.joints, list(twin.data.f)[1:], strict=True):
        close(found[j], np.concatenate([f.linear, f.angular]))


def test_joint_forces_hold_torques():
    """Along a revolute joint the moment is the torque."""
    model = zoo.arm(5)
    q, v, _, qdd = random_state(model, 1)
    dyn = bough.Dynamics(model)
    F, tau = dyn.joint_forces(q, v, qdd), dyn.inverse_dynamics(q, v, qdd)
    both = dyn.fused(["inverse_dynamics", "joint_forces"])(q, v, qdd)
    close(both[0], tau)
    close(both[1], F)
    for k, name in enumerate(model.body_names):
        T, J = dyn.placement(q, name), dyn.jacobian(q, name)
        axis = T[:3, :3].T @ J[3:, k]
        close(axis @ F[k, 3:], tau[k] - model.armature[k] * qdd[k])


@pytest.mark.parametrize("general", [False, True])
def test_generalized_forces_are_virtual_work(model, general):
    dyn, rng = bough.Dynamics(model, general=general), np.random.default_rng(4)
    q = model.random_configuration(rng, 4)
    names = ["f3", "f8", "world", "f3"]
    F = rng.normal(size=(4, 4, 6))
    jacobians = [np.array([dyn.jacobian(x, name) for x in q]) for name in names]
    expected = sum(np.einsum("bij,bi->bj", J, F[:, k]) for k, J in enumerate(jacobians))
    close(dyn.generalized_forces(q, names, F), expected)
    for k in range(2):  # the second time by the shorter way
        close(dyn.generalized_forces(q[k], names, F[k]), expected[k])
    close(
        dyn.generalized_forces(q, names, F[0]), sum(np.einsum("bij,i->bj", J, F[0, k]) for k, J in enumerate(jacobians))
    )
    p = (0.1, -0.2, 0.3)
    T = dyn.placement(q[0], "f8")
    lever = np.concatenate([F[0, 0, :3], np.cross(T[:3, :3] @ p, F[0, 0, :3])])
    close(dyn.generalized_forces(q[0], [("f8", p)], F[0, :1, :3]), jacobians[1][0].T @ lever)


def test_what_is_refused(model):
    dyn, q = bough.Dynamics(model), model.neutral
    for places, F, words in (
        ("f3", np.ones((1, 6)), "takes a list of frames"),
        ([], np.ones((0, 6)), "takes a list of frames"),
        (["g3"], np.ones((1, 6)), "no frame 'g3'"),
        ([("f3", (1.0, 2.0))], np.ones((1, 6)), r"point of 'f3' must have shape \(3,\)"),
        (["f3"], np.ones((2, 6)), r"F must have shape \(1, 6\)"),
    ):
        with pytest.raises(bough.BoughError, match=words):
            dyn.generalized_forces(q, places, F)
