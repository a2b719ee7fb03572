"""The page: three parts, each with something to see and its numbers. Its words are in `story.html`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from shutil import which
from string import Template
from typing import Any

import numpy as np

from bough import __version__
from bough.app import costs
from bough.app.bench.timing import contest
from bough.app.story import box, settling
from bough.app.story.drawings import bars, plot, table, three
from bough.dynamics import Dynamics
from bough.errors import MissingExtraError
from bough.model import Model
from bough.record import progress_bar, replacing
from bough.view.html import START, data, document, scene_element, scripts
from bough.zoo import humanoid

SECONDS, BATCH = 0.05, 4096  # of timings

COUNTED = ["inverse_dynamics", "mass_matrix", "forward_dynamics", "factorize"]
# In this order they work: the viewer is there before it is used, and a recording before it is played.
NEXT = (
    ("bough info robot.urdf", "your robot: its tree, joints, limits and zeros; without one, zoo:humanoid"),
    ("bough view robot.urdf --html robot.html", "as one page, with a slider for each joint"),
    ("bough settle 'zoo:molecule?n=50000' --force link49999:1,0,0 --record run.npz", "50,000 joints, adaptively"),
    ("bough view run.npz --html run.html", "what happened, step by step"),
    ("pip install 'bough[viewer,bench]'", "for meshes, the live view, and other libraries to compare with"),
    ("bough view robot.urdf", "live: drag forces, look at Lambda, let it settle"),
    ("bough bench --model robot.urdf", "beside Pinocchio and MuJoCo, on your machine"),
)
Say = Callable[[str], None]


def write(to: Path, say: Say, progress: bool = False) -> tuple[Path, dict[str, Any]]:
    """Run everything, and write the page into a folder: its file, and the numbers that are in it."""
    parts, numbers = {}, {}  # type: tuple[dict[str, str], dict[str, Any]]
    with progress_bar("demonstrating", 3, progress) as advance:
        for name, part in (("carry", carrying), ("settle", settled), ("cost", costing)):
            texts, numbers[name] = part(say)
            parts |= texts
            advance(1)
    steps = "\n".join(
        f"<span class='note'># {escape(words)}</span>\n{escape(command)}" for command, words in next_steps()
    )
    body = Template(text("story.html")).substitute(parts, version=__version__, next_steps=steps)
    style = f"<style>{text('story.css')}</style>"
    page = document("Bough: a demonstration", style + body, scripts() + START)
    to.mkdir(parents=True, exist_ok=True)
    with replacing(to / "index.html") as file:
        file.write(page.encode())
    return to / "index.html", numbers


def next_steps() -> list[tuple[str, str]]:
    """What to try next; before it, where the shell would not find `bough`, how it does."""
    here = Path(sys.prefix, "bin", "activate")
    found = which("bough")
    lost = here.exists() and (found is None or Path(found).parent != here.parent)
    return [*([(f"source {here}", "so that `bough` and `pip` are those of this environment")] * lost), *NEXT]


def text(name: str) -> str:
    """A file beside this one."""
    return (files("bough.app.story") / name).read_text(encoding="utf-8")


def carrying(say: Say) -> tuple[dict[str, str], dict[str, Any]]:
    """The humanoid and the box."""
    say("1 of 3: a humanoid puts a box on the floor ...")
    try:
        found = box.carry()
    except MissingExtraError as error:
        say(f"   left out: {error}")
        left_out = f"<p class='note'>Left out: {escape(str(error))}</p>"
        return {"carry_scene": left_out, "carry_table": "", "carry_plot": ""}, {"left_out": str(error)}
    weight, off, pushed = 9.81 * found.model.total_mass, 1e3 * found.box_error.max(), found.forces[:, :, 2]
    rows = [
        ["degrees of freedom, robot and box", f"{found.model.nv}"],
        ["commands, and time of one", f"{found.steps:,}, {1e3 * found.seconds:.2f} ms"],
        ["box from its path, at most", f"{off:.2f} mm"],
        ["largest torque, of its limit", f"{found.effort.max():.0%}"],
        ["weight of robot and box", f"{weight:.0f} N"],
        ["force under the feet, without the box at the end", f"{pushed[-1].sum():.0f} N"],
    ]
    say(f"   {found.steps:,} commands, {1e3 * found.seconds:.2f} ms each; the box within {off:.2f} mm of its path")
    words = f"Normal force under each foot, N: the box leaves the hands at {box.DOWN:g} s"
    parts = {
        "carry_scene": scene_element(data(box.shown(found)), "boxed tall"),
        "carry_table": table(["", ""], rows),
        "carry_plot": plot(found.time, {"left foot": pushed[:, 0], "right foot": pushed[:, 1]}, "time, s", words),
    }
    return parts, {"commands": found.steps, "seconds": found.seconds, "box_off": found.box_error.max()}


def settled(say: Say) -> tuple[dict[str, str], dict[str, Any]]:
    """The linkages that settle."""
    say("2 of 3: a millipede and a cable bridge settle ...")
    rows, plots, scenes, numbers = [], [], [], {}
    for case in (settling.millipede(), settling.bridge()):
        run = settling.beside(case)
        joints, took, plain = len(case.model.joints), 1e6 * run.seconds, 1e6 * run.plain
        rows.append([case.title, f"{joints:,}", f"{run.joints:,.0f}", f"{took:,.0f} us", f"{plain:,.0f} us",
                     f"{plain / took:.1f}x", f"{run.apart:.2%}"])  # fmt: skip
        say(f"   {case.title}: {took:.0f} us a step, plain {plain:.0f} us; {run.joints:.0f} of {joints:,} joints")
        numbers[case.title] = {"joints": joints, "computed": run.joints, "seconds": run.seconds, "plain": run.plain}
        samples = run.recorder.arrays()
        computed = {"joints computed": samples["joints"], "all joints": np.full(len(samples["joints"]), float(joints))}
        plots.append(plot(samples["step"], computed, "step", case.title, log=True))
        scenes.append(scene_element(data(settling.shown(run)), "boxed"))
    head = ["", "joints", "computed", "adaptive step", "plain step", "", "ends apart"]
    texts = {"settle_scenes": "<br>".join(scenes), "settle_table": table(head, rows), "settle_plots": "".join(plots)}
    return texts, numbers


def costing(say: Say) -> tuple[dict[str, str], dict[str, Any]]:
    """Costs and speeds."""
    say("3 of 3: costs and speeds ...")
    model = humanoid()
    dynamics, rng = Dynamics(model), np.random.default_rng(0)
    q, v, tau = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    times = {name: 1e6 * x for name, x in timings(dynamics, q, v, tau).items()}
    name, best = next(iter(times.items()))
    say(f"   {name}: {three(best)} us a call")
    texts = {
        "density": f"{model.dof_tree.density:.0%}",
        "cost_table": table(["", "mul", "add", "div", "paper"], cost_rows(model)),
        "speed_bars": bars(times, "us"),
        "machine": escape(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}"),
    }
    return texts, {"microseconds": times}


def cost_rows(model: Model) -> list[list[str]]:
    """Counted operations beside the papers' formulas, and the factorization beside a dense one."""
    rows = []
    for row in costs.every(model, COUNTED, None, False):
        name = row.function if row.method == row.function else f"{row.function}, {row.method}"
        numbers = [f"{getattr(row.counted, key):,}" for key in ("mul", "add", "div")]
        rows.append([name.replace("_", " "), *numbers, costs.printed(row.formula)])
    tree, n = model.dof_tree, model.nv
    dense = n * (n * n - 1) // 6
    rows.append(["LTDL factorization alone", f"{tree.D2:,}", f"{tree.D2:,}", f"{tree.D1:,}", ""])
    rows.append([f"the same if H were full, {n} x {n}", f"{dense:,}", f"{dense:,}", f"{n * (n - 1) // 2:,}", ""])
    return rows


def timings(dynamics: Dynamics, q: Any, v: Any, tau: Any) -> dict[str, float]:
    """Seconds that each way takes, for one state."""
    H, b = dynamics.mass_matrix(q), tau - dynamics.bias_force(q, v)
    qs, vs, taus = (np.tile(x, (BATCH, 1)) for x in (q, v, tau))
    contestants: dict[str, tuple[Callable[[], Any], int]] = {
        "forward dynamics, chosen automatically": (lambda: dynamics.forward_dynamics(q, v, tau), 1),
        "forward dynamics, CRBA and LTDL": (lambda: dynamics.forward_dynamics(q, v, tau, method="crba"), 1),
        "forward dynamics, RNEA, CRBA and dense LAPACK": (
            lambda: np.linalg.solve(dynamics.mass_matrix(q), tau - dynamics.bias_force(q, v)), 1,
        ),
        "solving with H alone: dense LAPACK": (lambda: np.linalg.solve(H, b), 1),
        f"forward dynamics, {BATCH} at once, each": (lambda: dynamics.forward_dynamics(qs, vs, taus), BATCH),
    }  # fmt: skip
    times = contest({name: run for name, (run, _) in contestants.items()}, SECONDS)
    return times.per({name: size for name, (_, size) in contestants.items()})
