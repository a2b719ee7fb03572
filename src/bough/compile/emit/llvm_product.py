"""A program, and after it a product with a sparse matrix, as one module of LLVM IR.

The two outputs of the program are the entries of a sparse matrix B and a square matrix Z; the module returns instead of
the first X = (Z' B)', a row for each column of B, in one array or cut into several. Straight-line code
would be as long as the product; here a copy of Z lies in whole vectors, columns of B that have the same pattern are
treated together, their sums stay in registers, and only the patterns are tables.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bough.compile.emit import llvm
from bough.compile.graph.program import Program
from bough.compile.ir import Instructions, Kind

SUMS = 24  # vectors of sums in registers at once
TOGETHER = 4  # columns


class ColumnGroup(NamedTuple):
    """Columns of B with entries in the same rows."""

    columns: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class SparseProduct:
    """X (columns, n) from Z (n, n): row c of X is the sum of B_rc Z_r over the rows r of `pattern[c]`."""

    pattern: tuple[tuple[int, ...], ...]
    n: int
    arrays: int = 1  # of equal size, in which X lies

    @property
    def height(self) -> int:
        """Rows of X in each of its arrays."""
        return len(self.pattern) // self.arrays

    @cached_property
    def groups(self) -> list[ColumnGroup]:
        """Columns that are treated together, the largest groups first, so that their entries are aligned.

        Entries come group by group, row by row, then column by column.
        """
        alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for c, rows in enumerate(self.pattern):
            alike[rows].append(c)
        found = [
            ColumnGroup(tuple(columns[k : k + TOGETHER]), rows)
            for rows, columns in alike.items()
            for k in range(0, len(columns), TOGETHER)
        ]
        return sorted(found, key=lambda group: -len(group.columns))

    @property
    def entries(self) -> int:
        return sum(map(len, self.pattern))


def emit(program: Program, product: SparseProduct, dtype: np.dtype, lanes: int, text: str, width: int) -> str:
    """The module: `text` is that of the program, `lanes` the number of its rows side by side.

    A module of the program without its entry is unchanged.
    """
    if f"@{llvm.ENTRY}(" not in text:
        return text
    inner = text.replace(f"define i64 @{llvm.ENTRY}(", "define internal i64 @program(")
    kind = Kind.of(dtype, min(width, 1 << max(0, product.n - 1).bit_length()))
    writer = _Writer(product, kind)
    widths = sorted({len(g.columns) for g in product.groups})
    parts = [inner, writer.tables(widths), writer.copy(), *(writer.sums(k) for k in widths)]
    parts.append(_entry(program, product, Kind.of(dtype, 1), max(1, lanes), (widths, writer.room)))
    if kind.lanes > 1:
        mask, vector = f"<{kind.lanes} x i1>", kind.type
        parts.append(f"declare void @llvm.masked.store.{kind.suffix}.p0({vector}, ptr, i32, {mask})")
        parts.append(f"declare {vector} @llvm.masked.load.{kind.suffix}.p0(ptr, i32, {mask}, {vector})")
    return "\n".join(parts)


class _Writer:
    """The functions of one product: Z is copied to rows of whole vectors, then the sums of each group are formed."""

    def __init__(self, product: SparseProduct, kind: Kind) -> None:
        self.product, self.kind = product, kind
        self.windows = -(-product.n // kind.lanes)
        self.stride = self.windows * kind.lanes
        self.room = self.stride * product.n

    def tables(self, widths: list[int]) -> str:
        """Rows of all groups; for each number of columns: first entry, first row, last row, array and row of each."""
        rows: list[int] = []
        groups: dict[int, list[int]] = {k: [] for k in widths}
        entry = 0
        for g in self.product.groups:
            places = [x for c in g.columns for x in divmod(c, self.product.height)]
            groups[len(g.columns)] += [entry, len(rows), len(rows) + len(g.rows), *places]
            rows += g.rows
            entry += len(g.rows) * len(g.columns)
        named = {"rows": rows} | {f"groups{k}": numbers for k, numbers in groups.items()}
        return "\n".join(
            f"@{name} = internal constant [{max(1, len(x))} x i64] [{', '.join(f'i64 {i}' for i in x or [0])}]"
            for name, x in named.items()
        )

    def copy(self) -> str:
        """@copy(z, padded)."""
        b = Instructions()
        b.label("entry")
        b.do("br label %row")
        b.label("row")
        b.do("%r = phi i64 [ 0, %entry ], [ %r.after, %row ]")
        b.do(f"%from = getelementptr {self.kind.scalar}, ptr %z, i64 {b(f'mul i64 %r, {self.product.n}')}")
        b.do(f"%to = getelementptr {self.kind.scalar}, ptr %padded, i64 {b(f'mul i64 %r, {self.stride}')}")
        for k in range(self.windows):
            x = self._load(b, b(f"getelementptr {self.kind.scalar}, ptr %from, i64 {k * self.kind.lanes}"), k)
            at = b(f"getelementptr {self.kind.scalar}, ptr %to, i64 {k * self.kind.lanes}")
            b.do(f"store {self.kind.type} {x}, ptr {at}, align {self.kind.bytes * self.kind.lanes}")
        b.do("%r.after = add i64 %r, 1")
        b.do(f"%more = icmp slt i64 %r.after, {self.product.n}")
        b.do("br i1 %more, label %row, label %end")
        b.label("end")
        b.do("ret void")
        return f"define internal void @copy(ptr noalias %z, ptr noalias %padded) nounwind {{\n{b.text()}\n}}"

    def sums(self, columns: int) -> str:
        """@sums<columns>(entries, padded, outs): all groups of so many columns, some vectors of rows at a time."""
        each = max(1, SUMS // columns)
        parts = [range(k, min(k + each, self.windows)) for k in range(0, self.windows, each)]
        bodies = [self._part(f"sums{columns}_{k}", columns, part) for k, part in enumerate(parts)]
        arguments = "ptr %entries, ptr %padded, ptr %outs"
        calls = "\n".join(f"  call void @sums{columns}_{k}({arguments})" for k in range(len(parts)))
        head = f"define internal void @sums{columns}(ptr %entries, ptr %padded, ptr %outs) nounwind {{"
        return "\n".join([*bodies, f"{head}\nentry:\n{calls}\n  ret void\n}}"])

    def _part(self, name: str, columns: int, windows: range) -> str:
        b, kind = Instructions(), self.kind
        size = 3 + 2 * columns
        count = sum(len(g.columns) == columns for g in self.product.groups)
        cells = [(c, k) for c in range(columns) for k in windows]
        zero = "zeroinitializer" if kind.lanes > 1 else kind.const(0.0)
        b.label("entry")
        b.do("br label %group")
        b.label("group")
        b.do("%g = phi i64 [ 0, %entry ], [ %g.after, %done ]")
        b.do(f"%here = getelementptr i64, ptr @groups{columns}, i64 {b(f'mul i64 %g, {size}')}")
        first, begin, last, *where = (
            b(f"load i64, ptr {b(f'getelementptr i64, ptr %here, i64 {k}')}") for k in range(size)
        )
        b.do(f"%x.first = getelementptr {kind.scalar}, ptr %entries, i64 {first}")
        b.do(f"%any = icmp slt i64 {begin}, {last}")
        b.do("br i1 %any, label %add, label %done")
        b.label("add")
        b.do(f"%e = phi i64 [ {begin}, %group ], [ %e.after, %add ]")
        b.do("%x.at = phi ptr [ %x.first, %group ], [ %x.after, %add ]")
        for c, k in cells:
            b.do(f"%s{c}_{k} = phi {kind.type} [ {zero}, %group ], [ %n{c}_{k}, %add ]")
        r = b(f"load i64, ptr {b('getelementptr i64, ptr @rows, i64 %e')}")
        b.do(f"%z.row = getelementptr {kind.scalar}, ptr %padded, i64 {b(f'mul i64 {r}, {self.stride}')}")
        factors = [self._splat(b, c) for c in range(columns)]
        for k in windows:
            at = b(f"getelementptr {kind.scalar}, ptr %z.row, i64 {k * kind.lanes}")
            z = b(f"load {kind.type}, ptr {at}, align {kind.bytes * kind.lanes}")
            for c, x in enumerate(factors):
                b.do(f"%n{c}_{k} = fadd contract {kind.type} {b(f'fmul contract {kind.type} {x}, {z}')}, %s{c}_{k}")
        b.do(f"%x.after = getelementptr {kind.scalar}, ptr %x.at, i64 {columns}")
        b.do("%e.after = add i64 %e, 1")
        b.do(f"%more = icmp slt i64 %e.after, {last}")
        b.do("br i1 %more, label %add, label %done")
        b.label("done")
        for c, k in cells:
            b.do(f"%f{c}_{k} = phi {kind.type} [ {zero}, %group ], [ %n{c}_{k}, %add ]")
        for c in range(columns):
            out = b(f"load ptr, ptr {b(f'getelementptr ptr, ptr %outs, i64 {where[2 * c]}')}")
            row = b(f"getelementptr {kind.scalar}, ptr {out}, i64 {b(f'mul i64 {where[2 * c + 1]}, {self.product.n}')}")
            for k in windows:
                self._store(b, f"%f{c}_{k}", b(f"getelementptr {kind.scalar}, ptr {row}, i64 {k * kind.lanes}"), k)
        b.do("%g.after = add i64 %g, 1")
        b.do(f"%again = icmp slt i64 %g.after, {count}")
        b.do("br i1 %again, label %group, label %end")
        b.label("end")
        b.do("ret void")
        head = f"define internal void @{name}(ptr noalias %entries, ptr noalias %padded, ptr %outs) nounwind {{"
        return f"{head}\n{b.text()}\n}}"

    def _splat(self, b: Instructions, c: int) -> str:
        kind = self.kind
        x = b(f"load {kind.scalar}, ptr {b(f'getelementptr {kind.scalar}, ptr %x.at, i64 {c}')}")
        if kind.lanes == 1:
            return x
        one = b(f"insertelement {kind.type} undef, {kind.scalar} {x}, i32 0")
        return b(f"shufflevector {kind.type} {one}, {kind.type} undef, <{kind.lanes} x i32> zeroinitializer")

    def _mask(self, k: int) -> str:
        """The lanes of vector k that belong to the row; empty if all do."""
        left = self.product.n - k * self.kind.lanes
        if left >= self.kind.lanes:
            return ""
        bits = ", ".join(f"i1 {'true' if lane < left else 'false'}" for lane in range(self.kind.lanes))
        return f"<{self.kind.lanes} x i1> <{bits}>"

    def _load(self, b: Instructions, at: str, k: int) -> str:
        kind, mask = self.kind, self._mask(k)
        if not mask:
            return b(f"load {kind.type}, ptr {at}, align {kind.bytes}")
        name = f"@llvm.masked.load.{kind.suffix}.p0"
        return b(f"call {kind.type} {name}(ptr {at}, i32 {kind.bytes}, {mask}, {kind.type} zeroinitializer)")

    def _store(self, b: Instructions, x: str, at: str, k: int) -> None:
        kind, mask = self.kind, self._mask(k)
        if not mask:
            b.do(f"store {kind.type} {x}, ptr {at}, align {kind.bytes}")
        else:
            name = f"@llvm.masked.store.{kind.suffix}.p0"
            b.do(f"call void {name}({kind.type} {x}, ptr {at}, i32 {kind.bytes}, {mask})")


def _entry(program: Program, product: SparseProduct, kind: Kind, rows: int, after: tuple[list[int], int]) -> str:
    """Some rows of the program at a time, then their products while they are in the cache."""
    b, count, arrays = Instructions(), len(program.inputs), product.arrays
    sizes = [x.size for x in program.inputs] + [product.height * product.n] * arrays + [program.outputs[-1].size]
    inner = [*range(count), len(sizes) - 1]  # arrays that the program takes, the entries before the last
    b.label("entry")
    b.do(f"%entries = alloca [{rows * max(1, product.entries)} x {kind.scalar}], align 64")
    b.do(f"%padded = alloca [{max(1, after[1])} x {kind.scalar}], align 64")
    b.do(f"%inner = alloca [{count + 2} x ptr]")
    b.do(f"%outs = alloca [{arrays} x ptr]")
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
    for k in inner:
        at = b(f"getelementptr {kind.scalar}, ptr %a{k}, i64 {b(f'mul i64 %row, {sizes[k]}')}")
        b.do(f"store ptr {at}, ptr {b(f'getelementptr ptr, ptr %inner, i64 {min(k, count + 1)}')}")
    b("call i64 @program(ptr %inner, i64 %now, ptr %context)")
    b.do("br label %each")
    b.label("each")
    b.do("%j = phi i64 [ 0, %tile ], [ %j.after, %each ]")
    b.do("%this = add i64 %row, %j")
    p = b(f"getelementptr {kind.scalar}, ptr %entries, i64 {b(f'mul i64 %j, {product.entries}')}")
    *x, z = (
        b(f"getelementptr {kind.scalar}, ptr %a{k}, i64 {b(f'mul i64 %this, {sizes[k]}')}")
        for k in range(count, len(sizes))
    )
    for k, out in enumerate(x):
        b.do(f"store ptr {out}, ptr {b(f'getelementptr ptr, ptr %outs, i64 {k}')}")
    b.do(f"call void @copy(ptr {z}, ptr %padded)")
    for k in after[0]:
        b.do(f"call void @sums{k}(ptr {p}, ptr %padded, ptr %outs)")
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
