"""Functions on a card: skipped where there is none; what can be said without one is said first."""

import importlib.util
import subprocess
import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from bough import zoo
from bough.compile.executions import bind_arrays
from bough.compile.routine import Constants, interpret
from bough.compile.run.cuda import bind
from bough.compile.run.cuda import card as cards
from bough.compile.run.cuda import code as cuda_code
from bough.compile.run.cuda import function as cuda_function
from bough.compile.run.cuda.arrays import look_at
from bough.compile.run.cuda.card import Kernel
from bough.compile.run.cuda.exchange import OnCard
from bough.compile.run.entry import Entry
from bough.dynamics.aba import ABA
from bough.dynamics.crba import MASS_MATRIX
from bough.errors import BoughError, MissingExtraError, NonFiniteError, ShapeError, TooLargeError
from bough.model import mark_limbs
from card import has_card, needs_card

FORWARD = ABA


needs_none = pytest.mark.skipif(has_card(), reason="there is a CUDA device")


def function(model, routine=FORWARD, layout="rows"):
    return bind(routine, Constants((model.mechanism,), lambda: (model.grouped,), mark_limbs), model.sizes, layout)


def states(model, batch, dtype=np.float64):
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, batch).astype(dtype)
    return q, rng.normal(size=(batch, model.nv)).astype(dtype), rng.normal(size=(batch, model.nv)).astype(dtype)


def expected(model, routine, *rows):
    return np.array([interpret(routine, (model.mechanism,), model.sizes, *row)[0] for row in zip(*rows, strict=True)])


@needs_none
def test_without_a_card_one_sentence_says_so():
    model = zoo.arm(3)
    with pytest.raises((MissingExtraError, BoughError), match=r"cuda|CUDA"):
        function(model)(*states(model, 2))


def test_arrays_that_cannot_be_read_are_refused():
    with pytest.raises(ShapeError, match="real numbers"):
        look_at(np.array(["a"]), "f", "q")
    with pytest.raises(ShapeError, match="not finite"):
        look_at(np.array([np.nan]), "f", "q")


@needs_card
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("batch", [1, 5, 4097])
def test_numpy_arrays_are_copied_there_and_back(dtype, tolerance, batch):
    model = zoo.humanoid()
    q, v, tau = states(model, batch, dtype)
    got = function(model)(q, v, tau)
    assert got.dtype == dtype
    some = slice(0, 8)
    wanted = expected(model, FORWARD, q[some].astype(float), v[some].astype(float), tau[some].astype(float))
    assert np.abs(got[some] - wanted).max() <= tolerance * np.abs(wanted).max()


@needs_card
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("routine", [FORWARD, MASS_MATRIX])
def test_both_layouts_agree_on_large_batches(layout, routine):
    cupy = pytest.importorskip("cupy")
    model = zoo.humanoid()
    inputs = states(model, 5000)[: len(routine.arguments)]
    f = function(model, routine, layout)
    given = [cupy.asarray(np.ascontiguousarray(x if layout == "rows" else x.T)) for x in inputs]
    got = cupy.asnumpy(f(*given))
    got = got if layout == "rows" else np.moveaxis(got, -1, 0)
    wanted = expected(model, routine, *(x[-3:] for x in inputs))
    np.testing.assert_allclose(got[-3:], wanted, atol=1e-12 * np.abs(wanted).max())


@needs_card
def test_tensors_stay_on_the_card_and_on_the_callers_stream():
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


@needs_card
def test_rows_without_a_result_are_named_or_marked():
    model = zoo.humanoid()
    q, v, tau = states(model, 10)
    q[7, 3:7] = 0.0
    with pytest.raises(BoughError, match="row 7"):
        function(model)(q, v, tau)
    _, status = function(model)(q, v, tau, status=True)
    assert status.tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]


@needs_card
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


@needs_card
def test_what_does_not_fit_is_refused():
    model = zoo.humanoid()
    q, v, tau = states(model, 4)
    f = function(model)
    with pytest.raises(ShapeError, match="rows where"):
        f(q, v[:3], tau)
    with pytest.raises(ShapeError, match="must have shape"):
        f(q[:, :-1], v, tau)
    with pytest.raises(ShapeError, match="all be float32"):
        f(q.astype(np.float32), v, tau)
    if importlib.util.find_spec("torch"):
        import torch

        with pytest.raises(ShapeError, match="gradients"):
            f(torch.asarray(q, device="cuda").requires_grad_(), v, tau)


