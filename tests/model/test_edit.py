"""Models made of models: other inertias, payloads, frames, welds; and the numbers as the user knows them."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.model.edit import rebuilt
from models import JOINT_TYPES, random_state, random_twin


@pytest.fixture(scope="module")
def twin():
    return random_twin(3, [-1, 0, 0, 1, 1, 2, 3, 4, 0], list(JOINT_TYPES), armature=True)


def test_inertias_are_pinocchios(twin):
    model, theirs = twin.model, twin.pin
    last = {name.split("_")[0][1:]: k for k, name in enumerate(theirs.names) if k > 0}  # of several joints of a body
    for name, row in zip(model.body_names, model.inertias, strict=True):
        np.testing.assert_allclose(row, theirs.inertias[last[name[1:]]].toDynamicParameters(), atol=1e-12)


def test_setting_what_is_there_changes_nothing(twin):
    model = twin.model
    again = model.with_inertias(model.inertias)
    np.testing.assert_allclose(again.mechanism.inertia, model.mechanism.inertia, atol=1e-14)


def test_a_model_built_anew_is_the_same(twin):
    model, (q, v, x) = twin.model, random_state(twin.model, 1)[:3]
    again = rebuilt(model, {})
    assert again.body_names == model.body_names
    assert again.frame_names == model.frame_names
    ours, theirs = bough.Dynamics(model), bough.Dynamics(again)
    np.testing.assert_allclose(theirs.inverse_dynamics(q, v, x), ours.inverse_dynamics(q, v, x), atol=1e-11)
    np.testing.assert_allclose(theirs.placements(q), ours.placements(q), atol=1e-13)


def test_a_weld_is_a_joint_that_stands_still(twin):
    model, (q, v, x) = twin.model, random_state(twin.model, 1)[:3]
    names = [model.joint_names[k] for k in (1, 5, 6)]
    welded = model.welded_at(q, names)
    assert set(welded.joint_names) == set(model.joint_names) - set(names)
    keep = [j for j in model.joints if j.name not in names]
    at_q = np.concatenate([q[j.q] for j in keep])
    kept = np.concatenate([np.arange(j.v.start, j.v.stop) for j in keep])
    still = np.zeros(model.nv, bool)
    still[kept] = True
    v, x = np.where(still, v, 0.0), np.where(still, x, 0.0)
    ours, theirs = bough.Dynamics(model), bough.Dynamics(welded)
    expected = ours.inverse_dynamics(q, v, x)[kept]
    np.testing.assert_allclose(theirs.inverse_dynamics(at_q, v[kept], x[kept]), expected, atol=1e-11)
    for name in model.frame_names:
        np.testing.assert_allclose(theirs.placement(at_q, name), ours.placement(q, name), atol=1e-13)


def test_a_payload_is_a_welded_body():
    model, q = zoo.arm(3), np.array([0.3, -0.2, 0.5])
    J = np.diag([0.02, 0.03, 0.04])
    loaded = model.with_payload("hand", 2.0, (0.1, 0.0, 0.05), J)
    assert loaded.total_mass == pytest.approx(model.total_mass + 2.0)
    T = bough.Dynamics(model).placement(q, "hand")
    com = T[:3, :3] @ [0.1, 0.0, 0.05] + T[:3, 3]
    total = model.total_mass * bough.Dynamics(model).center_of_mass(q) + 2.0 * com
    np.testing.assert_allclose(bough.Dynamics(loaded).center_of_mass(q), total / loaded.total_mass, rtol=1e-12)
    at = bough.Dynamics(model.with_frame("com", "hand", (0.1, 0.0, 0.05))).jacobian(q, "com", "local")
    both = np.zeros((6, 6))
    both[:3, :3], both[3:, 3:] = 2.0 * np.eye(3), J
    added = at.T @ both @ at
    expected = bough.Dynamics(model).mass_matrix(q) + added
    np.testing.assert_allclose(bough.Dynamics(loaded).mass_matrix(q), expected, rtol=1e-11)


def test_another_frame():
    model, q = zoo.arm(3), np.array([0.3, -0.2, 0.5])
    T = np.eye(4)
    T[:3, 3] = 0.1, 0.2, 0.3
    more = model.with_frame("tool", "hand", T)
    dyn = bough.Dynamics(more)
    np.testing.assert_allclose(dyn.placement(q, "tool"), dyn.placement(q, "hand") @ T, atol=1e-14)


def test_what_is_refused():
    model = zoo.arm(3)
    with pytest.raises(bough.BoughError, match="no body 'hnd'"):
        model.with_inertias({"hnd": np.ones(10)})
    with pytest.raises(bough.BoughError, match=r"shape \(3, 10\), got \(2, 10\)"):
        model.with_inertias(np.ones((2, 10)))
    with pytest.raises(bough.BoughError, match=r"inertias must be numbers of shape \(3, 10\)"):
        model.with_inertias(model.inertias + 1j)
    with pytest.raises(bough.BoughError, match="is not physical: its mass is negative"):
        model.with_inertias({model.body_names[0]: -model.inertias[0]})
    with pytest.raises(bough.BoughError, match="taken"):
        model.with_frame("hand", "hand")
    with pytest.raises(bough.BoughError, match="no frame 'hnd'"):
        model.with_payload("hnd", 1.0)
    with pytest.raises(bough.BoughError, match="the world, which does not move"):
        model.with_payload("world", 1.0)
    with pytest.raises(bough.BoughError, match="mass must be finite"):
        model.with_payload("hand", -1.0)
    with pytest.raises(bough.BoughError, match="a list of names"):
        model.welded_at(model.neutral, model.joint_names[0])
    with pytest.raises(bough.BoughError, match="no joint 'x'"):
        model.welded_at(model.neutral, ["x"])
    with pytest.raises(bough.BoughError, match="no moving body"):
        model.welded_at(model.neutral, model.joint_names)


def test_a_welded_model_looks_as_before():
    model = zoo.quadruped()
    assert model.visuals
    assert model.welded_at(model.neutral, [model.joint_names[-1]]).visuals == model.visuals
