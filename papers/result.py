"""What a script gives: rows `paper | formula | ours | ratio or difference | status`, pictures, and remarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bough.compile.graph.program import OperationCount

EXACT, ROUNDS, MEASURED, DIFFERS = "exact", "rounds to printed", "measured", "differs"


@dataclass(frozen=True)
class Row:
    """One number of a paper beside ours.

    `paper` holds what is printed and nothing else; `formula` holds a printed formula evaluated by us.
    """

    what: str
    paper: str
    ours: str
    ratio: str  # ours / paper, or their difference, or nothing where they are equal
    status: str
    note: str = ""
    formula: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture: `draw` is given an empty matplotlib figure; the caption says what is seen."""

    name: str
    caption: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (7.0, 4.2)  # inches


@dataclass(frozen=True)
class Result:
    """All rows and pictures of one table or figure; `data` is for machines only."""

    rows: tuple[Row, ...]
    figures: tuple[Figure, ...] = ()
    remarks: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


def exact(what: str, printed: Any, found: Any, note: str = "", *, erratum: str = "") -> Row:
    """A count, or anything else that must be the same; with `erratum` another value corrects the printed one."""
    same = printed == found
    status = EXACT if same and not erratum else corrected(erratum) if erratum and not same else DIFFERS
    return Row(what, text(printed), text(found), "" if same else ratio(printed, found), status, note)


def rounded(what: str, printed: str, found: float, note: str = "", *, erratum: str = "") -> Row:
    """A number given to as many digits as `printed` has (zeros at the end of an integer do not count)."""
    if same_digits(printed, found):
        status = ROUNDS
    else:
        status = corrected(erratum) if erratum else DIFFERS
    return Row(what, printed, text(found), difference(float(printed), found), status, note)


def of_formula(what: str, formula: Any, found: Any, note: str = "", *, printed: Any = None) -> Row:
    """A printed formula evaluated, beside what was executed; `printed` only if the value itself is printed."""
    same = formula == found and printed in (None, found)
    return Row(what, text(printed), text(found), ratio(formula, found), EXACT if same else DIFFERS, note, text(formula))


def evaluated(what: str, printed: Any, formula: Any, note: str = "") -> Row:
    """A printed number beside the formula that it comes from, evaluated; nothing was executed."""
    status = EXACT if printed == formula else DIFFERS
    return Row(what, text(printed), "", ratio(printed, formula), status, note, text(formula))


def measured(what: str, printed: Any, found: Any, note: str = "") -> Row:
    """A number that depends on the machine, or on what a paper leaves open."""
    return Row(what, text(printed), text(found), ratio(printed, found), MEASURED, note)


def not_reproducible(what: str, printed: Any, why: str, found: Any = None) -> Row:
    """What cannot be had, and why; what was found instead, if anything."""
    return Row(what, text(printed), text(found), ratio(printed, found), f"not reproducible ({why})")


def corrected(erratum: str) -> str:
    return f"corrected (erratum {erratum})"


def same_digits(printed: str, found: float) -> bool:
    """Whether `found`, rounded to the digits that are printed, is what is printed."""
    whole, _, fraction = printed.partition(".")
    places = len(fraction) if fraction else -(len(whole) - len(whole.rstrip("0")))
    return abs(found - float(printed)) <= 0.5 * 10.0**-places * (1 + 1e-12)


def text(x: Any) -> str:
    """A value as the tables show it: counts in the papers' notation, numbers to five digits."""
    if x is None:
        return ""
    if isinstance(x, OperationCount):
        return str(x)
    if isinstance(x, bool):
        return "yes" if x else "no"
    if isinstance(x, float):
        return f"{x:.5g}"
    if isinstance(x, int):
        return f"{x:,}"
    if isinstance(x, tuple | list):
        return "(" + ", ".join(text(y) for y in x) + ")"
    return str(x)


def difference(printed: float, found: float) -> str:
    return f"{found - printed:+.2g}" if found != printed else ""


def ratio(printed: Any, found: Any) -> str:
    """found / printed for numbers and operation counts."""
    if isinstance(printed, OperationCount) and isinstance(found, OperationCount):
        printed, found = printed.total, found.total
    numbers = isinstance(printed, int | float) and isinstance(found, int | float) and not isinstance(printed, bool)
    if numbers and printed and printed != found:
        return f"{found / printed:.3g}x"
    return ""
