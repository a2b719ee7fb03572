"""Contacts, stops, friction, loops and mimic joints in one step: every caller and execution beside a dense oracle."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import bough
from bough import close_loops
from bough.errors import ShapeError
from bough.opspace import Loops
from bough.simulate import ContactPoint, Contacts, Ensemble, HeightField, Plane, rollout
from bough.simulate.contacts import tangent_axes
from naive import step_with_rows
from opspace.mechanisms import ROD

DT = 2e-3
SLOPE = Plane((0, 0, -0.01), (0.2, 0, 1.0))
TILTED = HeightField([[0.0, 0.0], [0.0, 0.0]] + np.array([[0.1], [-0.1]]), 2.0, (-1.0, -1.0))
LEG = {"axis": (0, 1, 0), "com": (0, 0, -0.1), "inertia": np.eye(3) * 2e-3, "damping": 0.05}


def hopper(tied=False):
    """A trunk on rails, with a knee that has friction and stops, or follows the hip."""
    builder = bough.Builder("hopper")
    builder.add_body("x", joint="prismatic", axis=(1, 0, 0), mass=0.5)
    builder.add_body("z", "x", joint="prismatic", axis=(0, 0, 1), mass=0.5)
    builder.add_body("trunk", "z", axis=(0, 1, 0), mass=2.0, inertia=np.eye(3) * 0.05, damping=0.1)
    law = {"friction": 0.3, "lower": -0.4, "upper": 0.5}
    builder.add_body("thigh", "trunk", mass=0.6, **LEG, **law, stiffness=2.0, rest=0.1)
    knee = {"mimic": ("thigh", -1.5, 0.1)} if tied else law
    builder.add_body("shank", "thigh", placement=(0, 0, -0.2), mass=0.3, **(LEG | knee))
    if tied:
        builder.add_body("tail", "trunk", placement=(-0.1, 0, 0), mass=0.2, mimic=("thigh", 1.0, 0.0), **LEG)
    builder.add_frame("foot", "shank", (0, 0, -0.2))
    return builder.build(), [ContactPoint("foot", radius=0.02), ContactPoint("trunk", (0.1, 0.05, -0.1))]


def four_bar():
    """On a vertical slide, in the plane of x and z."""
    builder = bough.Builder("four bar")
    builder.add_body("z", joint="prismatic", axis=(0, 0, 1), mass=0.5)
    rod = ROD | {"axis": (0, 1, 0)}
    builder.add_body("crank", "z", com=(0.15, 0, 0), lower=-1.0, upper=0.75, friction=0.05, **rod)
    builder.add_body("coupler", "crank", placement=(0.3, 0, 0), com=(0.45, 0, 0), damping=0.1, **rod)
    builder.add_body("rocker", "z", placement=(1.0, 0, 0), com=(0.3, 0, 0), friction=0.02, **rod)
    builder.add_closure("coupler", "rocker", point=(0.9, 0, 0), other_point=(0.6, 0, 0), name="pin")
    return builder.build(), [ContactPoint("coupler", (0.45, 0, 0)), ContactPoint("crank", (0.2, 0.1, 0), 0.01)]


ROBOTS = {"legs": hopper, "mimic": lambda: hopper(tied=True), "loop": four_bar}
WAYS = [("rollout", "specialised"), ("rollout", "general"), ("Ensemble", "specialised"), ("rollout", "interpreted")]
GROUNDS = {"plane": Plane(), "slope": SLOPE, "field": TILTED, "two": [Plane(), SLOPE]}


def states(model, contacts, count=6):
    """The lowest point touches, is a little above the ground, or far; joints move, rest, or are at stops."""
    rng = np.random.default_rng(0)
    found = []
    for k in range(count):
        q, v = 0.3 * rng.normal(size=model.nq), rng.normal(size=model.nv) * (k % 3)
        q, z = np.clip(q, model.limits.lower, model.limits.upper), model.joint("z")
        if model.closures:
            q = close_loops(model, [0.0, 0.5 + 0.05 * k, -0.5, -1.5]).q
            J = Loops(model).space.jacobian(q)
            v = v - np.linalg.pinv(J) @ (J @ v)
        q[z.q] += [0.0, 5e-4, 0.3][k // 2] - min(d for _, d, _ in rows(model, contacts, q))
        v[z.v] -= 1.0
        found.append((q, v, rng.normal(size=model.nv)))
    return found


def rows(model, contacts, q):
    """(J, distance, friction) of each contact, by finite differences of the lowest point of its sphere."""
    dyn, out = bough.Dynamics(model, general=True), []
    for ground in contacts.grounds:
        for frame, point, radius in contacts.points:

            def place(q, frame=frame, point=point):
                T = dyn.placement(q, frame)
                return T[:3, :3] @ point + T[:3, 3]

            distance, normal = ground.distance(place(q))
            axes = tangent_axes(normal)
            columns = [
                (place(model.integrate(q, h)) - place(model.integrate(q, -h))) / 2e-6 for h in 1e-6 * np.eye(model.nv)
            ]
            turn = dyn.jacobian(q, frame, "local_world_aligned")[3:]
            J = np.array(columns).T + np.cross(turn.T, -radius * normal).T
            out.append((axes @ J, float(distance) - radius, contacts.friction))
    return out


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize(("caller", "execution"), WAYS)
def test_one_step_beside_a_dense_oracle(robot, ground, caller, execution, monkeypatch):
    if execution == "interpreted":
        if ground != "plane":
            pytest.skip("plain Python is slow: planes stand for all")
        monkeypatch.setenv("BOUGH_INTERPRET", "1")
        monkeypatch.setattr("bough.simulate.integration._bound", OrderedDict())
    model, points = ROBOTS[robot]()
    contacts = Contacts(points, GROUNDS[ground], friction=0.4)
    dyn = bough.Dynamics(model, general=execution == "general")
    J = (lambda q: Loops(model).space.jacobian(q)) if model.closures else lambda q: None
    pushed = 0.0
    for q, v, tau in states(model, contacts, 2 if execution == "interpreted" else 6):
        expected, lam = step_with_rows(
            model, dyn.mass_matrix(q), dyn.bias_force(q, v), q, v, tau, DT, rows(model, contacts, q), J(q)
        )
        if caller == "rollout":
            found = rollout(model, q, v, duration=DT, dt=DT, tau=tau, contacts=contacts, dynamics=dyn).v[-1]
        else:
            runs = Ensemble(model, q[None], v[None], dt=DT, contacts=contacts)
            runs.step(tau=tau)
            found = runs.v[0]
        np.testing.assert_allclose(found, expected, atol=1e-7 * (1 + np.abs(expected).max()))
        pushed = max(pushed, np.abs(lam[model.nv :]).max())
    assert pushed > 0.0


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize(("robot", "joint"), [("legs", "thigh"), ("legs", "z"), ("mimic", "thigh")])
def test_a_joint_that_is_led_as_it_moved_moves_the_others_as_before(robot, joint, general):
    """Soft contacts: points are not lifted out of the ground, which would be a move beside the velocities."""
    model, points = ROBOTS[robot]()
    contacts, j = Contacts(points, TILTED, compliance=1e-4, damping=20.0), model.joint(joint)
    q, v, tau = states(model, contacts)[1]
    how = {"duration": 20 * DT, "dt": DT, "contacts": contacts, "dynamics": bough.Dynamics(model, general=general)}
    free = rollout(model, q, v, tau=tau, servo=(2.0, 0.1), **how)
    assert np.abs(free.extra["contact_force"]).max() > 1.0
    led = {joint: lambda t: (free.q[round(t / DT)][j.q], free.v[round(t / DT)][j.v])}
    tau[j.v] = 7.0
    found = rollout(model, q, v, tau=tau, servo=(2.0, 0.1), motion=led, **how)
    np.testing.assert_allclose(found.q, free.q, atol=1e-12)
    np.testing.assert_allclose(found.v, free.v, atol=1e-10)


def test_a_loop_that_is_led_stays_closed():
    builder = bough.Builder("four bar")
    rod = ROD | {"axis": (0, 1, 0)}
    builder.add_body("crank", com=(0.15, 0, 0), **rod)
    builder.add_body("coupler", "crank", placement=(0.3, 0, 0), com=(0.45, 0, 0), **rod)
    builder.add_body("rocker", placement=(1.0, 0, 0), com=(0.3, 0, 0), **rod)
    builder.add_closure("coupler", "rocker", point=(0.9, 0, 0), other_point=(0.6, 0, 0))
    model = builder.build()
    q, motion = close_loops(model, [0.5, -0.5, -1.5]).q, {"crank": lambda t: 0.5 + 2.0 * t}
    q = close_loops(model, [0.5, *q[1:]], hold=["crank"]).q
    found = rollout(model, q, np.zeros(3), duration=0.1, dt=1e-3, motion=motion)
    end = found.q[-1]
    assert end[0] == pytest.approx(0.7, abs=1e-12)
    np.testing.assert_allclose(end, close_loops(model, end, hold=["crank"]).q, atol=1e-9)
    with pytest.raises(ShapeError, match="prescribed motion is for the integrator"):
        rollout(model, q, np.zeros(3), duration=0.1, dt=1e-3, motion=motion, integrator="runge_kutta_4")
