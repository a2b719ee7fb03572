"""Rigid groups: which bonds turn, which atoms move as one, and the tree of groups that hang on each other.

A bond turns where it is in no ring (or its ring is cut), is no double or amide bond, and both of its atoms have another
neighbour off the axis. So every group carries three atoms that are not in line: its own, those at the ends of its bonds
to other groups, which lie on the axes of these bonds. Hence H is positive definite, though a group alone may be a point
or a rod.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bough.errors import OptionError, some_of, unknown_option
from bough.molecules.atoms import Atoms, bonded_atoms
from bough.molecules.dihedrals import CHI, SAME, SIDE_CHAINS, bond_names
from bough.types import BoolArray, IntArray

FLAT = 0.2  # volume that three bonds of unit length span, below which they lie in one plane; 0.77 in a tetrahedron
STRAIGHT = 0.05  # sine of an angle below which three atoms are in line
Names = dict[tuple[int, int], tuple[str, str]]  # key and kind of bonds
WORDS = ("all", "heavy", "backbone", "sidechains", "rings")
BACKBONE = ("phi", "psi", "alpha", "beta", "gamma", "delta", "epsilon", "zeta")
# Bonds inside residues that are single in name only
CONJUGATED = {
    "ARG": ("CZ-NE", "CZ-NH1", "CZ-NH2"), "ASN": ("CG-ND2",), "GLN": ("CD-NE2",),
    "DA": ("C6-N6",), "A": ("C6-N6",), "DC": ("C4-N4",), "C": ("C4-N4",), "DG": ("C2-N2",), "G": ("C2-N2",),
}  # fmt: skip
STANDARD = {*SIDE_CHAINS, *SAME, "ALA", "GLY", "ACE", "NME", "NH2", "A", "C", "G", "U", "DA", "DC", "DG", "DT"}
# nm, the longest bond that does not turn, in residues that are not known here
LONGEST_RIGID = {("C", "C"): 0.142, ("C", "N"): 0.140, ("C", "O"): 0.128, ("N", "N"): 0.130, ("C", "S"): 0.170}

SATURATED = {"C": 4, "N": 4, "O": 2, "S": 2}  # neighbours of an atom that has single bonds only


class Groups(NamedTuple):
    """The forest of rigid groups, a parent before its children."""

    group: IntArray  # (atoms,) the group of each atom, -1 where it is fixed in the world
    parent: IntArray  # (groups,) -1 = world
    axis: IntArray  # (groups, 2) the bond that turns the group, from the parent's atom to its own; a root's first atom
    is_point: BoolArray  # (groups,) a root that is one atom
    kept: IntArray  # (bonds, 2) bonds along which the tree may be built
    cut: IntArray  # (loops, 2) the others, which close loops of groups
    held: IntArray  # (k, 2) atoms whose distances stay as they are, so that loops stay closed
    flat: IntArray  # (k, 4) atoms at cut bonds that stay in one plane, which distances do not hold
    names: list[str]  # (groups,) of the torsions: "A/57/phi", "A/57/CB-CG2"; of roots "A/1/base"


def rigid_groups(
    atoms: Atoms, rotatable: str | Iterable[str] = "all", fixed: Iterable[str] = (), notes: list[str] | None = None
) -> Groups:
    """Find the bonds that turn and the groups between them.

    Parameters
    ----------
    rotatable : "all", "heavy" (not bonds that turn hydrogens only), "backbone", "sidechains", or names: words such as
        "omega" and "chi1", keys such as "A/57/phi", and these words; peptide bonds turn where "omega" is among them,
        and rings of single bonds, as that of proline, where "rings" is.
    fixed : chains ("B"), residues ("A/301") or "solvent" (water and ions), which stay where they are.
    notes : takes a sentence for each thing that is not as the file says.
    """
    notes = [] if notes is None else notes
    cut, kept = _cut(atoms)
    rings = _cut_rings(atoms, kept) if "rings" in _words(rotatable) else {}
    if rings:
        opened = (kept[:, None] == np.array(list(rings))).all(axis=-1).any(axis=1)
        cut, kept = np.concatenate([cut, kept[opened]]), kept[~opened]
    flexible = {(min(a, b), max(a, b)) for ring in rings.values() for a, b in pairwise(ring)}
    still = atoms.residues_of(fixed, "fixed")[atoms.residue]
    while True:
        said = list[str]()
        neighbours = bonded_atoms(len(atoms), kept)
        named = bond_names(atoms, neighbours)
        wanted = _wanted(rotatable, named, kept)
        turns = _turning(atoms, kept, neighbours, named, wanted, flexible)
        # a bond that would not turn is whole, though it closes a loop; then one that turns is cut instead
        may = "omega" not in wanted
        whole = np.array([may and (a, b) not in rings and _is_rigid(atoms, a, b) for a, b in cut.tolist()], bool)
        number = _components(len(atoms), np.concatenate([kept[~turns], cut[whole]]))
        found = _forest(atoms, number, kept[turns], still, named, said)
        used = {(min(a, b), max(a, b)) for a, b in found.axis.tolist()}
        ends = found.group[kept]
        beside = np.array([(min(a, b), max(a, b)) not in used for a, b in kept.tolist()], bool)
        closes = turns & (ends[:, 0] != ends[:, 1]) & beside
        if not closes.any():
            break
        cut, kept = np.concatenate([cut[~whole], kept[closes]]), np.concatenate([kept[~closes], cut[whole]])
    notes += said
    turning = {(a, b) for a, b in kept[turns].tolist()}
    kept, cut = np.concatenate([kept, cut[whole]]), cut[~whole]
    if len(cut):
        some = some_of([f"{atoms.key(a)}-{atoms.key(b)}" for a, b in cut.tolist()])
        notes.append(f"{len(cut)} bonds close loops and are held by closures, not by the tree: {some}")
    every = [pair for a, b in cut.tolist() for pair in _held(atoms, a, b, rings.get((a, b)), turning)]
    held = list({frozenset(pair): pair for pair in every}.values())
    flat = [quad for a, b in cut.tolist() if (a, b) not in rings for quad in (_flat(atoms, a, b), _flat(atoms, b, a))]
    return found._replace(
        cut=cut, kept=kept, held=np.array(held, np.int64).reshape(-1, 2),
        flat=np.array([quad for quad in flat if quad], np.int64).reshape(-1, 4),
    )  # fmt: skip


def _flat(atoms: Atoms, a: int, b: int) -> list[int]:
    """Atoms b and a, and both other neighbours of a if they lie in a plane; else none.

    Where a has one, by a double bond, the second is a neighbour of that.
    """
    near = [c for c in atoms.neighbours[a] if c != b]
    if len(near) == 1 and _is_rigid(atoms, a, near[0]):
        near += [c for c in atoms.neighbours[near[0]] if c != a][:1]
    x = atoms.positions[[b, *near]] - atoms.positions[a]
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return [b, a, *near] if len(near) == 2 and abs(np.linalg.det(x)) < FLAT else []


def _held(atoms: Atoms, a: int, b: int, ring: list[int] | None, turning: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of atoms whose distances hold a cut bond and the angles at its ends.

    A ring keeps one degree of freedom: angles are held while more than that are left.
    """
    if ring is None:
        before, after = ([c for c in atoms.neighbours[k] if c != other] for k, other in ((a, b), (b, a)))
        return [(a, b), *((c, b) for c in before), *((a, c) for c in after)]
    dofs = sum((min(pair), max(pair)) in turning for pair in pairwise(ring))
    return [(a, b), (ring[-2], ring[0]), (ring[-1], ring[1])][: max(1, dofs - 1)]


