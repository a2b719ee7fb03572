"""Servo steps: the velocity that leaves the least error within the limits, priority by priority."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

import bough
from bough.compile.executions import bind_arrays
from bough.control.ik.servo import SERVO
from bough.control.ik.step import Priorities

DAMPING = 1e-4


def servo(last, e, J, low, high, pull):
    sizes = {"rows": len(e), "nv": len(low)}
    function = bind_arrays(SERVO, (Priorities(np.array(last)),), sizes, general=True)
    return function.call(e, J, low, high, pull, np.array([DAMPING]))


def bounded(J, e, low, high):
    """|J v - e|^2 + damping |v|^2 within a box, by the method of another library."""
    n = J.shape[1]
    A, b = np.vstack([J, np.sqrt(DAMPING) * np.eye(n)]), np.r_[e, np.zeros(n)]
    return lsq_linear(A, b, (low, high), method="bvls", tol=1e-14).x


@pytest.mark.parametrize("seed", range(20))
def test_one_priority_is_bounded_least_squares(seed):
    rng = np.random.default_rng(seed)
    rows, n = rng.integers(1, 9), rng.integers(1, 9)
    J, e = rng.normal(size=(rows, n)), 3.0 * rng.normal(size=rows)
    low, high = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    v = servo([rows], e, J, low, high, np.zeros(n))
    expected = bounded(J, e, low, high)
    assert ((v >= low) & (v <= high)).all()
    assert v == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("size", "within"), [(1.5, 1.0), (3.0, 10.0)])
@pytest.mark.parametrize("seed", range(10))
def test_lower_priorities_stay_within_what_is_left(seed, size, within):
    """The second priority and the objective against SLSQP on their definitions.

    Errors of size 3 are beyond what the box allows the first priority (by 3.8 in seed 3, with six of seven joints at
    their limits): nearly dependent columns then let it give way by 1e-5.
    """
    rng = np.random.default_rng(seed)
    n, rows, last = 7, 5, [2, 5, 5]
    J, e, z = rng.normal(size=(rows, n)), size * rng.normal(size=rows), rng.normal(size=n)
    low, high = np.full(n, -1.0), np.full(n, 1.0)
    v = servo(last, e, J, low, high, z)
    first = bounded(J[:2], e[:2], low, high)
    keep = [{"type": "eq", "fun": lambda x: J[:2] @ (x - first), "jac": lambda x: J[:2]}]
    how = {"method": "SLSQP", "bounds": [(-1.0, 1.0)] * n, "options": {"ftol": 1e-15, "maxiter": 500}}

    def cost(x):
        r = J[2:] @ x - e[2:]
        return r @ r + DAMPING * x @ x

    second = minimize(cost, first, constraints=keep, **how).x
    keep = [{"type": "eq", "fun": lambda x: J @ (x - second), "jac": lambda x: J}]
    third = minimize(lambda x: (x - z) @ (x - z), second, constraints=keep, **how).x
    assert np.abs(v).max() <= 1.0
    assert J[:2] @ v == pytest.approx(J[:2] @ first, abs=within * 1e-6 * (1.0 + np.abs(e).max()))
    assert J @ v == pytest.approx(J @ second, abs=within * 1e-4)
    assert v == pytest.approx(third, abs=1e-3)


def test_redundancy_is_used_where_a_joint_is_at_its_speed_limit():
    """Seven joints, one of them slow: the hand moves as it was asked, which a slower motion as a whole does not."""
    builder, parent = bough.Builder("arm"), "world"
    for k in range(7):
        axis = ((0, 0, 1), (0, 1, 0), (1, 0, 0))[k % 3]
        builder.add_body(f"l{k}", parent, "revolute", (0.1, 0, 0.2), axis=axis, mass=1.0, inertia=np.eye(3),
                         velocity=0.05 if k == 1 else 5.0)  # fmt: skip
        parent = f"l{k}"
    model = builder.build()
    dyn, q = bough.Dynamics(model), np.linspace(0.2, 0.9, 7)
    T = dyn.placement(q, "l6")
    target = T[:3, 3] + [0.02, -0.03, 0.01]
    step = bough.ik.step(model, {"l6": target}, q, gain=5.0, dt=0.01)
    asked = 5.0 * (target - T[:3, 3])
    unlimited = np.linalg.pinv(dyn.jacobian(q, "l6")[:3]) @ asked
    assert abs(unlimited[1]) > 0.05
    assert (np.abs(step.velocity) <= model.limits.velocity * (1 + 1e-12)).all()
    assert dyn.jacobian(q, "l6")[:3] @ step.velocity == pytest.approx(asked, abs=1e-7)


def test_steps_of_priorities_and_a_posture_arrive():
    arm = bough.zoo.arm(7)
    hand, dyn = arm.body_names[-1], bough.Dynamics(arm)
    T = dyn.placement(arm.random_configuration(np.random.default_rng(3)), hand)
    place, turn = bough.position(hand), bough.orientation(hand)
    q = np.full(7, 0.3)
    for _ in range(400):
        step = bough.ik.step(
            arm, {place: T[:3, 3], turn: T[:3, :3]}, q, priorities={turn: 1}, posture=np.zeros(7), gain=5.0, dt=0.02
        )
        q = step.q
    assert step.error.shape == (2,)
    assert step.error == pytest.approx([0.0, 0.0], abs=1e-6)


def test_the_step_is_that_of_pink():
    """A hand that is asked to move too fast for some joints: the same velocity, from another library's program."""
    pytest.importorskip("pink")
    import pinocchio as pin
    from pink import Configuration, solve_ik
    from pink.limits import VelocityLimit
    from pink.tasks import FrameTask

    from robots import urdfs

    path = next(p for p in urdfs().values() if p.name == "panda.urdf")
    model, robot = bough.load(path, mimic="independent"), pin.buildModelFromUrdf(str(path))
    q, dt = 0.5 * (model.limits.lower + model.limits.upper), 1e-5
    for ask in ([0.5, 0.2, -0.3], [2.0, -4.0, 1.0], [0.0, 9.0, 9.0]):  # m/s
        T = bough.Dynamics(model).placement(q, "panda_hand")
        T[:3, 3] += dt * np.array(ask)  # so near that the mixing of turns into pink's error does not matter
        step = bough.ik.step(model, {"panda_hand": T[:3, 3]}, q, gain=1.0 / dt, dt=dt, damping=1e-6)
        task = FrameTask("panda_hand", position_cost=1.0, orientation_cost=0.0)
        task.set_target(pin.SE3(T))
        configuration = Configuration(robot, robot.createData(), q)
        other = solve_ik(configuration, [task], dt, solver="daqp", damping=1e-6, limits=[VelocityLimit(robot)])
        at_limit = (np.abs(step.velocity) > 0.999 * model.limits.velocity).any()
        assert at_limit == (np.linalg.norm(ask) > 1.0)
        assert step.velocity[:6] == pytest.approx(other[:6], abs=1e-3)  # the last turns about the hand itself
