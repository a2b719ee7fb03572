"""Kernels compiled by NVRTC, which needs no GPU: what each form takes, beside what an architecture has."""

import ctypes
import struct
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bough import zoo
from bough.compile.emit import cuda
from bough.compile.emit.limits import SPILL_BLOCK, THREAD_REGISTERS
from bough.compile.executions import traced
from bough.compile.run.cuda.forms import candidates, kernel_needs, rule
from bough.compile.run.cuda.gpu import flags
from bough.dynamics.aba import ABA
from bough.dynamics.crba import MASS_MATRIX
from bough.model.limbs import mark_limbs
from stand_in import LIMITS

pytestmark = pytest.mark.native("writes CUDA text")

ARCHITECTURES = {
    "sm_75": "T4", "sm_80": "A100", "sm_86": "RTX 4090", "sm_89": "RTX 4090", "sm_90": "H200", "sm_100": "H200",
    "sm_120": "RTX 4090",
}  # fmt: skip
MODEL = zoo.quadruped()
LARGEST_LOCAL = 512 * 1024  # bytes of local memory of a thread
REGISTERS, FRAME = 0x2F, 0x11  # attributes of a cubin


@cache
def library():
    """NVRTC of the wheel nvidia-cuda-nvrtc, whichever CUDA it is of."""
    found = [path for folder in sys.path for path in sorted(Path(folder).glob("nvidia/*/lib/libnvrtc.so.*"))]
    if not found:
        pytest.skip("needs NVRTC: pip install nvidia-cuda-nvrtc")
    return ctypes.CDLL(str(found[-1]))


def compiled(text, architecture, fast):
    """The cubin."""
    nvrtc, program, size = library(), ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = [option.encode() for option in (f"-arch={architecture}", *flags(fast))]
    error = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    what = "Log" if error else "CUBIN"
    getattr(nvrtc, "nvrtcGetProgramLogSize" if error else "nvrtcGetCUBINSize")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, "nvrtcGetProgramLog" if error else f"nvrtcGet{what}")(program, buffer)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    assert not error, buffer.value.decode()
    return buffer.raw


def taken(cubin, reserved):
    """(registers and bytes of local memory of a thread, bytes of shared memory of a block).

    From sm_90 on shared memory begins with what is `reserved`.
    """
    (first,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    heads = [struct.unpack_from("<IIQQQQ", cubin, first + k * size) for k in range(count)]
    at = heads[names][4]
    sections = {cubin[at + h[0] :].split(b"\0", 1)[0].decode(): h for h in heads}
    _, _, _, _, place, length = sections[".nv.info"]
    info, found = cubin[place : place + length], {REGISTERS: 0, FRAME: 0}
    while info:
        kind, attribute, value = struct.unpack_from("<BBH", info)
        if kind == 4 and attribute in found:
            found[attribute] = max(found[attribute], struct.unpack_from("<II", info, 4)[1])
        info = info[4 + (value if kind == 4 else 0) :]
    shared = sections.get(f".nv.shared.{cuda.ENTRY}", [0] * 6)[5]
    return found[REGISTERS], found[FRAME], max(0, shared - reserved)


def check(routine, dtype, layout, architecture, every):
    limits, fast = LIMITS[ARCHITECTURES[architecture]], dtype == np.float32
    program = traced(routine, (MODEL.grouped,), MODEL.sizes, mark_limbs)
    arranged = cuda.arrangements(lambda: program)
    kernels = kernel_needs(arranged, np.dtype(dtype), cuda.Layouts(layout, layout), limits, has_twins=True)
    chosen, reserved = rule(kernels, limits), limits.reserved if int(architecture[3:]) >= 90 else 0
    forms = {chosen.form, *(candidates(kernels, limits) if every else ())}
    for form in sorted(forms):
        source = cuda.emit(arranged(form.lanes), dtype, form, limits)
        registers, local, shared = taken(compiled(source.text, architecture, fast), reserved)
        assert 0 < registers <= THREAD_REGISTERS
        assert local <= LARGEST_LOCAL
        block = source.block or (chosen.block if form == chosen.form else 32)
        whole = shared + source.row_bytes * block // form.lanes
        assert whole <= limits.block_shared
        if form.resident:  # as many blocks as it is written for have place on a multiprocessor
            assert form.resident * SPILL_BLOCK * registers <= limits.registers
            assert form.resident * (whole + limits.reserved) <= limits.shared


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_chosen_form_fits(dtype):
    check(ABA, dtype, "rows", "sm_90", every=False)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("routine", [ABA, MASS_MATRIX], ids=lambda routine: routine.name)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_form_fits_every_architecture(architecture, routine, dtype, layout):
    check(routine, dtype, layout, architecture, every=True)
