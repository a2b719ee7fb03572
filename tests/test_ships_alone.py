"""The library ships alone: its benchmarks and the reproduction of papers lie beside it, and it knows neither."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
BESIDE = {"benchmarks", "papers"}


def imported(path: Path) -> set[str]:
    """The packages that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


def test_the_library_imports_neither():
    files = list((ROOT / "src" / "bough").rglob("*.py"))
    assert len(files) > 200
    assert [str(path) for path in files if imported(path) & BESIDE] == []
    assert imported(ROOT / "benchmarks" / "dynamics.py") >= {"benchmarks", "bough"}


def test_the_wheel_holds_the_library_only_and_the_source_distribution_all():
    assert BUILD["wheel"]["packages"] == ["src/bough"]
    assert BESIDE <= set(BUILD["sdist"]["include"])
    assert all((ROOT / name / "__main__.py").exists() for name in BESIDE)
    assert not any((ROOT / "src" / "bough" / name).exists() for name in (*BESIDE, "bench", "reproduce"))
