"""How large tests are: in plain Python (BOUGH_INTERPRET=1) they assert the same of less."""

from typing import TypeVar

from bough.compile.settings import interpreted

T = TypeVar("T")


def size(compiled: T, plain: T) -> T:
    """The first with the JIT, the second without."""
    return plain if interpreted() else compiled
