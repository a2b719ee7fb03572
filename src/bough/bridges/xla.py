"""Handlers that XLA calls: in machine code for functions that any thread may call, and in Python for all others.

Those in Python serve code that needs memory of its own for each call, and kernels on a GPU, launched on XLA's stream.
The layout of what XLA passes is that of its C interface, version 0.1 and later (xla/ffi/api/c_api.h); `xla_handler.ll`
has the table.
"""

from __future__ import annotations

import ctypes
import math
from _thread import interrupt_main
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from bough.bridges.calls import Call
from bough.compile.run.entry import NativeCode

METADATA, EXECUTE, INTERNAL = 1, 3, 13  # a kind of extension, a stage, an error
Handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class StreamQuestion(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )


class Complaint(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    )


def cpu_handler(call: Call, dtype: np.dtype) -> Any:
    """The handler of a call on the CPU; whoever registers it keeps it."""
    code = call.on_cpu.entry(dtype).batch()
    assert isinstance(code, NativeCode)
    if code.is_shared:
        return _native_handler(code, call, dtype)

    def run(inputs: list[int], outputs: list[int], rows: int, stream: Callable[[], int]) -> None:
        arrays = _arrays_at([*inputs, *outputs], call, rows, dtype)
        given, found = arrays[: len(inputs)], arrays[len(inputs) :]
        call.on_cpu.with_status(*given, out=found[0] if len(found) == 1 else tuple(found))

    return _python_handler(call, run)


def gpu_handler(call: Call, dtype: np.dtype) -> Any:
    """The handler of a call on a GPU; whoever registers it keeps it."""

    def run(inputs: list[int], outputs: list[int], rows: int, stream: Callable[[], int]) -> None:
        call.on_gpu.launch_at(inputs, outputs, dtype, rows, stream())

    return _python_handler(call, run)


# In machine code

MANY = 1024  # rows that are worth asking Python for its threads
NATIVE = (files("bough.bridges") / "xla_handler.ll").read_text()
Team = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int64)


def _native_handler(code: NativeCode, call: Call, dtype: np.dtype) -> Any:
    """It passes the addresses of the buffers and the number of rows on."""
    from bough.compile.run import native

    def share(addresses: Any, rows: int) -> int:
        """All rows on Bough's threads; what is not 0 asks XLA's thread to do them alone."""
        try:
            return call.on_cpu.fill(_arrays_at(addresses, call, rows, dtype))
        except BaseException as problem:  # nothing can be raised through XLA
            if isinstance(problem, KeyboardInterrupt):
                interrupt_main()
            return 1

    team, text = Team(share), NATIVE
    inputs, outputs = len(call.inputs), len(call.outputs)
    numbers = {"ARRAYS": inputs + outputs, "INPUTS": inputs, "OUTPUTS": outputs, "RANK": len(call.shapes[0])}
    numbers |= {"ENTRY": code.address, "MANY": MANY, "TEAM": ctypes.cast(team, ctypes.c_void_p).value or 0}
    for word, number in numbers.items():
        text = text.replace(f"@{word}@", str(number))
    loaded = native.load(native.compile_ir(text), "xla_handler")
    found = Handler(loaded.address)
    found.keeps = (code, loaded, team)  # type: ignore[attr-defined]
    return found


def _arrays_at(addresses: Sequence[int], call: Call, rows: int, dtype: np.dtype) -> list[np.ndarray]:
    """The inputs and outputs of a call where XLA has them."""
    found = []
    for k, spec in enumerate((*call.inputs, *call.outputs)):
        shape = (rows, *spec.shape)
        memory = (ctypes.c_char * (math.prod(shape) * dtype.itemsize)).from_address(addresses[k])
        found.append(np.ndarray(shape, dtype, memoryview(memory)))
    return found


# In Python


def _python_handler(call: Call, run: Callable[[list[int], list[int], int, Callable[[], int]], None]) -> Any:
    """`run(addresses of inputs, of outputs, rows, stream)`; what it raises is reported to XLA."""

    def handle(frame: int) -> int | None:
        extension, api = _pointer(frame + 8), _pointer(frame + 16)
        if extension and _integer(extension + 8) == METADATA:
            _describe(_pointer(extension + 24), api)
            return None
        try:
            inputs, outputs = _buffers(frame + 40), _buffers(frame + 80)
            dims = inputs[0][1]
            rows = math.prod(dims[: len(dims) - len(call.shapes[0])])
            if rows:
                run([x for x, _ in inputs], [y for y, _ in outputs], rows, lambda: _stream(frame, api))
        except BaseException as error:  # nothing may pass through XLA
            if isinstance(error, KeyboardInterrupt):
                interrupt_main()
            return _complain(api, f"{call.name}: {error}")
        return None

    return Handler(handle)


def _buffers(at: int) -> list[tuple[int, list[int]]]:
    """(address, dimensions) of all buffers of a list."""
    count, first = _pointer(at + 16), _pointer(at + 32)
    found = []
    for k in range(count):
        buffer = _pointer(first + 8 * k)
        rank, dims = _pointer(buffer + 32), _pointer(buffer + 40)
        found.append((_pointer(buffer + 24), [_pointer(dims + 8 * a) for a in range(rank)]))
    return found


def _stream(frame: int, api: int) -> int:
    question = StreamQuestion(ctypes.sizeof(StreamQuestion), None, _pointer(frame + 24), None)
    _function(api + 80)(ctypes.addressof(question))
    return question.stream or 0


def _describe(metadata: int, api: int) -> None:
    """Answer with XLA's own version, and no traits."""
    ctypes.memmove(metadata + 24, api + 32, 8)
    ctypes.c_uint32.from_address(metadata + 32).value = 0


def _complain(api: int, message: str) -> int | None:
    text = Complaint(ctypes.sizeof(Complaint), None, message.encode(), INTERNAL)
    return _function(api + 48)(ctypes.addressof(text))


def _function(at: int) -> Callable[[int], int | None]:
    return Handler(_pointer(at))


def _pointer(at: int) -> int:
    return ctypes.c_uint64.from_address(at).value


def _integer(at: int) -> int:
    return ctypes.c_int32.from_address(at).value
