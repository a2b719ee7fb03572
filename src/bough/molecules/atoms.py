"""`Atoms`: the atoms of a structure as arrays, with the residues they belong to and the bonds between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import MissingExtraError, ModelError, ShapeError, UnknownNameError, nearest, some_of, unknown_option
from bough.types import BoolArray, FloatArray, IntArray

Words = npt.NDArray[np.str_]
WATER = ("HOH", "WAT", "DOD", "TIP", "TIP3", "SOL", "H2O")


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms in the order of their file. Chains, numbers (with insertion codes) and names are words.

    An atom is called "A/57/CA": chain, number of the residue, name. A blank chain is called "_".
    """

    name: Words  # (atoms,) such as "CA"
    element: Words  # (atoms,) such as "C"
    residue: IntArray  # (atoms,) place of its residue
    positions: FloatArray  # (atoms, 3) nm
    bonds: IntArray  # (bonds, 2)
    chain: Words  # (residues,)
    number: Words  # (residues,) such as "57" or "57A"
    kind: Words  # (residues,) such as "ALA"
    hetero: BoolArray  # (residues,) no part of a polymer
    b_factor: FloatArray  # (atoms,) as the file says; predicted structures keep their confidence there

    def __post_init__(self) -> None:
        if self.positions.shape != (len(self.name), 3):
            raise ShapeError(f"positions must have shape ({len(self.name)}, 3), got {self.positions.shape}")
        if not np.isfinite(self.positions).all():
            k = int(np.flatnonzero(~np.isfinite(self.positions).all(axis=1))[0])
            raise ModelError(f"atom {self.key(k)} has no finite position")

    def __len__(self) -> int:
        return len(self.name)

    def key(self, atom: int) -> str:
        """The name of an atom: "A/57/CA"."""
        return f"{self.residue_key(int(self.residue[atom]))}/{self.name[atom]}"

    def residue_key(self, residue: int) -> str:
        """The name of a residue: "A/57"."""
        return f"{self.chain[residue]}/{self.number[residue]}"

    @cached_property
    def places(self) -> dict[str, int]:
        """Atoms by name; of two with one name, the first."""
        found: dict[str, int] = {}
        for k in range(len(self)):
            found.setdefault(self.key(k), k)
        return found

    def place(self, atom: str | int) -> int:
        """The place of an atom, given by name or place; an unknown one is refused with the nearest names."""
        if isinstance(atom, str):
            k = self.places.get(atom)
            if k is None:
                hint = nearest(atom, self.places)
                raise UnknownNameError(f"there is no atom {atom!r}; atoms are called CHAIN/NUMBER/NAME{hint}")
            return k
        if not 0 <= atom < len(self):
            raise UnknownNameError(f"there is no atom {atom}: they are numbered 0 to {len(self) - 1}")
        return int(atom)

    def select(self, atoms: str | int | Iterable[str | int]) -> IntArray:
        """Places of atoms given by name or place; one name or word is "CA" (all alpha carbons), "heavy" or "all"."""
        if isinstance(atoms, str) and "/" not in atoms:
            if atoms == "all":
                return np.arange(len(self))
            found = np.flatnonzero(self.element != "H" if atoms == "heavy" else self.name == atoms)
            if not len(found):
                raise UnknownNameError(f"no atom is called {atoms!r}")
            return found
        several = [atoms] if isinstance(atoms, str | int) else atoms
        return np.array([self.place(atom) for atom in several], np.int64)

    def residues_of(self, words: Iterable[str], option: str) -> BoolArray:
        """(residues,) whether it is of these chains ("B") and residues ("A/301"), or "solvent": water and ions."""
        keys = np.array([self.residue_key(k) for k in range(len(self.chain))])
        chosen = np.zeros(len(keys), bool)
        for word in [words] if isinstance(words, str) else words:
            if word == "solvent":
                is_odd = self.hetero | ~np.isin(self.element[self.first[:-1]], ("C", "N", "O", "P"))
                chosen |= self.water | (is_odd & (np.diff(self.first) == 1))
                continue
            found = (self.chain == word) | (keys == word)
            if not found.any():
                names = sorted({*self.chain.tolist(), *keys.tolist()})
                raise unknown_option(f"{option}: there is no chain or residue {word!r}", word, names)
            chosen |= found
        return chosen

    def kept(self, atoms: BoolArray) -> Atoms:
        """These atoms (atoms,) alone, with the bonds between them and the residues they belong to."""
        number, place = np.cumsum(atoms) - 1, np.zeros(len(self.chain), bool)
        place[self.residue[atoms]] = True
        residue = (np.cumsum(place) - 1)[self.residue[atoms]]
        bonds = number[self.bonds[atoms[self.bonds].all(axis=1)]]
        return Atoms(
            self.name[atoms], self.element[atoms], residue, self.positions[atoms], bonds, self.chain[place],
            self.number[place], self.kind[place], self.hetero[place], self.b_factor[atoms],
        )  # fmt: skip

    def without(self, omit: Iterable[str], notes: list[str]) -> Atoms:
        """The atoms that `omit` does not name, as `residues_of` takes it."""
        chosen = self.residues_of(omit, "omit")
        if chosen.all():
            raise ModelError(f"omit={omit!r} leaves no atom")
        if chosen.any():
            some = some_of([f"{self.residue_key(k)} ({self.kind[k]})" for k in np.flatnonzero(chosen).tolist()])
            notes.append(f"{chosen.sum()} residues are omitted: {some}")
        return self.kept(~chosen[self.residue])

    @cached_property
    def masses(self) -> FloatArray:
        """(atoms,) in Da."""
        return _of_elements(self.element, lambda e: e.weight)

    @cached_property
    def radii(self) -> FloatArray:
        """(atoms,) van der Waals radii in nm."""
        return _of_elements(self.element, lambda e: 0.1 * e.vdw_r)

    @cached_property
    def covalent_radii(self) -> FloatArray:
        """(atoms,) in nm."""
        return _of_elements(self.element, lambda e: 0.1 * e.covalent_r)

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """The atoms bonded to each atom, in ascending order."""
        return bonded_atoms(len(self), self.bonds)

    @property
    def water(self) -> BoolArray:
        """(residues,)"""
        return np.isin(self.kind, WATER)

    @cached_property
    def first(self) -> IntArray:
        """(residues + 1,) the first atom of each residue; atoms of a residue are contiguous."""
        return np.searchsorted(self.residue, np.arange(len(self.chain) + 1))


