"""`bough identify`."""

import json

import numpy as np
import pytest

import bough


@pytest.fixture
def measured(urdf):
    """The arm of the file with a heavier link and a damped joint, measured without noise; the file as well."""
    urdf.write_text(urdf.read_text().replace("<inertial>", '<inertial><origin xyz="0.3 0.1 0.2"/>'))
    model, rng = bough.load(urdf), np.random.default_rng(0)
    robot = model.with_inertias({"arm": 1.5 * model.inertias[0]})
    q, v, qdd = rng.normal(size=(3, 60, 1))
    tau = bough.Dynamics(robot, general=True).inverse_dynamics(q, v, qdd) + 0.7 * v
    return {"q": q, "v": v, "qdd": qdd, "tau": tau}


def test_a_corrected_file(run, urdf, measured):
    np.savez("measured.npz", **measured)
    found = json.loads(
        run("identify", urdf, "measured.npz", "--to", "better.urdf", "--drive", "damping", "--prior", 1e-9, "--json")
    )
    assert found["samples"] == 60
    assert found["residual"] < 1e-3
    better = bough.load("better.urdf")
    told = bough.Dynamics(better, general=True).inverse_dynamics(*(measured[k] for k in ("q", "v", "qdd")))
    np.testing.assert_allclose(told + better.damping * measured["v"], measured["tau"], atol=0.02)
    assert better.damping[0] == pytest.approx(0.7, abs=0.01)
    assert "wrote better.urdf" in run("identify", urdf, "measured.npz", "--to", "better.urdf")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables(run, urdf, measured, kind):
    columns = {f"{name}0": array[:, 0] for name, array in measured.items()}
    if kind == "csv":
        rows = np.stack([*columns.values()], axis=1)
        np.savetxt("m.csv", rows, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")
    else:
        pytest.importorskip("pyarrow")
        bough.record.write_table("m.parquet", columns)
    np.savez("m.npz", **measured)
    assert run("identify", urdf, f"m.{kind}", "--json") == run("identify", urdf, "m.npz", "--json")


def test_a_recording_serves(run):
    run("simulate", "zoo:arm:2", "--seed", 1, "--duration", 0.5, "--record", "run.npz")
    found = json.loads(run("identify", "zoo:arm:2", "run.npz", "--json"))
    assert found["samples"] == 501
    assert found["residual"] < 0.05


def test_refusals(refused, urdf, measured):
    assert "there is no file ghost.npz" in refused("identify", urdf, "ghost.npz")
    assert "give one as the model" in refused("identify", "zoo:arm", "ghost.npz", "--to", "x.urdf")
    np.savez("m.npz", q=measured["q"], v=measured["v"], tau=measured["tau"])
    assert "has no 'qdd', and no 'time'" in refused("identify", urdf, "m.npz", code=1)
    np.savez("m.npz", q=measured["q"])
    assert "has no 'v'; it has q" in refused("identify", urdf, "m.npz", code=1)
    np.savez("m.npz", **{name: np.hstack([array, array]) for name, array in measured.items()})
    assert "q must have shape (samples, 1), got (60, 2)" in refused("identify", urdf, "m.npz")
    with open("m.csv", "w") as file:
        file.write("q0,v0\n1\n")
    assert "2 names for 1 columns" in refused("identify", urdf, "m.csv", code=1)
