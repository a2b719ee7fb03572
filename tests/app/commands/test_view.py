"""`bough view`: pages and pictures of models and of recordings."""

import json

import pytest


def test_a_page_and_a_picture(run, urdf, tmp_path):
    said = run("view", urdf, "--html", "a.html", "--screenshot", "a.png", "--size", "64x48")
    assert "wrote a.html" in said
    assert "twolink" in (tmp_path / "a.html").read_text()
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_a_recording_knows_its_model(run, urdf, tmp_path):
    run("simulate", urdf, "--duration", "0.01", "--record", "run.npz")
    found = json.loads(run("view", "run.npz", "--html", "a.html", "--json"))
    assert found["samples"] == 11
    assert found["files"] == ["a.html"]


@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_a_recording_becomes_a_video(run, tmp_path, ending):
    """A second in real time, at 25 frames."""
    pytest.importorskip("PIL" if ending == "gif" else "imageio_ffmpeg")
    run("simulate", "zoo:arm", "--seed", 1, "--duration", 1, "--dt", 0.01, "--record", "run.npz")
    file = tmp_path / f"a.{ending}"
    assert f"wrote a.{ending}" in run("view", "run.npz", "--video", file.name, "--size", "32x32")
    if ending == "gif":
        from PIL import Image

        with Image.open(file) as video:
            assert (video.n_frames, video.info["duration"], video.size) == (26, 40, (32, 32))
    else:
        import imageio_ffmpeg

        assert imageio_ffmpeg.count_frames_and_secs(str(file)) == (26, pytest.approx(26 / 25, abs=0.05))


def test_a_settled_linkage_is_played(run, tmp_path):
    pytest.importorskip("pyarrow")
    run("settle", "zoo:chain:20", "--force", "link19:1,0,0", "--steps", "4", "--record", "run.parquet")
    found = json.loads(
        run("view", "run.parquet", "--html", "a.html", "--screenshot", "a.png", "--size", "32x32", "--json")
    )
    assert found["samples"] == 4
    assert "joints computed" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("zoo:arm", "--html", "ghost/a.html"), "there is no folder"),
        (("zoo:arm", "--screenshot", "a.png", "--size", "big"), "expected WIDTHxHEIGHT"),
        (("zoo:arm", "--video", "a.gif"), "a video is of a motion"),
        (("run.npz", "--video", "a.avi"), ".gif or .mp4"),
        (("zoo:arm", "--screenshot", "a.png", "--sample", "3"), "sample 3 is of a motion: this scene has none"),
        (("run.npz", "--screenshot", "a.png", "--sample", "99"), "samples 0 to 2"),
        (("run.npz", "--html", "a.html", "--of", "zoo:arm:3"), "another model"),
        (("ghost.npz", "--html", "a.html"), "there is no file"),
    ],
)
def test_what_cannot_be_is_one_line(run, refused, words, message):
    run("simulate", "zoo:arm:2", "--duration", "0.002", "--record", "run.npz")
    assert message in refused("view", *words)


def test_forces_and_contacts_of_a_recording_are_drawn(run, tmp_path):
    from bough.app.commands.view import scene
    from bough.app.source import Source

    solid = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "box.urdf").write_text(f'<robot name="box"><link name="box">{solid}</link></robot>')
    words = ("-f", "--contact", "box:0,0,-0.1", "--height", 0.1, "--force", "box:0,0,5", "--duration", 0.02)
    for file in ("run.npz", "run.parquet"):
        run("simulate", "box.urdf", *words, "--record", file)
        found = scene(Source(file), None, 0)
        assert found.arrows.force.shape == (21, 2, 3)
        assert (found.arrows.force[:, 0] == [0.0, 0.0, 5.0]).all()
        assert found.arrows.force[-1, 1] == pytest.approx([0.0, 0.0, 2 * 9.81 - 5.0], abs=1e-6)
        assert "force of contacts, N" in found.motion.tracks
    run("settle", "zoo:chain:5", "--force", "link4:1,0,0", "--steps", "3", "--record", "s.npz")
    assert scene(Source("s.npz"), None, 0).arrows.force[0].tolist() == [[1.0, 0.0, 0.0]]


def test_a_recording_saved_from_python_may_name_its_model(run, tmp_path):
    import bough
    from bough.simulate import rollout

    rollout(bough.zoo.arm(2), [0, 0], [0, 0], duration=0.01, dt=0.01).save(tmp_path / "named.npz", "zoo:arm:2")
    assert "wrote a.html" in run("view", "named.npz", "--html", "a.html")


def test_a_recording_without_its_model_says_so(run, refused, tmp_path):
    import bough
    from bough.simulate import rollout

    rollout(bough.zoo.arm(2), [0, 0], [0, 0], duration=0.01, dt=0.01).save(tmp_path / "bare.npz")
    assert "--of" in refused("view", "bare.npz", "--html", "a.html")
    assert "wrote a.html" in run("view", "bare.npz", "--html", "a.html", "--of", "zoo:arm:2")


def test_without_a_file_it_is_live(run, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "bough.view.live.serve", lambda scene, port, announce, contacts: asked.append((scene.title, port))
    )
    run("view", "zoo:arm:3", "--port", "8099")
    assert asked == [("arm", 8099)]


def test_a_recording_opens_as_a_page(run, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run("simulate", "zoo:arm", "--duration", 0.02, "--record", "run.npz")
    assert "plays it" in run("view", "run.npz")
    assert opened[0].endswith("/run.html")
