"""A program whose outputs stay in SIMD lanes, followed by short programs, each for a row of a result.

If a result has many rows of a few kinds, straight-line code for all of them would be long, and run once for every few
configurations. Here each kind has its own code, which stays in the cache with its operands.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from bough.compile.emit import llvm
from bough.compile.emit.llvm import Emitter
from bough.compile.emit.llvm_lanes import PREFETCH, all_finite, covering_windows, row_pointers, total
from bough.compile.graph.program import Array, Program
from bough.compile.graph.schedule import optimise
from bough.compile.ir import Instructions, Kind, transpose

PARAMETERS = ", ".join(f"ptr noalias %{name}" for name in ("m", "x0", "x1", "x2", "before", "to", "sum"))


class ResultRow(NamedTuple):
    """A row of a result: the programs that compute it in turn, from the numbers from `first` on, and its place."""

    programs: tuple[int, ...]
    first: int
    result: int
    row: int


@dataclass(frozen=True)
class RowPrograms:
    """Programs (each of a part of the first output or the result before, and all of the second), and their rows."""

    programs: tuple[Program, ...]
    rows: tuple[ResultRow, ...]
    results: tuple[Array, ...]  # (n, n) each

    @property
    def n(self) -> int:
        return self.results[0].shape[-1]

    @property
    def runs(self) -> list[tuple[tuple[int, ...], list[ResultRow]]]:
        """Rows of one kind that are contiguous in memory, so that the next one is prefetched."""
        ordered = sorted(self.rows, key=lambda row: (row.result, row.row))
        return [(programs, list(rows)) for programs, rows in groupby(ordered, lambda row: row.programs)]


def emit(program: Program, after: RowPrograms, dtype: np.dtype, lanes: int, text: str) -> str:
    """The module: `text` is that of the program with outputs in columns. One without its entry is unchanged."""
    if f"@{llvm.ENTRY}(" not in text:
        return text
    return _Writer(program, after, Kind.of(dtype, lanes)).module(text)


class _Writer:
    """The functions of one module.

    @row<k> computes a row of a result in lanes, and meanwhile transposes the row before to its place: that uses other
    execution units than arithmetic.
    """

    def __init__(self, program: Program, after: RowPrograms, kind: Kind) -> None:
        self.program, self.after, self.kind, self.n = program, after, kind, after.n
        self.runs = after.runs
        last = {programs[-1] for programs, _ in self.runs}
        self.functions = [self._functions(k, p, k in last) for k, p in enumerate(after.programs)]

    def module(self, text: str) -> str:
        inner = text.replace(f"define i64 @{llvm.ENTRY}(", "define internal i64 @program(")
        bodies = [body for _, _, body in self.functions]
        prefetch = () if PREFETCH in inner else (PREFETCH,)
        return "\n".join([inner, *prefetch, *bodies, self._transposing_alone(), self._tables(), self._entry()])

    def _functions(self, number: int, program: Program, last: bool) -> tuple[int, int, str]:
        """The number of functions @row<number>_<k>, the space for values between them, and their text."""
        arrays = range(len(program.inputs) + len(program.outputs))
        emitter = Emitter(optimise(program), self.kind, self.kind, None, llvm.CHUNK, arrays)
        bodies = []
        for k, (units, copies) in enumerate(emitter.chunks()):
            lines = emitter.chunk_lines(units, copies)
            if k == 0 and last:
                lines = _between(lines, self._transposing().lines)
            head = f"define internal void @row{number}_{k}({PARAMETERS}) noinline nounwind {{"
            bodies.append("\n".join([head, *lines, "  ret void", "}"]))
        return len(bodies), emitter.plan.size, "\n".join(bodies)

    def _transposing(self) -> Instructions:
        """The row of all lanes at %before to the addresses in %to, and its numbers to the sum at %sum."""
        b, kind = Instructions("s"), self.kind
        rows = [b(f"load ptr, ptr {b(f'getelementptr ptr, ptr %to, i64 {lane}')}") for lane in range(kind.lanes)]
        for row in rows:
            for k in range(0, self.n * kind.bytes, 64):
                ahead = b(f"getelementptr i8, ptr {row}, i64 {2 * self.n * kind.bytes + k}")
                b.do(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 1, i32 3, i32 1)")
        sums = [b(f"load {kind.type}, ptr %sum")]
        windows = [(c, 1) for c in range(self.n)]
        if self.n >= kind.lanes:
            windows = [(start, kind.lanes) for start in covering_windows(self.n, kind.lanes)]
        end = 0
        for start, size in windows:
            places = (b(f"getelementptr {kind.type}, ptr %before, i64 {start + c}") for c in range(size))
            columns = [b(f"load {kind.type}, ptr {place}") for place in places]
            sums.append(total(b, kind, columns[end - start :]))
            end = start + size
            self._store_window(b, rows, start, columns)
        b.do(f"store {kind.type} {total(b, kind, sums)}, ptr %sum")
        return b

    def _store_window(self, b: Instructions, rows: list[str], start: int, columns: list[str]) -> None:
        """As many columns as lanes, or one."""
        kind = self.kind
        places = [b(f"getelementptr {kind.scalar}, ptr {row}, i64 {start}") for row in rows]
        if len(columns) == 1:
            for lane, at in enumerate(places):
                b.do(f"store {kind.scalar} {b(f'extractelement {kind.type} {columns[0]}, i64 {lane}')}, ptr {at}")
            return
        for at, x in zip(places, transpose(b, kind, columns), strict=True):
            b.do(f"store {kind.type} {x}, ptr {at}, align {kind.bytes}")

    def _transposing_alone(self) -> str:
        return "\n".join(
            [
                f"define internal void @finish({PARAMETERS}) noinline nounwind {{",
                self._transposing().text(),
                "  ret void",
                "}",
            ]
        )

    def _tables(self) -> str:
        """The rows of each run: first number, result, place in it."""
        lines = []
        for k, (_, rows) in enumerate(self.runs):
            numbers = ", ".join(f"i64 {x}" for row in rows for x in (row.first, row.result, row.row * self.n))
            lines.append(f"@rows{k} = internal constant [{3 * len(rows)} x i64] [{numbers}]")
        return "\n".join(lines)

    def _entry(self) -> str:
        """As many configurations as there are lanes, then their rows."""
        b, kind, program, n = Instructions(), self.kind, self.program, self.n
        count, last = len(program.inputs), len(self.runs)
        room = max(1, *(room for _, room, _ in self.functions))
        b.label("entry")
        for k, output in enumerate(program.outputs):
            b.do(f"%kept{k} = alloca [{max(1, output.size)} x {kind.type}], align 64")
        b.do(f"%x = alloca [{2 * n} x {kind.type}], align 64")
        b.do(f"%between = alloca [{max(p.outputs[0].size for p in self.after.programs)} x {kind.type}], align 64")
        b.do(f"%nowhere = alloca [{n} x {kind.scalar}], align 64")
        b.do(f"%to = alloca [{kind.lanes} x ptr]")
        b.do(f"%sum = alloca {kind.type}, align 64")
        b.do(f"store {kind.type} zeroinitializer, ptr %sum")
        for c in range(n, 2 * n):  # the row before the first
            b.do(f"store {kind.type} zeroinitializer, ptr {b(f'getelementptr {kind.type}, ptr %x, i64 {c}')}")
        b.do(f"%m = alloca [{room} x {kind.type}], align 64")
        b.do(f"%inner = alloca [{count + len(program.outputs)} x ptr]")
        for lane in range(kind.lanes):
            b.do(f"store ptr %nowhere, ptr {b(f'getelementptr ptr, ptr %to, i64 {lane}')}")
        for k in range(count):
            b.do(f"%a{k} = load ptr, ptr {b(f'getelementptr ptr, ptr %arrays, i64 {k}')}")
        for k in range(len(program.outputs)):
            b.do(f"store ptr %kept{k}, ptr {b(f'getelementptr ptr, ptr %inner, i64 {count + k}')}")
        b.do("%last = sub i64 %batch, 1")
        b.do("%any = icmp sgt i64 %batch, 0")
        b.do("br i1 %any, label %step, label %end")
        b.label("step")
        b.do(f"%row = phi i64 [ 0, %entry ], [ %row.after, %rows{last} ]")
        b.do(f"%side = phi i64 [ 0, %entry ], [ %side{last}, %rows{last} ]")
        for k, array in enumerate(program.inputs):
            at = b(f"getelementptr {kind.scalar}, ptr %a{k}, i64 {b(f'mul i64 %row, {array.size}')}")
            b.do(f"store ptr {at}, ptr {b(f'getelementptr ptr, ptr %inner, i64 {k}')}")
        now = b(f"call i64 @llvm.smin.i64(i64 {b('sub i64 %batch, %row')}, i64 {kind.lanes})")
        b(f"call i64 @program(ptr %inner, i64 {now}, ptr %context)")
        b.do("br label %rows0")
        for k in range(last):
            self._row_loop(b, k)
        b.label(f"rows{last}")
        b.do(f"%side{last} = phi i64 [ %side{last - 1}.after, %loop{last - 1} ]")
        b.do(f"%row.after = add i64 %row, {kind.lanes}")
        b.do("%more = icmp slt i64 %row.after, %batch")
        b.do("br i1 %more, label %step, label %finish")
        b.label("finish")
        before = b(f"getelementptr {kind.type}, ptr %x, i64 {b(f'sub i64 {n}, %side{last}')}")
        b.do(f"call void @finish(ptr %m, ptr %x, ptr %x, ptr %x, ptr {before}, ptr %to, ptr %sum)")
        b.do("br label %end")
        b.label("end")
        b.do(f"ret i64 {all_finite(b, kind, b(f'load {kind.type}, ptr %sum'))}")
        head = f"define i64 @{llvm.ENTRY}(ptr %arrays, i64 %batch, ptr %context) nounwind {{"
        return f"{head}\n{b.text()}\n}}"

    def _row_loop(self, b: Instructions, k: int) -> None:
        """The rows of run k; they and those before take turns in the two halves of %x."""
        kind, n, inputs = self.kind, self.n, len(self.program.inputs)
        programs, rows = self.runs[k]
        b.label(f"rows{k}")
        b.do(f"%side{k} = phi i64 " + ("[ %side, %step ]" if k == 0 else f"[ %side{k - 1}.after, %loop{k - 1} ]"))
        b.do(f"br label %loop{k}")
        b.label(f"loop{k}")
        b.do(f"%j{k} = phi i64 [ 0, %rows{k} ], [ %j{k}.after, %loop{k} ]")
        b.do(f"%side{k}.now = phi i64 [ %side{k}, %rows{k} ], [ %side{k}.after, %loop{k} ]")
        b.do(f"%side{k}.after = sub i64 {n}, %side{k}.now")
        at = b(f"getelementptr [3 x i64], ptr @rows{k}, i64 %j{k}")
        first, result, place = (b(f"load i64, ptr {b(f'getelementptr i64, ptr {at}, i64 {p}')}") for p in range(3))
        given = b(f"getelementptr {kind.type}, ptr %kept0, i64 {first}")
        x, before = (b(f"getelementptr {kind.type}, ptr %x, i64 %side{k}.{when}") for when in ("now", "after"))
        for p in programs:
            out = x if p == programs[-1] else "%between"
            for c in range(self.functions[p][0]):
                places = ("%m", given, "%kept1", out, before, "%to", "%sum")
                b.do(f"call void @row{p}_{c}({', '.join(f'ptr {x}' for x in places)})")
            given = out
        where = b(f"getelementptr ptr, ptr %arrays, i64 {b(f'add i64 {result}, {inputs}')}")
        to = b(f"getelementptr {kind.scalar}, ptr {b(f'load ptr, ptr {where}')}, i64 {place}")
        for lane, row in enumerate(row_pointers(b, kind, to, n * n)):
            b.do(f"store ptr {row}, ptr {b(f'getelementptr ptr, ptr %to, i64 {lane}')}")
        b.do(f"%j{k}.after = add i64 %j{k}, 1")
        b.do(f"%more{k} = icmp slt i64 %j{k}.after, {len(rows)}")
        b.do(f"br i1 %more{k}, label %loop{k}, label %rows{k + 1}")


def _between(lines: list[str], others: list[str]) -> list[str]:
    """Both, each in its order, evenly mixed."""
    found, share = [], len(others) / max(1, len(lines))
    for k, line in enumerate(lines):
        found += [line, *others[int(k * share) : int((k + 1) * share)]]
    return [*found, *others[int(len(lines) * share) :]]
