"""Mechanisms with loops: a four-bar, a slider-crank, and a gripper as MJCF."""

from __future__ import annotations

import numpy as np

from bough import Builder

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
