"""No side of a polygon is longer than another way round, of one loop or of several."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bough.adaptive import Closure, QuasiStatics
from bough.errors import ModelError
from bough.model.builder import Builder

BAR = dict(mass=1.0, com=(0.5, 0, 0), inertia=np.diag([0.02, 0.1, 0.1]))
TRIANGLE = (("a1", "b0"), ("b1", "c0"), ("c1", "a0"))


def bars(lengths, joint):
    """Bars in a row, each on a joint of the last, with a frame at both ends of those that have a name."""
    builder, parent = Builder("bars", gravity=(0, 0, 0)), "world"
    for name, length in lengths.items():
        parent = builder.add_body(name, parent, joint, np.array([0.1, 0.2, 0.0]), **BAR)
        builder.add_frame(f"{name}0", name, (0, 0.1, 0))
        builder.add_frame(f"{name}1", name, (length, 0.1, 0))
    return builder.build()


def closed(model, loops):
    return QuasiStatics(model, method="aba", closures=[Closure(*x, "spherical") for x in loops])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_three_bars_pinned_end_to_end(scale):
    short, long = ({"a": scale, "b": scale, "c": c * scale} for c in (1.9, 3.0))
    closed(bars(short, "floating"), TRIANGLE)
    says = f"'c1' to 'a0' (spherical), 'a1' to 'b0' (spherical): however the joints turn, its frames are {scale:.2g} m"
    with pytest.raises(ModelError, match=re.escape(says)):
        closed(bars(long, "floating"), TRIANGLE)


def test_a_side_between_a_joint_and_a_loop_counts():
    """Bar b hangs on a by a ball joint, and c is pinned from the end of b to a: 0.1 m, 5 m and 1 m."""
    lengths = {"a": 0.5, "b": 5.0, "free": 1.0, "c": 1.0}
    with pytest.raises(ModelError, match="cannot be closed together with"):
        closed(bars(lengths, "spherical"), [("b1", "c1"), ("a0", "c0")])
    closed(bars(lengths | {"c": 5.0}, "spherical"), [("b1", "c1"), ("a0", "c0")])


def test_slides_leave_it_open():
    """A closing frame that slides is no corner."""
    model = bars({"a": 1.0, "b": 1.0, "c": 3.0}, "floating")
    sliding = [Closure(a, b, "cylindrical" if a == "c1" else "spherical") for a, b in TRIANGLE]
    QuasiStatics(model, method="aba", closures=sliding)


@pytest.mark.parametrize("reach", [1.5, 2.5])
def test_many_points_on_one_body(reach):
    """A hub with forty arms of two bars, whose ends it holds, too."""
    builder = Builder("wheel", gravity=(0, 0, 0))
    hub = builder.add_body("hub", "world", "floating", **BAR)
    for k in range(40):
        bar = builder.add_body(f"bar{k}", hub, "spherical", (0.0, 0.1 * k, 0.0), **BAR)
        link = builder.add_body(f"link{k}", bar, "spherical", (1.0, 0.0, 0.0), **BAR)
        builder.add_frame(f"end{k}", link, (1.0, 0.0, 0.0))
        builder.add_frame(f"hold{k}", hub, (reach, 0.1 * k, 0.0))
    model, loops = builder.build(), [(f"end{k}", f"hold{k}") for k in range(40)]
    if reach == 1.5:
        closed(model, loops)
    else:
        with pytest.raises(ModelError, match=r"'hold\d+' \(spherical\) cannot be closed: .* 0.5 m apart"):
            closed(model, loops)
