"""Random linkages, their dense solution, and the same linkage put together by hand in any order."""

from __future__ import annotations

import numpy as np

import models
import naive
from bough.adaptive import Dynamics, QuasiStatics

TYPES = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "floating")


def random_linkage(seed, size=20, types=TYPES, floating=False, armature=False, forest=True, decades=0):
    """A twin whose bodies hang on any earlier one, or on the ground; their masses differ by so many powers of ten."""
    rng = np.random.default_rng(seed)
    parent = [-1] + [int(rng.integers(-1 if forest and rng.random() < 0.2 else 0, i)) for i in range(1, size)]
    joints = [str(rng.choice(types)) for _ in parent]
    if floating:
        joints[0] = "floating"
    return spread_masses(models.random_twin(seed, parent, joints, armature), rng, decades)


def spread_masses(twin, rng, decades):
    """The twin with masses that differ by so many powers of ten."""
    for body, scale in zip(twin.bodies, 10.0 ** rng.uniform(0, decades, len(twin.bodies)), strict=True):
        body.options["mass"] *= scale
        body.options["inertia"] = scale * body.options["inertia"]
    return models.Twin(twin.bodies) if decades else twin


def random_forces(twin, rng, count=4):
    """(body, [force, moment], point, frame)."""
    bodies = rng.integers(0, len(twin.bodies), count)
    frames = ["world", "body"] * count
    return [(int(b), rng.normal(size=6), rng.normal(size=3), frame) for b, frame in zip(bodies, frames, strict=False)]


def simulate(model, q, forces, tau=None, error=None, method="adaptive", **options):
    sim = QuasiStatics(model, error, method, **options)
    sim.configuration = q
    for body, force, point, frame in forces:
        sim.apply_force(body, force, point, frame)
    if tau is not None:
        sim.set_torque(None, tau)
    return sim


def world_wrench(placement, force, point, frame):
    """The force about the world's origin, angular first."""
    R, p = placement
    turn = np.eye(3) if frame == "world" else R
    f, n = turn @ force[:3], turn @ force[3:]
    return np.concatenate([n + np.cross(p + R @ point, f), f])


def dense(twin, q, tau, forces):
    """M^-1 (tau + J' f - gravity) at rest."""
    world = naive.Mechanism(twin.bodies, q, np.zeros(twin.model.nv), twin.gravity)
    total = np.array(tau) - world.inverse_dynamics(np.zeros(twin.model.nv))
    for body, force, point, frame in forces:
        total = total + world.J[body].T @ world_wrench(world.placement[body], force, point, frame)
    return np.linalg.solve(world.mass_matrix(), total)


def relative(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)


def moving(model, q, v, **options):
    sim = Dynamics(model, method="full", **options)
    sim.configuration, sim.velocity = q, v
    return sim


def start(seed=0, size=40, error=None, method="adaptive", culled="zero", catch_up=False, **options):
    twin = random_linkage(seed, size, floating=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    forces = random_forces(twin, rng)
    return (
        twin,
        simulate(
            twin.model,
            twin.model.random_configuration(rng),
            forces,
            None,
            error,
            method,
            culled=culled,
            catch_up=catch_up,
            **options,
        ),
        forces,
    )
