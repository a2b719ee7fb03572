"""Sampling: velocities and log det H against the factor, equipartition, energy, densities with and without Fixman."""

from pathlib import Path

import numpy as np
import pytest

import bough
from bough.errors import NumericalError, SettingError

mol = pytest.importorskip("bough.molecules")
pytest.importorskip("gemmi")

KB = 0.00831446261815324


def free(x):
    return 0.0, np.zeros_like(x)


@pytest.fixture(scope="module")
def peptide():
    return mol.peptide("GASPD")


@pytest.fixture(scope="module")
def chain():
    """Three carbons between two iodines, with right angles: two torsions, and det H varies much."""
    from bough.molecules.peptide import placed

    x = [np.zeros(3), np.array([0.15, 0, 0]), np.array([0.15, 0.15, 0])]
    for turn in (1.0, 2.0):
        x.append(placed(*x[-3:], 0.15, np.pi / 2, turn))
    n = len(x)
    atoms = mol.Atoms(
        np.array([f"C{k}" for k in range(n)]), np.array(["I", "C", "C", "C", "I"]), np.zeros(n, np.int64), np.array(x),
        np.array([(k, k + 1) for k in range(n - 1)]), np.array(["A"]), np.array(["1"]), np.array(["LIG"]),
        np.array([True]), np.zeros(n),
    )  # fmt: skip
    return mol.Molecule(atoms)


def test_the_log_determinant_and_its_gradient(peptide):
    model = peptide.model
    log_det = mol.LogDeterminant(model)
    q = model.random_configuration(np.random.default_rng(8))
    value, gradient = log_det(q)
    assert value == pytest.approx(peptide.dynamics.factorize(q).logdet(), rel=1e-9)
    h = 1e-5
    expected = [
        (log_det(model.integrate(q, h * e))[0] - log_det(model.integrate(q, -h * e))[0]) / (2 * h)
        for e in np.eye(model.nv)
    ]
    np.testing.assert_allclose(gradient, expected, atol=1e-5)
    assert np.abs(gradient[6:]).max() > 0.1


def test_velocities_have_the_covariance_of_the_temperature(peptide):
    from bough.compile.run.direct import compiled
    from bough.molecules.fixman import sweep_work, thermal_velocities

    model, work = peptide.model, sweep_work(peptide.model)
    q = model.random_configuration(np.random.default_rng(9))
    root = np.zeros((model.nv, model.nv))
    for e, column in zip(np.eye(model.nv), root, strict=True):
        compiled(thermal_velocities)(model.mechanism, q, e, column, work)
    H = peptide.dynamics.mass_matrix(q)
    np.testing.assert_allclose(root.T @ root @ H, np.eye(model.nv), atol=1e-8)
    assert np.log(work.D).sum() == pytest.approx(np.linalg.slogdet(H)[1])


def test_every_joint_has_its_share_of_the_temperature(chain):
    found = chain.langevin(free, temperature=300.0, steps=6_000, dt=0.03, friction=5.0, every=4, seed=3)
    assert found.tracks["temperature, K"][100:].mean() == pytest.approx(300.0, rel=0.04)
    # H = L L': the parts of L' v / sqrt(kT) are independent normal numbers, one for every degree of freedom
    q, v, parts = found.q, found.v, []
    for seed in range(300):
        found = chain.langevin(free, temperature=300.0, steps=10, dt=0.03, friction=10.0, every=10, q=q, v=v, seed=seed)
        q, v = found.q, found.v
        parts.append(np.linalg.cholesky(chain.dynamics.mass_matrix(q)).T @ v / np.sqrt(KB * 300.0))
    np.testing.assert_allclose(np.mean(np.square(parts), axis=0), 1.0, atol=4 * np.sqrt(2 / 300))


def test_momenta_and_their_rate_in_free_flight(peptide):
    from bough.molecules.flight import Flight

    model, dynamics, flight = peptide.model, peptide.dynamics, Flight(peptide.dynamics)
    rng, h = np.random.default_rng(10), 1e-6
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    p, rate, _ = flight._momenta(q, v)
    np.testing.assert_allclose(p, dynamics.mass_matrix(q) @ v, atol=1e-9)
    a = dynamics.forward_dynamics(q, v, np.zeros(model.nv))
    ends = [flight.momentum(model.integrate(q, s * h * v), v + s * h * a) for s in (1.0, -1.0)]
    np.testing.assert_allclose(rate, (ends[0] - ends[1]) / (2 * h), atol=1e-5)


