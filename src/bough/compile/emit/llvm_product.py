"""A program, and after it a product with a sparse matrix, as one module of LLVM IR.

The last two outputs of the program are the entries of a sparse matrix B, column by column, and a matrix Z; what leaves
the module in the place of the first is X = (Z' B)', a row for each column of B. Straight-line code would be as long as
the product; here rows of Z lie in vectors and the sums in registers, and only the pattern is a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bough.compile.emit import llvm
from bough.compile.emit.ir import Block, Kind
from bough.compile.graph.program import Array, Program

SUMS = 12  # vectors of sums that are held in registers at once


@dataclass(frozen=True)
class SparseProduct:
    """X (columns, n) from Z (rows, n): row c of X is the sum of B_rc Z_r over the rows r of `pattern[c]`."""

    pattern: tuple[tuple[int, ...], ...]
    n: int

    @property
    def entries(self) -> int:
        return sum(map(len, self.pattern))

    def output(self, name: str) -> Array:
        """X as an output."""
        return Array(name, (len(self.pattern), self.n))


def emit(program: Program, product: SparseProduct, dtype: np.dtype, lanes: int, text: str, width: int) -> str:
    """The module: `text` is that of the program, `lanes` the number of its rows side by side."""
    inner = text.replace(f"define i64 @{llvm.ENTRY}(", "define internal i64 @program(")
    kind = Kind.of(dtype, _lanes(product.n, width))
    starts = [0]
    for column in product.pattern:
        starts.append(starts[-1] + len(column))
    rows = [r for column in product.pattern for r in column]
    parts = [inner, _table("rows", rows), _table("starts", starts)]
    offsets = _windows(product.n, kind.lanes)
    groups = [offsets[k : k + SUMS] for k in range(0, len(offsets), SUMS)]
    parts += [_product(f"product{k}", product, kind, group) for k, group in enumerate(groups)]
    parts.append(_entry(program, product, Kind.of(dtype, 1), max(1, lanes), len(groups)))
    return "\n".join(parts)


def _lanes(n: int, width: int) -> int:
    """The widest vector that a row fills."""
    lanes = 1
    while 2 * lanes <= min(n, width):
        lanes *= 2
    return lanes


def _windows(n: int, lanes: int) -> list[int]:
    """Where vectors begin that cover a row; the last may lie over the one before."""
    starts = list(range(0, n - lanes + 1, lanes))
    return starts if n % lanes == 0 else [*starts, n - lanes]


def _table(name: str, numbers: list[int]) -> str:
    entries = ", ".join(f"i64 {x}" for x in numbers) or "i64 0"
    return f"@{name} = internal constant [{max(1, len(numbers))} x i64] [{entries}]"


def _product(name: str, product: SparseProduct, kind: Kind, offsets: list[int]) -> str:
    """For every column: sums over its entries, for a part of each row."""
    b, bytes_, sums = Block(), kind.bytes, range(len(offsets))
    b.label("entry")
    b.do("br label %column")
    b.label("column")
    b.do("%c = phi i64 [ 0, %entry ], [ %c.after, %done ]")
    b.do("%here = getelementptr i64, ptr @starts, i64 %c")
    b.do("%first = load i64, ptr %here")
    b.do("%there = getelementptr i64, ptr %here, i64 1")
    b.do("%last = load i64, ptr %there")
    b.do("%any = icmp slt i64 %first, %last")
    b.do("br i1 %any, label %add, label %done")
    b.label("add")
    b.do("%e = phi i64 [ %first, %column ], [ %e.after, %add ]")
    for k in sums:
        b.do(f"%s{k} = phi {kind.type} [ {_zero(kind)}, %column ], [ %n{k}, %add ]")
    b.do("%r.at = getelementptr i64, ptr @rows, i64 %e")
    b.do("%r = load i64, ptr %r.at")
    b.do(f"%x.at = getelementptr {kind.scalar}, ptr %entries, i64 %e")
    b.do(f"%x = load {kind.scalar}, ptr %x.at")
    wide = "%x"
    if kind.lanes > 1:
        one = b(f"insertelement {kind.type} undef, {kind.scalar} %x, i32 0")
        wide = b(f"shufflevector {kind.type} {one}, {kind.type} undef, <{kind.lanes} x i32> zeroinitializer")
    b.do(f"%r.start = mul i64 %r, {product.n}")
    b.do(f"%z.row = getelementptr {kind.scalar}, ptr %z, i64 %r.start")
    for k, offset in enumerate(offsets):
        at = b(f"getelementptr {kind.scalar}, ptr %z.row, i64 {offset}")
        z = b(f"load {kind.type}, ptr {at}, align {bytes_}")
        b.do(f"%n{k} = fadd contract {kind.type} {b(f'fmul contract {kind.type} {wide}, {z}')}, %s{k}")
    b.do("%e.after = add i64 %e, 1")
    b.do("%more = icmp slt i64 %e.after, %last")
    b.do("br i1 %more, label %add, label %done")
    b.label("done")
    for k in sums:
        b.do(f"%f{k} = phi {kind.type} [ {_zero(kind)}, %column ], [ %n{k}, %add ]")
    b.do(f"%c.start = mul i64 %c, {product.n}")
    b.do(f"%out.row = getelementptr {kind.scalar}, ptr %out, i64 %c.start")
    for k, offset in enumerate(offsets):
        at = b(f"getelementptr {kind.scalar}, ptr %out.row, i64 {offset}")
        b.do(f"store {kind.type} %f{k}, ptr {at}, align {bytes_}")
    b.do("%c.after = add i64 %c, 1")
    b.do(f"%again = icmp slt i64 %c.after, {len(product.pattern)}")
    b.do("br i1 %again, label %column, label %end")
    b.label("end")
    b.do("ret void")
    head = f"define internal void @{name}(ptr noalias %entries, ptr noalias %z, ptr noalias %out) noinline nounwind {{"
    return f"{head}\n{b.text()}\n}}"


def _zero(kind: Kind) -> str:
    return "zeroinitializer" if kind.lanes > 1 else kind.const(0.0)


def _entry(program: Program, product: SparseProduct, kind: Kind, rows: int, groups: int) -> str:
    """Some rows of the program at a time, then their products while they are near."""
    b, count = Block(), len(program.inputs)
    sizes = [*(x.size for x in program.inputs), product.entries, program.outputs[-1].size]
    b.label("entry")
    b.do(f"%entries = alloca [{rows * max(1, product.entries)} x {kind.scalar}], align 64")
    b.do(f"%inner = alloca [{len(sizes)} x ptr]")
    for k in range(len(sizes)):
        b.do(f"%a{k} = load ptr, ptr {b(f'getelementptr ptr, ptr %arrays, i64 {k}')}")
    b.do(f"store ptr %entries, ptr {b(f'getelementptr ptr, ptr %inner, i64 {count}')}")
    b.do("%any = icmp sgt i64 %batch, 0")
    b.do("br i1 %any, label %tile, label %end")
    b.label("tile")
    b.do("%row = phi i64 [ 0, %entry ], [ %row.after, %done ]")
    left = b("sub i64 %batch, %row")
    b.do(f"%few = icmp slt i64 {left}, {rows}")
    b.do(f"%now = select i1 %few, i64 {left}, i64 {rows}")
    for k, size in enumerate(sizes):
        if k != count:
            at = b(f"getelementptr {kind.scalar}, ptr %a{k}, i64 {b(f'mul i64 %row, {size}')}")
            b.do(f"store ptr {at}, ptr {b(f'getelementptr ptr, ptr %inner, i64 {k}')}")
    b("call i64 @program(ptr %inner, i64 %now, ptr %context)")
    b.do("br label %each")
    b.label("each")
    b.do("%j = phi i64 [ 0, %tile ], [ %j.after, %each ]")
    b.do("%this = add i64 %row, %j")
    places = (("%entries", "%j", product.entries), (f"%a{count + 1}", "%this", sizes[-1]))
    p, z = (b(f"getelementptr {kind.scalar}, ptr {a}, i64 {b(f'mul i64 {r}, {s}')}") for a, r, s in places)
    size = len(product.pattern) * product.n
    x = b(f"getelementptr {kind.scalar}, ptr %a{count}, i64 {b(f'mul i64 %this, {size}')}")
    for k in range(groups):
        b.do(f"call void @product{k}(ptr {p}, ptr {z}, ptr {x})")
    b.do("%j.after = add i64 %j, 1")
    b.do("%others = icmp slt i64 %j.after, %now")
    b.do("br i1 %others, label %each, label %done")
    b.label("done")
    b.do(f"%row.after = add i64 %row, {rows}")
    b.do("%more = icmp slt i64 %row.after, %batch")
    b.do("br i1 %more, label %tile, label %end")
    b.label("end")
    b.do("ret i64 0")
    head = f"define i64 @{llvm.ENTRY}(ptr %arrays, i64 %batch, ptr %context) nounwind {{"
    return f"{head}\n{b.text()}\n}}"
