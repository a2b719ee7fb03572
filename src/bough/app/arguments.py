"""Arguments of commands: numbers, forces and points as text, checked before the work is done."""

from __future__ import annotations

import math
import re

from bough.errors import OptionError, short


def vector(text: str, option: str, sizes: tuple[int, ...] = (3,)) -> list[float]:
    """Finite numbers with commas between them."""
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if len(found) not in sizes or not all(map(math.isfinite, found)):
        counts = " or ".join(map(str, sizes))
        raise OptionError(f"{option} {short(text)!r}: expected {counts} numbers with commas between them")
    return found


def placed_force(text: str) -> tuple[str, list[float]]:
    """NAME:fx,fy,fz, or with a moment NAME:fx,fy,fz,mx,my,mz. A name may have colons."""
    name, mark, numbers = text.rpartition(":")
    if not (name and mark):
        raise OptionError(f"--force {short(text)!r}: expected NAME:fx,fy,fz")
    return name, vector(numbers, "--force", (3, 6))


def placed(text: str) -> tuple[str, list[float]]:
    """FRAME, or FRAME:x,y,z for a point of it. A name may have colons."""
    name, mark, numbers = text.rpartition(":")
    if name and mark and re.fullmatch(r"[-+0-9.eE, ]+", numbers):
        return name, vector(numbers, "--contact")
    return text, [0.0, 0.0, 0.0]
