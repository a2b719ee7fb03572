"""What Numba makes of a named tuple in a table: a pointer to its words, from which members are read when needed.

Handed over member by member, the hundreds of arrays of a large plan would cost every call, and the compiler, more than
what the call does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.types.containers import Tuple
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from bough.compile.emit.glue import Kind, Numbers, Several, words_in

WORD = ir.IntType(64)


class Words(types.Type):
    """The type of a named tuple in a table."""

    def __init__(self, kind: Several) -> None:
        self.kind = kind
        super().__init__(name=f"Words({kind!r})")


@register_model(Words)
class WordsModel(models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to LLVM."""

    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, WORD.as_pointer())


@infer_getattr
class WordsAttributes(AttributeTemplate):  # type: ignore[misc]
    """The types of its members."""

    key = Words

    def generic_resolve(self, words: Words, name: str) -> Any:
        fields = words.kind.type._fields  # type: ignore[attr-defined]
        return type_of(words.kind.fields[fields.index(name)]) if name in fields else None


@lower_getattr_generic(Words)  # type: ignore[untyped-decorator]
def _member(context: Any, builder: Any, words: Words, pointer: Any, name: str) -> Any:
    at = words.kind.type._fields.index(name)  # type: ignore[attr-defined]
    return read(context, builder, pointer, sum(map(words_in, words.kind.fields[:at])), words.kind.fields[at])


def type_of(kind: Kind) -> Any:
    """What Numba calls values of a kind."""
    if isinstance(kind, Numbers):
        return types.Array(from_dtype(np.dtype(kind.dtype)), kind.ndim, "C")
    if isinstance(kind, Several):
        return Tuple([type_of(k) for k in kind.fields]) if kind.type is tuple else Words(kind)
    return types.float64 if kind == "f" else types.int64


def read(context: Any, builder: Any, pointer: Any, at: int, kind: Kind) -> Any:
    """The value of this kind whose words begin at `at`."""
    if isinstance(kind, Several) and kind.type is not tuple:
        return builder.gep(pointer, [WORD(at)])
    if isinstance(kind, Several):
        places = [at + sum(map(words_in, kind.fields[:k])) for k in range(len(kind.fields))]
        parts = [read(context, builder, pointer, p, k) for p, k in zip(places, kind.fields, strict=True)]
        return context.make_tuple(builder, type_of(kind), parts)
    if kind == "f":
        return builder.bitcast(_word(builder, pointer, at), ir.DoubleType())
    if kind == "i":
        return _word(builder, pointer, at)
    assert isinstance(kind, Numbers)
    made = arrayobj.make_array(type_of(kind))(context, builder)
    data = builder.inttoptr(_word(builder, pointer, at), made.data.type)
    shape = [_word(builder, pointer, at + 1 + k) for k in range(kind.ndim)]
    itemsize = context.get_constant(types.intp, np.dtype(kind.dtype).itemsize)
    strides = [itemsize]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    arrayobj.populate_array(made, data, shape, strides, itemsize, meminfo=None)
    return made._getvalue()


def _word(builder: Any, pointer: Any, at: int) -> Any:
    """A word of the table, which no one changes while the kernel runs."""
    word = builder.load(builder.gep(pointer, [WORD(at)]))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def reader(at: int, kind: Kind) -> Any:
    """`read(context)`: the value of this kind in the table at the address `context`, for Numba."""

    @intrinsic  # type: ignore[untyped-decorator]
    def read_it(typing_context: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return read(context, builder, builder.bitcast(args[0], WORD.as_pointer()), at, kind)

        return type_of(kind)(table), generate

    return read_it