def _cut_rings(atoms: Atoms, bonds: IntArray) -> dict[tuple[int, int], list[int]]:
    """The bond to cut of each ring of single bonds, and the atoms of the ring from the one end of it to the other.

    It is the bond whose ends carry the fewest heavy atoms, and hydrogens rather than nothing: what they carry makes the
    bonds beside it turn.
    """
    neighbours = bonded_atoms(len(atoms), bonds)
    closed = bonds[~_bridges(len(atoms), bonds, neighbours)]
    inside = bonded_atoms(len(atoms), closed)
    number, found = _components(len(atoms), closed), dict[tuple[int, int], list[int]]()
    for members in np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1]):
        ring = members.tolist()
        if len(ring) < 4 or any(len(inside[k]) != 2 for k in ring):
            continue
        own = [(a, b) for a in ring for b in inside[a] if a < b]
        if any(_is_short(atoms, a, b) for a, b in own):
            continue
        carried = {k: [atoms.element[c] != "H" for c in neighbours[k] if c not in inside[k]] for k in ring}
        weight = {k: 2 * sum(heavy) if heavy else 1 for k, heavy in carried.items()}
        a, b = min(own, key=lambda bond: weight[bond[0]] + weight[bond[1]])
        path, last = [b], a
        while path[-1] != a:
            path.append(next(c for c in inside[path[-1]] if c != last))
            last = path[-2]
        found[a, b] = path
    return found


