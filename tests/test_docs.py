"""The documentation is true: names exist, code runs, links lead somewhere."""

import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from importlib.metadata import files
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bough
from benchmarks import overview, report
from benchmarks.__main__ import STORY
from bough.app import cli
from gpu import needs_gpu

ROOT = Path(__file__).parents[1]
MADE = ("api", "notebooks", "_build")  # pages that Sphinx makes from docstrings and notebooks
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.relative_to(ROOT / "docs").parts[0] not in MADE),
]
PEERS = {"pinocchio": "pinocchio", "mujoco": "mujoco", "drake": "pydrake", "rbdl": "rbdl"}  # of the guides
NAME = re.compile(r"(?<!\{algorithm\} )\bbough(?:\.[A-Za-z_]\w*)+")  # pages of theory name files, too
NAMED = [(p.name, name) for p in PAGES for name in sorted(set(NAME.findall(p.read_text())))]
COMMAND = re.compile(r"`(bough [^`]+)`|^(bough [^#\n]+)", re.MULTILINE)
COMMANDS = sorted({(a or b).strip() for page in PAGES for a, b in COMMAND.findall(page.read_text())})
NEEDED = {
    "bough.sweep": "pyarrow",
    "WholeBody": "qpsolvers",
    "bough.env": "gymnasium",
    "import torch": "torch",
    "import casadi": "casadi",
}
TESTED_WITH = {
    re.split(r"[<>=]", package)[0]
    for package in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["test"]
}
# Here their --help: the demo, the reproduction, the cache and the sections of the bench have tests of their own.
SLOW_COMMANDS = ("bough demo", "bough bench sweeps", "bough reproduce", "bough cache warm")


@pytest.mark.parametrize(("page", "name"), NAMED)
def test_names_exist_at_the_doors(page, name):
    """`bough.x` is in `bough.__all__`, `bough.package.x` in that of the package, and what follows is an attribute."""
    found, (_, *parts) = bough, name.split(".")
    for part in parts:
        if hasattr(found, "__all__"):
            assert part in found.__all__, f"{page}: {name}"
        try:
            found = getattr(found, part, None) or inspect.get_annotations(found).get(part)
        except bough.errors.MissingExtraError as error:
            pytest.skip(str(error))
        assert found is not None, f"{page}: {name}"


