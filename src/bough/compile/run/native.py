"""The host CPU, and machine code for it: LLVM IR -> object code -> address.

llvmlite is imported on first use only, so that importing bough stays light.
"""

from __future__ import annotations

import atexit
import platform
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from bough import _fork_locks

compiling = threading.RLock()  # held by whoever compiles or loads code: LLVM's parser and generator share a context
# Here all that is loaded at once lies in one piece of memory: from pieces more than 2 GB apart nothing reaches the
# others, and LLVM ends the process. In the piece there is room for the table of addresses of what others define, but
# not for jumps there: calls must go by the table, those of library functions, too.
IN_ONE_PIECE = sys.platform == "linux" and platform.machine() == "x86_64"
CALLS_BY_TABLE = '\n!llvm.module.flags = !{!99999}\n!99999 = !{i32 7, !"RtLibUseGOT", i32 1}\n'
_held: list[Any] = []  # LLVM's lock, while a fork holds it
PARTS = b"several objects\n"  # what code begins with that is more than one object


def _hold() -> None:
    """Close LLVM to all threads, after the last one has left it.

    A forked child has locks that no one in it gives back; at exit LLVM is taken down under whoever is still in it.
    """
    compiling.acquire()
    lock = _lock_of_llvm()
    lock.__enter__()
    _held.append(lock)


def _release() -> None:
    """After a fork; nothing is held where another thread imported this file after the fork had begun."""
    if _held:
        _held.pop().__exit__(None, None, None)
        compiling.release()


def _lock_of_llvm() -> Any:
    """Held by whoever calls LLVM, such as one who drops the last reference to some code."""
    return getattr(getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None), "_lock", None) or nullcontext()


atexit.register(_hold)
_fork_locks.append((_hold, _release))


@dataclass(frozen=True)
class Host:
    """The versions that compiled code depends on: the target, the CPU with its features, and LLVM."""

    triple: str
    cpu: str
    features: str
    llvm: str

    def lanes(self, dtype: np.dtype) -> int:
        """Numbers of `dtype` in the widest vector register."""
        register = 64 if "+avx512f" in self.features else 32 if "+avx2" in self.features else 16
        return register // dtype.itemsize


@cache
def host() -> Host:
    """The CPU that this process runs on."""
    llvm = _llvm()
    version = ".".join(str(x) for x in llvm.llvm_version_info)
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), version)


def compile_ir(ir: str, level: int = 2, optimise: bool = False) -> bytes:
    """Object code for a module of LLVM IR text.

    `level` is that of the code generator. The optimiser on IR runs only on request: straight-line code
    from a hash-consed graph leaves it nothing to do.
    """
    with compiling:
        return _emit_object(_llvm().parse_assembly(ir + CALLS_BY_TABLE), level, optimise)


def compile_parts(parts: Iterable[str], level: int = 2) -> bytes:
    """Object code for modules of LLVM IR text that call one another, each but the last on a thread as soon as it is
    given."""
    with compiling, _side_by_side():
        jobs: list[_Job] = []
        try:
            for ir in parts:
                if jobs:
                    jobs[-1].start()
                jobs.append(_Job(ir, level))
            jobs[-1].run()
        finally:
            for job in jobs:
                if job.is_alive():
                    job.join()
    codes = [job.result() for job in jobs]
    return codes[0] if len(codes) == 1 else PARTS + b"".join(len(x).to_bytes(8, "little") + x for x in codes)


class _Job(threading.Thread):
    """A module to compile, in a context of its own. No pool: its lock is taken by a fork before ours."""

    def __init__(self, ir: str, level: int) -> None:
        super().__init__(name="bough compiler")
        self._ir, self._level = ir, level
        self._code = b""
        self._error: BaseException | None = None

    def start(self) -> None:
        try:
            super().start()
        except RuntimeError:  # no more threads
            self.run()

    def run(self) -> None:
        llvm = _llvm()
        try:  # closed in order: an error keeps both until they are found as garbage, in any order
            with llvm.create_context() as own, llvm.parse_assembly(self._ir + CALLS_BY_TABLE, own) as module:
                self._code = _emit_object(module, self._level)
        except BaseException as error:
            self._error = error

    def result(self) -> bytes:
        if self._error is not None:
            raise self._error
        return self._code


@contextmanager
def _side_by_side() -> Iterator[None]:
    """Threads may generate code at once, each in a context of its own; llvmlite would let only one do anything."""
    generate = _llvm().ffi.lib.LLVMPY_TargetMachineEmitToMemory
    lock = getattr(generate, "_lock", None)
    if lock is None:  # another llvmlite than those we know
        yield
        return
    generate._lock = nullcontext()
    try:
        yield
    finally:
        generate._lock = lock


def _parts(code: bytes) -> Iterator[bytes]:
    """The objects that were put together, or the only one."""
    if not code.startswith(PARTS):
        yield code
        return
    at = len(PARTS)
    while at < len(code):
        size = int.from_bytes(code[at : at + 8], "little")
        yield code[at + 8 : at + 8 + size]
        at += 8 + size


def _emit_object(module: Any, level: int, optimise: bool = False) -> bytes:
    """Object code for a module, for whoever holds the lock, or works for the one who does in a context of its own."""
    module.triple = host().triple
    machine = _target_machine(level)
    module.data_layout = str(machine.target_data)
    if optimise:
        llvm = _llvm()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
    for function in module.functions if IN_ONE_PIECE else ():
        if function.is_declaration:
            function.add_function_attribute("nonlazybind")
    code: bytes = machine.emit_object(module)
    return code


@dataclass(frozen=True)
class LoadedCode:
    """Machine code in memory: the address of one function. The code lives as long as this object."""

    address: int
    engine: Any


def load(code: bytes, symbol: str) -> LoadedCode:
    """Load object code and find `symbol` in it; what it calls is looked for in this process."""
    llvm = _llvm()
    with compiling:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(2), use_lmm=IN_ONE_PIECE or None)
        for part in _parts(code):
            engine.add_object_file(llvm.ObjectFileRef.from_data(part))
        engine.finalize_object()
        address = engine.get_function_address(symbol)
    if not address:
        raise ValueError(f"object code does not define {symbol!r}")
    return LoadedCode(address, engine)


def define_symbol(name: str, address: int) -> None:
    """Let code loaded from now on call the function `name` at `address`."""
    _llvm().add_symbol(name, address)


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    with compiling:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    return llvm


def _target_machine(level: int) -> Any:
    target = _llvm().Target.from_triple(host().triple)
    return target.create_target_machine(
        cpu=host().cpu, features=host().features, opt=level, reloc="pic", codemodel="small", jit=True
    )