def _cut(atoms: Atoms) -> tuple[IntArray, IntArray]:
    """Bonds between residues that close a loop with those before them, and all the others.

    Bonds inside residues come first, then those along chains, then bridges: a disulphide is cut, a ring is not.
    """
    a, b = atoms.residue[atoms.bonds[:, 0]], atoms.residue[atoms.bonds[:, 1]]
    rank = np.where(a == b, 0, np.where(np.abs(a - b) == 1, 1, 2))
    above = np.arange(len(atoms))

    def root(k: int) -> int:
        while above[k] != k:
            above[k] = above[above[k]]
            k = above[k]
        return k

    cut = np.zeros(len(rank), bool)
    for k in np.argsort(rank, kind="stable").tolist():
        first, second = root(int(atoms.bonds[k, 0])), root(int(atoms.bonds[k, 1]))
        cut[k] = first == second and rank[k] > 0
        above[first] = second
    return atoms.bonds[cut], atoms.bonds[~cut]


def _words(rotatable: str | Iterable[str]) -> set[str]:
    words = {rotatable} if isinstance(rotatable, str) else set(rotatable)
    if not all(isinstance(word, str) for word in words):
        raise OptionError(f"rotatable is a word or names of dihedrals, got {rotatable!r}")
    return words


def _wanted(rotatable: str | Iterable[str], named: Names, bonds: IntArray) -> set[str]:
    words = _words(rotatable)
    known = {kind for _, kind in named.values()} | {key for key, _ in named.values()}
    if any("-" in word for word in words):
        known |= {named[min(a, b), max(a, b)][0] for a, b in bonds.tolist()}
    for word in sorted(words - known - set(WORDS) - {"omega", *BACKBONE, *(f"chi{k + 1}" for k in range(CHI))}):
        raise unknown_option(f"rotatable: there is no dihedral {word!r}", word, [*WORDS, *sorted(known)])
    return words


def _turning(
    atoms: Atoms,
    bonds: IntArray,
    neighbours: list[list[int]],
    named: Names,
    wanted: set[str],
    flexible: set[tuple[int, int]],
) -> BoolArray:
    """(bonds,) which bonds turn; the flexible ones are in rings that are cut."""
    x, found = atoms.positions, np.zeros(len(bonds), bool)
    for k in np.flatnonzero(_bridges(len(atoms), bonds, neighbours)).tolist():
        a, b = bonds[k].tolist()
        if len(neighbours[a]) < 2 or len(neighbours[b]) < 2:
            continue
        key, kind = named[min(a, b), max(a, b)]
        words = {kind, key}
        if kind != "omega":
            light = any(all(atoms.element[c] == "H" for c in neighbours[m] if c not in (a, b)) for m in (a, b))
            words |= {"all", "backbone" if kind in BACKBONE else "sidechains", "all" if light else "heavy"}
            words |= {"rings"} if (a, b) in flexible else set()
        chosen = bool(words & wanted) and (kind == "omega" or not _is_rigid(atoms, a, b))
        found[k] = chosen and _has_arm(x, a, b, neighbours[a]) and _has_arm(x, b, a, neighbours[b])
    return found


def _is_rigid(atoms: Atoms, a: int, b: int) -> bool:
    """Whether a bond is double or conjugated: by name in known residues, else by its length."""
    i, j = int(atoms.residue[a]), int(atoms.residue[b])
    kind = str(atoms.kind[i])
    if i == j and kind in STANDARD:
        return "-".join(sorted((str(atoms.name[a]), str(atoms.name[b])))) in CONJUGATED.get(kind, ())
    return _is_short(atoms, a, b)


def _is_short(atoms: Atoms, a: int, b: int) -> bool:
    """Whether a bond is as short as double and conjugated ones are, and its atoms have not all their neighbours yet."""
    if any(len(atoms.neighbours[k]) >= SATURATED.get(str(atoms.element[k]), 5) for k in (a, b)):
        return False
    elements = sorted((str(atoms.element[a]), str(atoms.element[b])))
    longest = LONGEST_RIGID.get((elements[0], elements[1]), 0.0)
    return float(np.linalg.norm(atoms.positions[a] - atoms.positions[b])) < longest


def _has_arm(x: np.ndarray, a: int, b: int, neighbours: list[int]) -> bool:
    """Whether some other neighbour of atom a lies off the axis a-b."""
    along = (x[b] - x[a]) / max(float(np.linalg.norm(x[b] - x[a])), 1e-12)
    arms = x[[c for c in neighbours if c != b]] - x[a]
    off = np.linalg.norm(arms - np.outer(arms @ along, along), axis=1)
    return bool((off > STRAIGHT * np.maximum(np.linalg.norm(arms, axis=1), 1e-12)).any())


