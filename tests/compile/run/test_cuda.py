"""Functions on a GPU, or on its stand-in; only tensors, graphs and JAX need hardware."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from bough import zoo
from bough.compile.executions import bind_arrays
from bough.compile.routine import Constants, interpret
from bough.compile.run.cuda import bind, launches
from bough.compile.run.cuda import gpu as gpus
from bough.compile.run.cuda.arrays import view_of
from bough.compile.run.cuda.gpu import Kernel, using
from bough.compile.run.exchange import GpuArray
from bough.compile.run.libraries import on_host
from bough.dynamics.aba import ABA
from bough.dynamics.crba import MASS_MATRIX
from bough.errors import BoughError, MissingExtraError, ShapeError, TooLargeError
from bough.model import mark_limbs
from gpu import a_gpu, has_gpu, needs_gpu, on_hardware
from stand_in import LIMITS, StandInGpu

FORWARD = ABA
ROBOT = on_hardware(zoo.humanoid(), zoo.quadruped())

needs_none = pytest.mark.skipif(has_gpu(), reason="there is a CUDA device")


def function(model, routine=FORWARD, layout="rows"):
    return bind(routine, Constants((model.mechanism,), lambda: (model.grouped,), mark_limbs), model.sizes, layout)


def states(model, batch, dtype=np.float64):
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, batch).astype(dtype)
    return q, rng.normal(size=(batch, model.nv)).astype(dtype), rng.normal(size=(batch, model.nv)).astype(dtype)


def expected(model, routine, *rows):
    return np.array([interpret(routine, (model.mechanism,), model.sizes, *row)[0] for row in zip(*rows, strict=True)])


@needs_none
def test_without_a_gpu_one_sentence_says_so():
    model = zoo.arm(3)
    with pytest.raises((MissingExtraError, BoughError), match=r"cuda|CUDA"):
        function(model)(*states(model, 2))


def test_arrays_that_cannot_be_read_are_refused():
    with pytest.raises(ShapeError, match="real numbers"):
        view_of(np.array(["a"]), "f", "q")
    with pytest.raises(ShapeError, match="not finite"):
        view_of(np.array([np.nan]), "f", "q")


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_numpy_arrays_are_copied_there_and_back(dtype, tolerance, gpu):
    f = function(ROBOT)
    for batch in (1, 5, on_hardware(4097, 33)):
        q, v, tau = states(ROBOT, batch, dtype)
        got = f(q, v, tau)
        assert got.dtype == dtype
        some = slice(0, 8)
        wanted = expected(ROBOT, FORWARD, q[some].astype(float), v[some].astype(float), tau[some].astype(float))
        assert np.abs(got[some] - wanted).max() <= tolerance * np.abs(wanted).max()
    one = f(q[2], v[2], tau[2])
    np.testing.assert_array_equal(one, got[2])


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("routine", [FORWARD, MASS_MATRIX], ids=lambda r: r.name)
def test_both_layouts_agree_on_large_batches(layout, routine, cupy):
    inputs = states(ROBOT, 5000)[: len(routine.arguments)]
    f = function(ROBOT, routine, layout)
    given = [cupy.asarray(np.ascontiguousarray(x if layout == "rows" else x.T)) for x in inputs]
    got = cupy.asnumpy(f(*given))
    got = got if layout == "rows" else np.moveaxis(got, -1, 0)
    wanted = expected(ROBOT, routine, *(x[-3:] for x in inputs))
    np.testing.assert_allclose(got[-3:], wanted, atol=1e-12 * np.abs(wanted).max())


def test_arrays_stay_where_they_are_and_on_the_callers_stream(cupy):
    model = zoo.star(4)
    q, v, tau = map(cupy.asarray, states(model, 30))
    f, out = function(model), cupy.empty((30, model.nv), "float64")
    found = f(q, v, tau)
    assert type(found) is cupy.ndarray
    assert f(q, v, tau, out=out) is out
    np.testing.assert_array_equal(cupy.asnumpy(out), cupy.asnumpy(found))
    np.testing.assert_allclose(cupy.asnumpy(f(q, v[0], tau))[0], cupy.asnumpy(out)[0])  # one for all rows
    assert f.with_status(q, v, tau)[1].shape == (30,)
    assert f.with_status(q[0], v[0], tau[0])[1].shape == ()
    with pytest.raises(ShapeError, match="C-contiguous on the GPU"):
        f(q, v, cupy.asarray(np.zeros((30, 2 * model.nv)))[:, ::2])
    with pytest.raises(ShapeError, match="some arrays are on the GPU and some are not"):
        f(q, v, np.zeros((30, model.nv)))
    with pytest.raises(ShapeError, match="out must be float64 on the GPU with shape"):
        f(q, v, tau, out=cupy.empty((30, 9), "float64"))


@needs_gpu
def test_tensors_stay_on_the_gpu_and_on_the_callers_stream():
    torch = pytest.importorskip("torch")
    model = zoo.humanoid()
    q, v, tau = (torch.asarray(x, device="cuda") for x in states(model, 300))
    f = function(model)
    with torch.cuda.stream(torch.cuda.Stream()):
        doubled = f(q, v, tau * 2)
        torch.cuda.current_stream().synchronize()
    assert doubled.is_cuda
    out = torch.empty_like(v)
    assert f(q, v, tau * 2, out=out) is out
    torch.cuda.synchronize()
    assert torch.equal(out, doubled)
    assert torch.equal(f(q, v, tau * 2), doubled)  # by the shorter way, for shapes that are known
    with pytest.raises(ShapeError, match="asks for gradients"):
        f(q, v.requires_grad_(), tau)
    v.requires_grad_(False)
    with pytest.raises(ShapeError, match="contiguous"):
        f(q, v, torch.stack([tau, tau], 2)[..., 0])
    one_for_all = f(q, v[0], tau * 2)
    assert torch.allclose(one_for_all[0], out[0])


def test_rows_without_a_result_are_named_or_marked(gpu):
    q, v, tau = states(ROBOT, 10)
    q[7, 3:7] = 0.0
    with pytest.raises(BoughError, match="row 7"):
        function(ROBOT)(q, v, tau)
    _, status = function(ROBOT)(q, v, tau, status=True)
    assert status.tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]


@needs_gpu
def test_calls_are_captured_in_a_graph():
    torch = pytest.importorskip("torch")
    model = zoo.humanoid()
    q, v, tau = (torch.asarray(x, device="cuda") for x in states(model, 5000))
    f, out = function(model), torch.empty_like(torch.asarray(states(model, 5000)[1], device="cuda"))
    wanted = f(q, v, tau)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f(q, v, tau, out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, wanted)


def test_what_does_not_fit_is_refused(gpu):
    q, v, tau = states(ROBOT, 4)
    f = function(ROBOT)
    with pytest.raises(ShapeError, match="rows where"):
        f(q, v[:3], tau)
    with pytest.raises(ShapeError, match="must have shape"):
        f(q[:, :-1], v, tau)
    with pytest.raises(ShapeError, match="all be float32"):
        f(q.astype(np.float32), v, tau)
    with pytest.raises(ShapeError, match="threads= is for batches on the CPU"):
        f(q, v, tau, threads=2)
    if has_gpu():
        torch = pytest.importorskip("torch")
        with pytest.raises(ShapeError, match="gradients"):
            f(torch.asarray(q, device="cuda").requires_grad_(), v, tau)


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("last", [True, False])
def test_unit_vectors_as_on_the_cpu(layout, last, cupy):
    model = zoo.star(4)
    q, _, tau = states(model, 6)
    on_cpu = bind_arrays(FORWARD, (model.mechanism,), model.sizes)
    f = function(model, layout=layout)
    turn = (lambda x: np.ascontiguousarray(x.T)) if layout == "columns" else lambda x: x
    wanted = on_cpu.on_basis(q, None, None, last=last)
    for found in (f.on_basis(turn(q), None, None, last=last), f.on_basis(cupy.asarray(turn(q)), None, None, last=last)):
        assert [*found] == [*wanted] == ["v", "tau"]
        for name, (y,) in found.items():
            got = np.moveaxis(on_host(y), -1, 0) if layout == "columns" else on_host(y)
            np.testing.assert_allclose(got, wanted[name][0], atol=1e-9)
    one, alone = f.on_basis(q[3], None, tau[3], last=last), on_cpu.on_basis(q[3], None, tau[3], last=last)
    np.testing.assert_allclose(one["v"][0], alone["v"][0], atol=1e-9)
    with pytest.raises(ShapeError, match="derivatives take arrays of PyTorch"):
        f.on_basis(Lender(q), None, None, last=True)


# The same bits


BATCHES = (1, 7, 64, 200)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_bits_whatever_the_batch_and_the_neighbours(dtype, gpu, monkeypatch, tmp_path):
    """One form serves every batch, and it follows from the kernel and the GPU alone."""
    robot = on_hardware(zoo.humanoid(), zoo.star(6))
    q, v, tau = states(robot, BATCHES[-1], dtype)
    whole = function(robot)(q, v, tau)
    for batch in BATCHES:
        f = function(robot)
        np.testing.assert_array_equal(f(q[-batch:], v[-batch:], tau[-batch:]), whole[-batch:])
    kept = set(f.launches._choices.values())
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))  # nothing that was chosen before
    if not has_gpu():
        gpu.seconds = None  # nothing is timed
    large = on_hardware(100_000, 5000)
    rows = np.arange(large) % len(q)
    again = function(robot)
    found = again(q[rows], v[rows], tau[rows])
    assert set(again.launches._choices.values()) == kept
    np.testing.assert_array_equal(found[: len(q)], whole)
    np.testing.assert_array_equal(found[-1], whole[rows[-1]])


@pytest.mark.parametrize("model", LIMITS)
def test_every_gpu_is_served_within_its_limits(model, tmp_path, monkeypatch):
    """Sizes come from the device: the stand-in refuses, as a driver does, what it does not have."""
    if has_gpu():
        pytest.skip("on the stand-in only")
    monkeypatch.setenv("BOUGH_GPU_TIMED", "1")  # all forms worth it, in all blocks
    monkeypatch.setattr(launches, "CLASSES", (40,))
    with a_gpu(model) as gpu:
        for routine in (FORWARD, MASS_MATRIX):
            f = function(zoo.star(8), routine)
            x = states(zoo.star(8), 40)[: len(routine.arguments)]
            got = f(*x)
            wanted = expected(zoo.star(8), routine, *(a[-2:] for a in x))
            np.testing.assert_allclose(got[-2:], wanted, atol=1e-11 * np.abs(wanted).max())
        assert max(shared for _, _, shared, _ in gpu.launched) <= LIMITS[model].block_shared
        assert len({block for _, block, *_ in gpu.launched}) > 1


class FakeTensor:
    """What is asked of a tensor on a GPU, without one."""

    is_cuda, requires_grad, device = True, False, "cuda:0"
    made: ClassVar[list] = []

    def __init__(self, *shape, dtype="torch.float64"):
        self.shape, self.dtype, self.address = shape, dtype, 1000 * (1 + len(FakeTensor.made))
        FakeTensor.made.append(self)

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return self.address

    def new_empty(self, shape):
        return FakeTensor(*shape)


class FakeGpu:
    """A GPU that keeps what it is told to launch."""

    name = architecture = compiler = "fake"
    limits = LIMITS["H200"]

    def __init__(self):
        self.launched = []

    def compile(self, text, fast):
        return b"code"

    def load(self, code):
        return Kernel(None, 1024)

    def prepared(self, kernel, grid, block, shared, count):
        def launch(arguments, stream):
            assert len(arguments) == count
            self.launched.append((grid, block, shared, list(arguments), stream))

        return launch

    def is_capturing(self, stream):
        return False


def test_known_shapes_are_launched_as_the_first_time(monkeypatch, tmp_path):
    FakeTensor.__module__ = "torch"
    fake_gpu, stream = FakeGpu(), SimpleNamespace(cuda_stream=7)
    fake = SimpleNamespace(
        Tensor=FakeTensor,
        float64="torch.float64",
        empty=lambda shape, dtype, device: FakeTensor(*shape),
        empty_like=lambda x: FakeTensor(*x.shape),
        cuda=SimpleNamespace(current_stream=lambda device: stream),
        _C=SimpleNamespace(),
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    model = zoo.arm(3)
    f = function(model)
    q, v, tau = FakeTensor(5, 3), FakeTensor(3), FakeTensor(5, 3)
    with using(fake_gpu):
        first, again = f(q, v, tau), f(q, v, tau)
        other = FakeTensor(6, 3)
        assert f(other, v, FakeTensor(6, 3)).shape == (6, 3)  # another number of rows is looked at anew
    assert first.shape == again.shape == (5, 3)
    (*how, once, on), (*how_again, twice, on_again), last = fake_gpu.launched
    assert (how, on) == (how_again, on_again)
    assert on == 7
    assert once == [q.address, v.address, tau.address, first.address, 0, 5, 3, 0, 3]
    assert twice == [*once[:3], again.address, *once[4:]]
    assert last[3][5] == 6


def test_code_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    gpu, made = FakeGpu(), []
    gpu.compile = lambda text, fast: made.append(text) or b"code"
    model = zoo.arm(3)
    for _ in range(2):
        function(model).launches.launch(gpu, np.dtype(np.float32), 5, [0] * 9, 0)
    assert len(made) == 1
    assert len(gpu.launched) == 2
    function(model).launches.launch(gpu, np.dtype(np.float64), 5, [0] * 9, 0)
    assert len(made) == 2


def test_with_timing_the_best_form_is_found_once_for_each_class_of_batch(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("BOUGH_GPU_TIMED", "1")
    gpu, tried = FakeGpu(), []

    def seconds(work, stream):
        work()
        tried.append(gpu.launched[-1][:3])
        return 1.0 / len(tried)

    gpu.seconds = seconds
    model, kind = zoo.humanoid(), np.dtype(np.float64)
    f = function(model)
    f.launches.launch(gpu, kind, 100, [0] * 9, 0)
    assert not tried  # too small to tell
    for batch, is_new in ((5000, True), (6000, False), (100_000, True), (200_000, False)):
        before = len(tried)
        f.launches.launch(gpu, kind, batch, [0] * 9, 0)
        assert (len(tried) > before) == is_new
        choice, _ = f.launches.choice(kind, batch)
        rows = choice.block // choice.form.lanes
        assert gpu.launched[-1][0] == -(-batch // rows)
    count = len(tried)
    again = function(model)
    again.launches.launch(gpu, kind, 5000, [0] * 9, 0)
    assert len(tried) == count  # kept on disk


def test_nothing_is_tried_while_a_graph_is_recorded(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("BOUGH_GPU_TIMED", "1")
    gpu = FakeGpu()
    gpu.is_capturing = lambda stream: True
    f = function(zoo.arm(3))
    assert f.launches.launch(gpu, np.dtype(np.float64), 10_000, [0] * 9, 0) is None  # to be chosen later
    assert len(gpu.launched) == 1


def runners(monkeypatch, **made):
    """Runners of these names: classes, or errors that importing them raises."""

    def opened(name):
        found = made[name.rpartition(".")[2]]
        if isinstance(found, Exception):
            raise found
        return SimpleNamespace(Made=found)

    monkeypatch.setattr(gpus, "RUNNERS", dict.fromkeys(made, "Made"))
    monkeypatch.setattr(gpus, "import_module", opened)
    return gpus.find_gpu.__wrapped__


def test_a_gpu_by_either_library(monkeypatch):
    assert runners(monkeypatch, first=lambda: "cuda-core", second=lambda: "cupy")() == "cuda-core"
    assert runners(monkeypatch, first=ImportError(), second=lambda: "cupy")() == "cupy"


def test_what_is_missing_is_said(monkeypatch):
    with pytest.raises(MissingExtraError, match=r'pip install "bough\[cuda\]"'):
        runners(monkeypatch, first=ImportError(), second=ImportError())()
    with pytest.raises(BoughError, match="no CUDA device can be used: CUDA_ERROR_NO_DEVICE"):
        runners(monkeypatch, first=RuntimeError("CUDA_ERROR_NO_DEVICE"))()


def test_the_stand_in_is_a_whole_backend():
    """What CONTRIBUTING says that a new one has: the protocol, built-ins of its language, and limits."""
    needed = {name for name in vars(gpus.Gpu) if not name.startswith("_")} | {*gpus.Gpu.__annotations__}
    assert needed <= {*dir(StandInGpu())}
    for module, name in gpus.RUNNERS.items():
        text = (Path(gpus.__file__).parent / f"{module}.py").read_text()
        assert f"class {name}" in text
        missing = [x for x in needed if f"def {x}(" not in text and f"self.{x}" not in text]
        assert missing == []


def test_importing_touches_no_gpu():
    code = "import sys, bough; bough.Dynamics; print([m for m in ('cuda', 'cupy', 'torch', 'jax') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_too_many_operations_are_refused():
    model = zoo.chain(1200)
    with pytest.raises(TooLargeError, match="too many operations for the GPU, more than 150,000"):
        function(model, MASS_MATRIX).launches.program()


class Lender:
    """An array of some library on a GPU, which only DLPack knows."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        return GpuArray(self.x.shape, self.x.dtype, self.x.ctypes.data, self.x, 2).__dlpack__()


