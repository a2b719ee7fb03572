"""Mechanisms with loops: both algorithms of Pinocchio give what Bough gives, and states are closed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import loops
from bough.opspace import ConstrainedDynamics
from bough.opspace.loops import Loops


@pytest.mark.parametrize("model", [loops.parallel_robot(2), loops.ring(12)], ids=lambda model: model.name)
def test_peers_agree(model):
    pytest.importorskip("pinocchio")
    ours, at_rest, tau = ConstrainedDynamics(model), np.zeros(model.nv), np.ones(model.nv)
    states = loops.closed_states(model)
    assert np.abs(Loops(model).gap(states)).max() < 1e-9
    assert np.abs(states[0] - states[1]).max() > 1e-2
    found = loops.pinocchio(model, states, tau, [ours(q, at_rest, tau).qdd for q in states])
    assert set(found) == {"pin.constraintDynamics", "pin.lcaba"}


def test_contact_solvers_agree(monkeypatch):
    pinocchio = pytest.importorskip("pinocchio")
    monkeypatch.setattr(loops, "contest", lambda calls, seconds=0: dict.fromkeys(calls, 1.0))
    (row,) = loops.one_robot()
    solvers = 2 if hasattr(pinocchio, "ADMMConstraintSolver") else 0
    assert len(row.seconds) == 1 + solvers
    assert row.note.count("same velocities") == solvers
