"""Arrays of any library as addresses on the GPU, and results of the same library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from sys import modules
from typing import Any, NamedTuple

import numpy as np

from bough.compile.run.cuda.gpu import Gpu, Launch, the_gpu
from bough.compile.run.exchange import GpuArray, borrow
from bough.compile.run.libraries import full, library_of
from bough.errors import ShapeError


@dataclass(frozen=True)
class ArrayView:
    """An array: address, shape and type. `keep` is the library's own object or memory of ours."""

    library: str  # as `library_of` says
    shape: tuple[int, ...]
    dtype: np.dtype
    address: int
    keep: Any

    @property
    def on_host(self) -> bool:
        return self.library == "numpy"

    def stream(self) -> int:
        """The stream on which the library of this array works now."""
        if self.library == "torch":
            return torch_stream(self.keep.device)
        if self.library == "cupy":
            return int(modules["cupy"].cuda.get_current_stream().ptr)
        return int(getattr(self.keep, "__cuda_array_interface__", {}).get("stream") or 0)

    def on_gpu(self, gpu: Gpu, home: ArrayView) -> ArrayView:
        """The same on the GPU: arrays on the host are copied if all are there; a mixture is refused."""
        if not self.on_host:
            return self
        if not home.on_host:
            raise ShapeError("some arrays are on the GPU and some are not: bring all of them there")
        found = _own(self.shape, self.dtype, gpu)
        gpu.upload(found.keep, self.keep)
        return found

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: Gpu) -> ArrayView:
        """A new array of the same library."""
        if self.library == "torch":
            torch = modules["torch"]
            made = torch.empty(shape, dtype=getattr(torch, dtype.name), device=self.keep.device)
            return ArrayView("torch", shape, dtype, int(made.data_ptr()), made)
        if self.library == "cupy":
            made = modules["cupy"].empty(shape, dtype)
            return ArrayView("cupy", shape, dtype, int(made.data.ptr), made)
        return _own(shape, dtype, gpu, self.library)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype, gpu: Gpu) -> ArrayView:
        if self.library in ("torch", "cupy"):
            return view_of(full(shape, 0, self.keep, dtype.name), "zeros", "")
        made = _own(shape, dtype, gpu)
        gpu.upload(made.keep, np.zeros(shape, dtype))
        return made

    def returned(self, gpu: Gpu) -> Any:
        """The user's result: the library's own array, one that any library takes, or a numpy array."""
        if self.library in ("torch", "cupy"):
            return self.keep
        if not self.on_host:
            gpu.wait()  # for streams of other libraries that are unknown here
            found = GpuArray(self.shape, self.dtype, self.address, self.keep)
            return modules["jax"].dlpack.from_dlpack(found) if self.library == "jax" else found
        array = np.empty(self.shape, self.dtype)
        gpu.download(self.keep, array)
        return array


def _own(shape: tuple[int, ...], dtype: np.dtype, gpu: Gpu, library: str = "numpy") -> ArrayView:
    """Memory of ours, for results that go to the host or to a library that makes no arrays for us."""
    memory = gpu.empty(prod(shape) * dtype.itemsize)
    return ArrayView(library, shape, dtype, gpu.address_of(memory), memory)


def uploaded(x: np.ndarray, library: str = "other") -> Any:
    """A copy on the GPU that any library takes."""
    gpu = the_gpu()
    found = _own(x.shape, x.dtype, gpu, library)
    gpu.upload(found.keep, np.ascontiguousarray(x))
    return found.returned(gpu)


def downloaded(x: GpuArray) -> np.ndarray:
    """A copy on the host."""
    array = np.empty(x.shape, x.dtype)
    the_gpu().download(x.memory, array)
    return array


def view_of(x: Any, function: str, name: str, any_number: bool = False) -> ArrayView:
    """An array of any library; the arrays of one call must be contiguous, and finite unless `any_number` will do."""
    library = library_of(x)
    if type(x).__module__.split(".")[0] == "torch" and (x.is_cuda or x.requires_grad):
        return _tensor(x, function, name)
    if library == "numpy":
        return _on_host(x, function, name, any_number)
    about = None if library == "jax" else getattr(x, "__cuda_array_interface__", None)
    if about is None:
        if library == "jax":
            x.block_until_ready()  # JAX computes on streams of its own
        found = borrow(x, f"{function}: {name}")
        return ArrayView(library, found.shape, found.dtype, found.address, (x, found.capsule))
    if about.get("strides") is not None and not getattr(x, "flags", {"C_CONTIGUOUS": False})["C_CONTIGUOUS"]:
        raise ShapeError(f"{function}: {name} must be C-contiguous on the GPU")
    return ArrayView(library, tuple(about["shape"]), np.dtype(about["typestr"]), int(about["data"][0]), x)


def _tensor(x: Any, function: str, name: str) -> ArrayView:
    if x.requires_grad:
        raise ShapeError(f"{function}: {name} asks for gradients; use bough.torch, which knows them, or x.detach()")
    if not x.is_contiguous():
        raise ShapeError(f"{function}: {name} must be contiguous; use x.contiguous()")
    dtype = np.dtype(str(x.dtype).removeprefix("torch."))
    return ArrayView("torch", tuple(x.shape), dtype, int(x.data_ptr()), x)


def _on_host(x: Any, function: str, name: str, any_number: bool) -> ArrayView:
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{function}: {name} must be an array of real numbers, got dtype {array.dtype}")
    dtype = array.dtype if array.dtype in (np.float32, np.float64) else np.dtype(float)
    array = np.ascontiguousarray(array, dtype)
    if not any_number and not np.isfinite(array).all():
        raise ShapeError(f"{function}: {name} has entries that are not finite")
    return ArrayView("numpy", array.shape, array.dtype, 0, array)


class TensorCall(NamedTuple):
    """A call on tensors of certain shapes, all but their addresses."""

    launch: Launch
    shapes: list[tuple[int, ...]]  # of results
    likes: list[int | None]  # an input of the same shape: `empty_like` is a little faster
    rest: list[int]  # the arguments after the addresses


def signature(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """A key of a call on tensors: everything but their numbers."""
    return tuple([(x.shape, x.dtype, x.device) for x in inputs])


def torch_stream(device: Any) -> int:
    """The stream on which PyTorch works now; read as its own compiled code does, in a tenth of the time."""
    torch = modules["torch"]
    ask = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(ask(device.index) if ask else torch.cuda.current_stream(device).cuda_stream)
