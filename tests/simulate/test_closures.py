"""Integrators of higher order with loops: their order, closed loops, stops and friction within them, beside MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import bough
from bough import close_loops
from bough.opspace import Loops
from bough.simulate import Contacts, rollout
from opspace.mechanisms import ROD, four_bar, rounded_four_bar


def pinned_chain(links=5, **law):
    """A chain whose end is pinned to the ground: it sags and swings with links - 2 freedoms."""
    builder = bough.Builder("pinned chain")
    up = "world"
    for k in range(links):
        place, rod = (0.2 * bool(k), 0, 0), {"mass": 1.0, "inertia": np.eye(3) * 0.004, "com": (0.1, 0, 0)}
        builder.add_body(f"link{k}", up, placement=place, axis=(0, 1, 0), **rod, **law)
        up = f"link{k}"
    builder.add_closure(up, "world", point=(0.2, 0, 0), other_point=(0.7, 0, 0), name="pin")
    return builder.build()


def start(model):
    guess = [0.6, -0.5, -1.5] if model.nv == 3 else [-0.6, 0.4, 0.3, 0.3, 0.3]
    q = close_loops(model, guess).q
    J = Loops(model).space.jacobian(q)
    v = np.random.default_rng(0).normal(size=model.nv) * 2.0
    return q, v - np.linalg.pinv(J) @ (J @ v)


@pytest.mark.parametrize("make", [four_bar, pinned_chain])
@pytest.mark.parametrize(("integrator", "order"), [("lie_midpoint", 2), ("runge_kutta_4", 4)])
def test_integrators_keep_their_order(make, integrator, order):
    model = make()
    q, v = start(model)
    options = {"duration": 0.16, "integrator": integrator}
    exact = rollout(model, q, v, duration=0.16, dt=5e-4, integrator="runge_kutta_4").q[-1]
    errors, drifts = [], []
    for dt in (8e-3, 4e-3):
        motion = rollout(model, q, v, dt=dt, **options)
        energy = motion.energy()
        errors.append(np.abs(motion.q[-1] - exact).max())
        drifts.append(np.abs(energy - energy[0]).max())
        assert np.abs(Loops(model).gap(motion.q[1:])).max() < 1e-11
        speeds = np.einsum("tij,tj->ti", Loops(model).space.jacobian(motion.q[1:]), motion.v[1:])
        assert np.abs(speeds).max() < 1e-9
    for coarse, fine in (errors, drifts):
        assert abs(np.log2(coarse / fine) - order) < 0.35


@pytest.mark.parametrize("integrator", ["lie_midpoint", "runge_kutta_4"])
def test_a_planar_loop_on_a_base_that_tumbles(integrator):
    """Within a step its rows drift across their plane, where no force of the loop can act: that is no contradiction."""
    builder = bough.Builder("tumbling four-bar")
    builder.add_body("base", joint="floating", mass=5.0, inertia=np.diag([0.2, 0.3, 0.4]))
    builder.add_body("crank", "base", com=(0.15, 0, 0), **ROD)
    builder.add_body("coupler", "crank", placement=(0.3, 0, 0), com=(0.45, 0, 0), **ROD)
    builder.add_body("rocker", "base", placement=(1.0, 0, 0), com=(0.3, 0, 0), **ROD)
    builder.add_closure("coupler", "rocker", point=(0.9, 0, 0), other_point=(0.6, 0, 0), name="pin")
    model = builder.build()
    q = close_loops(model, [*model.neutral[:7], 0.6, -0.5, -1.5], hold=["base"]).q
    J, v = Loops(model).space.jacobian(q), np.array([0.3, 0.0, 1.0, 6.0, 5.0, -4.0, 3.0, 0.0, 0.0])
    v -= np.linalg.pinv(J, rcond=1e-9) @ (J @ v)
    coarse, fine, exact = (
        rollout(model, q, v, duration=0.1, dt=dt, integrator=name).q[-1]
        for dt, name in ((4e-3, integrator), (2e-3, integrator), (2.5e-4, "runge_kutta_4"))
    )
    order = np.log2(np.abs(coarse - exact).max() / np.abs(fine - exact).max())
    assert abs(order - (2 if integrator == "lie_midpoint" else 4)) < 0.35


def test_energy_of_a_pinned_chain_at_a_millisecond():
    """What the first order loses of some joules, the fourth keeps to 1e-7."""
    model = pinned_chain()
    q, v = start(model)
    lost = {}
    for integrator in ("semi_implicit_euler", "runge_kutta_4"):
        energy = rollout(model, q, v, duration=0.2, dt=1e-3, integrator=integrator).energy()
        lost[integrator] = np.abs(energy - energy[0]).max()
    assert lost["runge_kutta_4"] < 1e-7 < 1e-3 < lost["semi_implicit_euler"]


def test_energy_drifts_no_more_than_in_mujoco():
    """By the plain step of both: MuJoCo's loops are soft, and its energy that of its own states."""
    mujoco = pytest.importorskip("mujoco")
    model = pinned_chain()
    q, v = start(model)
    inner = '<geom size="0.01" contype="0" conaffinity="0" mass="0"/>'
    text = ""
    for k in range(5):
        text += f'<body name="b{k}" pos="{0.2 * bool(k)} 0 0"><joint axis="0 1 0"/>{inner}'
        text += '<inertial pos="0.1 0 0" mass="1" diaginertia="0.004 0.004 0.004"/>'
    xml = f"""<mujoco><compiler angle="radian"/><option timestep="0.001"><flag energy="enable"/></option>
    <worldbody>{text}{"</body>" * 5}</worldbody>
    <equality><connect body1="b4" anchor="0.2 0 0" solref="0.002 1"/></equality></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(theirs)
    data.qpos[:] = q
    # the anchor in the world is where the tip is at qpos0: put it where ours is
    theirs.eq_data[0, 3:6] = [0.7, 0.0, 0.0]
    data.qvel[:] = v
    energies = []
    for _ in range(200):
        mujoco.mj_forward(theirs, data)
        energies.append(data.energy.sum())
        mujoco.mj_step(theirs, data)
    motion = rollout(model, q, v, duration=0.2, dt=1e-3)
    np.testing.assert_allclose(motion.q[-1], data.qpos, atol=1e-3)  # the same motion
    ours = motion.energy()
    assert np.abs(ours - ours[0]).max() < 1.2 * np.abs(np.array(energies) - energies[0]).max()


def test_damping_springs_and_torques_within_loops():
    """A motor at one joint of a four-bar: power in less what damping takes is the energy gained."""
    builder = bough.Builder("driven")
    law = {"damping": 0.3, "stiffness": 2.0, "rest": 0.2}
    builder.add_body("crank", com=(0.15, 0, 0), **ROD, **law)
    builder.add_body("coupler", "crank", placement=(0.3, 0, 0), com=(0.45, 0, 0), **ROD)
    builder.add_body("rocker", placement=(1.0, 0, 0), com=(0.3, 0, 0), **ROD)
    builder.add_closure("coupler", "rocker", point=(0.9, 0, 0), other_point=(0.6, 0, 0), name="pin")
    model = builder.build()
    q = close_loops(model, [0.6, -0.5, -1.5]).q
    push = np.array([4.0, 0.0, 0.0])
    motion = rollout(model, q, np.zeros(3), duration=0.4, dt=1e-3, integrator="runge_kutta_4", tau=lambda t, q, v: push)
    spring = lambda q: 0.5 * 2.0 * (q[..., 0] - 0.2) ** 2  # noqa: E731
    gained = motion.energy() + spring(motion.q)
    power = 4.0 * motion.v[:, 0] - 0.3 * motion.v[:, 0] ** 2
    work = np.trapezoid(power, motion.time)
    np.testing.assert_allclose(gained[-1] - gained[0], work, rtol=1e-4)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
def test_stops_and_friction_act_within_loops(integrator):
    """The crank falls to its limit and stays there, with the loop closed."""
    stop = {"lower": -1.0, "upper": 0.75}
    builder = bough.Builder("stopped")
    builder.add_body("crank", com=(0.15, 0, 0), **ROD, **stop)
    builder.add_body("coupler", "crank", placement=(0.3, 0, 0), com=(0.45, 0, 0), **ROD, friction=0.02)
    builder.add_body("rocker", placement=(1.0, 0, 0), com=(0.3, 0, 0), **ROD)
    builder.add_closure("coupler", "rocker", point=(0.9, 0, 0), other_point=(0.6, 0, 0), name="pin")
    model = builder.build()
    q = close_loops(model, [0.6, -0.5, -1.5], hold=["crank"]).q
    motion = rollout(model, q, np.zeros(3), duration=1.0, dt=1e-3, integrator=integrator)
    assert motion.q[:, 0].max() < 0.75 + 1e-2
    np.testing.assert_allclose(motion.q[-1, 0], 0.75, atol=1e-2)
    np.testing.assert_allclose(motion.v[-1], 0.0, atol=1e-6)
    assert np.abs(Loops(model).gap(motion.q)).max() < 1e-6
    assert np.diff(motion.energy())[5:].max() < 1e-4


def test_many_are_as_one_and_a_failed_row_stops_no_other():
    model = four_bar()
    q, _ = start(model)
    Q = np.stack([q, q, close_loops(model, [0.9, -0.5, -1.5]).q])
    V = np.zeros((3, 3))
    options = {"duration": 0.05, "dt": 1e-3, "integrator": "runge_kutta_4"}
    many = rollout(model, Q, V, **options)
    one = rollout(model, Q[2], V[2], **options)
    np.testing.assert_allclose(many.q[:, 2], one.q, atol=1e-9)
    torque = lambda t, q, v: np.array([[0.0] * 3, [1e308] * 3, [0.0] * 3])  # noqa: E731
    found = rollout(model, Q, V, tau=torque, failures="record", **options)
    assert found.ok.tolist() == [True, False, True]
    np.testing.assert_allclose(found.q[-1, [0, 2]], many.q[-1, [0, 2]], atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_loop_of_rounded_numbers_moves_as_if_it_closed(seed):
    """Six digits in a file: the gap that no motion closes (1e-7 m) neither moves nor brakes the mechanism."""
    found = []
    for model in (rounded_four_bar(seed), rounded_four_bar(seed, rounded=np.asarray)):
        q = close_loops(model, [0.6, -0.5, -1.2]).q
        found.append(rollout(model, q, np.zeros(3), duration=0.3, dt=2e-3, integrator="runge_kutta_4"))
        assert found[-1].drift()["energy"] < 2e-4
        assert Loops(model).openness(found[-1].q).max() < 1e-4
    np.testing.assert_allclose(found[0].q, found[1].q, atol=5e-3 * np.abs(found[1].q - q).max())


def biped(seed=0):
    """A biped with mimic joints and knees by four-bars, as files have it: axes and places askew, to six digits."""
    rng, parts, equal = np.random.default_rng(seed), {}, []

    def num(x):
        return " ".join(f"{a:.6g}" for a in np.ravel(x))

    def body(name, up, place, end, mass, inner=""):
        """Frames are turned at random; `up`, `place` and `end` are in axes in which joints turn about y."""
        R = Rotation.random(random_state=rng)
        parts[name] = R
        turn, axis, tip = (up.inv() * R).as_quat()[[3, 0, 1, 2]], R.inv().apply([0, 1, 0]), R.inv().apply(end)
        return (
            f'<body name="{name}" pos="{num(up.inv().apply(place))}" quat="{num(turn)}"><joint name="{name}" '
            f'axis="{num(axis)}" damping="0.02" armature="0.001"/><geom type="capsule" size="0.008" '
            f'fromto="0 0 0 {num(tip)}" mass="{mass}"/>{inner}</body>'
        )

    legs, still = [], Rotation.identity()
    rod, knee = np.array([0.0113173, 0.0, -0.0132913]), np.array([0.0, 0.0, -0.08])
    for side, y in (("left", 0.04), ("right", -0.04)):
        hip = Rotation.from_rotvec(0.3 * rng.normal(size=3))
        # the thigh is written after its own frame is known, as the shank is placed in it
        state = rng.bit_generator.state
        body(f"{side}_thigh", still, (0, 0, 0), knee, 0.0871234)
        thigh = parts[f"{side}_thigh"]
        shank = body(f"{side}_shank", thigh, knee, (0, 0, -0.1), 0.0712345)
        after, rng.bit_generator.state = rng.bit_generator.state, state
        upper = body(f"{side}_thigh", still, (0, 0, 0), knee, 0.0871234, shank)
        rng.bit_generator.state = after
        bar = body(f"{side}_rod", still, rod, knee, 0.0312345)
        gear = body(f"{side}_gear", still, (0, 0.02, 0.02), (0.02, 0, 0), 0.0112345)
        legs.append(
            f'<body name="{side}_hip" pos="0.00123457 {y} -0.05" quat="{num(hip.as_quat()[[3, 0, 1, 2]])}">'
            f'<joint name="{side}_hip" axis="1 0 0" range="-1 1" damping="0.05" armature="0.002"/>'
            f'<geom size="0.02" mass="0.123457"/>{upper}{bar}{gear}</body>'
        )
        anchor = parts[f"{side}_rod"].inv().apply(knee)
        equal.append(f'<connect name="{side}_knee" body1="{side}_rod" body2="{side}_shank" anchor="{num(anchor)}"/>')
        equal.append(f'<joint joint1="{side}_gear" joint2="{side}_hip" polycoef="0 -1.16667 0 0 0"/>')
    torso = f'<body name="torso" pos="0 0 0.3"><freejoint/><geom size="0.05" mass="1.23457"/>{"".join(legs)}</body>'
    return (
        f'<mujoco model="biped"><compiler angle="radian"/><worldbody>{torso}</worldbody>'
        f"<equality>{''.join(equal)}</equality></mujoco>"
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_biped_of_six_digits_rolls_out(seed, tmp_path):
    """Loops that close nowhere exactly once they move, gears and a floating base: by every integrator and on feet."""
    path = tmp_path / "biped.xml"
    path.write_text(biped(seed))
    model = bough.load(path)
    closed = close_loops(model, model.neutral)
    v, gap = np.zeros(model.nv), Loops(model).gap
    v[3:6] = [0.5, 1.0, 0.0]
    how = {"duration": 0.1, "servo": (0.2, 0.005), "target": np.full(model.nv, 0.1)}
    ends = [
        rollout(model, closed.q, v, dt=dt, integrator=name, **how).q[-1]
        for name, dt in (("semi_implicit_euler", 2.5e-4), ("lie_midpoint", 1e-3), ("runge_kutta_4", 1e-3))
    ]
    for end in ends:
        assert 1e-12 < np.abs(gap(end)).max() < 1e-7  # it closes nowhere, and is as good as closed
        np.testing.assert_allclose(end[7:], ends[-1][7:], atol=3e-4)
        assert np.abs(end[7:] - closed.q[7:]).max() > 0.01
    on_feet = rollout(
        model,
        closed.q,
        0.0 * v,
        duration=0.3,
        dt=1e-3,
        servo=(5.0, 0.1),
        contacts=Contacts(["left_shank", "right_shank"]),
    )
    assert np.abs(gap(on_feet.q)).max() < 1e-7
    assert on_feet.extra["contact_force"][..., 2].max() > 1.0
