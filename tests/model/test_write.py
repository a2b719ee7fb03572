"""Models as files: what is written is read back as the same mechanism, by Bough and by other engines."""

from importlib.metadata import files

import numpy as np
import pytest

import bough
from bough.errors import ModelError

ROBOTS = {file.stem: str(file.locate()) for file in files("example-robot-data") or [] if file.suffix == ".urdf"}
NAMES = ["g1_29dof_rev_1_0", "panda", "tiago_dual", "talos_full_v2", "allegro_right_hand", "solo12"]


def models():
    """Of files with mimics and welds, of the zoo, and one of the builder with everything that files can hold."""
    for name in NAMES:
        if name in ROBOTS:
            yield pytest.param(lambda name=name: bough.load(ROBOTS[name], floating_base=name != "panda"), id=name)
    for name in ("humanoid", "asimo", "quadruped", "tree1", "cable", "millipede"):
        yield pytest.param(lambda name=name: bough.load(f"zoo:{name}" + "?legs=4" * (name == "millipede")), id=name)
    yield pytest.param(everything, id="everything")


def everything(planar=True, loop=True):
    b = bough.Builder("every <thing> & more", gravity=(0.0, 0.5, -3.0))
    solid = {"mass": 1.3, "com": (0.1, -0.2, 0.05), "inertia": np.diag([0.02, 0.03, 0.04])}
    tilt = bough.spatial.rpy_matrix(np.array([0.3, -np.pi / 2, 0.9]))
    b.add_body(
        "a",
        joint="revolute",
        axis=(1, 2, 3),
        placement=(tilt, (0.1, 0.2, 0.3)),
        lower=-1,
        upper=2,
        effort=5,
        damping=0.1,
        joint_name="a_joint",
        **solid,
    )
    b.add_body("b", "a", joint="prismatic", axis=(0, 1, 1), lower=-0.1, friction=0.2, **solid)
    b.add_body("c", "b", joint="continuous", axis=(0, -1, 0), velocity=3.0, joint_name="c_joint", **solid)
    b.add_body(
        "d",
        "c",
        joint="revolute",
        axis=(1, 0, 0.5),
        mimic=("a_joint", -0.7, 0.4),
        joint_name="d_joint",
        placement=(0, 0, 0.3),
        **solid,
    )
    b.add_body(
        "e", "d", joint="prismatic", axis=(1, 1, 0), mimic=("c_joint", 0.2, -0.1), placement=(0, 0.1, 0.3), **solid
    )
    b.add_body("f", "e", joint="fixed", placement=(tilt, (0.0, 0.1, 0.0)), **solid)
    if planar:
        b.add_body("g", "f", joint="planar", axis=(0.2, 0.1, 1.0), placement=(0, 0, 0.2), **solid)
    b.add_frame("tool", "f", (0.3, 0.0, 0.1))
    b.add_frame("post", "world", (0.5, 0.0, 0.1))
    if loop:
        b.add_closure("tool", "post", "connect", name="loop")
    return b.build()


