"""A whole step as one function: beside `rollout`, which goes another way, and beside a dense solution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bough
from bough.dynamics.engine import bind
from bough.dynamics.runge_kutta import RUNGE_KUTTA_STEP
from bough.dynamics.stepping import SEMI_IMPLICIT_STEP, SERVO_STEP, joint_laws
from models import interpreted


def jointed(n=4, *, damping=0.7, stiffness=3.0, stops=True, effort=None, base=None):
    """A branched arm whose joints have everything that a joint can have."""
    builder = bough.Builder("jointed")
    parent = "world"
    if base:
        builder.add_body("base", joint=base, mass=3.0, inertia=np.eye(3))
        parent = "base"
    for k in range(n):
        what = {"damping": damping * (k + 1), "stiffness": stiffness, "rest": 0.2, "armature": 0.05}
        if stops:
            what |= {"lower": -0.6, "upper": 0.5} if k % 2 else {"lower": -0.4}
        if effort is not None:
            what["effort"] = effort
        joint = "prismatic" if k == 2 else "revolute"
        builder.add_body(
            f"b{k}",
            parent if k < 2 else f"b{k - 2}",
            joint=joint,
            axis=np.eye(3)[k % 3],
            placement=_at(0.3, 0.1 * k, -0.2),
            mass=1.0 + k,
            com=(0.1, 0.2, -0.1 * k),
            inertia=0.05 * np.eye(3),
            **what,
        )
    return builder.build()


def _at(x, y, z):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def state(model, seed=0, speed=1.0):
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng)
    return q, speed * rng.normal(size=model.nv), rng.normal(size=model.nv)


def by_rollout(model, q, v, tau, dt, **more):
    found = bough.simulate.rollout(model, q, v, duration=dt, dt=dt, tau=lambda t, q, v: tau, **more)
    return found.q[-1], found.v[-1]


@pytest.mark.parametrize("base", [None, "floating", "planar", "spherical"])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
def test_beside_a_rollout(base, integrator):
    model = jointed(base=base, stops=False)
    routine = SEMI_IMPLICIT_STEP if integrator == "semi_implicit_euler" else RUNGE_KUTTA_STEP
    for seed in range(3):
        q, v, tau = state(model, seed)
        got = interpreted(routine, model, joint_laws(model), q, v, tau, [0.01])
        for x, y in zip(got, by_rollout(model, q, v, tau, 0.01, integrator=integrator), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_a_joint_that_meets_its_stop_leaves_the_others_as_impulses_do(seed):
    """Whenever impulses find that only the joints held in the first pass are held, both ways are one."""
    model = jointed()
    q, v, tau = state(model, seed, speed=3.0)
    q, dt = np.clip(q, model.limits.lower, model.limits.upper), 0.05
    q1, v1 = interpreted(SEMI_IMPLICIT_STEP, model, joint_laws(model), q, v, tau, [dt])
    free = interpreted(SEMI_IMPLICIT_STEP, model, joint_laws(model, ["limits"]), q, v, tau, [dt])[1]
    expected = by_rollout(model, q, v, tau, dt)
    effects = bough.simulate.JointEffects(bough.Dynamics(model))
    lower, upper = (x[0] for x in effects.bounds(q[None], dt))
    at_stop = (np.abs(expected[1] - lower) < 1e-9) | (np.abs(expected[1] - upper) < 1e-9)
    beyond = (free < lower) | (free > upper)
    if (at_stop == beyond).all():
        np.testing.assert_allclose(v1, expected[1], atol=1e-9)
        np.testing.assert_allclose(q1, expected[0], atol=1e-9)
    inside = (q1 >= model.limits.lower - 1e-9) & (q1 <= model.limits.upper + 1e-9)
    assert inside[beyond].all()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_stops_after_a_step_of_fourth_order_are_impulses(seed):
    """H (v' - v) = S' lam at the end of the step, where all joints that would pass their stops reach them."""
    model, dt = jointed(base="floating"), 0.02
    q, v, tau = state(model, seed, speed=5.0)
    q1, v1 = interpreted(RUNGE_KUTTA_STEP, model, joint_laws(model), q, v, tau, [dt])
    free_q, free = interpreted(RUNGE_KUTTA_STEP, model, joint_laws(model, ["limits"]), q, v, tau, [dt])
    np.testing.assert_array_equal(q1, free_q)
    effects = bough.simulate.JointEffects(bough.Dynamics(model))
    lower, upper = (x[0] for x in effects.bounds(q1[None], dt))
    goal = np.clip(free[effects.rows], lower, upper)
    struck = np.flatnonzero(goal != free[effects.rows])
    at = effects.rows[struck]
    A = np.linalg.inv(bough.Dynamics(model).mass_matrix(q1))
    impulse = np.linalg.solve(A[np.ix_(at, at)], (goal - free[effects.rows])[struck])
    np.testing.assert_allclose(v1, free + A[:, at] @ impulse, atol=1e-9)
    np.testing.assert_allclose(v1[at], goal[struck], atol=1e-11)


def test_servos_are_a_linear_system():
    model = jointed(stops=False, stiffness=0.0)
    q, v, tau = state(model)
    rng = np.random.default_rng(1)
    target, kp, kd, h = (
        q + rng.normal(size=model.nv),
        rng.uniform(10, 1e5, model.nv),
        rng.uniform(1, 1e3, model.nv),
        0.02,
    )
    q1, v1 = interpreted(SERVO_STEP, model, joint_laws(model), q, v, tau, target, kp, kd, [h])
    dyn = bough.Dynamics(model)
    H, C = dyn.mass_matrix(q), dyn.bias_force(q, v)
    # the servo and the damping as they are at the end of the step
    A = H + h * np.diag(model.damping + kd) + h * h * np.diag(kp)
    wanted = np.linalg.solve(A, H @ v + h * (tau - C + kp * (target - q)))
    np.testing.assert_allclose(v1, wanted, atol=1e-10)
    np.testing.assert_allclose(q1, q + h * wanted, atol=1e-10)


def test_efforts_bound_servos():
    model = jointed(stops=False, stiffness=0.0, effort=2.0)
    q, v, tau = state(model)
    kp, kd = np.full(model.nv, 1e6), np.zeros(model.nv)
    _, v1 = interpreted(SERVO_STEP, model, joint_laws(model), q, v, tau, q + 1.0, kp, kd, [1e-3])
    _, pushed = interpreted(SEMI_IMPLICIT_STEP, model, joint_laws(model), q, v, tau + 2.0, [1e-3])
    np.testing.assert_allclose(v1, pushed, atol=1e-10)


@pytest.mark.parametrize("general", [False, True])
def test_compiled_is_interpreted(general):
    model = jointed(6, base="floating", effort=5.0)
    laws = joint_laws(model)
    f = bind(SERVO_STEP, model, *laws, general=general)
    rng = np.random.default_rng(2)
    for seed in range(4):
        q, v, tau = state(model, seed, speed=4.0)
        more = q[7:][[0] * model.nv] + 1.0, rng.uniform(0, 100, model.nv), rng.uniform(0, 10, model.nv), [0.02]
        for x, y in zip(f.call(q, v, tau, *more), interpreted(SERVO_STEP, model, laws, q, v, tau, *more), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-9 * max(1.0, np.abs(y).max()))


def test_steps_are_functions_of_dynamics_with_gradients_and_parameters():
    model = jointed(stops=False)
    q, v, tau = state(model)
    dyn = bough.Dynamics(model, inputs=("inertia",))
    ahead = dyn.semi_implicit_step(q, v, tau, [0.01], inertia=2.0 * model.inertias)
    other = bough.Dynamics(model.with_inertias(2.0 * model.inertias)).semi_implicit_step(q, v, tau, [0.01])
    for x, y in zip(ahead, other, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)
    assert bough.count(model, "semi_implicit_step").total > bough.count(model, "forward_dynamics").total
    with pytest.raises(bough.BoughError, match="dt must have shape"):
        bough.Dynamics(model).runge_kutta_step(q, v, tau, 0.01)


def test_a_held_joint_neither_tires_nor_sticks():
    """Pushed into its stop it stays there, pulled away it leaves at once."""
    model = jointed(1, damping=0.0, stiffness=0.0)
    dyn = bough.Dynamics(model)
    q, v = np.array([-0.4]), np.zeros(1)
    for _ in range(5):
        q, v = dyn.semi_implicit_step(q, v, [-100.0], [0.01])
        assert q[0] == pytest.approx(-0.4, abs=1e-12)
        assert v[0] == pytest.approx(0.0, abs=1e-12)
    q, v = dyn.semi_implicit_step(q, v, [100.0], [0.01])
    assert q[0] > -0.4
