"""Task sets that no mechanism, or no configuration of one, can follow in all directions."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.errors import TaskError
from bough.opspace import OperationalSpace, joint, pose, position, rows
from opspace.cases import random_case, state
from papers.featherstone2010.asimo import jacobian_pattern

pytestmark = pytest.mark.interpreted


def test_singular_tasks_are_refused_with_rank_and_names():
    space = OperationalSpace(zoo.arm(4), [pose("hand")], general=True)
    op = space(*state(space.model))
    assert np.isfinite(op.inverse_inertia).all()
    assert op.rank == 4
    for name in ("inertia", "jbar", "nullspace"):
        with pytest.raises(TaskError, match=r"rank 4 of 6.*pose\(hand\)"):
            getattr(op, name)


@pytest.mark.parametrize("seed", range(20))
def test_the_pattern_holds_all_of_J(seed):
    twin, tasks = random_case(seed)
    q = twin.model.random_configuration(np.random.default_rng(seed))
    J = OperationalSpace(twin.model, tasks, general=True).jacobian(q)
    assert not J[~jacobian_pattern(tasks)].any()


def test_truncated_and_damped_inertia():
    model = zoo.arm(4)
    q, v = state(model)
    truncated = OperationalSpace(model, [pose("hand")], singular="truncate", general=True)(q, v)
    A, Lam = truncated.inverse_inertia, truncated.inertia
    np.testing.assert_allclose(A @ Lam @ A, A, atol=1e-9 * np.abs(A).max())
    np.testing.assert_allclose(truncated.J @ truncated.jbar @ truncated.J, truncated.J, atol=1e-8)
    damped = OperationalSpace(model, [pose("hand")], singular="damp", damping=1e-3, general=True)(q, v)
    np.testing.assert_allclose(damped.inertia, np.linalg.inv(A + 1e-3 * np.eye(6)), rtol=1e-8, atol=1e-8)


def test_one_singular_configuration_spares_the_others():
    model = zoo.arm(7)
    q = model.random_configuration(np.random.default_rng(0), 4)
    flat = OperationalSpace(model, [position("hand"), joint("link1_joint")], general=True)
    stacked = OperationalSpace(model, [pose("hand"), pose("hand", name="again")], singular="truncate", general=True)
    assert np.isfinite(stacked(q).inertia).all()
    assert flat(q).inertia.shape == (4, 4, 4)
    arm = straight_arm()
    space = OperationalSpace(arm, [position("tip", point=(1, 0, 0))], singular="truncate", general=True)
    many = np.array([[0.3, 0.4, 0.5], [0.0, 0.0, 0.0], [0.1, -0.4, 0.9]])
    batch = space(many).inertia
    assert np.isfinite(batch).all()
    for k in (0, 2):
        np.testing.assert_allclose(batch[k], np.linalg.inv(space(many[k]).inverse_inertia), rtol=1e-9)
    refusing = OperationalSpace(arm, [position("tip", point=(1, 0, 0))], general=True)
    with pytest.raises(TaskError, match="row 1 of the batch: rank 2 of 3"):
        _ = refusing(many).inertia


def test_what_is_accepted_is_bounded_and_what_is_refused_is_named():
    """Random configurations, pushed towards a straight arm: Lambda is at most 1 / threshold of the usual."""
    model, rng = straight_arm(), np.random.default_rng(5)
    space = OperationalSpace(model, [position("tip", point=(1, 0, 0), name="tip")], general=True)
    q = model.random_configuration(rng, 300) * 10.0 ** rng.uniform(-3, 0, size=(300, 1))
    refused = 0
    for x, A in zip(q, space.inverse_inertia(q), strict=True):
        scale = np.sqrt(np.outer(space.mobility, space.mobility))
        smallest = np.linalg.eigvalsh(A / scale)[0]
        if smallest <= space.threshold:
            refused += 1
            with pytest.raises(TaskError, match=r"tip\.[xyz].*singular value.*'truncate' or 'damp'"):
                space.inertia(x)
        else:
            assert np.linalg.eigvalsh(space.inertia(x) * scale)[-1] <= 1.001 / space.threshold
    assert 20 < refused < 280


def test_one_doubtful_row_is_examined_alone(monkeypatch):
    """The others keep the bits that they have beside any row."""
    model = straight_arm()
    space = OperationalSpace(model, [position("tip", point=(1, 0, 0))], general=True)
    q = np.random.default_rng(1).uniform(0.3, 1.0, (6, 3))
    near, examined = q.copy(), []
    near[3, 1:] *= 0.0204  # nearly straight, and just accepted
    values = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda A: examined.append(len(A)) or values(A))
    whole, beside = space.inertia(q), space.inertia(near)
    assert examined == [1]
    np.testing.assert_array_equal(np.delete(beside, 3, 0), np.delete(whole, 3, 0))
    np.testing.assert_allclose(beside[3], np.linalg.inv(space.inverse_inertia(near[3])), rtol=1e-9)


def test_damped_tasks_are_never_refused():
    """Also with more rows than the mechanism has joints, and damping far below the threshold."""
    model = bough.zoo.arm(4)
    q = model.random_configuration(np.random.default_rng(0), batch=3)
    space = OperationalSpace(model, [pose(model.body_names[-1])], singular="damp")
    A = space.inverse_inertia(q) + 1e-6 * np.eye(6)
    np.testing.assert_allclose(space(q).inertia, np.linalg.inv(A), rtol=1e-6, atol=1e-3)
    assert np.isfinite(space(q[0]).jbar).all()


def straight_arm():
    builder = bough.Builder("straight")
    up = "world"
    for name, axis in (("base", (0, 0, 1)), ("middle", (0, 1, 0)), ("tip", (0, 1, 0))):
        up = builder.add_body(name, up, "revolute", (1, 0, 0), axis=axis, mass=1, com=(0.5, 0, 0), inertia=np.eye(3))
    return builder.build()


@pytest.mark.parametrize(("dtype", "damping"), [(float, 1e-20), (float, 1e-17), (np.float32, 1e-9)])
def test_damping_below_the_rounding_of_dependent_rows_is_named(dtype, damping):
    """Nine rows of rank six, which rounding leaves regular: Lambda would be noise, with negative eigenvalues."""
    model, rng = zoo.arm(7), np.random.default_rng(0)
    tasks = [pose("link7"), rows("link7", rng.normal(size=(3, 6)))]
    space = OperationalSpace(model, tasks, singular="damp", damping=damping, general=True)
    with pytest.raises(TaskError, match="is lost in the rounding"):
        _ = space(model.random_configuration(rng, 3).astype(dtype)).inertia


def test_damping_that_rounding_loses_is_named():
    """Masses of a microgram: Lambda^-1 is so large that a millionth beside it is nothing."""
    b = bough.Builder("tiny")
    b.add_body("a", mass=1e-9, com=(1e-3, 0, 0), inertia=1e-15 * np.eye(3))
    model = b.build()
    space = OperationalSpace(model, [joint("a"), joint("a", name="again")], singular="damp", general=True)
    with pytest.raises(TaskError, match=r"rank 1 of 2, .*; damping=1e-06 is lost in the rounding of Lambda\^-1"):
        space.inertia(np.zeros(1))
    result, status = space.with_status("inertia", np.array([[0.0], [np.nan]]))
    assert status.tolist() == [3, 2]
    assert np.isnan(result).all()
