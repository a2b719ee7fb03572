"""What XLA calls for a function on a card: a handler that launches its kernel on XLA's own stream and buffers.

The layout of what XLA passes is that of its C interface, version 0.1 and later (xla/ffi/api/c_api.h); `xla_handler.ll`
has the table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from bough.compile.run.cuda import CudaFunction

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


def handler(function: CudaFunction, dtype: np.dtype) -> Any:
    """The handler of one function in one precision; whoever registers it keeps it."""

    def handle(frame: int) -> int | None:
        extension, api = _pointer(frame + 8), _pointer(frame + 16)
        if extension and _integer(extension + 8) == METADATA:
            _describe(_pointer(extension + 24), api)
            return None
        try:
            _launch(function, dtype, frame, api)
        except Exception as error:  # nothing may pass through XLA
            return _complain(api, f"{function.name}: {error}")
        return None

    return Handler(handle)


def _launch(function: CudaFunction, dtype: np.dtype, frame: int, api: int) -> None:
    inputs, outputs = _buffers(frame + 40), _buffers(frame + 80)
    dims, own = inputs[0][1], len(function.inputs[0].shape)
    rows = prod(dims[: len(dims) - own])
    if rows:
        function.launch_at([x for x, _ in inputs], [y for y, _ in outputs], dtype, rows, _stream(frame, api))


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
