"""The models that tests are made of do not need Pinocchio until they are compared with it."""

import subprocess
import sys
from pathlib import Path


def test_importable_without_pinocchio():
    without = "import sys; sys.modules['pinocchio'] = None"
    code = f"{without}; import models, quantities; models.random_twin(0, [-1], ['planar'])"
    run = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
