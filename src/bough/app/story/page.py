"""The page of `bough demo`: three acts, each with a scene, code, and times beside others. Its text is `story.html`."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from shutil import which
from string import Template
from typing import Any

import numpy as np

import bough
from bough import __version__
from bough.app import costs
from bough.app.bench.timing import contest
from bough.app.story import box, runs
from bough.dynamics import Dynamics
from bough.errors import MissingExtraError
from bough.record import make_folder, progress_bar, replacing
from bough.view import Scene, scene
from bough.view.html import START, data, document, scene_element, scripts
from bough.zoo import humanoid

SECONDS, BATCH = 0.05, 4096  # of timings
COPY = """document.querySelectorAll('.code button').forEach((b) => b.addEventListener('click', () => {
  navigator.clipboard.writeText(b.nextElementSibling.textContent);
  b.textContent = 'copied';
}));"""

# In the order in which they work: install the viewer before using it, record before playing.
NEXT = (
    ("bough info robot.urdf", "your robot: its tree, joints, limits and zeros; without one, zoo:humanoid"),
    ("bough view robot.urdf --html robot.html", "as one page, with a slider for each joint"),
    ("bough settle 'zoo:molecule?n=50000' --force link49999:1,0,0 --record run.npz", "50,000 joints, adaptively"),
    ("bough view run.npz --html run.html", "what happened, step by step"),
    ("pip install 'bough[viewer,bench]'", "for meshes, the live view, and other libraries to compare with"),
    ("bough view robot.urdf", "live: contacts and gravity, pull at links with ctrl and the mouse"),
    ("bough bench --model robot.urdf", "beside Pinocchio and MuJoCo, on your machine"),
)
HUMANOID = """
import bough

# yours: bough.load("robot.urdf", floating_base=True)
robot = bough.zoo.humanoid()
dyn = bough.Dynamics(robot)
q, zero = robot.random_configuration(), [0.0] * robot.nv
qdd = dyn.forward_dynamics(q, v=zero, tau=zero)
H = dyn.mass_matrix(q)            # half of it is zero
x = dyn.factorize(q).solve(H[0])  # without fill-in
"""
MOLECULE = """
import bough
from bough import adaptive

molecule = bough.zoo.molecule(50_000).with_gravity((0, 0, 0))
error = adaptive.energy(0.01)
sim = adaptive.QuasiStatics(molecule, error=error)
sim.apply_force("link49999", (0.0, 0.0, 1.0))
sim.run(10, 0.01)
print(sim.stats.joints, "of", molecule.nv, "joints")
"""
QUADRUPEDS = """
import numpy as np
import bough
from bough.simulate import Contacts, Ensemble

robot = bough.zoo.quadruped(stiffness=60, damping=3)
q = np.tile(robot.rest_configuration, (512, 1))
q[:, 2] = np.linspace(0.4, 0.7, 512)  # heights
v = np.zeros((512, robot.nv))
feet = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]
robots = Ensemble(robot, q, v, dt=2e-3,
                  contacts=Contacts(feet))
