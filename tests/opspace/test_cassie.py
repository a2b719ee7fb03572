"""Cassie and a gripper from MJCF beside MuJoCo: mobility, assembly, held accelerations, loop forces, and a second."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.convert import from_mujoco, to_mujoco
from bough.opspace import ConstrainedDynamics, ConstrainedInverseDynamics, Loops, OperationalSpace, closure_tasks
from bough.simulate import rollout
from loop_robots import cassie, cassie_home, gripper

mujoco = pytest.importorskip("mujoco")
DT = 1e-3
# MuJoCo holds loops softly: as stiffly as its step lets it
STIFF = (
    f'<option timestep="{DT}"><flag contact="disable" limit="disable"/></option>'
    f'<default><equality solref="{2 * DT} 1" solimp="0.9999 0.9999 0.001"/></default>'
)
PUSHED = {"hip-pitch": 4.0, "knee": -6.0, "foot": 0.25, "hip-roll": 1.0}


class Robot:
    """A model, its loops, and the same in MuJoCo."""

    def __init__(self, text):
        self.model, self.theirs = bough.load(text), mujoco.MjModel.from_xml_string(text)
        self.dynamics = bough.Dynamics(self.model, general=True)
        self.loops = Loops(self.model, dynamics=self.dynamics)
        self.space = OperationalSpace(self.model, closure_tasks(self.model), dynamics=self.dynamics, general=True)

    def closed(self, q, **how):
        return bough.close_loops(self.model, q, loops=self.loops, **how).q

    def still(self, q, v):
        """v without the part that would open the loops."""
        J = self.space.jacobian(q)
        return v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v)

    def held(self, qpos, qvel, force):
        """Accelerations and row forces from MuJoCo's M, bias and J, loops held exactly."""
        theirs, data = self.theirs, mujoco.MjData(self.theirs)

        def rows(moved):
            data.qpos[:], data.qvel[:] = qpos, qvel
            mujoco.mj_integratePos(theirs, data.qpos, qvel, moved)
            mujoco.mj_forward(theirs, data)
            return data.efc_J.reshape(data.nefc, theirs.nv).copy()

        h = 1e-5
        drift = (rows(h) - rows(-h)) @ qvel / (2 * h)
        J, n = rows(0.0), theirs.nv
        M = np.zeros((n, n))
        mujoco.mj_fullM(theirs, data, M) if mujoco.__version__ >= "3.3.5" else mujoco.mj_fullM(theirs, M, data.qM)
        K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
        found = np.linalg.lstsq(K, np.r_[force - data.qfrc_bias, -drift], rcond=1e-12)[0]
        return found[:n], found[n:]


@pytest.fixture(scope="module")
def walker():
    return Robot(cassie(STIFF))


@pytest.fixture(scope="module")
def stance(walker):
    """The published stance, whose loops are open by 1.5 mm, closed."""
    q = from_mujoco(walker.model, np.concatenate([np.atleast_1d(x) for x in cassie_home().values()]))
    assert 1e-3 < np.abs(walker.loops.gap(q)).max() < 2e-3
    return walker.closed(q)


def test_cassie_is_read_with_its_loops_and_springs(walker):
    model, theirs = walker.model, walker.theirs
    assert model.total_mass == pytest.approx(33.312)
    assert [c.kind for c in model.closures] == ["connect"] * 4
    assert walker.loops.gap(from_mujoco(model, theirs.qpos0)) == pytest.approx(0.0, abs=1e-12)
    springs = {j.name: model.stiffness[j.v.start] for j in model.joints if model.stiffness[j.v].any()}
    assert springs == {f"{s}-{n}": k for s in ("left", "right") for n, k in (("shin", 1500.0), ("heel-spring", 1250.0))}


def test_cassies_mobility_is_the_known_one(walker, stance):
    found = walker.loops.mobility(stance)
    # six of the pelvis; of each leg five motors, two leaf springs, and the rod about itself; plantar loops are planar
    assert found == (6 + 2 * 8, 10, 12, 2)
    data = mujoco.MjData(walker.theirs)
    data.qpos[:] = to_mujoco(walker.model, stance)
    mujoco.mj_forward(walker.theirs, data)
    assert data.efc_pos == pytest.approx(np.zeros(12), abs=1e-10)
    J = data.efc_J.reshape(12, walker.theirs.nv)
    assert np.linalg.matrix_rank(J, tol=1e-9) == found.rank


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cassies_accelerations_and_loop_forces_are_those_of_mujocos_matrices(walker, stance, seed):
    model, rng = walker.model, np.random.default_rng(seed)
    q = walker.closed(model.integrate(stance, 0.1 * rng.normal(size=model.nv)))
    v = walker.still(q, rng.normal(size=model.nv))
    tau = np.where(model.actuated, 10.0 * rng.normal(size=model.nv), 0.0)
    qpos, qvel = to_mujoco(model, q, v)
    qacc, force = walker.held(qpos, qvel, tau)
    found = ConstrainedDynamics(walker.space)(q, v, tau)
    expected = from_mujoco(model, qpos, qvel, qacc)[2]
    assert found.qdd == pytest.approx(expected, abs=2e-6 * np.abs(expected).max())
    assert found.residual < 1e-6
    # rows of both are the world's axes at the pin, from the second body to the first; least forces where redundant
    assert found.force == pytest.approx(force, abs=2e-5 * np.abs(force).max())
    back = ConstrainedInverseDynamics(walker.space)(q, v, found.qdd)
    assert back.residual < 1e-6 * np.abs(expected).max()
    assert ConstrainedDynamics(walker.space)(q, v, back.tau).qdd == pytest.approx(
        found.qdd, abs=1e-6 * np.abs(qacc).max()
    )


