"""Functions on a card: skipped where there is none; what can be said without one is said first."""

import importlib.util

import numpy as np
import pytest

from bough import zoo
from bough.compile.routine import Constants, interpret
from bough.compile.run.cuda import bind
from bough.compile.run.cuda.arrays import look_at
from bough.dynamics.aba import ABA
from bough.dynamics.crba import MASS_MATRIX
from bough.errors import BoughError, MissingExtraError, ShapeError
from bough.model import mark_limbs
from card import has_card, needs_card

FORWARD = ABA.without("f_ext")


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
