"""`bough simulate`."""

import json

import numpy as np
import pytest

import bough
from bough.opspace.loops import Loops
from bough.simulate import Recording


def test_a_motion_is_recorded_whole(run):
    run("simulate", "zoo:arm:2", "--duration", 0.02, "--dt", 0.001, "--every", 5, "--seed", 3, "--record", "run.npz")
    motion = Recording.load("run.npz", bough.zoo.arm(2))
    assert len(motion.time) == 5
    start = bough.zoo.arm(2).random_configuration(np.random.default_rng(3))
    np.testing.assert_array_equal(motion.q[0], start)


def test_a_force_on_a_frame_does_its_work(run):
    """Without gravity's own change, energy grows by the force times the way of the frame."""
    model = bough.zoo.arm(3)
    words = ("simulate", "zoo:arm:3", "--duration", 0.1, "--dt", 1e-4, "--integrator", "lie_midpoint")
    found = json.loads(run(*words, "--force", "hand:3,-1,2", "--json"))
    dynamics = bough.Dynamics(model)
    way = dynamics.placement(np.array(found["q"]), "hand")[:3, 3] - dynamics.placement(model.neutral, "hand")[:3, 3]
    work = found["energy"]["end"] - found["energy"]["start"]
    np.testing.assert_allclose(work, way @ (3, -1, 2), rtol=2e-3)


def test_pd_holds_and_a_moment_turns(run):
    words = ("simulate", "zoo:arm", "--duration", 0.2)
    held = json.loads(run(*words, "--controller", "pd", "--kp", 1000, "--json"))
    assert np.abs(held["q"]).max() < 0.05 < np.abs(json.loads(run(*words, "--json"))["q"]).max()
    turned = json.loads(run("simulate", "zoo:arm:2", "--force", "hand:0,0,0,1,1,1", "--duration", 0.01, "--json"))
    free = json.loads(run("simulate", "zoo:arm:2", "--duration", 0.01, "--json"))
    assert turned["q"] != free["q"]


def test_the_ground_carries_what_touches_it(run, tmp_path):
    solid = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "box.urdf").write_text(f'<robot name="box"><link name="box">{solid}</link></robot>')
    corners = [f"box:{x},{y},-0.1" for x in (-1, 1) for y in (-1, 1)]
    words = [word for corner in corners for word in ("--contact", corner)]
    found = json.loads(run("simulate", "box.urdf", "-f", "--height", 0.1, "--duration", 0.05, *words, "--json"))
    assert found["q"][2] == pytest.approx(0.1, abs=1e-6)
    pushes = np.array([found["contact_force"][corner] for corner in corners])
    np.testing.assert_allclose(pushes.sum(axis=0), [0, 0, 2 * 9.81], atol=1e-6)
    assert "the ground pushes with" in run("simulate", "box.urdf", "-f", "--contact", "box", "--duration", 0.01)


def test_loops_are_closed_and_held(run, tmp_path):
    pytest.importorskip("mujoco")
    bar = '<geom type="capsule" fromto="0 0 0 {} 0 0" size="0.02"/>'
    (tmp_path / "four.xml").write_text(f"""<mujoco model="four"><worldbody>
      <body name="a"><joint name="ja" axis="0 1 0" ref="0"/>{bar.format(0.3)}
        <body name="b" pos="0.3 0 0" euler="0 -90 0"><joint name="jb" axis="0 1 0"/>{bar.format(0.3)}</body></body>
      <body name="c" pos="0 0 0.3"><joint name="jc" axis="0 1 0"/>{bar.format(0.31)}</body></worldbody>
      <equality><connect body1="b" body2="c" anchor="0.3 0 0"/></equality></mujoco>""")
    found = json.loads(run("simulate", "four.xml", "--duration", 0.05, "--json"))
    model = bough.load("four.xml")
    assert model.closures
    assert np.abs(Loops(model).gap(np.array(found["q"]))).max() < 1e-5
    free = json.loads(run("simulate", "four.xml", "--duration", 0.05, "--without", "closures", "--json"))
    assert free["q"] != found["q"]


def test_refusals(refused):
    assert "floating base" in refused("simulate", "zoo:arm", "--height", 1)
    assert "did you mean 'hand'" in refused("simulate", "zoo:arm", "--contact", "hans")
    assert "friction" in refused("simulate", "zoo:arm", "--without", "fricton")
