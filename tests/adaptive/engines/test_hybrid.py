"""Rigid clusters: the exact solution of a hybrid linkage, always downhill, and what of the descent rate is lost."""

from __future__ import annotations

import numpy as np
import pytest

import bough
import naive
from adaptive.linkages import random_forces, random_linkage, simulate, world_wrench
from bough import adaptive
from bough.adaptive.tree.passes import LEFT
from bough.errors import UnknownNameError
from sizes import size


class Witness:
    """Dense M and tau of a linkage, all at rest."""

    def __init__(self, seed, **options):
        self.rng = rng = np.random.default_rng(seed)
        self.twin = random_linkage(seed, **options)
        self.q = self.twin.model.random_configuration(rng)
        self.forces = random_forces(self.twin, rng)
        self.tau = rng.normal(size=self.twin.model.nv)
        self.balance()

    def balance(self):
        """M and all generalised forces at q."""
        nv = len(self.tau)
        world = naive.Mechanism(self.twin.bodies, self.q, np.zeros(nv), self.twin.gravity)
        self.M = world.mass_matrix()
        self.total = self.tau - world.inverse_dynamics(np.zeros(nv))
        for body, force, point, frame in self.forces:
            self.total = self.total + world.J[body].T @ world_wrench(world.placement[body], force, point, frame)

    def simulate(self, error, **options):
        return simulate(self.twin.model, self.q, self.forces, self.tau, error, culled="rigid", **options)

    def locked(self, free):
        """Accelerations with all joints locked that are not in `free`."""
        qdd = np.zeros(len(self.tau))
        qdd[free] = np.linalg.solve(self.M[np.ix_(free, free)], self.total[free])
        return qdd

    def released(self, free, qdd):
        """Sum over rigid clusters of E(C; f), what they would do more if released, at the handle forces f of qdd.

        With the torques l that hold their joints it is l' S^-1 l, S the mass matrix of these joints on a free cluster.
        """
        held, nv = self.total - self.M @ qdd, len(qdd)
        world = naive.Mechanism(self.twin.bodies, self.q, np.zeros(nv), self.twin.gravity)
        clusters, home, total = {}, [], 0.0
        for i, body in enumerate(self.twin.bodies):
            above = world.J[body.parent] if body.parent >= 0 else np.zeros((6, nv))
            own = np.flatnonzero((world.J[i] != above).any(axis=0))
            home.append(i if np.isin(own, free).any() else home[body.parent] if body.parent >= 0 else -1)
            members, inner = clusters.setdefault(home[i], ([], []))
            members.append(i)
            inner += [] if home[i] == i else own.tolist()
        rotor = self.M - sum(J.T @ I @ J for J, I in zip(world.J, world.I, strict=True))
        for top, (members, k) in clusters.items():
            S = rotor[np.ix_(k, k)] + sum(world.J[i][:, k].T @ world.I[i] @ world.J[i][:, k] for i in members)
            if top >= 0 and k:
                h = sum(world.I[i] @ world.J[i][:, k] for i in members)
                S = S - h.T @ np.linalg.solve(sum(world.I[i] for i in members), h)
            total += held[k] @ np.linalg.solve(S, held[k]) if k else 0.0
        return total


def free_joints(sim):
    """Degrees of freedom of the open joints, in the user's order."""
    return np.sort(sim.solver.region.linkage.mechanism.v_index)


CASES = [(seed, floating, armature) for seed in range(6) for floating in (False, True) for armature in (False, True)]


@pytest.mark.parametrize(("seed", "floating", "armature"), CASES)
def test_accelerations_are_those_of_the_linkage_with_the_other_joints_locked(seed, floating, armature):
    w = Witness(seed, floating=floating, armature=armature)
    sim = w.simulate(adaptive.energy(0.5))
    for eps in (0.8, 0.3, 0.05):
        sim.error = adaptive.energy(eps)
        qdd, free = sim.accelerations(), free_joints(sim)
        expected = w.locked(free)
        assert np.abs(qdd - expected).max() <= 1e-9 * np.abs(expected).max()
        full = np.linalg.solve(w.M, w.total)
        whole, kept = full @ w.M @ full, qdd @ w.M @ qdd
        assert sim.stats.power == pytest.approx(kept, rel=1e-8)
        assert w.total @ qdd == pytest.approx(kept, rel=1e-8)
        assert sim.stats.acceleration**2 == pytest.approx(whole, rel=1e-7)
        lost = (full - qdd) @ w.M @ (full - qdd)
        assert lost <= eps**2 * whole * (1.0 + 1e-7)
        assert sim.stats.bound**2 * whole == pytest.approx(lost, rel=1e-5, abs=1e-7 * whole)
        assert sim.stats.active == len(set(sim.solver.region.linkage.clusters.body.tolist()))


