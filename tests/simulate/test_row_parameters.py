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
