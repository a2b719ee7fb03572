"""Damping, springs, dry friction and limits: beside closed forms, beside MuJoCo, and never feeding energy in."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.dynamics.stepping import INTEGRATORS
from bough.simulate import rollout
from sizes import size


def slider(mass=2.0, gravity=(0, 0, 0), **options):
    """One mass on a rail along x."""
    builder = bough.Builder("slider", gravity=gravity)
    builder.add_body("mass", "world", "prismatic", axis=(1, 0, 0), mass=mass, **options)
    return builder.build()


def run(model, q, v, duration, dt, **options):
    dynamics = bough.Dynamics(model, general=True)
    return rollout(model, np.atleast_1d(q), np.atleast_1d(v), duration=duration, dt=dt, dynamics=dynamics, **options)


@pytest.mark.parametrize(("integrator", "tolerance"), [("semi_implicit_euler", 2e-3), ("runge_kutta_4", 1e-9)])
def test_damped_oscillator(integrator, tolerance):
    m, b, k, rest = 2.0, 3.0, 50.0, 0.2
    model = slider(m, damping=b, stiffness=k, rest=rest)
    found = run(model, 0.5, 0.0, 2.0, 5e-4, integrator=integrator)
    decay = b / (2 * m)
    omega = np.sqrt(k / m - decay**2)
    x = rest + 0.3 * np.exp(-decay * 2.0) * (np.cos(omega * 2.0) + decay / omega * np.sin(omega * 2.0))
    np.testing.assert_allclose(found.q[-1, 0], x, atol=tolerance)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_mimic_joint_moves_its_leader_by_its_inertia(integrator):
    """H v' = tau - b v of both joints, whatever the integrator."""
    builder = bough.Builder("gears", gravity=(0, 0, 0))
    builder.add_body("wheel", axis=(0, 0, 1), mass=1.0, inertia=0.01 * np.eye(3), armature=0.002, damping=0.05)
    follower = {"mass": 0.5, "inertia": 0.001 * np.eye(3), "armature": 0.01, "mimic": ("wheel", -2.0, 0.0)}
    builder.add_body("pinion", axis=(0, 0, 1), damping=0.01, **follower)
    model = builder.build()
    found = run(model, 0.0, 0.0, 0.1, 1e-3, tau=lambda t, q, v: 0.1, integrator=integrator)
    H, b = 0.012 + 4 * 0.011, 0.05 + 4 * 0.01
    np.testing.assert_allclose(found.v[-1, 0], 0.1 / b * (1.0 - np.exp(-0.1 * b / H)), rtol=2e-3)


def test_stiff_damping_does_not_explode():
    """Explicit damping would blow up beyond b dt / m = 2; implicit damping decays as (1 + b dt / m)^-n."""
    found = run(slider(1.0, damping=1e4), 0.0, 1.0, 0.1, 0.01)
    np.testing.assert_allclose(found.v[-1, 0], 101.0**-10, rtol=1e-9)


def test_a_block_sticks_slips_and_comes_to_rest():
    mass, friction = 2.0, 5.0
    model = slider(mass, friction=friction)
    stuck = run(model, 0.0, 0.0, 1.0, 1e-2, tau=lambda t, q, v: 4.9)
    assert not stuck.q.any()
    pulled = run(model, 0.0, 0.0, 1.0, 1e-3, tau=lambda t, q, v: 9.0)
    np.testing.assert_allclose(pulled.v[-1, 0], (9.0 - friction) / mass, rtol=1e-12)
    # 2 m/s against 2.5 m/s^2: at rest after 0.8 s and 0.8 m, and it stays there
    sliding = run(model, 0.0, 2.0, 1.0, 1e-4)
    np.testing.assert_allclose(sliding.q[-1, 0], 2.0**2 / (2 * friction / mass), atol=2e-4)
    assert not sliding.v[-1].any()
    still = sliding.time > 0.801
    assert np.ptp(sliding.q[still]) == 0.0