def test_the_notation_is_not_empty():
    assert sum(page == "notation.md" for page, _ in NAMED) > 15


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        if not target.removeprefix("../").startswith("api/"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def with_python(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the robot that the docs load."""
    robots = [Path(str(f.locate())) for f in files("example-robot-data") or [] if f.name == "g1_29dof_rev_1_0.urdf"]
    shutil.copy(robots[0], tmp_path / "g1.urdf")
    for name in ("arm.urdf", "predicted.pdb", "noe.tbl"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    q, v, qdd, tau = np.random.default_rng(0).normal(size=(4, 50, 2))
    np.savez(tmp_path / "measured.npz", q=q, v=v, qdd=qdd, tau=tau)
    monkeypatch.chdir(tmp_path)
    return tmp_path


GUIDES = [page for page in PAGES if page.parent.name == "guides" and with_python(page)]


@pytest.mark.parametrize("page", [p for p in PAGES if with_python(p) and p not in GUIDES], ids=lambda p: p.name)
def test_examples_run(page, folder):
    """All blocks of a page, one after the other, as a reader would type them."""
    code = "\n".join(with_python(page))
    for word, package in NEEDED.items():
        if word in code and package not in TESTED_WITH:  # what the tests come with must be there
            pytest.importorskip(package, reason=f"{page.name} needs {package}, which is not of the extra `test`")
    exec(code, {})


def test_examples_are_left_out_for_nothing_but_large_packages():
    assert {package for package in NEEDED.values() if package not in TESTED_WITH} == {"torch"}
    packages = set(re.findall(r"^(?:import|from) (\w+)", "\n".join(c for p in PAGES for c in with_python(p)), re.M))
    known = {"bough", "numpy", "polars", *NEEDED.values(), *PEERS.values(), *sys.stdlib_module_names}
    assert packages - known - TESTED_WITH == set()


@pytest.mark.parametrize("page", [p for p in PAGES if with_python(p)], ids=lambda p: p.name)
def test_code_fits_a_laptop(page):
    """A window of 1,366 pixels shows 88 characters of a block beside the contents."""
    assert [line for code in with_python(page) for line in code.splitlines() if len(line) > 88] == []


def test_the_arm_of_the_docs_is_that_of_the_examples():
    assert (ROOT / "examples" / "arm.urdf").read_text() in (ROOT / "docs" / "tutorials" / "index.md").read_text()


def test_every_block_is_of_a_kind_that_is_run():
    """Python, shell, C, CUDA, and outputs of commands; others are directives of Sphinx."""
    for page in PAGES:
        kinds = re.findall(r"^```(.*)$", page.read_text(), re.MULTILINE)[::2]  # every second one is an end
        wrong = {kind for kind in kinds if kind not in ("python", "sh", "c", "bibtex") and not kind.startswith("{")}
        allowed = {"gpu": {"python cuda"}, "control": {"python cuda"}, "commands": {"text"}}.get(page.stem, set())
        assert wrong <= allowed, f"{page.name}: {wrong}"


SHELL = [
    (page.name, line.split("#")[0].strip())
    for page in PAGES
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    for line in block.splitlines()
    if line.split("#")[0].strip()
]


@pytest.mark.parametrize(("page", "line"), SHELL)
def test_every_line_of_the_shell_is_looked_after(page, line):
    """Bough's commands are run below; extras and targets must be there; the C compiler is run on its page."""
    if line.startswith("bough "):
        assert line in COMMANDS
    elif line.startswith("pip install "):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        extras = [name for given in re.findall(r"\[(.*?)\]", line) for name in given.split(",")]
        assert {*extras} <= {*project["optional-dependencies"]}
        needed = [text for extra in project["optional-dependencies"].values() for text in extra]
        known = [re.split(r"[<>=;\[]", text)[0] for text in needed]
        assert line.split()[2].strip("\"'").split("[")[0] in (".", "bough", *known)
    elif line.startswith("make "):
        assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    else:
        assert (page, line.split()[0]) == ("exporting.md", "gcc")


@needs_gpu
def test_the_example_on_a_gpu_runs(folder):
    torch = pytest.importorskip("torch")
    arm = bough.zoo.arm()
    T = torch.asarray(bough.Dynamics(arm).placement(arm.random_configuration(0, 64), "hand"), device="cuda")
    pages = {
        "gpu": {"bough": bough, "torch": torch, "robot": bough.zoo.humanoid()},
        "control": {"bough": bough, "robot": arm, "T": T},
    }
    for page, names in pages.items():
        for block in re.findall(r"```python cuda\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(), re.DOTALL):
            exec(block, names)
    assert torch.isfinite(pages["gpu"]["qdd"]).all()
    assert not pages["gpu"]["dogs"].failed.any()
    assert pages["control"]["found"].success.any()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_equations_become_markup_of_the_browser(page):
    """No page needs a script or a network for its formulas."""
    markup = module_of("mathml").markup
    prose = re.sub(r"`[^`]*`", "", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE))
    for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", prose, flags=re.DOTALL):
        found = markup(block or inline, "block" if block else "inline")
        assert found.startswith("<math")
        assert "\\" not in found
    assert "mathjax" not in (ROOT / "docs" / "conf.py").read_text()


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.name)
def test_both_sides_of_a_guide_agree(page, folder):
    """The other library's script, ours, and what compares them; without the other library ours alone."""
    there = find_spec(PEERS[page.stem]) is not None
    names: dict[str, object] = {}
    for block in with_python(page):
        foreign = f"import {PEERS[page.stem]}" in block or f"from {PEERS[page.stem]}" in block
        if there or not (foreign or "theirs" in block):
            exec(block, names)
    assert names["ours"]
    assert not there or names["theirs"]


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_run(path, folder, monkeypatch):
    """The cells in order, in this process; they print what the page shows."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    names = {}
    for cell in cells:
        with redirect_stdout(StringIO()) as printed:
            exec("".join(cell["source"]), names)
        shown, found = "".join("".join(x.get("text", "")) for x in cell["outputs"]), printed.getvalue()
        if path.stem == "huge-linkage":  # numbers of a selection are those of one machine
            shown, found = (re.sub(r"[\d.e+-]+", "", text) for text in (shown, found))
        assert found == shown


def module_of(name):
    """An extension of Sphinx that is kept with the pages."""
    spec = spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("package", sorted(bough._PACKAGES))
def test_the_reference_has_an_entry_for_every_public_member(package):
    """Names of packages, and what completion shows of their classes, but for what Python's own classes have."""
    text, module = module_of("public_names").page(package), getattr(bough, package)
    for name in module.__all__:
        entry = text.split(f":: bough.{package}.{name}\n", 1)[1].split("\n\n")[0]
        found = getattr(module, name)
        if inspect.isclass(found) and not issubclass(found, BaseException):
            listed = entry.split(":members:")[1].splitlines()[0].replace(",", " ").split()
            foreign = {key for base in found.__mro__ if not base.__module__.startswith("bough") for key in dir(base)}
            assert {key for key in dir(found) if key[0] != "_"} - foreign <= {*listed}, f"bough.{package}.{name}"


def test_the_reference_shows_parameters_by_their_types_and_tables_by_their_names():
    reference, lines = module_of("public_names"), inspect.getdoc(bough.close_loops).split("\n")
    reference.named(None, "function", "", None, None, lines)
    assert lines[lines.index("tolerance") + 1].startswith("    a loop counts as closed")
    for name, before, after in (
        ("simulate.Ensemble.failed", ["(batch,): true where"], ["(batch,): true where"]),
        ("control.Command.tau", [], ["(nv,), zero where there is no motor"]),
    ):
        reference.named(None, "property", f"bough.{name}", None, None, before)
        assert ":" not in "".join(before)  # for napoleon, what stands before one is a type
        reference.as_it_is(None, "property", f"bough.{name}", None, None, before)
        assert before == after
    fields = inspect.getdoc(bough.view.Arrows).split("\n")
    reference.named(None, "class", "bough.view.Arrows", bough.view.Arrows, None, fields)
    assert fields[fields.index("point") + 1] == "    (k, 3) in the frame of that body"
    text = reference.page("dynamics").split("autodata:: bough.dynamics.FUNCTIONS\n")[1].split("\n\n")
    assert text[0].strip() == ":no-value:"
    assert "``forward_dynamics``" in text[1]


def test_experimental_names_are_marked():
    reference = module_of("public_names")
    for name, why in reference.EXPERIMENTAL.items():
        package, _, member = name.partition(".")
        assert not member or member in getattr(bough, package).__all__
        assert f"`bough.{name}` may change in any release: {why}." in reference.page(package)
    assert "marks as *experimental*" in (ROOT / "docs" / "versions.md").read_text()


def test_the_pages_of_the_reference_have_every_package(tmp_path):
    module_of("public_names").write(tmp_path)
    for package in bough._PACKAGES:
        assert f"automodule:: bough.{package}" in (tmp_path / f"{package}.md").read_text()
        assert f"\n{package}\n" in (tmp_path / "index.md").read_text()
    front = (tmp_path / "index.md").read_text()
    assert all(f"`bough.{name} <bough." in front for name in bough._HOMES)  # each a link
    assert all(f"## bough.{name}:" in (tmp_path / "bridges.md").read_text() for name in bough._BRIDGES)


def test_every_page_is_in_the_table_of_contents():
    for folder in (ROOT / "docs", *(ROOT / "docs" / name for name in ("tutorials", "guides", "theory"))):
        listed = set(re.findall(r"^([\w/-]+)$", (folder / "index.md").read_text(), re.MULTILINE))
        for page in folder.glob("*.md"):
            assert page.stem == "index" or page.stem in listed, f"{page} is in no table of contents"


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, folder, monkeypatch):
    if command.startswith("bough cache"):
        monkeypatch.setenv("BOUGH_CACHE_DIR", str(folder / "cache"))
    words = [{"FILE": "g1.urdf", "my.urdf": "arm.urdf"}.get(word, word) for word in shlex.split(command)[1:]]
    if words[:2] == ["view", "run.npz"]:
        CliRunner().invoke(cli.app, ["simulate", "zoo:arm", "--duration", "0.01", "--record", "run.npz"])
    if words[0] == "view" and len(words) > 1 and not {"--html", "--screenshot", "--video"} & {*words}:
        # a page, because a live view lasts until it is stopped
        words += ["--html", "page.html"]
    if "--model" in words:
        words += ["--seconds", "0"]
    if len(words) == 1 or (command.startswith(SLOW_COMMANDS) and "--list" not in words):
        words = [*words[: 2 if words[0] == "cache" else 1], "--help"]
    result = CliRunner().invoke(cli.app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output


NUMBER = re.compile(r"[-+]?[\d.,]*\d(?:e[-+]?\d+)?|\S*/cache|[▀▄█└├│─]")  # of this machine, and what draws trees


def plain(text):
    """Numbers are one sign and white space another, so that runs of two machines can be compared."""
    return " ".join(NUMBER.sub("#", text).split())


def test_outputs_on_the_page_of_commands_are_those_printed(folder):
    """Line by line, but for the demonstration, the measurement and the cache, which are those of one machine."""
    for section in (ROOT / "docs" / "commands.md").read_text().split("\n## ")[1:]:
        commands = re.findall(r"^bough (.*)$", section.split("```text")[0], re.MULTILINE)
        if section.split()[0] in ("demo", "bench", "cache", "reproduce"):
            continue
        found = plain("".join(CliRunner().invoke(cli.app, shlex.split(words)).output for words in commands))
        for line in re.search(r"```text\n(.*?)```", section, re.DOTALL)[1].splitlines():
            assert plain(line) in found, section.split()[0]


def test_every_command_has_a_section_with_an_output():
    sections = (ROOT / "docs" / "commands.md").read_text().split("\n## ")[1:]
    names = [command.name or command.callback.__name__ for command in cli.app.registered_commands]
    assert {section.split()[0] for section in sections} == {*names, "cache"}
    assert all("```text\n" in section for section in sections)


@pytest.mark.parametrize(
    "words", ["install", "gravity compensation", "MPC", "units", "inverse kinematics", "quaternion"]
)
def test_the_search_finds_what_users_type(words):
    """Sphinx searches words of the pages' prose and headings."""
    prose = (re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL) for page in PAGES if page.name != "README.md")
    assert any(re.search(rf"\b{words}\b", text, re.IGNORECASE) for text in prose)


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


