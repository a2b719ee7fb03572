"""`threads=` on every call that takes a batch, down to the compiled code."""

import numpy as np
import pytest

import bough
from bough.compile import settings
from bough.compile.run.threads import Batches
from bough.opspace import ConstrainedDynamics, ConstrainedInverseDynamics

B, N = 70, 4


def make():
    model, rng = bough.zoo.arm(N), np.random.default_rng(0)
    q, v, x = rng.normal(size=(3, B, N))
    hand = model.frame_names[-1]
    space = bough.OperationalSpace(model, [bough.position(hand)], singular="damp")
    plain = bough.OperationalSpace(model, [bough.position(hand)])
    held, inverse, dyn = ConstrainedDynamics(plain), ConstrainedInverseDynamics(plain), bough.Dynamics(model)
    target = {hand: np.array(dyn.placement(q, hand))}
    ground = bough.simulate.Contacts([hand], [bough.simulate.Plane((0.0, 0.0, -50.0), (0.0, 0.0, 1.0))], friction=0.5)
    ensemble = bough.simulate.Ensemble(model, q, v, dt=0.001, contacts=ground, threads=3)
    return {
        "dynamics": lambda **on: dyn.forward_dynamics(q, v, x, **on),
        "status": lambda **on: dyn.with_status("mass_matrix", q, **on),
        "fused": lambda **on: dyn.fused(["mass_matrix", "bias_force"])(q, v, **on),
        "kinematics": lambda **on: dyn.kinematics(q, v, **on),
        "vjp": lambda **on: dyn.vjp("bias_force", q, v, weight=x, **on),
        "integrate": lambda **on: model.integrate(q, v, **on),
        "difference": lambda **on: model.difference(q, v, **on),
        "state": lambda **on: space(q, v, **on).inertia,
        "bias": lambda **on: space.bias(q, v, **on),
        "inverse inertia": lambda **on: space.inverse_inertia(q, **on),
        "inverse inertia by method": lambda **on: space.inverse_inertia(q, method="ltdl", **on),
        "inertia": lambda **on: space.inertia(q, **on),
        "jacobian": lambda **on: space.jacobian(q, **on),
        "torques": lambda **on: space.torques(q, v, np.zeros((B, 3)), **on),
        "weighted": lambda **on: space.weighted(q, v, **on),
        "held": lambda **on: held(q, v, x, **on),
        "held derivatives": lambda **on: held.derivatives(q, v, x, **on),
        "held vjp": lambda **on: held.vjp(q, v, x, qdd=x, **on),
        "impact": lambda **on: held.impact(q, v, **on),
        "free": lambda **on: held.free_acceleration(q, v, x, **on),
        "held inverse": lambda **on: inverse(q, v, x, **on),
        "held inverse status": lambda **on: inverse.with_status(q, v, x, **on),
        "rollout": lambda **on: bough.simulate.rollout(model, q, v, duration=0.002, dt=0.001, **on),
        "ik": lambda **on: bough.ik.solve(model, target, q, starts=1, iterations=2, **on),
        "ik step": lambda **on: bough.ik.step(model, target, q, **on),
        "ensemble": lambda **on: ensemble.step(1),
    }


CALLS = make()


@pytest.mark.parametrize("name", CALLS)
def test_a_number_of_threads_reaches_the_code(name, monkeypatch):
    seen, run = [], Batches.run

    def watched(self, arrays, threads):
        seen.append(settings.threads() if threads is None else threads)
        return run(self, arrays, 1)

    monkeypatch.setenv("BOUGH_NUM_THREADS", "1")
    monkeypatch.setattr(Batches, "run", watched)
    CALLS[name](threads=3)
    assert seen
    assert set(seen) == {3}
    assert settings.threads() == 1


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2"])
@pytest.mark.parametrize("name", ["dynamics", "integrate", "inverse inertia", "rollout", "impact"])
def test_what_is_no_number_of_threads_is_refused(name, bad):
    with pytest.raises(bough.BoughError, match="threads must be a whole number, at least 1"):
        CALLS[name](threads=bad)


class NothingYet(dict):
    """Attributes as a thread sees them that looked just before another bound a function."""

    def __contains__(self, name):
        return False


def test_a_method_bound_by_two_threads_at_once_still_answers():
    q = np.zeros((3, N))
    dyn = bough.Dynamics(bough.zoo.arm(N))
    dyn.__dict__ = NothingYet(dyn.__dict__)
    space = bough.OperationalSpace(dyn.model, [bough.position(dyn.model.frame_names[-1])])
    want = dyn.mass_matrix(q), space.inverse_inertia(q)
    type(space)._inverse_inertia.func(space)
    for _ in range(2):
        np.testing.assert_array_equal(dyn.mass_matrix(q), want[0])
        np.testing.assert_array_equal(space.inverse_inertia(q), want[1])
