"""Joint forces for wanted accelerations: beside J, Lambda and N one by one, and by what the tasks then do."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.run.libraries import on_host
from gpu import needs_gpu, on_hardware, to_gpu

ROBOTS = {"arm": zoo.arm(7), "humanoid": zoo.humanoid(), "chain": zoo.chain(6)}


def setting(name, batch=None):
    model = ROBOTS[name]
    rng = np.random.default_rng(3)
    space = bough.OperationalSpace(model, [bough.position(model.body_names[-1])])
    q = model.random_configuration(rng, batch)
    shape = () if batch is None else (batch,)
    v, tau0 = rng.normal(size=(2, *shape, model.nv))
    return space, q, v, rng.normal(size=(*shape, 3)), tau0


@pytest.mark.parametrize("name", ROBOTS)
def test_tasks_accelerate_as_wanted(name):
    space, q, v, a, tau0 = setting(name)
    tau = space.torques(q, v, a, tau0, damping=0.0)
    op = space(q, v)
    C = space.dynamics.bias_force(q, v)
    wanted = C + op.J.T @ (op.inertia @ (a - space.drift(q, v))) + op.nullspace.T @ tau0
    np.testing.assert_allclose(tau, wanted, atol=1e-9 * np.abs(wanted).max())
    qdd = space.dynamics.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(op.J @ qdd + space.drift(q, v), a, atol=1e-8 * np.abs(qdd).max())


def test_batches_and_single_precision():
    space, q, v, a, tau0 = setting("humanoid", 5)
    got = space.torques(q, v, a, tau0)
    np.testing.assert_allclose(got[2], space.torques(q[2], v[2], a[2], tau0[2]), atol=1e-9)
    single = space.torques(*(x.astype(np.float32) for x in (q, v, a, tau0)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, got, atol=1e-3 * np.abs(got).max())


def test_nothing_grows_without_bound_at_a_singular_configuration():
    model = zoo.arm(7)
    space = bough.OperationalSpace(model, [bough.pose(model.body_names[-1]), bough.pose(model.body_names[0])])
    tau = space.torques(model.neutral, np.zeros(7), np.ones(12), damping=1e-3)
    assert np.isfinite(tau).all()
    assert np.abs(tau).max() < 1e5


def test_what_belongs_to_the_cpu_is_refused_on_a_gpu():
    space = bough.OperationalSpace(ROBOTS["arm"], [bough.position(ROBOTS["arm"].body_names[-1])], device="cuda")
    with pytest.raises(bough.BoughError, match="computed on the CPU"):
        space(ROBOTS["arm"].neutral)


def test_on_a_gpu(gpu):
    space, q, v, a, tau0 = setting(on_hardware("humanoid", "arm"), 50)
    there = bough.OperationalSpace(space.model, space.tasks, device="cuda")
    x = [to_gpu(y) for y in (q, v, a, tau0)]
    wanted = space.torques(q, v, a, tau0)
    np.testing.assert_allclose(on_host(there.torques(*x)), wanted, atol=1e-10 * np.abs(wanted).max())
    wanted = space.inverse_inertia(q)
    np.testing.assert_allclose(on_host(there.inverse_inertia(x[0])), wanted, atol=1e-12 * np.abs(wanted).max())
    damped = np.linalg.inv(wanted + there.usual_damping * np.eye(wanted.shape[-1]))
    for found in (there.inertia(x[0]), there.inertia(q)):
        np.testing.assert_allclose(on_host(found), damped, atol=1e-7 * np.abs(damped).max())
    np.testing.assert_allclose(on_host(there.inertia(x[0][0])), damped[0], atol=1e-7 * np.abs(damped[0]).max())


@pytest.mark.parametrize("name", ["inertia", "torques", "jacobian"])
def test_derivatives_on_a_gpu(name, gpu):
    model = zoo.star(2)
    tasks = [bough.position(model.body_names[0])]
    here, there = (bough.OperationalSpace(model, tasks, singular="damp", damping=0.1, device=x) for x in (None, "cuda"))
    rng = np.random.default_rng(0)
    count = {"inertia": 1, "torques": 4, "jacobian": 1}[name]
    q = model.random_configuration(rng, 3)
    x = [q, rng.normal(size=(3, model.nv)), rng.normal(size=(3, 3)), rng.normal(size=(3, model.nv))][:count]
    wanted, found = here.derivatives(name, *x), there.derivatives(name, *map(to_gpu, x))
    assert [*found] == [*wanted]
    for key, y in wanted.items():
        np.testing.assert_allclose(on_host(found[key]), y, atol=1e-9 * np.abs(y).max())
    weight = {"inertia": (3, 3, 3), "torques": (3, model.nv), "jacobian": (3, 3, model.nv)}[name]
    weight = rng.normal(size=weight)
    wanted = here.vjp(name, *x, weight=weight)
    found = there.vjp(name, *map(to_gpu, x), weight=to_gpu(weight))
    for key, y in wanted.items():
        np.testing.assert_allclose(on_host(found[key]), y, atol=1e-9 * np.abs(y).max())


@needs_gpu
def test_a_cuda_graph_records_them():
    torch = pytest.importorskip("torch")
    model = zoo.arm(7)
    space = bough.OperationalSpace(model, [bough.pose(model.body_names[-1])], device="cuda", singular="damp")
    given = [torch.randn(64, n, device="cuda", dtype=torch.float64) for n in (7, 7, 6, 7)]
    plain = space.torques(*given)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded = space.torques(*given)
    graph.replay()
    torch.testing.assert_close(recorded, plain)