def _bridges(n: int, bonds: IntArray, neighbours: list[list[int]]) -> BoolArray:
    """(bonds,) which bonds are in no ring: no other path joins their ends (Tarjan's low points)."""
    order, low, above = np.full(n, -1).tolist(), np.zeros(n, int).tolist(), np.full(n, -1).tolist()
    place, bridge = 0, set()
    for start in range(n):
        if order[start] >= 0:
            continue
        stack = [(start, iter(neighbours[start]))]
        order[start] = low[start] = place
        place += 1
        while stack:
            k, rest = stack[-1]
            for j in rest:
                if order[j] < 0:
                    order[j] = low[j] = place
                    above[j] = k
                    place += 1
                    stack.append((j, iter(neighbours[j])))
                    break
                if j != above[k]:
                    low[k] = min(low[k], order[j])
            else:
                stack.pop()
                if stack:
                    up = above[k]
                    low[up] = min(low[up], low[k])
                    if low[k] > order[up]:
                        bridge.add((min(k, up), max(k, up)))
    return np.array([(min(a, b), max(a, b)) in bridge for a, b in bonds.tolist()], bool)


def _components(n: int, bonds: IntArray) -> IntArray:
    """(atoms,) a number for each set of atoms that these bonds join."""
    label = np.arange(n)
    while True:
        before = label.copy()
        np.minimum.at(label, bonds[:, 0], before[bonds[:, 1]])
        np.minimum.at(label, bonds[:, 1], before[bonds[:, 0]])
        label = label[label]
        if (label == before).all():
            return np.unique(label, return_inverse=True)[1]


def _forest(
    atoms: Atoms,
    number: IntArray,
    turning: IntArray,
    fixed: BoolArray,
    named: Names,
    notes: list[str],
) -> Groups:
    """Hang the groups on each other, from the first atom of each molecule, in the order of the atoms."""
    links: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for a, b in turning.tolist():
        links[int(number[a])].append((a, b))
        links[int(number[b])].append((b, a))
    held = np.zeros(number.max(initial=-1) + 1, bool)
    held[number[fixed]] = True
    place = np.full(len(held), -2)  # of a group in the forest; -1 = world, -2 = not reached
    place[held] = -1
    parent: list[int] = []
    axis: list[tuple[int, int]] = []
    names: list[str] = []
    is_point: list[bool] = []
    atom_of = np.unique(number, return_index=True)[1]
    members = np.bincount(number)
    # groups that hang on fixed ones come first, then the molecules by their first atoms
    starts = [(a, b) for g in np.flatnonzero(held).tolist() for a, b in links[g] if not held[number[b]]]
    for first in (None, *np.argsort(atom_of, kind="stable").tolist()):
        if first is None:
            heap = [(b, a) for a, b in starts]
        elif place[first] != -2:
            continue
        elif _is_straight(atoms.positions[number == first]) and not links[first] and members[first] > 1:
            place[first] = -1
            notes.append(f"{atoms.key(int(atom_of[first]))}: atoms in line do not move: they are fixed in space")
            continue
        else:
            heap = [(int(atom_of[first]), -1)]
        heapq.heapify(heap)
        while heap:
            b, a = heapq.heappop(heap)
            g = int(number[b])
            if place[g] != -2:
                continue
            place[g] = len(parent)
            parent.append(int(place[number[a]]) if a >= 0 else -1)
            axis.append((a, b))
            is_point.append(a < 0 and members[g] == 1 and not links[g])
            key = f"{atoms.residue_key(int(atoms.residue[b]))}/base" if a < 0 else named[min(a, b), max(a, b)][0]
            names.append(key)
            for near, far in links[g]:
                if place[number[far]] == -2:
                    heapq.heappush(heap, (far, near))
    none = np.zeros((0, 2), np.int64)
    return Groups(
        place[number], np.array(parent, np.int64), np.array(axis, np.int64).reshape(-1, 2),
        np.array(is_point, bool), none, none, none, none, distinct(names),
    )  # fmt: skip


def _is_straight(x: np.ndarray) -> bool:
    """Whether points are all on one line."""
    spread = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) if len(x) > 1 else np.zeros(3)
    return len(x) < 3 or bool(spread[1] < STRAIGHT * spread[0])


def distinct(names: list[str]) -> list[str]:
    """Names with a number behind those that occur again."""
    seen: defaultdict[str, int] = defaultdict(int)
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found
