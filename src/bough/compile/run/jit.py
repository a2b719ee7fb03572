"""Kernels compiled by Numba: typed and lowered by it, but optimised once, when all of them are together.

Numba optimises every function it meets and, again, everything that calls it; here only the whole is optimised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from bough.compile.emit.glue import ENTRY, Glue
from bough.compile.identity import identity
from bough.compile.kernel import lessons_digest, make_known_to_numba
from bough.compile.run import cache, native

# Contraction and reciprocals keep full accuracy; reassociation would not.
FAST_MATH = {"contract", "arcp"}


def load(glue: Glue, inline_all: bool) -> native.LoadedCode:
    """The code of an entry, from the disk cache or compiled now.

    Kernels that are not inlined get each array of a tuple handed over one by one.
    """
    known = [f"{name} {identity(thing)}" for name, thing in glue.names.items()]
    known += [f"{name} {at} {kind!r}" for name, (at, kind) in glue.readers.items()]
    what = (identity(glue.kernel), glue.source, known, lessons_digest(), version("numba"), inline_all)
    with native.compiling:
        return native.load(cache.fetch(f"jit {what}", lambda: _compile(glue, inline_all)), ENTRY)


def _compile(glue: Glue, inline_all: bool) -> bytes:
    module = _lowered(_function(glue))
    _define_failures(module)
    for function in module.functions:
        if not function.is_declaration and function.name != ENTRY:
            function.linkage = "internal"  # nothing but the entry is seen from outside
            if inline_all:
                function.add_function_attribute("alwaysinline")
    return native.compile_module(module, level=3, optimise=True)


def _define_failures(module: Any) -> None:
    """Let what Numba calls to report a failure end the process: no kernel has one, and nobody else needs Numba to run.

    One function that a process lacks would leave all calls to others unresolved, too.
    """
    import llvmlite.binding as llvm

    declared = [str(f) for f in module.functions if f.is_declaration and f.name.startswith(("numba_", "NRT_"))]
    if declared:
        heads = [re.sub(r"\s*#\d+\s*$", "", text.strip()).replace("declare", "define", 1) for text in declared]
        bodies = [f"{head} {{\n  call void @abort()\n  unreachable\n}}" for head in heads]
        module.link_in(llvm.parse_assembly("\n".join(["declare void @abort()", *bodies])))


def _lowered(function: Callable[..., Any]) -> Any:
    """The LLVM module of the entry and of all kernels it calls, not optimised."""
    import numba
    from numba.core import ccallback
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    make_known_to_numba()
    arguments = (numba.types.voidptr, numba.types.int64, numba.types.voidptr)
    options = {"error_model": "numpy", "fastmath": FAST_MATH, "nogil": True, "_nrt": False, "nopython": True}
    compiler = ccallback.__dict__["_CFuncCompiler"](function, cpu_target, options, {}, numba.core.compiler.Compiler)
    with global_compiler_lock, _plain_indices(), _unfinished():
        result = compiler.compile(arguments, numba.types.int64)
        module = _together(result.library)
    module.get_function(result.fndesc.llvm_cfunc_wrapper_name).name = ENTRY
    return module


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


@contextmanager
def _unfinished() -> Iterator[None]:
    """What Numba would link, optimise and load meanwhile is left; should anyone else want it, it is done then."""
    from numba.core.codegen import CPUCodeLibrary as Library
    from numba.core.codegen import JITCPUCodegen as Codegen

    usual = Library.finalize, Library._optimize_functions, Codegen.set_env
    left: dict[Any, list[tuple[Any, ...]]] = {}

    def leave(library: Any) -> None:
        library._finalized = True
        left[library] = []

    def leave_env(*arguments: Any) -> None:
        left[next(reversed(left))].append(arguments)  # comes right after its library

    Library.finalize, Library._optimize_functions, Codegen.set_env = leave, lambda *_: None, leave_env
    try:
        yield
    finally:
        Library.finalize, Library._optimize_functions, Codegen.set_env = usual
        for library, environments in left.items():
            library._finalized = False
            library.finalize = partial(_finish, library, environments)


def _finish(library: Any, environments: list[tuple[Any, ...]]) -> None:
    """What was left of a library."""
    del library.finalize
    library.finalize()
    for codegen, *environment in environments:
        codegen.set_env(*environment)


def _together(library: Any) -> Any:
    """One module of a library and all that it calls, directly or not."""
    whole, waiting, seen = library._final_module.clone(), [library], {library}
    while waiting:
        for other in waiting.pop()._linking_libraries:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
                whole.link_in(other._final_module.clone())
    return whole


def _function(glue: Glue) -> Callable[..., Any]:
    """The glue as a Python function, for Numba."""
    from bough.compile.run.words import reader

    array, keep = _intrinsics()
    scope = {**glue.names, "_kernel": glue.kernel, "_int": np.int64, "_array": array, "_keep": keep}
    scope |= {name: reader(at, kind) for name, (at, kind) in glue.readers.items()}
    exec(glue.source, scope)
    function: Callable[..., Any] = scope[ENTRY]
    return function


def _intrinsics() -> tuple[Any, Any]:
    """An array at an address; a result put into the first word of a table."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.types.containers import UniTuple
    from numba.extending import intrinsic
    from numba.np import arrayobj

    @intrinsic  # type: ignore[untyped-decorator]
    def array(typing_context: Any, address: Any, extents: Any, dtype: Any) -> Any:
        kind = types.Array(dtype.dtype, len(extents), "C")

        def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            made = arrayobj.make_array(kind)(context, builder)
            word = made.data.type
            data = (
                builder.inttoptr(args[0], word)
                if isinstance(address, types.Integer)
                else builder.bitcast(args[0], word)
            )
            itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
            shape = cgutils.unpack_tuple(builder, args[1])
            strides = [itemsize]
            for extent in reversed(shape[1:]):
                strides.insert(0, builder.mul(strides[0], extent))
            arrayobj.populate_array(made, data, shape, strides, itemsize, meminfo=None)
            return made._getvalue()

        return kind(address, UniTuple(types.intp, len(extents)), dtype), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def keep(typing_context: Any, table: Any, result: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            if result != types.none:
                value = context.cast(builder, args[1], result, types.float64)
                builder.store(value, builder.bitcast(args[0], ir.DoubleType().as_pointer()))
            return context.get_dummy_value()

        return types.none(table, result), generate

    return array, keep
