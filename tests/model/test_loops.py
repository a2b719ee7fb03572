"""Closures as data of a model: built, kept, hashed, pickled, shown, and refused by name."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from bough import Builder, Dynamics, doctor
from bough.errors import ModelError, OptionError, UnknownNameError


def chain(closures=()):
    builder = Builder("chain")
    for k, name in enumerate("abc"):
        builder.add_body(
            name, parent="abc"[k - 1] if k else "world", placement=(1.0 if k else 0.0, 0, 0), mass=1.0, com=(0.5, 0, 0)
        )
    builder.add_frame("end", "c", (1.0, 0, 0))
    for frame, other, options in closures:
        builder.add_closure(frame, other, **options)
    return builder


def test_a_closure_has_frames_on_both_bodies():
    model = chain([("end", "world", {"point": (0, 0.5, 0), "other_point": (2, 0, 0), "name": "loop"})]).build()
    (loop,) = model.closures
    assert (loop.name, loop.kind, loop.frame, loop.other) == ("loop", "connect", "loop/end", "loop/world")
    dynamics = Dynamics(model, general=True)
    np.testing.assert_allclose(dynamics.placement(np.zeros(3), loop.frame)[:3, 3], [3, 0.5, 0], atol=1e-14)
    np.testing.assert_allclose(dynamics.placement(np.zeros(3), loop.other)[:3, 3], [2, 0, 0], atol=1e-14)


def test_frames_that_exist_are_used_as_they_are():
    model = chain([("end", "a", {"kind": "weld"})]).build()
    assert model.closures == (("weld(end, a)", "weld", "end", "a", 0.0),)
    assert model.frame_names == ("world", "a", "b", "c", "end")


def test_closures_are_part_of_the_model():
    tree, closed = chain().build(), chain([("end", "world", {})]).build()
    assert tree.hash != closed.hash
    assert tree != closed
    assert replace(closed, closures=()).hash == tree.hash
    again = pickle.loads(pickle.dumps(closed))
    assert again.closures == closed.closures
    assert again == closed
    assert closed.with_gravity((0, 0, 0)).closures == closed.closures
    assert "1 closure of 3 rows" in repr(closed)
    assert "connect connect(end, world): end = world" in str(closed)
    assert "closure" not in repr(tree)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        (("end", "nowhere"), {}, UnknownNameError, "closure .*no frame 'nowhere'"),
        (("end", "a"), {"kind": "glue"}, OptionError, "no kind 'glue'; expected one of connect, weld, .*distance"),
        (("end", "a"), {"kind": "distance"}, ModelError, "a distance needs length=, .*got None"),
        (("end", "a"), {"kind": "distance", "length": -1.0}, ModelError, "above zero, got -1"),
        (
            ("end", "a"),
            {"kind": "hinge", "length": 1.0},
            ModelError,
            "only a distance has a length, and this is a hinge",
        ),
        (("end", "a"), {"point": (0, np.nan, 0)}, ModelError, "closure 'connect\\(end, a\\)' at 'end'"),
        (("end", "a"), {"point": "x"}, ModelError, "placement"),
        (("end", "a"), {"name": "twice"}, ModelError, "taken"),
    ],
)
def test_nonsense_is_refused_by_name(arguments, options, error, match):
    builder = chain([("b", "world", {"name": "twice"})])
    with pytest.raises(error, match=match):
        builder.add_closure(*arguments, **options)


def test_two_frames_of_one_body_have_nothing_to_close():
    with pytest.raises(ModelError, match="both fixed to one body"):
        chain([("end", "c", {})]).build()
    with pytest.raises(ModelError, match="both fixed to the world"):
        chain([("world", "world", {"point": (1, 0, 0)})]).build()


def test_the_doctor_names_loops():
    model = chain([("end", "world", {"name": "loop"})]).build()
    assert any("connect 'loop' closes a loop" in finding.what for finding in doctor(model))


@pytest.mark.parametrize(
    ("kind", "rows"), [("connect", 3), ("weld", 6), ("hinge", 5), ("slide", 5), ("cylindrical", 4), ("distance", 1)]
)
def test_every_kind_survives_pickling_and_welding(kind, rows):
    length = {"length": 0.5} if kind == "distance" else {}
    model = chain([("end", "world", {"kind": kind, "name": "loop", **length})]).build()
    (loop,) = model.closures
    assert loop.rows == len(loop.components) == rows
    assert pickle.loads(pickle.dumps(model)) == model
    assert model.welded_at(np.zeros(3), ["b"]).closures == model.closures
    shown = "distance loop: end - world = 0.5 m" if length else f"{kind} loop: end = world"
    assert shown in str(model)
