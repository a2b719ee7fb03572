"""The documentation is true: names exist, code runs, links lead somewhere."""

import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

import bough

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = re.findall(r"`(bough(?:\.\w+)+)` \|$", (ROOT / "docs" / "notation.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_notation_exist(name):
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[split:]:
            found = getattr(found, attribute, None) or found.__annotations__.get(attribute)
        assert found is not None
        return
    pytest.fail(f"{name} does not exist")


def test_the_notation_is_not_empty():
    assert len(NAMES) > 15


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", ["operational-space.md", "adaptive.md"])
def test_examples_run(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    assert blocks
    exec("\n".join(blocks), {})


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_c_example_compiles_and_runs(tmp_path):
    page = (ROOT / "docs" / "exporting.md").read_text()
    python, program = (re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL)[1] for kind in ("python", "c"))
    exec(python.replace('"arm.c"', repr(str(tmp_path / "arm.c"))), {"bough": bough})
    (tmp_path / "main.c").write_text(program)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
    subprocess.run(["gcc", *flags, "main.c", "arm.c", "-lm", "-o", "arm"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./arm"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    model = bough.zoo.arm(6)
    dyn = bough.Dynamics(model)
    q, v = model.neutral.copy(), model.neutral * 0
    q[:3] = 0.3, -0.2, 0.5
    for _ in range(1000):
        v = v + 1e-3 * dyn.forward_dynamics(q, v, 0 * v, method="aba")
        q = q + 1e-3 * v
    assert [float(line) for line in printed.split()] == pytest.approx(q.tolist(), abs=2e-6)
