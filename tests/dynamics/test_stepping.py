"""A whole step as one function: beside `rollout`, which goes another way, and beside a dense solution."""

import ctypes
import shutil
import subprocess
from collections import OrderedDict
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bough
from bough.dynamics.engine import bind
from bough.dynamics.laws import joint_laws
from bough.dynamics.stepping import INTEGRATORS
from models import interpreted
from naive import step_with_laws

SEMI_IMPLICIT_STEP, RUNGE_KUTTA_STEP, MIDPOINT_STEP = (rule.step() for rule in INTEGRATORS.values())
SERVO_STEP = INTEGRATORS["semi_implicit_euler"].step(servo=True)


def jointed(n=4, *, damping=0.7, stiffness=3.0, stops=True, effort=None, base=None, friction=0.0):
    """A branched arm whose joints have everything that a joint can have."""
    builder = bough.Builder("jointed")
    parent = "world"
    if base:
        builder.add_body("base", joint=base, mass=3.0, inertia=np.eye(3))
        parent = "base"
    for k in range(n):
        what = {
            "damping": damping * (k + 1),
            "stiffness": stiffness,
            "rest": 0.2,
            "armature": 0.05,
            "friction": friction,
        }
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


def motion_of(model):
    """All of the acceleration, springs and damping included."""
    dyn = bough.Dynamics(model, general=True)

    def law(q, v, tau):
        spring = model.stiffness * model.difference(model.rest_configuration, q)
        return dyn.forward_dynamics(q, v, tau - spring - model.damping * v)

    return law


@pytest.mark.parametrize("base", [None, "floating", "planar", "spherical"])
@pytest.mark.parametrize("integrator", ["runge_kutta_4", "lie_midpoint"])
def test_beside_the_rule_for_any_acceleration(base, integrator):
    model = jointed(base=base, stops=False)
    for seed in range(3):
        q, v, tau = state(model, seed)
        got = interpreted(INTEGRATORS[integrator].step(), model, joint_laws(model), q, v, tau, [0.01])
        expected = by_rollout(model, q, v, tau, 0.01, integrator=integrator, motion=motion_of(model))
        for x, y in zip(got, expected, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-10)


def oracle(model, q, v, tau, dt, integrator="semi_implicit_euler", servo=(0.0, 0.0, 0.0), rotor=0.0):
    """`servo` is kp, kd and the target: implicit in the first order, else as it is, and no more than the effort.

    `rotor` (nv,) is added to the inertia: a joint whose rotor is very heavy keeps its velocity.
    """
    dyn, (kp, kd, target) = bough.Dynamics(model, general=True), servo
    h, effort = dt if integrator == "semi_implicit_euler" else 0.0, model.limits.effort
    wanted = lambda q, v: kp * (target - q - h * v) - kd * v  # noqa: E731
    soft = np.diag(np.where(np.abs(wanted(q, v)) <= effort, h * kd + h * h * kp, 0.0) + rotor)
    force = lambda q, v: np.clip(wanted(q, v), -effort, effort)  # noqa: E731
    H, C = lambda q: dyn.mass_matrix(q) + soft, lambda q, v: dyn.bias_force(q, v) - force(q, v)
    return step_with_laws(model, H, C, q, v, tau, dt, integrator)


@given(seed=st.integers(0, 2**32 - 1), friction=st.sampled_from([0.0, 2.0]))
@settings(max_examples=40, deadline=None)
def test_stops_and_friction_beside_a_dense_solution(seed, friction):
    model = jointed(friction=friction)
    q, v, tau = state(model, seed, speed=3.0)
    q, dt = np.clip(q, model.limits.lower, model.limits.upper), 0.05
    expected = oracle(model, q, v, tau, dt)
    found = interpreted(SEMI_IMPLICIT_STEP, model, joint_laws(model), q, v, tau, [dt])
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-9)


