"""Active regions: accelerations of the locked linkage, the error of an instant, impulses, momentum and energy."""

from __future__ import annotations

import numpy as np
import pytest

import bough
import models
from adaptive.linkages import random_linkage
from bough import adaptive
from bough.adaptive.motion.choose import FRONT, Rule
from bough.errors import ModelError, NumericalError

KEEP = Rule(1e300, -1.0, 1.0, 1.0, 1 << 60, 0)  # opens nothing, closes nothing
CASES = [
    (20, seed, floating, armature) for seed in range(3) for floating in (False, True) for armature in (False, True)
]
CASES += [(None, seed, floating, seed == 1) for seed in range(2) for floating in (False, True)]  # welded copies


def hub(seed, floating=False, armature=False):
    """A body with twelve others on it, each with one more: it is split into welded copies."""
    parent = [-1, *[0] * 12, *range(1, 13)]
    return models.random_twin(seed, parent, ["floating" if floating else "universal", *["revolute"] * 24], armature)


class Witness:
    """A linkage some joints of which move, forces and torques, and its dense equations."""

    def __init__(self, seed, size=20, **options):
        self.rng = rng = np.random.default_rng(seed)
        twin = hub(seed, **options) if size is None else random_linkage(seed, size=size, **options)
        self.model = model = twin.model
        self.q, self.v = model.random_configuration(rng), np.zeros(model.nv)
        for joint in (0, *rng.choice(len(model.joints), 4, replace=False)):
            at = model.joints[joint].v
            self.v[at] = rng.normal(size=at.stop - at.start)
        self.sim = sim = adaptive.Dynamics(model, adaptive.body_acceleration(1.0), "adaptive")
        sim.configuration, sim.velocity = self.q, self.v
        sim.set_torque(None, rng.normal(size=model.nv))
        sim.apply_force(3, rng.normal(size=3))
        sim.apply_force(7, rng.normal(size=6), rng.normal(size=3), "body")
        self.M = bough.Dynamics(model, general=True).mass_matrix(self.q)

    def region(self, rule=KEEP):
        """Its active region as it is, then as a rule chooses it."""
        mover = self.sim.mover
        mover._choose = lambda: mover.region.choose(rule, self.sim.inputs.forces.loads())
        assert mover._ready(0.0, keep=False)
        return mover.region

    def full(self):
        mover = self.sim.mover
        mover.full.accelerate(self.sim.inputs.forces.loads(), 1e-3)
        return mover.state.qdd.copy()

    def locked(self, free, qdd):
        found = np.zeros(self.model.nv)
        found[free] = np.linalg.solve(self.M[np.ix_(free, free)], (self.M @ qdd)[free])
        return found


@pytest.mark.parametrize(("size", "seed", "floating", "armature"), CASES)
def test_accelerations_and_the_error_of_an_instant(size, seed, floating, armature):
    w = Witness(seed, size, floating=floating, armature=armature)
    region = w.region()
    free, found, full = np.sort(region.engine.mechanism.v_index), w.sim.mover.state.qdd.copy(), w.full()
    assert 0 < len(free) < w.model.nv
    expected = w.locked(free, full)
    assert np.allclose(found[free], expected[free], rtol=0, atol=1e-10 * np.abs(expected).max())
    error = full - expected
    delta = error @ w.M @ error
    assert region.delta == pytest.approx(delta, rel=1e-8)
    # below: what clusters would do at the forces of the whole; above: the full accelerations of locked joints
    still = np.setdiff1d(np.arange(w.model.nv), free)
    least = region.choice.square[: region.choice.count[FRONT]].sum()
    assert least <= delta * (1 + 1e-9)
    assert delta <= full[still] @ w.M[np.ix_(still, still)] @ full[still] * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_all_joints_active_is_the_articulated_body_algorithm(seed):
    """The contracted tree is all of it; divide and conquer with velocities, whose forces Delta is made of, agrees."""
    w = Witness(seed, floating=bool(seed % 2))
    w.sim.velocity = w.v = w.rng.normal(size=w.model.nv)
    region = w.region()
    found = w.sim.mover.state.qdd.copy()
    assert region.joints == len(w.model.joints)
    assert np.allclose(found, w.full(), rtol=0, atol=1e-10 * np.abs(found).max())
    assert region.delta <= 1e-20 * (found @ w.M @ found)


@pytest.mark.parametrize(("size", "seed", "floating", "armature"), CASES)
def test_locking_is_the_projection_in_the_mass_metric(size, seed, floating, armature):
    w = Witness(seed, size, floating=floating, armature=armature)
    before, v = w.sim.momentum, w.sim.velocity
    region = w.region(Rule(1e300, 1e300, 1.0, 1.0, 1 << 60, 0))  # closes whatever may be closed
    free = np.sort(region.engine.mechanism.v_index)
    after = w.sim.velocity
    expected = np.zeros_like(v)
    expected[free] = np.linalg.solve(w.M[np.ix_(free, free)], (w.M @ v)[free])
    assert np.allclose(after, expected, atol=1e-10 * np.abs(v).max())
    loss = 0.5 * (v - after) @ w.M @ (v - after)
    assert loss > 0.0
    assert region.energy_lost == pytest.approx(loss, rel=1e-9)
    assert region.energy_lost == pytest.approx(0.5 * v @ w.M @ v - 0.5 * after @ w.M @ after, rel=1e-9)
    if floating and w.model.tree.parent.tolist().count(-1) == 1:
        assert np.allclose(w.sim.momentum, before, atol=1e-10 * np.abs(before).max())


