"""What it takes to begin: import, first load, commands, first calls, size on the disk, memory.

Each is measured in processes of its own. A first call is made with an empty cache of compiled code, then with a filled
one; the model is there before.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory

import bough
from benchmarks.absent import Requirements, installed, robot_file
from benchmarks.dynamics import G1
from benchmarks.timing import Timing
from bough.app.bench.timing import Times
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.functions import FUNCTIONS

REPEATS = 5
REQUIRED = Requirements((G1,), ("pinocchio",))
NEEDED = ("numpy", "llvmlite", "typer", "rich")
CLOCK = "from time import perf_counter as now\nbegan = now()\n{code}\nprint(now() - began)"
MODEL = """
import numpy as np, bough
robot = bough.load(path, floating_base=True) if path else bough.zoo.humanoid()
rng = np.random.default_rng(0)
q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
frame, frames = robot.frame_names[-1], robot.frame_names[-2:]
"""
# What stands before the first call, and the call
LARGER = {
    "Dynamics.vjp": ("dyn = bough.Dynamics(robot)", "dyn.vjp('forward_dynamics', q, v, v, weight=v)"),
    "Dynamics.forward_dynamics, general code": (
        "dyn = bough.Dynamics(robot, general=True)", "dyn.forward_dynamics(q, v, v)"),
    "OperationalSpace of two poses": (
        "", "bough.OperationalSpace(robot, [bough.pose(f) for f in frames])(q, v).inertia"),
    "ik.solve": (
        "goal = bough.Dynamics(robot).placement(q, frame)", "bough.ik.solve(robot, {frame: goal}, robot.neutral)"),
    "simulate.rollout of 10 steps": ("", "bough.simulate.rollout(robot, q, 0 * v, duration=0.01, dt=1e-3)"),
    "export_c": (
        "import tempfile; folder = tempfile.mkdtemp()",
        "bough.export_c(robot, ['forward_dynamics'], folder + '/robot.c')"),
    "adaptive.QuasiStatics, molecule of 2,000: first adaptive step": (
        "sim = bough.adaptive.QuasiStatics(bough.zoo.molecule(2000), bough.adaptive.relative_joint(1e-3), "
        "method='adaptive')\nsim.apply_force(1999, (0.0, 0.0, 1.0))",
        "sim.step(1e-3)"),
    "adaptive.Dynamics, molecule of 2,000: first adaptive step": (
        "sim = bough.adaptive.Dynamics(bough.zoo.molecule(2000), bough.adaptive.body_acceleration(1e-2), "
        "method='adaptive')",
        "sim.step(1e-3)"),
}  # fmt: skip
RESIDENT = """
from pathlib import Path
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
print(next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan")))
"""


def rows() -> list[Timing]:
    """The light side first, then first calls."""
    return [*beginning(), *commands(), size(), memory(), *first_calls()]


def clocked(code: str, cache: str | None = None, before: str = "") -> float:
    """Seconds that `code` takes in a new process, after what stands `before` it."""
    environment = dict(os.environ) | ({"BOUGH_CACHE_DIR": cache} if cache else {})
    program = before + "\n" + CLOCK.format(code=code)
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{code} failed: {run.stderr[-500:]}")
    return float(run.stdout.split()[-1])


def best(code: str, before: str = "") -> dict[str, float]:
    taken = sorted(clocked(code, before=before) for _ in range(REPEATS))
    return {"best": taken[0], "median": taken[len(taken) // 2]}


def timed(group: str, model: str, case: str, codes: dict[str, str]) -> Timing:
    found = {name: best(code) for name, code in codes.items()}
    return Timing(group, model, case, Times(*({n: x[k] for n, x in found.items()} for k in ("best", "median"))))


def beginning() -> Iterator[Timing]:
    group, path = "beginning, in a new process", robot_file(G1)
    for module in ("bough", "numpy"):
        yield timed(group, "", f"import {module}", {module: f"import {module}"})
    if path:
        load = f"import bough; bough.load({str(path)!r}, floating_base=True)"
        peer = f"import pinocchio; pinocchio.buildModelFromUrdf({str(path)!r}, pinocchio.JointModelFreeFlyer())"
        peers = {"pinocchio": peer} if installed("pinocchio") else {}
        yield timed(group, G1, "import and load", {"bough": load} | peers)


def commands() -> Iterator[Timing]:
    """Whole processes, Python's own start included."""
    path = robot_file(G1)
    calls = {"--help": ["--help"]} | ({"info": ["info", str(path)]} if path else {})
    for name, words in calls.items():
        code = (
            f"import subprocess, sys; subprocess.run([sys.executable, '-m', 'bough', *{words!r}], capture_output=True)"
        )
        yield timed("beginning, in a new process", G1 * (name == "info"), f"bough {name}", {"bough": code})


def size() -> Timing:
    """On the disk, with all packages that a plain installation brings."""
    own = sum(f.stat().st_size for f in Path(bough.__file__).parent.rglob("*") if f.suffix not in (".pyc", ".so"))
    packages = with_requirements(NEEDED)
    others = sum(map(bytes_of, packages))
    numbers = {
        "required": float(len(NEEDED)),
        "packages": float(len(packages) + 1),
        "MB": (own + others) / 1e6,
        "MB of its own": own / 1e6,
    }
    return Timing("beginning, in a new process", "", "pip install bough", {}, numbers=numbers)


def with_requirements(names: tuple[str, ...]) -> set[str]:
    """These packages, and what they need in turn on this machine."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = re.sub(r"[-_.]+", "-", left.pop()).lower()
        if name in found:
            continue
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            continue
        found.add(name)
        left += [re.split(r"[\s;<>=!~\[(]", text)[0] for text in needed if ";" not in text]
    return found


def bytes_of(package: str) -> int:
    files = distribution(package).files or []
    return sum(path.stat().st_size for f in files if (path := Path(str(f.locate()))).exists() and path.suffix != ".pyc")


def memory() -> Timing:
    """Resident memory of a process, as Linux tells it."""
    called = f"path = {str(robot_file(G1) or '')!r}\n{MODEL}\nbough.Dynamics(robot).forward_dynamics(q, v, v)"
    numbers = {}
    for name, code in {"numpy": "import numpy", "bough": "import bough", "bough and one call": called}.items():
        run = subprocess.run([sys.executable, "-c", code + RESIDENT], capture_output=True, text=True, check=True)
        numbers[f"MB with {name}"] = float(run.stdout.split()[-1])
    return Timing("beginning, in a new process", "", "memory", {}, numbers=numbers)


def first_calls() -> Iterator[Timing]:
    """Of every function of the table and of what is built on them: compiled now, and found in the cache."""
    path = robot_file(G1)
    head = f"path = {str(path or '')!r}\n{MODEL}"
    name = G1 if path else "humanoid"
    for entry, (before, code) in ({f"Dynamics.{f}": of_function(f) for f in FUNCTIONS} | LARGER).items():
        with TemporaryDirectory() as cache:
            cold = clocked(code, cache, head + before)
            warm = min(clocked(code, cache, head + before) for _ in range(2))
        yield Timing("first call", name, entry, {"bough": cold, "bough, from the cache": warm})


def of_function(name: str) -> tuple[str, str]:
    """A function of the table by its public name, on the arrays that it takes."""
    given = {"q": "q", "dt": "np.array([1e-3])", "frame": "frame"}
    wanted = [p for p in signature(getattr(Dynamics, name)).parameters.values() if p.default is p.empty]
    names = [p.name for p in wanted if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"]
    return "dyn = bough.Dynamics(robot)", f"dyn.{name}({', '.join(given.get(x, 'v') for x in names)})"
