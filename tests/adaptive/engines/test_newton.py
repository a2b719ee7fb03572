"""Newton's matrix against differences of forces, and forces against those of the energy."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from adaptive.linkages import random_linkage
from bough import adaptive
from bough.adaptive import QuasiStatics
from bough.adaptive.engines.newton import newton_solve
from bough.adaptive.equilibrium import Equilibrium
from bough.compile.run.direct import compiled

TYPES = ("revolute", "prismatic", "helical", "cylindrical", "universal")


def loaded(seed, size=9, types=TYPES):
    twin = random_linkage(seed, size, types)
    rng = np.random.default_rng(seed)
    sim = QuasiStatics(twin.model, method="aba")
    for body in rng.integers(0, size, 4).tolist():
        sim.apply_force(body, rng.normal(size=3), rng.normal(size=3))
    one = [j.name for j in twin.model.joints if j.v.stop - j.v.start == 1]
    sim.set_potential(one, adaptive.harmonic(rng.uniform(1.0, 4.0, len(one)), 0.2), adaptive.dihedral(0.7, 2, 0.3))
    sim.set_torque(None, rng.normal(size=twin.model.nv))
    return twin, sim, rng


@pytest.mark.parametrize("seed", range(5))
def test_the_matrix_that_is_eliminated_is_that_of_differences_of_forces(seed):
    """K by differences, and K + mu D with a metric D that is symmetric and positive."""
    twin, sim, rng = loaded(seed, types=TYPES[:3])  # every joint has a spring
    nv, v = twin.model.nv, twin.model.mechanism.v_index
    q = twin.model.random_configuration(rng)

    def forces(q):
        sim.configuration = q
        search = Equilibrium(sim.inputs, None, None, None)
        out = np.zeros(nv)
        out[v] = search.force
        return out, search

    d = 1e-6
    K = np.array([(forces(q - d * e)[0] - forces(q + d * e)[0]) / (2 * d) for e in np.eye(nv)])
    np.testing.assert_allclose(K, K.T, atol=1e-6 * np.abs(K).max())
    force, search = forces(q)

    def eliminated(mu):
        """K + mu D, from its inverse, with the number of its negative eigenvalues checked."""
        inverse = np.zeros((nv, nv))
        for k, e in enumerate(np.eye(nv)):
            force = np.ascontiguousarray(e[v])
            wrong = compiled(newton_solve)(search.m, search.work, (), mu, 1, force, inverse[k])
        A = np.linalg.inv(inverse)
        assert wrong == np.count_nonzero(np.linalg.eigvalsh((A + A.T) / 2) < 0.0)
        return A

    A, B, C = (eliminated(mu) for mu in (0.0, 1.0, 3.0))
    np.testing.assert_allclose(A, K, atol=1e-5 * np.abs(K).max())
    np.testing.assert_allclose(C - A, 3.0 * (B - A), atol=1e-7 * np.abs(C).max())
    assert np.linalg.eigvalsh((B - A + (B - A).T) / 2).min() > 0.0
    M = naive.Mechanism(twin.bodies, q, np.zeros(nv)).mass_matrix()
    sim.inputs.potentials.set_step(0.0)
    np.testing.assert_allclose(M @ sim.accelerations(), force, atol=1e-9 * np.abs(force).max())


@pytest.mark.parametrize("seed", range(3))
def test_forces_are_minus_the_slope_of_the_energy(seed):
    twin, sim, rng = loaded(seed)
    q, d, v = twin.model.random_configuration(rng), 1e-5, twin.model.mechanism.v_index

    def energy(q):
        sim.configuration = q
        return float(Equilibrium(sim.inputs, None, None, None).work.energy[0])

    slope = np.array([(energy(q + d * e) - energy(q - d * e)) / (2 * d) for e in np.eye(twin.model.nv)])
    sim.configuration = q
    np.testing.assert_allclose(Equilibrium(sim.inputs, None, None, None).force, -slope[v], rtol=1e-6, atol=1e-6)
