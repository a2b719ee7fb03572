"""Program -> LLVM IR: chunked straight-line code, W configurations side by side.

The module exports one function, the ABI of all compiled code in Bough:

    int64_t entry(void **arrays, int64_t batch, void *context)

`arrays` are the C-contiguous inputs, then the outputs, each (batch, size). With W lanes, a step gathers W
rows into columns in the workspace (of wide arrays the chunks do that, for what they use), runs the chunks
on vectors, and scatters the outputs. With one
lane the chunks read and write the user's rows themselves, and only sines and cosines use vectors. It returns 1 if
all outputs are known to be finite, and 0 if one is not, or was not checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from bough.compile.emit.llvm_chunk import Chunk, pointer, room_for_moves, rowwise_inputs, square_roots
from bough.compile.emit.llvm_lanes import (
    PREFETCH,
    all_finite,
    covering_windows,
    lane_functions,
    row_pointers,
    total,
    zero_windows,
)
from bough.compile.emit.llvm_trigonometry import atan_function, sincos_function
from bough.compile.emit.plan import Place, Plan
from bough.compile.graph.expr import ATAN, CONST
from bough.compile.graph.program import Program, Unit
from bough.compile.ir import Instructions, Kind

ENTRY = "entry"
CHUNK = 2000


def emit(
    program: Program,
    dtype: np.dtype,
    lanes: int,
    width: int,
    chunk: int = CHUNK,
    parts: int = 0,
    units: Sequence[Unit] | None = None,
    kept: Collection[int] = (),
) -> Iterator[str]:
    """The modules as text, one after another: so many that hold the chunks, and last that of the entry with the rest.

    `lanes` rows go side by side; `width` is the number of scalars in a vector register. With one lane, `units` may say
    which operations of the row go side by side, and the order. With several, the arrays `kept` are those of one step in
    columns, a vector for each element.
    """
    kinds = Kind.of(dtype, lanes), Kind.of(dtype, max(lanes, width))
    return Emitter(program, *kinds, units, chunk, kept).modules(parts)


class Emitter:
    """One module for one program: `kind` is the type of a value, `pack` that of a group of angles."""

    def __init__(
        self,
        program: Program,
        kind: Kind,
        pack: Kind,
        units: Sequence[Unit] | None,
        chunk: int,
        kept: Collection[int] = (),
    ) -> None:
        self.program, self.kind, self.pack = program, kind, pack
        self.arrays = (*program.inputs, *program.outputs)
        self.kept = frozenset(kept)
        self.plan = Plan(program, room_for_moves(program, kind, chunk), pack.lanes // kind.lanes, units)
        self.moved = kind if kind.lanes > 1 else pack  # cleared, stored or checked together
        self.window = self.moved.lanes
        outputs = enumerate(program.roots, len(program.inputs))
        self.cleared = [[] if k in self.kept else self._cleared_windows(roots) for k, roots in outputs]
        self.skipped = [{c for start in starts for c in range(start, start + self.window)} for starts in self.cleared]
        # the caller checks a single row, unless much of it is zero
        is_wide = all(x.size >= pack.lanes > 1 for x in program.outputs)
        self.looks = kind.lanes > 1 or (is_wide and any(self.cleared))
        self.plan.place_outputs(self.skipped)
        self.rowwise = rowwise_inputs(self.plan, kind) - self.kept
        self.columns = {k: self.plan.reserve(x.size) for k, x in enumerate(self.arrays) if self._has_columns(k)}

    def _has_columns(self, k: int) -> bool:
        """Whether a transposed copy of array k lies in the workspace."""
        return self.kind.lanes > 1 and k not in self.rowwise and k not in self.kept

    def modules(self, parts: int) -> Iterator[str]:
        """Intrinsics and helpers, then the chunks, then the entry point; the chunks in modules of their own if any."""
        numbered = list(enumerate(self.chunks()))
        share = -(-len(numbered) // parts) if parts else len(numbered)
        for first in range(0, len(numbered), share) if parts else ():
            own = [self._chunk_function(k, *chunk, "") for k, chunk in numbered[first : first + share]]
            yield "\n".join([*self._functions(), *own])
        whole = self._functions()
        if any(stage.angles for stage in self.plan.stages):
            whole.append(sincos_function(self.pack))
        if self.kind.lanes > 1:
            whole.append(lane_functions(self.kind))
        if parts:
            whole += [f"declare void @chunk{k}({self._parameters()})" for k, _ in numbered]
        else:
            whole += [self._chunk_function(k, *chunk, "internal ") for k, chunk in numbered]
        yield "\n".join([*whole, self._entry_function()])

    def _functions(self) -> list[str]:
        """Functions that chunks call."""
        found = square_roots(self.plan, self.kind)
        if any(self.program.graph.op[i] == ATAN for i in self.plan.live):
            found.append(atan_function(self.kind))
        if self.rowwise:
            found.append(PREFETCH)
        return found

    def chunks(self) -> Iterator[tuple[list[Unit], list[int]]]:
        """Units, and the numbers to be copied after them."""
        for stage in self.plan.stages:
            for units in stage.chunks:
                yield units, self.plan.copies(stage) if units is stage.chunks[-1] else []

    def _cleared_windows(self, roots: tuple[int, ...]) -> list[int]:
        """Windows of an output that hold only the constant 0: cleared in the rows, never computed."""
        graph = self.program.graph
        return zero_windows([graph.op[r] == CONST and graph.value[r] == 0.0 for r in roots], self.window)

    def _parameters(self, attributes: str = "") -> str:
        names = ("%m", *(f"%x{k}" for k in range(len(self.arrays))))
        return ", ".join(f"ptr {attributes}{name}" for name in names)

    def _chunk_function(self, number: int, units: list[Unit], copies: list[int], linkage: str) -> str:
        head = f"define {linkage}void @chunk{number}({self._parameters('noalias ')}) noinline nounwind {{"
        return "\n".join([head, *self.chunk_lines(units, copies), "  ret void", "}"])

    def chunk_lines(self, units: list[Unit], copies: list[int]) -> list[str]:
        """The instructions of a chunk."""
        chunk = Chunk(self.plan, self.kind, self.rowwise)
        for unit in units:
            chunk.compute(unit)
        for i in copies:
            chunk.store(i)
        return chunk.b.lines

    def _entry_function(self) -> str:
        b = Instructions()
        b.label("entry")
        b.do(f"%m = alloca [{max(1, self.plan.size)} x {self.kind.type}], align 64")
        for k in range(len(self.arrays)):
            b.do(f"%a{k} = load ptr, ptr {b(f'getelementptr ptr, ptr %arrays, i64 {k}')}")
        for k, column in self.columns.items():
            b.do(f"%x{k} = {pointer(self.kind, Place(-1, column))}")
        for k in sorted(self.rowwise):
            b.do(f"%x{k} = alloca [{self.kind.lanes} x ptr]")
        for k in sorted(self.kept):
            b.do(f"%x{k} = getelementptr i8, ptr %a{k}, i64 0")
        self._clear_padding(b)
        b.do("%last = sub i64 %batch, 1")
        b.do("%any = icmp sgt i64 %batch, 0")
        b.do("br i1 %any, label %step, label %none")
        b.label("none")
        b.do("ret i64 1")
        b.label("step")
        b.do("%row = phi i64 [ 0, %entry ], [ %row.after, %step ]")
        b.do(f"%sum = phi {self.moved.type} [ zeroinitializer, %entry ], [ %sum.after, %step ]")
        tables = self._gather_compute_scatter(b) if self.kind.lanes > 1 else self._compute_in_place(b)
        b.do(f"%row.after = add i64 %row, {self.kind.lanes}")
        b.do("%more = icmp slt i64 %row.after, %batch")
        b.do("br i1 %more, label %step, label %end")
        b.label("end")
        b.do(f"ret i64 {all_finite(b, self.moved, '%sum.after') if self.looks else 0}")
        head = f"define i64 @{ENTRY}(ptr %arrays, i64 %batch, ptr %context) nounwind {{"
        return "\n".join([*tables, head, b.text(), "}"])

    def _clear_padding(self, b: Instructions) -> None:
        """Moderate numbers for angles that pad a group, and for columns that are moved with their neighbours."""
        padding = [
            c
            for stage in self.plan.stages
            for c in range(stage.first_angle + len(stage.angles), stage.first_angle + stage.room)
        ]
        for k, skipped in enumerate(self.skipped, len(self.program.inputs)):
            if k in self.columns and self.arrays[k].size >= self.kind.lanes:
                starts = covering_windows(self.arrays[k].size, self.kind.lanes, skipped)
                moved = {c for start in starts for c in range(start, start + self.kind.lanes)}
                padding += [self.columns[k] + c for c in sorted(moved & skipped)]
        for place in padding:
            address = b(pointer(self.kind, Place(-1, place)))
            b.do(f"store {self.kind.type} {self.kind.const(0.0)}, ptr {address}")

    def _compute_in_place(self, b: Instructions) -> list[str]:
        for k, array in enumerate(self.arrays):
            start = b(f"mul i64 %row, {array.size}")
            b.do(f"%x{k} = getelementptr {self.kind.type}, ptr %a{k}, i64 {start}")
        for k, starts in enumerate(self.cleared, len(self.program.inputs)):
            for column in starts:
                address = b(pointer(self.kind, Place(k, column)))
                b.do(f"store {self.pack.type} zeroinitializer, ptr {address}, align {self.kind.bytes}")
        self._compute(b)
        b.do(f"%sum.after = fadd {self.pack.type} zeroinitializer, {self._sum_of_row(b)}")
        return []

    def _sum_of_row(self, b: Instructions) -> str:
        """%sum and all stored numbers but zeros, in four sums that do not wait for each other."""
        pack, sums = self.pack, ["%sum", *["zeroinitializer"] * 3]
        for k, skipped in enumerate(self.skipped if self.looks else (), len(self.program.inputs)):
            for start in covering_windows(self.arrays[k].size, pack.lanes, skipped):
                x = b(f"load {pack.type}, ptr {b(pointer(self.kind, Place(k, start)))}, align {self.kind.bytes}")
                sums.append(b(f"fadd {pack.type} {sums.pop(0)}, {x}"))
        return total(b, pack, sums)

    def _gather_compute_scatter(self, b: Instructions) -> list[str]:
        """Rows to columns, the chunks, columns to rows; returns the tables of windows that the calls refer to."""
        n_inputs = len(self.program.inputs)
        for k in sorted(self.rowwise):
            for lane, row in enumerate(row_pointers(b, self.kind, f"%a{k}", self.arrays[k].size)):
                b.do(f"store ptr {row}, ptr {b(f'getelementptr ptr, ptr %x{k}, i64 {lane}')}")
        tables = [self._move(b, "gather", k, set())[1] for k in range(n_inputs) if k in self.columns]
        self._compute(b)
        sums = ["%sum"]
        for k, (starts, skipped) in enumerate(zip(self.cleared, self.skipped, strict=True), n_inputs):
            if k in self.columns:
                for moved, table in (self._move(b, "scatter", k, skipped), self._call_mover(b, "clear", k, starts)):
                    sums.append(moved)
                    tables.append(table)
        b.do(f"%sum.after = fadd {self.kind.type} zeroinitializer, {total(b, self.kind, sums)}")
        return tables

    def _move(self, b: Instructions, name: str, k: int, skipped: set[int]) -> tuple[str, str]:
        size, lanes = self.arrays[k].size, self.kind.lanes
        if size < lanes:
            return self._call_mover(b, f"{name}_narrow", k, list(range(size)))
        return self._call_mover(b, name, k, covering_windows(size, lanes, skipped))

    def _call_mover(self, b: Instructions, name: str, k: int, starts: list[int]) -> tuple[str, str]:
        """The return value, and the table that it refers to."""
        if not starts:
            return "zeroinitializer", ""
        place = f"ptr %a{k}, ptr %x{k}, i64 {self.arrays[k].size}, i64 %row, i64 %last"
        moved = b(f"call {self.kind.type} @{name}({place}, ptr @{name}{k}, i64 {len(starts)})")
        table = ", ".join(f"i32 {c}" for c in starts)
        return moved, f"@{name}{k} = internal constant [{len(starts)} x i32] [{table}]"

    def _compute(self, b: Instructions) -> None:
        """The chunks of every stage, and the sines and cosines between them."""
        number = 0
        for stage in self.plan.stages:
            for _ in stage.chunks:
                b.do(f"call void @chunk{number}({self._parameters()})")
                number += 1
            if stage.angles:
                rows = (stage.first_angle, stage.first_sine, stage.first_cosine)
                pointers = ", ".join(f"ptr {b(pointer(self.kind, Place(-1, first)))}" for first in rows)
                vectors = stage.room * self.kind.lanes // self.pack.lanes
                b.do(f"call void @sines_and_cosines({pointers}, i64 {vectors})")
