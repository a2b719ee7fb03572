"""Closed loops: forces from the dense constrained solution, loops that stay closed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from adaptive.linkages import random_forces, relative
from adaptive.tree.test_bounded_pass import MEASURES, error_of, joint_norms
from adaptive.trials import case, loaded, with_loops
from bough import adaptive
from bough.adaptive import Closure, QuasiStatics, absolute_linkage, closure, relative_joint
from bough.adaptive.closure import FREED
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError
from bough.model.builder import Builder
from bough.opspace import Loops
from bough.zoo import bicycle_chain, chain, molecule

DT = 0.01
METHODS = ("adaptive", "dca", "aba", "auto")


def four_bar():
    """Two cranks and a coupler in the plane, the last tip pinned back to the ground: redundant in space."""
    builder = Builder("four-bar", gravity=(0, -9.81, 0))
    inertia = np.diag([0.02, 0.03, 0.04])
    at, parent = None, "world"
    for k, length in enumerate([1.0, 1.5, 1.2]):
        parent = builder.add_body(
            f"bar{k}", parent, "revolute", at, axis=(0, 0, 1), mass=1.0, com=(length / 2, 0, 0), inertia=inertia
        )
        at = (length, 0, 0)
    builder.add_frame("tip", parent, (1.2, 0, 0))
    return builder


def closed_four_bar():
    """A configuration in which the tip is at (1, -0.5, 0), found by Newton's method."""
    target, q = np.array([1.0, -0.5]), np.array([0.9, -1.4, -1.2])
    lengths = np.array([1.0, 1.5, 1.2])

    def tip(q):
        angle = np.cumsum(q)
        return np.array([lengths @ np.cos(angle), lengths @ np.sin(angle)])

    for _ in range(50):
        J = np.array([(tip(q + 1e-6 * e) - tip(q - 1e-6 * e)) / 2e-6 for e in np.eye(3)]).T
        q = q - np.linalg.pinv(J) @ (tip(q) - target)
    builder = four_bar()
    builder.add_frame("pin", "world", (1.0, -0.5, 0.0))
    return builder.build(), q, J


@pytest.mark.parametrize("method", ["dca", "adaptive"])
def test_accelerations_are_those_of_the_constrained_dense_solution(method):
    model, q, J = closed_four_bar()
    sim = QuasiStatics(model, method=method, closures=[Closure("pin", "tip")])
    sim.configuration = q
    sim.apply_force("bar1", [0.3, 2.0, 0.0])
    found = sim.accelerations()
    assert np.abs(J @ found).max() < 1e-6  # the tip stays; J by differences
    plain = QuasiStatics(model, method="aba")
    plain.configuration = q
    plain.apply_force("bar1", [0.3, 2.0, 0.0])
    free = plain.accelerations()
    M = np.empty((3, 3))
    for k in range(3):  # columns of the inverse mass matrix, from unit torques
        plain.set_torque(None, np.eye(3)[k])
        M[:, k] = plain.accelerations() - free
    force = np.linalg.solve(J @ M @ J.T, -J @ free)
    np.testing.assert_allclose(found, free + M @ J.T @ force, atol=1e-6)


def test_a_loop_stays_closed_over_many_steps():
    model, q, _ = closed_four_bar()
    sim = QuasiStatics(model, relative_joint(1e-3), "adaptive", closures=[Closure("pin", "tip")])
    sim.configuration = q
    sim.run(300, DT)
    assert np.abs(sim.configuration - q).max() > 0.01
    np.testing.assert_allclose(sim.positions(["tip"])[0], [1.0, -0.5, 0.0], atol=1e-5)
    assert sim.opening() < 1e-5


@cache
def closed(name):
    """A closed linkage without gravity, its closure, and a configuration in which the loop is closed."""
    if name == "bicycle chain":
        model = bicycle_chain(links=30).with_gravity((0, 0, 0))
        return model, Closure("world", model.body_names[-1], "spherical"), np.full(30, 2 * np.pi / 30)
    # a ring of nine bonds in a molecule; open in the beginning, closed by a few steps
    model = molecule(60, seed=3).with_gravity((0, 0, 0))
    closure = Closure(model.body_names[59], model.body_names[56], "spherical")
    sim = QuasiStatics(model, method="aba", closures=[closure])
    assert sim.opening() > 0.1
    sim.run(20, DT)
    return model, closure, sim.configuration


