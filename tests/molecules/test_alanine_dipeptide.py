"""The map of alanine dipeptide, with and without Fixman's potential, beside constrained dynamics in Cartesian space."""

from itertools import combinations

import numpy as np
import pytest

mol = pytest.importorskip("bough.molecules")
pytest.importorskip("gemmi")
dihedral_angles = pytest.importorskip("bough.molecules.atoms").dihedral_angles

KT = 0.00831446261815324 * 600.0  # kJ/mol
KEYS = ["A/2/phi", "A/2/psi"]
# Four atoms of each rigid group, not in a plane. All others are at fixed sums of them.
BASES = ("A/1/H2 A/1/C A/2/N A/2/CA", "A/2/N A/2/CA A/2/C A/2/CB", "A/2/CA A/2/C A/3/N A/3/H2")
BINS = np.linspace(-np.pi, np.pi, 13)


@pytest.fixture(scope="module")
def dipeptide():
    return mol.peptide(["ACE", "ALA", "NME"], rotatable=["phi", "psi"])


@pytest.fixture(scope="module")
def spheres(dipeptide):
    """A cheap energy whose map is that of Ramachandran's hard spheres, in outline."""
    return mol.Repulsion(dipeptide)


class ConstrainedDynamics:
    """Newton's equations of atoms under constraints, by RATTLE (Andersen 1983), for many copies at once.

    The eight base atoms carry all others, x = C b, and their distances in each rigid group are constraints
    g(b) = (|B b|^2 - l^2) / 2 with Jacobian J: 24 - 16 = 8 degrees of freedom. No torsion appears here. Trajectories
    start with velocities of the temperature, and are accepted as in hybrid Monte Carlo (Lelievre, Rousset & Stoltz
    2012), so the density is that of constrained dynamics whatever the step is.
    """

    def __init__(self, molecule, energy):
        x, masses = molecule.atoms.positions, molecule.atoms.masses
        groups = [[molecule.atoms.place(key) for key in words.split()] for words in BASES]
        base = sorted({k for group in groups for k in group})
        self.C = np.zeros((len(x), len(base)))
        for g, group in enumerate(groups):
            own = np.flatnonzero(molecule.groups.group == g)
            shares = np.linalg.solve(np.vstack([x[group].T, np.ones(4)]), np.vstack([x[own].T, np.ones(len(own))]))
            self.C[np.ix_(own, [base.index(k) for k in group])] = shares.T
        pairs = sorted({tuple(sorted(pair)) for group in groups for pair in combinations(group, 2)})
        self.B = np.zeros((len(pairs), len(base)))
        for row, (i, j) in zip(self.B, pairs, strict=True):
            row[base.index(i)], row[base.index(j)] = 1.0, -1.0
        self.start, self.energy = x[base], energy
        self.M = self.C.T @ (masses[:, None] * self.C)
        self.W = np.linalg.solve(self.M, self.B.T)
        self.length2 = np.sum((self.B @ self.start) ** 2, axis=1)

    def metric(self, b):
        """J M^-1 J' (copies, constraints, constraints), and the vectors between bonded base atoms."""
        d = self.B @ b
        return (self.B @ self.W) * (d @ d.swapaxes(-1, -2)), d

    def tangent(self, b, v):
        """Velocities without the part that J M^-1 J' sees."""
        A, d = self.metric(b)
        rate = np.sum((self.B @ v) * d, axis=-1, keepdims=True)
        return v - self.W @ (np.linalg.solve(A, rate) * d)

    def step(self, b, v, acceleration, dt):
        """One step of RATTLE."""
        v = self.tangent(b, v + 0.5 * dt * acceleration)
        A, d = self.metric(b)
        inverse, end = np.linalg.inv(A), b + dt * v
        for _ in range(60):
            gap = 0.5 * (np.sum((self.B @ end) ** 2, axis=-1) - self.length2)
            if np.abs(gap).max() < 1e-13:
                break
            end = end - self.W @ ((inverse @ gap[..., None]) * d)
        assert np.abs(gap).max() < 1e-11
        v = self.tangent(end, (end - b) / dt)
        energy, acceleration = self.forces(end)
        return end, self.tangent(end, v + 0.5 * dt * acceleration), energy, acceleration

    def forces(self, b):
        """Energies, and accelerations without constraints."""
        energies, F = zip(*(self.energy(x) for x in self.C @ b), strict=True)
        return np.array(energies), np.linalg.solve(self.M, self.C.T @ np.array(F))

    def sample(self, samples, copies=200, steps=15, dt=0.03):
        """Positions (copies, samples, atoms, 3) and log det J M^-1 J' / 2 (copies, samples)."""
        rng, root = np.random.default_rng(0), np.linalg.inv(np.linalg.cholesky(self.M)).T
        b = np.repeat(self.start[None], copies, axis=0)
        energy, acceleration = self.forces(b)
        rows, halves = [], []
        for _ in range(samples):
            v = self.tangent(b, np.sqrt(KT) * root @ rng.normal(size=b.shape))
            own, end = dt * rng.uniform(0.5, 1.3), (b, v, energy, acceleration)
            for _ in range(steps):
                end = self.step(end[0], end[1], end[3], own)
            before, after = (0.5 * np.einsum("kic,ij,kjc->k", u, self.M, u) for u in (v, end[1]))
            change = end[2] + after - energy - before
            taken = rng.random(copies) < np.exp(np.minimum(0.0, -change / KT))
            b, energy, acceleration = (
                np.where(taken.reshape(-1, *[1] * (old.ndim - 1)), new, old)
                for new, old in ((end[0], b), (end[2], energy), (end[3], acceleration))
            )
            rows.append(self.C @ b)
            halves.append(0.5 * np.linalg.slogdet(self.metric(b)[0])[1])
        return np.stack(rows, axis=1), np.stack(halves, axis=1)


