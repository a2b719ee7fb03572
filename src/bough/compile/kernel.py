"""Kernels: plain functions over scalars, in two dialects. Their rules are on the page docs/kernels.md.

`@kernel` marks a straight-line kernel: no branch on a float, no float literal. Every execution takes it.
`@loop_kernel` marks a kernel that may branch on floats. General code and the interpreter take it; it cannot be traced.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_straight_line: set[Callable[..., Any]] = set()
_inlined: set[Callable[..., Any]] = set()
_texts: dict[CodeType, str] = {}


def kernel(function: F) -> F:
    """Mark a straight-line kernel and return it unchanged: it stays plain Python."""
    _straight_line.add(function)
    return function


def loop_kernel(function: F) -> F:
    """Mark a kernel that may branch on floats and return it unchanged: it stays plain Python."""
    return function


def inlined(function: F) -> F:
    """Have a kernel always inlined by the compiler: passing its arguments would cost more than its work."""
    _inlined.add(function)
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


def is_straight_line(function: Callable[..., Any]) -> bool:
    """Whether a function is marked `@kernel`."""
    return function in _straight_line


def is_inlined(function: Callable[..., Any]) -> bool:
    """Whether a kernel is always inlined into its callers."""
    return function in _inlined
