"""XLA's call of a kernel on a GPU: the frame is read as XLA writes it; on a GPU, beside `Dynamics` on the CPU."""

import ctypes

import numpy as np
import pytest

import bough
from bough import zoo
from bough.bridges.calls import call_of
from bough.bridges.xla import Handler, gpu_handler
from gpu import has_gpu, needs_gpu

ARM = zoo.arm(4)


def words(*numbers):
    return (ctypes.c_uint64 * len(numbers))(*numbers)


def at(array):
    return ctypes.addressof(array)


def buffers(kept, arrays):
    """A list of buffers as XLA lays it out, with its own length first."""
    found = []
    for address, dims in arrays:
        kept.append(sizes := words(*dims))
        kept.append(buffer := words(48, 0, 12, address, len(dims), at(sizes)))
        found.append(at(buffer))
    kept.append(pointers := words(*found))
    return 40, 0, len(arrays), 0, at(pointers)


class Launched:
    """A call that remembers with what it was launched."""

    name, shapes, seen = "f", ((4,),), None

    @property
    def on_gpu(self):
        return self

    def launch_at(self, *what):
        if what[3] == 13:
            raise bough.BoughError("an unlucky number of rows")
        self.seen = what


def frame_for(kept, dims, extension=0, addresses=((1000, 2000), (3000,))):
    @Handler
    def stream(question):
        assert ctypes.c_uint64.from_address(question + 16).value == 77  # the context
        ctypes.c_uint64.from_address(question + 24).value = 5
        return None

    @Handler
    def error(complaint):
        kept.append(ctypes.c_char_p.from_address(complaint + 16).value)
        return 99

    kept += [stream, error]
    api = words(0, 0, 24, 0, 3 << 32, 0, ctypes.cast(error, ctypes.c_void_p).value, 0, 0, 0,
                ctypes.cast(stream, ctypes.c_void_p).value)  # fmt: skip
    kept.append(api)
    inputs, outputs = (buffers(kept, [(address, dims) for address in some]) for some in addresses)
    frame = words(0, extension, at(api), 77, 3, *inputs, *outputs)
    kept.append(frame)
    return at(frame)


def test_the_frame_is_read():
    function, kept = Launched(), []
    handle = gpu_handler(function, np.dtype(np.float32))
    assert handle(frame_for(kept, (2, 3, 4))) is None
    assert function.seen == ([1000, 2000], [3000], np.float32, 6, 5)
    function.seen = None
    assert handle(frame_for(kept, (2, 0, 4))) is None
    assert function.seen is None


def test_errors_go_to_xla():
    kept = []
    assert gpu_handler(Launched(), np.dtype(np.float64))(frame_for(kept, (13, 4))) == 99
    assert b"f: an unlucky number of rows" in kept


def test_the_version_is_xlas_own():
    kept, metadata = [], words(0, 0, 0, 0, 7)
    extension = words(32, 1, 0, at(metadata))
    assert gpu_handler(Launched(), np.dtype(np.float64))(frame_for(kept, (4,), at(extension))) is None
    assert metadata[3] == 3 << 32
    assert metadata[4] == 0


@pytest.mark.skipif(has_gpu(), reason="its memory is that of the stand-in")
def test_a_kernel_is_launched_on_xlas_buffers_and_stream(gpu):
    q, v, tau = np.random.default_rng(0).normal(size=(3, 2, 3, 4))
    qdd, kept = np.full((2, 3, 4), np.nan), []
    addresses = [x.ctypes.data for x in (q, v, tau)], [qdd.ctypes.data]
    call = call_of(ARM, "forward_dynamics", {})
    assert gpu_handler(call, np.dtype(float))(frame_for(kept, (2, 3, 4), addresses=addresses)) is None
    wanted = bough.Dynamics(ARM).forward_dynamics(*(x.reshape(6, 4) for x in (q, v, tau)))
    np.testing.assert_allclose(qdd.reshape(6, 4), wanted, atol=1e-10 * np.abs(wanted).max())
    assert gpu.launched[-1][-1] == 5  # the stream


@needs_gpu
def test_on_a_gpu():
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX has no GPU")
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 5000, 4))
    on_gpu = [jax.device_put(x, jax.devices("gpu")[0]) for x in (q, v, tau)]

    def forward(q, v, tau):
        return bough.jax.forward_dynamics(ARM, q, v, tau)

    wanted = np.linalg.solve(*_dense(q, v, tau))[..., 0]
    scale = np.abs(wanted).max()
    for call in (forward, jax.jit(forward), jax.jit(jax.vmap(forward))):
        np.testing.assert_allclose(call(*on_gpu), wanted, atol=1e-10 * scale)
    by_tau = jax.jit(jax.grad(lambda *x: forward(*x).sum(), 2))(*on_gpu)
    H, _ = _dense(q, v, tau)
    np.testing.assert_allclose(by_tau, np.linalg.inv(H).sum(1), atol=1e-9 * scale)
    single = forward(*(x.astype(np.float32) for x in on_gpu))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, wanted, atol=1e-3 * scale)


def _dense(q, v, tau):
    """H and tau - C of each row, by the functions on the GPU that are tested elsewhere."""
    dyn = bough.Dynamics(ARM, device="cuda")
    return dyn.mass_matrix(q), (tau - dyn.bias_force(q, v))[..., None]
