"""DLPack, the structure by which libraries share arrays: read from theirs, and written for ours.

An array of ours on a GPU is a `GpuArray`: it has `__dlpack__` and `__cuda_array_interface__`, so that any library
takes it without a copy.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any, NamedTuple

import numpy as np

from bough.compile.run.libraries import CUDA
from bough.errors import ShapeError

KINDS = {0: "i", 1: "u", 2: "f"}  # codes of numbers
UNUSED = b"dltensor"  # the name of a capsule


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("number", ctypes.c_int))


class _Kind(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int),
        ("kind", _Kind),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


_api = ctypes.PyDLL(None, handle=ctypes.pythonapi._handle)  # others set types on the functions of pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_api.PyCapsule_IsValid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)


class BorrowedArray(NamedTuple):
    """An array of another library; `capsule` keeps it."""

    shape: tuple[int, ...]
    dtype: np.dtype
    address: int
    capsule: Any


def borrow(x: Any, what: str) -> BorrowedArray:
    """The memory of x through DLPack; rows must be contiguous."""
    capsule = x.__dlpack__()
    found = _Managed.from_address(_api.PyCapsule_GetPointer(capsule, UNUSED)).tensor
    shape = tuple(found.shape[: found.ndim])
    if found.kind.code not in KINDS or found.kind.lanes != 1:
        raise ShapeError(f"{what} must be an array of real numbers")
    if found.strides and prod(shape) and not _is_contiguous(shape, found.strides[: found.ndim]):
        raise ShapeError(f"{what} must be C-contiguous on the GPU")
    dtype = np.dtype(f"{KINDS[found.kind.code]}{found.kind.bits // 8}")
    return BorrowedArray(shape, dtype, (found.data or 0) + found.byte_offset, capsule)


def _is_contiguous(shape: tuple[int, ...], strides: list[int]) -> bool:
    step = 1
    for size, stride in zip(shape[::-1], strides[::-1], strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


class GpuArray:
    """An array on a GPU that any library takes, by `from_dlpack` or `__cuda_array_interface__`, without a copy."""

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype, address: int, memory: Any, device: int = CUDA[0]
    ) -> None:
        self.shape, self.dtype, self.address, self.memory, self.device = shape, dtype, address, memory, device

    def __repr__(self) -> str:
        return f"GpuArray({self.shape}, {self.dtype})"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        place = (self.address, False)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": place,
            "version": 3,
            "strides": None,
            "stream": 1,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **_: Any) -> Any:
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        code = next(code for code, kind in KINDS.items() if kind == self.dtype.kind)
        kind = _Kind(code, 8 * self.dtype.itemsize, 1)
        tensor = _Tensor(self.address, _Device(self.device, 0), len(self.shape), kind, shape, None, 0)
        managed = _Managed(tensor, None, _release)
        place = ctypes.addressof(managed)
        _lent[place] = managed, shape, self
        return _api.PyCapsule_New(place, UNUSED, ctypes.cast(_drop, ctypes.c_void_p))


_lent: dict[int, Any] = {}  # arrays of ours that other libraries use, by address
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))


def _forget(place: int) -> None:
    """The last reader is done."""
    _lent.pop(place, None)


def _end(capsule: int) -> None:
    """The end of a capsule: if no library took its content, release it."""
    if _api.PyCapsule_IsValid(capsule, UNUSED):
        _forget(_pointer_of(capsule, UNUSED))


_release, _drop = _Deleter(_forget), _Deleter(_end)
