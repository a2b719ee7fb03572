"""MJCF against MuJoCo: every joint type, several joints on a body, anchors, references, inertial frames, armature."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from bough import convert, doctor, load
from bough.dynamics.dynamics import Dynamics
from bough.errors import FileFormatError, MissingExtraError

mujoco = pytest.importorskip("mujoco")

BOX = '<geom type="box" size="{}" pos="{}" euler="10 20 30" density="800"/>'
EVERYTHING = f"""
<mujoco model="everything">
  <option gravity="0.3 -0.2 -9.7"/>
  <worldbody>
    <body name="base" pos="1 2 3" euler="20 0 30">
      <freejoint name="root"/>{BOX.format("0.1 0.2 0.3", "0 0.05 0")}
      <site name="imu" pos="0.1 0 0.2" euler="0 90 0"/>
      <body name="mount" pos="0 0 0.3" euler="0 45 0">{BOX.format("0.05 0.05 0.1", "0 0 0")}
        <body name="arm" pos="0.1 0 0" euler="30 20 10">
          <joint name="yaw" axis="0 0 1" pos="0.1 -0.2 0.3" armature="0.3" damping="0.7" range="-90 45"/>
          <joint name="out" type="slide" axis="1 2 0.5" pos="0.2 0 0" ref="0.4"/>
          <joint name="roll" axis="1 1 0" pos="-0.1 0.1 0" ref="25"/>
          {BOX.format("0.1 0.05 0.05", "0.2 0 0")}
          <body name="hand" pos="0.5 0 0">
            <joint name="wrist" type="ball" pos="0 0 0.1" armature="0.02"/>{BOX.format("0.1 0.1 0.02", "0.1 0 0")}
            <body pos="0.1 0.2 0">
              <joint type="slide" axis="0 0 1"/>{BOX.format("0.02 0.03 0.1", "0 0 0")}
              <site name="hand"/>
            </body>
          </body>
        </body>
      </body>
    </body>
    <body name="ball" pos="0 5 0"><joint type="ball"/>{BOX.format("0.1 0.2 0.1", "0.3 0 0")}</body>
    <body name="loose" pos="0 0 9"><freejoint/>{BOX.format("0.1 0.2 0.1", "0.3 0 0")}</body>
  </worldbody>
  <equality><joint joint1="out" joint2="yaw"/></equality>
  <tendon><fixed><joint joint="yaw" coef="1"/></fixed></tendon>
  <actuator><motor joint="yaw"/></actuator>
</mujoco>
"""


@pytest.fixture(scope="module")
def pair():
    return load(EVERYTHING, mimic="independent"), mujoco.MjModel.from_xml_string(EVERYTHING)


def state(model, reference, seed=0):
    """A random state in both layouts, with MuJoCo's data at it."""
    rng = np.random.default_rng(seed)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    data = mujoco.MjData(reference)
    data.qpos, data.qvel = convert.to_mujoco(model, q, v)
    mujoco.mj_forward(reference, data)
    return q, v, data


def full_mass_matrix(reference, data):
    M = np.zeros((reference.nv, reference.nv))
    try:
        mujoco.mj_fullM(reference, data, M)
    except TypeError:  # before MuJoCo 4
        mujoco.mj_fullM(reference, M, data.qM)
    return M


def test_layout(pair) -> None:
    model, reference = pair
    assert (model.nq, model.nv) == (reference.nq, reference.nv)
    assert model.joint_names[:5] == ("root", "yaw", "out", "roll", "wrist")
    np.testing.assert_allclose(model.mechanism.gravity, [0.3, -0.2, -9.7])
    assert model.limits.lower[6:8].tolist() == [-np.pi / 2, -np.inf]
    assert model.damping[6] == 0.7
    assert model.notes == (
        "dropped the gain and dynamics of 1 actuator",
        "no actuator drives 'root', 'out', 'roll', 'wrist', 'joint5' and 2 more",
        "dropped 1 tendons",
        "dropped 7 contact geoms",
        "Dynamics ignores damping of 1 joint; simulate uses it",
        "Dynamics ignores the limits of 1 joint; simulate and control use them",
    )


@pytest.mark.parametrize("seed", range(5))
def test_mass_matrix_and_bias(pair, seed: int) -> None:
    """M of MuJoCo, and its bias force, belong to v of MuJoCo: v_mujoco = T v."""
    model, reference = pair
    q, v, data = state(model, reference, seed)
    M = full_mass_matrix(reference, data)
    T = np.array([convert.to_mujoco(model, q, column)[1] for column in np.eye(model.nv)]).T
    dynamics = Dynamics(model, general=True)
    np.testing.assert_allclose(dynamics.mass_matrix(q), T.T @ M @ T, rtol=0, atol=1e-10 * np.abs(M).max())
    still = convert.to_mujoco(model, q, v, np.zeros(model.nv))[2]  # what our zero acceleration is for MuJoCo
    bias = T.T @ (data.qfrc_bias + M @ still)
    np.testing.assert_allclose(dynamics.bias_force(q, v), bias, rtol=0, atol=1e-10 * np.abs(bias).max())


def test_frames(pair) -> None:
    model, reference = pair
    q, _, data = state(model, reference)
    dynamics = Dynamics(model, general=True)
    for name in ("base", "mount", "arm", "hand", "ball", "loose"):
        T = dynamics.placement(q, name)
        np.testing.assert_allclose(T[:3, 3], data.body(name).xpos, atol=1e-12)
        np.testing.assert_allclose(T[:3, :3].ravel(), data.body(name).xmat, atol=1e-12)
    for ours, theirs in (("imu", "imu"), ("site/hand", "hand")):  # the second is called like a body
        T = dynamics.placement(q, ours)
        np.testing.assert_allclose(T[:3, 3], data.site(theirs).xpos, atol=1e-12)
        np.testing.assert_allclose(T[:3, :3].ravel(), data.site(theirs).xmat, atol=1e-12)


def test_acceleration(pair) -> None:
    """Forward dynamics, converted, is MuJoCo's acceleration without constraints and passive forces."""
    model, reference = pair
    q, v, data = state(model, reference)
    reference.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    passive = model.damping * v
    mujoco.mj_forward(reference, data)
    qdd = Dynamics(model, general=True).forward_dynamics(q, v, -passive)
    _, _, a = convert.to_mujoco(model, q, v, qdd)
    np.testing.assert_allclose(a, data.qacc, rtol=0, atol=1e-9 * np.abs(data.qacc).max())


def test_files_and_suffixes(tmp_path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(EVERYTHING)
    assert load(path).hash == load(EVERYTHING).hash


def test_refused_by_mujoco(tmp_path) -> None:
    path = tmp_path / "bad.xml"
    path.write_text('<mujoco><worldbody><body><joint type="bendy"/></body></worldbody></mujoco>')
    with pytest.raises(FileFormatError, match=r"bad\.xml is refused by MuJoCo: .*bendy"):
        load(path)
    assert doctor(path)[0].severity == "error"


def test_hint_when_mujoco_is_missing(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"bough\[mujoco\]"):
        load(EVERYTHING)


def test_doctor_on_mjcf() -> None:
    assert {f.severity for f in doctor(EVERYTHING)} == {"note"}
