"""Which scripts there are, in the order of the report, and how they are run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from bough.errors import OptionError, nearest, short
from papers.result import Result

PAPERS = {
    "featherstone2005": "R. Featherstone (2005), Efficient factorization of the joint-space inertia matrix for "
    "branched kinematic trees. Int. J. Robotics Research 24(6)",
    "shimanovskij": "V. Shimanovskij, UDU' factorization of the mass matrix of a system of bodies with tree structure",
    "featherstone2010": "R. Featherstone (2010), Exploiting sparsity in operational-space dynamics. Int. J. Robotics "
    "Research 29(10)",
    "chang_khatib": "K.-S. Chang & O. Khatib (2001), Efficient recursive algorithm for the operational space inertia "
    "matrix of branching mechanisms. Advanced Robotics 14(8)",
    "redon_lin": "S. Redon & M. C. Lin (2005), An efficient, error-bounded approximation algorithm for simulating "
    "quasi-statics of complex linkages",
}
SCRIPTS = (
    "featherstone2005.table1",
    "featherstone2005.table2",
    "featherstone2005.figure5",
    "featherstone2005.density",
    "featherstone2005.section2",
    "featherstone2005.accuracy",
    "featherstone2005.section5",
    "featherstone2005.section6",
    "shimanovskij.table1",
    "shimanovskij.table2",
    "featherstone2010.section2",
    "featherstone2010.section7",
    "featherstone2010.table1",
    "featherstone2010.table2",
    "featherstone2010.table3",
    "featherstone2010.table4",
    "chang_khatib.table1",
    "chang_khatib.complexity",
    "chang_khatib.figure5",
    "redon_lin.equations",
    "redon_lin.table1",
    "redon_lin.linkages",
    "redon_lin.molecules",
)


def chosen(words: Sequence[str]) -> list[str]:
    """The scripts whose name, or what follows its paper, begins with one of these words; all of them without words."""
    found = {word: [s for s in SCRIPTS if s.startswith(word) or s.partition(".")[2].startswith(word)] for word in words}
    for word, names in found.items():
        if not names or not word:
            known = [*PAPERS, *SCRIPTS, *(s.partition(".")[2] for s in SCRIPTS)]
            raise OptionError(f"there is no table or figure {short(word)!r}{nearest(word, known)}")
    return [name for name in SCRIPTS if not words or any(name in names for names in found.values())]


def title(name: str) -> str:
    """The first line of the script."""
    return (import_module(f"papers.{name}").__doc__ or name).strip().splitlines()[0].rstrip(".")


def run(name: str, full: bool = False) -> Result:
    """Run one script; `full` asks for what takes longer than minutes."""
    found: Result = import_module(f"papers.{name}").run(full)
    return found


def by_paper(names: Iterable[str]) -> dict[str, list[str]]:
    """Scripts grouped by paper, in order."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.partition(".")[0], []).append(name)
    return groups
