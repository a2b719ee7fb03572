"""`python -m benchmarks [SECTION ...]`: run the benchmarks, record them, and renew the docs' tables.

`python -m benchmarks compare OLD.json NEW.json`: rows of two recorded runs that got slower by more than 10 %.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks import plots, report
from benchmarks.absent import Sought, left_out
from bough.app.bench.timing import Timing
from bough.errors import BoughError, MissingExtraError, OptionError, UnknownNameError, nearest, short
from bough.record import progress_bar

SECTIONS = (
    "dynamics",
    "gradients",
    "compile",
    "start",
    "factor",
    "opspace",
    "loops",
    "robots",
    "scale",
    "adaptive",
    "restraints",
    "motion",
    "threads",
    "sweeps",
    "viewer",
    "cuda",
)
DOCS = Path(__file__).parents[1] / "docs"


def run(
    sections: Sequence[str], docs: Path | None, show: Callable[[list[Timing]], None], progress: bool = False
) -> list[Timing]:
    """Measure, show each section when it is done, and with `docs` record it there and renew the tables."""
    for section in sections:
        if section not in SECTIONS:
            raise UnknownNameError(f"there is no section {short(section)!r}{nearest(section, SECTIONS)}")
    if docs is not None and not (docs / "performance.md").exists():
        raise OptionError(f"{short(str(docs))!r} has no performance.md to renew: expected the docs of a checkout")
    found: list[Timing] = []
    wanted = sections or SECTIONS
    with progress_bar("measuring", len(wanted), progress) as advance:
        for section in wanted:
            try:
                rows = measured(section)
            except (BoughError, ImportError) as error:  # no card, or a library that is not here
                if sections:
                    raise
                rows = [left_out(section, str(error))]
            else:
                if docs is not None:
                    record(rows, section, docs)
            show(rows)
            found += rows
            advance(1)
    return found


def measured(section: str) -> list[Timing]:
    """Its rows, and one for each robot and library that is not here."""
    try:
        module = import_module(f"benchmarks.{section}")
        return [*module.rows(), *getattr(module, "WANTED", Sought()).absent()]
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"section {section} needs {error.name}: pip install 'bough[bench]'") from error


def record(rows: list[Timing], section: str, docs: Path) -> None:
    """Keep a section, and renew what is made of it."""
    kept = docs.parent / "benchmarks" / "results" / f"{section}.json"
    report.save(rows, kept)
    report.write_into(docs / "performance.md", section, report.markdown(kept))
    summarise(docs)


def main(words: list[str]) -> None:
    try:
        if words[:1] == ["compare"]:
            if len(words) != 3:
                raise OptionError("compare takes two files: compare OLD.json NEW.json")
            print(report.slower(Path(words[1]), Path(words[2])))
        else:
            run(words, DOCS, report.show)
    except (BoughError, ImportError) as error:
        sys.exit(str(error))


def summarise(docs: Path) -> None:
    """Renew what README and the head of the page say of the recorded results."""
    results = docs.parent / "benchmarks" / "results"
    report.write_into(docs.parent / "README.md", "forward dynamics", report.front_table(results))
    report.write_into(docs / "performance.md", "losses", report.losses(results))
    scaled = results / "scale.json"
    if scaled.exists():
        plots.scaling(report.recorded(results, "scale"), docs / "scaling.png")


if __name__ == "__main__":
    main(sys.argv[1:])