def same(model, other, tol=1e-9):
    """The same joints by name, frames, inertias and forces at random states."""
    assert sorted(model.joint_names) == sorted(other.joint_names)
    assert {*model.frame_names} <= {*other.frame_names}
    rng = np.random.default_rng(0)
    one, two = bough.Dynamics(model), bough.Dynamics(other)
    for _ in range(3):
        q, v, a = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
        places = {joint.name: (joint.q, joint.v) for joint in other.joints}
        there, rate, rise = other.neutral.copy(), np.zeros(other.nv), np.zeros(other.nv)
        for joint in model.joints:
            there[places[joint.name][0]] = q[joint.q]
            rate[places[joint.name][1]], rise[places[joint.name][1]] = v[joint.v], a[joint.v]
        tau, found = one.inverse_dynamics(q, v, a), two.inverse_dynamics(there, rate, rise)
        for joint in model.joints:
            assert found[places[joint.name][1]] == pytest.approx(tau[joint.v], abs=tol * np.abs(tau).max())
        for frame in (model.frame_names[-1], model.frame_names[len(model.frame_names) // 2]):
            assert two.placement(there, frame) == pytest.approx(one.placement(q, frame), abs=1e-9)


@pytest.mark.parametrize("make", [*models()])
def test_urdf_is_read_back(make, tmp_path):
    model = make()
    text = model.to_urdf(tmp_path / "robot.urdf")
    read = bough.load(tmp_path / "robot.urdf", gravity=model.gravity.tolist())
    assert bough.load(text, gravity=model.gravity.tolist()) == read
    assert read.name == model.name
    rotors = (
        model.armature.any() and f"no word for the armature of {model.dof_names[np.flatnonzero(model.armature)[0]]}"
    )
    assert not rotors or rotors in text
    if not rotors:
        same(model, read)
    limits = {joint.name: [column[joint.v] for column in read.limits] for joint in read.joints}
    for joint in model.joints:
        for column, found in zip(model.limits, limits[joint.name], strict=True):
            unlimited = np.where(np.isinf(column[joint.v]), np.abs(found) > 1e300, found == column[joint.v])
            assert unlimited.all()
    assert [c.kind for c in read.closures] == [c.kind for c in model.closures]
    assert [(c.follower, c.leader) for c in read.couplings] == [(c.follower, c.leader) for c in model.couplings]
    assert [[c.ratio, c.offset] for c in read.couplings] == [
        pytest.approx([c.ratio, c.offset]) for c in model.couplings
    ]


@pytest.mark.parametrize("make", [m for m in models() if m.id not in ("everything", "cable")])
def test_pinocchio_reads_the_urdf(make):
    pin = pytest.importorskip("pinocchio")
    model = make()
    if model.couplings or model.armature.any():
        pytest.skip("mimic joints and rotors are no part of Pinocchio's URDF models")
    other = pin.buildModelFromXML(model.to_urdf())
    to, rng = bough.convert.to_pinocchio(model, other), np.random.default_rng(1)
    q, v, a = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    found = pin.rnea(other, other.createData(), to.to_q(q), to.to_v(v), to.to_v(a))
    tau = bough.Dynamics(model).inverse_dynamics(q, v, a)
    assert to.from_tau(found) == pytest.approx(tau, abs=1e-9 * np.abs(tau).max())


@pytest.mark.parametrize("make", [*models()])
def test_mjcf_is_read_back(make, tmp_path):
    """Also rotors, springs, gravity and loops; masses near zero are for Bough only."""
    pytest.importorskip("mujoco")
    model = make()
    if "planar" in model.joints.types:
        model = everything(planar=False)
    if (model.inertias[:, 0] < 1e-12).any() and "no mass" not in model.to_mjcf():
        pytest.skip("MuJoCo refuses moving bodies of almost no mass")
    model.to_mjcf(tmp_path / "robot.xml")
    read = bough.load(tmp_path / "robot.xml")
    assert read.gravity == pytest.approx(model.gravity)
    assert sorted(c.kind for c in read.closures) == sorted(c.kind for c in model.closures)
    same(model, read, 1e-8)
    own, found = ({j.name: m.stiffness[j.v].tolist() for j in m.joints} for m in (model, read))
    assert found == {name: pytest.approx(value) for name, value in own.items()}


def test_what_a_format_lacks_is_named_or_refused():
    with pytest.raises(ModelError, match=r"to_urdf: joint 'joint0' is universal, a type that URDF does not have"):
        bough.zoo.tree1_expanded().to_urdf()
    b = bough.Builder("screw")
    b.add_body("nut", joint="helical", pitch=0.1, mass=1.0, inertia=np.eye(3), joint_name="thread")
    with pytest.raises(ModelError, match=r"to_mjcf: joint 'thread' is helical, a type that MJCF does not have"):
        b.build().to_mjcf()
    assert "no word for the stiffness of" in bough.zoo.cable(4, EI=1.0).to_urdf()
    assert "no word for gravity" in bough.zoo.arm(2).with_gravity((0, 0, 0)).to_urdf()
    b = bough.Builder("two")
    for name in "ab":
        b.add_body(name, joint="revolute", mass=1.0, inertia=np.eye(3))
    b.add_closure("a", "b", "distance", length=1.0, name="rod")
    with pytest.raises(ModelError, match=r"closure 'rod' is a distance; MJCF has connect and weld"):
        b.build().to_mjcf()


LIMBS = """<mujoco><worldbody><body name="torso"><joint name="turn" axis="0 0 1" pos="0 0.1 0" stiffness="2"/>
<joint name="push" type="slide" axis="0 1 1" ref="0.2"/><joint name="bend" axis="1 1 0" pos="0.2 0 0.1"/>
<geom size="0.1 0.2 0.3" type="box" mass="2" pos="0.1 0 0"/><site name="eye" pos="0 0 0.4"/>
<body name="arm" pos="0.3 0.1 0" euler="10 20 30"><joint name="swing" type="slide" axis="1 0 0"/>
<joint name="ball" type="ball"/><geom size="0.1 0.2 0.3" type="box" mass="1"/></body></body></worldbody></mujoco>"""


def test_bodies_with_several_joints_are_read_back():
    """MuJoCo refuses the massless bodies between their joints."""
    pytest.importorskip("mujoco")
    model = bough.load(LIMBS)
    text = model.to_mjcf()
    read = bough.load(text)
    assert read.joint_names == model.joint_names == ("turn", "push", "bend", "swing", "ball")
    assert read.stiffness.tolist() == model.stiffness.tolist()
    assert "no word for the frame of torso/turn, which has no mass" in text
    one, two = bough.Dynamics(model, general=True), bough.Dynamics(read, general=True)
    rng = np.random.default_rng(0)
    q, v, a = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    np.testing.assert_allclose(two.inverse_dynamics(q, v, a), one.inverse_dynamics(q, v, a), atol=1e-10)
    np.testing.assert_allclose(two.placement(q, "eye"), one.placement(q, "eye"), atol=1e-12)


def test_more_joints_than_a_body_of_mjcf_can_have_are_refused():
    builder, up = bough.Builder("gimbals"), "world"
    for k in range(3):
        up = builder.add_body(f"link{k}", up, "planar", mass=1.0 if k == 2 else 0.0, inertia=np.eye(3) * (k == 2))
    with pytest.raises(ModelError, match=r"'link2' would have 9 degrees of freedom, .* \(link0, link1\)"):
        builder.build().to_mjcf()


def test_a_massless_body_that_cannot_be_joined_is_refused():
    b = bough.Builder("fork")
    b.add_body("fork", joint_name="turn")
    for name in "ab":
        b.add_body(name, "fork", placement=(0.1, 0, 0), **SOLID)
    with pytest.raises(ModelError, match=r"body 'fork' has no mass.*on a revolute joint and carries 2 bodies"):
        b.build().to_mjcf()
    b = bough.Builder("loop")
    b.add_body("crank")
    b.add_frame("pin", "crank", (0.1, 0, 0))
    b.add_body("rod", "crank", axis=(0, 1, 0), placement=(0.1, 0, 0), **SOLID)
    b.add_closure("pin", "world", name="loop")
    with pytest.raises(ModelError, match="closure 'loop' ends at 'pin', on a body without mass"):
        b.build().to_mjcf()


def test_limits_that_mujoco_takes_for_none_are_named():
    b = bough.Builder("stuck")
    b.add_body("a", lower=0.3, upper=0.3, **SOLID)
    b.add_body("b", "a", effort=0.0, **SOLID)
    text = b.build().to_mjcf()
    assert "no word for the equal limits of a" in text
    assert "no word for the effort limits of zero of b" in text


def test_rotors_of_followers_are_written_or_named():
    pytest.importorskip("mujoco")
    b = bough.Builder("gear")
    b.add_body("a", **SOLID)
    b.add_body("b", "a", mimic=("a", 2.0, 0.0), armature=0.5, **SOLID)
    model, q = b.build(), np.zeros(1)
    found = bough.Dynamics(bough.load(model.to_mjcf()), general=True).mass_matrix(q)
    assert found == pytest.approx(bough.Dynamics(model, general=True).mass_matrix(q))
    assert "no word for the armature of b" in model.to_urdf()


def test_an_inertia_without_mass_is_written():
    b = bough.Builder("flywheel", check=False)
    b.add_body("arm", **SOLID)
    b.add_body("wheel", "arm", placement=(0.1, 0, 0), inertia=np.diag([0.1, 0.2, 0.25]))
    model = b.build()
    assert bough.load(model.to_urdf()).inertias == pytest.approx(model.inertias)


SOLID = {"mass": 1.0, "inertia": np.eye(3)}


@pytest.mark.parametrize("ends", [("c", "world"), ("c", "a"), ("k", "a"), ("a", "k")])
def test_loops_on_frames_of_bodies_and_the_world_are_read_back(ends):
    """Also where frames have the names that the ends of a loop would get."""
    pytest.importorskip("mujoco")
    b = bough.Builder("loop")
    for name, parent in ("a", "world"), ("b", "a"), ("c", "b"):
        b.add_body(name, parent, placement=(0.3, 0.0, 0.0), **SOLID)
    b.add_frame("k", "c", (0.5, 0.0, 0.1))
    b.add_frame("lk/a", "c")
    b.add_closure(*ends, "connect", name="lk")
    b.add_closure("c", "a", "weld", point=(0.0, 0.1, 0.0), name="more")
    model = b.build()
    q = np.array([0.3, -0.4, 0.5])
    gaps = [
        np.subtract(*(bough.Dynamics(model).placement(q, end)[:3, 3] for end in loop[2:4])) for loop in model.closures
    ]
    for text in (model.to_urdf(), model.to_mjcf()):
        read = bough.load(text)
        same(model, read)
        dyn = bough.Dynamics(read)
        found = [np.subtract(*(dyn.placement(q, end)[:3, 3] for end in loop[2:4])) for loop in read.closures]
        assert found == [pytest.approx(gap, abs=1e-12) for gap in gaps]


@pytest.mark.parametrize("name", ["a---b", "--", "-->", "<&\"'>", "a\nb", "é"])
def test_any_name_that_xml_can_hold_is_read_back(name):
    b = bough.Builder(name)
    b.add_body(name, armature=0.1, actuated=False, **SOLID)
    model = b.build()
    for text in (model.to_urdf(), model.to_mjcf()):
        assert bough.load(text).joint_names == (name,)
    b = bough.Builder("m")
    b.add_body(name + "\0", **SOLID)
    for write in (b.build().to_urdf, b.build().to_mjcf):
        with pytest.raises(ModelError, match="which no XML file can hold"):
            write()


def test_joints_of_several_degrees_of_freedom_lose_no_word_silently():
    b = bough.Builder("m")
    b.add_body("x", joint="planar", damping=[1.0, 2.0, 1.0], effort=3.0, velocity=2.0, **SOLID)
    b.add_body("y", "x", joint_name="x_1", velocity=2.0, actuated=False, **SOLID)
    model = b.build()
    urdf, mjcf = model.to_urdf(), model.to_mjcf()
    for lost in ("damping of x[1]", "limits of x[0], x[1], x[2]", "actuated=False of x_1"):
        assert f"no word for the {lost} -->" in urdf
    assert "no word for the velocity limits of x[0], x[1], x[2], x_1 -->" in mjcf
    assert sorted(bough.load(mjcf).joint_names) == ["x_1", "x_1_", "x_2", "x_3"]


def test_urdfdom_takes_a_sliding_joint_that_follows():
    pin = pytest.importorskip("pinocchio")
    b = bough.Builder("m")
    b.add_body("x", lower=-1.0, upper=1.0, **SOLID)
    b.add_body("y", "x", joint="prismatic", mimic=("x", 0.5, 0.1), **SOLID)
    assert pin.buildModelFromXML(b.build().to_urdf()).existJointName("y")


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0.2, 0.1, 1.0), (0, 0, -1)])
def test_mujoco_moves_planar_joints_likewise(axis):
    mujoco = pytest.importorskip("mujoco")
    b = bough.Builder("m")
    tilt = bough.spatial.rpy_matrix(np.array([0.3, -0.5, 0.9]))
    b.add_body("x", joint="planar", axis=axis, placement=(tilt, (1.0, 2.0, 3.0)), **SOLID)
    model, q = b.build(), np.array([0.3, 0.5, 0.7])
    other = mujoco.MjModel.from_xml_string(model.to_mjcf())
    data = mujoco.MjData(other)
    data.qpos[:] = q
    mujoco.mj_kinematics(other, data)
    T = bough.Dynamics(model).placement(q, "x")
    assert data.body("x").xpos == pytest.approx(T[:3, 3])
    assert data.body("x").xmat.reshape(3, 3) == pytest.approx(T[:3, :3])
    with pytest.raises(bough.errors.OptionError, match="there is no folder"):
        model.to_mjcf("/nowhere/at/all.xml")
