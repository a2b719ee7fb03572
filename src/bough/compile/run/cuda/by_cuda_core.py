"""A card through cuda-core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from cuda.bindings import driver, nvrtc
from cuda.core import Device, EventOptions, LaunchConfig, ObjectCode, Program, ProgramOptions, Stream, launch

from bough.compile.emit.cuda import ENTRY
from bough.compile.run.cuda.card import BURST, REPEATS, Kernel
from bough.errors import BoughError


class CudaCoreCard:
    """Device 0, or the one that is current."""

    def __init__(self) -> None:
        self.device = Device()
        self.device.set_current()
        self.name = self.device.name
        self.architecture = f"sm_{self.device.arch}"
        self.compiler = "nvrtc {}.{}".format(*nvrtc.nvrtcVersion()[1:])

    def compile(self, text: str, fast: bool) -> bytes:
        exact = None if not fast else False
        options = ProgramOptions(std="c++17", arch=self.architecture, prec_div=exact, prec_sqrt=exact)
        return bytes(Program(text, "c++", options).compile("cubin").code)

    def load(self, code: bytes) -> Kernel:
        kernel = ObjectCode.from_cubin(code).get_kernel(ENTRY)
        name = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _done(driver.cuKernelSetAttribute(name, 200 * 1024, kernel.handle, self.device.device_id))
        return Kernel(kernel, kernel.attributes.max_threads_per_block)

    def launch(self, kernel: Kernel, grid: int, block: int, shared: int, arguments: Sequence[int], stream: int) -> None:
        launch(_stream(stream), _config(grid, block, shared), kernel.handle, *map(np.int64, arguments))

    def seconds(self, work: Callable[[], None], stream: int) -> float:
        on, options, times = _stream(stream), EventOptions(timing_enabled=True), []
        work()
        for _ in range(REPEATS):
            begin = on.record(options=options)
            for _ in range(BURST):
                work()
            end = on.record(options=options)
            end.sync()
            times.append((end - begin) / BURST / 1000.0)
        return min(times)

    def is_capturing(self, stream: int) -> bool:
        found = _done(driver.cuStreamIsCapturing(driver.CUstream(stream)))
        return bool(found == driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE)

    def empty(self, size: int) -> Any:
        return self.device.allocate(max(size, 1), stream=self.device.default_stream)

    def address_of(self, memory: Any) -> int:
        return int(memory.handle)

    def upload(self, memory: Any, array: np.ndarray) -> None:
        _done(driver.cuMemcpyHtoD(memory.handle, array.ctypes.data, array.nbytes))

    def download(self, memory: Any, array: np.ndarray) -> None:
        self.device.sync()
        _done(driver.cuMemcpyDtoH(array.ctypes.data, memory.handle, array.nbytes))


@lru_cache(256)
def _stream(handle: int) -> Stream:
    return Stream.from_handle(handle)


@lru_cache(256)
def _config(grid: int, block: int, shared: int) -> LaunchConfig:
    return LaunchConfig(grid=grid, block=block, shmem_size=shared)


def _done(answer: tuple[Any, ...]) -> Any:
    """What a call of the driver returned, unless it failed."""
    error, *found = answer
    if int(error):
        raise BoughError(f"CUDA: {error}")
    return found[0] if found else None
