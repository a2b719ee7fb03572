"""Divide and conquer, plain and dense quasi-statics are the same."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from adaptive import handles
from adaptive.linkages import TYPES, dense, random_forces, random_linkage, relative, simulate
from bough.dynamics.aba import ABA
from bough.dynamics.engine import bind

pin = pytest.importorskip("pinocchio")

CASES = [dict(seed=k, floating=k % 2 == 1, armature=k % 3 == 0, size=1 + 2 * k) for k in range(16)]
CASES += [dict(seed=100 + k, types=(kind,), size=9, forest=False) for k, kind in enumerate(TYPES)]


@pytest.mark.interpreted
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("method", ["aba", "dca", "adaptive"])
def test_every_method_equals_the_dense_solution(case, method):
    twin = random_linkage(**case)
    rng = np.random.default_rng(case["seed"])
    q, tau = twin.model.random_configuration(rng), rng.normal(size=twin.model.nv)
    forces = random_forces(twin, rng)
    sim = simulate(twin.model, q, forces, tau, method=method)
    assert relative(sim.accelerations(), dense(twin, q, tau, forces)) < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_pinocchio_and_the_articulated_body_kernel_agree_at_rest(seed):
    twin = random_linkage(seed, 15, floating=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    q, tau, rest = twin.model.random_configuration(rng), rng.normal(size=twin.model.nv), np.zeros(twin.model.nv)
    found = simulate(twin.model, q, [], tau, method="dca").accelerations()
    expected = pin.aba(twin.pin, twin.data, twin.q_to_pin(q), rest, twin.v_to_pin(tau))
    assert relative(found, twin.from_pin(expected)) < 1e-10
    kernel = bind(ABA, twin.model, general=True)
    assert relative(found, np.ravel(kernel(q, rest, tau))) < 1e-10


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(12))
def test_total_accelerations_are_sums_over_joints_at_every_node(seed):
    twin = random_linkage(seed, 5 + 4 * seed, floating=seed % 2 == 0, armature=seed % 3 == 0)
    rng = np.random.default_rng(seed)
    metric = rng.uniform(0.2, 5.0, twin.model.nv)
    sim = simulate(twin.model, twin.model.random_configuration(rng), random_forces(twin, rng), metric=metric)
    sim.accelerations()
    assert sim.solver.tree.noise.total < 1e-10


def test_a_metric_of_matrices_counts_the_joints_it_weighs():
    twin = random_linkage(3, 8, types=("spherical",), forest=False)
    rng = np.random.default_rng(0)
    metric = {}
    for name in twin.model.joint_names:
        A = rng.normal(size=(3, 3))
        metric[name] = A @ A.T + np.eye(3)
    sim = simulate(twin.model, twin.model.random_configuration(rng), random_forces(twin, rng), metric=metric)
    qdd = sim.accelerations()
    parts = [qdd[twin.model.joint(name).v] for name in twin.model.joint_names]
    total = sum(x @ metric[name] @ x for name, x in zip(twin.model.joint_names, parts, strict=True))
    assert sim.stats.acceleration**2 == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_any_bracketing_gives_the_same_answer(seed):
    """The small algebra, joints closed in random order, against the dense solution."""
    twin = random_linkage(seed, 9, types=("revolute", "prismatic", "spherical"), floating=False)
    rng = np.random.default_rng(seed)
    q, tau, forces = twin.model.random_configuration(rng), rng.normal(size=twin.model.nv), []
    world = naive.Mechanism(twin.bodies, q, np.zeros(twin.model.nv), twin.gravity)
    parts = [handles.ground(-1, twin.gravity)] + [handles.leaf(i, I) for i, I in enumerate(world.I)]
    for i in rng.permutation(len(twin.bodies)).tolist():
        v = twin.model.joints[i].v
        sides = [next(k for k, part in enumerate(parts) if h in part.handles) for h in (twin.bodies[i].parent, i)]
        pair = handles.side_by_side(parts[sides[0]], parts[sides[1]])
        joined = handles.close(pair, twin.bodies[i].parent, i, world.J[i][:, v], tau[v])
        parts = [part for k, part in enumerate(parts) if k not in sides] + [joined]
    found = handles.accelerations(parts[0])
    qdd = np.concatenate([found[(body.parent, i)] for i, body in enumerate(twin.bodies)])
    assert relative(qdd, dense(twin, q, tau, forces)) < 1e-10
    assert parts[0].total_acceleration() == pytest.approx(qdd @ qdd, rel=1e-9)
    J = world.J[3]
    inverse = J @ np.linalg.solve(world.mass_matrix(), J.T)
    np.testing.assert_allclose(parts[0].inverse_inertia(3), inverse, atol=1e-9 * np.abs(inverse).max())


def test_a_closed_loop_equals_the_constrained_dense_solution():
    twin = random_linkage(5, 8, types=("revolute",), forest=False)
    rng = np.random.default_rng(1)
    q = twin.model.random_configuration(rng)
    world = naive.Mechanism(twin.bodies, q, np.zeros(twin.model.nv), twin.gravity)
    body = handles.ground(-1, twin.gravity)
    for i, I in enumerate(world.I):
        pair = handles.side_by_side(body, handles.leaf(i, I))
        body = handles.close(pair, twin.bodies[i].parent, i, world.J[i][:, i])
    S = rng.normal(size=(6, 3))
    closed = handles.close(body, 2, 7, S)
    found = handles.accelerations(closed)
    qdd = np.array([found[(b.parent, i)][0] for i, b in enumerate(twin.bodies)])
    T = np.linalg.svd(S)[0][:, 3:]
    J = T.T @ (world.J[7] - world.J[2])
    M, free = world.mass_matrix(), dense(twin, q, np.zeros(8), [])
    force = np.linalg.pinv(J @ np.linalg.solve(M, J.T), rcond=1e-10) @ (-J @ free)
    assert relative(qdd, free + np.linalg.solve(M, J.T @ force)) < 1e-8
