"""Molecules in torsion space: coordinates, annealing, minimising, energy drift and editing, beside Cartesian OpenMM.

Times are CPU seconds of the thread, the best of a few; the force field's own calls are counted, not timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import bough
from benchmarks.timing import Timing
from bough import molecules as mol
from bough.molecules.hydrogens import with_hydrogens
from bough.molecules.reading import with_bonds
from bough.types import FloatArray
from bough.zoo import enzyme

GROUP = "molecules in torsion space"
TRP_CAGE = "NLYIQWLKDGGPSSGRPPPS"
# of the fold (model 1 of 1L2Y), rounded, in degrees
PHI = [-60, -44, -66, -65, -65, -73, -65, -60, -78, 111, 55, -65, -82, -124, 68, -144, -65, -65, -65, -78]
PSI = [-56, -51, -31, -46, -30, -43, -43, -26, -9, 8, -124, -29, 19, 13, 25, 131, 160, 146, 124, 129]
CHI = {
    1: (-68, -4), 2: (53, 107), 3: (-149, -85), 4: (-45, -56), 5: (-146, 81, -102), 6: (179, 79), 7: (-76, 176),
    8: (76, 99, 176, -116), 9: (-93, 52), 13: (-61,), 14: (-144,), 16: (59, -175, 88, -90), 20: (-60,),
}  # fmt: skip


def rows() -> list[Timing]:
    """What docs/molecules.md promises, figure by figure."""
    m = mol.Molecule(with_hydrogens(adenylate_kinase("open"), 7.0, []), name="4AKE")
    return [coordinates(m), closing(m), annealing(), *trp_cage(), *drift(), editing(), listing()]


def best(work: Callable[[], object], count: int = 200) -> float:
    """The shortest of some calls, s."""
    found = np.inf
    for _ in range(count):
        start = time.thread_time()
        work()
        found = min(found, time.thread_time() - start)
    return found


def adenylate_kinase(form: str) -> mol.Atoms:
    """The heavy atoms of 4AKE ("open") or 1AKE ("closed"), chain A."""
    kinds, place = enzyme._atoms(enzyme.FORMS.index(form))
    rows = [(int(key.split(".")[0]) - 1, key.split(".")[1], x) for key, x in place.items()]
    last = len(kinds)
    residue, names, x = (np.array(column) for column in zip(*rows, strict=True))
    bare = mol.Atoms(
        names, np.array([name[0] for name in names]), residue, x, np.zeros((0, 2), np.int64), np.full(last, "A"),
        np.array([str(k + 1) for k in range(last)]), np.array(kinds), np.zeros(last, bool), np.zeros(len(x)),
    )  # fmt: skip
    return with_bonds(bare, [], [])


def coordinates(m: mol.Molecule) -> Timing:
    """Coordinates and torsion gradient, and the round trip."""
    q, F = np.array(m.model.neutral), np.random.default_rng(0).normal(size=(len(m.atoms), 3))
    x, tau = np.empty((len(m.atoms), 3)), np.empty(m.model.nv)
    there, back = best(lambda: m.positions(q, out=x)), best(lambda: m.generalized_forces(q, F, out=tau))
    at = m.positions(m.model.random_configuration(np.random.default_rng(1)))
    gap = np.abs(m.positions(m.fit(at)) - at).max()
    note = f"of these J'F {1e6 * back:.0f}; {m.model.nv} DoF; coordinates -> q -> coordinates within {gap:.0e} nm"
    model = f"adenylate kinase, {len(m.atoms):,} atoms"
    return Timing(GROUP, model, "coordinates and torsion gradient", {"bough": there + back}, note)


def overlaps(m: mol.Molecule, x: FloatArray, scale: float) -> int:
    """Pairs closer than this share of their radii."""
    spheres = mol.Repulsion(m, scale=scale)
    spheres(x)
    a, b = spheres.listed_pairs[: spheres.spheres.pairs[0]].T
    radius = spheres.spheres.radius
    return int((np.linalg.norm(x[a] - x[b], axis=1) < radius[a] + radius[b]).sum())


def close(m: mol.Molecule) -> tuple[mol.Trajectory, FloatArray, float, str]:
    """4AKE to 1AKE by restraints on alpha carbons, with soft spheres; RMSD (nm) of frames, CPU time (s), overlaps."""
    closed = adenylate_kinase("closed")
    goal, carbons = closed.positions[closed.select("CA")], m.atoms.select("CA")
    start = time.thread_time()
    found = m.minimize(mol.Repulsion(m, scale=0.75), restraints=[mol.position("CA", goal)], calls=1500, ease=False)
    seconds = time.thread_time() - start
    far = np.array([mol.rmsd(x[carbons], goal) for x in m.positions(found.frames)])
    near = " and ".join(
        f"{overlaps(m, found.positions, s)} pairs closer than {s} ({overlaps(m, m.atoms.positions, s)} before)"
        for s in (0.6, 0.7)
    )
    return found, far, seconds, f"{near} of their radii"


def closing(m: mol.Molecule) -> Timing:
    """The way of `close`; examples/close_adenylate_kinase.py shows it."""
    found, far, seconds, near = close(m)
    note = f"{found.calls} calls; RMSD of alpha carbons {far[0]:.3f} -> {far[-1]:.4f} nm; {near}"
    return Timing(GROUP, f"adenylate kinase, {m.model.nv} DoF", "4AKE -> 1AKE", {"bough": seconds}, note)


def folded(rotatable: str | list[str] = "all") -> tuple[mol.Molecule, FloatArray]:
    """Trp-cage of ideal geometry, and the configuration with the dihedrals of 1L2Y."""
    m = mol.peptide(TRP_CAGE, phi=np.radians(PHI), psi=np.radians(PSI), rotatable=rotatable)
    turned = {f"A/{r}/chi{k + 1}": np.radians(x) for r, own in CHI.items() for k, x in enumerate(own)}
    return m, m.with_angles(m.model.neutral, turned)


def trp_cage() -> list[Timing]:
    """Minimising Trp-cage in vacuum from ideal geometry, and in Cartesian coordinates."""
    import openmm

    found, field = [], mol.OpenMM("amber14-all.xml")
    extended = mol.peptide(TRP_CAGE, phi=np.radians(-120.0), psi=np.radians(137.5))
    fold, q = folded()
    begun = fold.minimize(field, q=q)  # passes -844 kJ/mol
    near = begun.frames[np.flatnonzero(begun.energies < -844.0)[0]]
    starts = ("extended", extended, extended.model.neutral), ("fold", fold, q), ("fold, relieved", fold, near)
    for name, m, start in starts:
        energy = field.on(m)
        run = m.minimize(field, q=start, calls=600)
        energy.context.setPositions(m.positions(start))
        openmm.LocalEnergyMinimizer.minimize(energy.context, 10.0, 0)
        free = energy.context.getState(getEnergy=True).getPotentialEnergy()._value
        ends = f"{run.energies[0]:.0f} -> {run.energy:.0f} kJ/mol in {run.calls} calls"
        least, calls = _plain(m, energy, start)
        note = f"{ends}; plain L-BFGS on J'F {least:.0f} in {calls}; in Cartesian coordinates {free:.0f}"
        found.append(Timing(GROUP, f"Trp-cage, ideal geometry, {name}", "minimum in amber14, vacuum", {}, note))
    return found


def _plain(
    m: mol.Molecule, energy: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray
) -> tuple[float, int]:
    """The least energy, and the calls, of SciPy's L-BFGS over torsions alone, without a metric."""
    from scipy.optimize import minimize

    def value(turn: FloatArray) -> tuple[float, FloatArray]:
        q = m.model.integrate(start, np.concatenate([np.zeros(6), turn]))
        found, F = energy(m.positions(q))
        return found, -m.generalized_forces(q, F)[6:]

    run = minimize(
        value, np.zeros(m.model.nv - 6), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 5000}
    )
    return float(run.fun), int(run.nfev)