def half_log_det(molecule, angles):
    """log det H / 2 at phi and psi (k, 2)."""
    log_det = mol.LogDeterminant(molecule.model)
    q = [molecule.with_angles(molecule.model.neutral, dict(zip(KEYS, both, strict=True))) for both in angles.tolist()]
    return 0.5 * np.array([log_det(each)[0] for each in q])


def angles_at(molecule, x):
    """phi and psi (..., 2) of positions x (..., atoms, 3)."""
    return dihedral_angles(x, np.array([molecule.dihedrals[key].atoms for key in KEYS]))


def estimates(angles, half, weights=None):
    """Means and errors (25,) of log det H / 2 and of the shares of 12 bins of phi and of psi, from 40 blocks."""
    weights = np.ones(half.size) if weights is None else weights.ravel()
    found = []
    for own, h, w in zip(*(np.split(a, 40) for a in (angles.reshape(-1, 2), half.ravel(), weights)), strict=True):
        shares = [np.histogram(own[:, k], BINS, weights=w)[0] for k in (0, 1)]
        found.append(np.concatenate([[h @ w], *shares]) / w.sum())
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(40)


def sample_cartesian(molecule, energy, samples):
    """Estimates from constrained dynamics: as they are, and for stiff springs, which have 1 / sqrt(det J M^-1 J')."""
    x, half = ConstrainedDynamics(molecule, energy).sample(samples)
    x, half = x[:, 5:], half[:, 5:]
    angles = angles_at(molecule, x)
    own = half_log_det(molecule, angles[0])
    # Fixman's theorem: det H and det J M^-1 J' are proportional
    np.testing.assert_allclose(own - half[0], own[0] - half[0, 0], atol=1e-9)
    half += own[0] - half[0, 0]
    return {"rigid": estimates(angles, half), "flexible": estimates(angles, half, np.exp(half.mean() - half))}


def test_constrained_cartesian_dynamics_has_the_map_without_fixmans_potential(dipeptide, spheres):
    """Beside quadrature over phi and psi. Both densities are some six errors apart."""
    grid = (np.arange(48) + 0.5) * 2 * np.pi / 48 - np.pi
    angles = np.array([(a, b) for a in grid for b in grid])
    half = half_log_det(dipeptide, angles)
    turned = [dict(zip(KEYS, both, strict=True)) for both in angles.tolist()]
    x = dipeptide.positions(np.array([dipeptide.with_angles(dipeptide.model.neutral, each) for each in turned]))
    flexible = np.exp(-np.array([spheres(each)[0] for each in x]) / KT)
    densities = {"rigid": flexible * np.exp(half - half.mean()), "flexible": flexible}
    expected = {name: half @ w / w.sum() for name, w in densities.items()}
    for name, (mean, error) in sample_cartesian(dipeptide, spheres, 50).items():
        assert error[0] < 0.2 * (expected["rigid"] - expected["flexible"])
        assert abs(mean[0] - expected[name]) < 3.0 * error[0]
        bins = [np.histogram(angles[:, k], BINS, weights=densities[name])[0] / densities[name].sum() for k in (0, 1)]
        z = (mean[1:] - np.concatenate(bins)) / error[1:]
        assert z @ z < 45.0  # 22 are expected


@pytest.mark.slow
def test_torsions_have_the_map_of_constrained_cartesian_dynamics(dipeptide, spheres):
    """Without Fixman's potential; with it, that of stiff springs. The other choice is some five errors away.

    z of log det H / 2 has the standard deviation 1, so a wrong sampler passes both bounds once in 50 times.
    """
    reference = sample_cartesian(dipeptide, spheres, 205)
    for fixman, right, wrong in ((False, "rigid", "flexible"), (True, "flexible", "rigid")):
        run = dipeptide.langevin(
            spheres, temperature=600.0, steps=150_000, dt=0.03, friction=2.0, every=3, fixman=fixman, seed=1
        )
        angles = dipeptide.angles(run.frames[1:], KEYS)
        mean, error = estimates(angles, half_log_det(dipeptide, angles))
        z = {name: (mean - m) / np.hypot(error, e) for name, (m, e) in reference.items()}
        assert abs(z[right][0]) < 3.0 < abs(z[wrong][0])
        assert z[right][1:] @ z[right][1:] < 45.0  # 22 are expected, for 12 bins of phi and of psi
