"""A linkage some joints of which move, beside its dense equations."""

from __future__ import annotations

import numpy as np

import bough
import models
from adaptive.linkages import random_linkage
from bough import adaptive
from bough.adaptive.active.choice import Rule

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
        region = self.sim.solver.region
        region.choose = lambda: region.choose_by(rule, self.sim.inputs.forces.loads())
        assert region.ready(0.0, keep=False)
        return region

    def full(self):
        solver = self.sim.solver
        solver.engine.accelerate(self.sim.inputs.forces.loads(), 1e-3)
        return solver.motion.qdd.copy()

    def locked(self, free, qdd):
        found = np.zeros(self.model.nv)
        found[free] = np.linalg.solve(self.M[np.ix_(free, free)], (self.M @ qdd)[free])
        return found


def kicked(model, error, method="adaptive", **options):
    """A chain without gravity, the joints at its end in motion."""
    sim = adaptive.Dynamics(model, error, method, **options)
    sim.gravity = np.zeros(3)
    sim.configuration = model.random_configuration(np.random.default_rng(2))
    v = np.zeros(model.nv)
    v[-8:] = 3.0 * np.random.default_rng(1).normal(size=8)
    sim.velocity = v
    return sim
