"""Many motions at once, beside `rollout` and beside the same on a GPU."""

from types import SimpleNamespace

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.run.libraries import on_host
from bough.simulate import Ensemble, rollout
from gpu import needs_gpu, on_hardware, starfish, to_gpu
from opspace.mechanisms import four_bar


def states(model, batch=3, seed=0):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng, batch), rng.normal(size=(batch, model.nv))


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
def test_beside_a_rollout(integrator):
    model = zoo.star(3)
    q, v = states(model)
    runs = Ensemble(model, q, v, dt=0.01, integrator=integrator)
    runs.step(20)
    expected = rollout(model, q, v, duration=0.2, dt=0.01, integrator=integrator)
    np.testing.assert_allclose(runs.q, expected.q[-1], atol=1e-11)
    np.testing.assert_allclose(runs.v, expected.v[-1], atol=1e-11)
    assert runs.time == pytest.approx(0.2)
    np.testing.assert_array_equal(q, states(model)[0])  # what was given is left alone


def test_rows_have_their_own_parameters():
    model = zoo.arm(3)
    q, v = states(model)
    inertia = np.array([1.0, 2.0, 0.5])[:, None, None] * model.inertias
    runs = Ensemble(model, q, v, dt=0.01, inputs=("inertia", "gravity"), inertia=inertia, gravity=(0.0, 1.0, -3.0))
    runs.step(10)
    for k in range(3):
        own = model.with_inertias(inertia[k])
        dyn = bough.Dynamics(own, inputs=("gravity",))
        law = lambda q, v, tau, dyn=dyn: dyn.forward_dynamics(q, v, tau, gravity=(0.0, 1.0, -3.0))  # noqa: E731
        expected = rollout(own, q[k], v[k], duration=0.1, dt=0.01, motion=law)
        np.testing.assert_allclose(runs.q[k], expected.q[-1], atol=1e-11)


def test_servos_draw_joints_to_their_targets():
    model = zoo.arm(4)
    q, v = states(model)
    runs = Ensemble(model, q, v, dt=0.01, servo=(1e4, 1e3))
    runs.step(500, target=np.full(4, 0.3))
    # gravity is all that pulls against the servo
    sag = bough.Dynamics(model).gravity(runs.q) / 1e4
    np.testing.assert_allclose(runs.q, 0.3 - sag, atol=1e-6)


def test_rows_fail_alone_and_start_anew():
    model = zoo.arm(3)
    q, v = states(model)
    v[1] = 1e200
    runs = Ensemble(model, q, v, dt=0.01)
    runs.step(3)
    assert runs.failed.tolist() == [False, True, False]
    others = Ensemble(model, q[[0, 2]], v[[0, 2]], dt=0.01)
    others.step(3)
    np.testing.assert_allclose(runs.q[[0, 2]], others.q, atol=1e-14)
    runs.reset(runs.failed, v=np.zeros(3))
    assert not runs.failed.any()
    np.testing.assert_array_equal(runs.q[1], q[1])
    runs.step(3)
    assert not runs.failed.any()


def test_single_precision_stays():
    model = zoo.arm(3)
    q, v = (x.astype(np.float32) for x in states(model))
    runs = Ensemble(model, q, v, dt=0.01, servo=(10.0, 1.0))
    runs.step(2, tau=np.ones(3))
    assert runs.q.dtype == runs.v.dtype == np.float32


def test_loops_are_those_of_a_rollout():
    model = four_bar()
    q = np.tile(bough.close_loops(model, [0.9, -0.5, -1.5]).q, (2, 1))
    for integrator in ("semi_implicit_euler", "runge_kutta_4"):
        how = {"dt": 0.01, "integrator": integrator, "servo": (0.3, 0.1)}
        runs = Ensemble(model, q, np.zeros((2, model.nv)), **how)
        runs.step(10, tau=np.full(model.nv, 0.1))
        found = rollout(model, q, np.zeros((2, model.nv)), duration=0.1, tau=np.full(model.nv, 0.1), **how)
        np.testing.assert_allclose(runs.q, found.q[-1], atol=1e-12)
    with pytest.raises(bough.BoughError, match="open by"):
        Ensemble(model, q + 0.3, np.zeros((2, model.nv)), dt=0.01)


def test_tau_and_target_may_be_functions():
    model = zoo.arm(3)
    q, v = states(model)
    runs, other = (Ensemble(model, q, v, dt=0.01, servo=(10.0, 1.0)) for _ in range(2))
    runs.step(3, tau=lambda t, q, v: -v, target=lambda t, q, v: np.full(3, t))
    for k in range(3):
        other.step(tau=-other.v, target=np.full(3, 0.01 * k))
    np.testing.assert_allclose(runs.q, other.q, atol=1e-14)


@pytest.mark.parametrize("name", ["tau", "target", "forces"])
def test_functions_answer_and_do_not_write_to_the_state(name):
    model = zoo.arm(3)
    runs = Ensemble(model, *states(model), dt=0.01, servo=(10.0, 1.0))
    with pytest.raises(bough.BoughError, match=f"{name} returned None at t = 0 s"):
        runs.step(**{name: lambda t, q, v: None})

    if name != "forces":
        shapes = [(np.zeros(shape), rf"shape \({text}\)") for shape, text in ((2, "2,"), ((), ""), ((1, 3), "1, 3"))]
        for wrong, what in (*shapes, ("x", "'x'"), ([1j, 0.0, 0.0], r"\[1j, 0.0, 0.0\]")):
            with pytest.raises(bough.BoughError, match=f"{name} returned {what} at t = 0 s, expected"):
                runs.step(**{name: lambda t, q, v, wrong=wrong: wrong})

    def write(t, q, v):
        q -= 1.0
        return v

    with pytest.raises(ValueError, match="read-only"):
        runs.step(**{name: write})
    runs.step(2)  # an error in a function leaves the ensemble as it was
    other = Ensemble(model, *states(model), dt=0.01, servo=(10.0, 1.0))
    other.step(2)
    np.testing.assert_array_equal(runs.q, other.q)


