"""What Numba makes of `rows`: one vector register for each row."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.types.containers import UniTuple
from numba.extending import lower_builtin, models, register_model, type_callable

from bough.adaptive.node import rows
from bough.adaptive.node.rows import WIDTH, place

VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
NUMBER, BYTE, LANE = 8, ir.IntType(8), ir.IntType(32)
NOWHERE = ir.Constant(VECTOR, ir.Undefined)


class RowType(types.Type):
    """The type of a row."""

    def __init__(self) -> None:
        super().__init__(name="Row")


@register_model(RowType)
class RowModel(models.PrimitiveModel):  # type: ignore[misc]
    """A row is a vector to LLVM."""

    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, VECTOR)


ROW = RowType()
SIX_ROWS = UniTuple(ROW, 6)


def lowers(function: Any, result: Any, *arguments: Any) -> Callable[[Any], None]:
    """Decorates what a call of `function` becomes: (context, builder, argument types, arguments) -> value."""

    def register(lower: Any) -> None:
        def typer(*given: Any) -> Any:
            return result

        typer.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        type_callable(function)(lambda context: typer)
        lower_builtin(function, *arguments)(
            lambda context, builder, signature, given: lower(context, builder, signature.args, given)
        )

    return register


def pointer(context: Any, builder: Any, kind: Any, array: Any, at: Any, of: Any) -> Any:
    """Where entry `at` of a contiguous array is, as the place of something of type `of`."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), of.as_pointer())


def fetch(builder: Any, where: Any) -> Any:
    value = builder.load(where)
    value.align = NUMBER
    return value


def leave(builder: Any, value: Any, where: Any) -> None:
    builder.store(value, where).align = NUMBER


def pick(builder: Any, a: Any, b: Any, lanes: Iterable[int]) -> Any:
    """Some lanes of a, which come first, and b."""
    chosen = list(lanes)
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(LANE, len(chosen)), chosen))


def spread(context: Any, builder: Any, kind: Any, a: Any) -> Any:
    """A number in every lane."""
    one = builder.insert_element(NOWHERE, context.cast(builder, a, kind, types.float64), LANE(0))
    return pick(builder, one, NOWHERE, [0] * WIDTH)


