"""A chunk of a program as LLVM IR: one instruction for each unit, and the moves between memory, numbers and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import pairwise

from bough.compile.emit.llvm_lanes import columns_of_rows
from bough.compile.emit.plan import Place, Plan
from bough.compile.graph.expr import ADD, ATAN, CONST, DIV, INPUT, MUL, NEG, SQRT, STEP, SUB
from bough.compile.graph.program import Program, Unit
from bough.compile.ir import Instructions, Kind

MNEMONIC = {ADD: "fadd contract", SUB: "fsub contract", MUL: "fmul contract", DIV: "fdiv", NEG: "fneg"}

WIDE, LEAST_LANES = 64, 4  # columns of an array that is not gathered; narrower ones most chunks read a part of
MOST_READ = 1.25  # times that such an array is read, on average
MOVING_CHUNK = 1200  # operations of a chunk that may transpose, too: in longer ones fewer values stay in registers


def pointer(kind: Kind, place: Place) -> str:
    """The address of a number in the workspace %m or in array argument %x0, %x1, ..."""
    base = "%m" if place.array < 0 else f"%x{place.array}"
    return f"getelementptr {kind.type}, ptr {base}, i64 {place.offset}"


def square_roots(plan: Plan, kind: Kind) -> list[str]:
    """Declarations of the square roots that a plan's units need."""
    op = plan.program.graph.op
    units = (unit for stage in plan.stages for chunk in stage.chunks for unit in chunk)
    kinds = {unit_kind(kind, unit) for unit in units if op[unit[0]] == SQRT}
    return [f"declare {k.type} @llvm.sqrt.{k.suffix}({k.type})" for k in sorted(kinds, key=lambda k: k.lanes)]


