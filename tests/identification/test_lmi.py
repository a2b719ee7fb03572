"""Physical consistency as linear matrix inequalities, beside the fit inside the cone."""

import sys

import numpy as np
import pytest

import bough
from bough import zoo
from bough.identification.consistent import pseudo_inertia
from identification.test_fit import measured


def test_a_payload_and_noise():
    pytest.importorskip("cvxpy")
    model = zoo.arm(3)
    loaded = model.with_payload("hand", 2.0, (0.05, 0.0, 0.1), 0.01 * np.eye(3))
    data = measured(loaded, 300, 0.05)
    found = bough.identify(model, *data, noise=0.05, drive=("damping",), method="lmi")
    assert found.residual == pytest.approx(1.0, abs=0.06)
    assert np.linalg.eigvalsh(pseudo_inertia(found.model.inertias)).min() >= -1e-9
    assert (found.model.damping >= 0.0).all()
    q, v, qdd, tau = measured(loaded, 50, seed=3)
    np.testing.assert_allclose(
        bough.Dynamics(found.model).inverse_dynamics(q, v, qdd), tau, atol=0.02 * np.abs(tau).max()
    )
    inside = bough.identify(model, *data, noise=0.05, drive=("damping",))
    assert abs(found.residual - inside.residual) < 0.01


def test_what_is_refused(monkeypatch):
    model = zoo.arm(3)
    data = measured(model, 5)
    with pytest.raises(bough.BoughError, match="method is 'divergence' or 'lmi', got 'sdp'"):
        bough.identify(model, *data, method="sdp")
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(bough.BoughError, match=r'needs cvxpy: pip install "bough\[lmi\]"'):
        bough.identify(model, *data, method="lmi")
