"""Table 1 and Figs. 5, 7 and 8: time, joints computed and displacement error against the threshold."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np

from papers.redon_lin.protocol import FORCES, FULL, MILLIPEDES, SHORT, TABLE_EXPONENTS
from papers.redon_lin.recording import OWN_RECORD, cells, record
from papers.result import MEASURED, Figure, Result, Row
from papers.style import COLOURS, INK, legend_outside

RECORDED = files("papers.redon_lin") / "recorded.json"
# by the number of forces, for eps = 2^-3, 2^-7, 2^-11, 2^-15, 2^-19
PRINTED: dict[str, dict[int, tuple[float, ...]]] = {
    "milliseconds": {1: (0.6, 0.9, 1.4, 1.9, 2.4), 10: (0.9, 1.3, 1.8, 2.6, 3.1), 100: (2.7, 4.1, 6.4, 7.8, 8.4),
                     1000: (17.8, 21.4, 42.6, 49.2, 49.9)},
    "joints": {1: (25, 37, 47, 59, 73), 10: (32, 45, 56, 75, 85), 100: (39, 80, 145, 189, 206),
               1000: (41, 149, 830, 1060, 1086)},
    "error": {1: (6e-5, 2e-6, 1e-7, 4e-9, 2e-9), 10: (1e-4, 1e-4, 4e-7, 4e-8, 1e-8),
              100: (8e-4, 6e-4, 7e-5, 3e-6, 1e-7), 1000: (6e-3, 2e-3, 7e-5, 2e-6, 6e-8)},
}  # fmt: skip
REMARKS = (
    "The paper says neither what its molecule is, nor where and how strongly its forces act, nor how long a step is. "
    "Here: bonds to one of the two atoms before, four at most, the molecule that a search found nearest to the row of "
    "one force (below), so that this row is fitted; forces of about 1 N on the last bodies (adjacent) or on "
    "bodies drawn at random (scattered); dt = 1 ms; random start. At coarse thresholds with many forces the paper "
    "computes fewer joints than there are forces: how is not said, and these cells stay open.",
    "Displacement errors: at the end of the run; in the note, that over the number of steps, which the text of the "
    "paper calls the average per time step. The formula printed lacks the difference of the displacements.",
    "Times: one thread, on a machine that did other work as well. Those of the adaptive method are of a whole run, "
    "those of the exact methods the best of "
    "several, so that the gains are understated.",
)
POSTURES = {"millipede": "straight", "millipede, winding": "winding", "millipede, coiled": "coiled"}
DCA = {1: 875.1, 10: 873.0, 100: 875.0, 1000: 880.0}  # milliseconds
Cells = dict[str, Any]


def run(full: bool = False) -> Result:
    """The recorded runs in the paper's protocol, and the same cells run now with few steps; `full` records anew."""
    say = partial(print, file=sys.stderr)
    recorded: Cells = record(OWN_RECORD, FULL, say) if full else json.loads(RECORDED.read_text())
    now = {} if full else dict(cells((SHORT[0]._replace(forces=(1, 10), steps=20),)))
    rows = list(_table(recorded, now))
    rows += _gains(recorded)
    drawn = (
        _time_and_joints(recorded),
        _time_and_joints(recorded, "scattered"),
        _millipede(recorded),
        _errors(recorded),
    )
    figures = tuple(figure for figure in drawn if figure)
    return Result(tuple(rows), figures, REMARKS, {"recorded": recorded, "now": now})


def _key(linkage: str, where: str, forces: int, exponent: int | str) -> str:
    return f"{linkage}/{where}/{forces}/{exponent}"


def _table(recorded: Cells, now: Cells) -> Iterable[Row]:
    """Table 1 cell by cell: the molecule, and for the joints the chain as well."""
    for forces in FORCES:
        for k, e in enumerate(TABLE_EXPONENTS):
            cell = recorded.get(_key("molecule", "adjacent", forces, e))
            if cell is None:
                continue
            where = f"molecule, {forces} force{'s' * (forces > 1)}, 2^-{e}"
            yield _row(
                f"{where}: milliseconds", PRINTED["milliseconds"][forces][k], 1e3 * cell["seconds"], _steps(cell)
            )
            others = [
                f"chain {recorded[key]['joints']:.0f}"
                for key in [_key("chain", "adjacent", forces, e)]
                if key in recorded
            ]
            live = now.get(_key("molecule", "adjacent", forces, e))
            others += [f"{live['joints']:.0f} in {live['steps']} steps just now"] if live else []
            yield _row(f"{where}: joints", PRINTED["joints"][forces][k], cell["joints"], "; ".join(others))
            note = f"end of the run; mean of the run {cell['error_mean']:.0e}"
            note += f"; over the number of steps {cell['error_end'] / cell['steps']:.0e}"
            yield _row(f"{where}: displacement error", PRINTED["error"][forces][k], cell["error_end"], note)


