"""Gradients of equilibria, against differences of equilibria that are found anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bough
from bough import adaptive, zoo
from bough.adaptive import QuasiStatics
from bough.errors import NumericalError

TARGETS = np.array([[0.3, 0.2, 0.1], [0.9, -0.1, 0.3]])
ENDS = {
    "targets": {"bodies": [5, 11], "targets": TARGETS, "length": [0.02, 0.1]},
    "pairs": {"bodies": [4, 2], "others": [11, 8], "length": [0.2, 0.05]},
    "pressed": {"bodies": [4, 2], "others": [11, 8], "length": [0.8, 0.7]},
}


def settled(model, ends, stiffness, torque, **changed):
    sim = QuasiStatics(model, method="aba")
    sim.set_torque(None, torque)
    springs = sim.restraints(**(ends | changed), stiffness=stiffness)
    assert sim.minimize(springs, tol=1e-13).converged
    return sim, springs


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize(("span", "planar"), [(None, False), (0.7, False), (0.7, True)])
def test_gradients_equal_differences(ends, span, planar):
    """A planar cable has a redundant row in its loop."""
    model = zoo.cable(12, EI=1e-2, GJ=None if planar else 1e-2, mass=0.02, span=span, planar=planar)
    rng = np.random.default_rng(0)
    c, stiffness, torque = rng.normal(size=model.nv), np.array([3.0, 2.0]), 1e-3 * rng.normal(size=model.nv)
    sim, springs = settled(model, ends, stiffness, torque)
    q, found = sim.configuration, sim.equilibrium_gradient(c, springs)

    def slope(change):
        """Of c . q along a change, by central differences."""
        h, x = 1e-5, []
        for sign in (1.0, -1.0):
            passive, arguments = model.passive, {"torque": torque, "stiffness": stiffness}
            for name, d in change.items():
                if name in ("joint_stiffness", "rest"):
                    field = name.removeprefix("joint_")
                    passive = passive._replace(**{field: getattr(passive, field) + sign * h * d})
                else:
                    arguments[name] = np.asarray(arguments.get(name, ends.get(name))) + sign * h * d
            end = settled(replace(model, passive=passive), ends, **arguments)[0].configuration
            x.append(float(c @ model.difference(q, end)))
        return (x[0] - x[1]) / (2.0 * h)

    own = np.abs(rng.normal(size=model.nv)) * 0.1 * (model.stiffness > 0.0)
    turn, two, places = 0.1 * rng.normal(size=model.nv), rng.normal(size=2), rng.normal(size=(2, 3))
    assert slope({"torque": 1e-2 * turn}) == pytest.approx(1e-2 * found.torque @ turn, rel=1e-4, abs=1e-8)
    assert slope({"joint_stiffness": own}) == pytest.approx(found.stiffness @ own, rel=1e-4, abs=1e-8)
    assert slope({"rest": turn}) == pytest.approx(found.rest @ turn, rel=1e-4, abs=1e-8)
    assert slope({"stiffness": two}) == pytest.approx(found.restraint_stiffness @ two, rel=1e-4, abs=1e-8)
    assert slope({"length": 0.1 * two}) == pytest.approx(0.1 * found.restraint_length @ two, rel=1e-4, abs=1e-8)
    if "targets" in ends:
        expected = float((found.restraint_targets * places).sum())
        assert slope({"targets": 0.1 * places}) == pytest.approx(0.1 * expected, rel=1e-4, abs=1e-8)


def test_springs_of_spherical_joints_have_their_stiffness():
    """k J(x)^-1, not k: Newton's steps were of first order, and gradients wrong."""
    b = bough.Builder("spherical")
    solid = {"mass": 1.0, "inertia": 0.05 * np.eye(3)}
    b.add_body("arm", "world", "spherical", com=(0.3, 0.2, 0.4), stiffness=4.0, **solid)
    b.add_body("hand", "arm", "spherical", (0.6, 0.3, 0.8), com=(0.1, 0.3, -0.2), stiffness=2.0, **solid)
    model = b.build()
    rng = np.random.default_rng(0)

    def end(**changed):
        passive = model.passive
        for name, d in changed.items():
            passive = passive._replace(**{name: getattr(passive, name) + d})
        sim = QuasiStatics(replace(model, passive=passive), method="aba")
        sim.configuration = model.rest_configuration
        found = sim.minimize(tol=1e-13)
        assert found.converged
        assert found.iterations <= 15
        return sim

    sim, c, h = end(), rng.normal(size=6), 1e-5
    found = sim.equilibrium_gradient(c)

    def slope(name, d):
        x = [model.difference(sim.configuration, end(**{name: sign * h * d}).configuration) for sign in (1.0, -1.0)]
        return float(c @ (x[0] - x[1])) / (2.0 * h)

    assert not found.rest.any()  # they rest where the model is neutral
    both = np.repeat([0.7, -0.2], 3)
    assert slope("stiffness", both) == pytest.approx(found.stiffness @ both, rel=1e-6)


@pytest.mark.parametrize("joint", ["fixed", "revolute"])
def test_moments_of_loops_have_their_stiffness(joint):
    """Loops that hold turns ended at saddles that are none, or not at all, and their gradients were wrong."""
    b, last, rng = bough.Builder("arch"), "world", np.random.default_rng(1)
    for k in range(5):
        axis = {"axis": rng.normal(size=3)} if k == 1 else {}
        solid = {"mass": 0.1 + 0.1 * k, "com": (0.5, 0.1, 0.0), "inertia": 0.01 * np.eye(3), **axis}
        kind, stiffness = "revolute" if k == 1 else "spherical", rng.uniform(0.2, 3.0)
        b.add_body(f"rod{k}", last, kind, (float(k > 0), 0.0, 0.0), stiffness=stiffness, **solid)
        last = f"rod{k}"
    model = b.build().with_frame("tip", last, (1.0, 0.0, 0.0)).with_frame("pin", "world", (4.0, 0.1, 0.05))
    c = rng.normal(size=model.nv)
    start = model.neutral

    def end(factor=1.0):
        nonlocal start
        passive = model.passive._replace(stiffness=factor * model.stiffness)
        closures = [adaptive.Closure("pin", "tip", joint)]
        sim = QuasiStatics(replace(model, passive=passive), method="aba", closures=closures)
        sim.configuration = start
        found = sim.minimize(tol=1e-12)
        assert found.converged
        start = found.q
        return sim

    found = end().equilibrium_gradient(c)
    h = 1e-5
    slope = float(c @ model.difference(end(1.0 - h).configuration, end(1.0 + h).configuration)) / (2.0 * h)
    assert slope == pytest.approx(found.stiffness @ model.stiffness, rel=1e-4)


def test_where_there_is_no_gradient_that_is_said():
    b = bough.Builder("pendulum")
    b.add_body("rod", axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.5))
    sim = adaptive.Dynamics(b.build())
    with pytest.raises(NumericalError, match="saddle"):
        sim.equilibrium_gradient([1.0])
    sim.configuration = [1.0]
    with pytest.raises(NumericalError, match="call minimize first"):
        sim.equilibrium_gradient([1.0])
    sim.minimize()
    assert sim.equilibrium_gradient([1.0]).torque == pytest.approx(1.0 / (0.5 * 9.81))
