"""The robots of the example-robot-data package, by folder and name."""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path


def urdfs() -> dict[str, Path]:
    """All URDFs of the wheel by name; some names occur twice, in different packages."""
    found = [Path(str(f.locate())) for f in files("example-robot-data") or [] if f.suffix == ".urdf"]
    return {f"{p.relative_to(p.parents[2]).parts[0]}/{p.name}": p for p in sorted(found)}
