"""Springs followed in compiled code: equal to a function that sets their forces, downhill in every step."""

from __future__ import annotations

import numpy as np
import pytest

from bough import adaptive, zoo
from bough.errors import NonFiniteError, NumericalError, ShapeError, UnknownNameError

RESIDUES = 12


@pytest.fixture(scope="module")
def chain():
    """A folded chain, and where its backbone is to go."""
    model, q = zoo.protein(RESIDUES).with_gravity((0, 0, 0)), zoo.fold(RESIDUES)
    backbone = list(range(0, 2 * RESIDUES, 2))
    there = adaptive.QuasiStatics(model, method="aba")
    there.configuration = q + np.where(np.arange(len(q)) < 2 * RESIDUES, 0.3 * np.cos(np.arange(len(q))), 0.0)
    return model, q, backbone, there.positions(backbone)


def simulation(chain, error=None, method="adaptive", **options):
    sim = adaptive.QuasiStatics(chain[0], error, method, **options)
    sim.configuration = chain[1]
    return sim


def forces(sim, bodies, targets, stiffness, points, drift=0.0):
    """The same springs as a function that sets forces."""
    load = sim.loads(bodies, points)
    begin = sim.pseudo_time

    def pull(sim):
        T = sim.poses(bodies)
        x = T[:, :3, 3] + np.einsum("nij,nj->ni", T[:, :3, :3], points)
        load.values[:] = stiffness * (targets + (sim.pseudo_time - begin) * drift - x)

    return pull


