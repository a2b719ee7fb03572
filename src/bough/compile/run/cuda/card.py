"""The card: compile, load and launch through cuda-core, or through CuPy where that is what is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeAlias

import numpy as np

from bough.errors import BoughError, MissingExtraError

Launch: TypeAlias = Callable[[list[int], int], None]  # of arguments and a stream
REPEATS, BURST = 3, 5  # of timed launches


@dataclass(frozen=True)
class Kernel:
    """A loaded kernel, and what it takes: registers and bytes of local memory of each thread."""

    handle: Any
    most_threads: int
    registers: int = 0
    local_bytes: int = 0


class Card(Protocol):
    """What CUDA functions need of a card. Streams are integers (`cudaStream_t`), addresses too."""

    name: str
    architecture: str
    compiler: str

    def compile(self, text: str, fast: bool) -> bytes:
        """Machine code of CUDA C; `fast` allows divisions and roots of two units in the last place."""

    def load(self, code: bytes) -> Kernel: ...

    def prepared(self, kernel: Kernel, grid: int, block: int, shared: int, count: int) -> Launch:
        """A launch that only its `count` arguments, integers of eight bytes, and its stream are missing to."""

    def seconds(self, work: Callable[[], None], stream: int) -> float:
        """The time of one call of `work`, the best of several."""

    def is_capturing(self, stream: int) -> bool:
        """Is a CUDA graph being recorded on the stream?"""

    def empty(self, size: int) -> Any:
        """So many bytes on the card, kept as long as what is returned; `address_of` says where."""

    def address_of(self, memory: Any) -> int: ...

    def wait(self) -> None:
        """For all work on the card."""

    def upload(self, memory: Any, array: np.ndarray) -> None: ...

    def download(self, memory: Any, array: np.ndarray) -> None:
        """All work on the memory is waited for."""


@cache
def the_card() -> Card:
    """The card of this process; `MissingExtraError` where there is no way to one."""
    for make in (_by_cuda_core, _by_cupy):
        try:
            return make()
        except ImportError:
            continue
        except Exception as error:
            raise BoughError(f"no CUDA device can be used: {error}") from error
    raise MissingExtraError('device="cuda" needs the packages of the extra: pip install "bough[cuda]"')


def _by_cuda_core() -> Card:
    from bough.compile.run.cuda.by_cuda_core import CudaCoreCard

    return CudaCoreCard()


def _by_cupy() -> Card:
    from bough.compile.run.cuda.by_cupy import CupyCard

    return CupyCard()


def flags(fast: bool) -> list[str]:
    """Options of the compiler: products and sums are fused; in single precision divisions are not rounded exactly."""
    return ["--std=c++17", *(["--prec-div=false", "--prec-sqrt=false"] if fast else [])]
