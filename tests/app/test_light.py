"""What is imported and required stays little."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path


def test_importing_bough_stays_light() -> None:
    heavy = "llvmlite, yourdfpy, trimesh, scipy, pinocchio, mujoco, typer, rich, matplotlib"
    code = f"import sys, bough; print([m for m in '{heavy}'.split(', ') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_loading_a_file_stays_light(urdf) -> None:
    """Neither compilers nor the readers of other formats are imported for a URDF."""
    heavy = "llvmlite yourdfpy trimesh mujoco typer rich scipy bough.io.mjcf"
    heavy += " bough.compile.run bough.compile.emit bough.compile.lower"
    code = f"import sys, bough; bough.load(sys.argv[1]); print([m for m in '{heavy}'.split() if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code, str(urdf)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_few_packages_are_required() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert {re.split(r"[<>=]", package)[0] for package in project["dependencies"]} == {
        "numpy",
        "llvmlite",
        "typer",
        "rich",
    }
    assert any("viser" in package for package in project["optional-dependencies"]["viewer"])


def test_help_and_errors_stay_light():
    """Neither numpy nor rich is imported before a command has something to compute or to print."""
    code = "import sys\nfrom bough.app import cli\ntry: cli.main()\nexcept SystemExit: pass\n"
    code += "print([m for m in ('numpy', 'rich.console', 'llvmlite', 'bough.model') if m in sys.modules])"
    for words in (["--help"], ["count", "--help"], ["info", "ghost.urdf"]):
        found = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        loaded = found.stdout.splitlines()[-1]
        assert loaded == "[]" or (words[0] == "info" and "rich.console" not in loaded and "llvmlite" not in loaded)


def test_info_compiles_nothing(urdf):
    code = "import sys\nfrom bough.app import cli\ntry: cli.main()\nexcept SystemExit: pass\n"
    heavy = "llvmlite scipy matplotlib bough.view bough.opspace bough.simulate"
    code += f"print([m for m in '{heavy}'.split() if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code, "info", urdf], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None  # whoever imports it fails
import numpy as np
import bough
sim = bough.adaptive.QuasiStatics(bough.zoo.chain(30), error=bough.adaptive.relative_joint(0.1), method="adaptive")
sim.apply_force(sim.model.body_names[-1], [0, 1, 0])
sim.step(1e-3)
model = bough.zoo.arm(3)
general = bough.Dynamics(model, general=True).mass_matrix(np.ones(3))
np.testing.assert_allclose(general, bough.Dynamics(model).mass_matrix(np.ones(3)))
"""


def test_no_other_compiler_is_needed() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_NUMBA], check=True)
