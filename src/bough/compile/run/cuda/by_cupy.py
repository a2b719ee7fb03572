"""A GPU through CuPy."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from bough.compile.emit.cuda import ENTRY
from bough.compile.run.cuda.gpu import BURST, REPEATS, Kernel, Launch, flags, limits_of


class CupyGpu:
    """The current device of CuPy."""

    def __init__(self) -> None:
        device = cupy.cuda.Device()
        properties = cupy.cuda.runtime.getDeviceProperties(device.id)
        self.name = properties["name"].decode()
        self.architecture = f"sm_{device.compute_capability}"
        self.compiler = "nvrtc {}.{}".format(*cupy.cuda.nvrtc.getVersion())
        self.limits = limits_of(lambda number: int(cupy.cuda.runtime.deviceGetAttribute(number, device.id)))

    def compile(self, text: str, fast: bool) -> bytes:
        program = cupy.cuda.nvrtc.createProgram(text, "kernel.cu", (), ())
        try:
            cupy.cuda.nvrtc.compileProgram(program, (f"-arch={self.architecture}", *flags(fast)))
            code: bytes = cupy.cuda.nvrtc.getCUBIN(program)
            return code
        finally:
            cupy.cuda.nvrtc.destroyProgram(program)

    def load(self, code: bytes) -> Kernel:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.cubin"
            path.write_bytes(code)
            function = cupy.RawModule(path=str(path)).get_function(ENTRY)
        shared = function.shared_size_bytes
        function.max_dynamic_shared_size_bytes = self.limits.block_shared - shared
        return Kernel(function, function.max_threads_per_block, function.num_regs, function.local_size_bytes, shared)

    def prepared(self, kernel: Kernel, grid: int, block: int, shared: int, count: int) -> Launch:
        def launch(arguments: list[int], stream: int) -> None:
            with cupy.cuda.ExternalStream(stream):
                kernel.handle((grid,), (block,), tuple(map(np.int64, arguments)), shared_mem=shared)

        return launch

    def seconds(self, work: Callable[[], None], stream: int) -> float:
        times = []
        with cupy.cuda.ExternalStream(stream):
            work()
            for _ in range(REPEATS):
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                begin.record()
                for _ in range(BURST):
                    work()
                end.record()
                end.synchronize()
                times.append(cupy.cuda.get_elapsed_time(begin, end) / BURST / 1000.0)
        return min(times)

    def is_capturing(self, stream: int) -> bool:
        return bool(cupy.cuda.runtime.streamIsCapturing(stream))

    def empty(self, size: int) -> Any:
        return cupy.empty(max(size, 1), cupy.uint8)

    def address_of(self, memory: Any) -> int:
        return int(memory.data.ptr)

    def wait(self) -> None:
        cupy.cuda.Device().synchronize()

    def upload(self, memory: Any, array: np.ndarray) -> None:
        memory.data.copy_from_host(array.ctypes.data, array.nbytes)

    def download(self, memory: Any, array: np.ndarray) -> None:
        self.wait()
        memory.data.copy_to_host(array.ctypes.data, array.nbytes)
