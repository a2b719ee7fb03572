"""Derivatives of constrained dynamics beside finite differences: contacts, batches, gradients, redundant rows."""

import numpy as np
import pytest

import bough
from bough import pose, position, zoo
from bough.opspace import ConstrainedDynamics, OperationalSpace, closure_tasks
from opspace.mechanisms import four_bar

STEP = 1e-6


def arm(**options):
    model = zoo.arm(5)
    return ConstrainedDynamics(OperationalSpace(model, [position("hand")]), **options)


def floating(**options):
    model = zoo.floating_chain()
    return ConstrainedDynamics(OperationalSpace(model, [pose(model.frame_names[-1])]), **options)


CASES = {"arm": arm, "stabilised arm": lambda: arm(stabilise=0.1), "floating": floating}


def state(held, seed=0):
    model, rng = held.space.model, np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv)), rng.normal(size=held.tasks.size)


def differences(held, q, v, tau, a):
    """d(qdd, force)/d(q, v, tau, a) by central differences."""
    integrate, n, m = held.space.model.integrate, len(v), len(a)
    moves = {
        "q": [lambda s, e=e: (integrate(q, s * e), v, tau, a) for e in np.eye(n)],
        "v": [lambda s, e=e: (q, v + s * e, tau, a) for e in np.eye(n)],
        "tau": [lambda s, e=e: (q, v, tau + s * e, a) for e in np.eye(n)],
        "acceleration": [lambda s, e=e: (q, v, tau, a + s * e) for e in np.eye(m)],
    }
    for name, directions in moves.items():
        pairs = [(held(*move(STEP)), held(*move(-STEP))) for move in directions]
        yield name, *(np.array([(x[k] - y[k]) / (2 * STEP) for x, y in pairs]).T for k in range(2))


@pytest.mark.parametrize("name", CASES)
def test_they_are_limits_of_differences(name):
    held = CASES[name]()
    q, v, tau, a = state(held)
    found = held.derivatives(q, v, tau, a)
    for name, qdd, force in differences(held, q, v, tau, a):
        for ours, theirs in ((getattr(found.qdd, name), qdd), (getattr(found.force, name), force)):
            assert ours.shape == theirs.shape
            assert np.abs(ours - theirs).max() < 2e-5 * max(1.0, np.abs(theirs).max()), name


def test_the_rows_stay_met():
    """J dqdd/dtau = 0, and J dqdd/da = 1: an identity that needs no differences."""
    held = arm()
    q, v, tau, a = state(held)
    found, J = held.derivatives(q, v, tau, a), held.space.jacobian(q)
    assert np.abs(J @ found.qdd.tau).max() < 1e-9
    np.testing.assert_allclose(J @ found.qdd.acceleration, np.eye(3), atol=1e-9)


def test_batches_and_gradients():
    held = arm()
    rows = [state(held, seed) for seed in range(4)]
    q, v, tau, a = (np.array(x) for x in zip(*rows, strict=True))
    whole = held.derivatives(q, v, tau, a)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4, 5)), rng.normal(size=(4, 3))
    by = held.vjp(q, v, tau, a, qdd=x, force=y)
    for k, row in enumerate(rows):
        one = held.derivatives(*row)
        for name in ("q", "v", "tau", "acceleration"):
            for many, single in ((whole.qdd, one.qdd), (whole.force, one.force)):
                wanted = getattr(single, name)
                np.testing.assert_allclose(getattr(many, name)[k], wanted, atol=1e-9 * max(1, np.abs(wanted).max()))
            wanted = x[k] @ getattr(one.qdd, name) + y[k] @ getattr(one.force, name)
            np.testing.assert_allclose(by[name][k], wanted, atol=1e-9 * max(1, np.abs(wanted).max()))


