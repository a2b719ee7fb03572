"""The general execution: Numba compiles a routine once, for every model and size, behind the common native entry.

The entry is `int64 entry(void **arrays, int64 batch, void *context)`. The context is a table of addresses and sizes
of the constants and the workspace, so that a call costs the same however many arrays a kernel needs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as cache_once
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.kernel import make_known_to_numba, source_hash
from bough.compile.routine import Constants, Groups, Routine, Sizes, resolve, scratch, work_type
from bough.compile.run import cache, native
from bough.compile.run.entry import Entry, NativeCode

# Contraction and reciprocals keep full accuracy; reassociation would not.
FAST_MATH = {"contract", "arcp"}
ENTRY = "entry"
HEAD = ("def entry(_arrays, _batch, _context):", " _table = _carray(_context, (1 << 20,), _int)")


@dataclass(frozen=True)
class Context:
    """The table an entry reads, with everything it points to kept alive."""

    table: npt.NDArray[np.int64]
    keep: tuple[Any, ...]

    @property
    def address(self) -> int:
        return int(self.table.ctypes.data)


def cast(constants: Groups, dtype: npt.DTypeLike) -> list[Any]:
    """Constants with their floating-point arrays in the working precision."""
    return [
        type(group)(*(np.ascontiguousarray(a, a.dtype if a.dtype.kind == "i" else dtype) for a in group))
        for group in constants
    ]


def context(routine: Routine, constants: Groups, sizes: Sizes, dtype: npt.DTypeLike) -> Context:
    """A context with a workspace of its own; `constants` are already cast."""
    work = scratch(routine, sizes, dtype)
    zeros = [np.zeros(resolve(routine.inputs[name], sizes), dtype) for name in sorted(routine.zeros)]
    arrays = [a for group in constants for a in group] + list(work) + zeros
    shapes = [resolve(shape, sizes) for shape in (*routine.arguments.values(), *routine.outputs.values())]
    table = [x for a in arrays for x in (a.ctypes.data, *a.shape)] + [x for shape in shapes for x in shape]
    return Context(np.array(table, np.int64), (*arrays,))


def compile(routine: Routine, constants: Constants, sizes: Sizes, dtype: np.dtype) -> Entry:
    """One code for one configuration and for many, from the disk cache or compiled now."""

    @cache_once
    def code() -> NativeCode:
        return native_code(routine, cast(constants.groups, dtype), sizes, dtype)

    return Entry(code, code)


def native_code(routine: Routine, constants: Groups, sizes: Sizes, dtype: np.dtype) -> NativeCode:
    """The routine with these constants, which are already cast."""
    glue = _Glue(routine, constants, dtype)
    name = f"general {_identity(routine.body)} {dtype.str} {glue.source}"
    code = native.load(cache.fetch(name, lambda: _compile(glue)), ENTRY)

    def new_context() -> tuple[int, Any]:
        fresh = context(routine, constants, sizes, dtype)
        return fresh.address, fresh

    return NativeCode(code.address, code, new_context)


def run(kernel: Callable[..., None], *arrays: npt.NDArray[Any]) -> None:
    """Call a kernel on C-contiguous arrays, which it may overwrite, by compiled code."""
    if not all(a.flags.c_contiguous for a in arrays):
        raise ValueError(f"{kernel.__name__} works in place and needs C-contiguous arrays")
    kinds = tuple((a.ndim, a.dtype.str) for a in arrays)
    table = np.array([x for a in arrays for x in (a.ctypes.data, *a.shape)], np.int64)
    _direct(kernel, kinds)[1](None, 1, table.ctypes.data)


@cache_once
def _direct(kernel: Callable[..., None], kinds: tuple[tuple[int, str], ...]) -> tuple[Any, Any]:
    """(what keeps the code alive, the code as a ctypes function) of a kernel for arrays of these kinds."""
    dtype = next((np.dtype(kind) for _, kind in kinds if np.dtype(kind).kind == "f"), np.dtype(float))
    routine = Routine(kernel.__name__, kernel, {}, {})
    glue = _Glue(routine, (), dtype, tuple((ndim, np.dtype(kind).kind) for ndim, kind in kinds))
    name = f"direct {_identity(kernel)} {dtype.str} {glue.source}"
    code = native.load(cache.fetch(name, lambda: _compile(glue)), ENTRY)
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    return code, prototype(code.address)


def _identity(kernel: Callable[..., None]) -> str:
    """What tells a kernel from all others, and from its own earlier versions."""
    return f"{kernel.__module__}.{kernel.__qualname__} {source_hash(kernel)}"


def _compile(glue: _Glue) -> bytes:
    import numba

    make_known_to_numba()
    voidptr = numba.types.voidptr
    signature = numba.types.int64(voidptr, numba.types.int64, voidptr)
    with _plain_indices():
        function = numba.cfunc(signature, error_model="numpy", fastmath=FAST_MATH, nogil=True)(glue.function())
    ir = function.inspect_llvm().replace(function.native_name, ENTRY)
    return native.compile_ir(_inline_all(ir), level=3, optimise=True)


@contextmanager
def _plain_indices() -> Iterator[None]:
    """Kernels never count from the end of an array: Numba's wrap-around of each index would double the cost of LTDL."""
    from numba.core import types
    from numba.np import arrayobj

    def plain(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
        return context.cast(builder, index, index_type, types.intp if index_type.signed else types.uintp)

    usual, arrayobj.fix_integer_index = arrayobj.fix_integer_index, plain
    try:
        yield
    finally:
        arrayobj.fix_integer_index = usual


def _inline_all(ir: str) -> str:
    """Have every kernel inlined into the entry: a call would hand over each array of the model one by one."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(ir)
    for function in module.functions:
        if not function.is_declaration and function.name != ENTRY:
            function.linkage = "internal"
            function.add_function_attribute("alwaysinline")
    return str(module)


class _Glue:
    """Writes the entry function that unpacks the context and calls the kernel for each row of a batch."""

    def __init__(
        self, routine: Routine, constants: Groups, dtype: np.dtype[Any], direct: tuple[tuple[int, str], ...] = ()
    ) -> None:
        self.routine = routine
        self.constants = constants
        self.dtype = dtype
        self.place = 0
        self.source = "\n".join(self._direct_lines(direct) if direct else self._lines())

    def _take(self) -> str:
        self.place += 1
        return f"_table[{self.place - 1}]"

    def _array(self, ndim: int, kind: str) -> str:
        address, dims = self._take(), [self._take() for _ in range(ndim)]
        return f"_carray(_pointer({address}), ({', '.join(dims)},), {kind})"

    def _lines(self) -> list[str]:
        """Names of the routine's own arrays are free: all others begin with an underscore."""
        routine = self.routine
        lines = [*HEAD]
        for k, group in enumerate(self.constants):
            fields = [self._array(a.ndim, "_int" if a.dtype.kind == "i" else "_real") for a in group]
            lines.append(f" _m{k} = _M{k}({', '.join(fields)})")
        work = [self._array(len(shape.split()), "_real") for shape in routine.work.values()]
        lines.append(f" _work = _W({', '.join(work)})" if work else " _work = 0")
        for name in sorted(routine.zeros):
            lines.append(f" {name} = {self._array(len(routine.inputs[name].split()), '_real')}")
        supplied = {**routine.arguments, **routine.outputs}
        lines.append(f" _given = _carray(_arrays, ({len(supplied)},), _int)")
        rows = []
        for k, (name, shape) in enumerate(supplied.items()):
            dims = [self._take() for _ in shape.split()]
            address = f"_pointer(_given[{k}] + _row * _itemsize * {' * '.join(dims)})"
            rows.append(f"  {name} = _carray({address}, ({', '.join(dims)},), _real)")
        names = [f"_m{k}" for k in range(len(self.constants))] + [*routine.inputs, *routine.outputs]
        return [*lines, " for _row in range(_batch):", *rows, f"  _body({', '.join(names)}, _work)", " return 0"]

    def _direct_lines(self, direct: tuple[tuple[int, str], ...]) -> list[str]:
        """An entry that finds all arrays of the kernel in the context."""
        arrays = [self._array(ndim, "_int" if kind == "i" else "_real") for ndim, kind in direct]
        return [*HEAD, f" _body({', '.join(arrays)})", " return 0"]

    def function(self) -> Callable[..., Any]:
        import numba

        scope: dict[str, Any] = {
            "_carray": numba.carray,
            "_pointer": _pointer_intrinsic(),
            "_int": np.int64,
            "_real": self.dtype.type,
            "_itemsize": self.dtype.itemsize,
            "_body": self.routine.body,
            "_W": work_type(tuple(self.routine.work)),
        }
        scope |= {f"_M{k}": type(group) for k, group in enumerate(self.constants)}
        exec(self.source, scope)
        return scope["entry"]


def _pointer_intrinsic() -> Any:
    """An address as a pointer, for Numba."""
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            return builder.inttoptr(args[0], cgutils.voidptr_t)

        return types.voidptr(types.int64), generate

    return pointer