def test_a_flight_is_symplectic_and_reversible(peptide):
    from bough.molecules.flight import Flight

    m = mol.Molecule(peptide.atoms, fixed=["A/1"])  # torsions only, so (q, p) are canonical
    n, flight, h, e = m.model.nv, Flight(m.dynamics), 0.03, 1e-5
    assert n == m.model.nq
    rng = np.random.default_rng(11)
    x = rng.normal(size=2 * n)
    x[n:] = flight.momentum(x[:n], 3.0 * x[n:])

    def step(x, h):
        return np.concatenate(flight.step(x[:n], x[n:], h))

    np.testing.assert_allclose(step(step(x, h), -h), x, atol=1e-8)
    scale = np.concatenate([np.ones(n), np.maximum(np.abs(x[n:]), 1e-3)])
    J = np.stack([(step(x + s, h) - step(x - s, h)) / (2 * e) for s in e * np.diag(scale)], axis=1) / scale
    Omega = np.kron([[0.0, 1.0], [-1.0, 0.0]], np.eye(n))
    assert np.abs(J - np.eye(2 * n)).max() > 0.01
    error = (J.T @ Omega @ J - Omega) * np.outer(scale, scale)
    assert np.abs(error).max() < 1e-6 * np.abs(J * np.outer(1 / scale, scale)).max()


def test_momentum_is_kept_and_the_energy_does_not_drift(peptide):
    from bough.molecules.flight import Flight

    model, flight = peptide.model, Flight(peptide.dynamics)
    rng = np.random.default_rng(12)
    q = model.random_configuration(rng)
    p = flight.momentum(q, 2.0 * rng.normal(size=model.nv))

    def totals(q, p):
        """Linear and angular momentum of all atoms."""
        v = 1e-6 * flight.velocity(q, p)
        rates = (peptide.positions(model.integrate(q, v)) - peptide.positions(model.integrate(q, -v))) / 2e-6
        y = peptide.atoms.masses[:, None] * rates
        return np.concatenate([y.sum(axis=0), np.cross(peptide.positions(q), y).sum(axis=0)])

    before, energies = totals(q, p), []
    for _ in range(300):
        q, p = flight.step(q, p, 0.01)
        energies.append(0.5 * p @ flight.velocity(q, p))
    np.testing.assert_allclose(totals(q, p), before, atol=1e-3 * np.abs(before).max())
    assert np.ptp(energies) < 0.05 * np.mean(energies)
    halves = np.mean(energies[:150]), np.mean(energies[150:])
    assert halves[0] == pytest.approx(halves[1], rel=5e-3)


def expectation(chain, rigid):
    """<log det H> over both torsions, by quadrature."""
    grid = np.linspace(-np.pi, np.pi, 24, endpoint=False)
    log_det, values = mol.LogDeterminant(chain.model), []
    for a in grid:
        for b in grid:
            q = chain.model.neutral.copy()
            q[-2:] = a, b
            values.append(log_det(q)[0])
    values = np.array(values)
    weight = np.exp(0.5 * (values - values.max())) if rigid else np.ones(len(values))
    return float(np.sum(weight * values) / np.sum(weight))


