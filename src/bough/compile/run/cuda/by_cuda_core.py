"""A GPU through cuda-core."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import numpy as np
from cuda.bindings import driver, nvrtc
from cuda.core import Device, EventOptions, ObjectCode, Program, ProgramOptions, Stream

from bough.compile.emit.cuda import ENTRY
from bough.compile.run.cuda.gpu import BURST, REPEATS, Kernel, Launch, limits_of
from bough.errors import BoughError


class CudaCoreGpu:
    """Device 0, or the one that is current."""

    def __init__(self) -> None:
        self.device = Device()
        self.device.set_current()
        self.name = self.device.name
        self.architecture = f"sm_{self.device.arch}"
        self.compiler = "nvrtc {}.{}".format(*nvrtc.nvrtcVersion()[1:])
        self.limits = limits_of(self._attribute)

    def _attribute(self, number: int) -> int:
        name = driver.CUdevice_attribute(number)
        return int(_done(driver.cuDeviceGetAttribute(name, driver.CUdevice(self.device.device_id))))

    def compile(self, text: str, fast: bool) -> bytes:
        exact, flush = (False, True) if fast else (None, None)
        options = ProgramOptions(std="c++17", arch=self.architecture, prec_div=exact, prec_sqrt=exact, ftz=flush)
        return bytes(Program(text, "c++", options).compile("cubin").code)

    def load(self, code: bytes) -> Kernel:
        kernel = ObjectCode.from_cubin(code).get_kernel(ENTRY)
        about, name = kernel.attributes, driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        shared = about.shared_size_bytes
        most = self.limits.block_shared - shared
        _done(driver.cuKernelSetAttribute(name, most, kernel.handle, self.device.device_id))
        return Kernel(kernel, about.max_threads_per_block, about.num_regs, about.local_size_bytes, shared)

    def prepared(self, kernel: Kernel, grid: int, block: int, shared: int, count: int) -> Launch:
        values: Any = (ctypes.c_int64 * count)()
        pointers = (ctypes.c_void_p * count)(*(ctypes.addressof(values) + 8 * k for k in range(count)))
        function, where, start, lock = int(kernel.handle.handle), ctypes.addressof(pointers), _launcher(), Lock()
        written: list[int] | None = None  # the list that `values` has

        def launch(arguments: list[int], stream: int, kept: Any = (kernel, pointers)) -> None:
            nonlocal written
            with lock:  # arguments are read before the driver returns
                if arguments is not written:
                    values[:] = written = arguments
                error = start(function, grid, 1, 1, block, 1, 1, shared, stream, where, None)
            if error:
                raise BoughError(f"CUDA: {driver.CUresult(error)!r}")

        return launch

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

    def wait(self) -> None:
        self.device.sync()

    def upload(self, memory: Any, array: np.ndarray) -> None:
        _done(driver.cuMemcpyHtoD(memory.handle, array.ctypes.data, array.nbytes))

    def download(self, memory: Any, array: np.ndarray) -> None:
        self.wait()
        _done(driver.cuMemcpyDtoH(array.ctypes.data, memory.handle, array.nbytes))


@cache
def _launcher() -> Any:
    """The driver's cuLaunchKernel: called directly it takes a third of the time."""
    flags = driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT
    address = _done(driver.cuGetProcAddress(b"cuLaunchKernel", 12000, flags))
    sizes, pointer = [ctypes.c_uint] * 7, ctypes.c_void_p
    return ctypes.CFUNCTYPE(ctypes.c_int, pointer, *sizes, pointer, pointer, pointer)(int(address))


@lru_cache(256)
def _stream(handle: int) -> Stream:
    return Stream.from_handle(handle)


def _done(answer: tuple[Any, ...]) -> Any:
    """The results of a call of the driver; raises if it failed."""
    error, *found = answer
    if error:
        raise BoughError(f"CUDA: {error}")
    return found[0] if found else None
