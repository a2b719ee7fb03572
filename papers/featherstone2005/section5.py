"""Section 5: what transforming vectors and inertias between links costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough import cost, zoo
from bough.compile.graph.program import OperationCount
from bough.spatial import motion_out, rigid_add, x_motion_out, z_motion_out, z_rigid_in
from papers.counting import executed, traced
from papers.result import MEASURED, Result, Row, exact, measured
from papers.screw_products import angle_products, rigid_screw
from papers.topologies import balanced, chain, span_grid


def run(full: bool = False) -> Result:
    """The library's kernels, and screws on inertias with the products of the angle formed beforehand, executed."""
    vector = executed(lambda x: z_motion_out(x, x, x, (x,) * 6), float)
    both = executed(lambda x: x_motion_out(x, x, x, z_motion_out(x, x, x, (x,) * 6)), float)
    general = executed(lambda x: motion_out((x,) * 9, (x,) * 3, (x,) * 6), float)
    inertia = executed(lambda x: rigid_screw(x, x, (x,) * 4, x, (x,) * 10), float)
    angle = executed(lambda x: angle_products(x, x, x), float)
    added = executed(lambda x: rigid_add((x,) * 10, (x,) * 10), float)
    two, three = inertia + inertia + angle, inertia + inertia + inertia + angle
    ours = traced(lambda c, s, I: z_rigid_in(c, s, 0.3, (*I, 2.0)), 1, 1, 9)
    rows = (
        exact("ra: sum of two inertias", OperationCount(add=10), added),
        exact("an axial screw on a vector", OperationCount(10, 6), vector),
        exact("vx at a DH node: two screws", OperationCount(20, 12), both),
        exact("vx at another node: a general transform", OperationCount(24, 18), general),
        exact("footnote: an axial screw on an inertia", OperationCount(15, 15), inertia),
        exact("rx at a DH node: two screws, and the products of the angle", OperationCount(32, 33), two),
        exact("rx at another node: three screws", OperationCount(47, 48), three),
        measured("the same screw, this library's kernel", OperationCount(15, 15), ours, "no products of the angle"),
    )  # fmt: skip
    return Result((*rows, *crba_orders(), *floating_savings()))


def crba_orders() -> tuple[Row, ...]:
    """Growth of the CRBA formula (eq. 21) between two sizes, beside that of the printed order."""
    trees: dict[str, tuple[Any, tuple[int, int], Any, str]] = {
        "balanced tree": (balanced, (8, 12), lambda n: n * np.log(n), "n log(n)"),
        "spanning tree of a grid": (span_grid, (32, 64), lambda n: n**1.5, "n^1.5"),
        "unbranched": (chain, (256, 512), lambda n: n**2.0, "n^2"),
    }
    rows = []
    for name, (make, sizes, order, printed) in trees.items():
        a, b = (make(m) for m in sizes)
        grown = cost.crba(b).total / cost.crba(a).total
        expected = order(b.n) / order(a.n)
        note = f"from n = {a.n} to {b.n} the cost grows {grown:.2f} times, the order {expected:.2f} times"
        rows.append(
            Row(f"CRBA, {name}: order", printed, "", f"{grown / expected:.2f}x", MEASURED, note, f"{grown:.2f}x")
        )
    return tuple(rows)


def floating_savings() -> tuple[Row, ...]:
    """What vanishing products below a floating base save (D0c, D1c of eqs. 20 and 21), on the two mechanisms."""
    rows = []
    for name, model in (("humanoid", zoo.humanoid()), ("chain", zoo.floating_chain())):
        plain, saved = cost.crba(model.tree), cost.crba(model.tree, [0])
        less = OperationCount(plain.mul - saved.mul, plain.add - saved.add)
        note = f"{plain} without, {saved} with it"
        rows.append(Row(f"{name}: CRBA, saved below a floating base", "", "", "", MEASURED, note, str(less)))
    return tuple(rows)
