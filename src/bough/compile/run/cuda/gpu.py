"""The GPU: compile, load and launch through cuda-core, or through CuPy if only that is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol, TypeAlias

import numpy as np

from bough.compile.emit.limits import Limits
from bough.errors import BoughError, MissingExtraError

Launch: TypeAlias = Callable[[list[int], int], None]  # of arguments and a stream
RUNNERS = {"by_cuda_core": "CudaCoreGpu", "by_cupy": "CupyGpu"}  # files here and their classes, the best first
REPEATS, BURST = 3, 5  # of timed launches
# Numbers of the driver's attributes of a device, in the order of `Limits`
ATTRIBUTES = {"multiprocessors": 16, "registers": 82, "shared": 81, "block_shared": 97, "reserved": 111}


@dataclass(frozen=True)
class Kernel:
    """A loaded kernel, and its needs: registers and local memory of each thread, shared memory of each block."""

    handle: Any
    most_threads: int
    registers: int = 0
    local_bytes: int = 0
    shared_bytes: int = 0


class Gpu(Protocol):
    """The protocol of a GPU. Streams are integers (`cudaStream_t`), addresses too."""

    name: str
    architecture: str
    compiler: str
    limits: Limits

    def compile(self, text: str, fast: bool) -> bytes:
        """Machine code of the emitted text; `fast` allows divisions and roots of two units in the last place."""

    def load(self, code: bytes) -> Kernel: ...

    def prepared(self, kernel: Kernel, grid: int, block: int, shared: int, count: int) -> Launch:
        """A prepared launch; it takes its `count` arguments, integers of eight bytes, and its stream.

        A list of arguments does not change once it was launched.
        """

    def seconds(self, work: Callable[[], None], stream: int) -> float:
        """The time of one call of `work`, the best of several."""

    def is_capturing(self, stream: int) -> bool:
        """Whether a CUDA graph is being recorded on the stream."""

    def empty(self, size: int) -> Any:
        """So many bytes on the GPU, which live as long as the returned object; `address_of` gives their address."""

    def address_of(self, memory: Any) -> int: ...

    def wait(self) -> None:
        """For all work on the GPU."""

    def upload(self, memory: Any, array: np.ndarray) -> None: ...

    def download(self, memory: Any, array: np.ndarray) -> None:
        """All work on the memory is waited for."""


_in_use: ContextVar[Gpu | None] = ContextVar("gpu", default=None)


def the_gpu() -> Gpu:
    """The GPU of this process, or the one that `using` names; `MissingExtraError` without one."""
    return _in_use.get() or find_gpu()


@contextmanager
def using(gpu: Gpu) -> Iterator[Gpu]:
    """Functions that are first called in this block, in this thread, run on `gpu`."""
    token = _in_use.set(gpu)
    try:
        yield gpu
    finally:
        _in_use.reset(token)


@cache
def find_gpu() -> Gpu:
    """The GPU of this process."""
    for module, name in RUNNERS.items():
        try:
            found: Gpu = getattr(import_module(f"bough.compile.run.cuda.{module}"), name)()
            return found
        except ImportError:
            continue
        except Exception as error:
            raise BoughError(f"no CUDA device can be used: {error}") from error
    raise MissingExtraError('device="cuda" needs the packages of the extra: pip install "bough[cuda]"')


def limits_of(attribute: Callable[[int], int]) -> Limits:
    """The limits of a device, by the numbers of its attributes."""
    return Limits(**{name: attribute(number) for name, number in ATTRIBUTES.items()})


def flags(fast: bool) -> list[str]:
    """Options of the compiler: products and sums are fused.

    In single precision divisions are not rounded exactly, and numbers below 1e-38 are zero: a tenth fewer instructions.
    """
    return ["--std=c++17", *(["--prec-div=false", "--prec-sqrt=false", "--ftz=true"] if fast else [])]