def descends(seed):
    """One random trial: the power is not negative at any eps, and what is left closed bounds what is lost."""
    w = Witness(seed, size=int(np.random.default_rng(seed).integers(2, 9)), floating=seed % 3 == 0)
    sim = w.simulate(adaptive.energy(10.0 ** w.rng.uniform(-3, 0)))
    full = np.linalg.solve(w.M, w.total)
    whole, tree = full @ w.M @ full, sim.solver.assemble()
    for _ in range(4):
        qdd = sim.accelerations()
        power = w.total @ qdd
        assert power >= 0.0
        lost = (full - qdd) @ w.M @ (full - qdd)
        assert lost <= sim.error.eps**2 * whole * (1.0 + 1e-6) + 1e-9 * whole
        left = tree.do(LEFT)  # sum of E(C; f) over closed clusters, f with all joints free
        assert left <= lost + 1e-8 * whole
        locked = np.setdiff1d(np.arange(len(qdd)), free_joints(sim)) if qdd.any() else np.arange(len(qdd))
        upper = w.released(np.setdiff1d(np.arange(len(qdd)), locked), qdd)
        assert lost <= upper + 1e-8 * whole
        z = full[locked]
        assert lost <= z @ w.M[np.ix_(locked, locked)] @ z + 1e-8 * whole
        sim.configuration = w.twin.model.integrate(sim.configuration, 0.1 * w.rng.normal(size=len(qdd)))
        w.q = sim.configuration
        w.balance()
        full = np.linalg.solve(w.M, w.total)
        whole = full @ w.M @ full
        sim.error = adaptive.energy(10.0 ** w.rng.uniform(-3, 0))


@pytest.mark.parametrize("part", range(5))
def test_every_solution_goes_downhill(part):
    """4 solutions of each of 25 linkages: 500 in all."""
    for seed in range(25 * part, 25 * part + 25):
        descends(seed)


@pytest.mark.slow
def test_twenty_thousand_solutions_go_downhill():
    for seed in range(1000, size(6000, 1025)):
        descends(seed)


