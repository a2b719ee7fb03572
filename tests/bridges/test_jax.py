"""JAX: values beside `Dynamics`; jit, vmap, grad, jvp and their compositions; bad input."""

import numpy as np
import pytest

import bough
from bough import zoo

jax = pytest.importorskip("jax")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads
jax.config.update("jax_enable_x64", True)

ARM = zoo.arm(4)
HUMANOID = zoo.humanoid()


def state(model, *leading, dtype=np.float64):
    rng = np.random.default_rng(0)
    rows = int(np.prod(leading)) if leading else 1
    q = model.random_configuration(rng, rows).reshape(*leading, model.nq)
    return [x.astype(dtype) for x in (q, rng.normal(size=(*leading, model.nv)), rng.normal(size=(*leading, model.nv)))]


def forward(q, v, tau):
    return bough.jax.forward_dynamics(ARM, q, v, tau)


@pytest.mark.parametrize("leading", [(), (3,), (2, 5), (0,)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_those_of_dynamics(leading, dtype):
    x = state(HUMANOID, *leading, dtype=dtype)
    got = jax.jit(lambda *x: bough.jax.forward_dynamics(HUMANOID, *x))(*x)
    assert got.dtype == dtype
    rows = [a.reshape(-1, a.shape[-1]) for a in x]
    wanted = bough.Dynamics(HUMANOID).forward_dynamics(*rows).reshape(got.shape)
    np.testing.assert_allclose(
        got, wanted, atol=(1e-12 if dtype == np.float64 else 1e-4) * np.abs(wanted).max(initial=1)
    )


def many_rows(dtype):
    """As good as any, and with one row that is not finite."""
    x = state(ARM, 2, 700, dtype=dtype)
    bad = [x[0].copy(), *x[1:]]
    bad[0][0, 3] = np.nan
    return x, bad


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_that_is_not_finite_stops_no_other(dtype):
    x, bad = many_rows(dtype)
    wanted = bough.Dynamics(ARM).forward_dynamics(*(a.reshape(1400, -1) for a in x)).reshape(2, 700, ARM.nv)
    tolerance = (1e-12 if dtype == np.float64 else 1e-4) * np.abs(wanted).max()
    np.testing.assert_allclose(forward(*x), wanted, atol=tolerance)
    got = np.array(forward(*bad))
    assert np.isnan(got[0, 3]).all()
    got[0, 3] = wanted[0, 3]
    np.testing.assert_allclose(got, wanted, atol=tolerance)


@pytest.mark.native("XLA asks the threads that run machine code")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_rows_are_run_by_all_threads(dtype, monkeypatch):
    from bough.compile.run.call import BoundFunction

    statuses, fill = [], BoundFunction.fill
    monkeypatch.setattr(BoundFunction, "fill", lambda self, arrays: statuses.append(fill(self, arrays)) or statuses[-1])
    with jax.default_device(jax.devices("cpu")[0]):  # not a GPU, where there is one
        for x in many_rows(dtype):
            jax.block_until_ready(forward(*x))
    assert statuses[0] == 0
    assert statuses[-1] != 0


def test_derivatives_both_ways_and_of_derivatives():
    x = state(ARM)
    wanted = bough.Dynamics(ARM).inverse_mass_matrix(x[0])
    for jacobian in (jax.jacrev, jax.jacfwd):
        np.testing.assert_allclose(jax.jit(jacobian(forward, 2))(*x), wanted, atol=1e-9 * np.abs(wanted).max())
    check_grads(forward, x, order=2, atol=1e-4, rtol=1e-4, eps=1e-5)


def test_vmap_over_any_axis_and_with_what_is_shared():
    q, v, tau = state(ARM, 5)
    np.testing.assert_allclose(jax.vmap(forward)(q, v, tau), forward(q, v, tau), atol=1e-12)
    np.testing.assert_allclose(
        jax.vmap(forward, (None, 0, 1))(q[0], v, tau.T), forward(jnp.tile(q[0], (5, 1)), v, tau), atol=1e-12
    )
    by_tau = jax.jit(jax.vmap(jax.grad(lambda q, v, tau: forward(q, v, tau).sum(), 2)))(q, v, tau)
    wanted = bough.Dynamics(ARM).inverse_mass_matrix(q).sum(1)
    np.testing.assert_allclose(by_tau, wanted, atol=1e-9 * np.abs(wanted).max())


def test_functions_with_options():
    (q, *_), frame = state(ARM), ARM.frame_names[-1]
    got = bough.jax.jacobian(ARM, q, frame=frame, reference="world")
    np.testing.assert_allclose(got, bough.Dynamics(ARM).jacobian(q, frame, "world"), atol=1e-13)


def test_bad_input():
    q, v, tau = state(ARM, 3)
    with pytest.raises(bough.BoughError, match="must end in the axes"):
        forward(q[:, :3], v, tau)
    with pytest.raises(bough.BoughError, match="leading axes"):
        forward(q, v[:2], tau)
    with pytest.raises(bough.BoughError, match="float32"):
        forward(q, v.astype(np.float32), tau)
    with jax.enable_x64(False), pytest.raises(bough.BoughError, match="jax_enable_x64"):
        forward(q, v, tau)


OWN = {
    "inertia": ARM.inertias,
    "armature": ARM.armature + 0.1,
    "gravity": np.array([0.5, 1.0, -9.0]),
    "placement": ARM.joint_placements,
}


@pytest.mark.parametrize("name", list(OWN))
def test_quantities_of_the_model_are_arrays_like_the_others(name):
    q, v, tau = state(ARM, 3)
    f = lambda p: bough.jax.forward_dynamics(ARM, q, v, tau, **{name: p})  # noqa: E731
    dyn = bough.Dynamics(ARM, inputs=[name])
    np.testing.assert_allclose(f(OWN[name]), dyn.forward_dynamics(q, v, tau, **{name: OWN[name]}), atol=1e-12)
    weight = np.random.default_rng(1).normal(size=v.shape)
    got = jax.jit(jax.grad(lambda p: (f(p) * weight).sum()))(OWN[name])
    by = dyn.vjp("forward_dynamics", q, v, tau, weight=weight, wrt=[name], **{name: OWN[name]})
    np.testing.assert_allclose(got, by[name].sum(0), atol=1e-10 * np.abs(got).max())


def test_another_robot_in_each_row():
    q, v, tau = state(ARM, 4)
    many = ARM.inertias * np.linspace(0.5, 2, 4).reshape(4, 1, 1)
    f = lambda p, *x: bough.jax.forward_dynamics(ARM, *x, inertia=p)  # noqa: E731
    wanted = bough.Dynamics(ARM, inputs=["inertia"]).forward_dynamics(q, v, tau, inertia=many)
    np.testing.assert_allclose(f(many, q, v, tau), wanted, atol=1e-12)
    np.testing.assert_allclose(jax.vmap(f)(many, q, v, tau), wanted, atol=1e-12)


def test_bad_quantities_of_the_model():
    x = state(ARM)
    with pytest.raises(bough.BoughError, match="inertia must end in the axes"):
        bough.jax.forward_dynamics(ARM, *x, inertia=ARM.inertias[:-1])
    negative = ARM.inertias * np.array([[1], [-1], [1], [1]])
    with pytest.raises(bough.BoughError, match=ARM.body_names[1]):
        bough.jax.forward_dynamics(ARM, *x, inertia=negative)
    assert np.isfinite(bough.jax.forward_dynamics(ARM, *x, inertia=negative, check=False)).all()
    with pytest.raises(bough.BoughError, match="does not take the option 'mass'"):
        bough.jax.forward_dynamics(ARM, *x, mass=1.0)


def test_forces_are_arrays_like_the_others():
    q, v, tau = state(ARM, 2)
    forces, weight = np.random.default_rng(1).normal(size=(2, 4, 6)), np.ones((2, ARM.nv))
    f = lambda x, inertia: bough.jax.forward_dynamics(ARM, q, v, tau, forces=x, inertia=inertia)  # noqa: E731
    np.testing.assert_allclose(f(forces, None), bough.Dynamics(ARM).forward_dynamics(q, v, tau, forces), atol=1e-10)
    got = jax.grad(lambda *x: f(*x).sum(), argnums=(0, 1))(forces, ARM.inertias)
    dyn = bough.Dynamics(ARM, inputs=["inertia"])
    by = dyn.vjp("forward_dynamics", q, v, tau, forces=forces, weight=weight)
    np.testing.assert_allclose(got[0], by["forces"], atol=1e-10 * np.abs(got[0]).max())
    np.testing.assert_allclose(got[1], by["inertia"].sum(0), atol=1e-10 * np.abs(got[1]).max())
    with pytest.raises(bough.BoughError, match="mass_matrix takes no forces"):
        bough.jax.mass_matrix(ARM, q, forces=forces)


def test_operational_space():
    """Functions of a space: values and gradients, under jit and vmap."""
    space = bough.OperationalSpace(ARM, [bough.position("hand")])
    q, v, tau = state(ARM, 2)
    a = np.ones((2, 3))
    got = jax.jit(lambda *x: bough.jax.call(space, "torques", *x, damping=1e-3))(q, v, a, tau)
    np.testing.assert_allclose(got, space.torques(q, v, a, tau, damping=1e-3), rtol=1e-9)
    by = jax.vmap(jax.grad(lambda q: bough.jax.call(space, "inertia", q).sum()))(q)
    np.testing.assert_allclose(by, space.vjp("inertia", q, weight=np.ones((2, 3, 3)))["q"], rtol=1e-9)
    with pytest.raises(bough.BoughError, match="torques takes no forces"):
        bough.jax.call(space, "torques", q, v, a, tau, forces=np.zeros((4, 6)))
