"""PyTorch: values beside `Dynamics`, gradients by gradcheck, vmap, compile, bad input."""

import numpy as np
import pytest

import bough
from bough import zoo
from gpu import needs_gpu

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
    arm = zoo.arm(3)  # never called before
    q, v, tau = state(arm, 5)
    tau.requires_grad_()
    if not bough.torch.FINDS_CALLS:
        bough.torch.forward_dynamics(arm, q, v, tau)
    f = torch.compile(
        lambda q, v, tau: 2 * bough.torch.forward_dynamics(arm, q, v, tau), fullgraph=True, backend="aot_eager"
    )
    y = f(q, v, tau)
    torch.testing.assert_close(y, 2 * bough.torch.forward_dynamics(arm, q, v, tau))
    (got,) = torch.autograd.grad(y.sum(), tau)
    (wanted,) = torch.autograd.grad(2 * bough.torch.forward_dynamics(arm, q, v, tau).sum(), tau)
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


OWN = {
    "inertia": torch.tensor(ARM.inertias),
    "armature": torch.tensor(ARM.armature) + 0.1,
    "gravity": torch.tensor([0.5, 1.0, -9.0], dtype=torch.float64),
    "placement": torch.tensor(ARM.joint_placements),
}


def test_quantities_of_the_model_are_tensors_like_the_others():
    x, heavier = state(ARM, 3), OWN["inertia"] * torch.tensor([0.5, 1.0, 2.0]).double().reshape(3, 1, 1)
    dyn = bough.Dynamics(ARM, inputs=tuple(OWN))
    got = bough.torch.forward_dynamics(ARM, *x, **OWN | {"inertia": heavier})
    wanted = dyn.forward_dynamics(
        *(a.numpy() for a in x), **{k: a.numpy() for k, a in (OWN | {"inertia": heavier}).items()}
    )
    np.testing.assert_allclose(got.numpy(), wanted, atol=1e-12)
    single = bough.torch.inverse_dynamics(ARM, *(a[0].float() for a in x), inertia=heavier[2].float())
    wanted = dyn.inverse_dynamics(*(a[0].numpy() for a in x), inertia=heavier[2].numpy())
    np.testing.assert_allclose(single.numpy(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", list(OWN))
def test_gradients_by_quantities_of_the_model(name):
    x, own = state(ARM, 2), OWN[name].clone().requires_grad_()
    f = lambda p: bough.torch.forward_dynamics(ARM, *x, **{name: p}, check=False)  # noqa: E731
    assert torch.autograd.gradcheck(f, [own], atol=1e-5)
    q, v, tau = (a.numpy() for a in x)
    weight = np.random.default_rng(1).normal(size=v.shape)
    by = bough.Dynamics(ARM, inputs=[name]).vjp(
        "forward_dynamics", q, v, tau, weight=weight, wrt=[name], **{name: own.detach().numpy()}
    )
    (got,) = torch.autograd.grad((f(own) * torch.tensor(weight)).sum(), own)
    np.testing.assert_allclose(got.numpy(), by[name].sum(0), atol=1e-10 * got.abs().max().item())


def test_mass_is_found_by_gradient_descent():
    q, v, qdd = state(ARM, 20)
    real = OWN["inertia"].clone()
    real[-1] *= 1.5
    tau = bough.torch.inverse_dynamics(ARM, q, v, qdd, inertia=real)
    scale = torch.ones((), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([scale])

    def loss():
        optimiser.zero_grad()
        guess = torch.cat([OWN["inertia"][:-1], scale * OWN["inertia"][-1:]])
        error = ((bough.torch.inverse_dynamics(ARM, q, v, qdd, inertia=guess) - tau) ** 2).mean()
        error.backward()
        return error

    for _ in range(5):
        optimiser.step(loss)
    assert abs(scale.item() - 1.5) < 1e-6


def test_transforms_and_compiled_code_take_quantities_of_the_model():
    q, v, tau = state(ARM, 4)
    many = OWN["inertia"] * torch.linspace(0.5, 2, 4).double().reshape(4, 1, 1)
    f = lambda p, *x: bough.torch.forward_dynamics(ARM, *x, inertia=p)  # noqa: E731
    torch.testing.assert_close(torch.func.vmap(f)(many, q, v, tau), f(many, q, v, tau))
    by = torch.func.vmap(torch.func.grad(lambda *x: f(*x).sum()))(many, q, v, tau)
    given = many.clone().requires_grad_()
    torch.testing.assert_close(by, torch.autograd.grad(f(given, q, v, tau).sum(), given)[0])
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(many, q, v, tau), f(many, q, v, tau))


def test_bad_quantities_of_the_model():
    q, v, tau = state(ARM)
    with pytest.raises(bough.BoughError, match="inertia must end in the axes"):
        bough.torch.forward_dynamics(ARM, q, v, tau, inertia=OWN["inertia"][:-1])
    with pytest.raises(bough.BoughError, match=ARM.body_names[1]):
        bough.torch.forward_dynamics(ARM, q, v, tau, inertia=OWN["inertia"] * torch.tensor([[1], [-1], [1], [1]]))
    with pytest.raises(bough.BoughError, match="must be a tensor"):
        bough.torch.forward_dynamics(ARM, q, v, tau, gravity=[0, 0, -9.81])
    with pytest.raises(bough.BoughError, match="does not take the option 'mass'"):
        bough.torch.forward_dynamics(ARM, q, v, tau, mass=1.0)


def test_devices():
    q, v, tau = state(ARM)
    with pytest.raises(bough.BoughError, match=r"v is torch\.float64 on meta; all tensors must be"):
        bough.torch.forward_dynamics(ARM, q, v.to("meta"), tau)
    with pytest.raises(bough.BoughError, match="q is on meta: tensors must be on the CPU or on a CUDA GPU"):
        bough.torch.forward_dynamics(ARM, *(x.to("meta") for x in (q, v, tau)))


def test_gradients_off():
    q, v, tau = state(ARM)
    wanted = bough.torch.forward_dynamics(ARM, q, v, tau)
    asked = [x.clone().requires_grad_() for x in (q, v, tau)]
    for off in (torch.no_grad, torch.inference_mode):
        with off():
            found = bough.torch.forward_dynamics(ARM, *asked)
        assert not found.requires_grad
        torch.testing.assert_close(found, wanted)
    assert bough.torch.forward_dynamics(ARM, *asked).requires_grad


def test_strided_tensors_are_read_as_they_are_meant():
    q, v, tau = (x[:, ::2] for x in (torch.randn(5, 8, dtype=torch.float64) for _ in range(3)))
    wanted = bough.torch.forward_dynamics(ARM, *(x.contiguous() for x in (q, v, tau)))
    torch.testing.assert_close(bough.torch.forward_dynamics(ARM, q, v, tau), wanted)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_values_and_gradients_where_the_tensors_are(device, dtype, tolerance):
    """On a GPU they stay there, and so do gradients, by states and by parameters of each row."""
    given = [*state(ARM, 7), torch.tensor(np.linspace(0.9, 1.1, 7)[:, None, None] * ARM.inertias)]
    given = [x.to(dtype) for x in given]
    weight = torch.linspace(-1.0, 1.0, 28, dtype=dtype).reshape(7, 4)

    def run(tensors, weight):
        tensors = [x.clone().requires_grad_() for x in tensors]
        y = bough.torch.forward_dynamics(ARM, *tensors[:3], inertia=tensors[3])
        (y * weight).sum().backward()
        return [y.detach(), *(x.grad for x in tensors)]

    wanted = run([x.double() for x in given], weight.double())
    for a, b in zip(run([x.to(device) for x in given], weight.to(device)), wanted, strict=True):
        assert a.device.type == device
        assert a.dtype == dtype
        assert (a.cpu().double() - b).abs().max() <= tolerance * b.abs().max()


def test_forces_are_tensors_like_the_others():
    x = state(ARM, 2)
    forces = torch.tensor(np.random.default_rng(1).normal(size=(2, 4, 6)), requires_grad=True)
    f = lambda y: bough.torch.inverse_dynamics(ARM, *x, forces=y)  # noqa: E731
    wanted = bough.Dynamics(ARM).inverse_dynamics(*(a.numpy() for a in x), forces.detach().numpy())
    np.testing.assert_allclose(f(forces).detach().numpy(), wanted, atol=1e-10)
    assert torch.autograd.gradcheck(f, [forces])
    with pytest.raises(bough.BoughError, match="gravity takes no forces"):
        bough.torch.gravity(ARM, x[0], forces=forces)
    with pytest.raises(bough.BoughError, match=r"forces must end in the axes \(4, 6\)"):
        f(forces[:, :3])
    with pytest.raises(bough.BoughError, match="gravity needs a Model, got str"):
        bough.torch.gravity("arm.urdf", x[0])


def test_operational_space():
    """Functions of a space: values, gradients and rows as of the space itself; in compiled code, too."""
    space = bough.OperationalSpace(ARM, [bough.position("hand")])
    q, v = (x.requires_grad_() for x in state(ARM, 2)[:2])
    got = bough.torch.call(space, "mu_rho", q, v)
    np.testing.assert_allclose(got.detach().numpy(), space(q.detach().numpy(), v.detach().numpy()).mu_rho, rtol=1e-9)
    assert torch.autograd.gradcheck(lambda *x: bough.torch.call(space, "mu_rho", *x), (q, v))
    weight = np.ones((3, 3))
    by = torch.func.grad(lambda q: bough.torch.call(space, "inertia", q).sum())(q[0].detach())
    np.testing.assert_allclose(by.numpy(), space.vjp("inertia", q[0].detach().numpy(), weight=weight)["q"], rtol=1e-9)
    heavy = torch.tensor(2.0 * ARM.inertias)
    lighter = bough.torch.call(space, "inverse_inertia", q[0].detach(), inertia=heavy)
    np.testing.assert_allclose(lighter, 0.5 * space.inverse_inertia(q[0].detach().numpy()), rtol=1e-9)
    with pytest.raises(bough.BoughError, match="inertia takes no damping of its own"):
        bough.torch.call(space, "inertia", q, damping=1.0)
    with pytest.raises(bough.BoughError, match="no function 'mass_matrix'"):
        bough.torch.call(space, "mass_matrix", q)
    with pytest.raises(bough.BoughError, match="torques: options are words and numbers"):
        bough.torch.call(space, "torques", q, v, v[:, :3], v, damping=[0.1])
    with pytest.raises(bough.BoughError, match="damping is added to Lambda"):
        bough.torch.call(space, "torques", q, v, v[:, :3], v, damping=torch.tensor(0.1))


def test_batched_gradients():
    """What `is_grads_batched` and `vectorize` batch is no batch of torch.func."""
    q, v, tau = state(ARM)
    f = lambda *x: bough.torch.forward_dynamics(ARM, *x)  # noqa: E731
    wanted = torch.autograd.functional.jacobian(f, (q, v, tau))
    for strategy in ("reverse-mode", "forward-mode"):
        got = torch.autograd.functional.jacobian(f, (q, v, tau), vectorize=True, strategy=strategy)
        for x, y in zip(got, wanted, strict=True):
            torch.testing.assert_close(x, y)
    energy = lambda q: bough.torch.kinetic_energy(ARM, q, v)  # noqa: E731
    second = torch.autograd.functional.hessian(energy, q, vectorize=True)
    torch.testing.assert_close(second, torch.autograd.functional.hessian(energy, q))
    many = state(ARM, 3)
    many[2].requires_grad_()
    weights = torch.randn(5, 3, 4, dtype=torch.float64)
    results = f(*many)
    (got,) = torch.autograd.grad(results, many[2], weights, is_grads_batched=True, retain_graph=True)
    for x, weight in zip(got, weights, strict=True):
        torch.testing.assert_close(x, torch.autograd.grad(results, many[2], weight, retain_graph=True)[0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rows_that_are_not_finite_stop_no_other(dtype):
    q, v, tau = state(ARM, 5, dtype=dtype)
    wanted = bough.torch.forward_dynamics(ARM, q, v, tau)
    q[2, 1] = float("nan")
    got = bough.torch.forward_dynamics(ARM, q, v, tau)
    assert got[2].isnan().all()
    good = [0, 1, 3, 4]
    torch.testing.assert_close(got[good], wanted[good])
    assert bough.torch.forward_dynamics(ARM, q[2], v[2], tau[2]).isnan().all()


def test_infinite_gradients_reach_a_gradient_scaler():
    q, v, tau = state(ARM, 3)
    tau.requires_grad_()
    weight = torch.ones(3, 4, dtype=torch.float64)
    weight[1, 2] = float("inf")
    bough.torch.forward_dynamics(ARM, q, v, tau).backward(weight)
    assert not tau.grad[1].isfinite().any()
    assert tau.grad[[0, 2]].isfinite().all()
