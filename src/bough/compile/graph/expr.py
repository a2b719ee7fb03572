"""Symbolic scalars: a hash-consed graph of the arithmetic that a kernel performs.

Calling a kernel on `Expr` values instead of floats records every operation once (equal
operations on equal operands are one node), folds constants, and lets exact zeros and ones
vanish. Nothing is reassociated: each rule below also holds in IEEE arithmetic on finite
numbers, or (a + (b - a) = b and its like) only leaves a rounding error out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

CONST, INPUT, ADD, SUB, MUL, DIV, NEG, SQRT, SIN, COS, ATAN, STEP = range(12)
OP_NAMES = ("const", "input", "add", "sub", "mul", "div", "neg", "sqrt", "sin", "cos", "atan", "step")
UNARY = frozenset((NEG, SQRT, SIN, COS, ATAN, STEP))
BINARY = frozenset((ADD, SUB, MUL, DIV))
# Functions beside arithmetic, by their meaning on floats
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "atan": math.atan,
    "step": lambda x: 1.0 if x >= 0.0 else 0.0,
}
PARAMETERS = -1  # the array of an input that stands for a constant: see `twins`


class GraphTooLargeError(Exception):
    """A trace was given up because its graph grew past the limit."""


class Graph:
    """Nodes in evaluation order: node i is `op[i]` of nodes `a[i]` and `b[i]`.

    A constant keeps its number in `value[i]`; an input keeps (array, offset) in a and b.
    """

    __slots__ = ("a", "b", "limit", "op", "table", "turns", "value")

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.op: list[int] = []
        self.a: list[int] = []
        self.b: list[int] = []
        self.value: list[float] = []
        self.table: dict[tuple[int, Any, int], int] = {}
        self.turns: list[int] = []  # the nodes with which turns of loops begin (see `rolling`)

    def __len__(self) -> int:
        return len(self.op)

    def node(self, op: int, a: int, b: int = -1, value: float = 0.0) -> int:
        """The one node for this operation on these operands (made if it is new)."""
        key = (op, value, -1) if op == CONST else (op, a, b)
        found = self.table.get(key)
        if found is not None:
            return found
        self.table[key] = i = len(self.op)
        if i == self.limit:
            raise GraphTooLargeError(f"more than {self.limit} operations")
        self.op.append(op)
        self.a.append(a)
        self.b.append(b)
        self.value.append(value)
        return i

    def copy(self) -> Graph:
        """Another graph with the same nodes, and no limit."""
        other = Graph()
        other.op, other.a, other.b = self.op[:], self.a[:], self.b[:]
        other.value, other.table, other.turns = self.value[:], dict(self.table), self.turns[:]
        return other

    def const(self, x: float) -> int:
        return self.node(CONST, -1, -1, float(x) + 0.0)  # -0.0 + 0.0 = 0.0: one zero only

    def input(self, array: int, offset: int) -> Expr:
        """The scalar at `offset` of the flattened input array number `array`."""
        return Expr(self, self.node(INPUT, array, offset))

    def operand(self, x: Any) -> int:
        return x.id if type(x) is Expr else self.const(x)

    # Folding rules, on node numbers.

    def add(self, i: int, j: int) -> int:
        op, value = self.op, self.value
        if op[i] == CONST:
            if op[j] == CONST:
                return self.const(value[i] + value[j])
            if value[i] == 0.0:
                return j
        elif op[j] == CONST and value[j] == 0.0:
            return i
        if op[j] == NEG:
            return self.sub(i, self.a[j])
        if op[i] == NEG:
            return self.sub(j, self.a[i])
        if op[j] == SUB and self.b[j] == i:
            return self.a[j]
        if op[i] == SUB and self.b[i] == j:
            return self.a[i]
        return self.node(ADD, i, j) if i < j else self.node(ADD, j, i)

    def sub(self, i: int, j: int) -> int:
        op, value = self.op, self.value
        if i == j:
            return self.const(0.0)
        if op[j] == CONST:
            if op[i] == CONST:
                return self.const(value[i] - value[j])
            if value[j] == 0.0:
                return i
        if op[i] == CONST and value[i] == 0.0:
            return self.neg(j)
        if op[j] == NEG:
            return self.add(i, self.a[j])
        if op[i] == NEG:
            return self.neg(self.add(self.a[i], j))
        if op[j] == SUB and self.a[j] == i:
            return self.b[j]
        if op[i] == ADD and j in (self.a[i], self.b[i]):
            return self.a[i] + self.b[i] - j
        if (SUB, j, i) in self.table:
            return self.neg(self.table[SUB, j, i])
        return self.node(SUB, i, j)

    def mul(self, i: int, j: int) -> int:
        op, value = self.op, self.value
        if op[j] == CONST:
            i, j = j, i
        if op[i] == CONST:
            x = value[i]
            if op[j] == CONST:
                return self.const(x * value[j])
            if x == 0.0:
                return i
            if x == 1.0:
                return j
            if x == -1.0:
                return self.neg(j)
        if op[i] == NEG:
            return self.neg(self.mul(self.a[i], j))
        if op[j] == NEG:
            return self.neg(self.mul(i, self.a[j]))
        if op[i] == CONST and value[i] < 0.0:
            return self.neg(self.mul(self.const(-value[i]), j))
        return self.node(MUL, i, j) if i < j else self.node(MUL, j, i)

    def div(self, i: int, j: int) -> int:
        op, value = self.op, self.value
        if i == j:
            return self.const(1.0)
        if op[j] == CONST:
            if op[i] == CONST and value[j] != 0.0:
                return self.const(value[i] / value[j])
            if value[j] == 1.0:
                return i
        if op[i] == CONST and value[i] == 0.0:
            return i
        if op[i] == NEG:
            return self.neg(self.div(self.a[i], j))
        if op[j] == NEG:
            return self.neg(self.div(i, self.a[j]))
        return self.node(DIV, i, j)

    def neg(self, i: int) -> int:
        if self.op[i] == CONST:
            return self.const(-self.value[i])
        if self.op[i] == NEG:
            return self.a[i]
        return self.node(NEG, i)

    def apply(self, op: int, i: int, j: int = -1) -> int:
        """The folded node for `op` of nodes i and j: what passes use to rebuild a graph."""
        if op in BINARY:
            return (self.add, self.sub, self.mul, self.div)[op - ADD](i, j)
        if op == NEG:
            return self.neg(i)
        if self.op[i] == CONST:
            function = FUNCTIONS[OP_NAMES[op]]
            return self.const(function(self.value[i]))
        return self.node(op, i)

    def live(self, roots: Iterable[int]) -> list[int]:
        """The nodes that `roots` depend on, themselves included, in evaluation order."""
        seen = bytearray(len(self.op))
        for r in roots:
            seen[r] = 1
        op, a, b = self.op, self.a, self.b
        for i in range(len(op) - 1, -1, -1):
            if seen[i] and op[i] >= ADD:
                seen[a[i]] = 1
                if b[i] >= 0:
                    seen[b[i]] = 1
        return [i for i in range(len(op)) if seen[i]]


class Expr:
    """A scalar of a graph. Arithmetic records nodes; a comparison or truth test is refused."""

    __slots__ = ("graph", "id")
    __array_ufunc__ = None  # numpy scalars then leave mixed arithmetic to us

    def __init__(self, graph: Graph, node: int) -> None:
        self.graph = graph
        self.id = node

    def __add__(self, y: Any) -> Expr:
        g = self.graph
        return Expr(g, g.add(self.id, g.operand(y)))

    __radd__ = __add__

    def __sub__(self, y: Any) -> Expr:
        g = self.graph
        return Expr(g, g.sub(self.id, g.operand(y)))

    def __rsub__(self, y: Any) -> Expr:
        g = self.graph
        return Expr(g, g.sub(g.operand(y), self.id))

    def __mul__(self, y: Any) -> Expr:
        g = self.graph
        return Expr(g, g.mul(self.id, g.operand(y)))

    __rmul__ = __mul__

    def __truediv__(self, y: Any) -> Expr:
        g = self.graph
        return Expr(g, g.div(self.id, g.operand(y)))

    def __rtruediv__(self, y: Any) -> Expr:
        g = self.graph
        return Expr(g, g.div(g.operand(y), self.id))

    def __neg__(self) -> Expr:
        return Expr(self.graph, self.graph.neg(self.id))

    def __pos__(self) -> Expr:
        return self

    def unary(self, op: int) -> Expr:
        return Expr(self.graph, self.graph.apply(op, self.id))

    def _refuse(self, *_: Any) -> bool:
        raise TypeError("a symbolic scalar has no truth value: kernels must not branch on floating-point values")

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self._refuse(other)

    def __repr__(self) -> str:
        return f"<{OP_NAMES[self.graph.op[self.id]]} {self.id}>"