@pytest.mark.parametrize("record", sorted((ROOT / "benchmarks" / "results").glob("*.json")), ids=lambda path: path.stem)
def test_tables_of_measurements_are_those_recorded(record):
    assert between(ROOT / "docs" / "benchmarks" / f"{record.stem}.md", record.stem) == report.markdown(record)


def test_summaries_are_made_from_the_records():
    results = ROOT / "benchmarks" / "results"
    assert between(ROOT / "README.md", "forward dynamics") == report.front_table(results)
    front = ROOT / "docs" / "benchmarks" / "index.md"
    assert between(front, "losses") == report.losses(results)
    assert between(front, "overview") == overview.table(results)
    assert front.with_name("overview.svg").read_text() == overview.charts(results)
    assert json.loads(STORY.read_text()) == overview.story(results)


def test_no_other_number_of_microseconds_in_the_readme():
    prose = re.sub(r"<!-- begin .*?<!-- end", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert not re.search(r"\d\s*(us|ms|ns|microseconds|milliseconds|times faster)\b", prose)


def between(page, section):
    """What stands between the marks of a section."""
    return page.read_text().split(f"<!-- begin {section} -->\n")[1].split(f"\n<!-- end {section} -->")[0]


THEORY = {
    module: page
    for page in (ROOT / "docs" / "theory").glob("*.md")
    for module in re.findall(r"\{algorithm\} ([\w.]+)", page.read_text())
}
ALGORITHMS = ("dynamics", "sparsity", "opspace/methods", "adaptive/tree")


def test_every_algorithm_has_a_page():
    """A file whose first line cites a paper is an algorithm."""
    for package in ALGORITHMS:
        for path in (ROOT / "src" / "bough" / package).glob("*.py"):
            first = path.read_text().split("\n", 1)[0]
            module = f"bough.{package.replace('/', '.')}.{path.stem}"
            if re.search(r"\b(19|20)\d\d\b", first) and not re.search(r"[Bb]lock form", first):
                assert module in THEORY, f"{module} has no page in docs/theory"


@pytest.mark.parametrize("module", sorted(THEORY))
def test_pages_on_theory_say_what_they_must(module):
    text = THEORY[module].read_text()
    assert find_spec(module)
    assert "$" in text
    assert re.search(r"## Cost\n\n\S", text)
    assert re.search(r"## Reference\n\n\S", text)
