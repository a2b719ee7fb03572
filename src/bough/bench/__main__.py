"""`python -m bough.bench [section ...]`: run the benchmarks; in a checkout, record them and renew the docs' tables."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from bough.bench import report, summary

SECTIONS = ("dynamics", "compile", "opspace", "scale", "adaptive", "cuda")
DOCS = Path(__file__).parents[3] / "docs"


def main(sections: list[str]) -> None:
    unknown = set(sections) - set(SECTIONS)
    if unknown:
        sys.exit(f"unknown section {sorted(unknown)[0]!r}; known: {', '.join(SECTIONS)}")
    for section in sections or SECTIONS:
        rows = import_module(f"bough.bench.{section}").rows()
        report.show(rows)
        page, record = DOCS / "performance.md", DOCS / "results" / f"{section}.json"
        if page.exists():
            report.save(rows, record)
            report.write_into(page, section, report.markdown(record))
            summarise(DOCS)


def summarise(docs: Path) -> None:
    """Renew what README and the head of the page say of the recorded results."""
    report.write_into(docs.parent / "README.md", "forward dynamics", summary.front_table(docs / "results"))
    report.write_into(docs / "performance.md", "losses", summary.losses(docs / "results"))


if __name__ == "__main__":
    main(sys.argv[1:])
