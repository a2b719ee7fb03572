"""`python -m benchmarks [SECTION ...]`: run the benchmarks, record them, and renew the docs' tables.

`python -m benchmarks [SECTION ...] --to FOLDER`: record them there only. A part of a section is `SECTION.PART`.
`python -m benchmarks take FOLDER`: renew the docs' tables by what was recorded there.
`python -m benchmarks compare OLD.json NEW.json`: rows of two recorded runs that got slower by more than 10 %.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks import overview, plots, report
from benchmarks.absent import Requirements, left_out
from benchmarks.timing import Timing
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
    "molecules",
    "viewer",
    "cuda",
)
DOCS = Path(__file__).parents[1] / "docs"
STORY = DOCS.parent / "src" / "bough" / "app" / "story" / "recorded.json"


def run(
    sections: Sequence[str],
    docs: Path | None,
    show: Callable[[list[Timing]], None],
    progress: bool = False,
    to: Path | None = None,
) -> list[Timing]:
    """Measure, and show each section when it is done.

    With `to` each is recorded in a file of that folder; with `docs` in that checkout, whose tables are renewed.
    """
    for section in sections:
        require(section)
        if docs is not None and "." in section:
            raise OptionError(f"{section!r} is a part of a section: record it by --to FOLDER, and take all parts then")
    if docs is not None and not (docs / "benchmarks").exists():
        raise OptionError(f"{short(str(docs))!r} has no folder benchmarks to renew: expected the docs of a checkout")
    if to is not None:
        to.mkdir(parents=True, exist_ok=True)
    found: list[Timing] = []
    wanted = sections or SECTIONS
    with progress_bar("measuring", len(wanted), progress) as advance:
        for section in wanted:
            try:
                rows = measured(section)
            except (BoughError, ImportError) as error:  # no GPU, or a library that is not here
                if sections:
                    raise
                rows = [left_out(section, str(error))]
            else:
                if to is not None:
                    report.save(rows, to / f"{section}.json")
                if docs is not None:
                    record(rows, section, docs)
            show(rows)
            found += rows
            advance(1)
    return found


def require(section: str) -> None:
    """Refuse what is neither a section nor a part of one."""
    name, dot, part = section.partition(".")
    if name not in SECTIONS:
        raise UnknownNameError(f"there is no section {short(section)!r}{nearest(name, SECTIONS)}")
    if dot and part not in parts(name):
        raise UnknownNameError(f"section {name} has no part {short(part)!r}{nearest(part, parts(name))}")


def parts(section: str) -> dict[str, Callable[[], list[Timing]]]:
    """The parts that a long section can be measured in, side by side; none where it is measured at once."""
    return getattr(import_module(f"benchmarks.{section}"), "PARTS", {})


def measured(section: str) -> list[Timing]:
    """Rows of a section or a part, and one for each robot and library that is not here."""
    name, _, part = section.partition(".")
    try:
        module = import_module(f"benchmarks.{name}")
        rows = module.PARTS[part] if part else module.rows
        return [*rows(), *getattr(module, "REQUIRED", Requirements()).absent()]
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"section {name} needs {error.name}: pip install 'bough[bench]'") from error


def record(rows: list[Timing], section: str, docs: Path) -> None:
    """Keep a section, and renew what is made of it."""
    report.save(rows, docs.parent / "benchmarks" / "results" / f"{section}.json")
    renew(section, docs)


def take(folder: Path, docs: Path) -> list[str]:
    """Keep the sections that were recorded in `folder`, each in a file or in all its parts, and renew the docs."""
    taken = []
    for section in SECTIONS:
        files = [folder / f"{section}.json"]
        if not files[0].exists():
            files = [folder / f"{section}.{part}.json" for part in parts(section)]
        if not any(file.exists() for file in files):
            continue
        report.join(files, docs.parent / "benchmarks" / "results" / f"{section}.json")
        renew(section, docs)
        taken.append(section)
    if not taken:
        raise OptionError(f"{short(str(folder))!r} has no recorded section: expected files such as {SECTIONS[0]}.json")
    return taken


def renew(section: str, docs: Path) -> None:
    """Write a recorded section into the docs."""
    kept = docs.parent / "benchmarks" / "results" / f"{section}.json"
    report.write_into(docs / "benchmarks" / f"{section}.md", section, report.markdown(kept))
    summarise(docs)


def main(words: list[str]) -> None:
    try:
        if words[:1] == ["compare"]:
            if len(words) != 3:
                raise OptionError("compare takes two files: compare OLD.json NEW.json")
            print(report.slower(Path(words[1]), Path(words[2])))
        elif words[:1] == ["take"]:
            if len(words) != 2:
                raise OptionError("take needs the folder of recorded sections: take FOLDER")
            print("taken: " + ", ".join(take(Path(words[1]), DOCS)))
        elif "--to" in words:
            at = words.index("--to")
            if at + 2 != len(words):
                raise OptionError("--to needs a folder, as the last word: SECTION ... --to FOLDER")
            run(words[:at], None, report.show, to=Path(words[-1]))
        else:
            run(words, DOCS, report.show)
    except (BoughError, ImportError) as error:
        sys.exit(str(error))


def summarise(docs: Path) -> None:
    """Renew what README, the first page of the benchmarks and the demo say of the recorded results."""
    results = docs.parent / "benchmarks" / "results"
    report.write_into(docs.parent / "README.md", "forward dynamics", report.front_table(results))
    front = docs / "benchmarks" / "index.md"
    report.write_into(front, "losses", report.losses(results))
    report.write_into(front, "overview", overview.table(results))
    front.with_name("overview.svg").write_text(overview.charts(results))
    STORY.write_text(json.dumps(overview.story(results), indent=1) + "\n")
    scaled = results / "scale.json"
    if scaled.exists():
        plots.scaling(report.recorded(results, "scale"), docs / "scaling.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