def start(name, method, error=None, **options):
    """The closed linkage with a force on one of its bodies."""
    model, closure, q = closed(name)
    sim = QuasiStatics(model, error, method, closures=[closure], **options)
    sim.configuration = q
    sim.apply_force(10, [0.003, 0.01, 0.02])
    return sim


def dense_with_loop(name):
    """(qdd, C): M qdd = J' f + C' lambda, C qdd = 0, from dense matrices."""
    model, closure, q = closed(name)
    dynamics = Dynamics(model, general=True)

    def jacobian(frame):
        return np.zeros((6, model.nv)) if frame == "world" else dynamics.jacobian(q, frame, "local_world_aligned")

    relative_motion = jacobian(closure.b) - jacobian(closure.a)
    C = np.delete(np.roll(relative_motion, 3, axis=0), FREED[closure.joint], axis=0)
    M = dynamics.mass_matrix(q)
    free = np.linalg.solve(M, jacobian(model.body_names[10])[:3].T @ [0.003, 0.01, 0.02])
    answer = np.linalg.solve(M, C.T)
    return free - answer @ np.linalg.pinv(C @ answer, rcond=1e-9, hermitian=True) @ C @ free, C


@pytest.mark.parametrize("name", ["bicycle chain", "ring in a molecule"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_closes_rings_as_the_dense_solution_does(name, method):
    sim = start(name, method)
    expected, C = dense_with_loop(name)
    assert sim.opening() < 1e-9
    assert relative(sim.accelerations(), expected) < 1e-9
    assert np.abs(C @ sim.accelerations()).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["bicycle chain", "ring in a molecule"])
@pytest.mark.parametrize("make", MEASURES)
def test_bounds_hold_with_loops(name, make):
    exact = start(name, "dca").accelerations()
    model, culled = closed(name)[0], 0
    size = joint_norms(model, exact)
    for eps in (0.5, 0.1, 1e-2, 1e-4):
        measure = make(eps if "relative" in make.__name__ else eps * size.max())
        sim = start(name, "adaptive", measure, culled="zero", catch_up=False)
        found = sim.accelerations()
        error = error_of(measure, size, joint_norms(model, found - exact))
        assert error <= measure.eps
        assert error <= sim.stats.bound * (1 + 1e-12)
        culled += np.count_nonzero(found == 0.0)
    assert culled > 0


@pytest.mark.parametrize(("name", "dt"), [("bicycle chain", DT), ("ring in a molecule", 0.2)])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("culled", ["rigid", "zero"])
def test_rings_stay_closed_while_they_move(name, dt, method, culled):
    sim = start(name, method, None if method in ("dca", "aba") else relative_joint(1e-3), culled=culled)
    q = sim.configuration
    sim.run(50, dt)
    assert np.abs(sim.configuration - q).max() > 5e-3
    assert sim.opening() < 1e-5


@pytest.mark.parametrize("bend", [1e-4, 1e-3, 0.3])
@pytest.mark.parametrize("joint", ["revolute", "spherical", "fixed"])
def test_a_loop_out_of_reach_has_the_same_answer_in_every_method(bend, joint, monkeypatch):
    """Two bars, stretched out but for a bend, whose pin is half a metre farther: refused unless let through."""
    monkeypatch.setattr(closure, "refuse_beyond_reach", lambda *_: None)
    builder = Builder("out of reach", gravity=(0, -9.81, 0))
    at, parent = None, "world"
    for k in range(2):
        inertia = np.diag([0.01, 0.02, 0.03])
        parent = builder.add_body(
            f"b{k}", parent, "revolute", at, axis=(0, 0, 1), mass=1.0, com=(0.5, 0, 0), inertia=inertia
        )
        at = (1.0, 0, 0)
    builder.add_frame("tip", parent, (1.0, 0, 0))
    builder.add_frame("pin", "world", (2.5, 0.0, 0.0))
    model, found = builder.build(), []
    for method in METHODS:
        sim = QuasiStatics(model, method=method, closures=[Closure("pin", "tip", joint)])
        sim.configuration = [bend, -2.0 * bend]
        sim.solver.set_step(0.5 * DT**2)
        found.append(sim.accelerations())
        assert np.count_nonzero(np.diag(sim.solver.engine.loops.A)) == (2 if bend > 0.01 or joint == "fixed" else 1)
    for other in found[1:]:
        assert relative(other, found[0]) < 1e-9
    assert np.abs(found[0]).max() < 1e6


@pytest.mark.parametrize("method", ["dca", "adaptive"])
@pytest.mark.parametrize("seed", range(4))
def test_loops_that_stay_open_are_the_same_in_every_method(method, seed):
    """One algorithm finds the forces of loops, whether they can be closed or not."""
    model = chain(30, seed=seed)
    ends = Closure(model.body_names[29], model.body_names[3 + seed], "spherical")
    found = []
    for each in (method, "aba"):
        sim = QuasiStatics(model, absolute_linkage(0.0), each, culled="zero", closures=[ends])
        sim.apply_force(15, (0.3, -0.2, 0.5))
        found.append(sim.accelerations())
    assert np.abs(found[0] - found[1]).max() < 1e-8 * np.abs(found[1]).max()


def test_there_may_be_many_loops_under_the_rule_of_the_paper():
    model = chain(60)
    names = model.body_names
    closures = [Closure(names[k], names[k + 4], "spherical") for k in range(2, 50, 5)]
    sims = [QuasiStatics(model, absolute_linkage(0.0), m, culled="zero", closures=closures) for m in ("dca", "aba")]
    a, b = (sim.accelerations() for sim in sims)
    assert np.abs(a - b).max() < 1e-6 * np.abs(b).max()


def hinged_ring(turn):
    """Nine bars of which the last is pinned to the world by a hinge, whose frames are turned by so much about it."""
    rng, builder = np.random.default_rng(5), Builder("ring")
    for k in range(9):
        solid = {"mass": 1.0, "com": (0.15, 0, 0), "inertia": 0.01 * np.eye(3)}
        at = (0.3, 0, 0) if k else (0, 0, 0)
        builder.add_body(f"l{k}", f"l{k - 1}" if k else "world", placement=at, axis=rng.normal(size=3), **solid)
    q = 0.4 * rng.normal(size=9)
    T = Dynamics(builder.build(), general=True).placement(q, "l8")
    c, s = np.cos(turn), np.sin(turn)
    seat = T[:3, :3] @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), (T @ [0.3, 0, 0, 1])[:3]
    builder.add_closure("l8", "world", "hinge", point=(0.3, 0, 0), other_point=seat, name="pin")
    return builder.build(), q