LAWS = {
    "none": {},
    "damping": {"damping": 0.7},
    "springs": {"stiffness": 3.0},
    "friction": {"friction": 2.0},
    "stops": {"stops": True},
    "all": {"damping": 0.7, "stiffness": 3.0, "friction": 2.0, "stops": True},
}
EXECUTIONS = {
    "rollout": ("interpreted", "specialised", "general"),
    "Dynamics": ("interpreted", "specialised", "general"),
    "Ensemble": ("interpreted", "specialised", "general"),
    "C": ("exported",),
}
WAYS = [(caller, execution) for caller, executions in EXECUTIONS.items() for execution in executions]


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(("caller", "execution"), WAYS)
def test_every_law_by_every_integrator_caller_and_execution(caller, execution, integrator, monkeypatch, tmp_path):
    """Beside a dense solution: joints that slip, stick, stop and leave their stops."""
    if execution == "interpreted":
        monkeypatch.setenv("BOUGH_INTERPRET", "1")
        monkeypatch.setattr("bough.simulate.integration._bound", OrderedDict())
    locked = 0
    for law, what in LAWS.items():
        model = jointed(**({"damping": 0.0, "stiffness": 0.0, "stops": False} | what))
        states = [state(model, seed, speed) for seed, speed in enumerate((3.0, 0.0, 0.3))]
        states = [(np.clip(q, model.limits.lower, model.limits.upper), v, 5.0 * tau) for q, v, tau in states]
        step = stepper(model, caller, execution, integrator, tmp_path / law)
        for q, v, tau in states:
            expected = oracle(model, q, v, tau, 0.01, integrator)
            for x, y in zip(step(q, v, tau, 0.01), expected, strict=True):
                np.testing.assert_allclose(x, y, atol=2e-9, err_msg=law)
            locked += np.count_nonzero(np.abs(expected[1]) < 1e-12)
    assert locked


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(("caller", "execution"), [way for way in WAYS if way[0] in ("rollout", "Ensemble")])
def test_servos_by_every_integrator_caller_and_execution(caller, execution, integrator, monkeypatch, tmp_path):
    """Beside a dense solution, with joints that slip, stick and stop."""
    if execution == "interpreted":
        monkeypatch.setenv("BOUGH_INTERPRET", "1")
        monkeypatch.setattr("bough.simulate.integration._bound", OrderedDict())
    bounded = 0
    for law, what in {"none": {}, "all": LAWS["all"], "effort": {"effort": 7.0}}.items():
        model = jointed(**({"damping": 0.0, "stiffness": 0.0, "stops": False} | what))
        for seed, speed in enumerate((3.0, 0.0, 0.3)):
            q, v, tau = state(model, seed, speed)
            q, target = np.clip(q, model.limits.lower, model.limits.upper), q + 0.2
            drive = {"servo": (30.0, 2.0), "target": target}
            step = stepper(model, caller, execution, integrator, tmp_path, **drive)
            expected = oracle(model, q, v, tau, 0.01, integrator, (30.0, 2.0, target))
            for x, y in zip(step(q, v, tau, 0.01), expected, strict=True):
                np.testing.assert_allclose(x, y, atol=2e-9, err_msg=law)
            bounded += np.count_nonzero(np.abs(6.0 - 2.0 * v) > model.limits.effort)
    assert bounded


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("execution", EXECUTIONS["rollout"])
def test_prescribed_motion_by_every_integrator_and_execution(execution, integrator, monkeypatch):
    """One joint is led at a constant velocity, as if its rotor were very heavy; the others obey their laws."""
    if execution == "interpreted":
        monkeypatch.setenv("BOUGH_INTERPRET", "1")
        monkeypatch.setattr("bough.simulate.integration._bound", OrderedDict())
    for law, what in LAWS.items():
        model = jointed(**({"damping": 0.0, "stiffness": 0.0, "stops": False} | what))
        for seed, speed in enumerate((3.0, 0.0, 0.3)):
            q, v, tau = state(model, seed, speed)
            q, tau = np.clip(q, model.limits.lower, model.limits.upper), 5.0 * tau
            q[1] *= 0.5  # off its stops, which a joint that is led ignores
            step = stepper(model, "rollout", execution, integrator, None,
                           motion={"b1": lambda t, x=q[1], u=v[1]: (x + t * u, u)})  # fmt: skip
            expected = oracle(model, q, v, tau, 0.01, integrator, rotor=np.array([0.0, 1e11, 0.0, 0.0]))
            for x, y in zip(step(q, v, tau, 0.01), expected, strict=True):
                np.testing.assert_allclose(x, y, atol=1e-10, err_msg=law)