def _row(what: str, printed: float, found: float, note: str) -> Row:
    return Row(
        what,
        f"{printed:g}",
        f"{found:,.0f}" if found >= 1000 else f"{found:.3g}",
        _times(found / printed),
        MEASURED,
        note,
    )


def _times(x: float) -> str:
    return f"{x:,.0f}x" if x >= 10 else f"{x:.2g}x"


def _steps(cell: Cells) -> str:
    return f"{cell['steps']} steps"


def _gains(recorded: Cells) -> list[Row]:
    """Beside divide and conquer without total accelerations, and beside plain ABA."""
    rows = []
    for linkage, where in (
        ("molecule", "adjacent"),
        ("chain", "adjacent"),
        ("molecule", "scattered"),
        ("chain", "scattered"),
    ):
        for forces in FORCES:
            base, fine = (recorded.get(_key(linkage, where, forces, e)) for e in ("exact", 19))
            if base is None or fine is None:
                continue
            printed = (
                f"{DCA[forces] / PRINTED['milliseconds'][forces][-1]:.3g}"
                if (linkage, where) == ("molecule", "adjacent")
                else ""
            )
            dca, aba = (1e3 * _fastest(recorded, linkage, method, fine.get("cpu")) for method in ("dca", "aba"))
            gain = dca / (1e3 * fine["seconds"])
            note = f"beside ABA {_times(aba / (1e3 * fine['seconds']))}; DCA {dca:.3g} ms, ABA {aba:.3g} ms"
            note += f"; {_steps(fine)}"
            rows.append(Row(f"{linkage}, {forces} {where}: times faster than DCA at 2^-19", printed, _times(gain),
                            _times(gain / float(printed)) if printed else "", MEASURED, note))  # fmt: skip
    return rows


def _fastest(recorded: Cells, linkage: str, method: str, cpu: str | None) -> float:
    """Seconds of a step of an exact method: forces do not matter to it, so that the best run on a CPU is taken."""
    exact = [x for name, x in recorded.items() if name.startswith(f"{linkage}/") and name.endswith("/exact")]
    return min(x[method] for x in exact if x.get("cpu") == cpu)


def _series(recorded: Cells, linkage: str, where: str, forces: int, what: str) -> tuple[list[float], list[float]]:
    found = {
        e: recorded[_key(linkage, where, forces, e)][what]
        for e in range(20)
        if _key(linkage, where, forces, e) in recorded
    }
    return [2.0**-e for e in found], list(found.values())


def _time_and_joints(recorded: Cells, where: str = "adjacent") -> Figure:
    def draw(canvas: Any) -> None:
        grid = canvas.subplots(2, 2, sharex=True)
        for row, linkage in enumerate(("molecule", "chain")):
            for column, what in enumerate(("seconds", "joints")):
                _by_forces(grid[row][column], recorded, f"{linkage}/{where}", what)
            _baselines(grid[row][0], recorded, linkage, where)
            grid[row][0].set_ylabel(f"{linkage}: milliseconds a step")
            grid[row][1].set_ylabel(f"{linkage}: joints computed")
        for axes in grid[1]:
            axes.set_xlabel("relative joint acceleration error eps")
        grid[0][0].invert_xaxis()  # all four share it
        legend_outside(canvas, grid[0][0], 4)

    if where == "scattered":
        return Figure("scattered", SCATTERED, draw, (9.5, 7.0))
    return Figure("figure7", FIGURE7, draw, (9.5, 7.0))


def _by_forces(axes: Any, recorded: Cells, runs: str, what: str) -> None:
    """One line for each number of forces, and the figures of Table 1 where they are about these runs."""
    for k, forces in enumerate(FORCES):
        linkage, where = runs.split("/")
        x, y = _series(recorded, linkage, where, forces, what)
        label = f"{forces} force{'s' * (forces > 1)}"
        axes.loglog(x, np.array(y) * (1e3 if what == "seconds" else 1), marker=".", color=COLOURS[k], label=label)
        if runs == "molecule/adjacent":
            printed = PRINTED["milliseconds" if what == "seconds" else "joints"][forces]
            eps = [2.0**-e for e in TABLE_EXPONENTS]
            axes.plot(eps, printed, "x--", color=COLOURS[k], markersize=6, linewidth=0.7, alpha=0.7)
    if runs == "molecule/adjacent":
        axes.plot([], [], "x--", color=INK, label="printed", markersize=6, linewidth=0.7)


