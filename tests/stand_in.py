"""A GPU for tests that is none: the emitted kernels, compiled by the machine's C++ compiler, on memory of the host.

It has the protocol of a GPU (`bough.compile.run.cuda.gpu.Gpu`) and the limits of one that a test names. Threads of a
block are fibers that meet at barriers and shuffles (cuda_on_host.h). `arrays` is a library of arrays on it, which
passes for CuPy: arrays of numpy that say they are on a GPU.
"""

import ctypes
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np

from bough.compile.emit.cuda import ENTRY
from bough.compile.emit.limits import Limits
from bough.compile.run.cuda.gpu import Kernel
from bough.errors import BoughError

KB = 1024
LIMITS = {
    "H200": Limits(132, 65_536, 228 * KB, 227 * KB, KB),
    "A100": Limits(108, 65_536, 164 * KB, 163 * KB, KB),
    "RTX 4090": Limits(128, 65_536, 100 * KB, 99 * KB, KB),
    "T4": Limits(40, 65_536, 64 * KB, 64 * KB, 0),
}
HEADER = Path(__file__).with_name("cuda_on_host.h")
COMPILER = shutil.which("g++") or shutil.which("clang++")


class StandInGpu:
    """A GPU with the limits of `model`. `launched` has (grid, block, shared memory, stream) of every launch."""

    architecture = "host"

    def __init__(self, model="H200"):
        self.name, self.limits = f"stand-in {model}", LIMITS[model]
        self.compiler = f"{_version()} {HEADER.read_text()}"
        self.launched, self.capturing = [], set()

    def compile(self, text, fast):
        found = re.search(rf"void {ENTRY}\((.*)\)\n", text)
        types = [parameter.rpartition(" ")[0] + "*" * parameter.count(" *") for parameter in found[1].split(", ")]
        types = [re.sub(r"\*__restrict__\*?", "*", kind) for kind in types]
        values = ", ".join(f"({kind})arguments[{k}]" for k, kind in enumerate(types))
        text = text.replace(
            "extern __shared__ __align__(16) unsigned char tile_bytes[]", "auto &tile_bytes = dynamic_shared"
        )
        text = text.replace(
            "extern __shared__ __align__(16) unsigned char spill_bytes[]", "auto &spill_bytes = dynamic_shared"
        )
        whole = f"""#include "{HEADER}"
{text}
static const long long *arguments;
static void run_thread() {{ {ENTRY}({values}); }}
extern "C" int start(unsigned grid, unsigned block, unsigned shared, const long long *given)
{{
    arguments = given;
    return launch(grid, block, shared);
}}
"""
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
            source.write_text(whole)
            command = [COMPILER, "-O0", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Wno-unused", "-ffp-contract=off"]
            subprocess.run([*command, str(source), "-o", str(library)], check=True)
            return library.read_bytes()

    def load(self, code):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(code)
            file.flush()
            return Kernel(ctypes.CDLL(file.name).start, 1024)

    def prepared(self, kernel, grid, block, shared, count):
        if not (0 < block <= kernel.most_threads and 0 <= shared <= self.limits.block_shared and 0 < grid < 2**31):
            raise BoughError(f"CUDA: {grid} blocks of {block} threads with {shared} bytes cannot be launched")

        def launch(arguments, stream):
            assert len(arguments) == count
            self.launched.append((grid, block, shared, stream))
            error = kernel.handle(grid, block, shared, (ctypes.c_int64 * count)(*arguments))
            assert error == 0, {1: "threads met at different barriers", 2: "a block wrote beyond its memory"}[error]

        return launch

    def seconds(self, work, stream):
        work()
        return 1.0

    def is_capturing(self, stream):
        return stream in self.capturing

    def empty(self, size):
        return np.full(max(size, 1) + 64, 0xFF, np.uint8)  # not a number until it is written

    def address_of(self, memory):
        return memory.ctypes.data

    def wait(self):
        pass

    def upload(self, memory, array):
        memory[: array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)

    def download(self, memory, array):
        array[...] = np.frombuffer(memory[: array.nbytes].tobytes(), array.dtype).reshape(array.shape)


@cache
def _version():
    return subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]


class ndarray(np.ndarray):  # noqa: N801  # as CuPy has it
    """An array that says it is on a GPU."""

    @property
    def __cuda_array_interface__(self):
        strides = None if self.flags.c_contiguous else self.strides
        place = (self.ctypes.data, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": place, "version": 3, "strides": strides}

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    @property
    def device(self):
        return "stand-in"

    def get(self):
        return np.array(self)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array.view(ndarray)  # no numbers, as of CuPy


ndarray.__module__ = "cupy"


def arrays():
    """A module like CuPy."""
    made = ModuleType("cupy")
    made.ndarray, made.stream = ndarray, SimpleNamespace(ptr=0)
    known = "amax", "asarray", "concatenate", "empty", "full", "isfinite", "maximum", "moveaxis", "where", "zeros"
    for name in known:
        setattr(made, name, _in_kind(getattr(np, name)))
    made.asnumpy = np.array
    made.cuda = SimpleNamespace(get_current_stream=lambda: made.stream)
    return made


def _in_kind(function):
    def call(*arguments, **how):
        found = function(*arguments, **how)
        return tuple(x.view(ndarray) for x in found) if isinstance(found, tuple) else found.view(ndarray)

    return call
