"""Restraint tables of CNS and Xplor (.tbl): `assign` statements with selections, in angstrom and degrees."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bough.errors import FileFormatError, SettingError, short
from bough.molecules.atoms import Atoms
from bough.molecules.reading import existing_file
from bough.molecules.restraints import STIFFNESS, Restraint, dihedral, distance
from bough.types import BoolArray

TOKEN = re.compile(r'"[^"\n]*"|[()]|[^\s()]+')
REMARK = re.compile(r"![^\n]*|\{[^}]*\}")
SAME_NAME = {
    "HN": "H", "H": "HN", "HT1": "H1", "HT2": "H2", "HT3": "H3", "OT1": "O", "OT2": "OXT", "O1P": "OP1", "O2P": "OP2",
}  # fmt: skip
# First letters of statements that say nothing about atoms; their lines are skipped
IGNORED = {
    "clas", "rese", "nres", "noe", "dihe", "end", "aver", "pote", "scal", "ceil", "set", "mess", "rema", "rest", "sqco",
    "sqex", "sqof", "soex", "asym", "rswi", "mono", "ncou", "temp",
}  # fmt: skip
# Words of selections, each with a value
KEYWORDS = {
    "resid": "resid", "resi": "resid", "residue": "resid", "resn": "resn", "resname": "resn", "name": "name",
    "segid": "segid", "segi": "segid", "chain": "segid",
}  # fmt: skip
# Words behind the numbers of a distance, each with a number
VALUES = ("peak", "spectrum", "volume", "ppm1", "ppm2", "cv", "weight")


def read_table(path: str | Path, atoms: Atoms, stiffness: float = STIFFNESS) -> list[Restraint]:
    """Distances (two selections, d, dminus, dplus) and dihedrals (four selections, energy, angle, width, power).

    A selection is made of `resid 5`, `resid 5:9`, `resn ALA`, `name X` (with * % # + for several), `segid A`,
    `chain A`, `all`, `not`, `and`, `or` and parentheses. `or` between pairs of selections makes a distance ambiguous,
    and `weight` behind its numbers is a factor of the stiffness. Energies and powers of dihedrals have no effect, nor
    have `class`, `scale` and the like. Every other word, and a selection without atoms, is refused.
    """
    file = existing_file(path)
    found = []
    for number, words in _statements(file):
        try:
            found.append(_restraint(words, atoms, stiffness))
        except (FileFormatError, SettingError) as error:
            raise FileFormatError(f"{file.name}, line {number}: {error}") from None
    return found


def _statements(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The words of each `assign`, with the number of its line; what follows ! or is in braces is a remark."""
    text = REMARK.sub(lambda found: "\n" * found[0].count("\n"), file.read_text("utf8", errors="replace"))
    open_at, words = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        own = TOKEN.findall(line)
        first = own[0].lower() if own else ""
        if first.startswith("assi") or first[:4] in IGNORED:
            if open_at:
                yield open_at, words
            open_at, words = (number, own[1:]) if first.startswith("assi") else (0, [])
        elif own and not open_at:
            raise FileFormatError(f"{file.name}, line {number}: expected `assign`, got {short(own[0])!r}")
        else:
            words += own
    if open_at:
        yield open_at, words


def _restraint(words: list[str], atoms: Atoms, stiffness: float) -> Restraint:
    alternatives: list[list[list[int]]] = [[]]
    numbers, k = list[float](), 0
    while k < len(words):
        word = words[k].lower()
        if word == "(":
            start, (mask, k) = k, _selection(words, k + 1, atoms)
            if not mask.any():
                raise FileFormatError(f"{short(' '.join(words[start:k]))} has no atoms here")
            alternatives[-1].append(np.flatnonzero(mask).tolist())
        elif word == "or":
            alternatives.append([])
            k += 1
        elif word in VALUES:
            value = _number(words[k + 1 : k + 2])
            stiffness *= value if word == "weight" else 1.0
            k += 2
        else:
            numbers.append(_number(words[k : k + 1]))
            k += 1
    first = alternatives[0]
    if len(first) == 4 and len(alternatives) == 1 and len(numbers) >= 3:
        if any(len(end) > 1 for end in first):
            count = next(len(end) for end in first if len(end) > 1)
            raise FileFormatError(
                f"expected one atom in each selection of a dihedral, got {count}: name the chain, too"
            )
        angle, width = np.radians([math.fmod(numbers[1], 360.0), min(numbers[2], 180.0)]).tolist()
        return dihedral([end[0] for end in first], angle, width=width, stiffness=stiffness)
    if any(len(ends) != 2 for ends in alternatives) or len(numbers) < 3:
        raise FileFormatError("expected two selections and three numbers, or four and four")
    d, minus, plus = numbers[:3]
    found = distance(0, 1, lower=0.1 * max(d - minus, 0.0), upper=0.1 * (d + plus), stiffness=stiffness)
    return found._replace(atoms=tuple(pair for ends in alternatives for pair in distance(*ends).atoms))


def _number(words: list[str]) -> float:
    try:
        return float(words[0])
    except (ValueError, IndexError):
        got = repr(short(words[0])) if words else "the end"
        raise FileFormatError(f"expected a number or a selection, got {got}") from None


def _selection(words: list[str], k: int, atoms: Atoms) -> tuple[BoolArray, int]:
    """The mask of the selection from k on, and the place after the parenthesis that closes it; `and` before `or`."""
    either, both = np.zeros(len(atoms), bool), np.ones(len(atoms), bool)
    while True:
        own, k = _term(words, k, atoms)
        both = both & own
        word = words[k].lower() if k < len(words) else ""
        if word == "and":
            k += 1
            continue
        either, both = either | both, np.ones(len(atoms), bool)
        if word == ")":
            return either, k + 1
        if word != "or":
            got = f"got {short(words[k])!r}" if word else "its parenthesis does not close"
            raise FileFormatError(f"expected `and`, `or` or ) in a selection, {got}")
        k += 1


def _term(words: list[str], k: int, atoms: Atoms) -> tuple[BoolArray, int]:
    """The mask of one term of a selection, and the place after it."""
    word = words[k].lower() if k < len(words) else "its end"
    if word == "(":
        return _selection(words, k + 1, atoms)
    if word == "not":
        own, k = _term(words, k + 1, atoms)
        return ~own, k
    if word == "all":
        return np.ones(len(atoms), bool), k + 1
    if word in KEYWORDS and k + 1 < len(words):
        return _chosen(KEYWORDS[word], words[k + 1].strip('"').strip(), atoms), k + 2
    raise FileFormatError(f"expected resid, resn, name or segid, got {short(word)!r}")


def _chosen(word: str, value: str, atoms: Atoms) -> BoolArray:
    if word == "resid":
        ends = re.fullmatch(r"(-?\d+):(-?\d+)", value)
        if ends is None:
            return np.asarray((atoms.number == value)[atoms.residue])
        own = np.array([int(re.sub(r"[^-\d]", "", number) or 0) for number in atoms.number.tolist()])
        return np.asarray(((int(ends[1]) <= own) & (own <= int(ends[2])))[atoms.residue])
    if word == "resn":
        return np.asarray((atoms.kind == value.upper())[atoms.residue])
    if word == "segid":
        return np.asarray((atoms.chain == (value or "_"))[atoms.residue])
    if any(mark in value for mark in "*%#+"):
        pattern = re.escape(value)
        for mark, meant in (("*", ".*"), ("%", "."), ("#", r"\d*"), ("+", r"\d")):
            pattern = pattern.replace(re.escape(mark), meant)
        return np.array([re.fullmatch(pattern, str(name), re.IGNORECASE) is not None for name in atoms.name])
    named = value.upper()
    return np.asarray((atoms.name == named) | (atoms.name == SAME_NAME.get(named, named)) | _first_of_two(named, atoms))


def _first_of_two(name: str, atoms: Atoms) -> BoolArray:
    """The atom that CNS calls HB1: HB3 where a carbon has two hydrogens: files have HB2 and HB3, and no HB1."""
    stem = name[:-1]
    if not (name.endswith("1") and stem.startswith("H") and len(stem) > 1):
        return np.zeros(len(atoms), bool)
    there = [np.isin(np.arange(len(atoms.chain)), atoms.residue[atoms.name == stem + end]) for end in "12"]
    return np.asarray((atoms.name == stem + "3") & (there[1] & ~there[0])[atoms.residue])