def scratch_row(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    c, i = (context.cast(builder, x, kind, types.intp) for x, kind in zip(given[1:3], kinds[1:3], strict=True))
    six, width = ir.Constant(c.type, 6), ir.Constant(c.type, WIDTH)
    at = builder.mul(builder.add(builder.mul(c, six), i), width)
    return pointer(context, builder, kinds[0], given[0], at, VECTOR)


@lowers(rows.row, ROW, types.Array, types.Integer, types.Integer)
def _row(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    return fetch(builder, scratch_row(context, builder, kinds, given))


@lowers(rows.put, types.none, types.Array, types.Integer, types.Integer, RowType)
def _put(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    leave(builder, given[3], scratch_row(context, builder, kinds, given))
    return context.get_dummy_value()


def parts(context: Any, builder: Any, kinds: Any, given: Any, sizes: Iterable[int]) -> list[Any]:
    """Places of vectors of these sizes, one behind the other, in a record from given[1] on."""
    at, found = context.cast(builder, given[1], kinds[1], types.intp), []
    for size in sizes:
        found.append(pointer(context, builder, kinds[0], given[0], at, ir.VectorType(ir.DoubleType(), size)))
        at = builder.add(at, ir.Constant(at.type, size))
    return found


@lowers(rows.taken, ROW, types.Array, types.Integer)
def _taken(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    four, two = (fetch(builder, where) for where in parts(context, builder, kinds, given, (4, 2)))
    rest = pick(builder, two, ir.Constant(two.type, [0.0, 0.0]), range(4))
    return pick(builder, four, rest, range(8))


@lowers(rows.give, types.none, types.Array, types.Integer, RowType)
def _give(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    four, two = parts(context, builder, kinds, given, (4, 2))
    leave(builder, pick(builder, given[2], NOWHERE, range(4)), four)
    leave(builder, pick(builder, given[2], NOWHERE, (4, 5)), two)
    return context.get_dummy_value()


@lowers(rows.unpacked, SIX_ROWS, types.Array, types.Integer)
def _unpacked(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    first, second, third = (fetch(builder, where) for where in parts(context, builder, kinds, given, (8, 8, 4)))
    last = fetch(builder, parts(context, builder, kinds, given, (20, 1))[1])
    third = pick(builder, third, third, [0, 1, 2, 3, 0, 0, 0, 0])
    third = builder.insert_element(third, builder.extract_element(last, LANE(0)), LANE(4))
    found = []
    for i in range(6):
        at = [place(min(i, j), max(i, j)) for j in range(6)]
        early = pick(builder, first, second, [k if k < 16 else 0 for k in at] + [0, 0])
        lanes = [j if k < 16 else 8 + k - 16 for j, k in enumerate(at)] + [0, 0]
        found.append(pick(builder, early, third, lanes))
    return context.make_tuple(builder, SIX_ROWS, found)


@lowers(rows.pack, types.none, types.Array, types.Integer, UniTuple)
def _pack(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    x = [builder.extract_value(given[2], i) for i in range(6)]
    entries = [(i, j) for i in range(6) for j in range(i, 6)]
    at = 0
    for where, size in zip(parts(context, builder, kinds, given, (8, 8, 4, 1)), (8, 8, 4, 1), strict=True):
        chunk, value = entries[at : at + size], NOWHERE
        for i in sorted({i for i, _ in chunk}):
            lanes = [8 + j if k == i else n for n, (k, j) in enumerate(chunk)] + list(range(size, WIDTH))
            value = pick(builder, value, x[i], lanes)
        leave(builder, pick(builder, value, NOWHERE, range(size)), where)
        at += size
    return context.get_dummy_value()


@lowers(rows.flipped, SIX_ROWS, UniTuple)
def _flipped(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    x, found = [builder.extract_value(given[0], i) for i in range(6)], []
    # pairs of rows, interleaved: even columns, then odd ones
    pairs = [
        [pick(builder, x[i], x[i + 1], [n + j for j in range(0, 8, 2) for n in (odd, 8 + odd)]) for i in (0, 2, 4)]
        for odd in (0, 1)
    ]
    for j in range(6):
        first, second, third = pairs[j % 2]
        at = j - j % 2
        four = pick(builder, first, second, [at, at + 1, 8 + at, 9 + at, 0, 0, 0, 0])
        found.append(pick(builder, four, third, [0, 1, 2, 3, 8 + at, 9 + at, 0, 0]))
    return context.make_tuple(builder, SIX_ROWS, found)


@lowers(rows.joined, ROW, *(types.Float,) * 6)
def _joined(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    value = ir.Constant(VECTOR, [0.0] * WIDTH)
    for k, (kind, a) in enumerate(zip(kinds, given, strict=True)):
        value = builder.insert_element(value, context.cast(builder, a, kind, types.float64), LANE(k))
    return value


@lowers(rows.scaled, ROW, types.Float, RowType)
def _scaled(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    return builder.fmul(spread(context, builder, kinds[0], given[0]), given[1], flags=("contract",))


@lowers(rows.plus, ROW, RowType, types.Float, RowType)
def _plus(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    product = builder.fmul(spread(context, builder, kinds[1], given[1]), given[2], flags=("contract",))
    return builder.fadd(given[0], product, flags=("contract",))


@lowers(rows.replaced, ROW, RowType, types.Integer, types.Float)
def _replaced(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    lane = context.cast(builder, given[1], kinds[1], types.int32)
    return builder.insert_element(given[0], context.cast(builder, given[2], kinds[2], types.float64), lane)