def stepper(model, caller, execution, integrator, folder, **drive):
    """A function of q, v, tau and dt; `drive` are a servo and its target, or prescribed motion."""
    dyn, name = bough.Dynamics(model, general=execution == "general"), INTEGRATORS[integrator].routine.name
    if caller == "rollout":
        return partial(by_rollout, model, integrator=integrator, dynamics=dyn, **drive)
    if caller == "Dynamics":
        return lambda q, v, tau, dt: getattr(dyn, name)(q, v, tau, [dt])
    if caller == "Ensemble":

        def by_ensemble(q, v, tau, dt):
            goal = {name: drive[name] for name in ("target",) if name in drive}
            how = {"servo": drive.get("servo"), "dynamics": dyn}
            runs = bough.simulate.Ensemble(model, q[None], v[None], dt=dt, integrator=integrator, **how)
            runs.step(tau=tau, **goal)
            return runs.q[0], runs.v[0]

        return by_ensemble
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder.mkdir()
    source, _ = bough.export_c(model, [name], folder / "model.c", prefix="m")
    subprocess.run(["gcc", "-std=c99", "-O1", "-shared", "-fPIC", source, "-o", folder / "m.so", "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(folder / "m.so")), f"m_{name}")

    def by_c(q, v, tau, dt):
        arrays = [q, v, tau, np.array([dt]), np.zeros(model.nq), np.zeros(model.nv)]
        function(*(ctypes.c_void_p(x.ctypes.data) for x in arrays))
        return arrays[-2:]

    return by_c


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("law", ["stop", "friction"])
def test_no_joint_passes_its_stop_or_creeps_while_it_sticks(law, integrator):
    builder = bough.Builder("lever", gravity=(0, 0, 0))
    what = {"upper": 0.5} if law == "stop" else {"friction": 5.0}
    builder.add_body("lever", axis=(0, 0, 1), mass=1.0, com=(0.5, 0, 0), inertia=0.1 * np.eye(3), **what)
    model, tau = builder.build(), np.array([20.0 if law == "stop" else 4.0])
    path = bough.simulate.rollout(model, [0.0], [0.0], duration=20.0, dt=5e-3, tau=tau, integrator=integrator).q[:, 0]
    if law == "friction":
        assert not np.any(path)
    else:
        assert max(path) <= 0.5 + 1e-12
        assert path[-1] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_prescribed_joints_follow_and_the_others_feel_it(integrator):
    """A pendulum on a slide that is driven swings like one in an accelerated frame."""
    builder = bough.Builder("driven", gravity=(0, 0, -9.81))
    builder.add_body("cart", joint="prismatic", axis=(1, 0, 0), mass=5.0)
    builder.add_body("bob", "cart", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1), inertia=1e-9 * np.eye(3))
    model, dt = builder.build(), 1e-3
    path = lambda t: (0.5 * t * t, t)  # noqa: E731
    found = bough.simulate.rollout(model, np.zeros(2), np.zeros(2), duration=0.3, dt=dt, integrator=integrator,
                                   motion={"cart": path})  # fmt: skip
    np.testing.assert_allclose(found.q[:, 0], 0.5 * found.time**2, atol=1e-12)
    np.testing.assert_allclose(found.v[1:, 0], found.time[1:], atol=1e-12)
    builder = bough.Builder("tilted", gravity=(-1.0, 0, -9.81))
    builder.add_body("bob", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1), inertia=1e-9 * np.eye(3))
    frame = bough.simulate.rollout(builder.build(), [0.0], [0.0], duration=0.3, dt=dt, integrator="runge_kutta_4")
    np.testing.assert_allclose(found.q[-1, 1], frame.q[-1, 0], rtol=1e-2)
    by_position = bough.simulate.rollout(model, np.zeros(2), np.zeros(2), duration=0.3, dt=dt, integrator=integrator,
                                         motion={"cart": lambda t: 0.5 * t * t})  # fmt: skip
    np.testing.assert_allclose(by_position.q[-1, 1], frame.q[-1, 0], rtol=2e-2)


