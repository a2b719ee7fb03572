"""Geometry of files: primitives at their places, meshes that are found, what is not drawn is said."""

import zipfile
from dataclasses import replace

import numpy as np
import pytest

import bough
from bough.view import Mesh, dressed, picture
from bough.view.geometry import simplified

LINK = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>{}</link>'
URDF = (
    '<robot name="r">' + LINK.format("base", '<visual><geometry><box size="1 2 3"/></geometry></visual>')
    + LINK.format("arm", """<visual><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/>
        <geometry><cylinder radius="0.1" length="0.8"/></geometry></visual>
        <visual><geometry><sphere radius="0.2"/></geometry></visual>{}""")
    + """<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="6"/></joint></robot>"""
)  # fmt: skip
MESH = '<visual><geometry><mesh filename="{}" scale="2 2 2"/></geometry></visual>'
STL = (
    "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n"
)


def shown(tmp_path, more=""):
    path = tmp_path / "urdf" / "r.urdf"
    path.parent.mkdir(exist_ok=True)
    path.write_text(URDF.replace("{}", more))
    return dressed(bough.load(path), path)


def of_kind(scene, kind):
    """The one piece of a kind: its placement in the world at the scene's q."""
    part = next(part for part in scene.shapes if part.kind == kind)
    body = int(part.body[0])
    return (scene.placements()[body] if body >= 0 else np.eye(4))[:3, :3] @ part.placement[0, :, :3], (
        (scene.placements()[body] if body >= 0 else np.eye(4)) @ np.append(part.placement[0, :, 3], 1.0)
    )[:3]


def test_primitives_sit_where_the_file_says(tmp_path):
    scene = shown(tmp_path)
    assert sorted(part.kind for part in scene.shapes) == ["box", "cylinder", "sphere"]
    A, p = of_kind(scene, "box")
    np.testing.assert_allclose(A, np.diag([1.0, 2.0, 3.0]), atol=1e-12)
    np.testing.assert_allclose(p, 0.0, atol=1e-12)
    A, p = of_kind(scene, "cylinder")
    np.testing.assert_allclose(p, [0.5, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(A[:, 2], [0.8, 0.0, 0.0], atol=1e-12)
    assert of_kind(scene, "sphere")[1] == pytest.approx([0.0, 0.0, 1.0])
    assert scene.notes == []


@pytest.mark.parametrize("name", ["package://pkg/meshes/a.stl", "../meshes/a.stl", "package://meshes/a.stl"])
def test_meshes_are_found(tmp_path, name):
    pytest.importorskip("trimesh")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.stl").write_text(STL)
    scene = shown(tmp_path, MESH.format(name))
    part = next(part for part in scene.shapes if part.kind == "mesh")
    assert part.mesh.faces.shape == (1, 3)
    np.testing.assert_allclose(np.linalg.norm(part.placement[0, :, :3], axis=0), 2.0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("package://pkg/ghost.stl", "names more folders): package://pkg/ghost.stl"),
        ("https://example.org/a.stl", "no such file here"),
        ("../broken.stl", "cannot be read"),
    ],
)
def test_what_is_not_drawn_is_said(tmp_path, name, words):
    pytest.importorskip("trimesh")
    (tmp_path / "broken.stl").write_text("no mesh at all")
    scene = shown(tmp_path, MESH.format(name))
    assert len(scene.shapes) == 3
    assert words in scene.notes[0]


def outside(tmp_path):
    """A mesh outside of the model's package, a folder with a package.xml."""
    (tmp_path / "package.xml").write_text("<package/>")
    other = tmp_path.parent / f"{tmp_path.name}-other"
    (other / "pkg" / "meshes").mkdir(parents=True, exist_ok=True)
    (other / "pkg" / "meshes" / "a.stl").write_text(STL)
    return other


@pytest.mark.parametrize("name", ["file://{}/pkg/meshes/a.stl", "{}/pkg/meshes/a.stl", "../../{name}/pkg/meshes/a.stl",
                                  "linked.stl", "package://pkg/../{name}/pkg/meshes/a.stl"])  # fmt: skip
def test_meshes_outside_of_the_package_are_not_read(tmp_path, name):
    pytest.importorskip("trimesh")
    other = outside(tmp_path)
    (tmp_path / "urdf").mkdir()
    (tmp_path / "urdf" / "linked.stl").symlink_to(other / "pkg" / "meshes" / "a.stl")
    scene = shown(tmp_path, MESH.format(name.format(other, name=other.name)))
    assert all(part.kind != "mesh" for part in scene.shapes)
    assert "not drawn" in scene.notes[0]


def test_package_paths_are_searched(tmp_path, monkeypatch):
    pytest.importorskip("trimesh")
    other = outside(tmp_path)
    mesh = MESH.format("package://pkg/meshes/a.stl")
    assert "no such file here" in shown(tmp_path, mesh).notes[0]
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(other))
    assert shown(tmp_path, mesh).notes == []
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    path = tmp_path / "urdf" / "r.urdf"
    assert dressed(bough.load(path), path, package_paths=[other]).notes == []