def swing():
    """A pendulum and a bead on it, with stops that they meet soon."""
    builder = bough.Builder("swing")
    builder.add_body("link", mass=1.0, com=(1, 0, 0), axis=(0, 1, 0), lower=-0.5, upper=0.8, damping=0.05)
    builder.add_body("slide", "link", joint="prismatic", axis=(1, 0, 0), mass=2.0, upper=0.3)
    return builder.build()


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
def test_stops_hold_as_in_a_rollout(integrator):
    model = swing()
    q, v = np.array([[0.0, 0.0], [0.2, 0.1]]), np.array([[3.0, 1.0], [-2.0, 0.5]])
    runs = Ensemble(model, q, v, dt=0.01, integrator=integrator)
    runs.step(80, tau=np.array([0.0, 1.0]))
    wanted = rollout(
        model, q, v, duration=0.8, dt=0.01, integrator=integrator, tau=lambda t, q, v: np.tile([0.0, 1.0], (2, 1))
    )
    assert (np.abs(wanted.v[1:, :, 1]) < 1e-12).any()  # a stop was met
    np.testing.assert_allclose(runs.q, wanted.q[-1], atol=1e-9)
    np.testing.assert_allclose(runs.v, wanted.v[-1], atol=1e-9)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"dt": 0.0}, "dt must be positive"),
        ({"dt": 0.1, "without": ["drag"]}, "no effect 'drag'"),
        ({"dt": 0.1, "integrator": "euler"}, "no integrator 'euler'"),
        ({"dt": 0.1, "servo": (np.ones(2), 1.0)}, "kp must be"),
        ({"dt": 0.1, "servo": (-1.0, 1.0)}, "must not be negative"),
        ({"dt": 0.1, "servo": (1.0,)}, "pair of gains"),
        ({"dt": 0.1, "inertia": 3.0}, "not among the inputs"),
        ({"dt": 0.1, "inputs": ("mass",)}, "no quantity is called"),
    ],
)
def test_bad_input(more, what):
    model = zoo.arm(3)
    with pytest.raises(bough.BoughError, match=what):
        Ensemble(model, *states(model), **more)


def test_bad_states_and_drives():
    model = zoo.humanoid()
    q, v = states(model)
    with pytest.raises(bough.BoughError, match="q must have shape"):
        Ensemble(model, q[0], v, dt=0.1)
    with pytest.raises(bough.BoughError, match="rows"):
        Ensemble(model, q, v[:2], dt=0.1)
    with pytest.raises(bough.BoughError, match="not on"):
        Ensemble(model, q, v, dt=0.1, servo=(np.ones(model.nv), 1.0))
    with pytest.raises(bough.BoughError, match="for servos"):
        Ensemble(model, q, v, dt=0.1).step(target=np.zeros(model.nv))
    with pytest.raises(bough.BoughError, match="tau must have shape"):
        Ensemble(model, q, v, dt=0.1).step(tau=np.zeros(3))
    with pytest.raises(bough.BoughError, match="count must not be negative"):
        Ensemble(model, q, v, dt=0.1).step(-1)
    for rows, given in ((99, None), (0, np.zeros(3))):
        with pytest.raises(bough.BoughError, match="do not fit together"):
            Ensemble(model, q, v, dt=0.1).reset(rows, given)


def test_arrays_on_a_gpu_are_never_brought_here_in_silence():
    elsewhere = SimpleNamespace(__cuda_array_interface__={})
    with pytest.raises(bough.BoughError, match="PyTorch or CuPy"):
        Ensemble(zoo.arm(3), elsewhere, elsewhere, dt=0.1)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
@pytest.mark.parametrize(("dtype", "stops"), [("float64", False), ("float32", False), ("float64", True)])
def test_a_gpu_does_the_same(integrator, dtype, stops, gpu):
    model = swing() if stops else on_hardware(zoo.humanoid(), starfish())
    q, v = (x.astype(dtype) for x in states(model, 9))
    more = {"dt": 1e-3, "integrator": integrator, "servo": (5.0, 0.1), "inputs": ("gravity",), "gravity": (0, 0, -3)}
    here = Ensemble(model, q, v, **more)
    there = Ensemble(model, *(to_gpu(x) for x in (q, v)), **more)
    for runs in (here, there):
        runs.step(10, tau=np.full(model.nv, 0.3))
    assert not here.failed.any()  # NaN would equal NaN below
    tolerance = 1e-9 if dtype == "float64" else 1e-3
    np.testing.assert_allclose(on_host(there.q), here.q, atol=tolerance)
    np.testing.assert_allclose(on_host(there.v), here.v, atol=10 * tolerance)
    assert not there.failed.any()
    there.v[7] = float("nan")
    there.step(2)
    assert np.flatnonzero(on_host(there.failed)).tolist() == [7]
    there.reset(there.failed)
    there.step(2)
    assert not there.failed.any()


@needs_gpu
def test_steps_in_a_cuda_graph():
    torch = pytest.importorskip("torch")
    model = zoo.arm(7)
    q, v = (torch.asarray(x, device="cuda") for x in states(model, 1000))
    runs, plain = (Ensemble(model, q, v, dt=1e-3) for _ in range(2))
    runs.step(2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        runs.step(10)
    for _ in range(3):
        graph.replay()
    plain.step(32)
    torch.testing.assert_close(runs.q, plain.q)