class FakeTensor:
    """What is asked of a tensor on a card, without one."""

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


class FakeCard:
    """A card that keeps what it is told to launch."""

    name = architecture = compiler = "fake"

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
    card, stream = FakeCard(), SimpleNamespace(cuda_stream=7)
    fake = SimpleNamespace(
        Tensor=FakeTensor,
        float64="torch.float64",
        empty=lambda shape, dtype, device: FakeTensor(*shape),
        empty_like=lambda x: FakeTensor(*x.shape),
        cuda=SimpleNamespace(current_stream=lambda device: stream),
        _C=SimpleNamespace(),
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(cuda_function, "the_card", lambda: card)
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    model = zoo.arm(3)
    f = function(model)
    q, v, tau = FakeTensor(5, 3), FakeTensor(3), FakeTensor(5, 3)
    first, again = f(q, v, tau), f(q, v, tau)
    assert first.shape == again.shape == (5, 3)
    (*how, once, on), (*how_again, twice, on_again) = card.launched
    assert (how, on) == (how_again, on_again)
    assert on == 7
    assert once == [q.address, v.address, tau.address, first.address, 0, 5, 3, 0, 3]
    assert twice == [*once[:3], again.address, *once[4:]]
    other = FakeTensor(6, 3)
    assert f(other, v, FakeTensor(6, 3)).shape == (6, 3)  # another number of rows is looked at anew
    assert card.launched[-1][3][5] == 6


class HostCard(FakeCard):
    """A card whose memory is the host's, and whose kernels are the CPU's."""

    def __init__(self, function):
        super().__init__()
        self.function, self.memory = function, []

    def empty(self, size):
        self.memory.append(np.zeros(size, np.uint8))
        return len(self.memory)

    def address_of(self, number):
        return number

    def upload(self, number, array):
        self.memory[number - 1][:] = np.frombuffer(array.tobytes(), np.uint8)

    def download(self, number, array):
        array[...] = np.frombuffer(self.memory[number - 1].tobytes(), array.dtype).reshape(array.shape)

    def prepared(self, kernel, grid, block, shared, count):
        def launch(arguments, stream):
            assert len(arguments) == count
            k = len(self.function.inputs)
            batch, strides = arguments[k + 2], arguments[k + 3 :]
            flat = [self.memory[a - 1].view(float) for a in arguments[:k]]
            given = [x.reshape(batch, -1) if step else x for x, step in zip(flat, strides, strict=True)]
            self.memory[arguments[k] - 1][:] = np.frombuffer(self.function(*given).tobytes(), np.uint8)

        return launch


def test_the_card_is_an_execution_like_others(monkeypatch, tmp_path):
    model = zoo.arm(3)
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    on_cpu = bind_arrays(FORWARD, (model.mechanism,), model.sizes)
    monkeypatch.setattr(cuda_code, "the_card", lambda: HostCard(on_cpu))
    on_card = bind_arrays(FORWARD, (model.mechanism,), model.sizes, execution="cuda")
    assert isinstance(on_card.entry(np.dtype(float)), Entry)
    batch = states(model, 7)
    np.testing.assert_array_equal(on_card(*batch), on_cpu(*batch))
    one = [x[3] for x in batch]
    np.testing.assert_array_equal(on_card(*one), on_cpu(*one))
    with pytest.raises(NonFiniteError):
        on_card(np.nan * one[0], *one[1:])
    assert isinstance(function(model).entry(np.dtype(float)), Entry)


def test_code_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    card, made = FakeCard(), []
    card.compile = lambda text, fast: made.append(text) or b"code"
    model = zoo.arm(3)
    for _ in range(2):
        function(model).launches.launch(card, np.dtype(np.float32), 5, [0] * 9, 0)
    assert len(made) == 1
    assert len(card.launched) == 2
    function(model).launches.launch(card, np.dtype(np.float64), 5, [0] * 9, 0)
    assert len(made) == 2


def test_the_best_form_is_found_once_for_each_class_of_batch(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    card, tried = FakeCard(), []

    def seconds(work, stream):
        work()
        tried.append(card.launched[-1][:3])
        return 1.0 / len(tried)

    card.seconds = seconds
    model, kind = zoo.humanoid(), np.dtype(np.float64)
    f = function(model)
    f.launches.launch(card, kind, 100, [0] * 9, 0)
    assert not tried  # too small to tell
    for batch, is_new in ((5000, True), (6000, False), (100_000, True), (200_000, False)):
        before = len(tried)
        f.launches.launch(card, kind, batch, [0] * 9, 0)
        assert (len(tried) > before) == is_new
        choice, _ = f.launches.choice(kind, batch)
        rows = choice.block // choice.form.lanes
        assert card.launched[-1][0] == -(-batch // rows)
    count = len(tried)
    again = function(model)
    again.launches.launch(card, kind, 5000, [0] * 9, 0)
    assert len(tried) == count  # kept on disk
    assert {x.shelved for x in again.launches._forms(kind)} >= {0, 4}  # double precision is short of registers


def test_nothing_is_tried_while_a_graph_is_recorded(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    card = FakeCard()
    card.is_capturing = lambda stream: True
    f = function(zoo.arm(3))
    assert f.launches.launch(card, np.dtype(np.float64), 10_000, [0] * 9, 0) is None  # to be chosen later
    assert len(card.launched) == 1


@pytest.mark.parametrize("there", ["cuda-core", "cupy"])
def test_a_card_by_either_library(there, monkeypatch):
    def missing():
        raise ImportError

    monkeypatch.setattr(cards, "_by_cuda_core", (lambda: "cuda-core") if there == "cuda-core" else missing)
    monkeypatch.setattr(cards, "_by_cupy", lambda: "cupy")
    assert cards.the_card.__wrapped__() == there


def test_what_is_missing_is_said(monkeypatch):
    def missing():
        raise ImportError

    def broken():
        raise RuntimeError("CUDA_ERROR_NO_DEVICE")

    monkeypatch.setattr(cards, "_by_cupy", missing)
    monkeypatch.setattr(cards, "_by_cuda_core", missing)
    with pytest.raises(MissingExtraError, match=r'pip install "bough\[cuda\]"'):
        cards.the_card.__wrapped__()
    monkeypatch.setattr(cards, "_by_cuda_core", broken)
    with pytest.raises(BoughError, match="no CUDA device can be used: CUDA_ERROR_NO_DEVICE"):
        cards.the_card.__wrapped__()


def test_importing_touches_no_card():
    code = "import sys, bough; bough.Dynamics; print([m for m in ('cuda', 'cupy', 'torch', 'jax') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_too_many_operations_are_refused():
    model = zoo.chain(1200) if hasattr(zoo, "chain") else zoo.arm(1200)
    with pytest.raises(TooLargeError, match="too many operations for the card, more than 60,000"):
        function(model, MASS_MATRIX).launches.program()


class Lender:
    """An array of some library on a card, which only DLPack knows."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        return OnCard(self.x.shape, self.x.dtype, self.x.ctypes.data, self.x, 2).__dlpack__()


def test_arrays_of_any_library_come_by_dlpack(monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    card = FakeCard()
    card.empty, card.address_of, card.wait = (lambda size: bytearray(size)), (lambda memory: 77), (lambda: None)
    monkeypatch.setattr(cuda_function, "the_card", lambda: card)
    model = zoo.arm(3)
    q, v, tau = states(model, 5)
    found = function(model)(*map(Lender, (q, v, tau)))
    assert isinstance(found, OnCard)
    assert (found.shape, found.address) == ((5, 3), 77)
    assert card.launched[-1][3][:4] == [q.ctypes.data, v.ctypes.data, tau.ctypes.data, 77]
    with pytest.raises(ShapeError, match="some arrays are on the card and some are not"):
        function(model)(Lender(q), v, tau)


@needs_card
def test_arrays_of_jax_come_and_go_without_a_copy():
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX has no card")
    model = zoo.arm(4)
    x = [a.astype(np.float32) for a in states(model, 100)]
    found = function(model)(*(jax.device_put(a, jax.devices("gpu")[0]) for a in x))
    assert isinstance(found, jax.Array)
    wanted = expected(model, FORWARD, *(a[:5].astype(float) for a in x))
    np.testing.assert_allclose(np.asarray(found)[:5], wanted, atol=1e-5 * np.abs(wanted).max())


@needs_card
def test_cupy_compiles_and_launches_as_well(monkeypatch, tmp_path):
    pytest.importorskip("cupy")
    from bough.compile.run.cuda.by_cupy import CupyCard

    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cuda_function, "the_card", CupyCard)
    model = zoo.arm(4)
    q, v, tau = states(model, 5000)
    got = function(model)(q, v, tau)
    wanted = expected(model, FORWARD, q[:4], v[:4], tau[:4])
    np.testing.assert_allclose(got[:4], wanted, atol=1e-12 * np.abs(wanted).max())
