"""Draws `packages.svg`: the packages by layer, their files, and which imports which (needs grimp)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, HEIGHT, STEP, BOX = 860, 28, 62, 110


def layers() -> list[list[str]]:
    """The packages in each layer of the contract in pyproject.toml, the top first."""
    contracts = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = [re.findall(r"\w+", row) for row in contracts[0]["layers"]]
    source = HERE.parent / "src" / "bough"
    return [[x for x in row if (source / x).is_dir() or (source / f"{x}.py").exists()] for row in rows]


def imports(packages: list[str]) -> set[tuple[str, str]]:
    """(importer, imported) for all pairs of packages."""
    import grimp

    graph = grimp.build_graph("bough", exclude_type_checking_imports=True)
    owner = {m: m.split(".")[1] for m in graph.modules if "." in m}
    pairs = {(owner[m], owner[n]) for m in owner for n in graph.find_modules_directly_imported_by(m) if n in owner}
    return {(a, b) for a, b in pairs if a != b and a in packages and b in packages}


def reduced(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Without the arrows that two others imply."""
    packages = {package for pair in pairs for package in pair}
    return {(a, b) for a, b in pairs if not any((a, c) in pairs and (c, b) in pairs for c in packages)}


def files(package: str) -> int:
    """How many source files a package has."""
    return len(list((HERE.parent / "src" / "bough" / package).rglob("*.py"))) or 1


def svg() -> str:
    rows = layers()
    place = {}
    for y, row in enumerate(rows):
        for x, package in enumerate(row):
            place[package] = (WIDTH * (x + 1) / (len(row) + 1), 30 + y * STEP)
    lines = []
    for a, b in sorted(reduced(imports(list(place)))):
        (x0, y0), (x1, y1) = place[a], place[b]
        bend = 60 + 7 * abs(y1 - y0) / STEP if x0 == x1 and y1 - y0 > STEP else 0
        middle = f"{(x0 + x1) / 2 + (bend if len(a + b) % 2 else -bend):.0f},{(y0 + y1) / 2:.0f}"
        lines.append(f'<path d="M{x0:.0f},{y0 + HEIGHT / 2:.0f} Q{middle} {x1:.0f},{y1 - HEIGHT / 2:.0f}"/>')
    boxes = [
        f'<rect x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{BOX}" height="{HEIGHT}" rx="5"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{package} <tspan>{files(package)}</tspan></text>'
        for package, (x, y) in place.items()
    ]
    style = (
        "path{fill:none;stroke:#6b8fb5;stroke-opacity:.8}rect{fill:#f4f1e8;stroke:#4a4a4a}"
        "text{font:13px sans-serif;text-anchor:middle;fill:#222}tspan{fill:#888;font-size:11px}"
    )
    size = f'width="{WIDTH}" height="{len(rows) * STEP + 20}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style>'
    return "\n".join([head, *lines, *boxes, "</svg>"]) + "\n"


if __name__ == "__main__":
    (HERE / "packages.svg").write_text(svg())
