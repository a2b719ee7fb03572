"""Program -> LLVM IR: chunked straight-line code, W configurations side by side.

The module exports one function, the ABI of all compiled code in Bough:

    int64_t entry(void **arrays, int64_t batch, void *context)

`arrays` are the C-contiguous inputs, then the outputs, each (batch, size). With W lanes, a step gathers W
rows into columns in the workspace, runs the chunks on vectors, and scatters the outputs. With one
lane the chunks read and write the user's rows themselves, and only sines and cosines use vectors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bough.compile.expr import ADD, CONST, DIV, MUL, NEG, SQRT, SUB, Program
from bough.compile.ir import Block, Kind
from bough.compile.llvm_lanes import covering_windows, lane_functions, zero_windows
from bough.compile.llvm_sincos import sincos_function
from bough.compile.plan import Place, Plan

ENTRY = "entry"
CHUNK = 2000
MNEMONIC = {ADD: "fadd contract", SUB: "fsub contract", MUL: "fmul contract", DIV: "fdiv", NEG: "fneg"}


def emit(program: Program, dtype: np.dtype, lanes: int, width: int, chunk: int = CHUNK) -> str:
    """The module as text. `lanes` rows go side by side; `width` is the number of scalars in a vector register."""
    return Emitter(program, Kind.of(dtype, lanes), Kind.of(dtype, max(lanes, width)), chunk).module()


class Emitter:
    """One module for one program: `kind` is the type of a value, `pack` that of a group of angles."""

    def __init__(self, program: Program, kind: Kind, pack: Kind, chunk: int) -> None:
        self.program, self.kind, self.pack = program, kind, pack
        self.arrays = (*program.inputs, *program.outputs)
        self.plan = Plan(program, chunk, pack.lanes // kind.lanes)
        self.cleared = [self._cleared_windows(roots) for roots in program.roots]
        self.skipped = [{c for start in starts for c in range(start, start + kind.lanes)} for starts in self.cleared]
        self.plan.place_outputs(self.skipped)
        self.columns = [self.plan.reserve(x.size) for x in self.arrays] if kind.lanes > 1 else []

    def module(self) -> str:
        """Intrinsics and helpers, then the chunks, then the entry point."""
        T = self.kind.type
        parts = [f"declare {T} @llvm.sqrt.{self.kind.suffix}({T})"]
        if any(stage.angles for stage in self.plan.stages):
            parts.append(sincos_function(self.pack))
        if self.kind.lanes > 1:
            parts.append(lane_functions(self.kind))
        number = 0
        for stage in self.plan.stages:
            for operations in stage.chunks:
                last = operations is stage.chunks[-1]
                parts.append(self._chunk_function(number, operations, self.plan.copies(stage) if last else []))
                number += 1
        parts.append(self._entry_function())
        return "\n".join(parts)

    def _cleared_windows(self, roots: tuple[int, ...]) -> list[int]:
        """Windows of an output that hold only the constant 0: cleared in the rows, never computed in columns."""
        graph = self.program.graph
        zero = [graph.op[r] == CONST and graph.value[r] == 0.0 for r in roots]
        return zero_windows(zero, self.kind.lanes) if self.kind.lanes > 1 else []

    def _parameters(self, attributes: str = "") -> str:
        names = ("%m", *(f"%x{k}" for k in range(len(self.arrays))))
        return ", ".join(f"ptr {attributes}{name}" for name in names)

    def _pointer(self, place: Place) -> str:
        base = "%m" if place.array < 0 else f"%x{place.array}"
        return f"getelementptr {self.kind.type}, ptr {base}, i64 {place.offset}"

    def _chunk_function(self, number: int, operations: list[int], copies: list[int]) -> str:
        graph, T = self.program.graph, self.kind.type
        lines: list[str] = []
        names: dict[int, str] = {}
        value = self._operands(lines, names)
        for i in operations:
            op, a, b = graph.op[i], graph.a[i], graph.b[i]
            if op == SQRT:
                lines.append(f"%v{i} = call {T} @llvm.sqrt.{self.kind.suffix}({T} {value(a)})")
            else:
                operands = value(a) if b < 0 else f"{value(a)}, {value(b)}"
                lines.append(f"%v{i} = {MNEMONIC[op]} {T} {operands}")
            names[i] = f"%v{i}"
            self._store(lines, i, names[i])
        for i in copies:
            self._store(lines, i, value(i))
        head = f"define internal void @chunk{number}({self._parameters('noalias ')}) noinline nounwind {{"
        return "\n".join([head, *lines, "ret void", "}"])

    def _operands(self, lines: list[str], names: dict[int, str]) -> Callable[[int], str]:
        """A function from a node to its name in the chunk; constants are literals, other strangers are loaded once."""
        graph, T = self.program.graph, self.kind.type

        def value(i: int) -> str:
            if i not in names:
                if graph.op[i] == CONST:
                    names[i] = self.kind.const(graph.value[i])
                else:
                    lines.append(f"%p{i} = {self._pointer(self.plan.source[i])}")
                    lines.append(f"%v{i} = load {T}, ptr %p{i}")
                    names[i] = f"%v{i}"
            return names[i]

        return value

    def _store(self, lines: list[str], i: int, value: str) -> None:
        for k, place in enumerate(self.plan.targets.get(i, ())):
            lines.append(f"%s{i}.{k} = {self._pointer(place)}")
            lines.append(f"store {self.kind.type} {value}, ptr %s{i}.{k}")

    def _entry_function(self) -> str:
        b = Block()
        b.label("entry")
        b.do(f"%m = alloca [{max(1, self.plan.size)} x {self.kind.type}], align 64")
        for k in range(len(self.arrays)):
            b.do(f"%a{k} = load ptr, ptr {b(f'getelementptr ptr, ptr %arrays, i64 {k}')}")
        for k, column in enumerate(self.columns):
            b.do(f"%x{k} = {self._pointer(Place(-1, column))}")
        self._clear_padding(b)
        b.do("%last = sub i64 %batch, 1")
        b.do("%any = icmp sgt i64 %batch, 0")
        b.do("br i1 %any, label %step, label %end")
        b.label("step")
        b.do("%row = phi i64 [ 0, %entry ], [ %row.after, %step ]")
        tables = self._gather_compute_scatter(b) if self.kind.lanes > 1 else self._compute_in_place(b)
        b.do(f"%row.after = add i64 %row, {self.kind.lanes}")
        b.do("%more = icmp slt i64 %row.after, %batch")
        b.do("br i1 %more, label %step, label %end")
        b.label("end")
        b.do("ret i64 0")
        head = f"define i64 @{ENTRY}(ptr %arrays, i64 %batch, ptr %context) nounwind {{"
        return "\n".join([*tables, head, b.text(), "}"])

    def _clear_padding(self, b: Block) -> None:
        """Angles that only fill up a group must be moderate numbers."""
        for stage in self.plan.stages:
            for offset in range(len(stage.angles), stage.room):
                pointer = b(self._pointer(Place(-1, stage.first_angle + offset)))
                b.do(f"store {self.kind.type} {self.kind.const(0.0)}, ptr {pointer}")

    def _compute_in_place(self, b: Block) -> list[str]:
        for k, array in enumerate(self.arrays):
            start = b(f"mul i64 %row, {array.size}")
            b.do(f"%x{k} = getelementptr {self.kind.type}, ptr %a{k}, i64 {start}")
        self._compute(b)
        return []

    def _gather_compute_scatter(self, b: Block) -> list[str]:
        """Rows to columns, the chunks, columns to rows; returns the tables of windows that the calls refer to."""
        n_inputs = len(self.program.inputs)
        tables = [self._move(b, "gather", k, set()) for k in range(n_inputs)]
        self._compute(b)
        for output, (starts, skipped) in enumerate(zip(self.cleared, self.skipped, strict=True)):
            tables.append(self._move(b, "scatter", n_inputs + output, skipped))
            tables.append(self._call_mover(b, "clear", n_inputs + output, starts))
        return tables

    def _move(self, b: Block, name: str, k: int, skipped: set[int]) -> str:
        size, lanes = self.arrays[k].size, self.kind.lanes
        if size < lanes:
            return self._call_mover(b, f"{name}_narrow", k, list(range(size)))
        return self._call_mover(b, name, k, covering_windows(size, lanes, skipped))

    def _call_mover(self, b: Block, name: str, k: int, starts: list[int]) -> str:
        if not starts:
            return ""
        place = f"ptr %a{k}, ptr %x{k}, i64 {self.arrays[k].size}, i64 %row, i64 %last"
        b.do(f"call void @{name}({place}, ptr @{name}{k}, i64 {len(starts)})")
        return f"@{name}{k} = internal constant [{len(starts)} x i32] [{', '.join(f'i32 {c}' for c in starts)}]"

    def _compute(self, b: Block) -> None:
        """The chunks of every stage, and the sines and cosines between them."""
        number = 0
        for stage in self.plan.stages:
            for _ in stage.chunks:
                b.do(f"call void @chunk{number}({self._parameters()})")
                number += 1
            if stage.angles:
                rows = (stage.first_angle, stage.first_sine, stage.first_cosine)
                pointers = ", ".join(f"ptr {b(self._pointer(Place(-1, first)))}" for first in rows)
                vectors = stage.room * self.kind.lanes // self.pack.lanes
                b.do(f"call void @sines_and_cosines({pointers}, i64 {vectors})")
