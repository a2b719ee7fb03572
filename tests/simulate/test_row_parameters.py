"""Quantities that differ from row to row, together with contacts: as robots built with them."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.errors import ModelError, OptionError, ShapeError
from bough.simulate import ContactPoint, Contacts, Ensemble

H = 0.1
BOTTOM = [ContactPoint("box", (x * H, y * H, -H)) for x in (-1, 1) for y in (-1, 1)]


def robot(mass=2.0, drop=0.0):
    """A box that carries a pendulum with a limit."""
    builder = bough.Builder("box")
    builder.add_body("box", joint="floating", mass=mass, inertia=np.eye(3) * 0.0133)
    law = {"lower": -0.3, "upper": 0.3, "damping": 0.01, "mass": 0.3, "com": (0, 0, 0.1), "inertia": np.eye(3) * 1e-3}
    builder.add_body("rod", "box", placement=(drop, 0, 0.05), axis=(0, 1, 0), **law)
    return builder.build()


def states(model, batch):
    q, v = np.tile(model.neutral, (batch, 1)), np.zeros((batch, model.nv))
    q[:, 2], q[:, 7], v[:, 0], v[:, 5], v[:, 6] = H, 0.1, 0.5, 1.0, 1.0
    return q, v


def run(model, batch, **options):
    q, v = states(model, batch)
    runs = Ensemble(model, q, v, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.3), **options)
    runs.step(80)
    return runs


@pytest.mark.parametrize("name", ["inertia", "placement", "armature", "gravity"])
def test_as_robots_of_their_own(name):
    model, other = robot(), robot()
    own = {"inertia": "inertias", "placement": "joint_placements"}.get(name, name)
    if name == "inertia":
        other = robot(mass=5.0)
    elif name == "placement":
        other = robot(drop=0.05)
    value = np.array(getattr(other, own), float)
    if name == "armature":
        value[-1] = 0.02
    if name == "gravity":
        value = value * 0.3
    rows = np.stack([np.array(getattr(model, own), float), value])
    runs = run(model, 2, inputs=(name,), **{name: rows})
    plain = run(model, 1, dynamics=bough.Dynamics(model, general=True))
    np.testing.assert_allclose(runs.q[0], plain.q[0], atol=1e-9)
    assert not np.allclose(runs.q[1], plain.q[0], atol=1e-6)
    if other is not model and name in ("inertia", "placement"):
        alone = run(other, 1, dynamics=bough.Dynamics(other, general=True))
        np.testing.assert_allclose(runs.q[1], alone.q[0], atol=1e-9)
        np.testing.assert_allclose(runs.force[1], alone.force[0], atol=1e-3)


def test_rows_are_assigned_anew():
    model = robot()
    q, v = states(model, 3)
    given = {"dt": 1e-3, "inputs": ("inertia",)}
    for runs in (Ensemble(model, q, v, contacts=Contacts(BOTTOM), **given), Ensemble(model, q, v, **given)):
        runs.assign([1], inertia=np.array(robot(mass=5.0).inertias))
        runs.step(30)
        np.testing.assert_allclose(runs.q[0], runs.q[2])
        assert not np.allclose(runs.q[0], runs.q[1], atol=1e-7)
        with pytest.raises(OptionError, match="'armature' is not among the inputs"):
            runs.assign([1], armature=0.1)
        with pytest.raises(ShapeError):
            runs.assign([1], inertia=np.ones((2, 3)))
        with pytest.raises(ModelError, match="mass"):
            runs.assign([1], inertia=-np.array(model.inertias))
        runs.assign(np.zeros(3, bool), inertia=np.zeros((0, *np.shape(model.inertias))))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("friction", -0.1, "coefficient from zero, got -0.1 in row 0"),
        ("friction", [0.5, np.nan], "coefficient from zero, got nan in row 1"),
        ("kp", np.nan, "kp must not be negative"),
        ("kd", -1.0, "kd must not be negative"),
        ("kp", np.ones(7), "servos act on revolute and prismatic joints"),
        ("gravity", [[0.0, 0.0, -9.81], [0.0, np.inf, 0.0]], "gravity must be finite, got .* in row 1"),
        ("gravity", [0.0, 0.0], "gravity must have shape"),
    ],
)
def test_numbers_that_no_robot_has_are_refused_by_row(name, value, message):
    q, v = states(robot(), 2)
    how = {"dt": 1e-3, "contacts": Contacts(BOTTOM), "servo": (10.0, 1.0), "inputs": ("gravity",)}
    runs = Ensemble(robot(), q, v, **how)
    with pytest.raises(ShapeError, match=message):
        runs.assign([0, 1], **{name: value})
    given = {"servo": (value, 1.0) if name == "kp" else (10.0, value)} if name in ("kp", "kd") else {name: value}
    with pytest.raises(ShapeError, match=message):
        Ensemble(robot(), q, v, **how | given)
    runs.assign([1], kp=3.0)  # of all motors, not of the base
    assert runs._drives["kp"].tolist() == [[0.0] * 6 + [10.0], [0.0] * 6 + [3.0]]


def test_gravity_of_other_rows_is_refused():
    with pytest.raises(ShapeError, match=r"gravity must have shape \(3,\) or \(2, 3\), got \(3, 3\)"):
        run(robot(), 2, inputs=("gravity",), gravity=np.zeros((3, 3)))


def test_a_row_that_has_lost_its_state_stops_no_sensor_and_no_push():
    model = robot()
    q, v = states(model, 3)
    runs, other = (Ensemble(model, q, v, dt=1e-3, contacts=Contacts(BOTTOM)) for _ in range(2))
    runs.reset([1], np.full((1, model.nq), np.nan))
    push = np.zeros((3, 6))
    push[:, 1] = 3.0
    for each in (runs, other):
        each.step(5, forces={"rod": push})
    assert runs.failed.tolist() == [False, True, False]
    for mine, expected in (
        *zip(runs.imu("rod"), other.imu("rod"), strict=True), (runs.joint_reactions(), other.joint_reactions()),
        (runs.q, other.q),
    ):  # fmt: skip
        np.testing.assert_array_equal(mine[[0, 2]], expected[[0, 2]])
        assert np.isnan(mine[1]).any()
    push[2, 0] = np.nan
    runs.step(forces={"rod": push})
    assert runs.failed.tolist() == [False, True, True]
