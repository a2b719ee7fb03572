"""`bough info` and `bough doctor`."""

import json

import pytest


def test_info_on_a_file(run, urdf):
    text = run("info", urdf)
    wanted = ("shoulder", "revolute", "arm", "D1", "nonzeros of H", "forward dynamics, ABA", "note: dropped 1 <gazebo>")
    for words in wanted:
        assert words in text
    assert "root_joint" in run("info", urdf, "--floating-base")


def test_info_on_the_zoo(run):
    assert "1,039" in run("info", "zoo:humanoid")
    assert "chain" in run("info", "zoo:chain:30")


def test_doctor_exit_codes(run, urdf):
    text = urdf.read_text()
    assert "0 errors, 0 warnings, 2 notes" in run("doctor", urdf)
    urdf.write_text(text.replace('effort="5"', 'effort="0"'))
    assert "effort limit is 0" in run("doctor", urdf)
    run("doctor", urdf, "--strict", code=1)
    urdf.write_text(text.replace('mass value="1"', 'mass value="-1"'))
    assert "its mass is -1 kg" in run("doctor", urdf, code=1)
    urdf.write_text("<robot")
    assert "no well-formed XML" in run("doctor", urdf, code=1)
    assert "0 errors" in run("doctor", "zoo:humanoid")


def test_doctor_takes_the_options_of_load(run, refused, urdf):
    """Exit code 1 is what keeps `load`, and so `info`, from reading the file with the same options."""
    text = urdf.read_text()
    urdf.write_text(text.replace("revolute", "fixed"))
    assert "load with floating_base=True" in run("doctor", urdf, code=1)
    run("doctor", urdf, "--floating-base")
    urdf.write_text(text)
    assert "has no joint 'elbow'" in run("doctor", urdf, "--weld", "elbow", code=1)
    assert "has no moving body" in run("doctor", urdf, "--weld", "shoulder=0.5", code=1)
    assert "needs a finite number, got ['b']" in refused("info", urdf, "--weld", "shoulder=b")
    urdf.write_text(text.replace('iyy="1"', 'iyy="9"'))
    run("doctor", urdf)
    assert "no body has principal moments" in run("doctor", urdf, "--check", code=1)


def test_loops_of_mjcf_can_be_left_out(run, tmp_path):
    pytest.importorskip("mujoco")
    path, solid = tmp_path / "m.xml", '<joint/><geom size="1"/>'
    path.write_text(f"""<mujoco><worldbody><body name="a">{solid}</body><body name="b">{solid}</body></worldbody>
    <equality><connect body1="a" body2="b" anchor="0 0 0"/></equality></mujoco>""")
    assert "Dynamics ignores 1 closure" in run("doctor", path)
    shown = run("info", path)
    assert "1 closed by 3 rows" in shown
    assert "connect" in shown
    run("doctor", path, "--drop-equalities")
    assert "dropped the equality connect" in run("info", path, "--drop-equalities", "--weld", "joint0=0.3")


def test_info_for_machines(run, urdf):
    found = json.loads(run("info", urdf, "--json"))
    assert found["joints"] == [{"name": "shoulder", "type": "revolute", "body": "arm", "parent": None, "v": [0, 1]}]
    assert found["limits"]["effort"] == [5.0]
    assert found["operations"]["forward dynamics, ABA"]["mul"] == 0
    assert json.loads(run("info", "zoo:chain?n=200", "--json"))["operations"] is None


def test_findings_for_machines(run, urdf):
    found = json.loads(run("doctor", urdf, "--json"))
    assert (found["errors"], found["warnings"], found["notes"]) == (0, 0, 2)
    assert {"link", "what", "remedy", "severity"} == set(found["findings"][0])
    urdf.write_text("<robot")
    assert json.loads(run("doctor", urdf, "--json", code=1))["errors"] == 1
