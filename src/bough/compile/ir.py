"""LLVM IR as text: types of numbers and vectors, constants, and the instructions of a function."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Kind:
    """The type of every number in a module: `lanes` doubles or floats side by side (1 = plain scalars)."""

    scalar: str
    lanes: int

    @staticmethod
    def of(dtype: np.dtype, lanes: int) -> Kind:
        return Kind({"f8": "double", "f4": "float"}[dtype.str[1:]], lanes)

    @property
    def bytes(self) -> int:
        """Bytes of one scalar."""
        return 8 if self.scalar == "double" else 4

    @property
    def type(self) -> str:
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"

    @property
    def integer(self) -> str:
        """The integer type with the same bits."""
        return f"i{8 * self.bytes}" if self.lanes == 1 else f"<{self.lanes} x i{8 * self.bytes}>"

    @property
    def boolean(self) -> str:
        """The type of a comparison."""
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

    @property
    def suffix(self) -> str:
        """The name of the type in the names of intrinsics: f64, v8f64, ..."""
        return ("" if self.lanes == 1 else f"v{self.lanes}") + f"f{8 * self.bytes}"

    def const(self, x: float) -> str:
        """The constant x in every lane."""
        return self._splat(f"{self.scalar} {self._number(x)}")

    def constants(self, values: Sequence[float]) -> str:
        """A constant for each lane."""
        return "<" + ", ".join(f"{self.scalar} {self._number(x)}" for x in values) + ">"

    def _number(self, x: float) -> str:
        return float_constant(float(np.float32(x)) if self.scalar == "float" else x)

    def int_const(self, x: int) -> str:
        return self._splat(f"i{8 * self.bytes} {x}")

    def _splat(self, typed: str) -> str:
        return typed.split()[1] if self.lanes == 1 else "<" + ", ".join([typed] * self.lanes) + ">"


def float_constant(x: float) -> str:
    """A float as LLVM writes it: the bits of the double of the same value."""
    return "0x" + struct.pack(">d", x).hex().upper()


class Instructions:
    """Instructions of one function; calling it appends one and returns the name of its value."""

    def __init__(self, prefix: str = "t") -> None:
        self.lines: list[str] = []
        self._prefix, self._numbers = prefix, itertools.count()

    def __call__(self, instruction: str) -> str:
        name = f"%{self.fresh(self._prefix)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def fresh(self, stem: str) -> str:
        """A new name, without its sign."""
        return f"{stem}{next(self._numbers)}"

    def do(self, instruction: str) -> None:
        """An instruction without a value."""
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def text(self) -> str:
        return "\n".join(self.lines)


def multiply_add(b: Instructions, kind: Kind, x: str, y: str, z: str) -> str:
    """x y + z, fused where the CPU can."""
    return b(f"fadd contract {kind.type} {b(f'fmul contract {kind.type} {x}, {y}')}, {z}")


def horner(b: Instructions, kind: Kind, z: str, coefficients: tuple[float, ...]) -> str:
    """The polynomial in z with these coefficients, lowest first."""
    p = kind.const(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        p = multiply_add(b, kind, p, z, kind.const(c))
    return p


def transpose(b: Instructions, kind: Kind, rows: list[str]) -> list[str]:
    """The n x n transpose of n rows, in each n of the W lanes: log2(n) rounds.

    Each round swaps off-diagonal blocks of `step` columns between rows.
    """
    W, n, rows = kind.lanes, len(rows), list(rows)
    for step in (1 << s for s in range(n.bit_length() - 1)):
        upper = [p if not p & step else W + p - step for p in range(W)]
        lower = [p + step if not p & step else W + p for p in range(W)]
        for i in (i for i in range(n) if not i & step):
            pair = rows[i], rows[i + step]
            rows[i], rows[i + step] = (shuffle(b, kind, pair, mask) for mask in (upper, lower))
    return rows


def shuffle(b: Instructions, kind: Kind, pair: tuple[str, str], mask: Sequence[int]) -> str:
    """Lanes of two vectors, those of the second counted after those of the first."""
    places = ", ".join(f"i32 {p}" for p in mask)
    return b(f"shufflevector {kind.type} {pair[0]}, {kind.type} {pair[1]}, <{kind.lanes} x i32> <{places}>")