def _of_elements(elements: Words, value: Any) -> FloatArray:
    gemmi = gemmi_module()
    unique, place = np.unique(elements, return_inverse=True)
    found = [gemmi.Element(str(e)) for e in unique]
    for e, text in zip(found, unique, strict=True):
        if e.atomic_number == 0:
            raise ModelError(f"there is no element {str(text)!r}")
    return np.array([float(value(e)) for e in found])[place]


def bonded_atoms(n: int, bonds: IntArray) -> list[list[int]]:
    """The atoms that these bonds (k, 2) join to each of n atoms, in ascending order."""
    found: list[list[int]] = [[] for _ in range(n)]
    for a, b in bonds.tolist():
        found[a].append(b)
        found[b].append(a)
    return [sorted(each) for each in found]


def gemmi_module() -> Any:
    """gemmi, which reads files and knows elements."""
    try:
        import gemmi
    except ImportError:
        raise MissingExtraError("bough.molecules needs gemmi: pip install 'bough[molecules]'") from None
    return gemmi


def dihedral_angles(x: FloatArray, quads: IntArray) -> FloatArray:
    """(..., k) dihedrals in rad of four atoms each (k, 4), at positions x (..., atoms, 3); IUPAC's sign."""
    a, b, c, d = (x[..., quads[:, k], :] for k in range(4))
    along = c - b
    along = along / np.linalg.norm(along, axis=-1, keepdims=True)
    n1, n2 = np.cross(a - b, along), np.cross(d - c, along)
    return np.asarray(np.arctan2(np.sum(np.cross(n1, n2) * along, axis=-1), np.sum(n1 * n2, axis=-1)))


def superposition(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R (3, 3) and t (3,) that minimise the sum of |R x_k + t - y_k|^2, for x and y (k, 3)."""
    if x.shape != y.shape or x.ndim != 2 or x.shape[1] != 3:
        raise ShapeError(f"expected two arrays (k, 3), got {x.shape} and {y.shape}")
    a, b = x.mean(axis=0), y.mean(axis=0)
    U, _, V = np.linalg.svd((x - a).T @ (y - b))
    sign = np.sign(np.linalg.det(U @ V))
    R = (U * [1.0, 1.0, sign] @ V).T
    return R, b - R @ a


def rmsd(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Root-mean-square deviation of points (k, 3), after the best superposition."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    R, t = superposition(a, b)
    return float(np.sqrt(np.mean(np.sum((a @ R.T + t - b) ** 2, axis=1))))
