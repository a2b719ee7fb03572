"""Loops that certainly cannot be closed are refused by name, and their neighbours that can be are not."""

from __future__ import annotations

import numpy as np
import pytest

from bough import adaptive
from bough.adaptive import Closure, QuasiStatics
from bough.adaptive.closure import FREED, Closures
from bough.adaptive.engines.loops import make_loops
from bough.adaptive.feasible import refuse_impossible
from bough.errors import ModelError
from bough.model.builder import Builder
from bough.zoo import chain

BAR = dict(mass=1.0, com=(0.5, 0, 0), inertia=np.diag([0.02, 0.1, 0.1]))


def hinged(frames, axes="zxyzxyzyxz", joint="revolute"):
    """A chain of bars about such axes, and frames on them."""
    builder, parent, place = Builder("hinged", gravity=(0, 0, 0)), "world", None
    for k, axis in enumerate(axes):
        along = dict(axis=np.eye(3)["xyz".index(axis)]) if joint == "revolute" else {}
        parent, place = builder.add_body(f"bar{k}", parent, joint, place, **along, **BAR), (1.0, 0.0, 0.0)
    for name, (body, *there) in frames.items():
        builder.add_frame(name, body, at(*there))
    return builder.build()


def at(p=(0, 0, 0), R=None):
    """A placement."""
    return np.block([[np.eye(3) if R is None else R, np.reshape(p, (3, 1))], [0, 0, 0, 1]])


def refused(model, says, *closures):
    for make in QuasiStatics, adaptive.Dynamics:
        with pytest.raises(ModelError, match=says):
            make(model, closures=[Closure(*c) for c in closures])


def taken(model, *closures):
    assert QuasiStatics(model, method="aba", closures=[Closure(*c) for c in closures]).stats.steps == 0


