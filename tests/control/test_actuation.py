"""Only motors are commanded: floating bases, contacts that hold, and tasks that motors cannot move."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.control import Gains, Reference, TaskController
from bough.control.actuation import MotorSpace
from bough.errors import TaskError
from bough.opspace import ConstrainedDynamics, Hierarchy, OperationalSpace, center_of_mass, pose, position


def biped():
    """A floating trunk with two legs of six joints and an arm of four."""
    builder, rng = bough.Builder("biped"), np.random.default_rng(3)
    body = {"inertia": 0.05 * np.eye(3)}
    builder.add_body("trunk", "world", "floating", mass=20.0, inertia=np.diag([1.0, 0.8, 0.5]))
    for limb, where, count in (("left", (0, 0.1, -0.3), 6), ("right", (0, -0.1, -0.3), 6), ("arm", (0.1, 0, 0.3), 4)):
        up = "trunk"
        for k in range(count):
            axis = np.eye(3)[k % 3] + 0.2 * rng.normal(size=3)
            place = where if k == 0 else (0.02, 0.01, -0.15 if limb != "arm" else 0.15)
            up = builder.add_body(f"{limb}{k}", up, "revolute", place, axis=axis, mass=2.0, com=(0, 0, -0.07), **body)
    return builder.build()


@pytest.fixture(scope="module")
def case():
    model, rng = biped(), np.random.default_rng(0)
    q = model.integrate(model.neutral, np.concatenate([rng.normal(size=6), 0.4 * rng.normal(size=16)]))
    return model, bough.Dynamics(model, general=True), q, 0.3 * rng.normal(size=model.nv)


def space_of(case, tasks, **options):
    return OperationalSpace(case[0], tasks, general=True, dynamics=case[1], **options)


def reached(space, qdd, q, v):
    return space(q, v).drift + space.jacobian(q) @ qdd


def test_a_free_robot_reaches_through_its_joints(case):
    model, dynamics, q, v = case
    space = space_of(case, [position("arm3")])
    command = TaskController(space, {"position(arm3)": Reference(acceleration=[1.0, 2.0, 3.0])})(0.0, q, v)
    assert not model.actuated[:6].any()
    assert not command.tau[:6].any()
    assert command.tau[6:].any()
    qdd = dynamics.forward_dynamics(q, v, command.tau)
    np.testing.assert_allclose(reached(space, qdd, q, v), command.acceleration, atol=1e-8)


@pytest.mark.parametrize("priorities", [False, True])
def test_a_robot_on_its_feet_moves_as_the_contacts_allow(case, priorities):
    """Two feet held, 12 rows: hand and centre of mass accelerate as wanted; forces are those of the contacts."""
    _, _, q, v = case
    feet = space_of(case, [pose("left5"), pose("right5")])
    space = space_of(case, [position("arm3"), center_of_mass()])
    v = v - np.linalg.pinv(feet.jacobian(q)) @ (feet.jacobian(q) @ v)
    hierarchy = Hierarchy(space) if priorities else None
    law = TaskController(
        space, {"center_of_mass": Reference(acceleration=[0.1, 0.2, 0.3])}, contacts=feet, hierarchy=hierarchy
    )
    command = law(0.0, q, v)
    assert not command.tau[:6].any()
    truth = ConstrainedDynamics(feet)(q, v, command.tau)
    np.testing.assert_allclose(reached(space, truth.qdd, q, v), command.acceleration, atol=1e-6)
    np.testing.assert_allclose(command.contact_force, truth.force, atol=1e-4 * np.abs(truth.force).max())


def test_the_posture_is_held_where_tasks_leave_room(case):
    """Of all torques with the same task acceleration, those near tau_0: a posture at rest changes nothing."""
    model, dynamics, q, v = case
    space = space_of(case, [position("arm3")])
    at = MotorSpace(space, None, q, v)
    tau_0 = at.posture(np.zeros(model.nv))
    tau = np.zeros(model.nv)
    tau[6:] = tau_0
    np.testing.assert_allclose(dynamics.forward_dynamics(q, v, tau)[6:], 0.0, atol=1e-8)
    free = at.bias + at.G @ tau_0
    Lam = np.linalg.inv(at.inverse_inertia)
    np.testing.assert_allclose(at.joint_forces(Lam @ (free - at.bias), Lam, tau_0), tau, atol=1e-8)


def test_a_load_is_carried(case):
    """A force pulls the hand down; fed forward, the hand accelerates as if it were not there."""
    _, dynamics, q, v = case
    space = space_of(case, [position("arm3")])
    law = TaskController(space, {"position(arm3)": Reference()}, gains=Gains(0.0, 0.0))
    load = np.array([0.0, 0.0, 30.0])
    command = law(0.0, q, v, feed_forward=load)
    qdd = dynamics.forward_dynamics(q, v, command.tau - space.jacobian(q).T @ load)
    np.testing.assert_allclose(reached(space, qdd, q, v), 0.0, atol=1e-8)


def test_with_motors_everywhere_it_is_the_ordinary_law():
    model, rng = zoo.arm(7), np.random.default_rng(1)
    q, v = model.random_configuration(rng), rng.normal(size=7)
    space = OperationalSpace(model, [position("hand")], general=True)
    op, at, tau_0 = space(q, v), MotorSpace(space, None, q, v), rng.normal(size=7)
    np.testing.assert_allclose(at.inverse_inertia, op.inverse_inertia, atol=1e-9)
    np.testing.assert_allclose(at.bias, op.bias, atol=1e-8)
    F = rng.normal(size=3)
    np.testing.assert_allclose(at.joint_forces(F, op.inertia, tau_0), op.joint_forces(F, tau_0), atol=1e-8)


def test_what_motors_cannot_move_is_refused_by_name(case):
    model, _, q, v = case
    flying = TaskController(space_of(case, [center_of_mass()]), {})
    with pytest.raises(TaskError, match=r"rank 0 of 3.*joints without motors: trunk"):
        flying(0.0, q, v)
    builder = bough.Builder("rag")
    builder.add_body("doll", "world", "floating", mass=1.0, inertia=np.eye(3))
    doll = builder.build()
    with pytest.raises(TaskError, match="has a motor"):
        TaskController(OperationalSpace(doll, [position("doll")], general=True), {})
    with pytest.raises(TaskError, match="contacts are of"):
        TaskController(space_of(case, [center_of_mass()]), {}, contacts=OperationalSpace(doll, [position("doll")]))
    with pytest.raises(TaskError, match="float64"):
        TaskController(OperationalSpace(model, [position("arm3")], dtype=np.float32), {})