def test_arrays_of_any_library_come_by_dlpack(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    gpu = FakeGpu()
    gpu.empty, gpu.address_of, gpu.wait = (lambda size: bytearray(size)), (lambda memory: 77), (lambda: None)
    model = zoo.arm(3)
    q, v, tau = states(model, 5)
    with using(gpu):
        found = function(model)(*map(Lender, (q, v, tau)))
    assert isinstance(found, GpuArray)
    assert (found.shape, found.address) == ((5, 3), 77)
    assert gpu.launched[-1][3][:4] == [q.ctypes.data, v.ctypes.data, tau.ctypes.data, 77]
    with using(gpu), pytest.raises(ShapeError, match="some arrays are on the GPU and some are not"):
        function(model)(Lender(q), v, tau)


@needs_gpu
def test_arrays_of_jax_come_and_go_without_a_copy():
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX has no GPU")
    model = zoo.arm(4)
    x = [a.astype(np.float32) for a in states(model, 100)]
    found = function(model)(*(jax.device_put(a, jax.devices("gpu")[0]) for a in x))
    assert isinstance(found, jax.Array)
    wanted = expected(model, FORWARD, *(a[:5].astype(float) for a in x))
    np.testing.assert_allclose(np.asarray(found)[:5], wanted, atol=1e-5 * np.abs(wanted).max())


@needs_gpu
def test_cupy_compiles_and_launches_as_well(monkeypatch, tmp_path):
    pytest.importorskip("cupy")
    from bough.compile.run.cuda.by_cupy import CupyGpu

    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    model = zoo.arm(4)
    q, v, tau = states(model, 5000)
    with using(CupyGpu()):
        got = function(model)(q, v, tau)
    wanted = expected(model, FORWARD, q[:4], v[:4], tau[:4])
    np.testing.assert_allclose(got[:4], wanted, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_an_empty_batch_launches_nothing(layout, cupy, gpu):
    model = zoo.arm(3)
    f, shape = function(model, layout=layout), (0, 3) if layout == "rows" else (3, 0)
    x, before = cupy.empty(shape, "float64"), len(getattr(gpu, "launched", ()))
    assert f(x, x, x).shape == shape
    found, status = f.with_status(x, x, x)
    assert (found.shape, status.shape) == (shape, (0,))
    assert f.on_basis(x, x, None, last=True)["tau"][0].shape == ((0, 3, 3) if layout == "rows" else (3, 3, 0))
    f.launcher(x, x, x, out=(found,), bad=status)()
    assert len(getattr(gpu, "launched", ())) == before
