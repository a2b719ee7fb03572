"""The model: frozen, hashable by content, picklable, and readable when printed."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from bough import Builder
from bough.errors import UnknownNameError


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
    for array in (*model.mechanism, *model.limits, *model.frames[1:], model.damping, model.parent, model.joints.q):
        assert not array.flags.writeable


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
