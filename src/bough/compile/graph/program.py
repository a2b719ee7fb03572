"""Programs: a graph with its arrays, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bough.compile.graph.expr import ADD, ATAN, COS, DIV, MUL, OP_NAMES, SIN, SQRT, STEP, SUB, Graph

One = tuple[int, int]  # a part: its kind, and its number among those of its kind in one carrier
Part = tuple[tuple[One, ...], ...]  # a part or a pair of parts, a part of that part, ...; () belongs to no part
Unit = tuple[int, ...]  # nodes that are computed side by side


class Mark(NamedTuple):
    """The part of a number and its place there, which identical parts share (see `twins`)."""

    part: Part
    place: Hashable


@dataclass(frozen=True)
class Array:
    """Name and shape of one array argument of a program."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Program:
    """A straight-line function: arrays in, arrays out, one node for each output element.

    Inputs may be marked as belonging to parts; `parameters` are inputs whose value is known: see `twins`.
    """

    graph: Graph
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    roots: tuple[tuple[int, ...], ...]
    parameters: tuple[float, ...] = ()
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=dict)  # by (array, offset)

    def flat_roots(self) -> list[int]:
        return [r for output in self.roots for r in output]


@dataclass(frozen=True)
class OperationCount:
    """Exact numbers of operations of a straight-line program; negations are free, every function has its own column."""

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    sincos: int = 0
    atan: int = 0
    step: int = 0

    def __add__(self, other: OperationCount) -> OperationCount:
        return OperationCount(*(x + y for x, y in zip(self.astuple(), other.astuple(), strict=True)))

    def __sub__(self, other: OperationCount) -> OperationCount:
        return OperationCount(*(x - y for x, y in zip(self.astuple(), other.astuple(), strict=True)))

    def astuple(self) -> tuple[int, ...]:
        return self.mul, self.add, self.div, self.sqrt, self.sincos, self.atan, self.step

    @property
    def total(self) -> int:
        """Multiplications, additions and divisions, one each (the weighting of Featherstone 2010)."""
        return self.mul + self.add + self.div

    def __str__(self) -> str:
        parts = zip(self.astuple(), ("m", "a", "d", "sqrt", "sincos", "atan", "step"), strict=True)
        return " + ".join(f"{n}{unit}" for n, unit in parts if n) or "0"


def count(graph: Graph, roots: Sequence[int]) -> OperationCount:
    """Operations that `roots` need; a sine and a cosine of one angle count once together."""
    tally = [0] * len(OP_NAMES)
    angles = set()
    for i in graph.live(roots):
        tally[graph.op[i]] += 1
        if graph.op[i] in (SIN, COS):
            angles.add(graph.a[i])
    others = tally[SQRT], len(angles), tally[ATAN], tally[STEP]
    return OperationCount(tally[MUL], tally[ADD] + tally[SUB], tally[DIV], *others)
