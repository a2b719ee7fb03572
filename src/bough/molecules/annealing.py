"""Annealing by torsion dynamics; under restraints and soft spheres, thousands of steps are one compiled call.

A step is a kick with the forces at q, a drift, and now and then friction and noise: v = c v + sqrt(1 - c^2) H^-1/2 e.
That is the dynamics of CYANA and CNS (Guentert, Mumenthaler & Wuethrich 1997) with another thermostat.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough.adaptive.engines.sweeps import SweepWork, accelerations, make_work
from bough.compile.kernel import loop_kernel
from bough.compile.run.direct import compiled
from bough.dynamics.external import Points
from bough.dynamics.kinematics import place_body
from bough.dynamics.placements import place_points
from bough.errors import NumericalError, SettingError
from bough.joints import Mechanism, by_freedom, integrate_joint, move_joint
from bough.molecules.energy import AtomEnergy, TorsionEnergy, minimize
from bough.molecules.fixman import Sweep, sweep_work, thermal_velocities
from bough.molecules.repulsion import SKIN, Repulsion, Spheres, have_moved, list_pairs, repel
from bough.molecules.restraints import Distances, Places, Planes, RestraintEnergy, Turns, restrain
from bough.molecules.sampling import KB, Settings
from bough.molecules.writing import Trajectory
from bough.spatial import add3, cross, get3, get9, get_tail, join, put6, rotate_back, sub3
from bough.types import FloatArray, Rows, Scalar

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

STAGES = 50  # temperatures of a schedule
RELAXING = 100  # calls of a force field before the first step
LISTED = 20  # steps between lists of pairs at least, as in CYANA: a pair that is missed for a moment does no harm
BATH = 20  # steps between friction and noise
LONGEST_TURN = 0.2  # rad in a step; faster motions are slowed down as a whole
STEP, ENERGY, CODE, KEEP, NOISE, DT = range(6)  # of `Run.order`
FINE, FULL, NO_NUMBER = range(3)
ZERO3 = (0.0, 0.0, 0.0)


class Run(NamedTuple):
    """Arrays that a run reads and writes."""

    q: FloatArray  # (nq,)
    v: FloatArray  # (nv,)
    qdd: FloatArray  # (nv,)
    next_q: FloatArray  # (nq,)
    x: FloatArray  # (atoms, 3)
    F: FloatArray  # (atoms, 3)
    e: FloatArray  # (baths, nv) normal numbers
    bath: Sweep
    order: FloatArray  # (6,) steps left, energy, code, share of v kept, sqrt(kT (1 - c^2)), dt


class Annealer:
    """Torsion dynamics of a molecule, all in compiled code where its energies are."""

    def __init__(self, molecule: Molecule, terms: list[AtomEnergy]) -> None:
        model, n = molecule.model, len(molecule.atoms)
        self.molecule, self.energy = molecule, TorsionEnergy(molecule, terms)
        spheres = [term for term in terms if isinstance(term, Repulsion)]
        held = [term for term in terms if isinstance(term, RestraintEnergy)]
        self.is_compiled = len(spheres) == 1 and len(held) <= 1 and len(spheres) + len(held) == len(terms)
        if self.is_compiled:
            self.repulsion, self.restraints = spheres[0], held[0] if held else RestraintEnergy(molecule, [])
        self._work = make_work(len(model.mechanism.parent), len(model.mechanism.axis), True, False, False)
        nv, nq = model.nv, model.nq
        self._run = Run(
            np.zeros(nq), np.zeros(nv), np.zeros(nv), np.zeros(nq), np.zeros((n, 3)),
            np.zeros((n, 3)), np.zeros((1, nv)), sweep_work(model), np.zeros(6),
        )  # fmt: skip

    def run(
        self, q: FloatArray, v: FloatArray, settings: Settings, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, float]:
        """q, v and the energy after so many steps at one temperature."""
        steps, dt = settings.steps, settings.dt
        r = self._run._replace(e=rng.normal(size=(-(-steps // BATH), len(v))))
        r.q[:], r.v[:] = q, v
        keep = math.exp(-settings.friction * dt * BATH)
        r.order[:] = steps, 0.0, FINE, keep, math.sqrt(KB * settings.temperature * (1.0 - keep * keep)), dt
        step = self._march if self.is_compiled else self._step
        if self.is_compiled:
            self.repulsion.listed_at = None
        while r.order[STEP] > 0:
            step(r)
            if r.order[CODE] == NO_NUMBER:
                raise NumericalError(
                    f"annealing left the numbers: dt = {dt:g} ps is too long, or restraints are too stiff"
                )
        return r.q.copy(), r.v.copy(), float(r.order[ENERGY])

    def _march(self, r: Run) -> None:
        """All steps, or those until pairs need more room."""
        e, spheres = self.restraints, self.repulsion
        compiled(march)(
            self.molecule.model.mechanism, self.molecule.points, spheres.spheres, spheres.listed_pairs,
            e.distances, e.turns, e.places, e.planes, r, self._work, spheres.cutoff,
        )  # fmt: skip
        if r.order[CODE] == FULL:
            spheres.list_pairs(r.x)

    def _step(self, r: Run) -> None:
        """One step with one call of the energies."""
        r.order[ENERGY], r.F[:] = self.energy.forces(r.q)
        m, points = self.molecule.model.mechanism, self.molecule.points
        compiled(place)(m, points, r, self._work)
        compiled(move)(m, points, r, self._work)


@loop_kernel
def march(
    m: Mechanism, points: Points, s: Spheres, pairs: Rows, d: Distances, t: Turns, p: Places, f: Planes, r: Run,
    w: SweepWork, cutoff: float,
) -> None:  # fmt: skip
    """Steps until none is left, or pairs need more room."""
    r.order[CODE] = FINE
    while r.order[STEP] > 0.0 and r.order[CODE] == FINE:
        place(m, points, r, w)
        if s.pairs[0] < 0 or (int(r.order[STEP]) % LISTED == 0 and have_moved(s.listed, r.x, 0.5 * SKIN) == 1):
            count = list_pairs(s, pairs, r.x, cutoff)
            if count > len(pairs):
                r.order[CODE] = FULL
                return
            s.pairs[0] = count
            s.listed[0:] = r.x
        r.F[0:] = 0.0
        r.order[ENERGY] = repel(s, pairs, r.x, r.F) + restrain(d, t, p, f, r.x, r.F)
        move(m, points, r, w)


@loop_kernel
def place(m: Mechanism, points: Points, r: Run, w: SweepWork) -> None:
    """Bodies and atoms at r.q."""
    for i in range(len(m.parent)):
        move_joint(m, r.q, i, w.X)
        place_body(m, i, w)
    place_points(points, r.x, w)


@loop_kernel
def move(m: Mechanism, points: Points, r: Run, w: SweepWork) -> None:
    """One step by the forces r.F on the atoms that `place` placed."""
    left = int(r.order[STEP])
    if (left - 1) % BATH == 0:
        thermal_velocities(m, r.q, r.e[(left - 1) // BATH], r.qdd, r.bath)
        for k in range(len(r.v)):
            r.v[k] = r.order[KEEP] * r.v[k] + r.order[NOISE] * r.qdd[k]
    for i in range(len(m.parent)):
        R, p, moment, force = get9(w.P, i), get_tail(w.P, i), ZERO3, ZERO3
        for j in range(points.first[i], points.first[i + 1]):
            x, F = get3(r.x, points.order[j]), get3(r.F, points.order[j])
            moment, force = add3(moment, cross(sub3(x, p), F)), add3(force, F)
        put6(w.force, i, join(rotate_back(R, moment), rotate_back(R, force)))
    by_freedom(m, r.v, w.rate)
    w.u[:] = 0.0
    accelerations(m, r, w.force, w)
    if drift(m, r, r.order[DT]):
        r.order[STEP] -= 1.0
    else:
        r.order[CODE] = NO_NUMBER


@loop_kernel
def drift(m: Mechanism, r: Run, dt: Scalar) -> bool:
    """v += dt qdd, slowed down where a joint is too fast, and q moves by dt v; False where there are no numbers."""
    fastest = 0.0
    for k in range(len(r.v)):
        r.v[k] = r.v[k] + dt * r.qdd[k]
        fastest = max(fastest, abs(r.v[k]))
    if not fastest * dt < 1e6:
        return False
    slow = min(1.0, LONGEST_TURN / max(fastest * dt, 1e-30))
    for k in range(len(r.v)):
        r.v[k] = slow * r.v[k]
    for i in range(len(m.parent)):
        integrate_joint(m, i, r.q, r.v, dt, r.next_q)
    r.q[0:] = r.next_q
    return True


def anneal(
    molecule: Molecule, terms: list[AtomEnergy], settings: Settings, temperatures: tuple[float, float], q: Any
) -> Trajectory:
    """See `Molecule.anneal`."""
    if len(temperatures) != 2:
        raise SettingError(f"anneal: expected two temperatures, the first and the last, got {temperatures!r}")
    hot, cold = temperatures
    replace(settings, temperature=cold)  # refuses what is no temperature
    stages = max(1, min(STAGES, settings.steps // BATH))
    levels = hot * (max(cold, 1e-3) / max(hot, 1e-3)) ** (np.arange(stages) / max(stages - 1, 1))
    ends = np.arange(1, stages + 1) * settings.steps // stages
    rng, annealer = np.random.default_rng(settings.seed), Annealer(molecule, terms)
    at, v, calls, rows = molecule.start(q), np.zeros(molecule.model.nv), settings.steps, []
    if not annealer.is_compiled:  # forces of a clash would throw atoms apart
        relaxed = minimize(molecule, terms, at, force=1.0, calls=RELAXING, ease=True)
        at, calls = relaxed.q, calls + relaxed.calls
    for level, steps in zip(levels.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
        at, v, energy = annealer.run(at, v, replace(settings, temperature=level, steps=steps), rng)
        rows.append((at, energy))
    frames, energies = (np.array(column) for column in zip(*rows, strict=True))
    time, tracks = np.array(settings.dt * ends), {"temperature, K": levels}
    return Trajectory(molecule, frames, energies, time, calls=calls, v=v, tracks=tracks)
