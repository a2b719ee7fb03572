"""Derivatives of the functions of a space, against differences on the tangent space, CasADi, PyTorch and JAX."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.opspace import tasks as T
from bough.opspace.functions import PUBLIC
from models import random_state, random_twin

STEP = 1e-6
WHOLE = ("jacobian", "drift", "bias", "inverse_inertia", "inertia", "jbar", "nullspace")
MOVING = ("drift", "bias", "mu_rho", "operational_space")


@pytest.fixture(scope="module")
def space():
    """A body on a ball joint with two limbs; rows on both of them, and one of the centre of mass."""
    model = random_twin(4, [-1, 0, 0], ["spherical", "helical", "revolute"], armature=True).model
    tasks = [T.rows("f1", np.eye(6)[:2]), T.rows("f2", [[0, 0, 0, 1.0, 0, 0]], "local")]
    return bough.OperationalSpace(model, tasks, inputs=("gravity",))


def value(space, name, at):
    """By the public call of each, as a tuple."""
    given = {k: x for k, x in at.items() if k in space.parameters.inputs}
    if name == "torques":
        return (space.torques(at["q"], at["v"], at["acceleration"], at["tau0"], **given),)
    op = space(at["q"], at.get("v"), **given)
    names = WHOLE if name == "operational_space" else (name,)
    return tuple(op.J if x == "jacobian" else getattr(op, x) for x in names)


def inputs(space, name, seed=0):
    q, v, tau = random_state(space.model, seed)[:3]
    found = {"q": q, "v": v} if name in MOVING else {"q": q}
    if name == "torques":
        a = np.random.default_rng(seed).normal(size=space.tasks.size)
        found = {"q": q, "v": v, "acceleration": a, "tau0": tau}
    return found


def moved(space, at, along, step):
    q = space.model.integrate(at["q"], step * along["q"])
    return {k: q if k == "q" else x + step * along.get(k, 0.0) for k, x in at.items()}


def several(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_by_every_input(space, name):
    """Rates and second derivatives beside differences; gradients and Jacobians beside rates."""
    rng, at = np.random.default_rng(1), inputs(space, name)
    arrays, more = list(at.values()), {"gravity": rng.normal(size=3)}
    at |= more
    along = {k: rng.normal(size=space.model.nv if k == "q" else x.shape) for k, x in at.items()}
    weights = tuple(rng.normal(size=y.shape) for y in value(space, name, at))
    weight = weights if len(weights) > 1 else weights[0]
    rates = several(space.jvp(name, *arrays, along=along, **more))
    ahead, behind = (value(space, name, moved(space, at, along, s)) for s in (STEP, -STEP))
    for rate, a, b in zip(rates, ahead, behind, strict=True):
        expected = (a - b) / (2 * STEP)
        np.testing.assert_allclose(rate, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
    by = space.vjp(name, *arrays, weight=weight, **more)
    assert by.keys() == at.keys()
    total = sum(np.sum(w * r) for w, r in zip(weights, rates, strict=True))
    np.testing.assert_allclose(sum(np.sum(by[k] * along[k]) for k in by), total, rtol=1e-9, atol=1e-9)
    full = space.derivatives(name, *arrays, **more)
    for k, w in enumerate(weights):
        for key in at:
            J = several(full[key])[k]
            assert J.shape == (*w.shape, *along[key].shape)
        product = sum(np.tensordot(several(full[key])[k], along[key], along[key].ndim) for key in at)
        np.testing.assert_allclose(product, rates[k], atol=1e-9 * max(1.0, np.abs(rates[k]).max()))


def test_by_inertias():
    """The centre of mass moves with them, and Lambda changes."""
    model = zoo.arm(3)
    space = bough.OperationalSpace(model, [T.center_of_mass()], inputs=("inertia",))
    q, way = random_state(model, 1)[0], 0.01 * np.random.default_rng(0).normal(size=(3, 10))
    for name in ("jacobian", "inertia"):
        call = getattr(space, name)
        sides = [call(q, inertia=model.inertias + s * way) for s in (STEP, -STEP)]
        expected = (sides[0] - sides[1]) / (2 * STEP)
        rate = space.jvp(name, q, along={"inertia": way})
        np.testing.assert_allclose(rate, expected, atol=1e-6 * np.abs(expected).max())
        full = space.derivatives(name, q, wrt=["inertia"])["inertia"]
        np.testing.assert_allclose(np.tensordot(full, way, 2), rate, atol=1e-9 * np.abs(rate).max())


def test_second_derivatives(space):
    rng, at = np.random.default_rng(1), inputs(space, "inertia")
    along, weight = {"q": rng.normal(size=space.model.nv)}, rng.normal(size=(3, 3))
    found = space.hvp("inertia", at["q"], weight=weight, along=along, wrt=["q"])["q"]
    sides = [moved(space, at, along, s)["q"] for s in (STEP, -STEP)]
    ahead, behind = (space.vjp("inertia", q, weight=weight)["q"] for q in sides)
    expected = (ahead - behind) / (2 * STEP)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches(dtype):
    """Rows one by one, in both precisions; the space may name the precision, too."""
    model = zoo.arm(4)
    space = bough.OperationalSpace(model, [bough.position("hand")])
    rows = [np.array([random_state(model, s)[k] for s in range(3)], dtype) for k in range(2)]
    weight = np.ones((3, 3), dtype)
    found = space.vjp("mu_rho", *rows, weight=weight)
    full = space.derivatives("mu_rho", *rows)
    assert found["q"].dtype == full["v"].dtype == dtype
    tolerance = 1e-10 if dtype == np.float64 else 2e-3
    for k in range(3):
        one = space.vjp("mu_rho", *(x[k].astype(float) for x in rows), weight=np.ones(3))
        for name, g in one.items():
            atol = tolerance * max(1.0, np.abs(g).max())
            np.testing.assert_allclose(found[name][k], g, atol=atol)
            np.testing.assert_allclose(full[name][k].sum(axis=0), g, atol=atol)
    typed = bough.OperationalSpace(model, [bough.position("hand")], dtype=dtype)
    assert typed.jvp("jbar", [0.1] * 4, along={"q": [1.0] * 4}).dtype == dtype
    assert space.derivatives("inertia", np.zeros((0, 4), dtype))["q"].shape == (0, 3, 3, 4)
    assert space.inertia(np.zeros((0, 4), dtype)).shape == (0, 3, 3)


def test_casadi_differentiates_to_the_same():
    casadi = pytest.importorskip("casadi")
    model = zoo.arm(3)
    space = bough.OperationalSpace(model, [bough.position("hand", "local")], singular="damp", damping=0.1)
    q, v = random_state(model, 1)[:2]
    x, y = casadi.SX.sym("q", 3), casadi.SX.sym("v", 3)
    for name, arguments in {"inertia": (x,), "mu_rho": (x, y)}.items():
        given = (q,) if name == "inertia" else (q, v)
        slope = casadi.jacobian(bough.casadi.function(space, name)(*arguments), x)
        wanted = np.array(casadi.Function("J", [x, y], [slope])(q, v))
        found = space.derivatives(name, *given)["q"]
        # CasADi takes the entries of a matrix by columns
        found = np.moveaxis(found, 0, 1).reshape(-1, 3) if found.ndim == 3 else found
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


def test_what_is_refused():
    model = zoo.arm(4)
    space, x = bough.OperationalSpace(model, [bough.position("hand")]), np.full(4, 0.3)
    one = np.eye(3)
    with pytest.raises(bough.BoughError, match="no function 'inertias'; did you mean 'inertia'"):
        space.vjp("inertias", x, weight=one)
    with pytest.raises(bough.BoughError, match="inertia takes q, got 2 arrays"):
        space.vjp("inertia", x, x, weight=one)
    with pytest.raises(bough.BoughError, match="inertia has no input 'v'"):
        space.derivatives("inertia", x, wrt=["v"])
    with pytest.raises(bough.BoughError, match="inertia takes no damping of its own"):
        space.jvp("inertia", x, along={"q": x}, damping=1.0)
    with pytest.raises(bough.BoughError, match="does not take the option 'method'; it takes none"):
        space.jvp("inertia", x, along={"q": x}, method="efpa")
    with pytest.raises(bough.BoughError, match="inertia takes no forces"):
        space.jvp("inertia", x, along={"q": x}, forces=np.zeros((4, 6)))
    with pytest.raises(bough.BoughError, match="jvp: along must be Mapping"):
        space.jvp("inertia", x, along=None)
    with pytest.raises(bough.BoughError, match="there is no general code"):
        bough.OperationalSpace(model, [bough.position("hand")], general=True).vjp("bias", x, x, weight=one[0])
    twice = [bough.position("hand"), bough.position("hand", name="again")]
    with pytest.raises(bough.BoughError, match="the tasks are singular: rank 3 of 6"):
        bough.OperationalSpace(model, twice).vjp("inertia", x, weight=np.eye(6))
    with pytest.raises(bough.BoughError, match="what is truncated has no derivatives"):
        bough.OperationalSpace(model, twice, singular="truncate").vjp("jbar", x, weight=np.ones((4, 6)))
    damped = bough.OperationalSpace(model, twice, singular="damp", damping=1e-2)
    assert np.isfinite(damped.vjp("inertia", x, weight=np.eye(6))["q"]).all()
    for wrong in ("a", np.ones(2), -1.0, True):
        with pytest.raises(bough.BoughError, match="damping is added to Lambda"):
            space.vjp("torques", x, x, one[0], weight=x, damping=wrong)
        with pytest.raises(bough.BoughError, match="damping is added to Lambda"):
            space.torques(x, x, one[0], damping=wrong)
    # without its last argument, which is zero then, and with a damping
    short, long = (space.vjp("torques", x, x, one[0], *rest, weight=x, damping=1e-3) for rest in ((), (0 * x,)))
    np.testing.assert_array_equal(short["q"], long["q"])
    assert np.abs(space.vjp("torques", x, x, one[0], weight=x)["q"] - long["q"]).max() > 1e-6


def test_mimic_joints():
    """What needs no tree has derivatives there, too."""
    b = bough.Builder("fingers")
    b.add_body("first", joint="revolute", axis=(0, 1, 0), mass=2.0, com=(0.1, 0, -0.3), inertia=np.eye(3) * 0.1)
    b.add_body("second", parent="first", joint="revolute", axis=(0, 1, 0), placement=(0, 0, -0.5), mass=1.0,
               com=(0.1, 0, -0.2), inertia=np.eye(3) * 0.05, mimic=("first", 0.5, 0.1))  # fmt: skip
    b.add_body("third", parent="first", joint="revolute", axis=(1, 0, 0), placement=(0, 0, -0.5), mass=1.0,
               com=(0.1, 0, -0.2), inertia=np.eye(3) * 0.05)  # fmt: skip
    model = b.build()
    space = bough.OperationalSpace(model, [T.rows("second", [[1.0, 0, 0, 0, 0, 0]])])
    q, v, d = random_state(model, 1)[:3]
    for name, call in {"inverse_inertia": space.inverse_inertia, "jacobian": space.jacobian}.items():
        sides = [call(model.integrate(q, s * d)) for s in (STEP, -STEP)]
        expected = (sides[0] - sides[1]) / (2 * STEP)
        np.testing.assert_allclose(space.jvp(name, q, along={"q": d}), expected, atol=1e-6)
    assert space.derivatives("drift", q, v)["v"].shape == (1, model.nv)
    with pytest.raises(bough.BoughError, match="inertia: mimic joints tie branches"):
        space.vjp("inertia", q, weight=np.ones((1, 1)))