def half_window(size: int, lanes: int, column: int) -> int:
    """The first of the lanes / 2 columns that are loaded together with `column`."""
    return min(column - column % (lanes // 2), size - lanes // 2)


def room_for_moves(program: Program, kind: Kind, chunk: int) -> int:
    """The number of operations of a chunk, smaller if wide arrays are read from their rows."""
    is_wide = kind.lanes >= LEAST_LANES and any(x.size >= WIDE for x in program.inputs)
    return min(chunk, MOVING_CHUNK) if is_wide else chunk


def rowwise_inputs(plan: Plan, kind: Kind) -> frozenset[int]:
    """Wide arrays whose columns hardly more than one chunk reads: chunks take them from the rows."""
    if kind.lanes < LEAST_LANES:
        return frozenset()
    graph, inputs = plan.program.graph, plan.program.inputs
    wide = {k for k, x in enumerate(inputs) if x.size >= WIDE}
    read: Counter[int] = Counter()
    for chunk in (chunk for stage in plan.stages for chunk in stage.chunks):
        operands = {x for unit in chunk for i in unit for x in (graph.a[i], graph.b[i]) if x >= 0}
        places = {(graph.a[x], graph.b[x]) for x in operands if graph.op[x] == INPUT and graph.a[x] in wide}
        read.update(k for k, _ in {(k, half_window(inputs[k].size, kind.lanes, c)) for k, c in places})
    return frozenset(k for k in wide if read[k] * kind.lanes // 2 <= MOST_READ * inputs[k].size)


def unit_kind(kind: Kind, unit: Unit) -> Kind:
    """The type of a unit whose nodes are of type `kind`."""
    return kind if len(unit) == 1 else Kind(kind.scalar, len(unit))


class Chunk:
    """The body of a function under construction.

    Of the arrays in `rowwise`, argument %x is a table of addresses: those of the rows in its lanes.
    """

    def __init__(self, plan: Plan, kind: Kind, rowwise: Collection[int] = ()) -> None:
        self.plan, self.kind, self.graph = plan, kind, plan.program.graph
        self.rowwise = rowwise
        self.rows: dict[int, list[str]] = {}  # addresses of the rows of an array
        self.windows: dict[tuple[int, int], list[str]] = {}  # columns from a place of an array on
        self.b = Instructions()
        self.names: dict[Unit, str] = {}
        self.computed: set[int] = set()
        self.lanes: dict[int, tuple[Unit, int]] = {}  # where the nodes of larger units are found

    def compute(self, unit: Unit) -> None:
        """Evaluate a unit, and store its results that are used elsewhere."""
        op, T = self.graph.op[unit[0]], unit_kind(self.kind, unit)
        x = self._value(tuple(self.graph.a[i] for i in unit))
        if op == SQRT:
            name = self.b(f"call {T.type} @llvm.sqrt.{T.suffix}({T.type} {x})")
        elif op == ATAN:
            name = self.b(f"call {T.type} @atan({T.type} {x})")
        elif op == STEP:
            reached = self.b(f"fcmp oge {T.type} {x}, {T.const(0.0)}")
            name = self.b(f"uitofp {T.boolean} {reached} to {T.type}")
        elif op == NEG:
            name = self.b(f"fneg {T.type} {x}")
        else:
            name = self.b(f"{MNEMONIC[op]} {T.type} {x}, {self._value(tuple(self.graph.b[i] for i in unit))}")
        self.names[unit] = name
        self.computed.update(unit)
        if len(unit) > 1:
            self.lanes |= {i: (unit, lane) for lane, i in reversed(list(enumerate(unit)))}
            if unit in self.plan.shelves:
                self.b.do(f"store {T.type} {name}, ptr {self._address(self.plan.shelves[unit])}")
        for i in dict.fromkeys(unit):
            self.store(i)

    def store(self, i: int) -> None:
        """Store node i where it is used as a scalar."""
        for place in self.plan.targets.get(i, ()):
            # else the compiler's search for stores to merge takes longer than all the rest
            volatile = "volatile " if place.array >= 0 else ""
            self.b.do(f"store {volatile}{self.kind.type} {self._value((i,))}, ptr {self._address(place)}")

    def _address(self, place: Place) -> str:
        return self.b(pointer(self.kind, place))

    def _value(self, unit: Unit) -> str:
        """The name of nodes side by side; constants are literals, nodes of other chunks are loaded once."""
        if unit not in self.names:
            self.names[unit] = self._single(unit[0]) if len(unit) == 1 else self._vector(unit)
        return self.names[unit]

    def _single(self, i: int) -> str:
        if self.graph.op[i] == CONST:
            return self.kind.const(self.graph.value[i])
        if i in self.lanes:
            unit, lane = self.lanes[i]
            return self.b(f"extractelement {unit_kind(self.kind, unit).type} {self.names[unit]}, i64 {lane}")
        if self.graph.op[i] == INPUT and self.graph.a[i] in self.rowwise:
            return self._from_rows(self.graph.a[i], self.graph.b[i])
        return self.b(f"load {self.kind.type}, ptr {self._address(self.plan.source[i])}")

    def _from_rows(self, array: int, column: int) -> str:
        """A column of an array whose rows lie as the user gave them, and with it those beside it."""
        size = self.plan.program.inputs[array].size
        start = half_window(size, self.kind.lanes, column)
        if array not in self.rows:
            places = (self.b(f"getelementptr ptr, ptr %x{array}, i64 {lane}") for lane in range(self.kind.lanes))
            self.rows[array] = [self.b(f"load ptr, ptr {place}") for place in places]
        if (array, start) not in self.windows:
            self.windows[array, start] = columns_of_rows(self.b, self.kind, self.rows[array], start, size)
        return self.windows[array, start][column - start]

    def _vector(self, unit: Unit) -> str:
        T = unit_kind(self.kind, unit)
        if all(self.graph.op[i] == CONST for i in unit):
            return T.constants([self.graph.value[i] for i in unit])
        if unit in self.plan.shelves or self._is_row(unit):
            address = self._address(self.plan.shelves.get(unit) or self.plan.source[unit[0]])
            return self.b(f"load {T.type}, ptr {address}, align {self.kind.bytes}")
        if len(set(unit)) == 1:
            first = self.b(f"insertelement {T.type} undef, {T.scalar} {self._value(unit[:1])}, i64 0")
            return self.b(f"shufflevector {T.type} {first}, {T.type} undef, <{T.lanes} x i32> zeroinitializer")
        homes = {self._home(i)[0] for i in unit}
        if len(homes) == 1 and (home := homes.pop()):
            H = unit_kind(self.kind, home).type
            mask = ", ".join(f"i32 {self._home(i)[1]}" for i in unit)
            return self.b(f"shufflevector {H} {self._value(home)}, {H} undef, <{T.lanes} x i32> <{mask}>")
        name = "undef"
        for lane, i in enumerate(unit):
            name = self.b(f"insertelement {T.type} {name}, {T.scalar} {self._value((i,))}, i64 {lane}")
        return name

    def _home(self, i: int) -> tuple[Unit, int]:
        """The unit of several nodes that holds node i, and its lane there; () if there is none."""
        return self.lanes.get(i) or self.plan.shelved.get(i) or ((), 0)

    def _is_row(self, unit: Unit) -> bool:
        """Whether the nodes are contiguous in memory."""
        if any(i in self.computed or i not in self.plan.source for i in unit):
            return False
        places = [self.plan.source[i] for i in unit]
        return all(y == Place(x.array, x.offset + 1) for x, y in pairwise(places))
