"""The model: frozen, hashable by content, picklable, and readable when printed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from bough import Builder, Dynamics, zoo
from bough.errors import OptionError, ShapeError, UnknownNameError
from bough.model import Numbered


def builder(mass: float = 1.0, name: str = "model") -> Builder:
    builder = Builder(name)
    builder.add_body("base", joint="floating", mass=1.0, inertia=np.eye(3))
    builder.add_body("arm", "base", axis=(0, 1, 0), mass=mass, inertia=np.eye(3), joint_name="shoulder")
    builder.add_body("hand", "arm", "fixed", (0, 0, 1))
    builder.add_body("finger", "arm", mass=1.0, inertia=np.eye(3), mimic=("shoulder", 0.5, 0.0))
    return builder


def test_equal_content_is_equal() -> None:
    one, same, other = builder().build(), builder().build(), builder(2.0).build()
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert len({one, same, other}) == 2


def test_pickle() -> None:
    model = builder().build()
    assert model.dof_tree.n == 7  # fill a cache
    copy = pickle.loads(pickle.dumps(model))
    assert copy == model
    assert copy.dof_tree == model.dof_tree
    assert copy.couplings == model.couplings
    assert not copy.mechanism.inertia.flags.writeable


def test_frozen() -> None:
    model = builder().build()
    with pytest.raises(FrozenInstanceError):
        model.name = "other"
    with pytest.raises(AttributeError, match="frozen"):
        model.tree.parent = model.parent


def reachable(x: Any, path: str, seen: dict[int, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Every array that can be reached from x, through tuples, dictionaries, attributes and (cached) properties."""
    if id(x) in seen:
        return
    seen[id(x)] = x
    if isinstance(x, np.ndarray):
        yield path, x
        yield from reachable(x.base, f"{path}.base", seen)
    elif isinstance(x, tuple | list):
        for k, item in enumerate(x):
            yield from reachable(item, f"{path}[{k}]", seen)
    elif isinstance(x, dict):
        for key, item in x.items():
            yield from reachable(item, f"{path}[{key!r}]", seen)
    elif type(x).__module__.startswith(("bough.model", "bough.tree")):
        properties = {
            n for c in type(x).__mro__ for n, p in vars(c).items() if isinstance(p, property | cached_property)
        }
        for name in sorted(properties | vars(x).keys()):
            yield from reachable(getattr(x, name), f"{path}.{name}", seen)


MODELS = {
    "built": lambda: builder().build(),
    "unpickled": lambda: pickle.loads(pickle.dumps(builder().build())),
    "weightless": lambda: builder().build().with_gravity(np.zeros(3)),
    "asimo": zoo.asimo,
    "humanoid": zoo.humanoid,
    "chain": lambda: zoo.chain(5),
    "molecule": lambda: zoo.molecule(30),
    "expanded": lambda: builder().build().tree.expanded([6, 1]),
}


@pytest.mark.parametrize("name", MODELS)
def test_everything_reachable_is_read_only(name: str) -> None:
    found = dict(reachable(MODELS[name](), "model", {}))
    assert len(found) > 5
    assert [path for path, array in found.items() if array.flags.writeable] == []


def test_what_was_given_stays_the_users() -> None:
    gravity, inertia = np.zeros(3), np.eye(3)
    thing = Builder(gravity=gravity)
    thing.add_body("a", mass=1.0, inertia=inertia, damping=(damping := np.ones(1)))
    model = thing.build().with_gravity(gravity)
    gravity[0] = inertia[0, 0] = damping[0] = 7.0
    assert not model.mechanism.gravity.any()
    assert model.damping.tolist() == [1.0]


def test_printed() -> None:
    model = builder(name="thing").build()
    assert repr(model).startswith("Model('thing': 2 joints, nq = 8, nv = 7, depth 7, D1 = 21, D2 =")
    assert "shoulder  revolute: base -> arm" in str(model)
    assert "finger = 0.5 shoulder + 0" in str(model)


def test_names() -> None:
    model = builder().build()
    assert model.dof_names == (*(f"base[{k}]" for k in range(6)), "shoulder")
    assert model.joint("shoulder").v == slice(6, 7)
    assert model.frame("hand") == 3
    with pytest.raises(UnknownNameError, match="no frame 'hnd'; did you mean 'hand'"):
        model.frame("hnd")
    with pytest.raises(UnknownNameError, match="no joint 'sholder'; did you mean 'shoulder'"):
        model.joint("sholder")


