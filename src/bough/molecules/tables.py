"""Restraint tables of CNS and Xplor (.tbl): `assign` statements with selections, in angstrom and degrees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bough.errors import FileFormatError, short
from bough.molecules.atoms import Atoms
from bough.molecules.reading import existing_file
from bough.molecules.restraints import STIFFNESS, Restraint, dihedral, distance

TOKEN = re.compile(r"[()]|[^\s()]+")
SAME_NAME = {"HN": "H", "H": "HN", "HT1": "H1", "HT2": "H2", "HT3": "H3", "OT1": "O", "OT2": "OXT"}
IGNORED = set(
    ["class", "reset", "nres", "noe", "dihe", "end", "averaging", "potential", "scale", "ceiling", "set", "message"]
)


def read_table(path: str | Path, atoms: Atoms, stiffness: float = STIFFNESS) -> list[Restraint]:
    """Distances (two selections, d, dminus, dplus) and dihedrals (four selections, energy, angle, width, power).

    A selection is made of `resid N`, `name X` (with * % # for several), `segid A`, `chain A`, `and`, `or` and
    parentheses; `or` between pairs of selections makes a distance ambiguous. A selection without atoms is refused.
    """
    file = existing_file(path)
    found = []
    for number, words in _statements(file):
        try:
            found.append(_restraint(words, atoms, stiffness))
        except FileFormatError as error:
            raise FileFormatError(f"{file.name}, line {number}: {error}") from None
    return found


def _statements(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The words of each `assign`, with the number of its line; what follows ! is a remark."""
    open_at, words = 0, list[str]()
    for number, line in enumerate(file.read_text("utf8", errors="replace").splitlines(), 1):
        own = TOKEN.findall(re.sub(r"\{.*?\}", " ", line).split("!")[0])
        if own and own[0].lower().startswith("assi"):
            if words:
                yield open_at, words
            open_at, words = number, own[1:]
        elif own and words:
            words += own
        elif own and own[0].lower() not in IGNORED:
            raise FileFormatError(f"{file.name}, line {number}: expected `assign`, got {short(own[0])!r}")
    if words:
        yield open_at, words


def _restraint(words: list[str], atoms: Atoms, stiffness: float) -> Restraint:
    ends, numbers, alternatives = [], list[float](), list[list[np.ndarray]]()
    k = 0
    while k < len(words):
        if words[k] == "(":
            mask, k = _selection(words, k, atoms)
            ends.append(mask)
        elif words[k].lower() == "or":
            alternatives.append(ends)
            ends, k = [], k + 1
        else:
            try:
                numbers.append(float(words[k]))
            except ValueError:
                raise FileFormatError(f"expected a number or a selection, got {short(words[k])!r}") from None
            k += 1
    alternatives.append(ends)
    if not all(mask.any() for own in alternatives for mask in own):
        raise FileFormatError("a selection has no atoms here")
    if len(alternatives[0]) == 4 and len(alternatives) == 1 and len(numbers) >= 3:
        quad = [int(np.flatnonzero(mask)[0]) for mask in ends]
        return dihedral(quad, np.radians(numbers[1]), width=np.radians(numbers[2]), stiffness=stiffness)
    if any(len(own) != 2 for own in alternatives) or len(numbers) < 3:
        raise FileFormatError("expected two selections and three numbers, or four and four")
    d, minus, plus = numbers[:3]
    given = [distance(*(np.flatnonzero(mask).tolist() for mask in own)) for own in alternatives]
    pairs = tuple(pair for each in given for pair in each.atoms)
    found = distance(0, 1, lower=0.1 * max(d - minus, 0.0), upper=0.1 * (d + plus), stiffness=stiffness)
    return found._replace(atoms=pairs)


def _selection(words: list[str], k: int, atoms: Atoms) -> tuple[np.ndarray, int]:
    """The mask of the selection whose parenthesis opens at k, and the place after its end."""
    mask, both, k = None, "or", k + 1
    while k < len(words) and words[k] != ")":
        word = words[k].lower()
        if word in ("and", "or"):
            both, k = word, k + 1
            continue
        if word == "(":
            own, k = _selection(words, k, atoms)
        elif word in ("resid", "resi", "name", "segid", "segi", "chain", "atom") and k + 1 < len(words):
            own, k = _chosen(word, words[k + 1].strip('"'), atoms), k + 2
        else:
            raise FileFormatError(f"expected resid, name or segid, got {short(words[k])!r}")
        mask = own if mask is None else mask & own if both == "and" else mask | own
    if k >= len(words) or mask is None:
        raise FileFormatError("a selection is empty, or its parenthesis does not close")
    return mask, k + 1


def _chosen(word: str, value: str, atoms: Atoms) -> np.ndarray:
    if word.startswith("resi"):
        return np.asarray((atoms.number == value)[atoms.residue])
    if word in ("segid", "segi", "chain"):
        return np.asarray((atoms.chain == (value.strip() or "_"))[atoms.residue])
    if any(mark in value for mark in "*%#"):
        pattern = re.compile(re.escape(value).replace(r"\*", ".*").replace("%", ".").replace(r"\#", r"\d*") + "$", re.I)
        return np.array([bool(pattern.match(str(name))) for name in atoms.name])
    found = atoms.name == value.upper()
    return np.asarray(found | (atoms.name == SAME_NAME.get(value.upper(), value.upper())))
