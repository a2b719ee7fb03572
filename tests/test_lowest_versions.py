"""The lowest versions of required packages that pyproject.toml allows: the library works with all of them at once."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = """
import sys
sys.path[:0] = sys.argv[1:]
import importlib.metadata as metadata
import numpy as np
import bough
from typer.testing import CliRunner
from bough.app.cli import app

for name, version in EXPECTED.items():
    assert metadata.version(name) == version, (name, metadata.version(name))
for model in (bough.zoo.arm(4), bough.zoo.quadruped()):
    rng = np.random.default_rng(0)
    q, v, tau = model.random_configuration(rng, 40), *rng.normal(size=(2, 40, model.nv))
    for general in (False, True):
        dyn = bough.Dynamics(model, general=general)
        qdd = dyn.forward_dynamics(q, v, tau, threads=2)
        assert np.allclose(dyn.inverse_dynamics(q, v, qdd), tau, atol=1e-8)
        assert np.allclose(dyn.forward_dynamics(q[3], v[3], tau[3]), qdd[3], atol=1e-9)
        assert np.allclose(dyn.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau))), qdd, rtol=0.1, atol=1.0)
    space = bough.OperationalSpace(model, [bough.position(model.body_names[-1])])
    assert np.isfinite(space.torques(q, v, rng.normal(size=(40, 3)))).all()
    bough.simulate.rollout(model, q[0], v[0] * 0, dt=1e-3, duration=0.01)
bough.adaptive.QuasiStatics(bough.zoo.molecule(50), error=0.1).step(1e-3)
done = CliRunner().invoke(app, ["info", "zoo:arm"])
assert done.exit_code == 0, done.output
done = CliRunner().invoke(app, ["doctor"])  # an argument is missing
assert done.exit_code == 2, done.output
"""


def lowest():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = [re.fullmatch(r"([a-z]+)>=([\d.]+).*", bound).groups() for bound in project["dependencies"]]
    return {name: ".".join([*version.split("."), "0", "0"][:3]) for name, version in bounds}


@pytest.mark.slow
def test_the_lowest_versions_work(tmp_path):
    found = lowest()
    packages, cache = tmp_path / "packages", tmp_path / "cache"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages)]
    done = subprocess.run([*install, *(f"{k}=={x}" for k, x in found.items())], capture_output=True, text=True)
    if done.returncode and "No matching distribution" not in done.stderr:
        pytest.skip("no package index")
    assert done.returncode == 0, done.stderr
    script = SCRIPT.replace("EXPECTED", repr(found))
    env = {key: x for key, x in os.environ.items() if key != "PYTHONPATH"} | {"BOUGH_CACHE_DIR": str(cache)}
    command = [sys.executable, "-S", "-c", script, str(ROOT / "src"), str(packages)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
