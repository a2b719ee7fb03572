"""Soft spheres: atoms that overlap repel each other; pairs are found with a cell list, all in compiled code.

Pairs inside a rigid group never change, so they are never looked at; nor are atoms up to three bonds apart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bough.adaptive.compiled import compiled
from bough.arguments import explained
from bough.compile.kernel import loop_kernel
from bough.errors import NonFiniteError, SettingError
from bough.molecules.restraints import add_force
from bough.spatial import dot3, get3, scale3, sub3
from bough.types import FloatArray, IntArray, Rows, Scalar, Vector

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

SKIN = 0.08  # nm by which pairs are listed beyond contact; half of it may be moved before they are listed again
CELLS = 8  # at most so many a atom


class Spheres(NamedTuple):
    """Atoms as soft spheres, and where their pairs are listed."""

    radius: FloatArray  # (atoms,) nm
    group: IntArray  # (atoms,)
    first: IntArray  # (atoms + 1,)
    excluded: IntArray  # atoms of a higher number that are up to three bonds away
    cell: IntArray  # (atoms,) scratch: the cell of each atom
    start: IntArray  # (cells + 2,) scratch: where atoms of cell k - 1 start in `order`
    order: IntArray  # (atoms,) scratch: atoms by cell
    sorted: FloatArray  # (atoms, 4) scratch: their positions, and radii with half the skin
    listed: FloatArray  # (atoms, 3) where atoms were when pairs were listed
    pairs: IntArray  # (1,) how many are listed
    stiffness: FloatArray  # (1,) kJ/mol/nm^2


@explained
class Repulsion:
    """Repulsion of atoms closer than `scale` times the sum of their radii: x (atoms, 3) -> (energy, forces).

    E = k s^2 / 8 (1 - d^2 / s^2)^2 for d < s, like a spring k near contact; k is `stiffness` in kJ/mol/nm^2.
    """

    def __init__(self, molecule: Molecule, *, scale: float = 0.8, stiffness: float = 2000.0) -> None:
        atoms, group = molecule.atoms, molecule.groups.group
        if not (0.0 < scale < 10.0 and 0.0 <= stiffness < math.inf):
            raise SettingError(
                f"repulsion: scale must be positive and stiffness not negative, got {scale}, {stiffness}"
            )
        n = len(atoms)
        near = [_within(atoms.neighbours, k) for k in range(n)]
        self.cutoff = 2.0 * scale * float(atoms.radii.max()) + SKIN
        self.spheres = Spheres(
            scale * atoms.radii, np.ascontiguousarray(group, np.int64), np.cumsum([0, *map(len, near)]),
            np.array([j for own in near for j in own], np.int64), np.zeros(n, np.int64),
            np.zeros(CELLS * n + 64, np.int64), np.zeros(n, np.int64), np.zeros((n, 4)), np.full((n, 3), np.inf),
            np.zeros(1, np.int64), np.array([float(stiffness)]),
        )  # fmt: skip
        self.listed_pairs = np.zeros((max(64, 16 * n), 2), np.int64)

    @property
    def stiffness(self) -> float:
        """kJ/mol/nm^2; another may be assigned."""
        return float(self.spheres.stiffness[0])

    @stiffness.setter
    def stiffness(self, value: float) -> None:
        self.spheres.stiffness[0] = value

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Energy (kJ/mol) and forces (atoms, 3) at x (atoms, 3)."""
        F = np.zeros_like(x)
        return self.add(x, F), F

    def add(self, x: FloatArray, F: FloatArray) -> float:
        """Add the forces to F, and return the energy."""
        if compiled(have_moved)(self.spheres.listed, x, 0.5 * SKIN):
            self.list_pairs(x)
        return float(compiled(repel)(self.spheres, self.listed_pairs, x, F))

    def list_pairs(self, x: FloatArray) -> None:
        """List the pairs that are near at x, in as much room as they need."""
        if not np.isfinite(x).all():
            raise NonFiniteError("repulsion: positions must be finite")
        while True:
            count = int(compiled(list_pairs)(self.spheres, self.listed_pairs, x, self.cutoff))
            self.spheres.pairs[0] = count
            if count <= len(self.listed_pairs):
                break
            self.listed_pairs = np.zeros((count + count // 4, 2), np.int64)
        self.spheres.listed[:] = x


def _within(neighbours: list[list[int]], start: int) -> list[int]:
    """Atoms of a higher number up to three bonds away."""
    found, edge = {start}, [start]
    for _ in range(3):
        edge = [j for k in edge for j in neighbours[k] if j not in found]
        found.update(edge)
    return sorted(j for j in found if j > start)


@loop_kernel
def have_moved(listed: Rows, x: Rows, far: Scalar) -> int:
    """1 if some atom is farther than that from where it was."""
    for k in range(len(x)):
        gap = sub3(get3(x, k), get3(listed, k))
        if not dot3(gap, gap) < far * far:
            return 1
    return 0


@loop_kernel
def list_pairs(s: Spheres, pairs: Rows, x: Rows, cutoff: Scalar) -> int:
    """List pairs closer than the sum of radii and the skin; returns their number, which may exceed the room."""
    n = len(x)
    low, high = get3(x, 0), get3(x, 0)
    for k in range(n):
        low = (min(low[0], x[k, 0]), min(low[1], x[k, 1]), min(low[2], x[k, 2]))
        high = (max(high[0], x[k, 0]), max(high[1], x[k, 1]), max(high[2], x[k, 2]))
    edge = cutoff
    nx, ny, nz = cells(low, high, edge)
    while float(nx) * float(ny) * float(nz) > len(s.start) - 2:
        edge = 1.26 * edge
        nx, ny, nz = cells(low, high, edge)
    sort_by_cell(s, x, low, edge, (nx, ny, nz))
    count = 0
    for p in range(n):
        c = s.cell[s.order[p]]
        column, l = c // nz, c % nz
        i, j = column // ny, column % ny
        below, above = max(l - 1, 0), min(l + 1, nz - 1)
        # cells of a column are contiguous; of two atoms, the one whose column comes first finds the other
        count = scan(s, pairs, count, p, p + 1, s.start[column * nz + above + 2])
        for a in range(i, min(i + 2, nx)):
            for b in range(max(j - 1, 0), min(j + 2, ny)):
                if a > i or b > j:
                    k = (a * ny + b) * nz
                    count = scan(s, pairs, count, p, s.start[k + below + 1], s.start[k + above + 2])
    return count


@loop_kernel
def sort_by_cell(s: Spheres, x: Rows, low: Vector, edge: Scalar, shape: tuple[int, int, int]) -> None:
    """Fill `order` and `sorted`; atoms of cell k are those from start[k + 1] to start[k + 2]."""
    nx, ny, nz = shape
    for k in range(nx * ny * nz + 2):
        s.start[k] = 0
    for k in range(len(x)):
        i, j, l = int((x[k, 0] - low[0]) / edge), int((x[k, 1] - low[1]) / edge), int((x[k, 2] - low[2]) / edge)
        s.cell[k] = (i * ny + j) * nz + l
        s.start[s.cell[k] + 1] += 1
    for k in range(nx * ny * nz):
        s.start[k + 1] += s.start[k]
    s.start[nx * ny * nz + 1] = len(x)
    for k in range(len(x) - 1, -1, -1):
        s.start[s.cell[k] + 1] -= 1
        p = s.start[s.cell[k] + 1]
        s.order[p] = k
        s.sorted[p, 0], s.sorted[p, 1], s.sorted[p, 2] = x[k, 0], x[k, 1], x[k, 2]
        s.sorted[p, 3] = s.radius[k] + 0.5 * SKIN


@loop_kernel
def scan(s: Spheres, pairs: Rows, count: int, p: int, first: int, last: int) -> int:
    """Add pairs of the atom at place p with those at places from first to last, and return how many there are."""
    y, radius = get3(s.sorted, p), s.sorted[p, 3]
    for t in range(first, last):
        gap = sub3(y, get3(s.sorted, t))
        reach = radius + s.sorted[t, 3]
        if dot3(gap, gap) < reach * reach:
            i, j = min(s.order[p], s.order[t]), max(s.order[p], s.order[t])
            if is_pair(s, i, j) == 1:
                if count < len(pairs):
                    pairs[count, 0], pairs[count, 1] = i, j
                count += 1
    return count


@loop_kernel
def cells(
    low: tuple[Scalar, Scalar, Scalar], high: tuple[Scalar, Scalar, Scalar], edge: Scalar
) -> tuple[int, int, int]:
    """How many cells of this edge a box takes."""
    return (
        int(min((high[0] - low[0]) / edge, 1e6)) + 1, int(min((high[1] - low[1]) / edge, 1e6)) + 1,
        int(min((high[2] - low[2]) / edge, 1e6)) + 1,
    )  # fmt: skip


@loop_kernel
def is_pair(s: Spheres, i: int, j: int) -> int:
    """Whether atoms i < j are of different groups and more than three bonds apart."""
    if s.group[i] == s.group[j]:
        return 0
    for k in range(s.first[i], s.first[i + 1]):
        if s.excluded[k] == j:
            return 0
    return 1


@loop_kernel
def repel(s: Spheres, pairs: Rows, x: Rows, F: Rows) -> Scalar:
    """Add the forces of overlapping pairs and return their energy."""
    energy, k = 0.0, s.stiffness[0]
    for p in range(s.pairs[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        gap = sub3(get3(x, i), get3(x, j))
        reach = s.radius[i] + s.radius[j]
        d2, s2 = dot3(gap, gap), reach * reach
        if d2 < s2:
            u = 1.0 - d2 / s2
            energy += 0.125 * k * s2 * u * u
            f = scale3(0.5 * k * u, gap)
            add_force(F, i, f)
            add_force(F, j, scale3(-1.0, f))
    return energy
