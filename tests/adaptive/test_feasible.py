"""Loops that cannot be closed or hold nothing new are refused by name; singular postures and planar loops are not."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.engines.test_looped import ladder
from adaptive.test_loops import four_bar
from adaptive.test_stepper import arm_to
from bough import adaptive
from bough.adaptive import Closure, QuasiStatics
from bough.adaptive.feasible import Group, groups_of, redundant
from bough.errors import ModelError
from bough.model.builder import Builder
from bough.zoo import bicycle_chain, chain

WAYS = {"method": "aba"}, {"method": "dca"}, {"error": adaptive.energy(0.1)}


def refused(model, closures, says, **options):
    with pytest.raises(ModelError, match=says):
        QuasiStatics(model, closures=[Closure(*c) for c in closures], **(options or {"method": "aba"}))


@pytest.mark.parametrize("options", WAYS)
def test_a_loop_that_others_imply_is_refused_with_their_names(options):
    model = chain(12, seed=1)
    fixed, pinned = ("link1", "link8", "fixed"), ("link1", "link8", "spherical")
    says = r"'link1' to 'link8' \(spherical\) is redundant: it follows from 'link1' to 'link8' \(fixed\)"
    refused(model, [fixed, pinned], says, **options)
    refused(model, [pinned, fixed], says, **options)  # in any order
    with pytest.raises(ModelError, match=says):
        adaptive.Dynamics(model, closures=[Closure(*fixed), Closure(*pinned)])


def test_what_two_loops_imply_together_is_refused():
    """Three bodies, each two of them welded: two welds hold all three."""
    model = chain(24, seed=4)
    welds = [("link2", "link9", "fixed"), ("link9", "link17", "fixed"), ("link2", "link17", "fixed")]
    refused(model, welds, r"'link2' to 'link17' \(fixed\) is redundant: it follows from .link2. to .link9. \(fixed\), ")
    QuasiStatics(model, method="aba", closures=[Closure(*c) for c in welds[:2]])


def test_what_the_linkage_holds_by_itself_is_refused():
    model = chain(6).with_frame("here", "link3", [0.1, 0, 0]).with_frame("there", "link3", [0.1, 0, 0])
    refused(model, [("here", "there", "spherical")], "is redundant: it follows from the linkage itself")


def test_a_loop_beyond_reach_is_refused():
    refused(arm_to(3.0), [("pin", "tip", "spherical")], r"'pin' to 'tip' \(spherical\) cannot.* are 1 m apart")
    QuasiStatics(arm_to(2.0), closures=[Closure("pin", "tip", "spherical")])  # stretched out: just within
    model = chain(6).with_frame("here", "link3", [0.1, 0, 0])
    refused(model, [("here", "link3", "spherical")], "cannot be closed.* 0.1 m")
    long = chain(300, seed=1).with_frame("far", "world", [500.0, 0, 0])
    refused(long, [("far", "link299", "spherical")], "'far' to 'link299'.* cannot be closed")
    slides = Builder("slides")
    slides.add_body("a", joint="prismatic", axis=(1, 0, 0), mass=1.0, inertia=np.eye(3))
    slides.add_frame("far", "world", (500, 0, 0))
    QuasiStatics(slides.build(), closures=[Closure("far", "a", "spherical")])


def test_loops_that_contradict_each_other_are_refused():
    """Two welds of the same bodies, half a metre apart."""
    model = chain(12, seed=2).with_frame("off", "link9", [0.5, 0, 0])
    says = r"'link2' to 'off' \(fixed\) cannot be closed together with 'link2' to 'link9' \(fixed\): .* 0.25 m"
    refused(model, [("link2", "link9", "fixed"), ("link2", "off", "fixed")], says)


@pytest.mark.parametrize("options", WAYS)
def test_rows_that_are_redundant_in_part_are_not_refused(options):
    """A planar four-bar in space, and a flat bicycle chain."""
    builder = four_bar()
    builder.add_frame("pin", "world", (1.0, -0.5, 0.0))
    QuasiStatics(builder.build(), closures=[Closure("pin", "tip")], **options)
    ring = bicycle_chain(links=8)
    QuasiStatics(ring, closures=[Closure("world", ring.body_names[-1], "spherical")], **options)


def test_a_singular_posture_is_not_mistaken():
    """A four-bar at its dead point, its crank held as well: there, only there, the first loop holds the crank, too."""
    builder, at, parent = Builder("dead point", gravity=(0, 0, 0)), None, "world"
    for k in range(3):
        bar = dict(mass=1.0, com=(0.5, 0, 0), inertia=np.diag([0.02, 0.1, 0.1]))
        parent = builder.add_body(f"bar{k}", parent, "revolute", at, axis=(0, 0, 1), **bar)
        at = (1.0, 0.0, 0.0) if k else (0.0, 1.0, 0.0)
    for frame, body, place in ("tip", "bar2", (1, 0, 0)), ("crank", "bar0", (0, 1, 0)):
        builder.add_frame(frame, body, place)
    for frame, place in ("pin", (2, 1, 0)), ("stop", (0, 1, 0)):
        builder.add_frame(frame, "world", place)
    loops = [Closure("pin", "tip", "spherical"), Closure("stop", "crank", "spherical")]
    sim = QuasiStatics(builder.build(), method="aba", closures=loops)
    assert sim.opening() < 1e-15
    J = np.array([[-1.0, 0.0, 0.0], [2.0, 2.0, 1.0], [-1.0, 0.0, 0.0]])  # x and y of the tip, x of the crank
    blocks = [np.array([0, 1]), np.array([2])]
    assert redundant(J, blocks) == [1]  # here
    J[0, 1] = 0.1
    assert redundant(J, blocks) == []


def test_groups_are_loops_that_share_joints():
    model, closures = ladder(60, step=8, reach=5)
    sim = QuasiStatics(model, method="aba", closures=closures)
    groups = groups_of(sim.solver.plain.mechanism, sim.solver.loops)
    assert [g.loops for g in groups] == [[k] for k in range(len(closures))]
    assert all(isinstance(g, Group) and len(g.v) == 5 and len(g.rows) == 3 for g in groups)
    model, closures = ladder(60, step=4, reach=5)
    sim = QuasiStatics(model, method="aba", closures=closures)
    assert [g.loops for g in groups_of(sim.solver.plain.mechanism, sim.solver.loops)] == [list(range(len(closures)))]


def test_a_refusal_leaves_the_model_as_it_was_and_the_search_repeats():
    model = chain(12, seed=1)
    before, says = model.hash, []
    for _ in range(2):
        with pytest.raises(ModelError) as found:
            QuasiStatics(model, closures=[Closure("link1", "link8", "fixed"), Closure("link1", "link8", "revolute")])
        says.append(str(found.value))
    assert says[0] == says[1]
    assert model.hash == before