def test_friction_on_a_spring_leaves_it_off_its_rest():
    """Each swing of a spring with dry friction loses 2 f / k; it stops where the spring is weaker than friction."""
    model = slider(1.0, friction=1.0, stiffness=100.0)
    found = run(model, 0.1, 0.0, size(5.0, 1.8), size(1e-4, 2e-4))
    swing = np.pi / 10.0
    for n in range(1, 4):
        at = np.searchsorted(found.time, n * swing)
        np.testing.assert_allclose(found.q[at, 0], (-1) ** n * (0.1 - 0.02 * n), atol=2e-4)
    assert abs(found.q[-1, 0]) * 100.0 <= 1.0
    assert not found.v[-1].any()


def test_a_limit_stops_inelastically_and_lets_go():
    model = slider(1.0, lower=-1.0, upper=0.5)
    found = run(model, 0.0, 1.0, 1.0, 0.03)
    assert found.q.max() == pytest.approx(0.5, abs=1e-15)
    assert found.v[-1, 0] == 0.0
    back = run(model, 0.5, 0.0, 1.0, 0.01, tau=lambda t, q, v: -1.0)
    np.testing.assert_allclose(back.v[-1, 0], -1.0, rtol=1e-12)
    beyond = run(model, 0.7, 1.0, 0.1, 0.01)
    assert (beyond.q == 0.7).all() or np.allclose(beyond.q, 0.7)
    home = run(model, 0.7, -1.0, 0.1, 0.01)
    np.testing.assert_allclose(home.q[-1, 0], 0.6, rtol=1e-12)


def test_a_stop_shares_its_blow_with_the_mechanism():
    """The elbow of a double pendulum hits its stop: u - H^-1 e u_1 / (H^-1)_11; momentum about the shoulder stays."""
    builder = bough.Builder("pendulum", gravity=(0, 0, 0))
    for name, up, where, limit in (("upper", "world", (0, 0, 0), {}), ("lower", "upper", (0, 0, -1), {"upper": 0.3})):
        builder.add_body(name, up, "revolute", where, axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5),
                         inertia=0.1 * np.eye(3), **limit)  # fmt: skip
    model = builder.build()
    found = run(model, [0.0, 0.0], [0.5, 2.0], 0.5, 1e-3)
    assert found.q[:, 1].max() == pytest.approx(0.3, abs=1e-12)
    spin = found.momentum()[:, 4]
    np.testing.assert_allclose(spin, spin[0], rtol=2e-3)
    dynamics, q, u = bough.Dynamics(model, general=True), np.array([0.2, 0.3]), np.array([0.5, 2.0])
    H_inv = dynamics.inverse_mass_matrix(q)
    bias = dynamics.bias_force(q, u)
    np.testing.assert_allclose(
        dynamics.semi_implicit_step(q, u, bias, [0.01])[1], u - H_inv[:, 1] * u[1] / H_inv[1, 1], atol=1e-13
    )


