"""The package runs from a zip file, as some launchers and clusters ship it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import bough
from bough.compile.run import cache

CODE = """
import numpy as np
import bough
from bough.compile.run import cache
assert ".zip" in bough.__file__
model = bough.zoo.arm(3)
general = bough.Dynamics(model, general=True).mass_matrix(np.ones(3))
np.testing.assert_allclose(general, bough.Dynamics(model).mass_matrix(np.ones(3)))
sim = bough.adaptive.QuasiStatics(bough.zoo.chain(30), error=bough.adaptive.relative_joint(0.1))
sim.apply_force(sim.model.body_names[-1], [0, 1, 0])
sim.step(1e-3)
bough.view.scene(model).save_html("arm.html")
print(cache.compiler_hash())
"""


def test_it_runs_from_a_zip_file(tmp_path):
    folder = Path(bough.__file__).parent
    with zipfile.ZipFile(tmp_path / "bough.zip", "w") as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.parent.name != "__pycache__":
                file.write(path, path.relative_to(folder.parent))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "bough.zip"), "BOUGH_CACHE_DIR": str(tmp_path / "cache")}
    found = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.strip() == cache.compiler_hash()
