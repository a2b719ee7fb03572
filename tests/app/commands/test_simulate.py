"""`bough simulate`."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import bough
from bough.app import cli
from bough.app.commands.simulate import start
from bough.opspace.loops import Loops
from bough.simulate import ContactPoint, Contacts, Plane, Recording

LIMIT = '<limit lower="-1" upper="1" effort="999" velocity="99"/>'


def solid(at, mass, inertia):
    """The inertial element of a URDF."""
    moments = " ".join(
        f'{name}="{inertia * (name[1] == name[2])}"' for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    )
    return f'<inertial><origin xyz="{at}"/><mass value="{mass}"/><inertia {moments}/></inertial>'


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


@pytest.mark.parametrize("scheme", [None, "runge_kutta_4"])
def test_pd_holds_any_robot_by_gains_that_suit_its_weight(run, tmp_path, scheme):
    """Hands of grams on a body of kilograms, falling; slides and turns that carry their weight."""
    words = ("--controller", "pd", "--duration", 0.1, "--dt", 0.002, *(("--integrator", scheme) if scheme else ()))
    fell = json.loads(run("simulate", "zoo:humanoid", "--json", *words))
    assert fell["q"][2] == pytest.approx(-0.5 * 9.81 * 0.1**2, rel=0.1)
    assert np.abs(fell["q"][7:]).max() < 1e-6
    (tmp_path / "crane.urdf").write_text(f"""<robot name="crane"><link name="base"/>
      <link name="mast">{solid("0 0 0", 5, 0.1)}</link><link name="boom">{solid("0.5 0 0", 1, 0.1)}</link>
      <joint name="up" type="prismatic"><parent link="base"/><child link="mast"/><axis xyz="0 0 1"/>{LIMIT}</joint>
      <joint name="turn" type="revolute"><parent link="mast"/><child link="boom"/><axis xyz="0 1 0"/>{LIMIT}</joint>
      </robot>""")
    held = json.loads(run("simulate", "crane.urdf", "--json", *words))
    assert 0.0 < np.abs(held["q"]).max() < 0.05


def test_pd_lets_a_robot_stand_whose_feet_are_light(run, tmp_path):
    """Its ankle turns a foot of 10 g, or all of it: what the first bears by explicit steps lets the second fall."""
    (tmp_path / "stilt.urdf").write_text(f"""<robot name="stilt"><link name="body">{solid("0 0 0.5", 30, 2)}</link>
      <link name="foot">{solid("0 0 0", 0.01, 1e-5)}</link>
      <joint name="ankle" type="revolute"><parent link="body"/><child link="foot"/>
      <axis xyz="0 1 0"/>{LIMIT}</joint></robot>""")
    words = [word for x in (-0.1, 0.15) for y in (-0.1, 0.1) for word in ("--contact", f"foot:{x},{y},0")]
    found = json.loads(run("simulate", "stilt.urdf", "-f", "--controller", "pd", "--dt", 0.002, *words, "--json"))
    assert abs(found["q"][7]) < 1e-3
    assert sum(force[2] for force in found["contact_force"].values()) == pytest.approx(30.01 * 9.81, rel=1e-3)


def test_the_forces_of_pd_are_recorded_as_they_act(run):
    """Beside those of the equations of motion, which hold to the length of a step, soon after the start."""
    run(
        "simulate",
        "zoo:arm:3",
        "--seed",
        2,
        "--controller",
        "pd",
        "--duration",
        0.1,
        "--dt",
        1e-4,
        "--record",
        "pd.npz",
    )
    model = bough.zoo.arm(3)
    motion = Recording.load("pd.npz", model)
    qdd = np.gradient(motion.v, motion.time, axis=0)
    tau = bough.Dynamics(model).inverse_dynamics(motion.q, motion.v, qdd)
    np.testing.assert_allclose(motion.tau[50:-2], tau[50:-2], atol=2e-3 * np.abs(tau).max())


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


def test_a_robot_in_the_ground_starts_on_it(run):
    """Published robots have their root at the origin, and their feet below it."""
    feet = [word for foot in ("lf_foot", "rf_foot", "lh_foot", "rh_foot") for word in ("--contact", foot)]
    dog, options = bough.zoo.quadruped(), ("--duration", 0.01, "--record", "run.npz")
    run("simulate", "zoo:quadruped", *feet, "--ground", 3.0, *options)
    q = Recording.load("run.npz", dog).q[0]
    height = bough.Dynamics(dog).placements(q)[[dog.frame(foot) for foot in feet[1::2]], 2, 3]
    np.testing.assert_allclose(height.min(), 3.0, atol=1e-12)
    for more, expected in ((("--ground", -3.0), dog.rest_configuration[2]), (("--height", 0.1), 0.1)):
        run("simulate", "zoo:quadruped", *feet, *more, *options)
        assert Recording.load("run.npz", dog).q[0, 2] == expected


def test_every_floating_robot_is_lifted_by_its_own_contacts():
    solid, builder = {"mass": 1.0, "inertia": np.eye(3)}, bough.Builder("several")
    builder.add_body("arm", "world", "revolute", (0, 0, -0.5), axis=(0, 1, 0), **solid)
    builder.add_body("ball", "world", "floating", **solid)
    builder.add_body("dog", "world", "floating", np.eye(4)[[0, 2, 1, 3]] * [[1], [-1], [1], [1]], **solid)
    builder.add_body("leg", "dog", "revolute", (0, -0.4, 0), axis=(1, 0, 0), **solid)
    model = builder.build()
    dyn = bough.Dynamics(model, general=True)
    for frames in (["leg"], ["ball"], ["arm", "leg"], ["leg", "ball"]):
        q = start(model, None, None, Contacts([ContactPoint(frame, radius=0.1) for frame in frames], Plane()))
        for frame in frames:
            assert dyn.placement(q, frame)[2, 3] == pytest.approx(-0.5 if frame == "arm" else 0.1)
        np.testing.assert_array_equal(dyn.placement(q, "ball")[:2, 3], 0.0)


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
    crossed = (tmp_path / "four.xml").read_text()
    for name, limits in (("ja", "10 12"), ("jc", "-12 -10")):
        crossed = crossed.replace(f'name="{name}"', f'name="{name}" limited="true" range="{limits}"')
    (tmp_path / "crossed.xml").write_text(crossed)
    words = ["simulate", "crossed.xml", "--duration", "0.01"]
    said = CliRunner().invoke(cli.app, words, catch_exceptions=False).stderr
    assert "of four starts outside its limits, to close the loops" in said


def test_refusals(refused):
    assert "floating base" in refused("simulate", "zoo:arm", "--height", 1)
    assert "did you mean 'hand'" in refused("simulate", "zoo:arm", "--contact", "hans")
    assert "friction" in refused("simulate", "zoo:arm", "--without", "fricton")


def test_a_fall_is_remarked_on_and_a_start_is_within_limits(run, tmp_path):
    def remarks(source):
        return CliRunner().invoke(cli.app, ["simulate", source, "--duration", "0.01"], catch_exceptions=False).stderr

    assert "nothing stops the fall of humanoid" in remarks("zoo:humanoid")
    assert not remarks("zoo:arm:2")
    limit = '<limit lower="0.5" upper="1" effort="9" velocity="9"/>'
    (tmp_path / "bent.urdf").write_text(f"""<robot name="bent"><link name="base"/>
      <link name="arm">{solid("0 0 0.5", 1, 0.1)}</link>
      <joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/>{limit}</joint>
      </robot>""")
    started = json.loads(run("simulate", tmp_path / "bent.urdf", "--duration", 0.001, "--json"))
    assert 0.5 <= started["q"][0] < 0.51
    standing = json.loads(run("simulate", "zoo:quadruped", "--duration", 0.001, "--height", 1, "--json"))
    np.testing.assert_allclose(standing["q"][7:], bough.zoo.quadruped().rest_configuration[7:], atol=1e-4)


def test_an_unknown_integrator_is_refused_with_the_nearest(refused):
    said = refused("simulate", "zoo:arm:2", "--duration", 0.01, "--integrator", "runge_kutta")
    assert "there is no integrator 'runge_kutta'; did you mean 'runge_kutta_4'?" in said
