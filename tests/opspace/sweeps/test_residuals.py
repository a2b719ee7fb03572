"""What is left of the equations of a constrained motion vanishes along it, and nowhere near it."""

import numpy as np

import bough
from bough import zoo
from bough.compile.routine import interpret
from bough.opspace.sweeps.complete import RESIDUALS
from models import random_state


def test_both_vanish_along_the_motion():
    model = zoo.star(3)
    frame = model.frame_names[-1]
    held = bough.opspace.ConstrainedDynamics(bough.OperationalSpace(model, [bough.position(frame)]))
    tasks = bough.opspace.TaskSet(model, [bough.position(frame)])
    q, v, tau = random_state(model, 1)[:3]
    found = held(q, v, tau)
    groups = (model.mechanism, tasks.with_placements, tasks.pattern)

    def left(qdd, force):
        unbalanced, unmet = interpret(RESIDUALS, groups, tasks.sizes, q, v, qdd, force, [0.0])
        return unbalanced - tau, unmet

    for x in left(found.qdd, found.force):
        np.testing.assert_allclose(x, 0.0, atol=1e-8 * np.abs(tau).max())
    H, J = bough.Dynamics(model).mass_matrix(q), bough.OperationalSpace(model, tasks).jacobian(q)
    d, e = np.random.default_rng(0).normal(size=model.nv), np.ones(3)
    unbalanced, unmet = left(found.qdd + d, found.force + e)
    np.testing.assert_allclose(unbalanced, H @ d - J.T @ e, atol=1e-8)
    np.testing.assert_allclose(unmet, J @ d, atol=1e-8)
