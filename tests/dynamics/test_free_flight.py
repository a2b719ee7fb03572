"""Free flight: momentum stays whatever the spin, energy does not rise, and paths are parabolas."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.simulate import ContactPoint, Contacts, Ensemble, Plane, rollout


def body(joint="floating", gravity=(0, 0, 0), com=(0.1, 0.2, -0.3), inertia=(1.0, 2.0, 2.5)):
    builder = bough.Builder("body", gravity=gravity)
    builder.add_body("body", "world", joint, mass=2.0, com=com, inertia=np.diag(inertia))
    return builder.build()


def test_a_ball_that_spins_keeps_its_momentum():
    model = body(com=(0, 0, 0), inertia=(1.0, 1.0, 1.0))
    found = rollout(model, model.neutral, [1, 0, 0, 0, 20, 0], duration=2.0, dt=1e-3, every=100)
    assert found.drift()["momentum"] < 1e-9


@pytest.mark.parametrize("joint", ["floating", "planar"])
def test_linear_momentum_stays_whatever_the_spin(joint):
    model = body(joint)
    v = [1, 0.5, -0.2, 3, 20, 1] if joint == "floating" else [1, 0.5, 20]
    found = rollout(model, model.neutral, v, duration=1.0, dt=1e-3, every=50)
    momentum = found.momentum()[:, :3] if joint == "floating" else found.momentum()[:, [0, 1, 5]]
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-9)
    runs = Ensemble(model, model.neutral[None], np.array([v], float), dt=1e-3)
    runs.step(1000)
    np.testing.assert_allclose(runs.q[0], found.q[-1], atol=1e-12)


@pytest.mark.parametrize("joint", ["floating", "planar", "spherical"])
@pytest.mark.parametrize("spin", [100.0, 250.0, 400.0])
def test_momentum_stays_at_half_a_radian_and_more_in_a_step(joint, spin):
    model = body(joint, inertia=(1.5, 2.0, 2.5))
    rng = np.random.default_rng(int(spin))
    turn = rng.normal(size=3)
    turn *= spin / np.linalg.norm(turn)
    v = {"floating": [1, 0.5, -0.2, *turn], "planar": [1, 0.5, spin], "spherical": turn}[joint]
    found = rollout(model, model.neutral, v, duration=0.2, dt=2e-3)
    kept = {"floating": slice(0, 6), "planar": [0, 1, 5], "spherical": slice(3, 6)}[joint]
    momentum, energy = found.momentum()[:, kept], found.energy()
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-10 * spin)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-2)


def test_tumbling_keeps_angular_momentum_and_energy():
    model = body()
    found = rollout(model, model.neutral, [0, 0, 0, 0.01, 5, 0.01], duration=10.0, dt=2e-3)
    assert np.abs(found.v[:, 4]).min() < 3.0  # it tumbles
    energy, spin = found.energy(), found.momentum()
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), atol=1e-6)
    assert np.diff(energy).max() < 1e-12 * energy[0]
    assert energy[-1] > 0.99 * energy[0]


@pytest.mark.parametrize("joint", ["floating", "planar"])
@pytest.mark.parametrize("turned", [1.0, 2.0, 4.0, 8.0])
def test_linear_momentum_stays_at_radians_a_step(joint, turned):
    model = body(joint, inertia=(1.5, 2.0, 2.5))
    v = [1, 0.5, -0.2, 0.6 * turned / 1e-2, 0.8 * turned / 1e-2, 0] if joint == "floating" else [1, 0.5, turned / 1e-2]
    found = rollout(model, model.neutral, v, duration=1.0, dt=1e-2)
    momentum = found.momentum()[:, :3]
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0, atol=1e-9)


@pytest.mark.parametrize("turned", [0.05, 0.2, 0.4, 0.8, 1.2, 2.0, 8.0])
def test_no_step_raises_the_energy(turned):
    """Bodies turned by so many radians in a step, rods and discs among them, which then spin faster."""
    rng = np.random.default_rng(int(100 * turned))
    for _ in range(8):
        x, y, z = 10.0 ** rng.uniform(-3.0, 0.0, 3)
        model = body("spherical", com=(0, 0, 0), inertia=(y + z, z + x, x + y))
        turn = rng.normal(size=(20, 3))
        turn *= turned / 1e-2 / np.linalg.norm(turn, axis=1, keepdims=True)
        runs = Ensemble(model, np.tile(model.neutral, (20, 1)), turn, dt=1e-2)
        dyn = bough.Dynamics(model, general=True)
        before = dyn.kinetic_energy(runs.q, runs.v)
        for _ in range(10):
            runs.step()
            energy = dyn.kinetic_energy(runs.q, runs.v)
            assert (energy <= before * (1.0 + 1e-12)).all()
            before = energy


def test_a_spherical_joint_keeps_angular_momentum_about_its_pivot():
    model = body("spherical")
    found = rollout(model, model.neutral, [1, 5, 2], duration=1.0, dt=1e-3, every=10)
    spin, energy = found.momentum()[:, 3:], found.energy()
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), atol=1e-9)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("integrator", "late", "most"),
    [("semi_implicit_euler", 2e-3, 1e-12), ("lie_midpoint", 0.0, 1e-3), ("runge_kutta_4", 0.0, 1e-6)],
)
def test_a_locked_quadruped_in_a_backflip_stays_on_its_parabola(integrator, late, most):
    """That of semi-implicit Euler falls by g t (t + h) / 2: a step moves with the velocity at its end."""
    model = zoo.quadruped()
    welded = model.welded_at(model.neutral, [name for name in model.joint_names if name != model.joint_names[0]])
    v = np.array([1.5, 0, 3.0, 0, -10.0, 0])
    found = rollout(welded, welded.neutral, v, duration=0.6, dt=2e-3, every=10, integrator=integrator)
    centre = bough.Dynamics(welded).center_of_mass(found.q)
    speed = bough.Dynamics(welded).center_of_mass_velocity(welded.neutral, v)
    t = found.time[:, None]
    path = centre[0] + t * speed + 0.5 * t * (t + late) * np.array([0, 0, -9.81])
    assert np.abs(centre - path).max() < most
    lost = np.abs(found.momentum()[-1, :2] - found.momentum()[0, :2]).max()
    assert lost < (1e-9 if integrator == "semi_implicit_euler" else 10 * most)


def bundle(width, count=6):
    """Bodies on a free one, all of which meet their stops."""
    builder, rng = bough.Builder("bundle", gravity=(0, 0, 0)), np.random.default_rng(0)
    builder.add_body("b0", joint="floating", mass=1.0, inertia=0.01 * np.eye(3))
    for k in range(1, count):
        axis, law = rng.normal(size=3), {"lower": -width, "upper": width}
        own = {"mass": 0.3 + rng.random(), "com": (0.05, 0, 0.02), "inertia": 0.002 * np.eye(3)}
        parent = f"b{rng.integers(max(0, k - 3), k)}"
        builder.add_body(f"b{k}", parent, placement=(0.1, 0.02, -0.05), axis=axis / np.linalg.norm(axis), **own, **law)
    return builder.build()


@pytest.mark.parametrize("how", ["semi_implicit_euler", "runge_kutta_4", "lie_midpoint", "sweeps"])
@pytest.mark.parametrize("width", [1e-9, 0.1])
def test_stops_that_act_together_push_no_base(width, how):
    """Momentum stays to the order of a step, and impacts take energy out."""
    model = bundle(width)
    dyn, rng = bough.Dynamics(model, general=True), np.random.default_rng(3)
    v = rng.normal(size=(50, model.nv)) * np.repeat([1.0, 5.0], [3, model.nv - 3])
    far = Contacts(["b0"], Plane((0, 0, -1e4)), sweeps=1)
    more = {"contacts": far} if how == "sweeps" else {"integrator": how}
    runs = Ensemble(model, np.tile(model.neutral, (50, 1)), v, dt=1e-3, dynamics=dyn, **more)
    first, start = dyn.kinetic_energy(runs.q, runs.v), dyn.momentum(runs.q, runs.v)
    before = first
    for _ in range(60):
        runs.step()
        energy = dyn.kinetic_energy(runs.q, runs.v)
        assert ((energy - before) / first).max() < 1e-2
        assert (np.abs(runs.q[:, 7:]) <= width + 1e-15).all()
        before = energy
    assert np.abs(dyn.momentum(runs.q, runs.v) - start).max() < 0.3


def test_free_joints_leave_less_error_than_a_plain_step():
    """With joints that move, momentum is not exact: the error is a share of that of a plain step."""
    model = zoo.humanoid()
    model = bough.Dynamics(model).model
    rng = np.random.default_rng(0)
    v = 0.3 * rng.normal(size=model.nv)
    v[3:6] = [0, 6, 0]
    law = bough.Dynamics(model).forward_dynamics
    push = model.total_mass * 9.81 * 0.2
    ends = [rollout(model, model.neutral, v, duration=0.2, dt=2e-3, **more) for more in ({}, {"motion": law})]
    errors = [np.linalg.norm(e.momentum()[-1, :3] - e.momentum()[0, :3] + [0, 0, push]) for e in ends]
    assert errors[0] < errors[1] / 2


def test_a_sliding_ball_ends_up_rolling_at_five_sevenths():
    radius, mass = 0.1, 1.0
    builder = bough.Builder("ball")
    builder.add_body("ball", "world", "floating", mass=mass, inertia=0.4 * mass * radius**2 * np.eye(3))
    model = builder.build()
    q, v = model.neutral.copy(), np.zeros(6)
    q[2], v[0] = radius, 2.0
    contacts = Contacts([ContactPoint("ball", (0, 0, 0), radius)], friction=0.3)
    found = rollout(model, q, v, duration=1.5, dt=2e-3, contacts=contacts)
    speed = bough.Dynamics(model).center_of_mass_velocity(found.q, found.v)
    np.testing.assert_allclose(speed[-1], [2.0 * 5 / 7, 0, 0], atol=1e-9)
    assert np.diff(found.energy()).max() < 1e-12


@pytest.mark.parametrize("integrator", ["Euler", "implicit"])
@pytest.mark.parametrize("spin", [(0.01, 5, 0.01), (3, 4, 5)])
def test_beside_mujoco_no_worse(integrator, spin):
    """A body that tumbles for two seconds: what momentum and energy lose, here and there."""
    mujoco = pytest.importorskip("mujoco")
    text = f"""<mujoco><option timestep="0.002" gravity="0 0 0" integrator="{integrator}"/><worldbody><body><freejoint/>
    <inertial pos="0.1 0.2 -0.3" mass="2" diaginertia="1 2 2.5"/></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data, model, v = mujoco.MjData(theirs), body(), np.array([1.0, 0, 0, *spin])
    data.qvel[:] = v
    ours = rollout(model, model.neutral, v, duration=2.0, dt=2e-3)
    states = []
    for _ in range(1000):
        mujoco.mj_step(theirs, data)
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, data.qpos[3:7])
        speed = turn.reshape(3, 3).T @ data.qvel[:3]
        states.append(([*data.qpos[:3], *data.qpos[4:7], data.qpos[3]], [*speed, *data.qvel[3:]]))
    q, v = (np.array(x) for x in zip(*states, strict=True))
    dyn = bough.Dynamics(model)
    energy, momentum = dyn.kinetic_energy(q, v), np.array([dyn.momentum(a, b) for a, b in zip(q, v, strict=True)])
    start = ours.momentum()[0]
    assert np.abs(ours.momentum() - start).max() <= np.abs(momentum - start).max() + 1e-12
    lost = [np.abs(x - ours.energy()[0]).max() for x in (ours.energy(), energy)]
    assert lost[0] <= lost[1] + 1e-12