FIGURE7 = (
    "Fig. 7: time of a step (left; 16 runs side by side on 16 cores) and joints computed (right) against the "
    "threshold, with 1 to 1,000 forces on neighbouring bodies of linkages with 50,000 joints. Crosses joined by dashes "
    "are the figures of Table 1. The chain needs about as many joints as the paper's molecule; the molecule is chosen "
    "by its row of one force. Dotted: divide and conquer; dash-dotted: ABA of all joints, which the paper does not "
    "compare with."
)
SCATTERED = (
    "The same with forces on bodies drawn at random: each force has its own surroundings, so that joints computed grow "
    "with the number of forces, and beyond some hundred forces ABA of all joints (dash-dotted) is faster."
)


def _baselines(axes: Any, recorded: Cells, linkage: str, where: str) -> None:
    cpu = recorded[_key(linkage, where, 1, "exact")].get("cpu")
    for method, style, name in (("dca", ":", "divide and conquer"), ("aba", "-.", "ABA")):
        label = name if linkage == "molecule" else None
        axes.axhline(1e3 * _fastest(recorded, linkage, method, cpu), color=INK, linestyle=style, label=label)


def _millipede(recorded: Cells) -> Figure | None:
    if any(_key(name, "middle", 1, 19) not in recorded for name in MILLIPEDES):
        return None

    def draw(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        for k, name in enumerate(MILLIPEDES):
            x, y = _series(recorded, name, "middle", 1, "seconds")
            left.loglog(x, 1e3 * np.array(y), marker=".", color=COLOURS[k], label=POSTURES[name])
            right.loglog(*_series(recorded, name, "middle", 1, "joints"), marker=".", color=COLOURS[k])
        base = recorded[_key("millipede", "middle", 1, "exact")]
        left.axhline(1e3 * base["dca"], color=INK, linestyle=":", label="divide and conquer")
        left.axhline(1e3 * base["aba"], color=INK, linestyle="-.", label="ABA")
        left.set_ylabel("milliseconds a step")
        right.set_ylabel("joints computed")
        for axes in (left, right):
            axes.set_xlabel("relative joint acceleration error eps")
            axes.invert_xaxis()
        legend_outside(canvas, left, 5)

    caption = (
        "Fig. 5: one force on the middle of the spine of a millipede with 13,000 links, floating, in three postures. "
        "The number of joints computed grows with the precision, and the posture decides how fast. In the paper the "
        "method is slower than divide and conquer below 1e-4; here: "
        f"{'; '.join(_turn(recorded, name) for name in MILLIPEDES)}."
    )
    return Figure("figure5", caption, draw, (9.0, 4.0))


def _turn(recorded: Cells, name: str) -> str:
    """From which threshold on divide and conquer is faster."""
    dca = recorded[_key(name, "middle", 1, "exact")]["dca"]
    slower = [e for e in range(20) if recorded[_key(name, "middle", 1, e)]["seconds"] > dca]
    return f"{POSTURES[name]} {f'from 2^-{slower[0]} on' if slower else 'at no threshold'}"


def _errors(recorded: Cells) -> Figure:
    def draw(canvas: Any) -> None:
        both = canvas.subplots(1, 2, sharey=True)
        for axes, linkage in zip(both, ("molecule", "chain"), strict=True):
            for k, forces in enumerate(FORCES):
                label = f"{forces} force{'s' * (forces > 1)}"
                x, y = _series(recorded, linkage, "adjacent", forces, "error_end")
                axes.loglog(x, y, marker=".", color=COLOURS[k], label=label)
                axes.loglog(x, np.array(y) / 4000, ":", color=COLOURS[k])
                if linkage == "molecule":
                    axes.plot([2.0**-e for e in TABLE_EXPONENTS], PRINTED["error"][forces], "x", color=COLOURS[k])
            axes.plot([], [], ":", color=INK, label="over the number of steps")
            axes.plot([], [], "x", color=INK, label="printed")
            axes.set_title(linkage)
            axes.set_xlabel("relative joint acceleration error eps")
            axes.invert_xaxis()
        both[0].set_ylabel("relative displacement error")
        legend_outside(canvas, both[0])

    caption = (
        "Fig. 8: relative displacement error of the centres of gravity after 4,000 steps (lines with dots), the same "
        "over the number of steps (dotted lines), and the figures of Table 1 (crosses). Printed errors of one "
        "force lie nearer to the dotted lines, so that they may be averages per step; a final error below 1e-6 is not "
        "to be expected."
    )
    return Figure("figure8", caption, draw, (9.0, 4.4))
