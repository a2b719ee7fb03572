"""A leg like Cassie's, an achilles rod on a ball joint and a plantar rod: two loops, beside MuJoCo's matrices."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.opspace import ConstrainedDynamics, ConstrainedInverseDynamics, Loops, OperationalSpace, closure_tasks

mujoco = pytest.importorskip("mujoco")
LEG = """<mujoco><compiler angle="radian"/><option><flag contact="disable" limit="disable"/></option><worldbody>
<body name="thigh" pos="0 0 1"><joint name="hip" axis="0 1 0"/><geom type="capsule" size="0.03" mass="4"
 fromto="0 0 0 0 0 -0.35"/>
 <body name="rod" pos="0 0.02 -0.05"><joint name="rod" type="ball"/><geom type="capsule" size="0.008" mass="0.2"
  fromto="0 0 0 0.1 0.01 -0.49"/></body>
 <body name="shin" pos="0 0 -0.35"><joint name="knee" axis="0 1 0"/><geom type="capsule" size="0.02" mass="1"
  fromto="0 0 0 0.1 0 -0.1"/>
  <body name="tarsus" pos="0.1 0 -0.1"><joint name="ankle" axis="0 1 0"/><geom type="capsule" size="0.02" mass="0.8"
   fromto="0 0 0 -0.05 0 -0.4"/>
   <body name="crank" pos="-0.01 0 -0.06"><joint name="crank" axis="0 1 0"/><geom type="capsule" size="0.01" mass="0.1"
    fromto="0 0 0 0.05 0 0"/>
    <body name="plantar" pos="0.05 0 0"><joint name="plantar" axis="0 1 0"/><geom type="capsule" size="0.006" mass="0.1"
     fromto="0 0 0 -0.04 0 -0.34"/></body></body>
   <body name="foot" pos="-0.05 0 -0.4"><joint name="toe" axis="0 1 0"/><geom type="capsule" size="0.02" mass="0.3"
    fromto="-0.05 0 0 0.1 0 0"/></body></body></body></body></worldbody>
<equality><connect name="achilles" body1="rod" body2="tarsus" anchor="0.1 0.01 -0.49"/>
<connect name="plantar" body1="plantar" body2="foot" anchor="-0.04 0 -0.34"/></equality></mujoco>"""


@pytest.fixture(scope="module")
def leg():
    model = bough.load(LEG)
    space = OperationalSpace(model, closure_tasks(model), general=True)
    return model, space, mujoco.MjModel.from_xml_string(LEG)


def theirs_at(theirs, model, q):
    data = mujoco.MjData(theirs)
    for joint in model.joints:
        at = theirs.jnt_qposadr[mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, joint.name)]
        x = q[joint.q]
        data.qpos[at : at + len(x)] = [x[3], *x[:3]] if joint.type == "spherical" else x
    mujoco.mj_forward(theirs, data)
    return data


def order(theirs, model):
    """Where each freedom of ours is in MuJoCo's v."""
    found = np.empty(model.nv, int)
    for joint in model.joints:
        at = theirs.jnt_dofadr[mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, joint.name)]
        found[joint.v] = at + np.arange(joint.v.stop - joint.v.start)
    return found


def closed(model, angle, toe=0.2):
    q = model.neutral.copy()
    q[model.joint("hip").q], q[model.joint("knee").q], q[model.joint("crank").q] = 0.2, angle, toe
    return bough.close_loops(model, q, hold=["hip", "knee", "crank"]).q


def test_two_loops_leave_the_freedoms_that_cassie_has(leg):
    model, space, theirs = leg
    q = closed(model, 0.1)
    found = Loops(model, dynamics=space.dynamics).mobility(q)
    # hip, knee and crank, and the rod about its own axis; the plantar loop is redundant across its plane
    assert (found.freedoms, found.redundant) == (4, 1)
    data = theirs_at(theirs, model, q)
    np.testing.assert_allclose(data.efc_pos[:6], 0, atol=1e-9)


@pytest.mark.parametrize("angle", [0.02, 0.08, 0.15])
def test_accelerations_and_torques_are_those_of_mujocos_matrices(leg, angle):
    model, space, theirs = leg
    q, rest = closed(model, angle), np.zeros(model.nv)
    data, at = theirs_at(theirs, model, q), order(theirs, model)
    M = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, M) if mujoco.__version__ >= "3.3.5" else mujoco.mj_fullM(theirs, M, data.qM)
    J = np.zeros((data.nefc, theirs.nv))
    J[:] = data.efc_J.reshape(data.nefc, theirs.nv) if not mujoco.mj_isSparse(theirs) else np.nan
    tau = np.random.default_rng(0).normal(size=model.nv) * (np.isin(np.arange(model.nv), model.joint("knee").v))
    pushed = np.zeros(theirs.nv)
    pushed[at] = tau
    n, m = theirs.nv, len(J)
    K = np.block([[M, J.T], [J, np.zeros((m, m))]])
    expected = np.linalg.lstsq(K, np.concatenate([pushed - data.qfrc_bias, np.zeros(m)]), rcond=1e-12)[0][:n][at]
    found = ConstrainedDynamics(space)(q, rest, tau)
    np.testing.assert_allclose(found.qdd, expected, atol=1e-5 * np.abs(expected).max())
    assert found.residual < 1e-6
    back = ConstrainedInverseDynamics(space)(q, rest, found.qdd)
    np.testing.assert_allclose(ConstrainedDynamics(space)(q, rest, back.tau).qdd, found.qdd, atol=1e-4)
