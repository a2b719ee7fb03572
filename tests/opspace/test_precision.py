"""What `dtype` says holds for every result, and float32 gives what float64 gives to its own accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from bough import zoo
from bough.errors import ShapeError
from bough.opspace import ConstrainedDynamics, Hierarchy, OperationalSpace, pose

QUANTITIES = ("J", "bias", "drift", "velocity", "inverse_inertia", "inertia", "jbar", "nullspace", "mu_rho")


@pytest.mark.parametrize(("general", "batch"), [(True, None), (False, 3)])
def test_results_have_the_dtype_of_the_space(general, batch):
    model, rng = zoo.arm(7), np.random.default_rng(2)
    q = model.random_configuration(rng, batch)
    v, tau, F = rng.normal(size=(*q.shape[:-1], 7)), rng.normal(size=(*q.shape[:-1], 7)), np.ones((*q.shape[:-1], 6))
    double = OperationalSpace(model, [pose("hand")], general=general, dtype=np.float64)
    single = OperationalSpace(model, [pose("hand")], general=general, dtype=np.float32)
    exact = double(q, v)
    for space, given, dtype in ((single, np.float64, np.float32), (double, np.float32, np.float64)):
        op = space(q.astype(given), v.astype(given))
        for name in QUANTITIES:
            value, true = getattr(op, name), getattr(exact, name)
            assert value.dtype == dtype, name
            np.testing.assert_allclose(value, true, atol=2e-3 * max(1.0, np.abs(true).max()), err_msg=name)
        assert op.joint_forces(F, tau).dtype == dtype
        assert op.velocity.dtype == op.transpose_times(F).dtype == dtype
        assert space.inverse_inertia(q.astype(given)).dtype == dtype
        assert space.full(q.astype(given), v.astype(given)).nullspace.dtype == dtype
        found = ConstrainedDynamics(space)(q.astype(given), v.astype(given), tau.astype(given))
        assert found.qdd.dtype == found.force.dtype == dtype
        assert Hierarchy(space).forces(op.inverse_inertia, op.bias, np.ones(6)).force.dtype == dtype


def test_without_dtype_results_follow_the_inputs():
    model, rng = zoo.arm(7), np.random.default_rng(0)
    space, q, v = OperationalSpace(model, [pose("hand")], general=True), model.random_configuration(rng), np.ones(7)
    single = space(q.astype(np.float32), v.astype(np.float32))
    mixed = space(q.astype(np.float32), v)
    for name in QUANTITIES:
        assert getattr(single, name).dtype == np.float32, name
        assert getattr(mixed, name).dtype == np.float64, name


@pytest.mark.parametrize("dtype", [np.float16, np.int64, "complex", "nonsense", object])
def test_other_types_are_refused(dtype):
    with pytest.raises(ShapeError, match="float64 or float32"):
        OperationalSpace(zoo.arm(3), [pose("hand")], dtype=dtype)