@pytest.mark.parametrize("method", ["aba", "adaptive", "dca", "auto"])
@pytest.mark.parametrize("error", [None, adaptive.energy(0.3), adaptive.relative_joint(0.1)])
def test_steps_are_those_of_a_function_that_sets_the_forces(chain, method, error):
    bodies, targets = chain[2], chain[3]
    points = 0.05 * np.sin(np.arange(3.0 * len(bodies))).reshape(-1, 3)
    options = {"every": 4} if error is not None else {}
    sims = [simulation(chain, error, method, **options) for _ in range(2)]
    drift = 0.01 * np.cos(np.arange(3.0 * len(bodies))).reshape(-1, 3)
    springs = sims[0].restraints(bodies, targets, 2.0, points=points)
    springs.drift = drift
    given = forces(sims[1], bodies, targets, 2.0, points, drift)
    for steps in (1, 7, 5):
        sims[0].run(steps, h=0.01, load=springs)
        sims[1].run(steps, h=0.01, load=given)
    assert sims[0].steps == 13
    assert sims[0].pseudo_time == pytest.approx(0.13)
    np.testing.assert_allclose(sims[0].configuration, sims[1].configuration, atol=1e-9)
    assert np.abs(sims[0].configuration - chain[1]).max() > 1e-3
    np.testing.assert_allclose(springs.targets, targets + 0.13 * drift)
    x = sims[0].poses(bodies)
    ends = x[:, :3, 3] + np.einsum("nij,nj->ni", x[:, :3, :3], points)
    springs(sims[0])
    np.testing.assert_allclose(springs.load.values[:], 2.0 * (springs.targets - ends), atol=1e-9)
    assert springs.energy == pytest.approx(((springs.targets - ends) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize("h", [0.02, 5.0])
@pytest.mark.parametrize("eps", [None, 1e-6, 0.1, 0.4, 0.8])
def test_the_energy_falls_in_every_step_at_every_eps(chain, eps, h):
    """With the longer steps springs would swing and grow: those are taken back and cut."""
    sim = simulation(chain, None if eps is None else adaptive.energy(eps), "aba" if eps is None else "adaptive")
    sim.set_potential(range(len(chain[0].joints)), adaptive.dihedral([0.01], [3]))
    springs = sim.restraints(chain[2], chain[3], 1.0)
    springs(sim)
    energies = [springs.energy + sim.inputs.potentials.energy()]
    for _ in range(60):
        sim.run(1, h=h, load=springs)
        energies.append(springs.energy + sim.inputs.potentials.energy())
    assert (np.diff(energies) < 1e-12 * energies[0]).all()
    assert energies[-1] < (0.9 if h < 1.0 else 0.5) * energies[0]
    assert (sim.stats.cuts > 0) == (h > 1.0)


def test_springs_between_bodies_pull_both_to_their_length(chain):
    sim = simulation(chain, adaptive.energy(0.2))
    ends = [(1, 21), (5, 17)]
    springs = sim.restraints([a for a, _ in ends], stiffness=3.0, others=[b for _, b in ends], length=0.4)
    before = springs.energy
    sim.run(400, h=0.05, load=springs)
    gap = np.linalg.norm(np.diff(sim.positions(np.ravel(ends)).reshape(-1, 2, 3), axis=1)[:, 0], axis=1)
    np.testing.assert_allclose(gap, 0.4, atol=2e-3)
    assert np.isnan(before)
    assert springs.energy < 1e-5
    assert repr(springs) == "Restraints of 2 pairs"
    springs(sim)
    np.testing.assert_allclose(springs.load.values[:2], -springs.load.values[2:])
    with pytest.raises(ValueError, match="no targets"):
        springs.targets = np.zeros((2, 3))


def test_other_targets_and_a_resumed_run(chain, tmp_path):
    sim = simulation(chain, adaptive.energy(0.3))
    springs = sim.restraints(chain[2], chain[3], 1.0)
    sim.run(30, h=0.1, load=springs)
    springs.targets = sim.positions(chain[2])
    springs(sim)
    assert springs.energy == pytest.approx(0.0, abs=1e-20)
    springs.targets = chain[3]
    springs(sim)
    sim.checkpoint(tmp_path / "here")
    again = adaptive.QuasiStatics.resume(chain[0], tmp_path / "here")
    assert again.all_loads == ()
    (same,) = again.all_restraints
    np.testing.assert_array_equal(same.load.values[:], springs.load.values[:])
    sim.run(25, h=0.1, load=springs)
    again.run(25, h=0.1, load=same)
    np.testing.assert_array_equal(again.configuration, sim.configuration)
    assert same.energy == springs.energy


@pytest.mark.parametrize("method", ["adaptive", "aba", "auto"])
def test_springs_act_in_the_call_to_which_they_are_given(chain, method, tmp_path):
    sims = [simulation(chain, adaptive.energy(0.3), method) for _ in range(2)]
    springs = sims[0].restraints(chain[2], chain[3], 5.0)
    sims[0].run(20, h=0.1, load=springs)
    assert springs.energy > 0.0
    assert not springs.load.values[:].any()
    sims[1].configuration = sims[0].configuration
    for sim in sims:
        sim.set_potential(range(len(chain[0].joints)), adaptive.harmonic(0.05))
    np.testing.assert_allclose(*(sim.body_accelerations([3]) for sim in sims), atol=1e-9)
    found = [sim.minimize() for sim in sims]
    assert found[0].converged
    assert found[0].energy == pytest.approx(found[1].energy, rel=1e-9)
    sims[0].checkpoint(tmp_path / "here")
    again = adaptive.QuasiStatics.resume(chain[0], tmp_path / "here")
    again.remove_load(again.all_restraints[0])
    assert again.all_restraints == ()
    sims[0].remove_load(springs)
    with pytest.raises(UnknownNameError, match="no such load"):
        sims[0].remove_load(springs)


def test_springs_settle_in_minimize(chain):
    sim = simulation(chain, method="aba")
    sim.set_potential(range(len(chain[0].joints)), adaptive.harmonic(0.05))
    springs = sim.restraints(chain[2], chain[3], 1.0)
    assert sim.minimize(springs, tol=1e-10, steps=400).converged
    springs(sim)
    before = sim.configuration
    sim.run(3, h=1e-3, load=springs)
    np.testing.assert_allclose(sim.configuration, before, atol=1e-7)


def test_a_step_that_fails_leaves_everything_alone(chain):
    for method, error in (("aba", None), ("adaptive", adaptive.energy(0.3))):
        sim = simulation(chain, error, method)
        springs = sim.restraints(chain[2], chain[3], 1e9)
        with pytest.raises(NumericalError, match="parts"):
            sim.run(3, h=1e3, load=springs)
        np.testing.assert_array_equal(sim.configuration, chain[1])
        assert sim.steps == 0
        assert sim.pseudo_time == 0.0


def test_bad_restraints_are_refused_and_leave_no_load(chain):
    sim = simulation(chain)
    for error, arguments in (
        (ValueError, {"targets": None}),
        (ValueError, {"targets": np.zeros((2, 3)), "others": [3, 4]}),
        (ShapeError, {"targets": np.zeros((3, 3))}),
        (ShapeError, {"others": [3]}),
        (ShapeError, {"targets": "here"}),
        (NonFiniteError, {"targets": np.full((2, 3), np.nan)}),
        (NonFiniteError, {"targets": np.zeros((2, 3)), "stiffness": np.inf}),
        (ValueError, {"targets": np.zeros((2, 3)), "stiffness": -1.0}),
        (ValueError, {"targets": np.zeros((2, 3)), "length": -0.1}),
        (UnknownNameError, {"others": ["nose", "ear"]}),
    ):
        with pytest.raises(error):
            sim.restraints([0, 1], **arguments)
    with pytest.raises(UnknownNameError):
        sim.restraints(["nose"], np.zeros((1, 3)))
    assert sim.all_loads == ()


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_a_function_that_returns_its_energy_has_steps_taken_back_that_raise_it(chain, method):
    sim = simulation(chain, adaptive.energy(0.2), method)
    sim.set_potential(range(len(chain[0].joints)), adaptive.dihedral([0.01], [3]))
    load = sim.loads(chain[2])

    def pull(sim):
        d = chain[3] - sim.positions(chain[2])
        load.values[:] = d
        return 0.5 * float((d * d).sum())

    energies = [pull(sim) + sim.inputs.potentials.energy()]
    for _ in range(40):
        sim.run(1, h=5.0, load=pull)
        energies.append(pull(sim) + sim.inputs.potentials.energy())
    assert (np.diff(energies) <= 1e-12 * energies[0]).all()
    assert energies[-1] < 0.5 * energies[0]
    assert sim.stats.cuts > 0
    assert sim.pseudo_time == pytest.approx(200.0)
    q, time = sim.configuration, sim.time
    with pytest.raises(NumericalError, match="finite number"):
        sim.run(1, h=5.0, load=lambda sim: float("nan"))
    np.testing.assert_array_equal(sim.configuration, q)
    assert sim.time == time


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
@pytest.mark.parametrize("pairs", [False, True])
def test_motions_under_restraints_are_those_under_a_callback(tmp_path, integrator, pairs):
    """They act in the run that takes them, and a checkpoint in between keeps them as restraints."""
    model = zoo.cable(8, EI=1e-2, GJ=1e-2)
    near, far, target = model.body_names[2], model.body_names[-1], np.array([[0.5, 0.2, 0.3]])
    sims = [adaptive.Dynamics(model, integrator=integrator) for _ in range(2)]
    ends = {"others": [near]} if pairs else {"targets": target}
    springs, load = sims[0].restraints([far], stiffness=2.0, length=0.1, **ends), sims[1].loads([far, near])

    def spring(sim):
        x = sim.positions([far, near])
        d = (x[1] if pairs else target[0]) - x[0]
        load.values[0] = 2.0 * (1.0 - 0.1 / np.linalg.norm(d)) * d
        if pairs:
            load.values[1] = -load.values[0]

    sims[0].run(20, 1e-3, load=springs)
    sims[0].checkpoint(tmp_path / "state")
    resumed = adaptive.Dynamics.resume(model, tmp_path / "state")
    assert len(resumed.all_restraints) == 1
    assert not resumed.all_loads
    resumed.run(20, 1e-3, load=resumed.all_restraints[0])
    sims[0].run(20, 1e-3, load=springs)
    sims[1].run(40, 1e-3, load=spring)
    load.values[:] = 0.0
    for sim in (sims[0], resumed):
        np.testing.assert_allclose(sim.configuration, sims[1].configuration, atol=1e-12)
        sim.run(5, 1e-3)
    sims[1].run(5, 1e-3)
    for sim in (sims[0], resumed):
        np.testing.assert_allclose(sim.configuration, sims[1].configuration, atol=1e-12)
