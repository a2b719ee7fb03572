"""`@kernel`: marks a plain function over scalars that may be interpreted, traced or compiled.

A kernel stays inside the subset of Python that `lower` reads, never allocates, and takes no
branch on a floating-point value. It does not know how it is executed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_kernels: dict[Callable[..., Any], bool] = {}  # whether each is always pasted into its caller
_texts: dict[CodeType, str] = {}
_lessons: list[tuple[str, str]] = []


def kernel(function: F) -> F:
    """Mark `function` as a kernel and return it unchanged: it stays plain Python."""
    _kernels[function] = False
    return function


def inlined(function: F) -> F:
    """A kernel that is always pasted into its caller: handing its arguments over would cost more than its work."""
    _kernels[function] = True
    return function


def from_text(text: str, scope: dict[str, Any], filename: str = "<kernel>") -> Callable[..., Any]:
    """The function that a text defines in a scope; the text is remembered for those who read kernels."""
    whole = compile(text, filename, "exec", dont_inherit=True)
    code = next(c for c in whole.co_consts if isinstance(c, CodeType))
    _texts[code] = text
    exec(whole, scope)
    function: Callable[..., Any] = scope[code.co_name]
    return function


def text_of(code: CodeType) -> str | None:
    """The text that `from_text` was given for this code."""
    return _texts.get(code)


def lowered_by(module: str, source: str) -> None:
    """Have the compiler ask `module`, in its MEANINGS, what functions in the file `source` become."""
    _lessons.append((module, source))


def is_inlined(function: Callable[..., Any]) -> bool:
    """Whether a kernel is always pasted into its callers."""
    return _kernels.get(function, False)


def lessons() -> list[str]:
    """The modules that say what certain functions become."""
    return [module for module, _ in _lessons]


def lessons_digest() -> str:
    """A digest of what such modules say, which compiled code depends on, too."""
    import hashlib
    from importlib.util import find_spec
    from pathlib import Path

    digest = hashlib.sha256()
    for module, source in sorted(_lessons):
        found = find_spec(module)
        loader: Any = found.loader if found else None  # which reads from zip files, too
        for path in (source, found.origin if found and found.origin else source):
            digest.update(loader.get_data(path) if loader else Path(path).read_bytes())
    return digest.hexdigest()