@pytest.mark.parametrize("effect", ["damping", "springs", "friction", "limits"])
def test_each_effect_can_be_switched_off(effect):
    option = {"damping": {"damping": 5.0}, "springs": {"stiffness": 9.0, "rest": 1.0}, "friction": {"friction": 1.0},
              "limits": {"lower": -0.1, "upper": 0.1}}[effect]  # fmt: skip
    model, plain = slider(**option), slider()
    with_it, free = run(model, 0.0, 1.0, 0.5, 0.01), run(plain, 0.0, 1.0, 0.5, 0.01)
    assert np.abs(with_it.q[-1] - free.q[-1]).max() > 1e-2
    without = run(model, 0.0, 1.0, 0.5, 0.01, without=[effect])
    np.testing.assert_allclose(without.q, free.q, atol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_friction_and_stops_never_feed_energy_in(seed):
    """One velocity-level step from any velocity: the kinetic energy does not grow, bounds hold, friction opposes."""
    rng = np.random.default_rng(seed)
    builder, up = bough.Builder("rough"), "world"
    for k in range(8):
        build = {
            "axis": rng.normal(size=3),
            "com": rng.normal(size=3),
            "inertia": np.eye(3),
            "lower": -1.0,
            "upper": 1.0,
        }
        mass, friction = 10.0 ** rng.uniform(-2, 2, size=2)
        base = up if rng.random() < 0.7 else "world"
        up = builder.add_body(f"b{k}", base, "revolute", rng.normal(size=3), mass=mass, friction=friction, **build)
    model = builder.build()
    dynamics = bough.Dynamics(model, general=True)
    q, u = rng.uniform(-1.1, 1.1, size=(40, 8)), 10.0 ** rng.uniform(-3, 1, size=(40, 1)) * rng.normal(size=(40, 8))
    # forces that leave velocities alone, so that all of their change is that of friction and stops
    v = dynamics.semi_implicit_step(q, u, dynamics.bias_force(q, u), [0.01])[1]
    energy = [dynamics.kinetic_energy(q, x) for x in (u, v)]
    assert (energy[1] <= energy[0] * (1 + 1e-9)).all()
    moved = q + 0.01 * v
    slack = 1e-9 * (1 + np.abs(u).max(axis=1, keepdims=True))
    assert (moved >= np.minimum(q, -1.0) - slack).all()
    assert (moved <= np.maximum(q, 1.0) + slack).all()


def test_many_states_move_like_one():
    model = slider(1.0, friction=1.0, damping=0.5, lower=-1.0, upper=0.2)
    q, v = np.array([[0.0], [0.1], [-0.9]]), np.array([[1.0], [3.0], [-2.0]])
    many = run(model, q, v, 0.3, 0.01)
    for k in range(3):
        np.testing.assert_allclose(run(model, q[k], v[k], 0.3, 0.01).q, many.q[:, k], atol=1e-13)


ARM = """<mujoco><compiler angle="radian"/><option timestep="0.002" integrator="{integrator}"/><worldbody>
<body><joint name="a" axis="0 0 1" damping="1.5" {friction}/>
<inertial pos="0 0 0.2" mass="3" diaginertia=".03 .04 .02"/>
<body pos="0 0 0.4">
<joint name="b" axis="0 1 0" damping="0.8" stiffness="20" springref="0.3" armature="0.1" {friction}/>
<inertial pos="0.1 0 0.2" mass="2" diaginertia=".02 .03 .02"/>
<body pos="0.1 0 0.4"><joint name="c" type="slide" axis="0 0 1" damping="30" stiffness="200"/>
<inertial pos="0 0.1 0.1" mass="1" diaginertia=".01 .01 .01"/>
<body pos="0 0 0.2"><joint name="d" axis="1 0 0" damping="0.05" {friction}/>
<inertial pos="0 0 0.1" mass="0.5" diaginertia=".002 .002 .001"/></body></body></body></body></worldbody></mujoco>"""


def beside_mujoco(tmp_path, integrator="Euler", friction="", steps=500):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(ARM.format(integrator=integrator, friction=friction))
    model, peer = bough.load(path), mujoco.MjModel.from_xml_path(str(path))
    data, rng = mujoco.MjData(peer), np.random.default_rng(0)
    q, v = 0.3 * rng.normal(size=4), rng.normal(size=4)
    assert list(model.joint_names) == ["a", "b", "c", "d"]
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, [1.0, -2.0, 5.0, 0.1]
    ours = run(model, q, v, steps * 0.002, 0.002, tau=lambda t, q, v: np.array([1.0, -2.0, 5.0, 0.1]))
    for _ in range(steps):
        mujoco.mj_step(peer, data)
    return ours, data


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_damping_and_springs_beside_mujoco(tmp_path, integrator):
    ours, data = beside_mujoco(tmp_path, integrator)
    np.testing.assert_allclose(ours.q[-1], data.qpos, atol=1e-9)
    np.testing.assert_allclose(ours.v[-1], data.qvel, atol=1e-9)


def test_dry_friction_beside_mujoco(tmp_path):
    """MuJoCo's friction is slightly soft (solimp 0.9 to 0.95 by default); here it is made nearly hard."""
    soft = 'frictionloss="0.3" solimpfriction="0.9999 0.9999 0.001" solreffriction="0.004 1"'
    ours, data = beside_mujoco(tmp_path, friction=soft, steps=300)
    np.testing.assert_allclose(ours.q[-1], data.qpos, atol=5e-3)
    rough = beside_mujoco(tmp_path, steps=300)[0]
    assert np.abs(rough.q[-1] - ours.q[-1]).max() > 5e-2  # friction matters here
