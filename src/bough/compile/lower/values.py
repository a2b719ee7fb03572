"""Values while a kernel is translated, and what types they are.

A value is a Python constant (numbers, functions, classes), a `Num`, an `Arr`, a `Words`, or a tuple of values, named or
not. Its type, which can be hashed, says which LLVM values it is made of; a translation depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bough.compile.identity import identity
from bough.compile.ir import float_constant

# Kinds of arguments, and the table in which compiled code finds them.
#
# An entry is `int64 entry(void **arrays, int64 batch, void *context)`. The context is a table of words: addresses and
# extents of arrays, and numbers, so that a call costs the same however many arrays a kernel needs.


ENTRY = "entry"
LANES = "v8"  # instead of a dtype: an array whose elements are those of eight rows side by side


@dataclass(frozen=True)
class Numbers:
    """An array argument."""

    ndim: int
    dtype: str


@dataclass(frozen=True)
class Several:
    """A tuple of arguments, named or not."""

    type: type
    fields: tuple[Any, ...]


Kind = Numbers | Several | str  # "i" for a whole number, "f" for another one


def words_in(kind: Kind) -> int:
    """The number of words of an argument in a table."""
    if isinstance(kind, Several):
        return sum(map(words_in, kind.fields))
    return 1 + kind.ndim if isinstance(kind, Numbers) else 1


def description(kind: Kind) -> str:
    """A text that is the same for the same kind, in every process."""
    if isinstance(kind, Several):
        return f"{identity(kind.type)}({', '.join(map(description, kind.fields))})"
    return repr(kind)


LLVM = {"i": "i64", "f": "double", "s": "float", "b": "i1", "v": "<8 x double>", "w": "<8 x float>"}
ELEMENT = {"i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "b1": "i8", "f8": "double", "f4": "float"}
ELEMENT["v8"] = LLVM["v"]  # eight rows side by side
WIDER = "bisfv"  # numbers of two kinds meet in the later one


class OutsideError(Exception):
    """Something in a kernel that is outside the subset."""


class DialectError(Exception):
    """Something in a straight-line kernel that only a loop kernel may hold."""


class Num(NamedTuple):
    """A number that LLVM knows by name: "i" whole, "f" double, "s" float, "b" truth, "v" eight doubles, "w" floats."""

    kind: str
    ref: str


class Arr(NamedTuple):
    """A C-contiguous array."""

    element: str  # as numpy writes it, such as "f8"
    data: str
    extents: tuple[Any, ...]


class Words(NamedTuple):
    """A named tuple in a table: a pointer to its first word."""

    what: Several
    data: str


class Named(NamedTuple):
    """A named tuple that was made by the kernel."""

    type: type
    members: tuple[Any, ...]


class ArrayType(NamedTuple):
    """The type of an array."""

    element: str
    ndim: int


class TupleType(NamedTuple):
    """The type of a tuple; `type` is None where it has no names."""

    type: Any
    members: tuple[Any, ...]


class Fixed(NamedTuple):
    """The type of a constant that is no number: itself."""

    value: Any


def type_of(x: Any) -> Any:
    """The type of a value."""
    if isinstance(x, Num):
        return x.kind
    if isinstance(x, bool):
        return "b"
    if isinstance(x, int | np.integer):
        return "i"
    if isinstance(x, float | np.floating):
        return "f"
    if isinstance(x, Arr):
        return ArrayType(x.element, len(x.extents))
    if isinstance(x, Words):
        return x.what
    if isinstance(x, Named):
        return TupleType(x.type, tuple(map(type_of, x.members)))
    if type(x) is tuple:
        return TupleType(None, tuple(map(type_of, x)))
    return Fixed(x)


def parts(kind: Any) -> list[str]:
    """The LLVM types that a type is made of."""
    if isinstance(kind, str):
        return [LLVM[kind]]
    if isinstance(kind, ArrayType):
        return ["ptr", *["i64"] * kind.ndim]
    if isinstance(kind, Several):
        return ["ptr"]
    if isinstance(kind, TupleType):
        return [part for member in kind.members for part in parts(member)]
    return []


def refs(x: Any) -> list[str]:
    """The LLVM values of a value, in the order of `parts`."""
    if isinstance(x, Num):
        return [x.ref]
    if isinstance(x, Arr):
        return [x.data, *(ref(extent) for extent in x.extents)]
    if isinstance(x, Words):
        return [x.data]
    if isinstance(x, Named):
        return [part for member in x.members for part in refs(member)]
    if type(x) is tuple:
        return [part for member in x for part in refs(member)]
    return [ref(x)] if isinstance(x, bool | int | float | np.number) else []


def made(kind: Any, given: Iterator[str]) -> Any:
    """A value of this type from LLVM values."""
    if isinstance(kind, str):
        return Num(kind, next(given))
    if isinstance(kind, ArrayType):
        return Arr(kind.element, next(given), tuple(Num("i", next(given)) for _ in range(kind.ndim)))
    if isinstance(kind, Several):
        return Words(kind, next(given))
    if isinstance(kind, TupleType):
        members = tuple(made(member, given) for member in kind.members)
        return members if kind.type is None else Named(kind.type, members)
    return kind.value


def ref(x: Any) -> str:
    """A number as LLVM writes it."""
    if isinstance(x, Num):
        return x.ref
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int | np.integer):
        return str(int(x))
    return float_constant(float(x))


def is_constant(x: Any) -> bool:
    """Whether a value is a number that is known now."""
    return isinstance(x, bool | int | float | np.number)


def common(a: Any, b: Any) -> Any:
    """The type in which values of both types can be kept."""
    if a == b:
        return a
    if isinstance(a, str) and isinstance(b, str) and a in WIDER and b in WIDER:
        return max(a, b, key=WIDER.index)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and a.type is b.type and len(a.members) == len(b.members):
        return TupleType(a.type, tuple(map(common, a.members, b.members)))
    raise OutsideError(f"something is {a} here and {b} there")


def meeting(a: Any, b: Any) -> str:
    """The kind of number in which two meet: truth values count as whole numbers, constants do not widen a float."""
    kinds = [type_of(x) for x in (a, b)]
    if not all(isinstance(k, str) and k in WIDER for k in kinds):
        raise OutsideError("arithmetic on what is no number")
    if "s" in kinds and (is_constant(a) or is_constant(b)):
        return "s"
    kind: str = common(*kinds)
    return "i" if kind == "b" else kind
