"""Files that MJCF names are opened below the model's folder and allowed folders only."""

import pytest

import bough
from bough.errors import FileFormatError
from bough.view import dressed

pytest.importorskip("mujoco")
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MESH = '<asset><mesh name="m" file="{}"/></asset>'
BODY = '<worldbody><body name="b"><joint/><geom type="mesh" mesh="m"/></body></worldbody>'
BALL = '<worldbody><body name="p"><joint/><geom size="1"/>{}</body></worldbody>'
PART = f"<mujoco>{BALL.format('')}</mujoco>"
OUTSIDE = {  # what <mujoco> has; OUT is the folder outside
    "up": MESH.format("../out/a.obj") + BODY,
    "absolute": MESH.format("OUT/a.obj") + BODY,
    "link": MESH.format("link.obj") + BODY,
    "mesh folder": '<compiler meshdir="../out"/>' + MESH.format("a.obj") + BODY,
    "asset folder, after": MESH.format("a.obj") + '<compiler assetdir="OUT"/>' + BODY,
    "path left out": '<compiler meshdir="../out" strippath="true"/>' + MESH.format("x/a.obj") + BODY,
    "in an included file": '<asset><include file="inner.xml"/></asset>' + BODY,
    "include": '<include file="../out/part.xml"/>',
    "attached": '<asset><model name="o" file="OUT/part.xml"/></asset>'
    + BALL.format('<attach model="o" body="p" prefix="x"/>'),
}
OF_OTHER_KINDS = {  # refused by MuJoCo for what is in them
    "texture": '<asset><texture name="t" type="cube" fileup="../out/a.png"/></asset>' + BALL.format(""),
    "height field": '<asset><hfield name="h" file="OUT/a.png" size="1 1 1 1"/></asset>' + BALL.format(""),
    "skin": '<asset><skin file="../out/a.skn"/></asset>' + BALL.format(""),
    "flex": BALL.format('<flexcomp name="f" type="mesh" file="../out/a.skn"/>'),
    "device": MESH.format("/dev/zero") + BODY,
}


@pytest.fixture
def places(tmp_path):
    inside, out = tmp_path / "in", tmp_path / "out"
    for folder in (inside, out):
        folder.mkdir()
        (folder / "a.obj").write_text(TETRAHEDRON)
    for name in ("a.png", "a.skn"):
        (out / name).write_bytes(b"none")
    (out / "part.xml").write_text(PART)
    (inside / "link.obj").symlink_to(out / "a.obj")
    (inside / "inner.xml").write_text('<mujocoinclude><mesh name="m" file="../out/a.obj"/></mujocoinclude>')
    return inside / "robot.xml", out


@pytest.mark.parametrize("case", [*OUTSIDE, *OF_OTHER_KINDS])
def test_files_outside_are_refused_before_mujoco_opens_them(case, places, monkeypatch):
    path, out = places
    path.write_text("<mujoco>" + (OUTSIDE | OF_OTHER_KINDS)[case].replace("OUT", str(out)) + "</mujoco>")
    import mujoco

    with monkeypatch.context() as patch:
        patch.setattr(mujoco.MjModel, "from_xml_path", lambda *_: pytest.fail("MuJoCo was called"))
        with pytest.raises(FileFormatError, match=r"names the file .* outside of the model's folder and package paths"):
            bough.load(path)
        [finding] = bough.doctor(path)
        assert "outside of the model's folder" in finding.what
    if case in OUTSIDE:
        assert bough.load(path, package_paths=[out]).nv >= 1


def test_files_inside_are_opened(places):
    path, out = places
    path.write_text(f"<mujoco>{MESH.format('a.obj')}{BODY}</mujoco>")
    model = bough.load(path)
    assert [part.kind for part in dressed(model, path).shapes] == ["mesh"]
    path.write_text(f'<mujoco><compiler meshdir="{out}"/>{MESH.format("a.obj")}{BODY}</mujoco>')
    assert "no geometry is drawn" in dressed(model, path).notes[0]
    assert dressed(bough.load(path, package_paths=[out]), path, package_paths=[out]).notes == []


def test_text_names_files_below_the_working_folder(places, monkeypatch):
    path, _ = places
    monkeypatch.chdir(path.parent)
    text = "<mujoco>" + MESH + BODY + "</mujoco>"
    assert bough.load(text.format("a.obj")).nv == 1
    with pytest.raises(FileFormatError, match="outside"):
        bough.load(text.format("../out/a.obj"))
