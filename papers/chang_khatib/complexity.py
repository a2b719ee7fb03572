"""Section 3.3: O(n m + m^3), fitted in n and in m, beside the other methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.model import Builder, Model
from bough.opspace import TaskSet, count, pose
from bough.sparsity.ltdl import ltdl
from papers.counting import on_tree
from papers.featherstone2010.asimo import dense_costs
from papers.result import MEASURED, Figure, Result, Row
from papers.style import INK, legend_outside, plain_ticks
from papers.topologies import chain

METHODS = ("chang_khatib", "rjk", "efpa", "pv", "pvr", "ltdl")
LENGTHS = (4, 8, 16, 32)  # links of a limb, two limbs
HANDS = (2, 3, 4, 6, 8)  # hands, whose limbs have 48 links together
COVERING = ("rjk", "pvr")  # which lie on others in places, and let them through
MORE_LENGTHS = (4, 8, 16, 32, 64)


def robot(hands: int, length: int, trunk: int) -> Model:
    """A trunk on a fixed base that carries limbs of equal length, all joints revolute and in general position."""
    rng, builder, top = np.random.default_rng(0), Builder("robot"), "world"
    for k in range(trunk):
        top = _link(builder, rng, f"trunk{k}", top)
    for hand in range(hands):
        tip = top
        for k in range(length):
            tip = _link(builder, rng, f"limb{hand}_{k}", tip)
    return builder.build()


def _link(builder: Builder, rng: np.random.Generator, name: str, on: str) -> str:
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    at = (R * np.sign(np.linalg.det(R)), rng.uniform(-0.3, 0.3, 3))
    builder.add_body(name, on, "revolute", at, mass=1.0, com=rng.uniform(-0.1, 0.1, 3), inertia=0.02 * np.eye(3))
    return name


def operations(hands: int, length: int, trunk: int, method: str) -> int:
    """For Lambda^-1 of all hands, by this library's program."""
    model = robot(hands, length, trunk)
    tasks = TaskSet(model, [pose(f"limb{hand}_{length - 1}", "local") for hand in range(hands)])
    return count(model, "inverse_inertia", method, tasks.tasks).total


def dense(n: int, hands: int) -> int:
    """For Lambda by standard matrix arithmetic, zeros included: H factorized, J L^-1, Y Y', and Lambda^-1 factorized.

    H and J themselves are left out, as their cost is of a lower order.
    """
    found = dense_costs(n, 6 * hands)
    return sum(found[name].total for name in ("LTDL", "J L^-1", "Y Y'")) + on_tree(ltdl, chain(6 * hands)).total


def run(full: bool = False) -> Result:
    """Counts of traced programs; the exponent between the two largest sizes."""
    lengths = MORE_LENGTHS if full else LENGTHS
    in_n = {method: {6 + 2 * l: operations(2, l, 6, method) for l in lengths} for method in METHODS}
    in_m = {method: {m: operations(m, 48 // m, 6, method) for m in HANDS} for method in METHODS}
    dense_n = {6 + 2 * l: dense(6 + 2 * l, 2) for l in lengths}
    dense_m = {m: dense(54, m) for m in HANDS}
    inverse = {m: on_tree(ltdl, chain(6 * m)).total for m in HANDS}
    rows = [_exponent(f"{m}: exponent in n, two hands", "1" if m == "chang_khatib" else "", in_n[m]) for m in METHODS]
    rows += [
        _exponent(f"{m}: exponent in m, n = {6 + 48}", "1" if m == "chang_khatib" else "", in_m[m]) for m in METHODS
    ]
    rows.append(_exponent("factorizing Lambda^-1 (6 m by 6 m): exponent in m", "3", inverse))
    rows.append(_exponent("H and J dense, O(n^3 + m^3): exponent in n, two hands", "3", dense_n))
    for n in dense_n:
        recursive = in_n["chang_khatib"][n] + inverse[2]
        note = f"{dense_n[n]:,} and {recursive:,} operations for Lambda, two hands"
        rows.append(Row(f"n = {n}: dense / recursive", "", f"{dense_n[n] / recursive:.2f}", "", MEASURED, note))
    for m in dense_m:
        recursive = in_m["chang_khatib"][m] + inverse[m]
        note = f"{dense_m[m]:,} and {recursive:,} operations for Lambda, 54 joints"
        rows.append(Row(f"{m} hands: dense / recursive", "", f"{dense_m[m] / recursive:.2f}", "", MEASURED, note))
    rows.append(_fit(in_n["chang_khatib"], in_m["chang_khatib"]))
    caption = (
        "Operations for Lambda^-1 (traced programs) against the number of joints with two hands (left), and against "
        "the number of hands on a robot of 54 joints (right); dashed: factorizing Lambda^-1, which costs m^3. With two "
        "hands RJK (in dashes) is the same program as Chang & Khatib, and lies on it; all recursive methods grow in "
        "proportion to n. With more hands Chang & Khatib stay below RJK and grow more slowly than m. The sparse "
        "factorization LTDL depends on the length of the limbs, which grow on the left and get shorter on the right."
    )
    figure = Figure("growth", caption, lambda canvas: draw(canvas, in_n, in_m, inverse), (9.0, 4.4))
    return Result(tuple(rows), (figure,), data={"in n": in_n, "in m": in_m})


def _exponent(what: str, expected: str, costs: dict[int, int]) -> Row:
    a, b = sorted(costs)[-2:]
    found = np.log(costs[b] / costs[a]) / np.log(b / a)
    return Row(
        what, expected, f"{found:.2f}", "", MEASURED, f"between {a} and {b}: {costs[a]:,} and {costs[b]:,} operations"
    )


def _fit(in_n: dict[int, int], in_m: dict[int, int]) -> Row:
    """a n + b n m, least squares of the relative error: steps 1 to 3 and step 4 of section 3.3."""
    sizes = [(n, 2, c) for n, c in in_n.items()] + [(54, m, c) for m, c in in_m.items()]
    A = np.array([[n, n * m] for n, m, _ in sizes], float)
    costs = np.array([c for *_, c in sizes], float)
    (a, b), *_ = np.linalg.lstsq(A / costs[:, None], np.ones(len(costs)), rcond=None)
    worst = np.abs(A @ [a, b] / costs - 1).max()
    note = f"largest relative residual {worst:.0%}; then O(m^3) to invert Lambda^-1"
    return Row("Chang & Khatib: fit of all counts", "O(n) + O(n m)", f"{a:.0f} n + {b:.0f} n m", "", MEASURED, note)


def draw(
    canvas: Any, in_n: dict[str, dict[int, int]], in_m: dict[str, dict[int, int]], inverse: dict[int, int]
) -> None:
    left, right = canvas.subplots(1, 2, sharey=True)
    for method, mark in zip(METHODS, "os^vDP", strict=True):
        style: dict[str, Any] = {"marker": mark, "linestyle": (0, (3, 4)) if method in COVERING else "-"}
        left.loglog(list(in_n[method]), list(in_n[method].values()), label=method.replace("_", " & "), **style)
        right.loglog(list(in_m[method]), list(in_m[method].values()), **style)
    right.loglog(list(inverse), list(inverse.values()), "--", color=INK)
    left.plot([], [], "--", color=INK, label="factorizing Lambda^-1")
    plain_ticks(left.xaxis, [float(n) for n in next(iter(in_n.values()))])
    plain_ticks(right.xaxis, [float(m) for m in inverse])
    left.set_xlabel("joints n, two hands")
    right.set_xlabel("hands m, 54 joints")
    left.set_ylabel("operations for Lambda^-1")
    legend_outside(canvas, left, 4)
