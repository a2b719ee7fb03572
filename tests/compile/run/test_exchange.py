"""DLPack by hand, tried on memory of the host: what others lend is read, and others read what we lend."""

import ctypes
import gc

import numpy as np
import pytest

from bough.compile.run import exchange
from bough.compile.run.exchange import GpuArray, borrow
from bough.errors import ShapeError

HOST = 1  # the type of device


def lend(x):
    return GpuArray(x.shape, x.dtype, x.ctypes.data, x, HOST)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (4, 1, 2)])
def test_there_and_back(dtype, shape):
    x = np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    ours = lend(x)
    y = np.from_dlpack(ours)
    np.testing.assert_array_equal(y, x)
    assert y.dtype == dtype
    assert y.shape == shape
    found = borrow(ours, "x")
    assert (found.shape, found.dtype, found.address) == (shape, np.dtype(dtype), x.ctypes.data)


def test_memory_is_kept_while_someone_reads_it():
    before = len(exchange._lent)
    y = np.from_dlpack(lend(np.arange(5.0)))
    gc.collect()
    assert len(exchange._lent) == before + 1
    np.testing.assert_array_equal(y, np.arange(5.0))
    del y
    gc.collect()
    assert len(exchange._lent) == before
    capsule = lend(np.arange(5.0)).__dlpack__()
    assert len(exchange._lent) == before + 1
    del capsule  # nobody used it
    gc.collect()
    assert len(exchange._lent) == before


def test_other_libraries():
    torch = pytest.importorskip("torch")
    x = np.arange(6.0).reshape(2, 3)
    y = torch.from_dlpack(lend(x))
    y[1, 2] = 9.0
    assert x[1, 2] == 9.0  # the same memory
    t = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    found = borrow(t, "t")
    assert (found.shape, found.dtype, found.address) == ((2, 3), np.dtype(np.float32), t.data_ptr())
    with pytest.raises(ShapeError, match="t must be C-contiguous"):
        borrow(t.T, "t")
    with pytest.raises(ShapeError, match="real numbers"):
        borrow(torch.zeros(2, dtype=torch.complex64), "t")


def test_the_interface_for_cuda():
    x = np.zeros((2, 3), np.float32)
    about = GpuArray(x.shape, x.dtype, 4096, None).__cuda_array_interface__
    assert about["shape"] == (2, 3)
    assert about["typestr"] == "<f4"
    assert about["data"] == (4096, False)
    assert "GpuArray((2, 3), float32)" in repr(GpuArray(x.shape, x.dtype, 4096, None))


def test_types_that_others_give_the_functions_of_python_do_not_matter():
    function = ctypes.pythonapi.PyCapsule_New
    before = function.argtypes, function.restype
    try:
        function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.CFUNCTYPE(None)), ctypes.c_int
        x = np.arange(3.0)
        array = GpuArray(x.shape, x.dtype, x.ctypes.data, x, 2)
        assert type(array.__dlpack__()).__name__ == "PyCapsule"
    finally:
        function.argtypes, function.restype = before