def quarter(axis, angle=np.pi / 2):
    c, s, k = np.cos(angle), np.sin(angle), "xyz".index(axis)
    R = np.eye(3)
    i, j = (k + 1) % 3, (k + 2) % 3
    R[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return R


PINS = ("a0", "b0", "spherical"), ("a1", "b1", "spherical")


@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_two_pins_between_two_bodies_must_be_as_far_apart_on_both(size):
    def model(far):
        places = {"a0": ("bar1", (0, 0, 0)), "a1": ("bar1", (0, size, 0))}
        return hinged(places | {"b0": ("bar8", (0, 0, 0)), "b1": ("bar8", (0, 0, far))})

    says = r"closure 'a1' to 'b1' \(spherical\) cannot be closed together with 'a0' to 'b0' \(spherical\): at best"
    refused(model(1.2 * size), says + rf", frames stay {0.1 * size:.2g} m or rad apart", *PINS)
    refused(model(1.001 * size), says, *PINS)
    taken(model(size), *PINS)
    taken(model(size * (1 + 1e-7)), *PINS)  # figures rounded to seven digits


def test_three_pins_that_close_by_twos_need_not_close_together():
    """Two triangles that are mirrored fit; with one side longer they do not, nor do hinges with another angle."""
    corners = np.array([(0, 0, 0), (0.5, 0, 0), (0, 0.5, 0)])
    for far, fits in (1.0, True), (1.1, False):
        where = {f"a{k}": ("bar1", p) for k, p in enumerate(corners)}
        model = hinged(
            where | {f"b{k}": ("bar8", p[[1, 0, 2]] * (far if k == 2 else 1)) for k, p in enumerate(corners)}
        )
        loops = [(f"a{k}", f"b{k}", "spherical") for k in range(3)]
        if fits:
            taken(model, *loops)
        else:
            refused(model, "'a2' to 'b2' .* with 'a0' to 'b0' .spherical., 'a1' to 'b1' .spherical.: at", *loops)


def test_two_welds_of_the_same_bodies_must_agree():
    for angle, says in (0.0, "is redundant"), (0.3, "with 'a' to 'b' .fixed.: at best, frames stay 0.15 m or rad"):
        where = {
            "a": ("bar1",),
            "b": ("bar8",),
            "c": ("bar1", (0.2, 0, 0)),
            "d": ("bar8", (0.2, 0, 0), quarter("x", angle)),
        }
        refused(hinged(where), says, ("a", "b", "fixed"), ("c", "d", "fixed"))


def test_frames_of_one_body_lie_where_they_lie():
    where = {"a": ("bar3", (0.1, 0, 0)), "b": ("bar3", (0.1, 0.01, 0)), "c": ("bar3", (0.1, 0, 0), quarter("x"))}
    model = hinged(where)
    refused(
        model,
        "'a' to 'b' .spherical. cannot be closed: frames of one rigid body keep .* 0.01 m",
        ("a", "b", "spherical"),
    )
    refused(model, "'a' to 'c' .revolute. cannot be closed.* 1.4 m or rad", ("a", "c", "revolute"))
    refused(model, "is redundant: it follows from the linkage itself", ("a", "c", "spherical"))


def test_bodies_that_welds_hold_are_one():
    """A chain of welds, then a pin between its ends; and pins between three bodies of which two are welded."""
    welds = ("bar1", "bar4", "fixed"), ("bar4", "bar7", "fixed")
    for off, says in (0.0, "is redundant"), (0.2, "'bar1' to 'bar4' .fixed., 'bar4' to 'bar7' .fixed. keep .* 0.2 m"):
        refused(
            hinged({"p": ("bar7", (off, 0, 0))}),
            rf"'bar1' to 'p' \(spherical\).*{says}",
            *welds,
            ("bar1", "p", "spherical"),
        )
    for far in (0.5, 0.7):
        where = {"a0": ("bar0", (0, 0.5, 0)), "a1": ("bar5",), "b0": ("bar9", (0, 0, far)), "b1": ("bar9",)}
        loops = ("bar0", "bar5", "fixed"), *PINS
        if far == 0.5:
            taken(hinged(where), *loops)
        else:
            refused(hinged(where), "'a1' to 'b1' .* 'a0' to 'b0' .spherical., 'bar0' to 'bar5' .fixed.: at", *loops)


def test_three_pins_make_two_bodies_one():
    corners = {0: (0, 0, 0), 1: (0.5, 0, 0), 2: (0, 0.5, 0)}
    where = {f"{x}{k}": (body, p) for x, body in (("a", "bar1"), ("b", "bar8")) for k, p in corners.items()}
    model = hinged(where | {"c": ("bar1", (0, 0, 0.3)), "d": ("bar8", (0, 0, -0.3))})
    loops = [(f"a{k}", f"b{k}", "spherical") for k in range(3)]
    refused(
        model, "'c' to 'd' .spherical. cannot be closed together with 'a0' to 'b0'", *loops, ("c", "d", "spherical")
    )
    refused(model, "'c' to 'b0' .spherical. cannot be closed", *loops, ("c", "b0", "spherical"))


def test_the_joint_between_two_bodies_is_one_of_their_ties():
    """Beside a hinge a pin may be as far from the axis on both, and as high."""
    for there, fits in ((0, 0.5, 0.1), True), ((0, 0.4, 0.1), False), ((0, 0.5, 0.2), False):
        model = hinged({"a": ("bar3", (1.3, 0.4, 0.1)), "b": ("bar4", there)}, axes="zxyzzxy")
        if fits:
            taken(model, ("a", "b", "spherical"))
        else:
            says = "'a' to 'b' .spherical. cannot be closed together with the joint between its bodies: .* 0.* m"
            refused(model, says, ("a", "b", "spherical"))


def test_a_flat_linkage_stays_flat():
    for height, fits in (0.0, True), (0.2, False):
        model = hinged(
            {"pin": ("world", (2.0, 1.0, height), quarter("y", 0.0)), "tip": ("bar5", (1, 0, 0))}, axes="zzzzzz"
        )
        if fits:
            taken(model, ("pin", "tip", "spherical"))
        else:
            says = "cannot be closed: wherever they go, the joints keep its frames 0.2 m"
            refused(model, says, ("pin", "tip", "spherical"))
    tilted = hinged({"pin": ("world", (2.0, 1.0, 0.0), quarter("y", 0.3)), "tip": ("bar5", (1, 0, 0))}, axes="zzzzzz")
    refused(tilted, "wherever they go, the joints keep its frames 0.* m or rad", ("pin", "tip", "revolute"))
    taken(tilted, ("pin", "tip", "spherical"))


@pytest.mark.parametrize("joint", ["revolute", "spherical"])
def test_nothing_that_is_closed_somewhere_is_said_not_to_close(joint):
    """Frames that coincide in one posture of a linkage, several of them between few bodies."""
    rng = np.random.default_rng(5)
    for trial in range(20):
        model = chain(10, seed=trial) if joint == "revolute" else hinged({}, joint=joint)
        there = QuasiStatics(model, method="aba")
        there.configuration = model.integrate(model.neutral, rng.normal(size=model.nv))
        poses, bodies = there.poses(model.body_names), rng.choice(len(model.body_names), 4, replace=False)
        loops = []
        for k in range(rng.integers(1, 5)):
            place = poses[rng.integers(len(poses))] @ at(rng.normal(size=3), quarter("x", rng.normal()))
            for x, i in zip("ab", rng.choice(bodies, 2, replace=False), strict=True):
                X = np.linalg.inv(poses[i]) @ place
                model = model.with_frame(f"{x}{k}", model.body_names[i], X)
            loops.append(Closure(f"a{k}", f"b{k}", str(rng.choice([*FREED]))))
        m, plan = there.solver.inputs.mechanism, Closures(model, tuple(loops)).closing()
        refuse_impossible(m, make_loops(np.asarray(m.parent), len(m.axis), *plan), np.array(model.neutral), "abcd")


def test_what_is_only_found_while_running_is_named():
    """Six bars of a flat pyramid: of a triangle of 1 m, and from its corners to a top nearer than these are to the
    middle. Each three of them close."""
    bars = {"ab": 1.0, "bc": 1.0, "ca": 1.0, "at": 0.55, "bt": 0.55, "ct": 0.55}
    where = {f"{x}{x[k]}": (f"bar{i}", (k * bars[x], 0, 0)) for i, x in enumerate(bars) for k in (0, 1)}
    pins = [("aba", "caa"), ("aba", "ata"), ("abb", "bcb"), ("abb", "btb"), ("bcc", "cac"), ("bcc", "ctc"),
            ("att", "btt"), ("att", "ctt")]  # fmt: skip
    loops = [Closure(a, b, "spherical") for a, b in pins]
    sim = QuasiStatics(hinged(where, axes="xxxxxx", joint="floating"), method="aba", closures=loops)
    with pytest.warns(UserWarning, match=r"is open by .* and has not come closer"):
        sim.run(200, h=1e-3)
    assert sim.opening() > 0.005