def drift(span: float = 20.0) -> list[Timing]:
    """Drift of the energy of Trp-cage over 20 ps at constant energy, in torsions and in Cartesian coordinates."""
    field = mol.OpenMM("amber14-all.xml", platform="Reference")
    m, q = folded()
    x = m.positions(m.minimize(field, q=q, calls=300).q)
    found = [_drift("Cartesian (OpenMM), bonds of hydrogens constrained", 0.002, *_cartesian(m, x, 0.002, span))]
    for rotatable, steps in (("heavy", (0.002, 0.005)), ("all", (0.002, 0.005))):
        m, _ = folded(rotatable)
        warm = m.langevin(field, q=m.fit(x), steps=1000, dt=0.003, friction=20.0, every=100)
        for dt in steps:
            run = m.langevin(field, q=warm.q, v=warm.v, steps=round(span / dt), dt=dt, friction=0.0, every=2)
            found.append(_drift(f"torsions, {rotatable}", dt, run.time, run.tracks["total energy, kJ/mol"]))
    return found


def _cartesian(m: mol.Molecule, x: FloatArray, dt: float, span: float) -> tuple[FloatArray, FloatArray]:
    """Times and total energies of OpenMM's Verlet integrator."""
    import openmm

    from bough.molecules.force_field import topology

    field, reference = openmm.app.ForceField("amber14-all.xml"), openmm.Platform.getPlatformByName("Reference")
    system = field.createSystem(topology(m.atoms), constraints=openmm.app.HBonds, removeCMMotion=False)
    warming, verlet = openmm.LangevinMiddleIntegrator(300.0, 20.0, 0.001), openmm.VerletIntegrator(dt)
    warm, run = (openmm.Context(system, each, reference) for each in (warming, verlet))
    for each in (warming, verlet):
        each.setConstraintTolerance(1e-8)
    warm.setPositions(x)
    openmm.LocalEnergyMinimizer.minimize(warm, 1.0, 200)
    warm.setVelocitiesToTemperature(300.0, 1)
    warming.step(3000)
    run.setState(warm.getState(getPositions=True, getVelocities=True))
    energies = []
    for _ in range(round(span / dt / 10)):
        verlet.step(10)
        state = run.getState(getEnergy=True)
        energies.append((state.getPotentialEnergy() + state.getKineticEnergy())._value)
    return 10 * dt * np.arange(1.0, len(energies) + 1), np.array(energies)


