"""Section 5: what transforming vectors and inertias between links costs."""

from __future__ import annotations

from bough.compile.graph.program import OperationCount
from bough.spatial import motion_out, rigid_add, x_motion_out, z_motion_out, z_rigid_in
from papers.counting import executed, traced
from papers.result import Result, exact, measured
from papers.screw_products import angle_products, rigid_screw


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
    return Result(rows)