def test_a_second_of_cassie_is_mujocos(walker, stance):
    """Motors push hips, knees and feet while it falls: joints move by almost a radian, springs and rods with them."""
    model, theirs = walker.model, walker.theirs
    push = np.zeros(model.nv)
    for name, size in PUSHED.items():
        push[model.joint(f"left-{name}").v], push[model.joint(f"right-{name}").v] = size, -0.7 * size

    def torque(t):
        return np.sin(3 * np.pi * t) * push

    ours = rollout(model, stance, np.zeros(model.nv), duration=1.0, dt=DT, tau=lambda t, q, v: torque(t), every=200,
                   without=["limits"], dynamics=walker.dynamics)  # fmt: skip
    data = mujoco.MjData(theirs)
    data.qpos[:] = to_mujoco(model, stance)
    rods = np.r_[model.joint("left-achilles-rod").v, model.joint("right-achilles-rod").v]
    for k in range(1000):
        if k % 200 == 0:
            gap = np.abs(model.difference(ours.q[k // 200], from_mujoco(model, data.qpos)))
            gap[rods] = 0.0  # whose spin about themselves nothing but their inertia of 4e-6 kg m^2 holds
            assert gap.max() < 4e-4
        data.qfrc_applied[:] = torque(k * DT)
        mujoco.mj_step(theirs, data)
    assert np.abs(walker.loops.gap(ours.q[-1])).max() < 1e-9
    assert np.abs(model.difference(stance, ours.q[-1])[6:]).max() > 0.8


@pytest.fixture(scope="module")
def hand():
    return Robot(gripper())


@pytest.mark.parametrize("angle", [0.1, 0.4, 0.75])
def test_a_gripper_closes_as_mujocos_does(hand, angle):
    """Two four-bar fingers on one motor: the other driver follows it (mimic), and each finger is a loop."""
    model, theirs, rng = hand.model, hand.theirs, np.random.default_rng(0)
    assert [(c.follower, c.leader) for c in model.couplings] == [("right_driver", "left_driver")]
    q = model.neutral.copy()
    q[model.joint("left_driver").q] = angle
    q = hand.closed(q, hold=["left_driver"])
    # a finger is a five-bar linkage in a plane: driver and spring link; one driver is the other's
    assert hand.loops.mobility(q) == (3, 4, 6, 2)
    names = [theirs.joint(k).name for k in range(theirs.njnt)]
    of = [model.joint_names.index("left_driver" if n == "right_driver" else n) for n in names]
    v = hand.still(q, rng.normal(size=model.nv))
    tau = np.zeros(model.nv)
    tau[model.joint("left_driver").v] = 0.3
    force = np.zeros(theirs.nv)
    force[names.index("left_driver")] = 0.3
    qacc, rows = hand.held(q[of], v[of], force)
    found = ConstrainedDynamics(hand.space)(q, v, tau)
    assert found.qdd[of] == pytest.approx(qacc, abs=1e-6 * np.abs(qacc).max())
    assert found.force == pytest.approx(rows[:6], abs=1e-5 * np.abs(rows[:6]).max())


def test_a_gripper_springs_open_as_mujocos_does(hand):
    """Springs of 2.6 rad on links of grams: a joint moves by 1.8 rad in 0.04 s. Both engines are of first order."""
    model, dt = hand.model, 1e-4
    text = gripper().replace('<flag contact="disable"/>', '<flag contact="disable" limit="disable"/>')
    stiff = f'<default><equality solref="{2 * dt} 1" solimp="0.9999 0.9999 0.001"/></default>'
    theirs = mujoco.MjModel.from_xml_string(text.replace("<worldbody>", f"{stiff}<worldbody>"))
    theirs.opt.timestep = dt
    names = [theirs.joint(k).name for k in range(theirs.njnt)]
    of = [model.joint_names.index("left_driver" if n == "right_driver" else n) for n in names]
    start = hand.closed(model.neutral)
    ours = rollout(model, start, np.zeros(model.nv), duration=0.04, dt=dt, every=400, without=["limits"],
                   dynamics=hand.dynamics)  # fmt: skip
    data = mujoco.MjData(theirs)
    data.qpos[:] = start[of]
    for _ in range(400):
        mujoco.mj_step(theirs, data)
    assert np.abs(ours.q[-1] - start).max() > 1.5
    assert ours.q[-1][of] == pytest.approx(data.qpos, abs=1e-2)