def test_redundant_rows_have_derivatives_of_accelerations_alone():
    """The loop of a planar four-bar has rows that say the same: its motion is differentiated, its forces are not."""
    model = four_bar()
    held = ConstrainedDynamics(OperationalSpace(model, closure_tasks(model)), iterations=8)
    q = bough.close_loops(model, [-0.8, 0.3, -1.2]).q
    tau = np.random.default_rng(0).normal(size=model.nv)
    v = np.zeros(model.nv)
    found = held.derivatives(q, v, tau)
    assert found.force is None
    change = np.array(
        [(held(q, v, tau + STEP * e).qdd - held(q, v, tau - STEP * e).qdd) / (2 * STEP) for e in np.eye(model.nv)]
    )
    np.testing.assert_allclose(found.qdd.tau, change.T, atol=1e-5)
    with pytest.raises(bough.BoughError, match="redundant"):
        held.vjp(q, v, tau, force=np.ones(held.tasks.size))
    assert set(held.vjp(q, v, tau, qdd=np.ones(model.nv))) == {"q", "v", "tau", "acceleration"}


def test_bad_input():
    held = arm()
    q, v, tau, _ = state(held)
    with pytest.raises(bough.BoughError, match="needs weights"):
        held.vjp(q, v, tau)
    with pytest.raises(bough.BoughError, match="tau"):
        held.derivatives(q, v, tau[:-1])
    with pytest.raises(bough.BoughError, match=r"the weight qdd must have shape \(5,\), got \(4,\)"):
        held.vjp(q, v, tau, qdd=np.ones(4))
    with pytest.raises(bough.BoughError, match=r"the direction of tau must have shape \(5,\), got \(4,\)"):
        held.jvp(q, v, tau, along={"tau": np.ones(4)})
    with pytest.raises(bough.BoughError, match="got nothing"):
        held.jvp(q, v, tau, along={})
    assert held.derivatives(*np.zeros((3, 0, 5))).qdd.q.shape == (0, 5, 5)


@pytest.mark.parametrize("inputs", [(), ("inertia",)])
def test_second_derivatives(inputs):
    """The rate of the gradient along a direction of all inputs, against differences of gradients; in rows, too."""
    model, rng = zoo.arm(4), np.random.default_rng(0)
    held = ConstrainedDynamics(OperationalSpace(model, [position("hand")], inputs=inputs), stabilise=0.1)
    q, v, tau, a = state(held)
    weights = {"qdd": rng.normal(size=4), "force": rng.normal(size=3)}
    along = {"q": rng.normal(size=4), "v": rng.normal(size=4), "tau": rng.normal(size=4)}
    along |= {"acceleration": rng.normal(size=3)} | {name: 0.01 * rng.normal(size=(4, 10)) for name in inputs}

    def gradient(s):
        given = {name: model.inertias + s * along[name] for name in inputs}
        moved = (x + s * along[k] for k, x in (("q", q), ("v", v), ("tau", tau), ("acceleration", a)))
        return held.vjp(*moved, **weights, **given)

    found = held.hvp(q, v, tau, a, along=along, **weights)
    ahead, behind = gradient(1e-5), gradient(-1e-5)
    assert found.keys() == ahead.keys()
    for name, x in found.items():
        expected = (ahead[name] - behind[name]) / 2e-5
        np.testing.assert_allclose(x, expected, atol=1e-5 * np.abs(expected).max(), err_msg=name)
    rows = held.hvp(*(np.stack([x, x]) for x in (q, v, tau)), a, along=along, **weights)
    np.testing.assert_allclose(rows["q"][1], found["q"], rtol=1e-7, atol=1e-7 * np.abs(found["q"]).max())
    with pytest.raises(bough.BoughError, match="hvp needs weights"):
        held.hvp(q, v, tau, along=along)
    twice = ConstrainedDynamics(OperationalSpace(model, [position("hand"), position("hand", name="again")]))
    with pytest.raises(bough.BoughError, match="only accelerations have derivatives, and only first ones"):
        twice.hvp(q, v, tau, along={"v": v}, qdd=v)