def test_archives_and_huge_claims_are_not_unpacked(tmp_path):
    pytest.importorskip("trimesh")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zeros.stl", bytes(10**6))
    (tmp_path / "claim.gltf").write_text('{"asset": {"version": "2.0"}, "accessors": [{"count": 9000000000}]}')
    for name, why in (("bomb.zip", "expected a file of format"), ("claim.gltf", "it claims 9,000,000,000 numbers")):
        assert why in shown(tmp_path, MESH.format(f"../{name}")).notes[0]


def test_what_many_meshes_lack_is_said_once(tmp_path):
    pytest.importorskip("trimesh")
    scene = shown(tmp_path, MESH.format("a.stl") + MESH.format("b.stl"))
    assert scene.notes[0].startswith("2 meshes are not drawn (no such file here; package_paths")
    assert scene.notes[0].endswith(": a.stl, ...")


def test_without_trimesh_meshes_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("bough.view.geometry.find_spec", lambda name: None)
    assert "bough[viewer]" in shown(tmp_path, MESH.format("a.stl")).notes[0]


def test_a_file_without_geometry_is_drawn_as_bones(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(URDF.replace("visual", "collision").replace("{}", ""))
    scene = dressed(bough.load(path), path)
    assert len(scene.shapes) >= 1


def test_odd_numbers_do_no_harm(tmp_path):
    scene = shown(tmp_path, '<visual><geometry><box size="a b nan"/></geometry></visual>')
    assert all(np.isfinite(part.placement).all() for part in scene.shapes)


def test_mjcf_geoms_sit_where_mujoco_puts_them(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "r.xml"
    path.write_text("""<mujoco><worldbody><body name="a" pos="0 0 1"><joint axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/><geom type="box" size="0.1 0.2 0.3" pos="0 0 0.4"/>
        </body></worldbody></mujoco>""")
    model = bough.load(path)
    scene = replace(dressed(model, path), q=np.array([0.7]))
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qpos[:] = 0.7
    mujoco.mj_kinematics(m, d)
    A, p = of_kind(scene, "box")
    np.testing.assert_allclose(p, d.geom_xpos[1], atol=1e-9)
    np.testing.assert_allclose(A / [0.2, 0.4, 0.6], d.geom_xmat[1].reshape(3, 3), atol=1e-9)
    np.testing.assert_allclose(of_kind(scene, "cylinder")[1], d.geom_xpos[0], atol=1e-9)


def test_materials_have_their_colours_and_branches_are_a_switch(tmp_path):
    red, named = '<material name="r"><color rgba="1 0 0 1"/></material>', '<material name="blue"/>'
    more = "".join(f"<visual><geometry><cylinder radius='0.1' length='{k}'/></geometry>{m}</visual>" for k, m in
                   enumerate((red, named, '<material name="unknown"/>'), 1))  # fmt: skip
    path = tmp_path / "r.urdf"
    blue = '<material name="blue"><color rgba="0 0 1 1"/></material></robot>'
    path.write_text(URDF.replace("{}", more).replace("</robot>", blue))
    scene = dressed(bough.load(path), path)
    rods = next(part for part in scene.shapes if part.kind == "cylinder")
    branch = scene.colours[rods.body[0]]
    np.testing.assert_allclose(rods.colour, [branch, [1, 0, 0], [0, 0, 1], branch])
    again = next(part for part in scene.by_branch().shapes if part.kind == "cylinder")
    np.testing.assert_allclose(again.colour, [branch] * 4)


def test_meshes_have_their_own_colours(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(4)
    box = trimesh.creation.box()
    ball.visual.face_colors, box.visual.face_colors = (255, 0, 0, 255), (0, 0, 255, 255)
    trimesh.Scene([ball, box]).export(tmp_path / "two.glb")
    scene = shown(tmp_path, MESH.format("../two.glb"))
    found = {tuple(part.colour[0]): len(part.mesh.faces) for part in scene.shapes if part.kind == "mesh"}
    assert found == {(1.0, 0.0, 0.0): 5120, (0.0, 0.0, 1.0): 12} or found == {(1.0, 0.0, 0.0): 5132}


def test_collision_shapes_are_apart(tmp_path):
    more = '<collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision>'
    scene = shown(tmp_path, more)
    (part,) = scene.collision
    np.testing.assert_allclose(np.linalg.norm(part.placement[0, :, :3], axis=0), [0.3, 0.2, 0.1])


QUAD = """mtllib q.mtl\nusemtl m
v 0 -.5 0\nv 0 .5 0\nv 0 .5 1\nv 0 -.5 1\nv -.2 0 .5
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
f 1/1 2/2 3/3\nf 1/1 3/3 4/4\nf 2/2 1/1 5/1\nf 3/3 2/2 5/1\nf 4/4 3/3 5/1\nf 1/1 4/4 5/1
"""
QUADRANTS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], np.uint8)  # from the upper left


def textured(tmp_path):
    """A pyramid whose base, in the plane of y and z, has a texture of four colours."""
    image = pytest.importorskip("PIL.Image")
    image.fromarray(QUADRANTS).save(tmp_path / "q.png")
    (tmp_path / "q.mtl").write_text("newmtl m\nKd 1 1 1\nmap_Kd q.png\n")
    (tmp_path / "q.obj").write_text(QUAD)


def quadrants(scene):
    """Which of red, green and blue are bright in the middles of the quarters of a picture from the front."""
    alone = replace(scene, shapes=[part for part in scene.shapes if part.kind == "mesh"], motion=None)
    pixels = picture(alone, (120, 120), direction=(0.0, 0.0), zoom=1.5).astype(int)
    return (pixels[[[45], [75]], [45, 75]] > 100).astype(int) * 255


def test_a_texture_is_drawn_where_it_lies(tmp_path):
    pytest.importorskip("trimesh")
    textured(tmp_path)
    scene = shown(tmp_path, MESH.format("../q.obj"))
    np.testing.assert_array_equal(quadrants(scene), QUADRANTS)
    branch = scene.by_branch()
    assert all(part.mesh is None or part.mesh.image is None for part in branch.shapes)
    red = MESH.format("../q.obj").replace("</visual>", '<material name="r"><color rgba="1 0 0 1"/></material></visual>')
    part = next(part for part in shown(tmp_path, red).shapes if part.kind == "mesh")
    assert part.mesh.image is None
    np.testing.assert_allclose(part.colour, [[1.0, 0.0, 0.0]])


def test_textures_of_mjcf_are_drawn_where_they_lie(tmp_path):
    pytest.importorskip("mujoco")
    textured(tmp_path)
    path = tmp_path / "r.xml"
    path.write_text("""<mujoco><asset><texture name="t" type="2d" file="q.png"/><material name="m" texture="t"/>
        <mesh name="q" file="q.obj"/></asset><worldbody><body name="a"><joint axis="0 1 0"/>
        <geom type="mesh" mesh="q" material="m" mass="1"/></body></worldbody></mujoco>""")
    np.testing.assert_array_equal(quadrants(dressed(bough.load(path), path)), QUADRANTS)


def test_large_meshes_are_simplified_without_dents():
    trimesh, _ = pytest.importorskip("trimesh"), pytest.importorskip("fast_simplification")
    ball = trimesh.creation.icosphere(5)
    found = simplified(Mesh(np.asarray(ball.vertices), np.asarray(ball.faces)), 2000)
    assert 1000 < len(found.faces) <= 2100
    middles = found.vertices[found.faces].mean(axis=1)
    assert np.abs(np.linalg.norm(middles, axis=1) - 1.0).max() < 0.01