robots.step(500)
"""
Say = Callable[[str], None]
Act = tuple[dict[str, str], dict[str, Any]]  # texts of the page, and its numbers


def write(to: Path, say: Say, progress: bool = False) -> tuple[Path, dict[str, Any]]:
    """Run everything, and write the page into a folder: its file, and the numbers that are in it."""
    known = json.loads(text("recorded.json"))
    make_folder(to)
    parts, numbers = {}, {}  # type: tuple[dict[str, str], dict[str, Any]]
    with progress_bar("demonstrating", 3, progress) as advance:
        for name, run in (("humanoid", carrying), ("molecule", pulling), ("quadrupeds", falling)):
            texts, numbers[name] = run(say, known)
            parts |= texts
            advance(1)
    steps = "\n".join(
        f"<span class='note'># {escape(words)}</span>\n{escape(command)}" for command, words in next_steps()
    )
    here = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    body = Template(text("story.html")).substitute(
        parts, version=__version__, next_steps=steps, machine=escape(here), recorded_on=escape(known["machine"]),
        humanoid_links=links(to, ("tutorials/first-robot", "your own URDF in ten minutes"), ("overview", "overview"),
                             ("benchmarks/index", "benchmarks")),
        molecule_links=links(to, ("adaptive", "huge linkages"), ("molecules", "proteins")),
        quadrupeds_links=links(to, ("loops-and-contacts", "loops and contacts"), ("gpu", "GPU"),
                         ("tutorials/learning", "learning")),
    )  # fmt: skip
    style = f"<style>{text('story.css')}</style>"
    page = document("Bough: a demonstration", style + body, scripts() + START + COPY)
    with replacing(to / "index.html") as file:
        file.write(page.encode())
    return to / "index.html", numbers


def links(to: Path, *pages: tuple[str, str]) -> str:
    """Pages of the docs: links in a checkout, names elsewhere."""
    docs = Path(bough.__file__).parents[2] / "docs"
    known = [(docs / f"{name}.md", f"docs/{name}.md", words) for name, words in pages]
    return "Read on: " + ", ".join(
        f"<a href='{escape(Path(os.path.relpath(path, to)).as_posix())}'>{words}</a>"
        if path.exists()
        else f"{words} ({name})"
        for path, name, words in known
    )


def next_steps() -> list[tuple[str, str]]:
    """Commands to try next, after one that puts `bough` on the path, if necessary."""
    here = Path(sys.prefix, "bin", "activate")
    found = which("bough")
    lost = here.exists() and (found is None or Path(found).parent != here.parent)
    return [*([(f"source {here}", "so that `bough` and `pip` are those of this environment")] * lost), *NEXT]


def carrying(say: Say, known: dict[str, Any]) -> Act:
    """The humanoid with the box; without the solver of its controller, one that stands."""
    say("1 of 3: a humanoid ...")
    model, numbers = humanoid(), dict[str, Any]()
    try:
        found = box.carry()
        shown = box.shown(found)
        numbers |= {"commands": found.steps, "seconds": found.seconds, "box_off": found.box_error.max()}
        say(f"   {found.steps:,} commands of whole-body control, {time(found.seconds)} each")
    except MissingExtraError as error:
        say(f"   it does not move: {error}")
        shown, numbers["left_out"] = scene(model, title="A humanoid"), str(error)
    times = timings(Dynamics(model))
    say(f"   forward dynamics of 30 degrees of freedom: {time(times['one'])} a call")
    row = next(x for x in costs.every(model, ["forward_dynamics"], None, False) if x.method == "aba")
    texts = act("humanoid", shown, known["humanoid"], HUMANOID) | {
        "humanoid_time": time(times["one"]), "batch_time": time(times["batch"]), "batch": f"{BATCH:,}",
        "count": escape(str(row.counted)), "printed": escape(costs.printed(row.formula)),
    }  # fmt: skip
    return texts, numbers | {"forward_dynamics": times}


def timings(dynamics: Dynamics) -> dict[str, float]:
    """Seconds of forward dynamics: one call, and each in a batch."""
    model, rng = dynamics.model, np.random.default_rng(0)
    q, v, tau = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    many = [np.tile(x, (BATCH, 1)) for x in (q, v, tau)]
    calls = {
        "one": lambda: dynamics.forward_dynamics(q, v, tau),
        "batch": lambda: dynamics.forward_dynamics(*many, threads=1),
    }
    return dict(contest(calls, SECONDS).per({"one": 1, "batch": BATCH}))


def pulling(say: Say, known: dict[str, Any]) -> Act:
    """The molecule."""
    say(f"2 of 3: a molecule of {runs.JOINTS:,} joints ...")
    shown, n = runs.pull()
    say(f"   {n['computed']:,.0f} of {n['joints']:,} joints: {time(n['seconds'])} a step, with all {time(n['full'])}")
    return act("molecule", shown, known["molecule"], MOLECULE) | {
        "joints": f"{n['joints']:,}", "recorded_joints": f"{known['molecule_joints']:,}",
        "molecule_joints": f"{n['computed']:,.0f}", "molecule_time": time(n["seconds"]),
        "molecule_full": time(n["full"]),
    }, n  # fmt: skip


def falling(say: Say, known: dict[str, Any]) -> Act:
    """The quadrupeds."""
    say(f"3 of 3: {runs.ROBOTS:,} quadrupeds fall on the ground ...")
    shown, n = runs.fall()
    say(f"   {time(n['seconds'])} for a step of one robot")
    return act("quadrupeds", shown, known["quadruped"], QUADRUPEDS) | {
        "robots": f"{n['robots']:,}", "quadrupeds_time": time(n["seconds"]), "residual": f"{n['residual']:.0e}",
    }, n  # fmt: skip


def act(name: str, shown: Scene, recorded: Mapping[str, float], code: str) -> dict[str, str]:
    """The parts of an act: its scene, bars of recorded times, and code with a button that copies it."""
    return {
        f"{name}_scene": scene_element(data(shown), "boxed tall"), f"{name}_bars": bars(recorded),
        f"{name}_code": f"<div class='code'><button>copy</button><pre>{escape(code.strip())}</pre></div>",
    }  # fmt: skip


def bars(seconds: Mapping[str, float]) -> str:
    """A bar for each time, in linear scale; those of Bough stand out."""
    most = max(seconds.values())
    return "".join(
        f"<div class='bar{' own' * name.startswith('Bough')}'><span>{escape(name)}</span>"
        f"<i style='width:{100 * value / most:.1f}%'></i><b>{time(value)}</b></div>"
        for name, value in seconds.items()
    )


def time(seconds: float) -> str:
    """A time in three digits."""
    unit, size = next((x for x in (("us", 1e-6), ("ms", 1e-3)) if seconds < 1000 * x[1]), ("s", 1.0))
    return f"{float(f'{seconds / size:.3g}'):g} {unit}"


def text(name: str) -> str:
    """A file beside this one."""
    return (files("bough.app.story") / name).read_text(encoding="utf-8")
