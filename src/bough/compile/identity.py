"""The identity of a kernel: a digest of its code and everything that it refers to.

That is the functions it calls and the constants it reads, from its module, another module, a closure or a default.
Compiled code is cached under this digest, so it is never stale.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), np.generic, np.dtype, slice)


@cache
def identity(function: Callable[..., Any]) -> str:
    """The digest of a function, or of a class of named tuples."""
    lines: list[str] = [sys.version]
    waiting: list[Any] = [function]
    seen: set[int] = set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, FunctionType):
            name = f"{thing.__module__}.{thing.__qualname__}"
            lines.append(f"{name} {_code(thing.__code__)}")
            for key, value in _references(thing):
                lines.append(f"{name} {key} = {_value(value)}")
                waiting += _functions(value)
        else:
            lines.append(_value(thing))
    return hashlib.sha256("\n".join([_value(function), *sorted(lines)]).encode()).hexdigest()


def _code(code: CodeType) -> str:
    """The instructions of a function with their constants, without line numbers."""
    constants = [_code(c) if isinstance(c, CodeType) else _value(c) for c in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return repr((code.co_code.hex(), constants, names, code.co_argcount, code.co_flags))


def _references(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """(name, value) of everything that a function reads from outside itself."""
    for codes in _nested(function.__code__):
        for name in codes.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                yield name, value
                if isinstance(value, ModuleType):
                    yield from _attributes(name, value, codes.co_names)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for value in function.__defaults__ or ():
        yield "default", value
    yield from (function.__kwdefaults__ or {}).items()


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _attributes(prefix: str, module: ModuleType, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Attributes of a module that a function names, and so may read."""
    for name in names:
        if name in vars(module):
            value = vars(module)[name]
            yield f"{prefix}.{name}", value
            if isinstance(value, ModuleType) and value is not module:
                yield from _attributes(f"{prefix}.{name}", value, [n for n in names if n != name])


def _functions(value: Any) -> list[Any]:
    """The functions inside a value."""
    if isinstance(value, FunctionType):
        return [value]
    if isinstance(value, tuple | list):
        return [f for item in value for f in _functions(item)]
    return []


def _value(value: Any) -> str:
    """A text that is equal for equal values only; values of unknown types never give the same text."""
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, FunctionType | BuiltinFunctionType | np.ufunc):
        return f"function {getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"
    if isinstance(value, type):
        return f"class {value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, tuple | list):
        return f"{type(value).__qualname__} [{', '.join(_value(item) for item in value)}]"
    if isinstance(value, dict):
        return f"dict {[(_value(k), _value(v)) for k, v in value.items()]}"
    if isinstance(value, frozenset | set):
        return f"set {sorted(_value(item) for item in value)}"
    if isinstance(value, PLAIN):
        return f"{type(value).__qualname__} {value!r}"
    if callable(value) and hasattr(value, "__module__") and hasattr(value, "__qualname__"):  # such as np.max
        return f"function {value.__module__}.{value.__qualname__}"
    return f"{type(value).__module__}.{type(value).__qualname__} {value!r}"
