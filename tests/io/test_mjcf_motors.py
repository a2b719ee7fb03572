"""What MJCF says of each degree of freedom: damping, friction, springs, limits, motors."""

from __future__ import annotations

import numpy as np
import pytest

from bough import convert, load
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom type="box" size="0.1 0.05 0.02" pos="0.1 0 0.05"/>'
TEXT = f"""<mujoco><compiler angle="radian"/><worldbody>
<body name="a"><joint name="one" axis="0 0 1" damping="0.7" frictionloss="0.2" stiffness="3" springref="0.4" ref="0.1"
  range="-1 2" actuatorfrcrange="-5 5"/>{GEOM}
  <body name="b" pos="0.3 0 0"><joint name="two" type="slide" axis="0 1 0" stiffness="5" damping="1"/>{GEOM}
    <body name="c" pos="0.3 0 0"><joint name="three" axis="1 1 0"/>{GEOM}</body></body></body>
<body name="d" pos="0 1 0"><joint name="ball" type="ball" stiffness="2" damping="0.5" range="0 1" limited="true"/>{GEOM}
</body>
<body name="e" pos="0 2 0"><joint name="free" type="free" damping="0.3" stiffness="1"/>{GEOM}</body>
</worldbody>{{}}</mujoco>"""


def test_passive_forces_are_those_of_mujoco() -> None:
    """Springs and dampers of joints of one degree of freedom, and of a ball, at random states."""
    model, reference = load(TEXT.format("")), mujoco.MjModel.from_xml_string(TEXT.format(""))
    assert model.friction.tolist() == [0.2] + [0.0] * 11
    assert "dropped the stiffness of the floating joint 'free'" in model.notes
    assert "dropped the limit of the spherical joint 'ball'" in model.notes
    rng, data = np.random.default_rng(0), mujoco.MjData(reference)
    reference.jnt_stiffness[4] = 0.0  # of the floating joint: noted, and left out
    for _ in range(3):
        q, v = model.random_configuration(rng), rng.normal(size=model.nv)
        data.qpos, data.qvel = convert.to_mujoco(model, q, v)
        mujoco.mj_forward(reference, data)
        spring = -model.stiffness * model.difference(model.rest_configuration, q)
        T = np.array([convert.to_mujoco(model, q, column)[1] for column in np.eye(model.nv)]).T
        np.testing.assert_allclose(spring - model.damping * v, T.T @ data.qfrc_passive, atol=1e-12)


def test_limits() -> None:
    model = load(TEXT.format(""))
    assert model.limits.lower[:3].tolist() == [-1, -np.inf, -np.inf]
    assert model.limits.upper[:3].tolist() == [2, np.inf, np.inf]
    assert model.limits.effort[:3].tolist() == [5, np.inf, np.inf]


def test_motors_drive_joints() -> None:
    motors = """<tendon><fixed name="t"><joint joint="three" coef="2"/></fixed></tendon><actuator>
    <motor joint="one" ctrlrange="-1 1" ctrllimited="true" gear="3"/>
    <motor tendon="t" forcerange="-4 4" forcelimited="true"/></actuator>"""
    model = load(TEXT.format(motors))
    assert model.actuated.tolist() == [True, False, True] + [False] * 9
    assert model.limits.effort[:3].tolist() == [3, np.inf, 8]
    assert "no actuator drives 'two', 'ball', 'free'" in model.notes
    assert "dropped the gains and dynamics of 2 actuators" in model.notes


def test_without_motors_the_default_holds() -> None:
    assert load(TEXT.format("")).actuated.tolist() == [True] * 3 + [False] * 9
    site = TEXT.replace('<body name="e" pos="0 2 0">', '<body name="e" pos="0 2 0"><site name="s"/>')
    model = load(site.format('<actuator><general site="s" gear="0 0 1 0 0 0"/></actuator>'))
    assert model.actuated.tolist() == [True] * 3 + [False] * 9
    assert any("not known" in note for note in model.notes)


@pytest.mark.parametrize("pos", ["0 0 0", "0.1 0 0"])
def test_bodies_may_be_called_like_joints(pos: str) -> None:
    text = f"""<mujoco><worldbody><body name="x"><joint name="x" pos="{pos}"/>{GEOM}<body name="joint1">{GEOM}
    <body name="x/x"><joint/>{GEOM}</body><body name="y"><joint name="joint2"/>{GEOM}<body>
    <joint/>{GEOM}</body></body></body></body></worldbody></mujoco>"""
    model, reference = load(text), mujoco.MjModel.from_xml_string(text)
    assert model.nv == reference.nv == 4
    assert len(set(model.joint_names)) == 4
    q = np.array([0.1, 0.2, 0.3, 0.4])
    data = mujoco.MjData(reference)
    data.qpos = q
    mujoco.mj_forward(reference, data)
    for name in ("x", "x/x", "y"):
        at = Dynamics(model, general=True).placement(q, name)[:3, 3]
        np.testing.assert_allclose(at, data.body(name).xpos, atol=1e-14)


@pytest.mark.parametrize("kind", ["ball", "hinge", "slide"])
def test_armature_beside_mujoco(kind: str) -> None:
    text = f"""<mujoco><worldbody><body><joint type="{kind}" armature="0.5"/>{GEOM}</body></worldbody></mujoco>"""
    model, reference = load(text), mujoco.MjModel.from_xml_string(text)
    rng, data = np.random.default_rng(1), mujoco.MjData(reference)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    data.qpos, data.qvel = convert.to_mujoco(model, q, v)
    mujoco.mj_forward(reference, data)
    qdd = Dynamics(model, general=True).forward_dynamics(q, v, np.zeros(model.nv))
    np.testing.assert_allclose(convert.to_mujoco(model, q, v, qdd)[2], data.qacc, atol=1e-10)


def test_armature_of_a_free_joint_is_refused() -> None:
    """MuJoCo adds it to the mass, but not to the weight, of the body: no body does that."""
    text = f"""<mujoco><worldbody><body><joint type="free" armature="0.5"/>{GEOM}</body></worldbody></mujoco>"""
    with pytest.raises(ModelError, match=r"a floating joint takes no armature.*<freejoint/>"):
        load(text)
