"""Section 6.3 and 6.4: what molecule would give the paper's numbers, and the complexity of a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive import near
from bough.model import Model
from bough.zoo import chain, millipede, molecule, random_tree
from papers.redon_lin.protocol import DT, TABLE_EXPONENTS, Experiment, simulation
from papers.redon_lin.table1 import PRINTED
from papers.result import MEASURED, Figure, Result, Row
from papers.style import COLOURS, INK, legend_outside

BONDS, MORE = 10_000, 50_000
STEPS = 3


def linkages(n: int) -> dict[str, Model]:
    """From a chain, over backbones with ever longer side chains, to a bush."""
    found = {f"molecule, window {w}": molecule(n, window=w) for w in (1, 2, 3, 5, 10, 30, 100)}
    return {"chain, axes at random": chain(n), "chain, straight": chain(n, geometry="straight"), **found,
            "random recursive tree": random_tree(n),
            "millipede, coiled": millipede(legs=n // 13, geometry="random", floating=True),
            "millipede, straight": millipede(legs=n // 13, geometry="straight", floating=True)}  # fmt: skip


def variants(n: int) -> dict[str, tuple[Model, Any]]:
    """The molecule of Table 1 with other masses, other levers and other assembly trees."""
    model = molecule(n)
    spread = 10.0 ** np.random.default_rng(0).uniform(-1, 1, (n, 1))
    levers = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])  # mass, first and second moments grow with these powers of a size
    last = [model.body_names[-1]]
    return {
        "masses over two decades": (model.with_inertias(spread * model.inertias), "balanced"),
        "bodies a third as large": (model.with_inertias(model.inertias * 3.0**-levers), "balanced"),
        "bodies three times as large": (model.with_inertias(model.inertias * 3.0**levers), "balanced"),
        "sizes over a decade": (model.with_inertias(model.inertias * spread ** (levers / 2)), "balanced"),
        "assembly tree chain first": (model, "chain_first"),
        "assembly tree around the force": (model, near(last)),
    }


def run(full: bool = False) -> Result:
    """Joints computed with one force on the last body, by the linkage; and the share of joints, the complexity."""
    n = MORE if full else BONDS
    plan = Experiment("search", "adjacent", (1,), TABLE_EXPONENTS, STEPS)
    middle = plan._replace(linkage="millipede", where="middle")
    counts = {
        name: joints(model, plan=middle if name == "millipede, straight" else plan)
        for name, model in linkages(n).items()
    }
    others = {f"molecule, window 30, {name}": joints(*given, plan=plan) for name, given in variants(n).items()}
    printed = PRINTED["joints"][1]
    rows = []
    for name, found in (counts | others).items():
        off = float(np.mean(np.abs(np.log2(np.array(found) / printed))))
        rows.append(Row(f"{name}: joints at 2^-3, -7, -11, -15, -19", ", ".join(f"{x:g}" for x in printed),
                        ", ".join(f"{x:.0f}" for x in found), f"{2**off:.2f}x", MEASURED,
                        f"mean factor apart; complexity (joints at 2^-11 / n) {found[2] / n:.2%}"))  # fmt: skip
    nearest = min(rows[:9], key=lambda row: float(row.ratio.rstrip("x")))
    caption = (
        f"Joints computed under one force on the last body of linkages with {n:,} joints, and the paper's figures for "
        "its molecule of 50,000 (crosses). The longer and the more branched the side chains, the more joints matter at "
        "small thresholds. The paper's numbers are met by a backbone with short side groups, in which each atom is "
        "bound to one of the two before it."
    )
    remark = (
        f"Nearest to the paper: {nearest.what.partition(':')[0]}. The number of joints follows how fast the "
        "influence of a force falls off along the linkage, not the number of bodies; of what was tried the graph "
        "changes it most, then the size of the bodies; masses and the assembly tree change it little. "
        "Section 6.4 calls for a measure of the complexity of a motion "
        "and compares the share of joints computed at a threshold: that is `sim.stats.complexity`."
    )
    local = counts["molecule, window 2"][2] < counts["millipede, straight"][2]
    rows.append(Row("complexity of a motion, joints at 2^-11 / n: less for a molecule than for a millipede", "yes",
                    "yes" if local else "no", "", MEASURED,
                    "section 6.4, Figs. 5 and 7; of a straight millipede, and by posture: see Fig. 5"))  # fmt: skip
    figure = Figure("molecules", caption, lambda canvas: draw(canvas, counts), (9.0, 4.8))
    return Result(tuple(rows), (figure,), (remark,), {"joints": counts})


def joints(model: Model, assembly: Any = "balanced", *, plan: Experiment) -> list[float]:
    """Joints computed in a step, at each threshold, from a random configuration."""
    still = model.with_gravity((0.0, 0.0, 0.0))
    found = []
    for exponent in plan.exponents:
        sim = simulation(still, plan, 1, exponent, "adaptive", assembly)
        sim.run(plan.steps, DT)
        found.append(float(sim.stats.joints))
    return found


def draw(canvas: Any, counts: dict[str, list[float]]) -> None:
    axes = canvas.subplots()
    eps = [2.0**-e for e in TABLE_EXPONENTS]
    for k, (name, found) in enumerate(counts.items()):
        axes.loglog(eps, found, "o^svDP"[k % 6] + ("-", "--")[k // 6], color=COLOURS[k % 6], label=name)
    axes.plot(eps, PRINTED["joints"][1], "x", color=INK, markersize=8, markeredgewidth=2, label="printed", zorder=5)
    axes.invert_xaxis()
    axes.set_xlabel("relative joint acceleration error eps")
    axes.set_ylabel("joints computed")
    legend_outside(canvas, axes, 3)
