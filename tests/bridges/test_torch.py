"""PyTorch: values beside `Dynamics`, gradients by gradcheck, vmap, compile, bad input."""

import numpy as np
import pytest

import bough
from bough import zoo

torch = pytest.importorskip("torch")

ARM = zoo.arm(4)
HUMANOID = zoo.humanoid()


def state(model, *leading, dtype=torch.float64):
    rng = np.random.default_rng(0)
    rows = int(np.prod(leading)) if leading else 1
    q = model.random_configuration(rng, rows).reshape(*leading, model.nq)
    arrays = [q, rng.normal(size=(*leading, model.nv)), rng.normal(size=(*leading, model.nv))]
    return [torch.tensor(x, dtype=dtype) for x in arrays]


@pytest.mark.parametrize("leading", [(), (3,), (2, 5)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_are_those_of_dynamics(leading, dtype):
    x = state(HUMANOID, *leading, dtype=dtype)
    got = bough.torch.forward_dynamics(HUMANOID, *x)
    assert got.dtype == dtype
    rows = [a.reshape(-1, a.shape[-1]).numpy() if leading else a.numpy() for a in x]
    wanted = bough.Dynamics(HUMANOID).forward_dynamics(*rows).reshape(got.shape)
    np.testing.assert_array_equal(got.numpy(), wanted)


def test_functions_with_options():
    (q, *_), frame = state(ARM), ARM.frame_names[-1]
    got = bough.torch.jacobian(ARM, q, frame=frame, reference="world")
    np.testing.assert_array_equal(got.numpy(), bough.Dynamics(ARM).jacobian(q.numpy(), frame, "world"))


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "kinetic_energy"])
def test_gradients_and_their_gradients(name):
    count = {"mass_matrix": 1, "kinetic_energy": 2}.get(name, 3)
    x = [a.requires_grad_() for a in state(ARM, 2)[:count]]
    f = getattr(bough.torch, name)
    assert torch.autograd.gradcheck(lambda *x: f(ARM, *x), x, atol=1e-6)
    assert torch.autograd.gradgradcheck(lambda *x: f(ARM, *x), x, atol=1e-5)


def test_an_input_for_all_rows_gets_the_sum_of_their_gradients():
    q, v, tau = state(ARM, 3)
    one = tau[0].clone().requires_grad_()
    bough.torch.forward_dynamics(ARM, q, v, one).sum().backward()
    many = one.detach().expand(3, -1).clone().requires_grad_()
    bough.torch.forward_dynamics(ARM, q, v, many).sum().backward()
    torch.testing.assert_close(one.grad, many.grad.sum(0))


def test_functional_transforms():
    q, v, tau = state(ARM, 5)
    f = lambda q, v, tau: bough.torch.forward_dynamics(ARM, q, v, tau)  # noqa: E731
    torch.testing.assert_close(torch.func.vmap(f)(q, v, tau), f(q, v, tau))
    torch.testing.assert_close(torch.func.vmap(f, (None, 0, 0))(q[0], v, tau), f(q[0].expand_as(q), v, tau))
    wanted = bough.Dynamics(ARM).inverse_mass_matrix(q.numpy())
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        by_tau = torch.func.vmap(jacobian(f, 2))(q, v, tau)
        np.testing.assert_allclose(by_tau.numpy(), wanted, atol=1e-9 * np.abs(wanted).max())


def test_compiled_code_sees_one_operator():
    q, v, tau = state(ARM, 5)
    tau.requires_grad_()
    f = torch.compile(
        lambda q, v, tau: 2 * bough.torch.forward_dynamics(ARM, q, v, tau), fullgraph=True, backend="aot_eager"
    )
    y = f(q, v, tau)
    torch.testing.assert_close(y, 2 * bough.torch.forward_dynamics(ARM, q, v, tau))
    (got,) = torch.autograd.grad(y.sum(), tau)
    (wanted,) = torch.autograd.grad(2 * bough.torch.forward_dynamics(ARM, q, v, tau).sum(), tau)
    torch.testing.assert_close(got, wanted)


def test_bad_input():
    q, v, tau = state(ARM, 3)
    with pytest.raises(bough.BoughError, match="must be a tensor"):
        bough.torch.forward_dynamics(ARM, q.numpy(), v, tau)
    with pytest.raises(bough.BoughError, match="float32 or float64"):
        bough.torch.forward_dynamics(ARM, q, v.float(), tau)
    with pytest.raises(bough.BoughError, match="must end in the axes"):
        bough.torch.forward_dynamics(ARM, q[:, :3], v, tau)
    with pytest.raises(bough.BoughError, match="leading axes"):
        bough.torch.forward_dynamics(ARM, q, v[:2], tau)
    with pytest.raises(AttributeError, match="no attribute"):
        bough.torch.forward_dynamic  # noqa: B018
