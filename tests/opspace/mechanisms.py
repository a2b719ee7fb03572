"""Mechanisms with loops: a four-bar, a slider-crank, and a gripper as MJCF."""

from __future__ import annotations

import numpy as np

from bough import Builder
from bough.spatial import quaternion_matrix

GRIPPER = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody><body name="palm"><freejoint/>
<geom size="0.05" mass="1"/>
<body name="driver" pos="0.03 0 0.05"><joint name="driver" axis="0 1 0" range="-1 1"/>
  <geom type="capsule" size="0.004" fromto="0 0 0 0.03 0 0.02" mass="0.05"/>
  <body name="follower" pos="0.03 0 0.02"><joint name="follower" axis="0 1 0"/>
    <geom type="capsule" size="0.004" fromto="0 0 0 0 0 0.06" mass="0.03"/></body></body>
<body name="spring" pos="0.012 0 0.06"><joint name="spring" axis="0 1 0"/>
  <geom type="capsule" size="0.004" fromto="0 0 0 0.036 0 0.04" mass="0.04"/></body></body></worldbody>
<equality><connect name="finger" body1="follower" body2="spring" anchor="0 0 0.03"/></equality></mujoco>"""
ROD = {"axis": (0, 1, 0), "mass": 1.0, "inertia": np.diag([0.01, 0.02, 0.015])}


def four_bar(ground=1.0, crank=0.3, coupler=0.9, rocker=0.6, kind="connect"):
    """A planar four-bar in space: coupler and rocker meet; angles about y, links along x at zero."""
    builder = Builder("four-bar")
    builder.add_body("crank", com=(crank / 2, 0, 0), **ROD)
    builder.add_body("coupler", "crank", placement=(crank, 0, 0), com=(coupler / 2, 0, 0), **ROD)
    builder.add_body("rocker", placement=(ground, 0, 0), com=(rocker / 2, 0, 0), **ROD)
    builder.add_closure("coupler", "rocker", kind, point=(coupler, 0, 0), other_point=(rocker, 0, 0), name="pin")
    return builder.build()


def slider_crank(crank=0.3, rod=1.0):
    builder = Builder("slider-crank")
    builder.add_body("crank", com=(crank / 2, 0, 0), **ROD)
    builder.add_body("rod", "crank", placement=(crank, 0, 0), com=(rod / 2, 0, 0), **ROD)
    builder.add_body("slider", joint="prismatic", axis=(1, 0, 0), mass=2.0)
    builder.add_closure("rod", "slider", point=(rod, 0, 0), name="wrist pin")
    return builder.build()


def six_digits(x):
    return np.array([float(f"{a:.6g}") for a in np.ravel(x)]).reshape(np.shape(x))


def turned(rng):
    """A rotation matrix whose quaternion has six digits, as in files."""
    q = six_digits(rng.normal(size=4))
    return quaternion_matrix(q / np.linalg.norm(q))


def rounded_four_bar(seed, rounded=six_digits):
    """A planar four-bar askew in space, every number rounded to six digits: as a spatial loop it closes nowhere."""
    rng, builder = np.random.default_rng(seed), Builder("rounded")
    x, y = turned(rng)[:, :2].T
    origin, placed = 0.1 * rng.normal(size=3), {"world": (np.eye(3), np.zeros(3))}

    def seen(body, point):
        R, p = placed[body]
        return rounded(R.T @ (point - p))

    ways = {"crank": ("world", 0.0, 0.05), "coupler": ("crank", 0.05, 0.12), "rocker": ("world", 0.11, 0.07)}
    for name, (parent, start, length) in ways.items():
        R, at = turned(rng), origin + start * x
        placed[name] = placed[parent][0] @ R, at
        builder.add_body(
            name, parent, placement=(R, seen(parent, at)), axis=rounded(placed[name][0].T @ y), mass=0.1,
            com=seen(name, at + 0.5 * length * x), inertia=1e-5 * np.eye(3),
        )  # fmt: skip
    ends = seen("coupler", origin + 0.17 * x), seen("rocker", origin + 0.18 * x)
    builder.add_closure("coupler", "rocker", point=ends[0], other_point=ends[1], name="pin")
    return builder.build()


def two_arms(kind, seed=1):
    """Two arms of five joints on a floating base, with their hands held together."""
    rng, builder = np.random.default_rng(seed), Builder(kind)
    builder.add_body("base", joint="floating", mass=2.0, inertia=0.1 * np.eye(3))
    for side in "ab":
        for k in range(5):
            parent, at = f"{side}{k - 1}" if k else "base", (turned(rng), 0.3 * rng.normal(size=3))
            solid = {"mass": 1.0, "com": 0.1 * rng.normal(size=3), "inertia": 0.02 * np.eye(3)}
            builder.add_body(f"{side}{k}", parent, placement=at, axis=rng.normal(size=3), **solid)
    ends = [(turned(rng), 0.2 * rng.normal(size=3)) for _ in range(2)]
    length = {"length": 0.7} if kind == "distance" else {}
    builder.add_closure("a4", "b4", kind, point=ends[0], other_point=ends[1], **length, name="grip")
    return builder.build()
