"""Loops that close nowhere are refused by name, with the distance that is left; nothing that closes somewhere is."""

from __future__ import annotations

import numpy as np
import pytest

from bough.adaptive import Closure, QuasiStatics
from bough.errors import ModelError
from bough.model.builder import Builder
from bough.zoo import chain

BAR = dict(mass=1.0, com=(0.5, 0, 0), inertia=np.diag([0.02, 0.1, 0.1]))


def arm_to(x, scale=1.0, joint="revolute"):
    """Two bars of a metre, and a pin this far from the ground's hinge."""
    builder = Builder("arm", gravity=(0, 0, 0))
    builder.add_body("upper", "world", "revolute", axis=(0, 0, 1), **BAR)
    builder.add_body("lower", "upper", joint, (scale, 0, 0), axis=(0, 0, 1), **BAR)
    builder.add_frame("tip", "lower", (scale, 0, 0))
    builder.add_frame("pin", "world", (scale * x, 0, 0))
    return builder.build()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_a_loop_beyond_reach_is_refused(scale):
    says = rf"'pin' to 'tip' \(spherical\) cannot be closed: .* are {scale:.2g}\d* m apart"
    with pytest.raises(ModelError, match=says.replace("+", "[+]")):
        QuasiStatics(arm_to(3.0, scale), closures=[Closure("pin", "tip", "spherical")])
    QuasiStatics(arm_to(2.0, scale), closures=[Closure("pin", "tip", "spherical")])  # stretched out: just within


def test_what_slides_may_reach_anything():
    QuasiStatics(arm_to(3.0, joint="prismatic"), closures=[Closure("pin", "tip", "spherical")])
    QuasiStatics(arm_to(3.0), closures=[Closure("pin", "tip", "cylindrical")])


def test_frames_of_one_body_lie_where_they_lie():
    model = chain(6).with_frame("here", "link3", [0.1, 0, 0])
    with pytest.raises(ModelError, match=r"cannot be closed.* 0.1 m"):
        QuasiStatics(model, closures=[Closure("here", "link3", "spherical")])


def test_a_long_chain_has_its_length():
    model = chain(300, seed=1).with_frame("far", "world", [500.0, 0, 0])
    with pytest.raises(ModelError, match=r"'far' to 'link299'.* cannot be closed"):
        QuasiStatics(model, closures=[Closure("far", "link299", "spherical")])


@pytest.mark.parametrize("seed", range(10))
def test_nothing_that_is_closed_somewhere_is_refused(seed):
    rng, model = np.random.default_rng(seed), chain(10, seed=seed)
    there = QuasiStatics(model, method="aba")
    there.configuration = rng.normal(size=model.nv)
    poses = there.poses()
    a, b = rng.choice(10, 2, replace=False)
    place = poses[rng.integers(10)].copy()
    place[:3, 3] += rng.normal(size=3)
    for name, k in (("a", a), ("b", b)):
        model = model.with_frame(name, model.body_names[k], np.linalg.solve(poses[k], place))
    QuasiStatics(model, method="aba", closures=[Closure("a", "b", "spherical")])


def test_what_is_only_found_while_running_is_named():
    """Two welds of the same bodies, half a metre apart."""
    model = chain(12, seed=2).with_frame("off", "link9", [0.5, 0, 0])
    loops = [Closure("link2", "link9", "fixed"), Closure("link2", "off", "fixed")]
    sim = QuasiStatics(model, method="aba", closures=loops)
    with pytest.warns(UserWarning, match=r"is open by .* and has not come closer"):
        sim.run(200, h=1e-3)
