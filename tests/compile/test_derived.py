"""Derivatives of routines beside finite differences, each other and the interpreted kernel."""

import numpy as np
import pytest

from bough import zoo
from bough.compile.derived import jvp, vjp
from bough.compile.executions import bind_arrays
from bough.compile.routine import interpret
from bough.dynamics.aba import ABA
from bough.dynamics.rnea import RNEA
from bough.errors import OptionError, TooLargeError
from bough.model import mark_limbs

ROUTINES = {"aba": ABA, "rnea": RNEA}
ROBOTS = {"humanoid": zoo.humanoid(), "chain": zoo.chain(5), "star": zoo.star(4)}


def bound(routine, model):
    return bind_arrays(routine, (model.mechanism,), model.sizes, twins=mark_limbs)


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return [model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)]


@pytest.mark.parametrize("name", ROUTINES)
@pytest.mark.parametrize("robot", ROBOTS)
def test_gradients_and_rates_are_those_of_the_function(name, robot):
    model, routine = ROBOTS[robot], ROUTINES[name]
    x, f = state(model), bound(routine, model)
    rng = np.random.default_rng(1)
    along, weight = [rng.normal(size=a.shape) for a in x], rng.normal(size=model.nv)
    h = 1e-6
    ahead, behind = ([a + s * h * d for a, d in zip(x, along, strict=True)] for s in (1, -1))
    rate = (f(*ahead) - f(*behind)) / (2 * h)
    got = bound(jvp(routine), model)(*x, *along)
    np.testing.assert_allclose(got, rate, atol=1e-6 * np.abs(rate).max())
    gradients = bound(vjp(routine), model)(*x, weight)
    total = sum(float(g @ d) for g, d in zip(gradients, along, strict=True))
    assert total == pytest.approx(float(weight @ got), rel=1e-10)


def test_some_inputs_only():
    model, routine = ROBOTS["chain"], ROUTINES["aba"]
    x, weight = state(model), np.ones(model.nv)
    everything = bound(vjp(routine), model)(*x, weight)
    np.testing.assert_allclose(bound(vjp(routine, ["tau"]), model)(*x, weight), everything[2], atol=1e-12)
    with pytest.raises(OptionError, match="has no input 'torque'"):
        vjp(routine, ["torque"])


def test_hessian_products_by_differentiating_twice():
    model, routine = ROBOTS["chain"], ROUTINES["aba"]
    x, weight, rng = state(model), np.ones(model.nv), np.random.default_rng(2)
    gradient, h = bound(vjp(routine, ["q"]), model), 1e-6
    d = rng.normal(size=model.nq)
    wanted = (gradient(x[0] + h * d, *x[1:], weight) - gradient(x[0] - h * d, *x[1:], weight)) / (2 * h)
    got = bound(jvp(vjp(routine, ["q"]), ["q"]), model)(*x, weight, d)
    np.testing.assert_allclose(got, wanted, atol=1e-5 * np.abs(wanted).max())


def test_rates_of_rates():
    model, routine = ROBOTS["chain"], ROUTINES["aba"]
    x, rng, h = state(model), np.random.default_rng(4), 1e-6
    d = [rng.normal(size=a.shape) for a in x]
    rate = bound(jvp(routine), model)
    ahead, behind = ([a + s * h * b for a, b in zip(x, d, strict=True)] for s in (1, -1))
    wanted = (rate(*ahead, *d) - rate(*behind, *d)) / (2 * h)
    got = bound(jvp(jvp(routine)), model)(*x, *d, *d, *(np.zeros(a.shape) for a in x))
    np.testing.assert_allclose(got, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("derive", [vjp, jvp])
def test_numbers_give_what_compiled_code_gives(derive):
    model, routine = zoo.arm(3), derive(ROUTINES["aba"])
    x = state(model)
    rng = np.random.default_rng(3)
    x += [rng.normal(size=model.nv) for _ in range(len(routine.arguments) - 3)]
    found = bound(routine, model)(*x)
    for a, b in zip(
        found if derive is vjp else [found], interpret(routine, (model.mechanism,), model.sizes, *x), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.native("graphs and code that only compiling makes")
def test_what_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("bough.compile.run.specialised.LARGEST_DERIVATIVE", 2_000)
    model = zoo.chain(9)
    with pytest.raises(TooLargeError, match="too many operations"):
        bound(vjp(ROUTINES["aba"]), model)(*state(model), np.ones(model.nv))