def _drift(name: str, dt: float, time: FloatArray, energy: FloatArray) -> Timing:
    slope, level = np.polyfit(time, energy, 1)
    numbers = {"kJ/mol/ps drift": float(slope), "kJ/mol spread": float(np.std(energy - slope * time - level))}
    case = f"constant energy, {name}, {1e3 * dt:.0f} fs"
    return Timing(GROUP, "Trp-cage, 300 K", case, {}, f"over {time[-1]:.0f} ps", numbers=numbers)


def annealing(residues: int = 100) -> Timing:
    """10,000 steps with soft spheres and some 1,300 distances."""
    rng = np.random.default_rng(0)
    sequence = "".join(rng.choice(list("ACDEFGHIKLMNQRSTVWY"), residues))
    m = mol.peptide(sequence, rotatable="heavy")
    x = mol.peptide(sequence, phi=-1.1, psi=-0.75).atoms.positions
    some = np.flatnonzero(np.isin(m.atoms.name, ["CA", "CB", "H"]))
    d, r = np.linalg.norm(x[some, None] - x[None, some], axis=-1), m.atoms.residue[some]
    pairs = [(i, j) for i, j in np.argwhere(d < 0.6) if r[j] > r[i] + 1]
    noe = [mol.distance(int(some[i]), int(some[j]), upper=d[i, j] + 0.05) for i, j in pairs]
    m.anneal(restraints=noe, steps=100)
    seconds = []
    for seed in range(5):
        start = time.thread_time()
        m.anneal(restraints=noe, seed=seed)
        seconds.append(time.thread_time() - start)
    note = f"{len(noe)} distances and soft spheres"
    return Timing(
        GROUP, f"{residues} residues, {m.model.nv} DoF", "annealing, 10,000 steps", {"bough": min(seconds)}, note
    )


def editing(residues: int = 10_000) -> Timing:
    """Pull one atom of a chain of 100,000."""
    m = mol.peptide("A" * residues, phi=-1.2, psi=2.2)
    atom = f"A/{residues // 2}/CA"
    pull = mol.Pull(
        m, atom, m.atoms.positions[m.atoms.place(atom)] + [0.3, 0.0, 0.0], bough.adaptive.energy(0.01), 100.0
    )
    pull.run(20, 0.01, every=20)
    seconds = []
    for _ in range(100):
        pull.springs.targets = pull.springs.targets + [[0.001, 0.002, 0.0]]
        start = time.perf_counter()
        pull.simulation.run(1, h=0.01, load=pull.springs)
        seconds.append(time.perf_counter() - start)
    times, median = {"bough": float(np.mean(seconds))}, {"bough": float(np.median(seconds))}
    case, note = "one atom pulled, an adaptive step", "the mean of 100 steps"
    return Timing(GROUP, f"alanines, {len(m.atoms):,} atoms", case, times, note, median)


def listing(residues: int = 10_000) -> Timing:
    """List the pairs of 100,000 atoms again after one torsion has moved, on the tree and with cells."""
    m = mol.peptide("A" * residues, phi=-1.2, psi=2.2)
    spheres, q, seconds = mol.Repulsion(m), np.array(m.model.neutral), []
    spheres.list_pairs(m.positions(q), q)
    for k in range(20):
        q = m.with_angles(q, {f"A/{residues // 2 + k}/phi": -1.18})
        x, start = m.positions(q), time.thread_time()
        spheres.list_pairs(x, q)
        seconds.append(time.thread_time() - start)
    times = {"bough, on the tree": min(seconds), "bough, by cells": best(lambda: spheres.list_pairs(x), 3)}
    return Timing(GROUP, f"alanines, {len(m.atoms):,} atoms", "pairs again after one torsion has moved", times)