@pytest.mark.parametrize("every", [1, 4])
def test_steps_with_all_joints_open_are_plain_steps(every):
    w = Witness(3, floating=True)
    sim = w.simulate(adaptive.energy(1e-9), every=every)
    plain = simulate(w.twin.model, w.q, w.forces, w.tau, method="aba")
    for s in (sim, plain):
        s.run(10, h=1e-4)
    np.testing.assert_allclose(sim.configuration, plain.configuration, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(sim.positions([3, 7]), plain.positions([3, 7]), atol=1e-9)
    assert sim.pseudo_time == pytest.approx(1e-3)


@pytest.mark.parametrize("error", [adaptive.energy(0.3), adaptive.relative_linkage(0.3)], ids=["energy", "linkage"])
def test_locked_joints_stay_where_they_are_and_poses_follow_the_open_ones(error):
    w = Witness(5, types=("revolute",), size=30)
    sim = w.simulate(error, every=5)
    sim.run(3, h=1e-5)
    free = free_joints(sim)
    locked = np.setdiff1d(np.arange(len(w.tau)), free)
    assert 0 < len(free) < len(w.tau)
    np.testing.assert_array_equal(sim.configuration[locked], w.q[locked])
    assert (sim.configuration[free] != w.q[free]).all()
    plain = simulate(w.twin.model, sim.configuration, w.forces, w.tau, method="aba")
    bodies = range(30)
    np.testing.assert_allclose([sim.positions([b])[0] for b in bodies], plain.positions(bodies), atol=1e-12)
    np.testing.assert_allclose(
        [sim.body_accelerations([b])[0] for b in bodies], plain.body_accelerations(bodies), rtol=1e-7, atol=1e-9
    )


def test_questions_between_steps_change_nothing():
    w = Witness(5, types=("revolute",), size=30)
    sims = [w.simulate(adaptive.energy(0.2), every=4) for _ in range(2)]
    sims[0].run(11, h=1e-5)
    for _ in range(11):
        sims[1].step(h=1e-5)
        sims[1].positions([4]), sims[1].accelerations(), sims[1].stats
    np.testing.assert_array_equal(sims[0].configuration, sims[1].configuration)


def test_forces_that_change_before_every_step_keep_the_region():
    w = Witness(5, types=("revolute",), size=30)
    sim = w.simulate(adaptive.energy(0.3), every=6)
    load = sim.loads([11, 29])
    regions = []

    def push(sim):
        load.values[:] = np.sin(sim.steps + np.arange(6.0)).reshape(2, 3)

    for _ in range(4):
        sim.run(1, h=1e-5, load=push)
        regions.append(free_joints(sim).tolist())
    assert regions[1:] == regions[:1] * 3
    push(sim)
    sim.solver.region.ready(keep=True)
    sim.solver.region.linkage.solve(sim.solver.closing_rate)
    q, free = sim.configuration, free_joints(sim)
    pushed = [(b, np.append(f, [0.0] * 3), np.zeros(3), "world") for b, f in zip((11, 29), load.values[:], strict=True)]
    w.q, w.forces = q, [*w.forces, *pushed]
    w.balance()
    np.testing.assert_allclose(sim.inputs.shared.qdd, w.locked(free), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("steps", [4, 6])
def test_a_resumed_run_is_the_same_to_the_last_bit(tmp_path, steps):
    w = Witness(5, types=("revolute", "spherical"), size=30)
    sim = w.simulate(adaptive.energy(0.3), every=4)
    sim.run(steps, h=1e-5)
    sim.checkpoint(tmp_path / "here")
    again = adaptive.QuasiStatics.resume(w.twin.model, tmp_path / "here")
    for s in (sim, again):
        s.run(7, h=1e-5)
    np.testing.assert_array_equal(again.configuration, sim.configuration)
    assert again.stats.active == sim.stats.active


def test_a_measure_may_be_exchanged_for_another_kind():
    w = Witness(5, types=("revolute",), size=30)
    sim = w.simulate(adaptive.energy(0.3))
    sim.step(h=1e-6)
    sim.error = adaptive.relative_joint(0.3)
    sim.step(h=1e-6)
    other = simulate(
        w.twin.model, sim.configuration, w.forces, w.tau, adaptive.relative_joint(0.3), culled="zero", catch_up=False
    )
    np.testing.assert_array_equal(sim.accelerations() != 0.0, other.accelerations() != 0.0)
    sim.error = adaptive.energy(0.3)
    w.q = sim.configuration
    w.balance()
    np.testing.assert_allclose(sim.accelerations(), w.locked(free_joints(sim)), rtol=1e-8, atol=1e-9)


def test_what_rigid_clusters_cannot_do_is_refused():
    model = random_linkage(0, size=3).model
    with pytest.raises(ValueError, match="cannot be 'soft'"):
        adaptive.QuasiStatics(model, culled="soft")
    with pytest.raises(ValueError, match="after a whole number of steps, got 0"):
        adaptive.QuasiStatics(model, culled="rigid", every=0)
    with pytest.raises(ValueError, match="catching up"):
        adaptive.QuasiStatics(model, culled="rigid", catch_up=True)
    with pytest.raises(ValueError, match="culled"):
        adaptive.QuasiStatics(model, adaptive.energy(0.1), culled="zero", catch_up=False)
    with pytest.raises(ValueError, match="budget"):
        adaptive.QuasiStatics(model, adaptive.energy(0.1), "adaptive").refine(microseconds=10.0)
    sim = adaptive.QuasiStatics(model, culled="zero", catch_up=False)
    with pytest.raises(ValueError, match="rigid"):
        sim.error = adaptive.energy(0.1)


@pytest.mark.parametrize("some", [False, True])
def test_a_displacement_in_metres_is_kept_by_every_step(some):
    w = Witness(5, types=("revolute",), size=30)
    mass = np.array([b.options["mass"] for b in w.twin.bodies])
    names = w.twin.model.body_names
    heavy = [names[k] for k in np.argsort(mass)[-5:]] if some else None
    h, full = 1e-4, np.linalg.solve(w.M, w.total)
    for metres in (1e-3, 1e-4, 1e-5):
        sim = w.simulate(adaptive.displacement(metres, heavy), max_turn=10.0)
        sim.step(h=h)
        assert sim.stats.bound <= metres
        world = naive.Mechanism(w.twin.bodies, w.q, np.zeros(len(w.tau)))
        wrong = h * (full - sim.inputs.shared.qdd)
        for b, body in enumerate(w.twin.bodies):
            R, p = world.placement[b]
            a = world.J[b] @ wrong
            off = np.linalg.norm(a[3:] + np.cross(a[:3], p + R @ body.options["com"]))
            if heavy is None or names[b] in heavy:
                assert off <= metres
    assert 0 < sim.stats.active
    with pytest.raises(ValueError, match="at least one"):
        adaptive.displacement(1e-3, [])
    with pytest.raises(UnknownNameError, match="no body 'nose'"):
        sim.error = adaptive.displacement(1e-3, ["nose"])


def test_refining_opens_more_clusters_and_ends_exact():
    w = Witness(5, types=("revolute",), size=30)
    sim = w.simulate(adaptive.energy(0.5))
    bounds, active = [], []
    for budget in (0, 3, 6, None):
        bounds.append(sim.refine(budget))
        active.append(sim.stats.active)
        np.testing.assert_allclose(sim.accelerations(), w.locked(free_joints(sim)), rtol=1e-8, atol=1e-9)
    assert bounds == sorted(bounds, reverse=True)
    assert active == sorted(active)
    assert active[-1] == 30
    assert bounds[-1] < 1e-4


def test_energy_moves_clusters_rigidly_and_questions_about_bodies_do_not_disturb_a_run():
    w = Witness(5, types=("revolute",), size=30)
    sims = [simulate(w.twin.model, w.q, w.forces, w.tau, adaptive.energy(0.2), every=4) for _ in range(2)]
    assert sims[0].solver.culled == "rigid"
    assert adaptive.QuasiStatics(w.twin.model, adaptive.relative_joint(0.1)).solver.culled == "zero"
    sims[0].run(11, h=1e-5)
    for _ in range(11):
        sims[1].body_accelerations([4])
        sims[1].constraint_forces([7, 2])
        sims[1].step(h=1e-5)
        sims[1].velocities([4])
    np.testing.assert_array_equal(sims[0].configuration, sims[1].configuration)


def test_a_linkage_at_rest_stays_there():
    model = random_linkage(0, size=6, types=("revolute",)).model.with_gravity((0, 0, 0))
    sim = adaptive.QuasiStatics(model, adaptive.energy(0.1), "adaptive")
    before = sim.configuration
    sim.run(3, h=1e-3)
    np.testing.assert_array_equal(sim.configuration, before)
    assert sim.stats.active == 0
    assert sim.stats.bound == 0.0
    assert sim.stats.power == 0.0


def test_plain_steps_are_taken_where_more_than_half_of_the_joints_would_be_open():
    """A star falls with all its arms; one arm of a molecule that is pulled moves alone."""
    star = adaptive.QuasiStatics(bough.zoo.star(200), adaptive.energy(0.01))
    molecule = bough.zoo.molecule(400, seed=1).with_gravity((0, 0, 0))
    pulled = adaptive.QuasiStatics(molecule, adaptive.energy(0.2))
    pulled.apply_force(molecule.body_names[-1], (0.0, 0.0, 1.0))
    for sim in (star, pulled):
        sim.run(5, h=1e-9)
    assert star.stats.method == "aba"
    assert pulled.stats.method == "adaptive"
    assert 0 < pulled.stats.active < 100
    assert pulled.stats.bound <= 0.2
    assert 0.0 < pulled.stats.power


def test_a_question_leaves_what_is_known_of_the_region():
    error = adaptive.relative_joint(1e-2)
    sim = adaptive.QuasiStatics(bough.zoo.molecule(100, seed=1), error, "adaptive", culled="rigid", every=20)
    sim.apply_force(50, [0.0, 1.0, 3.0])
    sim.run(5, h=1e-4)
    before = sim.stats
    sim.body_accelerations([7])
    assert sim.stats.acceleration == before.acceleration > 0.0
    assert sim.stats.power == before.power
