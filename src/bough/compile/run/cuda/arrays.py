"""Arrays of any library as addresses on the card, and results in kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from sys import modules
from typing import Any, NamedTuple

import numpy as np

from bough.compile.run.cuda.card import Card, Launch
from bough.compile.run.cuda.exchange import OnCard, is_on_card, lent_by
from bough.errors import ShapeError

JAX = ("jax", "jaxlib")


@dataclass(frozen=True)
class Given:
    """An array: where it is and what it is. `keep` is the library's own object or memory of ours."""

    kind: str  # "torch", "cupy", "jax", "host" or "other"
    shape: tuple[int, ...]
    dtype: np.dtype
    address: int
    keep: Any

    @property
    def on_host(self) -> bool:
        return self.kind == "host"

    def stream(self) -> int:
        """The stream on which the library of this array works now."""
        if self.kind == "torch":
            return torch_stream(self.keep.device)
        if self.kind == "cupy":
            return int(modules["cupy"].cuda.get_current_stream().ptr)
        return int(getattr(self.keep, "__cuda_array_interface__", {}).get("stream") or 0)

    def on_the_card(self, card: Card, home: Given) -> Given:
        """The same on the card: what is on the host is copied if all of it is, for nothing is mixed in silence."""
        if not self.on_host:
            return self
        if not home.on_host:
            raise ShapeError("some arrays are on the card and some are not: bring all of them there")
        found = _own(self.shape, self.dtype, card)
        card.upload(found.keep, self.keep)
        return found

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, card: Card) -> Given:
        """A new array in kind."""
        if self.kind == "torch":
            torch = modules["torch"]
            made = torch.empty(shape, dtype=getattr(torch, dtype.name), device=self.keep.device)
            return Given("torch", shape, dtype, int(made.data_ptr()), made)
        if self.kind == "cupy":
            made = modules["cupy"].empty(shape, dtype)
            return Given("cupy", shape, dtype, int(made.data.ptr), made)
        return _own(shape, dtype, card, self.kind)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype, card: Card) -> Given:
        if self.kind not in ("torch", "cupy"):
            made = _own(shape, dtype, card)
            card.upload(made.keep, np.zeros(shape, dtype))
            return made
        made = self.empty(shape, dtype, card)
        if made.kind == "torch":
            made.keep.zero_()
        else:
            made.keep.fill(0)
        return made

    def returned(self, card: Card) -> Any:
        """What the user gets: the library's own array, one that any library takes, or a numpy array."""
        if self.kind in ("torch", "cupy"):
            return self.keep
        if not self.on_host:
            card.wait()  # for streams of theirs that we do not know
            found = OnCard(self.shape, self.dtype, self.address, self.keep)
            return modules["jax"].dlpack.from_dlpack(found) if self.kind == "jax" else found
        array = np.empty(self.shape, self.dtype)
        card.download(self.keep, array)
        return array


def _own(shape: tuple[int, ...], dtype: np.dtype, card: Card, kind: str = "host") -> Given:
    """Memory of ours, for results that go to the host or to a library that makes no arrays for us."""
    memory = card.empty(prod(shape) * dtype.itemsize)
    return Given(kind, shape, dtype, card.address_of(memory), memory)


def look_at(x: Any, function: str, name: str, any_number: bool = False) -> Given:
    """An array of any library; the arrays of one call must be contiguous, and finite unless `any_number` will do."""
    if type(x).__module__.split(".")[0] == "torch":
        if not x.is_cuda and not x.requires_grad:
            return _on_host(x.numpy(), function, name, any_number)
        return _tensor(x, function, name)
    if not is_on_card(x):
        return _on_host(x, function, name, any_number)
    library = type(x).__module__.split(".")[0]
    about = None if library in JAX else getattr(x, "__cuda_array_interface__", None)
    if about is None:
        return _lent(x, library, f"{function}: {name}")
    if about.get("strides") is not None and not getattr(x, "flags", {"C_CONTIGUOUS": False})["C_CONTIGUOUS"]:
        raise ShapeError(f"{function}: {name} must be C-contiguous on the card")
    kind = "cupy" if library == "cupy" else "other"
    return Given(kind, tuple(about["shape"]), np.dtype(about["typestr"]), int(about["data"][0]), x)


def _lent(x: Any, library: str, what: str) -> Given:
    """An array of which only DLPack is known. JAX computes on streams of its own, so it is waited for."""
    if library in JAX:
        x.block_until_ready()
    found = lent_by(x, what)
    kind = "jax" if library in JAX else "other"
    return Given(kind, found.shape, found.dtype, found.address, (x, found.capsule))


def _tensor(x: Any, function: str, name: str) -> Given:
    if x.requires_grad:
        raise ShapeError(f"{function}: {name} asks for gradients; use bough.torch, which knows them, or x.detach()")
    if not x.is_contiguous():
        raise ShapeError(f"{function}: {name} must be contiguous; use x.contiguous()")
    dtype = np.dtype(str(x.dtype).removeprefix("torch."))
    return Given("torch", tuple(x.shape), dtype, int(x.data_ptr()), x)


def _on_host(x: Any, function: str, name: str, any_number: bool) -> Given:
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{function}: {name} must be an array of real numbers, got dtype {array.dtype}")
    dtype = array.dtype if array.dtype in (np.float32, np.float64) else np.dtype(float)
    array = np.ascontiguousarray(array, dtype)
    if not any_number and not np.isfinite(array).all():
        raise ShapeError(f"{function}: {name} has entries that are not finite")
    return Given("host", array.shape, array.dtype, 0, array)


class TensorCall(NamedTuple):
    """A call on tensors of certain shapes, all but their addresses."""

    launch: Launch
    shapes: list[tuple[int, ...]]  # of results
    likes: list[int | None]  # an input of the same shape: what is like a tensor is made a little sooner
    rest: list[int]  # the arguments after the addresses


def signature(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """What a call on tensors depends on, but for their numbers."""
    return tuple([(x.shape, x.dtype, x.device) for x in inputs])


def torch_stream(device: Any) -> int:
    """The stream on which PyTorch works now; asked as its own compiled code asks, in a tenth of the time."""
    torch = modules["torch"]
    ask = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(ask(device.index) if ask else torch.cuda.current_stream(device).cuda_stream)
