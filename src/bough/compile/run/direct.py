"""Kernels called as they are: on arrays, numbers and named tuples of them, by compiled code."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from bough.compile.identity import identity
from bough.compile.lower.values import ENTRY, Kind, Numbers, Several, description
from bough.compile.run import cache, native
from bough.compile.run.native import compiling
from bough.compile.settings import interpreted

# Machine code of kernels: translated to LLVM as they are written, optimised when all of them are together.


def load(kernel: Callable[..., Any], how: str, text: Callable[[], str]) -> native.LoadedCode:
    """The code of a kernel, from the disk cache or compiled now from `text`, which depends on nothing but `how`."""
    what = (identity(kernel), how)
    with native.compiling:
        made = cache.fetch(f"jit {what}", lambda: native.compile_ir(text(), level=3, optimise=True))
        return native.load(made, ENTRY)


_char: Any = ctypes.c_char
_DOUBLE = struct.Struct("<d")
_WORDS = [struct.Struct(f"<{1 + d}q").pack for d in range(4)]  # of an array of d dimensions
Unpacked = tuple[int, bytes]  # the number of an argument's kind, and its words in the table

_FLOAT, _INTEGER = 0, 1
_kinds: dict[Kind, int] = {"f": _FLOAT, "i": _INTEGER}
_arrays = {np.ndarray}
_shortcuts: dict[tuple[Any, Any], int] = {}  # the same by what is quickly found
_codes: dict[Any, tuple[Any, Any]] = {}
_tuples: dict[int, tuple[list[int], Unpacked, list[Any]]] = {}  # of arrays, by id, while all of these are alive


class Call:
    """A kernel and its arguments: C-contiguous arrays, which it may overwrite, numbers, and named tuples of both.

    It may be run again and again, on what its arrays hold by then. Its result, if there is one, comes as a float.
    """

    def __init__(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        words: list[bytes] = [bytes(8)]
        kinds = _unpack(arguments, words)
        self._arguments = arguments  # alive as long as the table has their addresses
        self._table = bytearray(b"".join(words))
        self._at = ctypes.byref(_char.from_buffer(self._table))
        found = _codes.get((kernel, kinds))
        self._code = _code(kernel, kinds) if found is None else found[1]

    def __call__(self) -> float:
        self._code(None, 1, self._at)
        result: float = _DOUBLE.unpack_from(self._table)[0]
        return result


def call(kernel: Callable[..., Any], *arguments: Any) -> float:
    """Run a kernel once; see `Call`."""
    return Call(kernel, *arguments)()


def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, compiled on its first call; plain Python when BOUGH_INTERPRET is set."""
    return kernel if interpreted() else partial(call, kernel)


def prepared(kernel: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """`Call` of the kernel, compiled or not."""
    return partial(kernel, *arguments) if interpreted() else Call(kernel, *arguments)


def _unpack(xs: tuple[Any, ...], words: list[bytes]) -> tuple[int, ...]:
    """The numbers of the kinds of some values, whose words are appended.

    Tuples of arrays are remembered as long as their arrays live: they are many, and mostly the same.
    """
    kinds = []
    for x in xs:
        if isinstance(x, np.ndarray):
            flags = x.flags
            if not flags.c_contiguous:
                raise ValueError("kernels work in place and need C-contiguous arrays")
            number = _shortcuts.get((x.ndim, x.dtype))
            if number is None:
                number = _shortcuts[x.ndim, x.dtype] = _number(Numbers(x.ndim, x.dtype.str))
            # `x.ctypes.data` takes three times as long
            quick = flags.writeable and x.size
            at = ctypes.addressof(_char.from_buffer(x)) if quick else int(x.ctypes.data)
            words.append(_WORDS[x.ndim](at, *x.shape))
        elif isinstance(x, tuple):
            known = _tuples.get(id(x))
            # an array that dies takes the entry along: all of these live
            if known is not None and known[0] == list(map(id, x)):
                number, found = known[1]
                words.append(found)
            else:
                number = _unpack_tuple(x, words)
        elif isinstance(x, float):
            number = _FLOAT
            words.append(_DOUBLE.pack(x))
        else:
            number = _INTEGER
            words.append(_WORDS[0](x))
        kinds.append(number)
    return tuple(kinds)


def _unpack_tuple(x: tuple[Any, ...], words: list[bytes]) -> int:
    """The same of a tuple that is not remembered."""
    began = len(words)
    shape = type(x), _unpack(x, words)
    number = _shortcuts.get(shape)
    if number is None:
        kinds = list(_kinds)
        number = _shortcuts[shape] = _number(Several(type(x), tuple(kinds[k] for k in shape[1])))
    if _arrays.issuperset(map(type, x)):
        key = id(x)
        lives = [ref(y, lambda _: _tuples.pop(key, None)) for y in x]
        _tuples[key] = (list(map(id, x)), (number, b"".join(words[began:])), lives)
    return number


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
    code = load(kernel, f"arguments {list(map(description, given))}", lambda: of_arguments(kernel, given))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    return code, prototype(code.address)