@pytest.mark.parametrize(
    ("make", "dt"),
    [
        (lambda model: adaptive.QuasiStatics(model), 0.01),
        (lambda model: adaptive.QuasiStatics(model, method="aba"), 0.01),
        (lambda model: adaptive.QuasiStatics(model, method="dca"), 0.01),
        (lambda model: adaptive.Dynamics(model), 0.002),
    ],
)
def test_a_hinge_may_be_turned_as_far_as_it_likes(make, dt):
    """A turn about its own axis is no gap: the motion does not depend on it."""
    ends = []
    for turn in (0.0, 2.5, np.pi):
        model, q = hinged_ring(turn)
        sim = make(model)
        sim.configuration = q
        for _ in range(40):
            sim.step(dt)
        ends.append(np.array(sim.configuration))
        assert np.abs(Loops(model).gap(ends[-1])).max() < 1e-4
        np.testing.assert_allclose(ends[-1], ends[0], atol=1e-9)
    assert np.abs(ends[0] - q).max() > 0.01


@pytest.mark.parametrize("length", [1e-9, 1e-3, 1.0])
def test_loops_of_any_size_close_alike(length):
    """A four-bar of nanometres in metres moves as one of metres does."""
    builder, at, parent = Builder("four-bar", gravity=(0, -9.81, 0)), None, "world"
    for k, bar in enumerate([1.0, 1.5, 1.2]):
        inertia = length**2 * np.diag([0.02, 0.03, 0.04])
        com, axis = (0.5 * length * bar, 0, 0), (0, 0, 1)
        parent = builder.add_body(f"bar{k}", parent, "revolute", at, axis=axis, mass=1.0, com=com, inertia=inertia)
        at = (length * bar, 0, 0)
    builder.add_frame("tip", parent, at)
    builder.add_frame("pin", "world", (1.6 * length, 0, 0))
    model, loop = builder.build(), Closure("pin", "tip", "revolute")
    sim = QuasiStatics(model, method="aba", closures=[loop])
    sim.configuration = [0.9, -0.9, -1.0]
    sim.run(40, h=1e-4 * length)
    np.testing.assert_allclose(sim.configuration, [0.73018306, -0.47854612, -2.34392777], atol=1e-7)
    motion = adaptive.Dynamics(model, method="full", closures=[loop])
    motion.configuration = sim.configuration
    motion.run(50, 1e-4 * length**0.5)
    assert motion.opening() < 1e-10 * length