def kicked(model, error, method="adaptive", **options):
    """A chain without gravity, the joints at its end in motion."""
    sim = adaptive.Dynamics(model, error, method, **options)
    sim.gravity = np.zeros(3)
    sim.configuration = model.random_configuration(np.random.default_rng(2))
    v = np.zeros(model.nv)
    v[-8:] = 3.0 * np.random.default_rng(1).normal(size=8)
    sim.velocity = v
    return sim


def test_error_falls_with_eps_and_energy_is_accounted_for():
    model = bough.zoo.chain(64)
    whole = kicked(model, None, "full", integrator="rk4")
    energy = whole.energy
    whole.run(200, 1e-3)
    errors = []
    for eps in (10.0, 0.3, 0.01):
        sim = kicked(model, adaptive.body_acceleration(eps), integrator="rk4")
        sim.run(200, 1e-3)
        errors.append(np.abs(sim.positions() - whole.positions()).max())
        assert sim.active < 64
        assert sim.energy_lost >= 0.0
        assert sim.energy + sim.energy_lost == pytest.approx(energy, rel=1e-7)
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


def test_energy_and_momentum_are_those_of_the_pieces(monkeypatch):
    """Of all bodies, when they are first asked for; then of what moves, whatever is locked and released."""
    model = bough.zoo.tree(4, 3, 4)  # springs, locked ones too
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(3.0), "adaptive", every=3)
    q = np.array(model.rest_configuration)
    q[:3] += 1e-4  # slow, and soon locked where it is
    q[-4:] += 0.3
    sim.configuration = q
    sim.step(1e-3)
    before, region = sim.energy, sim.mover.region
    tally = sim.mover.full.tally
    monkeypatch.setattr(sim.mover.full, "tally", None)
    for eps in (30.0, 0.3, 10.0):
        sim.error = adaptive.body_acceleration(eps)
        sim.run(15, 1e-3)
        whole, stats = tally(), sim.stats
        assert stats.energy == pytest.approx(whole[:3].sum(), abs=1e-10 * abs(before))
        assert stats.kinetic_energy == pytest.approx(whole[0], rel=1e-9)
        assert np.allclose(stats.momentum, whole[3:], rtol=0, atol=1e-10 * np.abs(whole[3:]).max())
    assert region.opened > 0
    assert region.closed > 0
    assert sim.active < len(model.joints)


def test_momentum_of_a_free_linkage_is_that_of_the_integrator():
    model = bough.zoo.molecule(60, floating=True)
    sim = kicked(model, adaptive.body_acceleration(30.0), integrator="momentum", every=3)
    before = sim.momentum
    sim.run(100, 1e-3)
    region, few = sim.mover.region, sim.active
    assert region.closed > 0
    sim.error = adaptive.body_acceleration(1e-3)
    sim.run(100, 1e-3)
    assert region.opened > 0
    assert sim.active > few
    assert np.abs(sim.momentum - before).max() <= 1e-11 * np.abs(before).max()


def test_an_error_of_all_bodies_is_met():
    sim = kicked(bough.zoo.chain(64), adaptive.rms_acceleration(0.05))
    for _ in range(10):
        sim.run(20, 1e-3)
        assert sim.mover.age in (0, 20)
        assert sim.acceleration_error <= 0.05


def test_the_same_inputs_give_the_same_bits():
    model = bough.zoo.molecule(80)
    runs = []
    for _ in range(2):
        sim = kicked(model, adaptive.body_acceleration(1.0), every=5)
        sim.apply_force(60, (0.0, 1.0, 0.0))
        sim.run(100, 1e-3)
        runs.append((sim.configuration, sim.velocity, sim.energy_lost, sim.active))
    assert np.array_equal(runs[0][0], runs[1][0])
    assert np.array_equal(runs[0][1], runs[1][1])
    assert runs[0][2:] == runs[1][2:]


def test_forces_wake_a_rigid_linkage():
    model = bough.zoo.chain(40)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.1), "adaptive")
    sim.gravity = np.zeros(3)
    sim.step(1e-3)
    assert sim.active == 0
    sim.apply_force(model.body_names[-1], (0.0, 0.0, 1.0))
    sim.run(20, 1e-3)
    assert 0 < sim.active < 40
    sim.set_torque(model.joint_names[3], 10.0)
    sim.step(1e-3)
    moving = set(np.asarray(sim.mover.region.engine.mechanism.v_index).tolist())
    assert model.joint(model.joint_names[3]).v.start in moving