@pytest.mark.parametrize("fixman", [False, True])
def test_densities_are_those_of_the_theory(chain, fixman):
    rigid, flexible = expectation(chain, True), expectation(chain, False)
    assert rigid - flexible > 0.1
    log_det = mol.LogDeterminant(chain.model)
    for frames in (
        chain.hybrid_monte_carlo(free, samples=1200, steps=6, dt=0.08, fixman=fixman, seed=1).frames,
        chain.langevin(free, steps=10_000, dt=0.02, friction=3.0, fixman=fixman, every=8, seed=2).frames,
    ):
        values = np.array([log_det(q)[0] for q in frames])
        blocks = values[: len(values) // 20 * 20].reshape(20, -1).mean(axis=1)
        error = blocks.std() / np.sqrt(19)
        expected = flexible if fixman else rigid
        assert abs(values.mean() - expected) < 4 * error
        assert error < 0.25 * (rigid - flexible)


@pytest.mark.parametrize(("stiffness", "dt", "steps"), [(0.0, 0.01, 40_000), (3e5, 0.002, 120_000)])
def test_cartesian_dynamics_has_the_densities_of_the_theory(chain, stiffness, dt, steps):
    """Of OpenMM: with constraints that of rigid groups, without Fixman's potential; with stiff springs that with it."""
    openmm = pytest.importorskip("openmm")
    system, bonds, x = openmm.System(), openmm.HarmonicBondForce(), chain.atoms.positions
    for mass in chain.atoms.masses:
        system.addParticle(mass)
    for a, b in [(k, k + far) for far in (1, 2) for k in range(len(x) - far)]:  # bonds and angles
        length = float(np.linalg.norm(x[a] - x[b]))
        if stiffness:
            bonds.addBond(a, b, length, stiffness)
        else:
            system.addConstraint(a, b, length)
    system.addForce(bonds)
    integrator = openmm.LangevinMiddleIntegrator(300.0, 3.0, dt)
    integrator.setRandomNumberSeed(1)
    integrator.setConstraintTolerance(1e-8)
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(x)
    context.setVelocitiesToTemperature(300.0, 1)
    log_det, values = mol.LogDeterminant(chain.model), []
    for _ in range(steps // 40):
        integrator.step(40)
        now = context.getState(getPositions=True).getPositions(asNumpy=True)._value
        values.append(log_det(chain.fit(np.ascontiguousarray(now)))[0])
    rigid, flexible = expectation(chain, True), expectation(chain, False)
    blocks = np.array(values).reshape(20, -1).mean(axis=1)
    error = blocks.std() / np.sqrt(19)
    assert abs(blocks.mean() - (flexible if stiffness else rigid)) < 4 * error
    assert error < 0.25 * (rigid - flexible)


def test_the_map_of_alanine_dipeptide_is_that_of_quadrature():
    """phi and psi under a force field, with and without Fixman's potential, whose effect is small here."""
    pytest.importorskip("openmm")
    m = mol.peptide(["ACE", "ALA", "NME"], rotatable=["phi", "psi"])
    field, keys, n, T = mol.OpenMM("amber14-all.xml", platform="Reference"), ["A/2/phi", "A/2/psi"], 36, 600.0
    grid, energy = (np.arange(n) + 0.5) * 2 * np.pi / n - np.pi, field.on(m)
    at = np.array([m.with_angles(m.model.neutral, {keys[0]: a, keys[1]: b}) for a in grid for b in grid])
    U = np.array([energy(m.positions(q))[0] for q in at]).reshape(n, n)
    half_log = 0.5 * np.array([mol.LogDeterminant(m.model)(q)[0] for q in at]).reshape(n, n)
    for fixman in (False, True):
        weight = np.exp(-(U - U.min()) / (KB * T) + (0.0 if fixman else half_log - half_log.mean()))
        expected = (weight / weight.sum()).reshape(12, 3, 12, 3).sum(axis=(1, 3))
        run = m.langevin(field, temperature=T, steps=20_000, dt=0.006, friction=5.0, every=4, fixman=fixman, seed=2)
        a, b = m.angles(run.frames, keys).T
        found, _, _ = np.histogram2d(a, b, bins=12, range=[[-np.pi, np.pi]] * 2)
        assert 0.5 * np.abs(found / found.sum() - expected).sum() < 0.1


def test_energy_is_kept_to_second_order(peptide):
    held = [mol.distance("A/1/CA", "A/5/CA", upper=0.6, linear=9.0)]
    drift = []
    for dt in (0.004, 0.002):
        found = peptide.langevin(
            restraints=held, temperature=300.0, steps=round(0.4 / dt), dt=dt, friction=0.0, every=1, seed=5
        )
        total = found.tracks["total energy, kJ/mol"]
        drift.append(np.abs(total - total[0]).max())
        assert found.calls == len(total)
    assert drift[1] < 0.35 * drift[0]


def test_constant_energy_runs_backwards(peptide):
    held = [mol.distance("A/1/CA", "A/5/CA", upper=0.6, linear=9.0)]
    there = peptide.langevin(restraints=held, steps=50, dt=0.002, friction=0.0, seed=5)
    back = peptide.langevin(restraints=held, steps=50, dt=0.002, friction=0.0, q=there.q, v=-there.v)
    np.testing.assert_allclose(back.positions, peptide.positions(there.frames[0]), atol=1e-6)


def test_annealing_satisfies_restraints():
    m = mol.peptide("GASGASGASG", rotatable="heavy")
    target = mol.peptide("GASGASGASG", phi=-1.1, psi=-0.8).atoms.positions
    heavy = m.atoms.select("heavy")
    pairs = [(int(a), int(b)) for a in heavy[::3] for b in heavy[::4] if a + 12 < b]
    noe = [mol.distance(a, b, upper=float(np.linalg.norm(target[a] - target[b])) + 0.03) for a, b in pairs]
    found = m.anneal(restraints=noe, steps=2000, seed=1)
    final = m.minimize(mol.Repulsion(m), restraints=noe, q=found.q)
    assert final.energy < 0.02 * found.energies[0]
    assert found.tracks["temperature, K"][0] == 2000.0
    again = m.anneal(restraints=noe, steps=2000, seed=1)
    np.testing.assert_array_equal(again.q, found.q)


def test_annealing_and_dynamics_agree_on_forces(peptide):
    """One cold step without noise: v = dt H^-1 tau, by both."""
    from bough.molecules.annealing import Annealer
    from bough.molecules.energy import TorsionEnergy
    from bough.molecules.sampling import Settings

    held = mol.RestraintEnergy(peptide, [mol.distance("A/1/CA", "A/5/CA", upper=0.3)])
    q = peptide.model.random_configuration(np.random.default_rng(2))
    spheres = mol.Repulsion(peptide)
    _, v, energy = Annealer(peptide, [spheres, held]).run(
        q, np.zeros(peptide.model.nv), Settings(0.0, 1e-5, 1, 0.0), np.random.default_rng(0)
    )
    expected, gradient = TorsionEnergy(peptide, [mol.Repulsion(peptide), held])(q)
    assert energy == pytest.approx(expected)
    np.testing.assert_allclose(
        v, 1e-5 * np.linalg.solve(peptide.dynamics.mass_matrix(q), -gradient), rtol=1e-7, atol=1e-9
    )


def test_annealing_steps_are_the_same_with_any_energy(peptide):
    from bough.molecules.annealing import Annealer
    from bough.molecules.sampling import Settings

    spheres, q, v = mol.Repulsion(peptide), peptide.model.neutral, np.zeros(peptide.model.nv)
    ends = [
        Annealer(peptide, [term]).run(q, v, Settings(900.0, 1e-3, 30), np.random.default_rng(1))
        for term in (spheres, lambda x: spheres(x))
    ]
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert np.abs(ends[0][1]).max() > 1.0


def test_annealing_takes_as_many_steps_as_it_is_told(peptide):
    for steps in (7, 50, 999):
        found = peptide.anneal(steps=steps, dt=0.001)
        assert found.calls == steps
        assert found.time[-1] == pytest.approx(0.001 * steps)


def test_an_atom_is_pulled_and_only_what_matters_moves():
    m = mol.peptide("GAS" * 30)
    atom = m.atoms.place("A/90/CA")
    goal = m.atoms.positions[atom] + [0.0, 0.3, 0.1]
    full = m.pull("A/90/CA", goal, steps=40)
    some = m.pull("A/90/CA", goal, error=bough.adaptive.energy(0.1), steps=40)
    for found in (full, some):
        assert (np.diff(found.energies) <= 1e-9).all()
        assert found.energy < 0.5 * found.energies[0]
    assert some.tracks["active joints"][1:].mean() < 0.5 * len(m.model.joints)
    assert found.energies[0] == pytest.approx(50.0 * 0.1)  # 100 / 2 * (0.09 + 0.01)


def test_odd_settings_are_refused(peptide):
    with pytest.raises(SettingError, match="dt positive"):
        peptide.langevin(free, dt=0.0)
    with pytest.raises(SettingError, match="steps and every"):
        peptide.langevin(free, steps=0)
    with pytest.raises(SettingError, match="temperature and friction must not be negative"):
        peptide.anneal(temperatures=(300.0, -5.0), steps=20)
    with pytest.raises(NumericalError, match="too long here"):
        peptide.langevin(free, dt=10.0)


def test_annealing_in_a_force_field_relaxes_a_bad_start():
    pytest.importorskip("openmm")
    m, field = mol.peptide("AAAAAAAA", phi=0.3, psi=0.2), mol.OpenMM("amber14-all.xml")
    assert field.on(m)(m.atoms.positions)[0] > 1e4
    found = m.anneal(field, temperatures=(600.0, 50.0), steps=40, dt=0.002)
    assert found.energy < 1000.0


def test_annealing_in_a_force_field_bears_2000_kelvin():
    pytest.importorskip("openmm")
    m, field = mol.peptide("SKAEKLQT", phi=-1.05, psi=-0.8), mol.OpenMM("amber14-all.xml")
    found = m.anneal(field, temperatures=(2000.0, 50.0), steps=300)
    assert found.energies.max() < 5000.0
    assert found.energy < found.energies[0]


@pytest.mark.slow
def test_annealing_in_a_force_field_at_full_length():
    """10,000 steps of ten residues in amber14 with implicit solvent, under restraints."""
    pytest.importorskip("openmm")
    examples = Path(__file__).parents[2] / "examples"
    m = mol.from_file(examples / "predicted.pdb")
    noe, field = mol.read_table(examples / "noe.tbl", m.atoms), mol.OpenMM("amber14-all.xml", "implicit/gbn2.xml")
    found = m.anneal(field, temperatures=(2000, 50), steps=10_000, restraints=noe)
    assert found.calls <= 10_100
    assert np.isfinite(found.energies).all()
    hot, cold = found.energies[:10].mean(), found.energies[-10:].mean()
    assert cold < hot - 100.0
    relaxed = m.minimize(field, restraints=noe, q=found.q)
    assert relaxed.converged
    assert relaxed.energy < found.energy