@pytest.mark.parametrize("face", ["aba", "adaptive", "energy", "motion"])
def test_loops_are_added_and_cut_between_steps(face, tmp_path):
    """After each change it is as if the simulation had been made with these loops, where the linkage is then."""
    model = chain(12, seed=1)
    q = 0.3 * np.random.default_rng(0).normal(size=model.nv)
    poses = QuasiStatics(model, method="aba")
    poses.configuration = q
    a, b = poses.poses([model.body_names[2], model.body_names[9]])
    model = model.with_frame("hook", model.body_names[2], np.linalg.inv(a) @ b)
    hook = Closure("hook", model.body_names[9], "spherical")
    model = model.with_frame("far", model.body_names[2], (1e3, 0.0, 0.0))

    def make(closures):
        if face == "motion":
            return adaptive.Dynamics(model, method="full", closures=closures)
        options = {"aba": (None, "aba"), "adaptive": (relative_joint(1e-8), "adaptive"), "energy": (1e-8, "adaptive")}
        return QuasiStatics(model, *options[face], closures=closures)

    sim = make([])
    sim.configuration = q
    for closures in ([hook], [], [hook]):
        sim.closures = closures
        sim.apply_force(5, (0.1, 0.2, 0.3))
        other = make(closures)
        other.inputs.restore(sim.inputs.state())
        if face == "motion":
            other.velocity = sim.velocity
        assert sim.closures == other.closures == tuple(closures)
        for s in (sim, other):
            s.step(1e-3)
        assert np.abs(sim.configuration - other.configuration).max() < 1e-12
        assert sim.opening() < 1e-6
        if not closures:  # back to where the loop is closed
            sim.configuration = q
            if face == "motion":
                sim.velocity = np.zeros(model.nv)
    sim.checkpoint(tmp_path / "c.npz")
    assert type(sim).resume(model, tmp_path / "c.npz").closures == (hook,)
    with pytest.raises(ModelError, match="given twice"):
        sim.closures = [hook, hook]
    with pytest.raises(ModelError, match="cannot be closed"):
        sim.closures = [hook, Closure("far", "world", "spherical")]
    assert sim.closures == (hook,)


def test_a_loop_that_no_joint_moves_changes_nothing():
    """Its closing point is on the axis of its only joint: the rows are rounding, which must not be inverted."""
    twin, model, q, closures, rng, _ = case(6300)
    loads = (random_forces(twin, rng), rng.normal(size=model.nv))
    for kind, method in ((adaptive.Dynamics, "full"), (adaptive.QuasiStatics, "aba")):
        looped, tree = (loaded(kind(model, None, method, closures=c), q, loads) for c in (closures, []))
        np.testing.assert_allclose(looped.accelerations(), tree.accelerations(), rtol=1e-7)


def test_a_loop_within_a_rigid_cluster_stays_closed():
    model, closures = with_loops(chain(12), chain(12).neutral, np.random.default_rng(0), 1)
    sim = QuasiStatics(model, relative_joint(0.9), "adaptive", closures=closures, culled="rigid", without=["springs"])
    sim.set_torque(model.joint_names[0], [1.0])
    sim.gravity = np.zeros(3)
    sim.run(3, h=1e-4)
    assert 0 < sim.stats.active < len(model.joints)
    assert sim.opening() < 1e-9
