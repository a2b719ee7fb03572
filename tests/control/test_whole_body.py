"""Whole-body control: what is commanded is possible, holds all limits, and does what tasks ask as far as it can."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.compile.run.libraries import on_host
from bough.control import Contact, CubicPath, Gains, LimitMonitor, Reference, WholeBody
from bough.control.active_sets import ActiveSets
from bough.errors import MissingExtraError, NonFiniteError, OptionError, ShapeError, TaskError
from gpu import a_gpu, to_gpu
from opspace.mechanisms import two_arms

pytest.importorskip("qpsolvers")

FEET = tuple(f"{a}{b}_foot" for a in "fh" for b in "lr")
LEG = {"mass": 0.5, "inertia": np.diag([2e-3, 2e-3, 1e-3]), "com": (0, 0, -0.1), "effort": 40.0, "velocity": 20.0}


def quadruped(**options):
    """A trunk on four legs of three joints, and where it stands on the plane z = 0."""
    builder = bough.Builder("quadruped")
    builder.add_body("trunk", joint="floating", mass=8.0, inertia=np.diag([0.1, 0.2, 0.25]))
    for foot, x, y in zip(FEET, (0.2, 0.2, -0.2, -0.2), (0.1, -0.1, 0.1, -0.1), strict=True):
        side = foot[:2]
        leg = LEG | options
        builder.add_body(f"{side}_hip", "trunk", "revolute", (x, y, 0), axis=(1, 0, 0), **leg)
        builder.add_body(f"{side}_thigh", f"{side}_hip", "revolute", (0, 0, 0), axis=(0, 1, 0), **leg)
        builder.add_body(f"{side}_shank", f"{side}_thigh", "revolute", (0, 0, -0.2), axis=(0, 1, 0), **leg)
        builder.add_frame(foot, f"{side}_shank", (0, 0, -0.2))
    model = builder.build()
    q = model.neutral.copy()
    for side in ("fl", "fr", "hl", "hr"):
        for body, x in (("thigh", 0.6), ("shank", -1.2)):
            q[next(j for j in model.joints if j.body == f"{side}_{body}").q] = x
    q[2] = -bough.Dynamics(model, general=True).placement(q, FEET[0])[2, 3]
    return model, q


MODEL, STANCE = quadruped()
DYN = bough.Dynamics(MODEL, general=True)


def possible(controller, q, v, command):
    """Torques and contact forces give the acceleration that was said; no torque where there is no motor."""
    model = controller.model
    held = [c for c in controller.contacts if c.frame in command.forces]
    space = bough.OperationalSpace(model, [c.task() for c in held], general=True) if held else None
    push = 0.0 if space is None else space.jacobian(q).T @ np.concatenate([command.forces[c.frame] for c in held])
    dyn = bough.Dynamics(model, general=True)
    assert dyn.inverse_dynamics(q, v, command.qdd) - push == pytest.approx(command.tau, abs=1e-9)
    assert not command.tau[~model.actuated].any()
    assert not LimitMonitor(model)(q, v, command.tau).torque
    for c in held:
        assert (c.cone @ command.forces[c.frame] <= 1e-7).all()


def test_standing_carries_the_weight():
    controller = WholeBody(MODEL, [bough.center_of_mass()], [Contact(f) for f in FEET], posture=STANCE, general=True)
    command = controller(0.0, STANCE, np.zeros(MODEL.nv))
    assert command.success
    assert command.conflicts == ()
    total = sum(command.forces.values())
    assert total == pytest.approx([0.0, 0.0, 9.81 * MODEL.total_mass], abs=1e-3)
    assert command.qdd == pytest.approx(np.zeros(MODEL.nv), abs=1e-2)
    possible(controller, STANCE, np.zeros(MODEL.nv), command)


@pytest.mark.parametrize("priorities", [{}, {"orientation(trunk)": 1}])
def test_the_centre_of_mass_follows_its_path_and_a_foot_is_lifted(priorities):
    com, dt = DYN.center_of_mass(STANCE), 2e-3
    path = CubicPath([0.0, 0.3, 0.6], [com, com + [-0.04, -0.02, 0.0], com + [-0.04, -0.02, 0.02]])
    up = DYN.placement(STANCE, FEET[0])[:3, 3] + [0.0, 0.0, 0.03]
    controller = WholeBody(
        MODEL,
        [bough.center_of_mass(), bough.orientation("trunk"), bough.position(FEET[0])],
        [Contact(f, friction=0.6) for f in FEET],
        references={
            "center_of_mass": lambda t: Reference(*path(t)),
            "orientation(trunk)": np.eye(4),
            f"position({FEET[0]})": lambda t: Reference(up) if t > 0.3 else Reference(None),
        },
        gains=Gains(400.0), priorities=priorities, posture=STANCE, dt=dt,
    )  # fmt: skip
    q, v = STANCE.copy(), np.zeros(MODEL.nv)
    for k in range(300):
        command = controller(k * dt, q, v, FEET if k * dt <= 0.3 else FEET[1:])
        assert command.success
        if k % 50 == 0:
            possible(controller, q, v, command)
        v = v + dt * command.qdd
        q = MODEL.integrate(q, dt * v)
    assert DYN.center_of_mass(q) == pytest.approx(path(0.6)[0], abs=1e-3)
    assert DYN.placement(q, FEET[0])[:3, 3] == pytest.approx(up, abs=2e-3)
    for foot in FEET[1:]:
        assert DYN.placement(q, foot)[:3, 3] == pytest.approx(DYN.placement(STANCE, foot)[:3, 3], abs=1e-3)


@pytest.mark.parametrize("friction", [0.0, 0.05, 0.7])
def test_friction_limits_what_the_ground_gives(friction):
    """Asked for 5 m/s^2 sideways, the centre of mass gets no more than the pyramids can give."""
    contacts = [Contact(f, friction=friction) for f in FEET]
    ask = {"center_of_mass": Reference(None, 0.0, [5.0, 0.0, 0.0])}
    controller = WholeBody(MODEL, [bough.center_of_mass()], contacts, references=ask, general=True)
    command = controller(0.0, STANCE, np.zeros(MODEL.nv))
    possible(controller, STANCE, np.zeros(MODEL.nv), command)
    sideways, weight = (sum(f[k] for f in command.forces.values()) for k in (0, 2))
    assert sideways <= friction / np.sqrt(2) * weight + 1e-6
    assert sideways == pytest.approx(min(5.0 * MODEL.total_mass, friction / np.sqrt(2) * weight), rel=0.05, abs=1e-6)


def monoped():
    builder = bough.Builder("monoped")
    builder.add_body("trunk", joint="floating", mass=10.0, inertia=0.2 * np.eye(3))
    parent = "trunk"
    for name, axis, z in (
        ("hip", (0, 1, 0), 0.0),
        ("knee", (0, 1, 0), -0.3),
        ("ankle", (0, 1, 0), -0.3),
        ("foot", (1, 0, 0), 0.0),
    ):
        builder.add_body(
            name, parent, "revolute", (0, 0, z), axis=axis, mass=1.0, inertia=0.01 * np.eye(3), com=(0, 0, -0.1)
        )
        parent = name
    model = builder.build()
    q = model.neutral.copy()
    q[-4:] = -0.3, 0.6, -0.3, 0.0
    return model, q


@pytest.mark.parametrize("push", [0.0, 0.5, 50.0])
def test_the_centre_of_pressure_stays_in_the_foot(push):
    model, q = monoped()
    foot = Contact("foot", size=(0.2, 0.1))
    ask = {"center_of_mass": Reference(None, 0.0, [push, push, 0.0])}
    controller = WholeBody(model, [bough.center_of_mass()], [foot], references=ask, general=True)
    command = controller(0.0, q, np.zeros(model.nv))
    possible(controller, q, np.zeros(model.nv), command)
    f = command.forces["foot"]
    x, y = -f[4] / f[2], f[3] / f[2]
    assert abs(x) <= 0.1 + 1e-6
    assert abs(y) <= 0.05 + 1e-6
    if push == 50.0:
        assert max(abs(x) - 0.1, abs(y) - 0.05) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_the_cone_of_a_rectangle_is_that_of_its_corners(seed):
    """Forces at corners in their pyramids give wrenches in the cone; wrenches outside cannot be given by any."""
    from scipy.optimize import nnls

    rng = np.random.default_rng(seed)
    contact = Contact("foot", friction=0.5, size=(0.2, 0.1))
    mu, corners = 0.5 / np.sqrt(2), [(x, y, 0) for x in (0.1, -0.1) for y in (0.05, -0.05)]
    edges = [(a * mu, b * mu, 1.0) for a in (1, -1) for b in (1, -1)]
    rays = np.array([[*e, *np.cross(c, e)] for c in corners for e in edges]).T
    inside = rays @ rng.exponential(size=16)
    assert (contact.cone @ inside <= 1e-12).all()
    some = rays @ rng.exponential(size=16) + rng.normal(size=6) * [0.3, 0.3, 0, 0.05, 0.05, 0.05]
    reached = nnls(rays, some)[1] < 1e-9
    assert (contact.cone @ some <= 1e-9).all() == reached


def test_torques_stay_within_their_limits():
    weak, q = quadruped(effort=6.0)
    com = bough.Dynamics(weak, general=True).center_of_mass(q)
    ask = {"center_of_mass": Reference(com + [0.0, 0.0, 0.3])}
    controller = WholeBody(weak, [bough.center_of_mass()], [Contact(f) for f in FEET], references=ask, general=True)
    command = controller(0.0, q, np.zeros(weak.nv))
    assert command.success
    assert np.abs(command.tau).max() == pytest.approx(6.0, abs=1e-6)
    possible(controller, q, np.zeros(weak.nv), command)


def test_joints_approach_their_limits_and_never_pass_them():
    builder = bough.Builder("arm")
    builder.add_body("a", "world", "revolute", axis=(0, 1, 0), mass=1.0, inertia=0.1 * np.eye(3), com=(0.3, 0, 0),
                     lower=-1.0, upper=0.5, velocity=2.0, effort=100.0)  # fmt: skip
    model = builder.build()
    task = bough.opspace.joint("a")
    controller = WholeBody(model, [task], references={task.name: 3.0}, gains=Gains(900.0), dt=5e-3, general=True)
    q, v, fastest = np.zeros(1), np.zeros(1), 0.0
    for k in range(400):
        command = controller(k * 5e-3, q, v)
        assert command.success
        v = v + 5e-3 * command.qdd
        q = q + 5e-3 * v
        fastest = max(fastest, v[0])
        assert q[0] <= 0.5 + 1e-9
    assert fastest == pytest.approx(2.0, abs=1e-6)
    assert q[0] == pytest.approx(0.5, abs=1e-3)


def held_arm():
    """An arm whose hand is held: it cannot slow down where its joints are too fast."""
    builder, parent = bough.Builder("arm"), "world"
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0)]):
        place = (0.0 if k < 2 else 0.4, 0, 0)
        builder.add_body(f"l{k}", parent, "revolute", place, axis=axis, mass=1.0, inertia=0.1 * np.eye(3), velocity=1.0)
        parent = f"l{k}"
    builder.add_frame("hand", "l2", (0.4, 0, 0))
    return builder.build()


def test_speed_limits_give_way_before_contacts():
    """A hand held by a contact cannot slow its joints down."""
    model = held_arm()
    controller = WholeBody(model, [bough.opspace.posture()], [Contact("hand")], general=True)
    q, v = np.array([0.1, 0.4, 0.7]), np.array([0.0, 3.0, 0.0])
    command = controller(0.0, q, v)
    assert not command.success
    assert command.conflicts == ("velocity or position limit of 'l1'",)
    assert np.isfinite(command.tau).all()
    contact = bough.OperationalSpace(model, [bough.position("hand")], general=True)
    wanted = -Gains().rate * (contact.jacobian(q) @ v)
    assert contact.jacobian(q) @ command.qdd + contact.drift(q, v) == pytest.approx(wanted, abs=1e-6)
    fine = controller(0.0, np.array([0.1, 0.4, 0.7]), np.zeros(3))
    assert fine.success


def test_joints_far_beyond_their_limits_return_at_their_speed_limit():
    builder = bough.Builder("arm")
    for name, parent in (("a", "world"), ("b", "a")):
        builder.add_body(name, parent, "revolute", (0.3, 0, 0), axis=(0, 1, 0), mass=1.0, inertia=0.1 * np.eye(3),
                         lower=-1.0, upper=0.5, velocity=2.0, effort=1e6)  # fmt: skip
    model = builder.build()
    for solver in (None, "daqp"):
        controller = WholeBody(model, [bough.opspace.posture()], dt=5e-3, general=True, solver=solver)
        q, v = np.tile([3.0, -4.0], (9, 1)), np.zeros((9, 2))
        found, status = controller.with_status(0.0, q, v)
        assert not status.any()
        np.testing.assert_allclose(5e-3 * found.qdd, np.tile([-2.0, 2.0], (9, 1)), atol=1e-6)


@pytest.mark.parametrize("rising", [1.0, 5.0, 100.0])
def test_physics_and_torque_limits_are_never_broken(rising):
    """Feet that leave the ground cannot be pulled back: contacts give way, and what is commanded can be done."""
    weak, q = quadruped(effort=6.0)
    v = np.zeros(weak.nv)
    v[2], v[6:] = rising, 30.0  # beyond the speed limits of all joints
    feet = [Contact(f) for f in FEET]
    controller = WholeBody(weak, [bough.center_of_mass()], feet, posture=q, general=True)
    command = controller(0.0, q, v)
    assert not command.success
    assert any(name.startswith("contact of") for name in command.conflicts)
    assert any(name.startswith("velocity or position limit of") for name in command.conflicts)
    assert np.abs(command.tau).max() <= 6.0
    for contact in feet:
        assert (contact.cone @ command.forces[contact.frame]).max() <= 1e-6
    dyn = bough.Dynamics(weak, general=True)
    push = sum(dyn.jacobian(q, f)[:3].T @ command.forces[f] for f in FEET)
    expected = dyn.inverse_dynamics(q, v, command.qdd) - push
    assert expected == pytest.approx(command.tau, abs=1e-9 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("priority", [0, 1])
@pytest.mark.parametrize("power", [5, 9, 20, 60])
def test_absurd_speeds_have_a_command(power, priority):
    """Up to numbers without meaning: torques within limits, forces in their cones, the dynamics to rounding."""
    tasks, feet = [bough.center_of_mass(), bough.orientation("trunk")], [Contact(f, friction=0.5) for f in FEET]
    controller = WholeBody(MODEL, tasks, feet, posture=STANCE, general=True, priorities={tasks[1].name: priority})
    rng = np.random.default_rng(power)
    q, v = MODEL.random_configuration(rng, 12), 10.0**power * rng.normal(size=(12, MODEL.nv))
    together, status = controller.with_status(0.0, q, v)
    assert (status == 4).all()
    for k in range(12):
        controller.forget()
        alone = controller(0.0, q[k], v[k])
        assert alone.conflicts
        for tau, qdd, forces in (
            (alone.tau, alone.qdd, alone.forces),
            (together.tau[k], together.qdd[k], {f: x[k] for f, x in together.forces.items()}),
        ):
            assert (np.abs(tau) <= MODEL.limits.effort).all()
            push = sum(DYN.jacobian(q[k], f)[:3].T @ forces[f] for f in FEET)
            gap = DYN.inverse_dynamics(q[k], v[k], qdd) - push - tau
            assert np.abs(gap).max() <= 1e-9 * np.abs(qdd).max()
            for contact in feet:
                assert (contact.cone @ forces[contact.frame]).max() <= 1e-9 * np.abs(qdd).max()


def test_what_succeeds_at_absurd_speeds_holds_all_constraints():
    """Tolerances are absolute: they do not grow with the numbers of a program."""
    tasks, feet = [bough.center_of_mass(), bough.orientation("trunk")], [Contact(f, friction=0.6) for f in FEET]
    controller = WholeBody(MODEL, tasks, feet, posture=STANCE, general=True, solver="daqp")
    rng = np.random.default_rng(7)
    q, v = MODEL.random_configuration(rng, 60), 10.0 ** rng.integers(-1, 7, (60, 1)) * rng.normal(size=(60, MODEL.nv))
    v[:, 6:] *= rng.choice([0.0, 0.0, 1.0], (60, 1))
    held = [[f for f in FEET if rng.random() < 0.5] for _ in range(60)]
    found, status = controller.with_status(0.0, q, v, held)
    assert (status == 0).sum() > 5
    assert found.residual[status == 0].max() < 1e-2


def test_motors_are_off_where_no_solver_answers(monkeypatch):
    monkeypatch.setattr(ActiveSets, "__call__", lambda *args: None)
    weak, q = quadruped(effort=3.0)
    v = np.full(weak.nv, 30.0)
    command = WholeBody(weak, [bough.center_of_mass()], [Contact(f) for f in FEET], general=True)(0.0, q, v)
    assert not command.success
    assert not command.tau.any()
    assert not any(force.any() for force in command.forces.values())
    assert "contact of 'fl_foot'" in command.conflicts
    assert "velocity or position limit of 'fl_hip'" in command.conflicts
    free = bough.Dynamics(weak, general=True).forward_dynamics(q, v, np.zeros(weak.nv))
    np.testing.assert_allclose(command.qdd, free, rtol=1e-9)


def test_priorities_never_change_which_constraints_can_hold():
    """Every priority has the same constraints: what conflicts without them conflicts with them, and nothing else."""
    tasks, contacts = [bough.center_of_mass(), bough.orientation("trunk")], [Contact(f, friction=0.5) for f in FEET]
    wanted = {"center_of_mass": lambda t: Reference(None, acceleration=np.array([1e3, -1e3, 1e3]) * t)}
    one, two = (
        WholeBody(MODEL, tasks, contacts, references=wanted, priorities=p, posture=STANCE, dt=2e-3, general=True)
        for p in ({}, {"orientation(trunk)": 1})
    )
    rng, seen = np.random.default_rng(0), set()
    for k in range(60):
        q = MODEL.integrate(STANCE, rng.uniform(-1, 1, MODEL.nv))
        v = rng.choice([0.0, 1.0, 10.0]) * rng.normal(size=MODEL.nv)
        held, t = [f for f in FEET if rng.random() < 0.6], float(k % 3)
        for controller in (one, two):
            controller.forget()
        a, b = one(t, q, v, held), two(t, q, v, held)
        assert a.success == b.success, (k, b.conflicts)
        for command in (a, b):
            assert (np.abs(command.tau) <= MODEL.limits.effort).all()
            push = sum((DYN.jacobian(q, f)[:3].T @ command.forces[f] for f in held), np.zeros(MODEL.nv))
            assert DYN.inverse_dynamics(q, v, command.qdd) - push == pytest.approx(command.tau, abs=1e-8)
        seen.add(a.success)
    assert seen == {True, False}


def test_loops_stay_closed_and_carry_their_forces():
    """A four-bar linkage with a motor at its crank only, which is asked to turn."""
    builder, parent = bough.Builder("four-bar"), "world"
    for name, place in (("crank", 0.0), ("coupler", 1.0), ("rocker", 3.0)):
        builder.add_body(name, parent, "revolute", (place, 0, 0), axis=(0, 0, 1), mass=1.0, inertia=np.eye(3),
                         com=(0.5, 0.1, 0.0), actuated=name == "crank")  # fmt: skip
        parent = name
    builder.add_frame("pin", "rocker", (2.0, 0, 0))
    builder.add_closure("pin", "world", other_point=(3.5, 0, 0))
    model = builder.build()
    q = bough.opspace.close_loops(model, [0.2, 0.8, -1.5], hold=["crank"]).q
    crank = bough.opspace.joint("crank")
    controller = WholeBody(model, [crank], references={crank.name: Reference(None, 0.0, 2.0)}, general=True)
    v = np.zeros(3)
    command = controller(0.0, q, v)
    assert command.success
    assert command.qdd[0] == pytest.approx(2.0, abs=1e-3)
    assert not command.tau[1:].any()
    space = bough.OperationalSpace(model, bough.opspace.closure_tasks(model), general=True)
    assert space.jacobian(q) @ command.qdd + space.drift(q, v) == pytest.approx(np.zeros(3), abs=1e-6)
    push = space.jacobian(q).T @ next(iter(command.forces.values()))
    dyn = bough.Dynamics(model, general=True)
    assert dyn.inverse_dynamics(q, v, command.qdd) - push == pytest.approx(command.tau, abs=1e-6)


@pytest.mark.parametrize("kind", ["hinge", "slide", "distance"])
def test_loops_of_every_kind_are_held(kind):
    model = two_arms(kind)
    q = bough.close_loops(model, model.random_configuration(1)).q
    command = WholeBody(model, [bough.pose("a0")], general=True)(0.0, q, np.zeros(model.nv))
    assert command.success
    space = bough.OperationalSpace(model, bough.opspace.closure_tasks(model), general=True)
    np.testing.assert_allclose(space.jacobian(q) @ command.qdd, 0, atol=1e-9)


def loose():
    builder = bough.Builder("stone")
    builder.add_body("stone", joint="floating", mass=1.0, inertia=np.eye(3))
    return builder.build()


def test_bad_questions_are_refused_in_one_sentence():
    feet, com = [Contact(f) for f in FEET], bough.center_of_mass()
    with pytest.raises(TaskError, match="friction must be"):
        Contact("foot", friction=-0.1)
    with pytest.raises(TaskError, match="friction must be"):
        Contact("foot", friction=np.nan)
    with pytest.raises(bough.errors.ModelError, match="size is"):
        Contact("foot", size=(0.1, -0.1))
    with pytest.raises(TaskError, match="cannot fly"):
        WholeBody(MODEL, [com])
    with pytest.raises(TaskError, match="nothing to command"):
        WholeBody(loose(), [com], [Contact("stone")])
    with pytest.raises(TaskError, match="none of the tasks"):
        WholeBody(MODEL, [com], feet, weights={"hand": 1.0})
    with pytest.raises(TaskError, match="weight"):
        WholeBody(MODEL, [com], feet, weights={"center_of_mass": -1.0})
    with pytest.raises(OptionError, match="no solver 'guess'"):
        WholeBody(MODEL, [com], feet, solver="guess")
    with pytest.raises(TaskError, match="listed 2 times"):
        WholeBody(MODEL, [com], [*feet, feet[0]])
    with pytest.raises(TaskError, match="none of the contacts"):
        WholeBody(MODEL, [com], feet)(0.0, STANCE, np.zeros(MODEL.nv), ["hand"])
    with pytest.raises(TaskError, match="horizon"):
        WholeBody(MODEL, [com], feet, dt=0.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Contact("a", friction="much"), "friction must be"),
        (lambda: Contact("a", friction=None), "friction must be"),
        (lambda: Contact("a", size=1.0), "size is"),
        (lambda: Contact("a", most="all"), "largest normal force"),
        (lambda: WholeBody(MODEL, bough.center_of_mass(), []), "are lists"),
        (lambda: WholeBody(MODEL, [bough.center_of_mass()], [FEET[0]]), "expected contacts such as"),
        (lambda: asked(gains=3.0), "gains are Gains"),
        (lambda: asked(gains=Gains(-1.0)), "none negative"),
        (lambda: asked(gains=Gains(np.nan)), "none negative"),
        (lambda: asked(gains={"center_of_mass": 2.0}), "none negative"),
        (lambda: asked(posture_gains=Gains("stiff")), "gains of 'posture'"),
        (lambda: asked(weights={"center_of_mass": "big"}), "weight"),
        (lambda: asked(weights={"center_of_mass": 1e9}), "weight of 'center_of_mass' .* at most 1e.08"),
        (lambda: asked(priorities={"center_of_mass": "high"}), "priority"),
        (lambda: asked(priorities={"center_of_mass": -1}), "priority"),
        (lambda: asked(Reference(None, np.zeros(5)))(0.0, STANCE, REST), "velocity of the reference of 'c"),
        (lambda: asked(Reference(None, 0.0, "fast"))(0.0, STANCE, REST), "acceleration of the reference"),
        (lambda: asked(Reference(None, 0.0, [0, np.nan, 0]))(0.0, STANCE, REST), "acceleration of the .* not finite"),
        (lambda: asked([0.0, 0.0, 1e30])(0.0, STANCE, REST), "'center_of_mass' asks for an acceleration of 1e.32"),
        (lambda: asked()(0.0, "here", REST), "q must be an array of real numbers"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused_by_name(make, words):
    with pytest.raises(bough.BoughError, match=words):
        make()


REST = np.zeros(MODEL.nv)


def asked(reference=None, **options):
    references = {} if reference is None else {"center_of_mass": reference}
    feet = [Contact(f) for f in FEET]
    return WholeBody(MODEL, [bough.center_of_mass()], feet, references=references, general=True, **options)


def test_what_tasks_do_not_get_is_said():
    """Asked for 5 m/s^2 to the side on ice, and to rise without anything to push against."""
    ice = [Contact(f, friction=0.0) for f in FEET]
    ask = {"center_of_mass": Reference(None, 0.0, [5.0, 0.0, 0.0])}
    found = WholeBody(MODEL, [bough.center_of_mass()], ice, references=ask, general=True)(0.0, STANCE, REST)
    assert found.missed["center_of_mass"] == pytest.approx([5.0, 0.0, 0.0], abs=1e-3)
    up = {"position(trunk)": Reference(None, 0.0, [0.0, 0.0, 100.0])}
    found = WholeBody(MODEL, [bough.position("trunk")], references=up, general=True)(0.0, STANCE, REST)
    assert found.missed["position(trunk)"][2] > 5.0
    fine = asked(Reference(None, 0.0, [0.1, 0.0, 0.0]))(0.0, STANCE, REST)
    assert fine.missed["center_of_mass"] == pytest.approx(np.zeros(3), abs=1e-3)


def test_a_missing_solver_says_how_to_get_one(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "qpsolvers", None)
    with pytest.raises(MissingExtraError, match="bough\\[control\\]"):
        WholeBody(MODEL, [bough.center_of_mass()], [Contact(f) for f in FEET])


def test_one_bad_row_leaves_the_others_alone():
    model = held_arm()
    q, v = np.tile([0.1, 0.4, 0.7], (4, 1)), np.zeros((4, 3))
    q[3] = 0.2, 0.3, 0.5
    v[1, 1], v[2, 0] = 3.0, np.nan
    controller = WholeBody(model, [bough.opspace.posture()], [Contact("hand")], general=True)
    found, status = controller.with_status(0.0, q, v)
    assert status.tolist() == [0, 4, 2, 0]
    assert found.success.tolist() == [True, False, False, True]
    assert found.conflicts[0] == found.conflicts[2] == ()
    assert found.conflicts[1] == ("velocity or position limit of 'l1'",)
    assert np.isnan(found.tau[2]).all()
    assert found.forces["hand"].shape == (4, 3)
    for row in (0, 1, 3):  # each as if it were alone
        alone = WholeBody(model, [bough.opspace.posture()], [Contact("hand")], general=True)(0.0, q[row], v[row])
        np.testing.assert_allclose(found.tau[row], alone.tau, atol=1e-8)
        np.testing.assert_allclose(found.forces["hand"][row], alone.forces["hand"], atol=1e-8)
    with pytest.raises(NonFiniteError, match="row 2"):
        controller(0.0, q, v)
    assert controller(0.0, q[:2], v[:2]).success.tolist() == [True, False]
    none = controller(0.0, q[:0], v[:0])
    for name, x in none.error.items():
        assert x.shape == (0, *found.error[name].shape[1:])
    assert none.missed.keys() == found.missed.keys()
    command, one = controller.with_status(0.0, q[0], v[0])
    assert (command.tau.shape, int(one)) == ((3,), 0)
    for bad, words in (((q[:2], v), "one size"), ((q[:, :2], v), "q has shape"), ((q[0], v[0, :2]), "v has shape")):
        with pytest.raises(ShapeError, match=words):
            controller.with_status(0.0, *bad)


def test_each_robot_of_a_batch_remembers_its_own_contacts():
    """Feet of two robots, one meter apart: contacts that slipped are pulled back to where each was made."""
    feet = [Contact(f) for f in FEET]
    q = np.tile(STANCE, (2, 1))
    q[1, 0] += 1.0
    rest = np.zeros((2, MODEL.nv))
    controller = WholeBody(MODEL, [bough.orientation("trunk")], feet, posture=STANCE, general=True)
    first = controller(0.0, q, rest)
    for name, gap in first.error.items():
        if name.startswith("contact"):
            np.testing.assert_allclose(gap, 0.0, atol=1e-12)
    moved = q.copy()
    moved[1, 0] += 0.01
    second = controller(0.0, moved, rest)
    assert second.error[feet[0].name][:, 0] == pytest.approx([0.0, -0.01], abs=1e-9)
    controller.forget([1])
    assert controller(0.0, moved, rest).error[feet[0].name][:, 0] == pytest.approx([0.0, 0.0], abs=1e-9)
    lifted = controller(0.0, moved, rest, [FEET, FEET[1:]])
    assert not lifted.forces[FEET[0]][1].any()
    assert lifted.forces[FEET[0]][0].any()
    with pytest.raises(ShapeError, match="named for 1 rows"):
        controller(0.0, moved, rest, [FEET])


def test_without_tasks_the_posture_is_held():
    controller = WholeBody(MODEL, [], [Contact(f) for f in FEET], posture=STANCE, general=True)
    command = controller(0.0, STANCE, np.zeros(MODEL.nv))
    assert command.success
    possible(controller, STANCE, np.zeros(MODEL.nv), command)


def crowd(count, seed=0, speed=0.3):
    """Quadrupeds near their stance, some much too fast."""
    rng = np.random.default_rng(seed)
    q = MODEL.integrate(np.tile(STANCE, (count, 1)), 0.1 * rng.normal(size=(count, MODEL.nv)))
    v = speed * rng.normal(size=(count, MODEL.nv))
    v[:3] *= 100.0
    return q, v


@pytest.mark.parametrize("priorities", [{}, {"orientation(trunk)": 1}])
def test_a_batch_side_by_side_is_what_the_solver_finds_row_by_row(priorities):
    """The same status and conflicts; accelerations and torques agree; contacts differ from row to row."""
    q, v = crowd(30)
    held = [FEET if k % 3 else FEET[1:] for k in range(30)]
    how = {"posture": STANCE, "priorities": priorities, "general": True, "dt": 2e-3}
    tasks, feet = [bough.center_of_mass(), bough.orientation("trunk")], [Contact(f, friction=0.6) for f in FEET]
    together, alone = WholeBody(MODEL, tasks, feet, **how), WholeBody(MODEL, tasks, feet, solver="daqp", **how)
    (a, status), (b, expected) = (controller.with_status(0.0, q, v, held) for controller in (together, alone))
    for controller, is_together in ((together, True), (alone, False)):
        assert [("_side_by_side" in vars(program)) for program in controller._programs.values()] == [is_together] * 2
    assert status.tolist() == expected.tolist()
    assert (status == 0).sum() > 20
    assert (status == 4).any()
    assert a.conflicts == b.conflicts
    good = status == 0
    assert a.residual[good].max() < 1e-5
    np.testing.assert_allclose(a.qdd[good], b.qdd[good], atol=2e-2)
    # feet can press against each other at almost no cost, so that torques differ a little: what counts is the cost
    costs = [[cost(together, c, k, q, v) for k in np.flatnonzero(good)] for c in (a, b)]
    np.testing.assert_allclose(*costs, rtol=1e-4 if priorities else 1e-5, atol=1e-7)
    np.testing.assert_allclose(a.tau[good], b.tau[good], atol=0.3)
    assert (np.abs(a.tau) <= MODEL.limits.effort).all()
    for name in a.error:
        np.testing.assert_allclose(a.error[name], b.error[name], atol=1e-12)
    for name in a.missed:
        np.testing.assert_allclose(a.missed[name][good], b.missed[name][good], atol=1e-3)
    for k in range(30):
        push = sum(DYN.jacobian(q[k], f)[:3].T @ a.forces[f][k] for f in held[k])
        gap = DYN.inverse_dynamics(q[k], v[k], a.qdd[k]) - push - a.tau[k]
        assert np.abs(gap).max() < 1e-6 * max(1.0, np.abs(a.tau[k]).max())
        for contact in feet:
            assert (contact.cone @ a.forces[contact.frame][k]).max() < 1e-4
    assert not a.forces[FEET[0]][::3].any()


def test_rows_that_conflict_are_solved_side_by_side(monkeypatch):
    """Joints that are too fast: bounds give way as they do row by row, and no row is left to the solver."""
    q, v = crowd(24, seed=5)
    v[::2, 8] = 24.0  # the limit is 20 rad/s
    tasks, feet = [bough.center_of_mass(), bough.orientation("trunk")], [Contact(f, friction=0.6) for f in FEET]
    how = {"posture": STANCE, "general": True, "dt": 2e-3}
    alone = WholeBody(MODEL, tasks, feet, solver="daqp", **how)
    b, expected = alone.with_status(0.0, q[3:], v[3:])
    together = WholeBody(MODEL, tasks, feet, **how)
    monkeypatch.setattr(WholeBody, "_one", None)
    a, status = together.with_status(0.0, q[3:], v[3:])
    assert status.tolist() == expected.tolist()
    assert a.conflicts == b.conflicts
    strained = np.flatnonzero(status == 4)
    assert len(strained) > 8
    np.testing.assert_allclose(a.residual[strained], b.residual[strained], rtol=1e-6)
    np.testing.assert_allclose(a.qdd[strained], b.qdd[strained], rtol=1e-5, atol=0.1)
    np.testing.assert_allclose(a.tau[strained], b.tau[strained], atol=0.01)


def pull(controller, q, v):
    """The acceleration towards the posture, or to rest."""
    law = controller._setup.law
    return law.pull * controller.model.difference(q, controller._rest) - law.brake * v


def cost(controller, command, k, q, v):
    """What a controller of one priority minimises, in row k."""
    tasks, forces = (sum(x[k] @ x[k] for x in each.values()) for each in (command.missed, command.forces))
    rest = command.qdd[k] - pull(controller, q[k], v[k])
    return (tasks + 1e-4 * rest @ rest + 1e-8 * forces) / 2


@pytest.mark.parametrize("effort", [8.0, 15.0, 40.0])
def test_torque_limits_of_a_batch_count_where_they_would_be_broken(effort):
    """In each row the cost is that of a solver by active sets, within the limits, which some rows meet."""
    model, stance = quadruped(effort=effort)
    rng, count = np.random.default_rng(3), 40
    q = model.integrate(np.tile(stance, (count, 1)), 0.1 * rng.normal(size=(count, model.nv)))
    v = 0.3 * rng.normal(size=(count, model.nv))
    tasks, feet = [bough.center_of_mass(), bough.orientation("trunk")], [Contact(f, friction=0.6) for f in FEET]
    together, alone = (
        WholeBody(model, tasks, feet, posture=stance, dt=2e-3, general=True, solver=s) for s in (None, "daqp")
    )
    (a, status), (b, expected) = (controller.with_status(0.0, q, v) for controller in (together, alone))
    np.testing.assert_array_equal(status, expected)
    good = np.flatnonzero(status == 0)
    assert len(good) > 10
    assert (np.abs(a.tau) <= effort).all()
    at_limit = (np.abs(a.tau[good]) > effort - 1e-6).any(axis=1)
    assert at_limit.any() == (effort < 40.0)
    for k in good:
        assert cost(together, a, k, q, v) == pytest.approx(cost(alone, b, k, q, v), rel=1e-5, abs=1e-7)
        push = sum(bough.Dynamics(model, general=True).jacobian(q[k], f)[:3].T @ a.forces[f][k] for f in FEET)
        gap = bough.Dynamics(model, general=True).inverse_dynamics(q[k], v[k], a.qdd[k]) - push - a.tau[k]
        assert np.abs(gap).max() < 1e-5


def test_a_batch_keeps_where_each_robot_made_its_contacts():
    q, v = crowd(12)
    v[:] = 0.0
    controller = WholeBody(
        MODEL, [bough.orientation("trunk")], [Contact(f) for f in FEET], posture=STANCE, general=True
    )
    controller(0.0, q, v)
    moved = q.copy()
    moved[:, 0] += 0.01 * np.arange(12)
    shift = controller(0.0, moved, v).error[f"contact({FEET[0]})"][:, 0]
    np.testing.assert_allclose(shift, -0.01 * np.arange(12), atol=1e-12)
    controller.forget([3])
    assert controller(0.0, moved, v).error[f"contact({FEET[0]})"][3] == pytest.approx(np.zeros(3), abs=1e-12)


def test_the_residual_says_what_gave_way():
    controller = WholeBody(held_arm(), [bough.opspace.posture()], [Contact("hand")], general=True)
    fine, strained = (controller(0.0, np.array([0.1, 0.4, 0.7]), np.array([0.0, x, 0.0])) for x in (0.0, 3.0))
    assert fine.residual < 1e-6
    assert strained.residual > 100.0  # rad/s^2 that would have slowed the joint within dt


@pytest.mark.native("compiles CUDA text")
def test_on_a_gpu_as_on_the_cpu():
    """An arm whose hand is held: alike where all constraints hold; where a joint is too fast, its bounds give way."""
    model, posture = held_arm(), bough.opspace.posture()
    rng = np.random.default_rng(0)
    q = np.array([0.1, 0.4, 0.7]) + 0.1 * rng.normal(size=(9, 3))
    v = 0.1 * rng.normal(size=(9, 3))
    v[4, 1] = 3.0
    controller = WholeBody(model, [posture], [Contact("hand", friction=0.5)], posture=q[0], general=True)
    expected = controller(0.0, q, v)
    with a_gpu():
        other = WholeBody(model, [posture], [Contact("hand", friction=0.5)], posture=q[0], general=True)
        found = other(0.0, to_gpu(q), to_gpu(v))
        assert on_host(found.success).astype(bool).tolist() == expected.success.tolist()
        assert on_host(found.conflicts[0]).astype(int).tolist() == [0] * 4 + [1] + [0] * 4
        assert on_host(found.residual).max() < 1e-5
        for x, y in ((found.tau, expected.tau), (found.forces["hand"], expected.forces["hand"])):
            np.testing.assert_allclose(on_host(x)[4], y[4], atol=0.05)  # of 20 N m
        # a hand that is held can be pressed at almost no cost: motion and cost are the same, torques need not be
        good = np.flatnonzero(expected.success)
        np.testing.assert_allclose(on_host(found.qdd)[good], expected.qdd[good], atol=1e-9)
        here = found._replace(**{
            name: {k: on_host(x) for k, x in getattr(found, name).items()} for name in ("missed", "forces")
        }, qdd=on_host(found.qdd))  # fmt: skip
        for k in good:
            assert cost(other, here, k, q, v) == pytest.approx(cost(controller, expected, k, q, v), abs=2e-10)
        np.testing.assert_allclose(on_host(found.error["contact(hand)"]), 0.0, atol=1e-12)
        moved = q + 0.01
        np.testing.assert_allclose(
            on_host(other(0.0, to_gpu(moved), to_gpu(v)).error["contact(hand)"]),
            controller(0.0, moved, v).error["contact(hand)"], atol=1e-12,
        )  # fmt: skip
        with pytest.raises(ShapeError, match="on a GPU q is float64"):
            other(0.0, to_gpu(q[0]), to_gpu(v[0]))
