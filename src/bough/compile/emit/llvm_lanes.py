"""Rows of a batch to and from lanes, as LLVM IR.

Lane l of a step works on one row. `@gather` turns W rows into columns of W lanes, `@scatter` turns
columns back into rows: blocks of W x W numbers ("windows", named by their first column) are loaded row by
row and transposed in registers. Windows may overlap, so any width of at least W needs no remainder.
Arrays narrower than W are copied number by number. Lanes past the batch repeat its last row: nothing outside the
arrays is read, and they store what the last row stores anyway.

Scattered numbers are summed: if the sum is finite, all of them are.

Wide arrays of which a chunk reads a part are not gathered at all: chunks load and transpose what they use
(`columns_of_rows`) between arithmetic, which leaves the load units idle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce

from bough.compile.ir import Instructions, Kind, shuffle, transpose

PREFETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"  # what `columns_of_rows` calls
Body = Callable[[Instructions, Kind, list[str]], list[str]]  # the columns that it moved to results


def zero_windows(zero: Sequence[bool], lanes: int) -> list[int]:
    """First columns of disjoint windows in which every column is `zero`."""
    starts, column = [], 0
    while column + lanes <= len(zero):
        if all(zero[column : column + lanes]):
            starts.append(column)
            column += lanes
        else:
            column += 1
    return starts


def covering_windows(size: int, lanes: int, skipped: Collection[int] = ()) -> list[int]:
    """First columns of windows that together cover the columns not in `skipped` (needs size >= lanes)."""
    starts, column = [], 0
    while column < size:
        if column in skipped:
            column += 1
        else:
            starts.append(min(column, size - lanes))
            column += lanes
    return starts


def columns_of_rows(b: Instructions, kind: Kind, rows: Sequence[str], start: int, size: int) -> list[str]:
    """W / 2 columns from `start` of the W rows at these addresses, as vectors: half a window, with a round less.

    Two rows are loaded into one register, and its halves transposed side by side. The rows of
    the step after the next are prefetched into the second-level cache: the first is full.
    """
    W, n = kind.lanes, kind.lanes // 2
    half, both = Kind(kind.scalar, n), ", ".join(f"i32 {p}" for p in range(W))
    if start % W == 0:
        for row in rows:
            ahead = b(f"getelementptr {kind.scalar}, ptr {row}, i64 {start + 2 * W * size}")
            b.do(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 2, i32 1)")
    joined = []
    for pair in _joined_rows(n):
        places = [b(f"getelementptr {kind.scalar}, ptr {rows[k]}, i64 {start}") for k in pair]
        x, y = (b(f"load {half.type}, ptr {place}, align {kind.bytes}") for place in places)
        joined.append(b(f"shufflevector {half.type} {x}, {half.type} {y}, <{W} x i32> <{both}>"))
    if n == 2:
        return transpose(b, kind, joined)
    # all rounds but the last in each half of the registers; the last puts blocks end to end, which takes no table
    step = n // 2
    parts = transpose(b, kind, joined[:step]), transpose(b, kind, joined[step:])
    masks = [[p for p in range(2 * W) if (p // step) % 2 == odd] for odd in (0, 1)]
    return [shuffle(b, kind, pair, mask) for mask in masks for pair in zip(*parts, strict=True)]


def _joined_rows(n: int) -> list[tuple[int, int]]:
    """Pairs of 2 n rows for one register, so that the columns come out in the order of the rows."""
    if n == 2:
        return [(0, 2), (1, 3)]
    step = n // 2
    return [(first + k, first + step + k) for first in (0, n) for k in range(step)]


def row_pointers(b: Instructions, kind: Kind, rows: str, size: int | str) -> list[str]:
    """The addresses of the rows of a step in an array of `size` columns, from %row on and up to %last."""
    found = []
    for lane in range(kind.lanes):
        row = b(f"call i64 @llvm.smin.i64(i64 {b(f'add i64 %row, {lane}')}, i64 %last)")
        found.append(b(f"getelementptr {kind.scalar}, ptr {rows}, i64 {b(f'mul i64 {row}, {size}')}"))
    return found


def lane_functions(kind: Kind) -> str:
    """The five functions `@name(rows, columns, size, row, last, starts, n)`, each a loop over `starts`.

    `rows` is an array of `size` columns, lanes begin at `row`, `last` is the last row of the batch;
    `columns` is the transposed copy: column c is one vector. The sum of all columns that were scattered is returned.
    """
    bodies: dict[str, Body] = {
        "gather": _gather_window,
        "gather_narrow": _gather_column,
        "scatter": _scatter_window,
        "scatter_narrow": _scatter_column,
        "clear": _clear_window,
    }
    functions = (_loop(name, body, kind) for name, body in bodies.items())
    return "\ndeclare i64 @llvm.smin.i64(i64, i64)\n" + "\n".join(functions)


def _loop(name: str, body: Body, kind: Kind) -> str:
    b = Instructions()
    b.label("entry")
    rows = row_pointers(b, kind, "%rows", "%size")
    b.do("br label %next")
    b.label("next")
    b.do("%i = phi i64 [ 0, %entry ], [ %after, %next ]")
    b.do(f"%sum = phi {kind.type} [ zeroinitializer, %entry ], [ %sum.after, %next ]")
    start = b(f"load i32, ptr {b('getelementptr i32, ptr %starts, i64 %i')}")
    b.do(f"%column = sext i32 {start} to i64")
    moved = body(b, kind, [b(f"getelementptr {kind.scalar}, ptr {row}, i64 %column") for row in rows])
    b.do(f"%sum.after = fadd {kind.type} %sum, {total(b, kind, moved)}")
    b.do("%after = add i64 %i, 1")
    b.do("%more = icmp slt i64 %after, %n")
    b.do("br i1 %more, label %next, label %end")
    b.label("end")
    b.do(f"ret {kind.type} %sum.after")
    parameters = "ptr noalias %rows, ptr noalias %columns, i64 %size, i64 %row, i64 %last, ptr noalias %starts, i64 %n"
    return f"define internal {kind.type} @{name}({parameters}) noinline nounwind {{\n{b.text()}\n}}\n"


def total(b: Instructions, kind: Kind, columns: Sequence[str]) -> str:
    """The sum of vectors, one after another: it needs one register, and other instructions hide its latency."""
    return reduce(lambda x, y: b(f"fadd {kind.type} {x}, {y}"), columns or ["zeroinitializer"])


def all_finite(b: Instructions, kind: Kind, x: str) -> str:
    """1 if every number of a vector is finite, else 0."""
    good = b(f"fcmp oeq {kind.type} {b(f'fsub {kind.type} {x}, {x}')}, zeroinitializer")  # inf - inf is NaN
    every = b(f"icmp eq i{kind.lanes} {b(f'bitcast <{kind.lanes} x i1> {good} to i{kind.lanes}')}, -1")
    return b(f"zext i1 {every} to i64")


def _gather_window(b: Instructions, kind: Kind, rows: list[str]) -> list[str]:
    loaded = [b(f"load {kind.type}, ptr {row}, align {kind.bytes}") for row in rows]
    for c, column in enumerate(transpose(b, kind, loaded)):
        b.do(f"store {kind.type} {column}, ptr {_column_pointer(b, kind, c)}")
    return []


def _scatter_window(b: Instructions, kind: Kind, rows: list[str]) -> list[str]:
    columns = [b(f"load {kind.type}, ptr {_column_pointer(b, kind, c)}") for c in range(kind.lanes)]
    for row, value in zip(rows, transpose(b, kind, columns), strict=True):
        b.do(f"store {kind.type} {value}, ptr {row}, align {kind.bytes}")
    return columns


def _clear_window(b: Instructions, kind: Kind, rows: list[str]) -> list[str]:
    for row in rows:
        b.do(f"store {kind.type} zeroinitializer, ptr {row}, align {kind.bytes}")
    return []


def _gather_column(b: Instructions, kind: Kind, rows: list[str]) -> list[str]:
    column = "undef"
    for lane, row in enumerate(rows):
        number = b(f"load {kind.scalar}, ptr {row}")
        column = b(f"insertelement {kind.type} {column}, {kind.scalar} {number}, i64 {lane}")
    b.do(f"store {kind.type} {column}, ptr {_column_pointer(b, kind, 0)}")
    return []


def _scatter_column(b: Instructions, kind: Kind, rows: list[str]) -> list[str]:
    column = b(f"load {kind.type}, ptr {_column_pointer(b, kind, 0)}")
    for lane, row in enumerate(rows):
        b.do(f"store {kind.scalar} {b(f'extractelement {kind.type} {column}, i64 {lane}')}, ptr {row}")
    return [column]


def _column_pointer(b: Instructions, kind: Kind, offset: int) -> str:
    return b(f"getelementptr {kind.type}, ptr %columns, i64 {b(f'add i64 %column, {offset}')}")
