"""Loops that a model brings along are closed like those of the simulation."""

from __future__ import annotations

import pytest

from bough import Builder
from bough.adaptive.closure import Closure, with_those_of
from bough.errors import ModelError


def test_loops_of_the_model_come_first_and_once():
    builder = Builder("loop")
    for name in ("a", "b"):
        builder.add_body(name, mass=1.0, com=(0.5, 0, 0))
    builder.add_closure("a", "b")
    builder.add_closure("a", "world", "weld")
    model = builder.build()
    own = (Closure("a", "b", "spherical"), Closure("a", "world", "fixed"))
    assert with_those_of(model, ()) == own
    assert with_those_of(model, (*own, Closure("b", "world"))) == (*own, Closure("b", "world"))


def test_a_loop_given_twice_is_refused():
    builder = Builder("loop")
    builder.add_body("a", mass=1.0, com=(0.5, 0, 0))
    with pytest.raises(ModelError, match=r"closure 'a' to 'world' \(revolute\) is given twice"):
        with_those_of(builder.build(), (Closure("a", "world"), Closure("world", "a")))