def test_a_prescribed_base_carries_the_robot():
    model = jointed(base="floating", stops=False)
    q, v, _ = state(model)
    q[:7] = [0, 0, 0, 0, 0, 0, 1]
    raised = lambda t: [0.0, 0.0, 0.1 * t, 0.0, 0.0, np.sin(t / 2), np.cos(t / 2)]  # noqa: E731
    found = bough.simulate.rollout(model, q, v, duration=0.1, dt=0.01, motion={model.joint_names[0]: raised})
    np.testing.assert_allclose(found.q[-1, :7], raised(0.1), atol=1e-12)
    with pytest.raises(bough.BoughError, match="function of time"):
        bough.simulate.rollout(model, q, v, duration=0.1, dt=0.01, motion={model.joint_names[0]: 3.0})


def test_servos_in_rollouts_are_those_of_ensembles():
    model = jointed(stops=False)
    q, v, _ = state(model)
    goal = q + 0.3
    runs = bough.simulate.Ensemble(model, q[None], v[None], dt=0.01, servo=(50.0, 5.0))
    runs.step(10, target=goal)
    found = bough.simulate.rollout(model, q, v, duration=0.1, dt=0.01, servo=(50.0, 5.0), target=goal)
    np.testing.assert_array_equal(found.q[-1], runs.q[0])
    moving = bough.simulate.rollout(model, q, v, duration=0.1, dt=0.01, servo=(50.0, 5.0), target=lambda t, q, v: goal)
    np.testing.assert_array_equal(moving.q[-1], runs.q[0])


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
        bough.Dynamics(model).runge_kutta_step(q, v, tau, [0.01, 0.01])


@pytest.mark.parametrize("name", ["semi_implicit_step", "runge_kutta_step", "midpoint_step"])
def test_a_number_is_a_time_step(name):
    """Of one state and of a batch, in the first call and later, in both precisions."""
    model = jointed(stops=False)
    dyn, x = bough.Dynamics(model), state(model)
    step = getattr(dyn, name)
    for inputs in (x, [np.tile(a, (3, 1)) for a in x], [a.astype(np.float32) for a in x]):
        expected = getattr(bough.Dynamics(model), name)(*inputs, np.array([0.01], inputs[0].dtype))
        for dt in (0.01, np.float64(0.01), 0.01):
            for found in (step(*inputs, dt), dyn.with_status(name, *inputs, dt)[0]):
                for a, b in zip(found, expected, strict=True):
                    assert a.dtype == b.dtype
                    np.testing.assert_array_equal(a, b)
    for bad in (np.nan, True, "1"):
        with pytest.raises(bough.BoughError, match="dt"):
            step(*x, bad)


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


def test_a_repeated_step_takes_the_number_that_it_is_given():
    model = bough.zoo.arm(4)
    dyn, rng = bough.Dynamics(model), np.random.default_rng(3)
    q, v, tau = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    first = {dt: dyn.semi_implicit_step(q, v, tau, np.array([dt])) for dt in (1e-3, 2e-3, 0.0)}
    for dt in (1e-3, 1e-3, 2e-3, 0.0, 1e-3):
        for x, y in zip(dyn.semi_implicit_step(q, v, tau, dt), first[dt], strict=True):
            np.testing.assert_array_equal(x, y)
    single = [x.astype(np.float32) for x in (q, v, tau)]
    assert all(x.dtype == np.float32 for x in dyn.semi_implicit_step(*single, 1e-3))
    assert dyn.semi_implicit_step(q[None], v[None], tau[None], 1e-3)[0].shape == (1, model.nq)
    with pytest.raises(bough.errors.BoughError):
        dyn.semi_implicit_step(q, v, tau, np.nan)
    with pytest.raises(TypeError):
        dyn.semi_implicit_step(q, v, tau)
