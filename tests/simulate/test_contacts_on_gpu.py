"""Steps with contacts and a number of sweeps: one kernel, the same on a GPU (or its stand-in) and on the CPU."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.run.cuda import launches
from bough.compile.run.libraries import on_host
from bough.errors import ModelError, ShapeError
from bough.simulate import ContactPoint, Contacts, Ensemble, HeightField, Plane
from bough.simulate.constrained_stepper import ConstrainedStepper
from bough.simulate.contact_step import CONTACT_STEP
from gpu import a_gpu, has_gpu, starfish, to_gpu

LEGS = [f"leg{k}" for k in range(4)]
FEET = Contacts([ContactPoint(leg, (0.0, 0.0, -0.4)) for leg in LEGS], friction=0.6, sweeps=4)


@pytest.fixture(scope="module")
def gpu():
    with a_gpu() as found:
        yield found


def fallen(rows):
    """Starfish just above the ground, falling and turning; friction differs from row to row."""
    model, rng = starfish(), np.random.default_rng(0)
    q = np.tile(model.neutral, (rows, 1))
    q[:, 2], q[:, 7:] = 0.401, 0.3 * rng.normal(size=(rows, 4))
    return model, q, 0.5 * rng.normal(size=(rows, model.nv)), rng.uniform(0.1, 1.0, rows)


@pytest.mark.native("compiles CUDA text")
@pytest.mark.parametrize(("dtype", "longest"), [("float64", 15_000), ("float32", 15_000), ("float64", 4000)])
def test_a_gpu_steps_as_the_cpu_does(dtype, longest, gpu, monkeypatch):
    monkeypatch.setattr(launches, "LONGEST", {4: longest, 8: longest})  # by few kernels, or by many
    model, q, v, friction = fallen(5)
    q[:, 9], q[:, 10], tau = -1.99, 1.99, np.repeat([0.0, -12.0, 12.0], [8, 1, 1])  # into their stops
    how = {"dt": 2e-3, "contacts": FEET, "servo": (20.0, 1.0)}
    cpu = Ensemble(model, q, v, friction=friction, **how)
    runs = Ensemble(model, to_gpu(q.astype(dtype)), to_gpu(v.astype(dtype)), friction=friction, **how)
    weight, pressed = 9.81 * model.total_mass, 0.0
    for _ in range(3):
        cpu.step(8, tau=tau)
        runs.step(8, tau=tau)
        np.testing.assert_allclose(on_host(runs.force), cpu.force, atol=(1e-9 if dtype == "float64" else 5e-2) * weight)
        pressed = max(pressed, cpu.force[..., 2].max())
        scale = 1e-11 if dtype == "float64" else 2e-4
        for name in ("q", "v"):
            found = on_host(getattr(runs, name))
            np.testing.assert_allclose(found, getattr(cpu, name), atol=scale * (1.0 + np.abs(getattr(cpu, name)).max()))
    assert (np.abs(cpu.q[:, [9, 10]]) == 2.0).any(axis=0).all()
    assert pressed > 0.1 * weight
    assert tuple(runs.residual.shape) == (5,)
    runs.reset(runs.q[:, 2] < 1e9)  # by a mask that is there
    np.testing.assert_allclose(on_host(runs.q), q, atol=1e-7)


@pytest.mark.native("compiles CUDA text")
@pytest.mark.parametrize("longest", [15_000, 4000])
def test_the_same_bits_whatever_the_batch_and_the_neighbours(longest, gpu, monkeypatch):
    monkeypatch.setattr(launches, "LONGEST", {4: longest, 8: longest})  # by few kernels, or by many
    model, q, v, friction = fallen(70)

    def after(rows):
        runs = Ensemble(model, to_gpu(q[rows]), to_gpu(v[rows]), friction=friction[rows], dt=2e-3, contacts=FEET)
        runs.step(12)
        return [on_host(x) for x in (runs.q, runs.v, runs.force)]

    whole = after(slice(None))
    for rows in (slice(0, 1), slice(5, 12), slice(30, 70)):
        for a, b in zip(after(rows), whole, strict=True):
            np.testing.assert_array_equal(a, b[rows])


def test_stops_lock_joints_as_rows_hold_them():
    """Collapsing quadrupeds: by locked joints with a number of sweeps, and by rows that the solver holds to its end."""
    model, rng, rows = zoo.quadruped(), np.random.default_rng(0), 20
    q = np.tile(model.rest_configuration, (rows, 1))
    lower, upper = model.limits.lower[6:], model.limits.upper[6:]
    q[:, 2] = 0.55
    q[:, 7:] = np.clip(q[:, 7:] + 0.8 * rng.normal(size=(rows, 12)), lower + 0.01, upper - 0.01)
    v, tau = 1.5 * rng.normal(size=(rows, model.nv)), np.zeros((rows, model.nv))
    tau[:, 6:] = 15.0 * rng.normal(size=(rows, 12))
    feet = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]
    swept, held = (Ensemble(model, q, v, dt=1e-3, contacts=Contacts(feet, sweeps=s)) for s in (20, None))
    for runs in (swept, held):
        runs.step(250, tau=tau)
    joints = swept.q[:, 7:]
    at = (joints == lower) | (joints == upper)
    assert ((joints >= lower) & (joints <= upper)).all()
    assert at.sum() > 100
    assert np.median(np.abs(swept.q - held.q).max(axis=1)) < 1e-4
    assert swept._stepper.impulses.shape == (rows, 12 + 12)


def test_points_stay_out_of_the_ground_and_carry_the_robot():
    model = zoo.quadruped()
    q = model.rest_configuration.copy()
    q[2] = 0.36
    contacts = Contacts(["lf_foot", "rf_foot", "lh_foot", "rh_foot"], sweeps=4)
    runs = Ensemble(model, q[None], np.zeros((1, model.nv)), dt=2e-3, contacts=contacts, servo=(200.0, 5.0))
    runs.step(1000)
    heights = bough.Dynamics(model).placements(runs.q)[0, [model.frame(p.frame) for p in contacts.points], 2, 3]
    assert np.abs(heights).max() < 1e-6
    np.testing.assert_allclose(runs.force[0].sum(axis=0), [0.0, 0.0, 9.81 * model.total_mass], atol=1e-3)


ROBOTS = {
    "arm of two": zoo.arm(2), "arm": zoo.arm(7), "quadruped": zoo.quadruped(), "humanoid": zoo.humanoid(),
    "asimo": zoo.asimo(), "star": zoo.star(6), "tree": zoo.tree1(), "chain": zoo.chain(12),
    "random": zoo.random_tree(12, seed=3), "floating": zoo.floating_chain(8),
}  # fmt: skip


@pytest.mark.native("single precision")
@pytest.mark.parametrize("name", ROBOTS)
def test_single_precision_is_finite(name):
    """1,000 random states of ten robots: points in the ground, in the air, and with directions in which none moves."""
    model, rng, rows = ROBOTS[name], np.random.default_rng(0), 1000
    inner = set(model.parent.tolist())
    tips = [model.body_names[i] for i in range(len(model.parent)) if i not in inner][:4]
    stepper = ConstrainedStepper(bough.Dynamics(model), Contacts(tips, Plane(), sweeps=4))
    step = stepper.kernels.bind(CONTACT_STEP, 4, general=True, dtype=np.float32)
    q, v = model.random_configuration(rng, rows), 3.0 * rng.normal(size=(rows, model.nv))
    if model.nq > model.nv:
        q[:, 2] = 0.3 * rng.normal(size=rows)
    given = {
        "q": q, "v": v, "tau": 10.0 * rng.normal(size=v.shape), "dt": np.full((rows, 1), 1e-3),
        "friction": rng.uniform(0.0, 1.2, (rows, len(tips))),
    }  # fmt: skip
    arrays = [np.float32(given.get(x.name, np.zeros((rows, *x.shape)))) for x in step.inputs]
    q_after, v_after, lam, report = step.with_status(*arrays)[0]
    for found in (q_after, v_after, lam, report):
        assert np.isfinite(found).all()
    assert (lam != 0.0).any(axis=1).sum() > 50 or name == "star"  # which touches with no mobility


HILLS = HeightField(0.05 * np.random.default_rng(3).normal(size=(9, 9)), 0.5, (-2.0, -2.0))
SPHERES = [ContactPoint(leg, (0.0, 0.0, -0.4), 0.02) for leg in LEGS]


def slopes(rows):
    """Planes (rows, 4): unit normals, and heights along them."""
    rng = np.random.default_rng(1)
    normal = np.concatenate([0.2 * rng.normal(size=(rows, 2)), np.ones((rows, 1))], axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return np.concatenate([normal, 0.02 * rng.normal(size=(rows, 1))], axis=1)


@pytest.mark.native("compiles CUDA text")
@pytest.mark.parametrize("ground", ["slopes", "hills"])
def test_grounds_pushes_and_sensors_are_those_of_the_cpu(ground, gpu, monkeypatch):
    model, q, v, friction = fallen(5)
    more = {"planes": slopes(5)} if ground == "slopes" else {}
    contacts = Contacts(SPHERES, Plane() if ground == "slopes" else HILLS, friction=0.6, sweeps=4)
    how = {"dt": 2e-3, "contacts": contacts, "friction": friction, "servo": (20.0, 1.0)} | more
    cpu, runs = Ensemble(model, q, v, **how), Ensemble(model, to_gpu(q), to_gpu(v), **how)
    push = {"leg1": 10.0 * np.random.default_rng(2).normal(size=(5, 6))}
    pushed, mask = {name: to_gpu(x) for name, x in push.items()}, np.array([True, False, True, False, False])
    gains = np.repeat([0.0, 7.0], [6, 4])
    where, sliding, on_gpu = to_gpu(mask), to_gpu(np.full(5, 0.2)), to_gpu(gains)
    runs.step(2)
    cpu.step(2)
    if not has_gpu():
        monkeypatch.setattr(type(runs.q), "get", None)  # nothing is copied to the host
    for _ in range(2):
        runs.step(20, forces=pushed)
        cpu.step(20, forces=push)
        found = {"q": runs.q, "v": runs.v, "force": runs.force, "reactions": runs.joint_reactions()}
        found |= {"touching": runs.touching} | dict(zip(("accelerometer", "gyro"), runs.imu("leg2"), strict=True))
        own = {"q": cpu.q, "v": cpu.v, "force": cpu.force, "reactions": cpu.joint_reactions()}
        own |= {"touching": cpu.touching} | dict(zip(("accelerometer", "gyro"), cpu.imu("leg2"), strict=True))
        for name, expected in own.items():
            ours = on_host(found[name]) if has_gpu() else np.asarray(found[name], float)
            np.testing.assert_allclose(ours, expected, atol=1e-8 * (1.0 + np.abs(expected).max()), err_msg=name)
        assert cpu.touching.any()
        for each, rows, mu, kp in ((runs, where, sliding, on_gpu), (cpu, mask, np.full(5, 0.2), gains)):
            each.reset(rows)
            each.assign(rows, friction=mu, kp=kp)
    np.testing.assert_array_equal(cpu.q[mask], q[mask])


@pytest.mark.native("compiles CUDA text")
@pytest.mark.parametrize("ground", [Plane(), HILLS], ids=["plane", "hills"])
def test_a_row_that_fails_changes_no_other(ground, gpu):
    """On the CPU and on a GPU, to the bit: warm starts of the others stay."""
    model, q, v, friction = fallen(4)
    contacts = Contacts(SPHERES, ground, friction=0.6, sweeps=4)
    for like in (np.asarray, to_gpu):
        runs, other = (
            Ensemble(model, like(q), like(v), dt=2e-3, contacts=contacts, friction=friction) for _ in range(2)
        )
        for each in (runs, other):
            each.step(20)
        runs.reset([1], like(np.full((1, model.nq), np.nan)))
        for each in (runs, other):
            each.step(20)
        assert on_host(runs.failed).astype(bool).tolist() == [False, True, False, False]
        for name in ("q", "v", "force"):
            rows, expected = (np.delete(on_host(getattr(each, name)), 1, axis=0) for each in (runs, other))
            np.testing.assert_array_equal(rows, expected)


def test_a_plane_of_each_row_is_that_of_the_contacts():
    model, q, v, friction = fallen(3)
    planes, general = slopes(3), bough.Dynamics(model, general=True)
    found = Ensemble(model, q, v, dt=2e-3, contacts=Contacts(SPHERES), friction=friction, planes=planes)
    found.step(40)
    for r, (*normal, height) in enumerate(planes):
        ground = Plane(tuple(height * np.array(normal)), tuple(normal))
        own = {"contacts": Contacts(SPHERES, ground), "friction": friction[r : r + 1], "dynamics": general}
        one = Ensemble(model, q[r : r + 1], v[r : r + 1], dt=2e-3, **own)
        one.step(40)
        np.testing.assert_allclose(found.q[r], one.q[0], atol=1e-8)
        np.testing.assert_allclose(found.force[r], one.force[0], atol=1e-4)
    with pytest.raises(ShapeError, match="normals of unit length"):
        found.assign([0], planes=[[0.0, 0.0, 2.0, 0.0]])
    with pytest.raises(ShapeError, match="must have shape"):
        Ensemble(model, q, v, dt=2e-3, contacts=Contacts(SPHERES), planes=planes[0])
    with pytest.raises(ModelError, match="a ground that is none"):
        Ensemble(model, q, v, dt=2e-3, contacts=Contacts(SPHERES, HILLS), planes=planes)


def test_an_imu_at_rest_reads_gravity_and_a_free_base_has_no_reaction():
    model = zoo.quadruped()
    q = np.tile(model.rest_configuration, (2, 1))
    q[:, 2] = 0.36
    contacts = Contacts([ContactPoint(f"{leg}_foot", radius=0.02) for leg in ("lf", "rf", "lh", "rh")], friction=1.0)
    runs = Ensemble(model, q, np.zeros((2, model.nv)), dt=1e-3, contacts=contacts, servo=(300.0, 30.0))
    push = np.array([[0.0] * 6, [20.0, 0, 0, 0, 0, 1.0]])
    runs.step(2000, forces={"trunk": push})
    acceleration, spin = runs.imu("trunk")
    R = bough.Dynamics(model).placement(runs.q, "trunk")[:, :3, :3]
    np.testing.assert_allclose(acceleration, 9.81 * R[:, 2], atol=1e-4)
    np.testing.assert_allclose(spin, 0.0, atol=1e-5)
    np.testing.assert_allclose(runs.force.sum(axis=1), -push[:, :3] + [0, 0, 9.81 * model.total_mass], atol=1e-3)
    reactions = runs.joint_reactions()
    np.testing.assert_allclose(reactions[:, 0], 0.0, atol=1e-3)  # the base is free
    hips = bough.Dynamics(model).joint_forces(runs.q, 0 * runs.v, 0 * runs.v)[:, 1:]
    assert np.abs(reactions[:, 1:] - hips).max() > 10.0  # feet carry the legs
    runs.step(1, forces={})
    assert runs.imu("trunk")[0][1, 0] < -0.5  # the push is gone


def test_what_a_gpu_does_not_step_is_refused(gpu):
    model, q, v, _ = fallen(2)

    class Pit:
        def distance(self, points):
            return HILLS.distance(points)

    with pytest.raises(ModelError, match="'starfish' has loops, mimic joints or a ground that is no Plane"):
        Ensemble(model, to_gpu(q), to_gpu(v), dt=1e-3, contacts=Contacts(FEET.points, Pit()))
    with pytest.raises(ModelError, match="on the CPU contacts, loops and mimic joints are for float64"):
        Ensemble(model, np.float32(q), np.float32(v), dt=1e-3, contacts=FEET)
