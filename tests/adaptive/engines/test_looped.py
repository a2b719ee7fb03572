"""Many loops at once: the constrained dense solution, with joints locked or free, and chains that stay closed."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from adaptive.engines.test_hybrid import free_joints
from adaptive.linkages import random_forces, random_linkage, relative, simulate, world_wrench
from bough import adaptive, zoo
from bough.adaptive import Closure, QuasiStatics
from bough.errors import ModelError

JOINTS = ("spherical", "fixed", "revolute", "prismatic", "cylindrical")
AXES = {"fixed": 6, "revolute": 5, "prismatic": 5, "cylindrical": 4, "spherical": 3}


class Held:
    """A random linkage at a configuration where frames of bodies coincide, which closures then hold together."""

    def __init__(self, seed, loops=3, size=24, **options):
        self.rng = rng = np.random.default_rng(seed)
        self.twin = random_linkage(seed, size, ("revolute", "spherical", "prismatic"), **options)
        model = self.twin.model
        self.q, self.forces = model.random_configuration(rng), random_forces(self.twin, rng)
        nv = model.nv
        self.world = naive.Mechanism(self.twin.bodies, self.q, np.zeros(nv), self.twin.gravity)
        self.closures, rows = [], []
        for k in range(loops):
            a, b = (int(x) for x in rng.choice(size, 2, replace=False))
            joint = JOINTS[(seed + k) % len(JOINTS)]
            place = np.eye(4)
            R, p = self.world.placement[b]
            at = rng.normal(size=3)
            Ra, pa = (np.eye(3), np.zeros(3)) if k == 0 else self.world.placement[a]
            place[:3, :3], place[:3, 3] = Ra.T @ R, Ra.T @ (R @ at + p - pa)
            model = model.with_frame(f"tip{k}", model.body_names[b], at.tolist())
            model = model.with_frame(f"pin{k}", "world" if k == 0 else model.body_names[a], place)
            self.closures.append(Closure(f"pin{k}", f"tip{k}", joint))
            J = self.world.J[b] - (0.0 if k == 0 else self.world.J[a])
            x = R @ at + p
            point = np.vstack([R.T @ J[:3], R.T @ (J[3:] + np.cross(J[:3], x, axis=0))])
            freed = {"fixed": [], "revolute": [2], "prismatic": [5], "cylindrical": [2, 5], "spherical": [0, 1, 2]}
            rows.append(np.delete(point, freed[joint], axis=0))
        self.model, self.C = model, np.vstack(rows)
        self.M = self.world.mass_matrix()
        self.total = -self.world.inverse_dynamics(np.zeros(nv))
        for body, force, point, frame in self.forces:
            self.total += self.world.J[body].T @ world_wrench(self.world.placement[body], force, point, frame)

    def dense(self, free=None):
        """Accelerations with these freedoms free and the loops held."""
        nv = len(self.M)
        free = np.arange(nv) if free is None else free
        M, C = self.M[np.ix_(free, free)], self.C[:, free]
        inverse = np.linalg.inv(M)
        lam = np.linalg.lstsq(C @ inverse @ C.T, -C @ inverse @ self.total[free], rcond=1e-11)[0]
        qdd = np.zeros(nv)
        qdd[free] = inverse @ (self.total[free] + C.T @ lam)
        return qdd

    def simulate(self, error=None, method="aba", **options):
        return simulate(self.model, self.q, self.forces, None, error, method, closures=self.closures, **options)


@pytest.mark.parametrize("method", ["aba", "dca"])
@pytest.mark.parametrize("seed", range(8))
def test_accelerations_are_those_of_the_constrained_dense_solution(seed, method):
    held = Held(seed, floating=seed % 2 == 1)
    sim = held.simulate(method=method)
    assert sim.opening() < 1e-9
    assert relative(sim.accelerations(), held.dense()) < 1e-8


@pytest.mark.parametrize("seed", range(8))
def test_with_joints_locked_they_are_those_of_the_linkage_that_is_left(seed):
    held = Held(seed)
    sim = held.simulate(adaptive.energy(0.5), "adaptive")
    full = held.dense()
    for eps in (0.9, 0.4, 0.1):
        sim.error = adaptive.energy(eps)
        qdd = sim.accelerations()
        expected = held.dense(free_joints(sim))
        assert relative(qdd, expected) < 1e-7
        assert held.total @ qdd >= 0.0
        whole, lost = full @ held.M @ full, (full - qdd) @ held.M @ (full - qdd)
        assert lost <= eps**2 * whole * (1 + 1e-6)
        assert sim.stats.power == pytest.approx(qdd @ held.M @ qdd, rel=1e-7, abs=1e-9 * whole)


def ladder(n, step=8, reach=5):
    """A chain of n links along x with a bridge over every few of them."""
    chain = zoo.chain(n, seed=3)
    sim = QuasiStatics(chain, method="aba")
    at, closures, model = sim.poses(), [], chain
    for k in range(0, n - reach - 1, step):
        between = np.linalg.inv(at[k]) @ at[k + reach]
        model = model.with_frame(f"bridge{k}", model.body_names[k], between)
        closures.append(Closure(f"bridge{k}", model.body_names[k + reach], "spherical"))
    return model, closures


@pytest.mark.parametrize("options", [{"method": "aba"}, {"error": adaptive.energy(0.1), "method": "adaptive"}])
def test_many_bridges_stay_closed(options):
    model, closures = ladder(400)
    assert len(closures) > 40
    sim = QuasiStatics(model, closures=closures, **options)
    sim.gravity = (0.0, 0.0, 0.0)
    sim.apply_force(model.body_names[-1], (0.0, 3.0, 1.0))
    sim.run(40, h=1e-5)
    assert np.abs(sim.configuration).max() > 1e-3
    assert sim.opening() < 1e-5


def test_what_is_infeasible_is_refused_by_name():
    long = zoo.chain(20_000)
    names = long.body_names
    many = [Closure(names[k], names[-1 - k], "spherical") for k in range(600)]
    with pytest.raises(ModelError, match="'link0' to 'link19999'"):
        QuasiStatics(long, method="aba", closures=many)


def test_forces_of_joints_include_those_of_loops():
    """A four-legged stool: what is held at the ends is what carries it."""
    held = Held(2, loops=2)
    sim = held.simulate()
    qdd, found = sim.accelerations(), sim.constraint_forces()
    sum_of_roots = sum(found[b][:3] for b, body in enumerate(held.twin.bodies) if body.parent < 0)
    loops = sim.solver.engine.loops
    lam = sum(loops.lam[r] * np.array([0.0, 0, 0]) for r in range(len(loops.loop)))  # inner loops cancel
    ground = [r for r in range(len(loops.loop)) if loops.body[loops.loop[r], 0] < 0]
    R = held.world.placement[int(held.model.frames.body[held.model.frame("tip0")])][0]
    for r in ground:
        if loops.axis[r] >= 3:
            lam = lam + loops.lam[r] * R[:, loops.axis[r] - 3]
    momentum = sum(
        (held.world.I[b] @ (held.world.J[b] @ qdd - np.concatenate([np.zeros(3), held.world.gravity])))[3:]
        for b in range(len(held.twin.bodies))
    )
    applied = sum(world_wrench(held.world.placement[b], f, p, frame)[3:] for b, f, p, frame in held.forces)
    np.testing.assert_allclose(sum_of_roots + lam + applied, momentum, atol=1e-7 * np.abs(momentum).max())