def test_long_models_are_cut_when_printed() -> None:
    chain = Builder()
    for k in range(100):
        chain.add_body(f"b{k}", f"b{k - 1}" if k else "world", mass=1.0, inertia=np.eye(3))
    assert str(chain.build()).endswith("... and 40 more")


def test_random_configurations_from_seeds_and_in_batches():
    model = zoo.arm(3)
    np.testing.assert_array_equal(model.random_configuration(0), model.random_configuration(0))
    assert not np.array_equal(model.random_configuration(), model.random_configuration())
    assert model.random_configuration(batch=0).shape == (0, 3)
    for batch in (-1, 2.5, "2"):
        with pytest.raises(ShapeError, match="batch must be a whole number"):
            model.random_configuration(batch=batch)
    with pytest.raises(OptionError, match="a numpy generator or a seed"):
        model.random_configuration("zero")


@pytest.mark.parametrize("name", [3, None, ("link1",), 2.5, ["link1"]])
def test_names_that_are_no_names(name):
    model = zoo.arm(3)
    for look in (model.frame, model.joint, lambda x: Dynamics(model).jacobian(np.zeros(3), x)):
        with pytest.raises(UnknownNameError, match=r"the model has no (frame|joint)"):
            look(name)


def test_numbered_names_are_made_when_asked_for() -> None:
    names = Numbered("link", 12, "world")
    every = ("world", *(f"link{k}" for k in range(12)))
    assert tuple(names) == every
    assert (len(names), names[-1], names[1:3]) == (13, "link11", ("link0", "link1"))
    assert [names.place(name) for name in every] == list(range(13))
    for wrong in ("link12", "link012", "link-1", "link", "3", "", "link\u0663", "link" + "9" * 5000, "worldlink1"):
        assert names.place(wrong) is None, wrong
    with pytest.raises(IndexError):
        names[13]


def test_a_numbered_model_is_asked_by_name_as_any_other() -> None:
    model = zoo.molecule(9, floating=True)
    assert (model.frame_names, model.joint_names[3]) == (("world", *model.body_names), "joint3")
    assert [model.frame(name) for name in model.body_names] == model.body_frames.tolist()
    assert model.joint("joint3") == model.joints[3]
    assert pickle.loads(pickle.dumps(model)) == model
    with pytest.raises(UnknownNameError, match="did you mean 'link"):
        model.frame("link10")
    with pytest.raises(UnknownNameError, match="no joint 3"):
        model.joint(3)  # type: ignore[arg-type]


def test_frames_of_bodies_are_found_among_welded_ones() -> None:
    model = builder().build()
    assert [model.frame_names[k] for k in model.body_frames] == list(model.body_names)


def carried_by_a_follower():
    builder, solid = Builder("carried"), {"mass": 1.0, "inertia": np.eye(3)}
    builder.add_body("a", axis=(0, 1, 0), **solid)
    builder.add_body("f", placement=(1, 0, 0), joint="prismatic", joint_name="slide", mimic=("a", 2, 0.5), **solid)
    builder.add_body("plate", "f", joint="fixed", placement=(0, 0, 1), **solid)
    builder.add_body("c", "plate", joint="universal", axis=((1, 0, 0), (0, 1, 0)), placement=(0, 1, 0), **solid)
    builder.add_body("d", "c", placement=(0, 0, 1), **solid)
    return builder


def test_joints_on_a_mimic_joint_are_placed_in_its_body():
    tied, free = (carried_by_a_follower().build(mimic) for mimic in ("honour", "independent"))
    assert tied.mimic_bodies == ("f",)
    assert free.mimic_bodies == ()
    np.testing.assert_allclose(tied.joint_placements, free.joint_placements[[0, 2, 3]], atol=1e-14)
    text = str(tied)
    assert "universal: f -> c" in text
    assert "slide = 2 a + 0.5: world -> f" in text


def test_a_mimic_joint_asked_for_by_name_is_explained():
    model = carried_by_a_follower().build()
    with pytest.raises(UnknownNameError, match=r"'slide' is a mimic joint.*it is at 2 a \+ 0\.5; ask for joint\('a'\)"):
        model.joint("slide")