def test_auto_is_full_where_everything_moves():
    model = bough.zoo.chain(100)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1e-3), "auto")
    sim.velocity = np.random.default_rng(0).normal(size=100)
    sim.run(5, 1e-4)
    full = adaptive.Dynamics(model, method="full")
    full.velocity = np.random.default_rng(0).normal(size=100)
    full.run(5, 1e-4)
    assert sim.stats.method == "full"
    assert np.array_equal(sim.configuration, full.configuration)


def test_at_most_so_many_are_active():
    model = bough.zoo.chain(64)
    free = kicked(model, adaptive.body_acceleration(0.01))
    few = kicked(model, adaptive.body_acceleration(0.01), most=12)
    for sim in (free, few):
        sim.run(40, 1e-3)
    assert few.active <= 12 < free.active


def test_measures_of_the_other_kind_are_refused():
    model = bough.zoo.chain(3)
    with pytest.raises(ValueError, match="measures joints"):
        adaptive.Dynamics(model, adaptive.relative_joint(0.1))
    with pytest.raises(ValueError, match="measures motions"):
        adaptive.QuasiStatics(model, adaptive.body_acceleration(0.1))


def test_an_eps_below_the_noise_floor_is_refused():
    model = bough.zoo.chain(200, geometry="straight")
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1e-9), "adaptive")
    ends = sim.positions([0, 1])
    sim.gravity = 9.81 * (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    sim.velocity = np.where(np.arange(200) > 196, 0.1, 0.0)
    with pytest.raises(NumericalError, match="below the noise floor"):
        sim.step(1e-4)
    sim.error = adaptive.body_acceleration(1e-2)
    sim.step(1e-4)
    assert 0 < sim.active < 30


def test_what_must_be_open_is_so_whatever_the_budget():
    sim = kicked(bough.zoo.molecule(40, floating=True), adaptive.body_acceleration(0.1), most=1)
    sim.run(5, 1e-3)
    assert sim.active == 1


def test_auto_moves_what_has_no_assembly_tree():
    builder = bough.Builder("thin")
    up = "world"
    for k in range(300):  # rods without inertia about their axes
        up = builder.add_body(f"rod{k}", up, placement=(0, 0, 0.1), axis=(1, 0, 0), mass=1.0, com=(0, 0, 0.05))
    model = builder.build()
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.1))
    sim.velocity = np.where(np.arange(300) > 298, 0.1, 0.0)
    sim.run(3, 1e-4)
    assert sim.stats.method == "full"
    with pytest.raises(ModelError, match="singular inertia"):
        adaptive.Dynamics(model, adaptive.body_acceleration(0.1), "adaptive").step(1e-4)


def test_one_body():
    builder = bough.Builder("one", gravity=(0, 0, -9.81))
    builder.add_body("bob", axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0), inertia=0.1 * np.eye(3))
    sim = adaptive.Dynamics(builder.build(), adaptive.body_acceleration(0.1), "adaptive")
    sim.run(100, 1e-3)
    assert sim.active == 1
    assert sim.configuration[0] > 0.05


def test_regions_by_the_metrics_of_joints():
    model = bough.zoo.chain(64)
    whole = kicked(model, None, "full", integrator="rk4")
    whole.run(100, 1e-3)
    errors = []
    for eps in (100.0, 1.0, 0.03):
        sim = kicked(model, adaptive.joint_motion(eps), integrator="rk4")
        sim.run(100, 1e-3)
        assert 0 < sim.active < 64
        errors.append(np.abs(sim.positions() - whole.positions()).max())
    assert errors[0] >= errors[1] > 2 * errors[2]
    # clusters left closed would not exceed eps
    sim.error = adaptive.joint_motion(5.0)
    sim.mover._ready(0.0, keep=False)
    sim.mover.full.accelerate(sim.inputs.forces.loads(), 1e-3)
    still = np.setdiff1d(np.arange(64), sim.mover.region.engine.mechanism.v_index)
    assert np.abs(sim.mover.state.qdd[still]).max() <= 5.0


def test_few_poses_are_those_of_all():
    model = bough.zoo.molecule(300)
    sim = kicked(model, adaptive.body_acceleration(0.1))
    sim.run(30, 1e-3)
    assert sim.stats.method == "adaptive"
    assert sim.moving.sum() == sim.active
    assert sim.moving[np.abs(sim.velocity) > 0.0].all()
    some = [0, 17, 150, 299]
    assert np.allclose(sim.poses(some), sim.poses()[some], atol=1e-12)
    sim.configuration = model.random_configuration(np.random.default_rng(5))
    assert np.allclose(sim.poses(some), sim.poses()[some], atol=1e-12)


def test_refining_within_a_budget():
    sim = kicked(bough.zoo.chain(64), adaptive.body_acceleration(10.0))
    sim.run(5, 1e-3)
    before, few = sim.acceleration_error, sim.active
    found = sim.refine(budget=40)
    assert few < sim.active
    assert found == sim.acceleration_error < before
    again = sim.refine(microseconds=1e6)
    assert again < found
    sim.run(5, 1e-3)
    assert sim.active > few
