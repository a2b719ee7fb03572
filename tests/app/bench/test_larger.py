"""Derivatives, regressor and operational space of a robot's tips: compared before they are timed, or named."""

from __future__ import annotations

import numpy as np
import pytest

from bough import zoo
from bough.app.bench import larger, own
from bough.dynamics.dynamics import Dynamics

CASES = {larger.FORWARD_BY, larger.INVERSE_BY, larger.REGRESSOR, larger.LAMBDA, larger.PASS, larger.HELD}


def test_beside_pinocchio():
    pytest.importorskip("pinocchio")
    model = zoo.arm(4)
    rows = {row.case: row for row in larger.single(model, Dynamics(model), 0.0, True)}
    assert rows.keys() == CASES
    assert {case for case, row in rows.items() if len(row.seconds) == 2} == CASES - {larger.PASS}
    assert not any(row.note for row in rows.values())


def test_what_differs_is_named_and_the_rest_is_timed(monkeypatch):
    pytest.importorskip("pinocchio")
    model = zoo.arm(4)
    dyn = Dynamics(model)
    monkeypatch.setattr(larger.Tips, "full", lambda *given, **named: (np.zeros(1),))
    tips = larger.Tips(model, dyn)
    compared = larger.TipPeers(model, tips)
    compared.tips.space.inverse_inertia = lambda q: np.eye(3)
    monkeypatch.setattr(larger, "TipPeers", lambda *given: compared)
    notes = {row.case: row.note for row in larger.single(model, dyn, 0.0, True)}
    assert notes.pop(larger.LAMBDA).startswith("without pinocchio: pin.computeDelassusMatrix differs by")
    assert set(notes.values()) == {""}


def test_tips_are_where_limbs_end():
    model = zoo.quadruped()
    tips = larger.Tips(model, Dynamics(model, general=True))
    assert len(tips.frames) == 4
    assert {int(model.frames.body[k]) for k in tips.frames}.isdisjoint(model.mechanism.parent)
    chain = zoo.chain(5)
    assert [int(chain.frames.body[k]) for k in larger.Tips(chain, Dynamics(chain, general=True)).frames] == [4]


def test_singular_tips_are_named(monkeypatch):
    """Two joints do not move a tip along three axes: no pass, and a reason."""
    model = zoo.arm(2)
    dyn = Dynamics(model, general=True)
    monkeypatch.setattr(own, "batched", lambda dyn, frame: {})
    rows = {row.case: row for row in larger.single(model, dyn, 0.0, False)}
    assert rows[larger.PASS].note.startswith("not measured: the tasks are singular")
    batch = {row.case: row for row in own.batch(model, dyn, 2, 0.0, [])}
    assert batch[larger.PASS].note.startswith("not measured: the tasks are singular")
    assert len(batch[larger.HELD].seconds) == 4
