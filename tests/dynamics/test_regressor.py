"""The regressor: Y pi is inverse dynamics, whatever the inertias; Pinocchio's is the same."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.dynamics import regressor_pairs
from models import JOINT_TYPES, random_state, random_twin

pin = pytest.importorskip("pinocchio")


@pytest.mark.parametrize("general", [False, True])
def test_linear_in_the_inertias(general):
    model = random_twin(3, [-1, 0, 0, 1, 1, 2, 3, 4, 0], list(JOINT_TYPES), armature=True).model
    q, v, qdd = random_state(model, 1)[:3]
    dyn = bough.Dynamics(model, general=general)
    Y = dyn.regressor(q, v, qdd)
    assert Y.shape == (model.nv, 10 * len(model.joints))
    found = Y @ model.inertias.ravel() + model.armature * qdd
    np.testing.assert_allclose(found, dyn.inverse_dynamics(q, v, qdd), atol=1e-11)
    other = np.random.default_rng(0).normal(size=model.inertias.shape)  # of no body, but tau is linear all the same
    free = bough.Dynamics(model, inputs=["inertia"], check=False, general=general)
    expected = free.inverse_dynamics(q, v, qdd, inertia=other)
    np.testing.assert_allclose(Y @ other.ravel() + model.armature * qdd, expected, atol=1e-11)


def test_pinocchio():
    model_of = ["floating", "revolute", "prismatic", "spherical", "revolute"]
    twin = random_twin(5, [-1, 0, 1, 0, 3], model_of)
    model, (q, v, qdd) = twin.model, random_state(twin.model, 1)[:3]
    at = twin.q_to_pin(q), twin.v_to_pin(v), twin.v_to_pin(qdd)
    theirs = twin.from_pin(pin.computeJointTorqueRegressor(twin.pin, twin.data, *at))
    found = bough.Dynamics(model).regressor(q, v, qdd)
    order = [k for j in twin.joints for k in range(10 * j, 10 * j + 10)]
    np.testing.assert_allclose(found[:, order], theirs, atol=1e-12)


def test_batches_in_both_precisions():
    model = zoo.star(3)
    q, v, qdd = (np.array([random_state(model, s)[k] for s in range(5)]) for k in range(3))
    dyn = bough.Dynamics(model)
    found = dyn.regressor(q, v, qdd)
    for k in range(5):
        np.testing.assert_allclose(found[k], dyn.regressor(q[k], v[k], qdd[k]), atol=1e-13)
    single = dyn.regressor(*(x.astype(np.float32) for x in (q, v, qdd)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, atol=1e-3)


def test_mimic_joints_are_refused():
    builder = bough.Builder()
    for name, up in (("a", "world"), ("b", "a")):
        options = {"mimic": ("a", 1.0, 0.0)} if name == "b" else {}
        builder.add_body(name, up, mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3), **options)
    with pytest.raises(bough.BoughError, match=r"regressor: .* has mimic joints; load it with mimic"):
        bough.Dynamics(builder.build()).regressor(*np.zeros((3, 1)))


def test_packed_rows_are_those_that_are_not_zero():
    twin = random_twin(5, [-1, 0, 1, 1, 3, 0], ["floating", "universal", "spherical", "planar", "helical", "revolute"])
    model = twin.model
    dyn = bough.Dynamics(model)
    states = [random_state(model, seed) for seed in range(3)]
    q, v, qdd = (np.array([s[k] for s in states]) for k in (0, 1, 3))
    freedoms, bodies = regressor_pairs(model)
    Y = dyn.regressor(q, v, qdd).reshape(3, model.nv, -1, 10)
    packed = dyn.packed_regressor(q, v, qdd)
    assert packed.shape == (3, len(freedoms), 10)
    np.testing.assert_array_equal(packed, Y[:, freedoms, bodies])
    rest = Y.copy()
    rest[:, freedoms, bodies] = 0.0
    assert not rest.any()
    np.testing.assert_array_equal(dyn.packed_regressor(q[1], v[1], qdd[1]).shape, packed.shape[1:])


def test_results_go_into_arrays_of_the_shape_that_they_have():
    model, rng = bough.zoo.arm(3), np.random.default_rng(0)
    dyn = bough.Dynamics(model)
    for rows in ((), (5,)):
        q, v, a = rng.normal(size=(3, *rows, 3))
        wanted = dyn.regressor(q, v, a)
        out = np.zeros_like(wanted)
        assert dyn.regressor(q, v, a, out=out) is out
        np.testing.assert_array_equal(out, wanted)
        for name in ("forward_dynamics_derivatives", "inverse_dynamics_derivatives"):
            wanted = getattr(dyn, name)(q, v, a)
            outs = tuple(np.zeros_like(x, order="C", subok=False) for x in map(np.ascontiguousarray, wanted))
            assert all(x is y for x, y in zip(getattr(dyn, name)(q, v, a, out=outs), outs, strict=True))
            for x, y in zip(outs, wanted, strict=True):
                np.testing.assert_array_equal(x, y)
    with pytest.raises(bough.BoughError, match=r"regressor: out for Y must be a float64 array \(5, 3, 30\)"):
        dyn.regressor(q, v, a, out=np.zeros((5, 3, 29)))
    with pytest.raises(bough.BoughError, match="out must be a tuple of 3 arrays"):
        dyn.forward_dynamics_derivatives(q, v, a, out=outs[:2])
