"""Kernels called as they are: on arrays, numbers and named tuples of them, by compiled code."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from bough.compile.lower.kinds import Kind, Numbers, Several, description
from bough.compile.run import jit
from bough.compile.run.native import compiling

_char = ctypes.c_char
_WORDS = [struct.Struct(f"<{1 + d}q").pack for d in range(4)]  # of an array of d dimensions
Unpacked = tuple[int, bytes]  # the number of an argument's kind, and its words in the table

_kinds: dict[Kind, int] = {}
_shortcuts: dict[tuple[Any, Any], int] = {}  # the same by what is quickly found
_codes: dict[Any, tuple[Any, Any]] = {}
_tuples: dict[int, tuple[list[int], Unpacked, list[Any]]] = {}  # of arrays, by id, while all of these are alive


def call(kernel: Callable[..., Any], *arguments: Any) -> float:
    """Run a kernel on C-contiguous arrays, which it may overwrite, on numbers, and on named tuples of both.

    Its result, if there is one, is returned as a float.
    """
    unpacked = [_unpack(argument) for argument in arguments]
    table = ctypes.create_string_buffer(b"".join([bytes(8), *(words for _, words in unpacked)]))
    _code(kernel, tuple([kind for kind, _ in unpacked]))(None, 1, table)
    result: float = struct.unpack_from("<d", table)[0]
    return result


def _unpack(x: Any) -> Unpacked:
    if isinstance(x, tuple):
        return _unpack_tuple(x)
    if isinstance(x, np.ndarray):
        if not x.flags.c_contiguous:
            raise ValueError("kernels work in place and need C-contiguous arrays")
        number = _shortcuts.get((x.ndim, x.dtype))
        if number is None:
            number = _shortcuts[x.ndim, x.dtype] = _number(Numbers(x.ndim, x.dtype.str))
        return number, _WORDS[x.ndim](_address(x), *x.shape)
    if isinstance(x, float):
        return _number("f"), struct.pack("<d", x)
    return _number("i"), struct.pack("<q", x)


def _address(x: Any) -> int:
    """Where its numbers are; `x.ctypes.data` takes three times as long."""
    if x.size and x.flags.writeable:
        return ctypes.addressof(_char.from_buffer(x))
    return int(x.ctypes.data)


def _unpack_tuple(x: tuple[Any, ...]) -> Unpacked:
    """Tuples of arrays are remembered as long as their arrays live: they are many, and mostly the same."""
    members = list(map(id, x))
    known = _tuples.get(id(x))
    if known is not None and known[0] == members:  # an array that dies takes the entry along: all of these live
        return known[1]
    parts = [_unpack(y) for y in x]
    shape = type(x), tuple([number for number, _ in parts])
    number = _shortcuts.get(shape)
    if number is None:
        kinds = list(_kinds)
        number = _shortcuts[shape] = _number(Several(type(x), tuple(kinds[k] for k in shape[1])))
    unpacked = number, b"".join([words for _, words in parts])
    if all(isinstance(y, np.ndarray) for y in x):
        key = id(x)
        _tuples[key] = (members, unpacked, [ref(y, lambda _: _tuples.pop(key, None)) for y in x])
    return unpacked


def _number(kind: Kind) -> int:
    found = _kinds.get(kind)
    if found is None:
        with compiling:  # two kinds of one number would share their code
            found = _kinds.setdefault(kind, len(_kinds))
    return found


def _code(kernel: Callable[..., Any], kinds: tuple[int, ...]) -> Any:
    """The code of a kernel for arguments of these kinds, as a ctypes function."""
    found = _codes.get((kernel, kinds))
    if found is None:
        with compiling:  # once, however many threads ask
            found = _codes.get((kernel, kinds)) or _codes.setdefault((kernel, kinds), _load(kernel, kinds))
    return found[1]


def _load(kernel: Callable[..., Any], kinds: tuple[int, ...]) -> tuple[Any, Any]:
    """(what keeps the code alive, the code as a ctypes function) of a kernel for arguments of these kinds."""
    from bough.compile.lower import of_arguments

    known = list(_kinds)
    given = tuple(known[number] for number in kinds)
    code = jit.load(kernel, f"arguments {list(map(description, given))}", lambda: of_arguments(kernel, given))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    return code, prototype(code.address)
