"""A humanoid that stands on two feet by springs in its joints, pushed and left alone: beside MuJoCo, from one text."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.simulate import ContactPoint, Contacts, rollout

LAW = 'stiffness="600" damping="15"'
RADIUS, DT = 0.01, 1e-3
CORNERS = [(x, y, -0.05) for x in (-0.06, 0.14) for y in (-0.04, 0.04)]


def limb(name, place, joints, inner=""):
    return f'<body name="{name}" pos="{place}">{joints}{inner}'


def humanoid():
    """Trunk, two arms, two legs with hip, knee and ankle: 16 freedoms in joints, 12 kg of trunk; spheres under feet."""
    hinge = lambda name, axis, ref=0.0: f'<joint name="{name}" axis="{axis}" springref="{ref}" {LAW}/>'  # noqa: E731
    mass = lambda m, z, i: f'<inertial pos="0 0 {z}" mass="{m}" diaginertia="{i} {i} {i}"/>'  # noqa: E731
    body = ""
    for side, y in (("left", 0.1), ("right", -0.1)):
        soles = "".join(
            f'<geom type="sphere" size="{RADIUS}" pos="{x} {s} {z}" mass="0" conaffinity="0" friction="0.8 0 0"/>'
            for x, s, z in CORNERS
        )
        foot = limb(f"{side}_foot", "0 0 -0.4", hinge(f"{side}_roll", "1 0 0") + hinge(f"{side}_ankle", "0 1 0", -0.2))
        foot += mass(1.0, -0.03, 0.004) + soles + "</body>"
        shank = limb(f"{side}_shank", "0 0 -0.4", hinge(f"{side}_knee", "0 1 0", 0.4) + mass(2.5, -0.2, 0.03), foot)
        hips = hinge(f"{side}_abduct", "1 0 0") + hinge(f"{side}_hip", "0 1 0", -0.2)
        body += limb(f"{side}_thigh", f"0 {y} 0", hips + mass(4.0, -0.2, 0.06), shank + "</body>") + "</body>"
        arm = limb(f"{side}_forearm", "0 0 -0.3", hinge(f"{side}_elbow", "0 1 0", -0.5) + mass(1.0, -0.12, 0.01))
        shoulders = hinge(f"{side}_swing", "1 0 0") + hinge(f"{side}_shoulder", "0 1 0")
        body += limb(f"{side}_arm", f"0 {2 * y} 0.45", shoulders + mass(1.5, -0.15, 0.02), arm + "</body>") + "</body>"
    return f"""<mujoco><compiler angle="radian"/><option timestep="{DT}" cone="elliptic" impratio="10"/><worldbody>
    <geom type="plane" size="5 5 1" contype="0" friction="0.8 0 0" solref="0.004 1"/><body name="trunk" pos="0 0 0.86">
    <freejoint/><inertial pos="0 0 0.25" mass="12" diaginertia="0.3 0.3 0.15"/>{body}</body></worldbody></mujoco>"""


def test_a_humanoid_stands_as_in_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "humanoid.xml"
    path.write_text(humanoid())
    model = bough.load(path)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    assert model.nv == theirs.nv == 22
    start = model.rest_configuration.copy()
    start[:7] = [0, 0, 0.86, 0, 0, 0, 1]
    data.qpos[:7], data.qpos[7:] = [0, 0, 0.86, 1, 0, 0, 0], start[7:]
    points = [ContactPoint(f"{side}_foot", c, RADIUS) for side in ("left", "right") for c in CORNERS]
    push = np.array([20.0, 0, 0, 0, 0, 0])
    trunk = theirs.body("trunk").id
    heights = []
    for k in range(600):
        data.xfrc_applied[trunk, :3] = push[:3] if 200 <= k < 300 else 0.0
        mujoco.mj_step(theirs, data)
        heights.append(data.qpos[2])
    motion = rollout(
        model, start, np.zeros(22), duration=0.6, dt=DT, contacts=Contacts(points, friction=0.8),
        forces=lambda t, q, v: {"trunk": push if 0.2 <= t < 0.3 - 1e-9 else 0.0 * push},
    )  # fmt: skip
    T = bough.Dynamics(model, general=True).placements(motion.q)[
        :, [model.frame("left_foot"), model.frame("right_foot")]
    ]
    assert T[100:, :, 2, 2].min() > 0.99  # soles stay level: it stands
    np.testing.assert_allclose(motion.q[1:, 2], heights, atol=4e-3)
    np.testing.assert_allclose(motion.q[-1, 7:], data.qpos[7:], atol=0.02)
    np.testing.assert_allclose(motion.q[-1, :3], data.qpos[:3], atol=0.01)
    weight = model.total_mass * 9.81
    np.testing.assert_allclose(motion.extra["contact_force"][-1, :, 2].sum(), weight, rtol=0.1)
    assert motion.extra["contact_residual"].max() < 1e-7
