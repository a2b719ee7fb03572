"""The controller in C: written, compiled with every warning an error, and run without waiting for the clock."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bough

EXAMPLE = Path(__file__).parents[1] / "examples" / "control_1khz"


@pytest.mark.skipif(shutil.which("gcc") is None or sys.platform != "linux", reason="needs gcc and the clocks of Linux")
def test_the_hand_follows(tmp_path):
    source = str(Path(bough.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source}
    subprocess.run([sys.executable, EXAMPLE / "write_robot.py", tmp_path], check=True, env=environment)
    files = [EXAMPLE / "main.c", tmp_path / "robot.c", tmp_path / "task.c"]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{tmp_path}"]
    subprocess.run(["gcc", *flags, *map(str, files), "-lm", "-o", str(tmp_path / "control")], check=True)
    result = subprocess.run([tmp_path / "control", "fast"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert "hand off by 0." in result.stdout
