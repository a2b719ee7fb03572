"""Program -> CUDA C: one thread for each row of a batch, or neighbouring threads for the twins of one row.

With W > 1 `lanes`, W neighbouring threads work on one row. A unit of several twins (see `twins`) is one instruction of
all of them; what has no twin is computed by each. Where an operation needs a number of another thread it is shuffled;
numbers that differ between twins lie in tables in shared memory. This shortens the code, divides the registers, and
lets neighbouring threads read neighbouring numbers of the user's rows.

The text is written in a dozen macros (LOAD, STORE, SHUFFLE, PICK, TABLE, ...), which cuda_head.h defines.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.emit.c import REAL, literal
from bough.compile.emit.limits import SPILL_BLOCK, Limits
from bough.compile.emit.spilling import END_OF_LOOP, LOOP, SharedSpills, peak
from bough.compile.graph import twins
from bough.compile.graph.cut import BETWEEN
from bough.compile.graph.expr import ADD, ATAN, CONST, COS, DIV, INPUT, MUL, NEG, SIN, SQRT, STEP, SUB
from bough.compile.graph.passes import drop_dead_code
from bough.compile.graph.program import Array, Program, Unit
from bough.compile.graph.rolling import Loop, roll
from bough.compile.graph.schedule import optimise
from bough.errors import TooLargeError

ENTRY = "entry"
HEAD = (files("bough.compile.emit") / "cuda_head.h").read_text()
OPERATOR = {ADD: "+", SUB: "-", MUL: "*"}
# Rows are fetched at the start of a kernel with so many operations a number, unless it is so long that it waits for
# instructions; with fewer operations the memory is busy anyway.
PREFETCHED_OPERATIONS, PREFETCHED_LINES = 75, 7000
LARGEST = 150_000  # operations: more take minutes to compile and overflow the instruction cache many times

Layout = Literal["rows", "columns"]
ResultLayout = Literal["rows", "groups", "columns"]
RESULT_LAYOUTS = ("rows", "groups", "columns")
GROUP = 32  # rows, those of a warp


class Layouts(NamedTuple):
    """The layout of the inputs of a kernel, that of its results, and whether its rows may be those of a list."""

    inputs: Layout = "rows"
    results: ResultLayout = "rows"
    listed: bool = False


class Form(NamedTuple):
    """How a kernel is written: threads for each row, the layout of its inputs and results, the use of shared memory.

    Arrays are (batch, n) "rows" or (n, batch) "columns"; what goes from kernel to kernel is (batch / 32, n, 32)
    "groups", the last one filled up. `staged`: results are gathered in shared memory and leave it in long runs of
    neighbours, which for rows with many numbers is several times faster. `resident`: live values spill to shared
    memory (see `spilling`), for so many resident blocks of a multiprocessor; 0: no spilling. `listed`: rows may be
    those of a list (see `collect`).
    """

    lanes: int = 1
    layout: Layout = "rows"
    staged: bool = False
    resident: int = 0
    results: ResultLayout = "rows"
    listed: bool = False

    @property
    def stores_early(self) -> bool:
        """Whether a result is stored as soon as it is known; rows in memory are written in one piece at the end."""
        return self.staged or self.results != "rows"


@dataclass(frozen=True)
class CudaText:
    """The text of one kernel, and how it is launched: `row_bytes` of dynamic shared memory for each row of a block.

    The kernel is `entry(inputs..., outputs..., bad, batch, strides of inputs...)`: pointers to Real, then a pointer to
    one byte for each row (or null) that is set where a result is not finite, the number of rows, and for each input
    the distance of its rows (0: one for all). With `block` it works in blocks of so many threads and no others. A
    listed one has a last argument: a pointer to the length of a list and the numbers of its rows, or null for all rows.
    """

    text: str
    form: Form
    row_bytes: int
    block: int | None = None


class Arrangement(NamedTuple):
    """A program and the order of its units, for so many threads for a row."""

    program: Program
    order: Sequence[Unit]
    lanes: int


class PartialSum(NamedTuple):
    """An addition of a sum over twins: the twins, and at the end of the sum the units that they make."""

    twins: set[int]
    whole: list[Unit]


def arrangements(program: Callable[[], Program]) -> Callable[[int], Arrangement]:
    """Arrangements of a program by the number of threads for a row, each made on first use.

    Several threads have twins side by side; for one thread, what makes them twins is folded.
    """
    optimised = cache(lambda: optimise(program()))

    def arrange(lanes: int) -> Arrangement:
        if lanes > 1:
            arranged, order = twins.side_by_side(optimised(), lanes)
        else:
            arranged = optimise(drop_dead_code(twins.settle(program())))
            graph = arranged.graph
            order = [(i,) for i in graph.live(arranged.flat_roots()) if graph.op[i] >= ADD]
        if len(order) > LARGEST:
            raise TooLargeError(f"{len(order)} operations are more than one GPU kernel takes ({LARGEST})")
        return Arrangement(arranged, order, lanes)

    return cache(arrange)


def head(dtype: npt.DTypeLike, **words: int) -> str:
    """The start of a kernel; without other `words`, of one with one thread a row."""
    text = HEAD.replace("@REAL@", REAL[np.dtype(dtype).itemsize])
    plain = {"LANES": 1, "BLOCK": SPILL_BLOCK, "ROWS": 0, "RESULTS": 0, "LISTED": 0, "STEP": 1, "PITCH": 1}
    for word, value in (plain | words).items():
        text = text.replace(f"@{word}@", str(value))
    return text


def collect(dtype: npt.DTypeLike) -> str:
    """A kernel that lists rows with a flag, copies a part of those where it is positive, and empties the next list."""
    real = REAL[np.dtype(dtype).itemsize]
    return f"""extern "C" __global__ void {ENTRY}(const {real} *flag, long long stride, int *chosen, int *next, \
const {real} *found, {real} *start, long long width, long long batch)
{{
    const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row == 0) next[0] = 0;
    const {real} why = row < batch ? flag[row * stride] : 0;
    if (!(why > 0 || why < 0)) return;
    chosen[1 + atomicAdd(chosen, 1)] = (int)row;
    if (why > 0) for (long long k = row * width; k < (row + 1) * width; k++) start[k] = found[k];
}}
"""


def emit(arranged: Arrangement, dtype: npt.DTypeLike, form: Form, limits: Limits) -> CudaText:
    """CUDA C of a program for a GPU with these limits."""
    kernel = _Kernel(arranged, np.dtype(dtype), form)
    tile = tile_bytes(arranged.program.outputs, dtype) if form.staged else 0
    if not form.resident:
        return CudaText(kernel.text(), form, tile)
    slots = kernel.spill_to_shared(limits, tile * SPILL_BLOCK // form.lanes)
    return CudaText(kernel.text(), form, tile + np.dtype(dtype).itemsize * slots * form.lanes, SPILL_BLOCK)


def tile_bytes(outputs: Sequence[Array], dtype: npt.DTypeLike) -> int:
    """Shared memory for the results of one row of a staged form."""
    return np.dtype(dtype).itemsize * sum(_pitch(a.size) for a in outputs)


class Needs(NamedTuple):
    """The size of a kernel without spilling: its lines, and the most live values, in registers of four bytes."""

    lines: int
    registers: int


def needs(arranged: Arrangement, dtype: npt.DTypeLike, form: Form) -> Needs:
    """The same for an arrangement; of the form, only the layouts and whether it is staged matter."""
    lines = _Kernel(arranged, np.dtype(dtype), form).lines
    return Needs(len(lines), peak(lines) * np.dtype(dtype).itemsize // 4)


def _pitch(size: int) -> int:
    """The distance of rows in shared memory: odd, so that neighbouring threads write to different banks."""
    return size | 1


class _Kernel:
    """Statements for units in order. The value of a tuple of nodes is, in thread l, that of its l-th (cyclically)."""

    def __init__(self, arranged: Arrangement, dtype: np.dtype, form: Form) -> None:
        program, order, _ = arranged
        self.program, self.graph, self.form, self.lanes = program, program.graph, form, form.lanes
        self.dtype = dtype
        self.lines: list[str] = []
        self.tables: dict[tuple[str, ...], int] = {}
        self.offsets: dict[tuple[int, ...], int] = {}
        self.unit_of = {i: unit for unit in order for i in unit}
        self.names: dict[Unit, str] = {}
        self._numbers = itertools.count()
        found = roll(self.graph, order, program.flat_roots())
        self.sums = self._sums([unit for unit in found if not isinstance(unit, Loop)])
        places = self._places()
        for unit in found:
            if isinstance(unit, Loop):
                self._loop(unit)
            else:
                self._compute(unit)
            if form.stores_early:
                for one in unit.last if isinstance(unit, Loop) else (unit,):
                    self._store(one, places.pop(one, {}))
        for unit in [*places]:
            self._store(unit, places[unit])
        most = self.lanes * len(self.lines) // PREFETCHED_OPERATIONS  # numbers of a row
        fits = len(self.lines) <= PREFETCHED_LINES and sum(spec.size for spec in program.inputs) <= most
        self.prefetches = form.layout == "rows" and fits

    # Values

    def _keep(self, nodes: Unit, expression: str) -> str:
        name = f"t{next(self._numbers)}"
        self.lines.append(f"const Real {name} = {expression};")
        self.names[nodes] = name
        return name

    def _value(self, nodes: Unit) -> str:
        """An expression for a tuple of nodes, kept in a register where it takes more than one name."""
        if len(set(nodes)) == 1:
            nodes = nodes[:1]
        if nodes in self.names:
            return self.names[nodes]
        graph = self.graph
        ops = {graph.op[i] for i in nodes}
        if ops == {CONST}:
            return self._constants(nodes)
        if ops == {INPUT} and len({graph.a[i] for i in nodes}) == 1:
            place = self._place(tuple(graph.b[i] for i in nodes))
            number = graph.a[nodes[0]]
            load = "LOAD_BETWEEN" if self.program.inputs[number].name == BETWEEN else "LOAD"
            return self._keep(nodes, f"{load}(x{number}, {place})")
        unit = self.unit_of.get(nodes[0])
        if unit is not None and set(nodes) <= set(unit):
            return self._keep(nodes, f"SHUFFLE({self.names[unit]}, {self._lane_map(nodes, unit)})")
        return self._keep(nodes, self._mixed(nodes))

    def _mixed(self, nodes: Unit) -> str:
        """Numbers of different origin: each thread picks its own."""
        parts: dict[str, int] = {}
        for lane in range(self.lanes):
            i = nodes[lane % len(nodes)]
            unit = self.unit_of.get(i)
            own = unit is not None and unit[lane % len(unit)] == i
            name = self.names[unit] if own and unit is not None else self._value((i,))
            parts[name] = parts.get(name, 0) | 1 << lane
        (text, _), *others = parts.items()
        for name, mask in others:
            text = f"PICK({mask}, {name}, {text})"
        return text

    def _lane_map(self, nodes: Unit, unit: Unit) -> str:
        """For each thread the thread that it reads from, four bits each; itself where that is right."""
        code = 0
        for lane in range(self.lanes):
            i = nodes[lane % len(nodes)]
            source = lane if unit[lane % len(unit)] == i else unit.index(i)
            code |= source << (4 * lane)
        return f"{code}u"

    def _constants(self, nodes: Unit) -> str:
        numbers = (self.graph.value[nodes[k % len(nodes)]] for k in range(self.lanes))
        literals = tuple(literal(x, self.dtype) for x in numbers)
        if len(set(literals)) == 1:
            return literals[0]
        return f"TABLE({self.tables.setdefault(literals, len(self.tables))})"

    def _place(self, offsets: tuple[int, ...]) -> str:
        """Where each thread reads or writes in a row: a number, a number and a step, or a table of them."""
        first, step = offsets[0], (offsets[1] - offsets[0] if len(offsets) > 1 else 0)
        if all(o == first + k * step for k, o in enumerate(offsets)):
            return str(first) if not step else f"{first} + LANE({len(offsets)}) * ({step})"
        row = tuple(offsets[k % len(offsets)] for k in range(self.lanes))
        return f"OFFSET({self.offsets.setdefault(row, len(self.offsets))})"

    # Operations

    def _sums(self, order: Sequence[Unit]) -> dict[int, PartialSum]:
        """Sums over all twins of a unit, which the threads of a row add in pairs at the end (`total`)."""
        graph, roots = self.graph, self.program.flat_roots()
        read = [x for i in graph.live(roots) if graph.op[i] >= ADD for x in (graph.a[i], graph.b[i])]
        uses = Counter([*roots, *read])
        adds = {unit[0] for unit in order if len(unit) == 1 and graph.op[unit[0]] == ADD}
        inner = {x for i in adds for x in (graph.a[i], graph.b[i]) if x in adds and uses[x] == 1}
        sums: dict[int, PartialSum] = {}
        for i in adds - inner if self.lanes > 2 else ():  # of two threads, each reads the other as fast
            terms, chain, waiting = list[int](), list[int](), [i]
            while waiting:
                x = waiting.pop()
                if x == i or x in inner:
                    chain.append(x)
                    waiting += graph.a[x], graph.b[x]
                else:
                    terms.append(x)
            units = {self.unit_of.get(x, (x,)) for x in terms}
            whole = [u for u in units if 1 < len({*u}) == self.lanes and all(terms.count(x) == 1 for x in u)]
            if whole:
                twins = {x for unit in whole for x in unit}
                sums |= {x: PartialSum(twins, sorted(whole) if x == i else []) for x in chain}
        return sums

    def _compute(self, unit: Unit) -> None:
        graph = self.graph
        op = graph.op[unit[0]]
        if unit[0] in self.sums:
            self._add_twins(unit[0])
            return
        a = self._value(tuple(graph.a[i] for i in unit))
        if op in OPERATOR:
            self._keep(unit, f"{a} {OPERATOR[op]} {self._value(tuple(graph.b[i] for i in unit))}")
        elif op == DIV:
            b = self._value(tuple(graph.b[i] for i in unit))
            is_one = all(graph.op[graph.a[i]] == CONST and graph.value[graph.a[i]] == 1.0 for i in unit)
            self._keep(unit, f"reciprocal({b})" if is_one else f"{a} * reciprocal({b})")
        elif op in (SIN, COS):
            self._sine_and_cosine(unit, op)
        else:
            self._keep(unit, {NEG: f"-{a}", SQRT: f"root({a})", ATAN: f"arctangent({a})", STEP: f"reached({a})"}[op])

    def _add_twins(self, i: int) -> None:
        """Partial sums hold the other terms alone; there may be none."""
        twins, whole = self.sums[i]
        others = [x for x in (self.graph.a[i], self.graph.b[i]) if x not in twins]
        terms = [self._value((x,)) for x in others if x not in self.sums or (x,) in self.names]
        terms += [f"total({self._value(unit)})" for unit in whole]
        if len(terms) == 1 and not whole:
            self.names[i,] = terms[0]
        elif terms:
            self._keep((i,), " + ".join(terms))

    def _loop(self, loop: Loop) -> None:
        """The last run, as often as there are runs. Names with `v` are variables: what a turn leaves to the next one,
        and what is read after the loop."""
        self._read_before(loop)
        variables = {place: self._variable(nodes) for place, nodes in _starts(loop).items()}
        starts = [*variables]
        variables |= {place: self._variable(()) for place in sorted({*loop.kept, *loop.former}.difference(starts))}
        former = {place: self._variable(()) for place in loop.former}
        self.lines.append(f"{LOOP}({loop.turns});")
        names = dict(self.names)
        self.names |= {loop.before_last[place]: variables[place] for place in starts}
        for unit in loop.last:
            self._compute(unit)
        self.lines += [f"{name} = {variables[place]};" for place, name in former.items()]
        self.lines += [f"{name} = {self.names[loop.last[place]]};" for place, name in variables.items()]
        self.lines.append(END_OF_LOOP)
        self.names = names
        for places, run, found in ((loop.former, loop.before_last, former), (loop.kept, loop.last, variables)):
            for place in places:
                self._keep(run[place], found[place])

    def _read_before(self, loop: Loop) -> None:
        """Have what does not change from turn to turn in registers."""
        inside = {i for unit in loop.units for i in unit}
        for unit in loop.last:
            for side in (self.graph.a, self.graph.b):
                nodes = tuple(side[i] for i in unit)
                if nodes[0] >= 0 and inside.isdisjoint(nodes):
                    self._value(nodes)

    def _variable(self, nodes: Unit) -> str:
        """The name of a new variable with the value of these nodes, or 0."""
        value = self._value(nodes) if nodes else "0"
        name = f"v{next(self._numbers)}"
        self.lines.append(f"Real {name} = {value};")
        return name

    def _sine_and_cosine(self, unit: Unit, op: int) -> None:
        """Both at once: the other one is often used too, and costs little."""
        angle = tuple(self.graph.a[i] for i in unit)
        key = (-1, *angle)
        if key not in self.names:
            name = self.names[key] = f"t{next(self._numbers)}"
            self.lines.append(f"Real {name}s, {name}c; turn({self._value(angle)}, &{name}s, &{name}c);")
        self.names[unit] = self.names[key] + ("s" if op == SIN else "c")

    def _places(self) -> dict[Unit, dict[int, list[list[int]]]]:
        """Where results go: for each unit and output the offsets of each of its nodes, in the order of the outputs."""
        found: dict[Unit, dict[int, list[list[int]]]] = {}
        for k, roots in enumerate(self.program.roots):
            for offset, r in enumerate(roots):
                unit = self.unit_of.get(r, (r,))
                copies = found.setdefault(unit, {}).setdefault(k, [[] for _ in unit])
                copies[unit.index(r)].append(offset)
        return found

    def _store(self, unit: Unit, places: dict[int, list[list[int]]]) -> None:
        """Each thread stores its own number; a number that all have is stored by one of them."""
        for k, offsets in places.items():
            value = self._value(unit)
            self.lines.append(f"CHECK({value});")
            for turn in range(max(len(o) for o in offsets)):
                lanes = [lane for lane, o in enumerate(offsets) if turn < len(o)]
                wanted = tuple(
                    offsets[lane][turn] if lane in lanes else offsets[lanes[0]][turn] for lane in range(len(unit))
                )
                if len(unit) == 1:
                    mask = 1 << (wanted[0] % self.lanes)
                else:
                    mask = sum(1 << lane for lane in lanes)
                self.lines.append(f"STORE(y{k}, {self._place(wanted)}, {mask}, {value});")

    # Text

    def spill_to_shared(self, limits: Limits, tile: int) -> int:
        """Spill live values to shared memory behind a tile of so many bytes; returns the slots of a thread."""
        size, resident = self.dtype.itemsize, self.form.resident
        tables = sum({"int": 4}.get(kind, size) * count for kind, _, count in self._shared())
        slots = max(0, limits.spill_memory(resident) - -(-(tables + tile) // SPILL_BLOCK)) // size
        spills = SharedSpills(self.lines, limits.live_registers(self.dtype, resident) * 4 // size, slots)
        self.lines = [f"SPILL_MEMORY({tile});", *spills.lines]
        return spills.slots

    def text(self) -> str:
        inputs = [f"const Number *__restrict__ x{k}_" for k in range(len(self.program.inputs))]
        outputs = [f"Number *__restrict__ y{k}_" for k in range(len(self.program.outputs))]
        strides = [f"long long s{k}" for k in range(len(self.program.inputs))]
        listed = ["const int *chosen"] * self.form.listed
        parameters = ", ".join([*inputs, *outputs, "unsigned char *bad", "long long batch", *strides, *listed])
        lines = ["LEAVE;", *(f"SHARED({kind}, {name}, {size});" for kind, name, size in self._shared())]
        lines += ["BEGIN(batch);"]
        for k, spec in enumerate(self.program.inputs):
            lines.append(f"BETWEEN(x{k}, x{k}_, {spec.size});" if spec.name == BETWEEN else f"ROWS(x{k}, x{k}_, s{k});")
            if self.prefetches and spec.name != BETWEEN and spec.size:
                lines.append(f"PREFETCH(x{k}, {spec.size});")
        opened, closed = self._result_pointers()
        body = "\n".join(f"    {line}" for line in [*lines, *opened, *self.lines, "FINISH(bad);", *closed])
        step, pitch, rows = self._table_rows()
        words = {"ROWS": int(self.form.layout == "rows"), "RESULTS": RESULT_LAYOUTS.index(self.form.results)}
        words |= {"LANES": self.lanes, "LISTED": int(self.form.listed), "STEP": step, "PITCH": pitch}
        tables = _table("Number", "tables", rows) + _table("int", "offsets", list(self.offsets))
        bounds = f"BLOCK_OF({SPILL_BLOCK}, {self.form.resident}) " if self.form.resident else ""
        begin = head(self.dtype, **words) + tables
        return f'{begin}\nextern "C" __global__ {bounds}void {ENTRY}({parameters})\n{{\n{body}\n}}\n'

    def _result_pointers(self) -> tuple[list[str], list[str]]:
        """Where results go, and what brings them from shared memory to their place."""
        sizes = [a.size for a in self.program.outputs]
        if not self.form.staged:
            return [f"RESULTS(y{k}, y{k}_, {size});" for k, size in enumerate(sizes)], []
        opened, closed, first = ["TILES;"], ["__syncthreads();"], "0"
        for k, size in enumerate(sizes):
            opened.append(f"TILE(y{k}, {first}, {_pitch(size)});")
            if size:
                closed.append(f"FLUSH(y{k}_, {first}, {_pitch(size)}, {size});")
            first = f"{first} + tile_rows * {_pitch(size)}"
        return opened, closed

    def _table_rows(self) -> tuple[int, int, list[tuple[str, ...]]]:
        """The distance of numbers that differ between twins, that of their threads, and the numbers as they lie.

        Of more than two threads each has its numbers side by side, in banks of its own, and reads up to four at once.
        """
        count = len(self.tables)
        if self.lanes <= 2 or not count:
            return self.lanes, 1, [*self.tables]
        pitch = count + (4 - count) % 32
        return 1, pitch, [(*numbers, *["0"] * (pitch - count)) for numbers in zip(*self.tables, strict=True)]

    def _shared(self) -> list[tuple[str, str, int]]:
        sizes = {"tables": sum(map(len, self._table_rows()[2])), "offsets": self.lanes * len(self.offsets)}
        return [(kind, name, sizes[name]) for kind, name in (("Number", "tables"), ("int", "offsets")) if sizes[name]]


def _starts(loop: Loop) -> dict[int, Unit]:
    """By places in a run: the nodes whose values start the loop; a thread that none reads has those of another."""
    known: dict[int, dict[int, int]] = {}
    for (place, k), i in sorted(loop.start.items()):
        known.setdefault(place, {})[k] = i
    return {
        place: tuple(nodes.get(k, min(nodes.values())) for k in range(len(loop.last[place])))
        for place, nodes in known.items()
    }


def _table(kind: str, name: str, rows: Sequence[tuple[Any, ...]]) -> str:
    if not rows:
        return ""
    numbers = ", ".join(str(x) for row in rows for x in row)
    return f"CONSTANT {kind} {name}_[] = {{{numbers}}};\n"
