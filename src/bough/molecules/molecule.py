"""`Molecule`: atoms on a tree of rigid groups, as arrays in and out of torsion space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.executions import bind_arrays
from bough.compile.run.arrays import real_array
from bough.dynamics import Dynamics
from bough.dynamics.external import Points, points_on
from bough.dynamics.generalized_forces import generalized_forces_of
from bough.dynamics.placements import positions_of
from bough.errors import ModelError, NonFiniteError, ShapeError
from bough.model import WORLD, Builder, Model
from bough.model.parameters import TO_USER, inverse, matrix
from bough.molecules.annealing import anneal
from bough.molecules.atoms import Atoms, bonded_atoms, dihedral_angles, superposition
from bough.molecules.dihedrals import Dihedral, Dihedrals, check_angle, named_dihedrals, reference_quads
from bough.molecules.energy import minimize, terms_of
from bough.molecules.groups import Groups, distinct, rigid_groups
from bough.molecules.pulling import Pull
from bough.molecules.repulsion import Repulsion
from bough.molecules.restraints import Restraint
from bough.molecules.sampling import Settings, hybrid_monte_carlo, langevin
from bough.molecules.writing import Trajectory, write
from bough.spatial import matrix_quaternion
from bough.types import FloatArray, IntArray
from bough.zoo.geometry import from_second_moments


@explained
class Molecule:
    """A structure whose bonds turn. q = `model.neutral` is the structure that was read.

    Lengths are in nm, masses in Da, times in ps and energies in kJ/mol, so forces are in kJ/mol/nm and no factor is
    needed anywhere. `model` is an ordinary `Model` without gravity: each rigid group is a body named after its atom at
    the bond that turns it, each torsion a revolute joint named after its dihedral, and each molecule starts with a
    floating joint (three sliding ones for a single atom). `notes` say what is not as the file has it.
    """

    def __init__(
        self, atoms: Atoms, *, name: str = "molecule", rotatable: str | Iterable[str] = "all",
        fixed: Iterable[str] = (), notes: Iterable[str] = (),
    ) -> None:  # fmt: skip
        found = list(notes)
        self.atoms = atoms
        self.groups = rigid_groups(atoms, rotatable, fixed, found)
        if not len(self.groups.parent):
            raise ModelError(f"{name!r} has no group of atoms that moves")
        self.model, self._joint = _model(name, atoms, self.groups, found)

    def __repr__(self) -> str:
        residues, torsions = len(self.atoms.chain), int((self.groups.axis[:, 0] >= 0).sum())
        return f"Molecule({self.model.name!r}, {residues} residues, {len(self.atoms)} atoms, {torsions} torsions)"

    @property
    def notes(self) -> tuple[str, ...]:
        """Differences from the file, a sentence each."""
        return self.model.notes

    @cached_property
    def dynamics(self) -> Dynamics:
        """The dynamics of the model, by the code that serves every tree."""
        return Dynamics(self.model, general=True)

    # Atoms in and out

    def positions(self, q: npt.ArrayLike, **call: Any) -> FloatArray:
        """(atoms, 3) in nm at q (nq,), or (batch, atoms, 3) at q (batch, nq); takes `out` and `threads`. O(atoms)."""
        return self._positions.call(q, **call)

    def generalized_forces(self, q: npt.ArrayLike, F: npt.ArrayLike, **call: Any) -> FloatArray:
        """tau (nv,) = J' F of forces F (atoms, 3) on the atoms, in one sweep; batches too. O(atoms)."""
        return self._generalized_forces.call(q, F, **call)

    @cached_property
    def points(self) -> Points:
        """The atoms as kernels see them: the body of each, as the kernels number it, and the place in its frame."""
        origins = self.origins
        group = self.groups.group
        frames = np.array([0, *(self.model.frame(name) for name in self.bodies)], np.int64)
        offset = self.atoms.positions - np.where(group[:, None] >= 0, origins[group], 0.0)
        return points_on(self.model, frames[group + 1], offset)

    @cached_property
    def _positions(self) -> Any:
        return self._bound(positions_of(len(self.atoms)))

    @cached_property
    def _generalized_forces(self) -> Any:
        return self._bound(generalized_forces_of(len(self.atoms), 3))

    def _bound(self, routine: Any) -> Any:
        groups = (self.model.mechanism, self.points)
        return bind_arrays(routine, groups, self.model.sizes, general=True, explain=self.model.explain)

    def body_placements(self, q: FloatArray) -> FloatArray:
        """(bodies, 4, 4) at q, as the kernels number bodies."""
        frames = self.model.frames
        T = self.dynamics.placements(q)
        found = np.tile(np.eye(4), (len(self.model.mechanism.parent), 1, 1))
        moving = frames.body >= 0
        found[frames.body[moving]] = T[moving] @ inverse(matrix(frames.R, frames.p)[moving])
        return found

    @property
    def origins(self) -> FloatArray:
        """(groups, 3) where the frames of the groups are in the structure that was read."""
        return self.atoms.positions[self.groups.axis[:, 1]]

    @cached_property
    def bodies(self) -> list[str]:
        """The body of each group; of a single atom the last of three."""
        return [self.model.body_names[k] for k in self._joint]

    @cached_property
    def joint_places(self) -> IntArray:
        """(groups,) the place in q of each torsion, -1 of roots."""
        return np.where(self.groups.axis[:, 0] >= 0, self.model.joints.q[self._joint, 0], -1)

    @cached_property
    def _torsions(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Groups that turn about a bond; four atoms that measure the turn; and that dihedral in the structure read."""
        turning = np.flatnonzero(self.groups.axis[:, 0] >= 0)
        neighbours = bonded_atoms(len(self.atoms), self.groups.kept)  # across a cut bond, atoms do not turn along
        quads = reference_quads(self.groups.axis[turning], neighbours, self.atoms.positions)
        return turning, quads, dihedral_angles(self.atoms.positions, quads)

    def fit(self, x: npt.ArrayLike) -> FloatArray:
        """q (nq,) at which atoms are at x (atoms, 3): the inverse of `positions`.

        Dihedrals are those of x, and each molecule is superposed on it. Where bonds and angles of x are others than
        those of this structure, that is near x, but not the best fit: minimise `positions("all", x)` from there.
        """
        at = self._checked(x)
        turning, quads, reference = self._torsions
        q = np.array(self.model.neutral)
        starts = self.model.joints.q[:, 0]
        turn = dihedral_angles(at, quads) - reference
        q[starts[self._joint[turning]]] = np.remainder(turn + np.pi, 2 * np.pi) - np.pi
        now, origins, root = self.positions(q), self.origins, self._roots
        for g in np.flatnonzero(self.groups.parent < 0).tolist():
            own, first = np.flatnonzero(root == g), int(starts[self._joint[g]])
            if self.groups.axis[g, 0] >= 0:
                continue  # hangs on fixed atoms
            if self.groups.is_point[g]:
                q[first - 2 : first + 1] = at[own[0]] - origins[g]
                continue
            R, t = superposition(now[own], at[own])
            q[first : first + 3] = R @ origins[g] + t - origins[g]
            q[first + 3 : first + 7] = matrix_quaternion(R)
        return q

    @cached_property
    def _roots(self) -> IntArray:
        """(atoms,) the root group of the molecule that each atom belongs to, -1 of fixed ones."""
        root = np.arange(len(self.groups.parent))
        for g, up in enumerate(self.groups.parent.tolist()):
            root[g] = g if up < 0 else root[up]
        return np.where(self.groups.group >= 0, root[self.groups.group], -1)

    # Dihedrals

    @cached_property
    def dihedrals(self) -> dict[str, Dihedral]:
        """Every dihedral with a name, and every torsion that turns: "A/57/phi" -> its four atoms, its place in v."""
        turning, quads, _ = self._torsions
        freedom = self.model.joints.v[self._joint[turning], 0].tolist()
        bond = {frozenset(quad[1:3]): v for quad, v in zip(quads.tolist(), freedom, strict=True)}
        named = named_dihedrals(self.atoms, self.atoms.neighbours)
        found = Dihedrals((key, Dihedral(quad, bond.get(frozenset(quad[1:3])))) for key, quad in named.items())
        for g, quad, v in zip(turning.tolist(), quads.tolist(), freedom, strict=True):
            a, b, c, d = quad
            found.setdefault(self.groups.names[g], Dihedral((a, b, c, d), v))
        return found

    def angles(self, q: npt.ArrayLike, keys: Iterable[str] | None = None) -> FloatArray:
        """Dihedrals (k,) in rad at q, of these names or of all `dihedrals`; batches too."""
        chosen = self.dihedrals if keys is None else ([keys] if isinstance(keys, str) else list(keys))
        quads = np.array([self.dihedrals[key].atoms for key in chosen], np.int64).reshape(-1, 4)
        return dihedral_angles(self.positions(q), quads)

    def with_angles(self, q: npt.ArrayLike, values: Mapping[str, float]) -> FloatArray:
        """q (nq,) with these dihedrals (rad) instead; what follows on the tree turns along."""
        found = np.array(q, float)
        now = self.angles(found, values)
        place = dict(zip(self.model.joints.v[:, 0].tolist(), self.model.joints.q[:, 0].tolist(), strict=True))
        for (key, value), before in zip(values.items(), now.tolist(), strict=True):
            v = self.dihedrals[key].v
            if v is None:
                raise ModelError(f"dihedral {key!r} is rigid: name it in `rotatable` to turn it")
            check_angle(f"dihedral {key!r}", value)
            found[place[v]] += np.remainder(float(value) - before + np.pi, 2 * np.pi) - np.pi
        return found

    # What is done with an energy

    def minimize(
        self,
        energy: Any = None,
        *,
        restraints: Iterable[Restraint] = (),
        q: npt.ArrayLike | None = None,
        force: float = 1.0,
        calls: int = 1000,
        ease: bool = True,
    ) -> Trajectory:
        """Find a minimum of the energy near q, by L-BFGS in torsion space, preconditioned by the mass metric.

        Parameters
        ----------
        energy : `OpenMM(...)`, a function x (atoms, 3) -> (energy, forces), several of them in a list, or None.
        restraints : made by `distance`, `dihedral`, `position` and `plane`.
        q : where to begin, (nq,); the structure that was read by default.
        force : kJ/mol/rad; the search ends when no torsion feels more.
        calls : of the energy, at most.
        ease : whether clashes of the start are eased, by soft spheres alone first, then by capped forces.
        """
        return minimize(self, terms_of(self, energy, restraints), q, force=force, calls=calls, ease=ease)

    def anneal(
        self,
        energy: Any = None,
        *,
        restraints: Iterable[Restraint] = (),
        temperatures: tuple[float, float] = (2000.0, 50.0),
        steps: int = 10_000,
        dt: float = 0.004,
        friction: float = 5.0,
        q: npt.ArrayLike | None = None,
        seed: int = 0,
    ) -> Trajectory:
        """Cool down from the first temperature (K) to the second by torsion dynamics.

        Without an energy, atoms are soft spheres: then all steps run in compiled code. With one, at most 100 calls of
        it relax the start. Other arguments are those of `minimize` and `langevin`. Minimise afterwards.
        """
        terms = terms_of(self, Repulsion(self) if energy is None else energy, restraints)
        settings = Settings(temperatures[0], dt, steps, friction, seed=seed)
        return anneal(self, terms, settings, temperatures, q)

    def langevin(
        self,
        energy: Any = None,
        *,
        restraints: Iterable[Restraint] = (),
        temperature: float = 300.0,
        steps: int = 1000,
        dt: float = 0.002,
        friction: float = 1.0,
        fixman: bool = False,
        every: int = 10,
        q: npt.ArrayLike | None = None,
        v: npt.ArrayLike | None = None,
        seed: int = 0,
    ) -> Trajectory:
        """Langevin dynamics in torsion space, one call of the energy a step; without friction, of constant energy.

        Parameters
        ----------
        energy, restraints, q : as in `minimize`.
        dt : ps; friction : 1/ps; every : steps between frames; v : (nv,), drawn at the temperature by default.
        fixman : whether torsions have the density of a flexible molecule, exp(-U/kT), by Fixman's potential; else that
            of rigid groups, sqrt(det H) exp(-U/kT).
        """
        settings = Settings(temperature, dt, steps, friction, fixman, every, seed)
        return langevin(self, terms_of(self, energy, restraints), settings, q, v)

    def hybrid_monte_carlo(
        self,
        energy: Any = None,
        *,
        restraints: Iterable[Restraint] = (),
        temperature: float = 300.0,
        samples: int = 100,
        steps: int = 10,
        dt: float = 0.002,
        fixman: bool = True,
        q: npt.ArrayLike | None = None,
        seed: int = 0,
    ) -> Trajectory:
        """Hybrid Monte Carlo: each sample is the end of a trajectory of so many steps, accepted or not.

        It has no error of the step size. Arguments are those of `langevin`.
        """
        settings = Settings(temperature, dt, steps, 0.0, fixman, 1, seed)
        return hybrid_monte_carlo(self, terms_of(self, energy, restraints), settings, samples, q)

    def pull(
        self,
        atoms: str | int | Iterable[str | int],
        to: npt.ArrayLike,
        *,
        error: Any = None,
        steps: int = 100,
        h: float = 0.01,
        stiffness: float = 100.0,
        every: int = 1,
        q: npt.ArrayLike | None = None,
    ) -> Trajectory:
        """Pull atoms to targets (k, 3) in nm by springs, in steps from rest.

        With an error, such as `bough.adaptive.energy(0.01)`, only the joints that matter move.

        Parameters
        ----------
        atoms : names or places, or a word: "CA", "heavy", "all".
        h : ps^2; a step moves the joints by h H^-1 tau.
        stiffness : kJ/mol/nm^2.
        """
        pulling = Pull(self, atoms, to, error, stiffness)
        if q is not None:
            pulling.simulation.configuration = np.asarray(q, float)
        return pulling.run(steps, h, every)

    # Files

    def write(self, path: str | Path, q: npt.ArrayLike | None = None) -> Path:
        """Write a .pdb or .cif (.mmcif) file at q (nq,), or with a model for each row of q (frames, nq)."""
        at = np.atleast_2d(self.model.neutral if q is None else np.asarray(q, float))
        return write(path, self.atoms, self.positions(at))

    def start(self, q: npt.ArrayLike | None) -> FloatArray:
        """q (nq,), or by default the structure that was read."""
        found = np.array(self.model.neutral if q is None else q, float)
        if found.shape != (self.model.nq,):
            raise ShapeError(f"q: expected shape ({self.model.nq},), got {found.shape}")
        if not np.isfinite(found).all():
            raise NonFiniteError("q must be finite")
        return found

    def _checked(self, x: npt.ArrayLike) -> FloatArray:
        found = real_array("x", x, f"({len(self.atoms)}, 3)").astype(float)
        if found.shape != (len(self.atoms), 3):
            raise ShapeError(f"x must have shape ({len(self.atoms)}, 3), got {found.shape}")
        if not np.isfinite(found).all():
            raise NonFiniteError("x must be finite")
        return found


def _model(name: str, atoms: Atoms, groups: Groups, notes: list[str]) -> tuple[Model, IntArray]:
    """The model, and the place of the (last) joint of each group."""
    a, b = groups.axis.T
    origin = atoms.positions[b]
    inertia = _inertias(atoms, groups, origin)
    up = np.where(groups.parent[:, None] >= 0, origin[groups.parent], 0.0)
    axis = np.where(a[:, None] >= 0, atoms.positions[b] - atoms.positions[a], [0.0, 0.0, 1.0])
    bodies = distinct([atoms.key(k) for k in b.tolist()])
    builder = Builder(name, gravity=(0.0, 0.0, 0.0))
    rows: list[tuple[Any, ...]] = []  # name, parent, joint, origin, inertia, axis, joint's name
    last = np.empty(len(bodies), np.int64)
    for g, body in enumerate(bodies):
        parent = WORLD if groups.parent[g] < 0 else bodies[groups.parent[g]]
        joint, place = groups.names[g], origin[g] - up[g]
        if groups.is_point[g]:
            for k, word in enumerate("xy"):
                rows.append(
                    (f"{body}/{word}", parent, "prismatic", place, np.zeros(10), np.eye(3)[k], f"{joint}/{word}")
                )
                parent, place = f"{body}/{word}", np.zeros(3)
        kind = "prismatic" if groups.is_point[g] else "floating" if a[g] < 0 else "revolute"
        last[g] = len(rows)
        rows.append((body, parent, kind, place, inertia[g], axis[g], joint))
    names, parents, kinds, places, inertias, axes, joints = (list(column) for column in zip(*rows, strict=True))
    builder.add_bodies(
        names, parents, kinds, np.array(places), np.array(inertias), axes=np.array(axes), joint_names=joints
    )
    _close_loops(builder, atoms, groups, bodies, origin)
    for sentence in notes:
        builder.note(sentence)
    return replace(builder.build(), units=("nm", "Da")), last


def _inertias(atoms: Atoms, groups: Groups, origin: FloatArray) -> FloatArray:
    """(groups, 10) of point masses about the origins of the groups."""
    n, moving = len(origin), groups.group >= 0
    group, m = groups.group[moving], atoms.masses[moving]
    arm = atoms.positions[moving] - origin[group]
    mass = np.asarray(np.bincount(group, m, n), float)
    share = m / mass[group]
    com, second = np.zeros((n, 3)), np.zeros((n, 3, 3))
    np.add.at(com, group, share[:, None] * arm)
    np.add.at(second, group, share[:, None, None] * arm[:, :, None] * arm[:, None, :])
    return from_second_moments(mass, com, second)[:, TO_USER]


def _close_loops(builder: Builder, atoms: Atoms, groups: Groups, bodies: list[str], origin: FloatArray) -> None:
    """Keep the distances that hold cut bonds, and the angles at their ends."""
    names = distinct([f"{atoms.key(a)}..{atoms.key(b)}" for a, b in groups.held.tolist()])
    for name, (a, b) in zip(names, groups.held.tolist(), strict=True):
        ends = []
        for k in (a, b):
            g = int(groups.group[k])
            ends.append((bodies[g], atoms.positions[k] - origin[g]) if g >= 0 else (WORLD, atoms.positions[k]))
        if ends[0][0] == ends[1][0]:
            continue
        builder.add_closure(
            ends[0][0], ends[1][0], "distance", point=ends[0][1], other_point=ends[1][1],
            length=float(np.linalg.norm(atoms.positions[a] - atoms.positions[b])),
            name=name,
        )  # fmt: skip
