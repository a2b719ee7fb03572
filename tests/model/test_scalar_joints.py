"""Joints with one coordinate: those that have position limits."""

import numpy as np

import bough


def test_scalar_joints_are_revolute_prismatic_and_lead():
    builder = bough.Builder()
    solid = {"mass": 1.0, "inertia": np.eye(3)}
    builder.add_body("base", "world", "floating", **solid)
    builder.add_body("a", "base", "revolute", joint_name="first", **solid)
    builder.add_body("b", "a", "spherical", **solid)
    builder.add_body("c", "b", "prismatic", **solid)
    builder.add_body("d", "a", "revolute", mimic=("first", 2.0, 0.0), **solid)
    builder.add_body("e", "base", "revolute", mimic=("first", 1.0, 0.0), **solid)
    model = builder.build()
    q, v = model.scalar_joints
    assert sorted(q) == [model.joint("first").q.start, model.joint("c").q.start]
    assert sorted(v) == [model.joint("first").v.start, model.joint("c").v.start]
