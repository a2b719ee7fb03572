"""PV-OSIMr (Sathya, Decre & Swevers 2023): Lambda^-1 in O(n + m^2), by streams between key bodies.

Key bodies carry seeds or are where streams meet. A stream runs from its key body to the next one towards the root and
carries that body's motion (six coordinates), or the rows themselves where nothing else arrives.
L is what its joints yield, G how the next key body's motion shows in its coordinates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.articulated import inertia_to_parent, split_freedom, start_inertias
from bough.joints import Mechanism, along, force_to_parent, joint_motion
from bough.opspace.methods.method import TRANSFORM, InverseMethod, Prepared, inertias
from bough.opspace.methods.pv import mirror
from bough.opspace.sweeps.wrenches import PLACEMENT_WORK, Seeds, place_bodies, task_wrench
from bough.opspace.taskset import TaskSet
from bough.spatial import add6, dot6, fill, get6, get21, put6, scale6, sub6
from bough.types import Motion, Rows, Workspace


class Streams(NamedTuple):
    """Key bodies with their coordinates, the rows seen at each of them, and the products that make Lambda^-1."""

    stream: Rows  # (N,) key whose stream passes through a body, -1 for none
    body: Rows  # (keys,) ancestors first
    up: Rows  # (keys,) the next key towards the root, -1 for none
    first: Rows  # (keys + 1,) coordinates of key c are first[c] .. first[c + 1] - 1
    by_rows: Rows  # (keys,) 1: the coordinates are the rows on the body, 0: its six motions
    mobile: Rows  # (keys,) 1: Omega of the key is needed
    view_key: Rows  # (views,) a view is a row as seen at a key body; ancestors first
    view_row: Rows  # (views,)
    view_up: Rows  # (views,) the same row at the next key, -1 for none
    unit: Rows  # (views,) the coordinate that the row is, -1 if it is a mixture
    view_of_seed: Rows  # (S,)
    column: Rows  # (groups,) view on the right of a product
    whole: Rows  # (groups,) 1: the product is with Omega, 0: with L
    of_group: Rows  # (groups + 1,)
    left: Rows  # (products,) views on the left


# Pseudo-code, in the symbols of the paper (K task rows on a body; a(c) the next key body of c towards the root):
#   for each key body c:  G_c = K of its rows, or 1_6 where other streams arrive;  L_c = 0
#   for i = N .. 1, c the key whose stream passes i:                                    start_streams, pass_body
#       D, U of body i;  F = G_c S_i;  L_c += F D^-1 F';  G_c <- (G_c - F D^-1 U') X_i
#       IA_parent += X_i' (IA_i - U D^-1 U') X_i
#   for key bodies c, root to tips:  Om_c = L_c + G_c Om_a(c) G_c'                       key_mobility
#   for rows k at key bodies c, tips to root:  R_k(a(c)) += R_k(c) G_c                    send_view
#   for rows k, l with deepest common key g:  Lam_inv_kl = R_k(g) Om_g R_l(g)'            add_group
# Rows on several bodies meet at several keys: they collect R_k(c) L_c R_l(c)' at all common keys c instead.


@kernel
def pvr(m: Mechanism, t: Seeds, z: Streams, q: Rows, Lam_inv: Rows, w: Workspace) -> None:
    """Lambda^-1, full and symmetric, from q."""
    joint_motion(m, q, w.X)
    place_bodies(m, t, w)
    start_streams(m, t, z, w)
    start_inertias(m, w)
    for i in range(len(m.parent) - 1, -1, -1):
        pass_body(m, z, i, w)
    for c in range(len(z.body)):
        if z.mobile[c]:
            key_mobility(z, c, w)
    for a in range(len(z.view_key) - 1, -1, -1):
        send_view(z, a, w)
    fill(Lam_inv, m.zero[0])
    for g in range(len(z.column)):
        add_group(z, g, Lam_inv, w)
    mirror(Lam_inv)


@kernel
def start_streams(m: Mechanism, t: Seeds, z: Streams, w: Workspace) -> None:
    """Coordinates: the rows' wrenches or unit wrenches. Views: the rows in those coordinates."""
    zero, one = m.zero[0], m.one[0]
    for e in range(len(w.G)):
        put6(w.G, e, (zero, zero, zero, zero, zero, zero))
        put6(w.L, e, (zero, zero, zero, zero, zero, zero))
    for c in range(len(z.body)):
        if z.by_rows[c] == 0:
            for e in range(6):
                w.G[z.first[c] + e, e] = one
    for a in range(len(z.view_key)):
        put6(w.R, a, (zero, zero, zero, zero, zero, zero))
    for s in range(len(t.kind)):
        a = z.view_of_seed[s]
        if z.unit[a] >= 0:
            put6(w.G, z.first[z.view_key[a]] + z.unit[a], task_wrench(m, t, s, w))
        else:
            put6(w.R, a, task_wrench(m, t, s, w))


@kernel
def pass_body(m: Mechanism, z: Streams, i: int, w: Workspace) -> None:
    """Eliminate the joint of body i for the stream that passes it: L += F D^-1 F', G <- (G - F W') X."""
    IA, c = get21(w.IA, i), z.stream[i]
    for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
        D, W, IA = split_freedom(m, k, IA)
        if c >= 0:
            for e in range(z.first[c], z.first[c + 1]):
                w.F[e] = along(m, k, get6(w.G, e))
                F = w.F[e] / D
                for d in range(z.first[c], e + 1):
                    w.L[e, d - z.first[c]] = w.L[e, d - z.first[c]] + F * w.F[d]
            for e in range(z.first[c], z.first[c + 1]):
                put6(w.G, e, sub6(get6(w.G, e), scale6(w.F[e], W)))
    inertia_to_parent(m, i, IA, w)
    if c >= 0:
        if m.parent[i] >= 0:
            for e in range(z.first[c], z.first[c + 1]):
                put6(w.G, e, force_to_parent(m, w.X, i, get6(w.G, e)))
        if m.parent[i] < 0 or z.stream[m.parent[i]] != c:
            fill_upper(z, c, w.L)


@kernel
def fill_upper(z: Streams, c: int, A: Rows) -> None:
    """Mirror the square of key c, kept with a row for each coordinate, and give Omega its start."""
    first = z.first[c]
    for e in range(first, z.first[c + 1]):
        for d in range(first, e):
            A[d, e - first] = A[e, d - first]


@kernel
def key_mobility(z: Streams, c: int, w: Workspace) -> None:
    """Omega_c = L_c + G_c Omega_up G_c'."""
    first, up = z.first[c], z.up[c]
    for e in range(first, z.first[c + 1]):
        put6(w.Om, e, get6(w.L, e))
        if up >= 0:
            x = times_square(z, w.Om, up, get6(w.G, e))
            for d in range(first, e + 1):
                w.Om[e, d - first] = w.Om[e, d - first] + dot6(get6(w.G, d), x)
    fill_upper(z, c, w.Om)


@kernel
def times_square(z: Streams, A: Rows, c: int, x: Motion) -> Motion:
    """The square of a key with six coordinates, times x."""
    e = z.first[c]
    return (
        dot6(get6(A, e), x),
        dot6(get6(A, e + 1), x),
        dot6(get6(A, e + 2), x),
        dot6(get6(A, e + 3), x),
        dot6(get6(A, e + 4), x),
        dot6(get6(A, e + 5), x),
    )


@kernel
def send_view(z: Streams, a: int, w: Workspace) -> None:
    """The row as the next key sees it: R <- R G."""
    up, c = z.view_up[a], z.view_key[a]
    if up >= 0:
        x = get6(w.R, up)
        if z.unit[a] >= 0:
            x = add6(x, get6(w.G, z.first[c] + z.unit[a]))
        else:
            for e in range(6):
                x = add6(x, scale6(w.R[a, e], get6(w.G, z.first[c] + e)))
        put6(w.R, up, x)


@kernel
def add_group(z: Streams, g: int, Lam_inv: Rows, w: Workspace) -> None:
    """Lambda^-1 += R_k Omega R_l' (or R_k L R_l') for one view l and its partners k."""
    b = z.column[g]
    c = z.view_key[b]
    if z.unit[b] >= 0:
        x = get6(w.L, z.first[c] + z.unit[b])
        if z.whole[g]:
            x = get6(w.Om, z.first[c] + z.unit[b])
    elif z.whole[g]:
        x = times_square(z, w.Om, c, get6(w.R, b))
    else:
        x = times_square(z, w.L, c, get6(w.R, b))
    put6(w.x, 0, x)
    s = z.view_row[b]
    for e in range(z.of_group[g], z.of_group[g + 1]):
        a = z.left[e]
        r = z.view_row[a]
        if z.unit[a] >= 0:
            Lam_inv[r, s] = Lam_inv[r, s] + w.x[0, z.unit[a]]
        else:
            Lam_inv[r, s] = Lam_inv[r, s] + dot6(get6(w.R, a), x)


PVR = Routine(
    "pvr",
    pvr,
    inputs={"q": "nq"},
    outputs={"Lam_inv": "rows rows"},
    work=PLACEMENT_WORK
    | {"IA": "bodies 21", "G": "coordinates 6", "L": "coordinates 6", "Om": "coordinates 6", "F": "coordinates"}
    | {"R": "views 6", "x": "1 6"},
)


# The program


def streams(tasks: TaskSet) -> Streams:
    """Key bodies, streams, views and products of a task set."""
    parent, slots, seeds = tasks.model.mechanism.parent.tolist(), tasks.slots, tasks.seeds
    active = sorted(set(slots.body.tolist()))
    arriving = np.bincount([parent[i] for i in active if parent[i] >= 0], minlength=len(parent))
    seeded = np.diff(seeds.of_body)
    keys = [i for i in active if seeded[i] or arriving[i] > 1]
    key = {i: c for c, i in enumerate(keys)}
    stream = np.full(len(parent), -1, np.int64)
    for i in reversed(active):
        stream[i] = key.get(i, stream[i])
        if parent[i] >= 0 and parent[i] not in key:
            stream[parent[i]] = stream[i]
    tops = {int(stream[i]): parent[i] for i in active if parent[i] < 0 or stream[parent[i]] != stream[i]}
    up = [key.get(tops[c], -1) for c in range(len(keys))]
    by_rows = [int(arriving[i] == 0 and seeded[i] <= 6) for i in keys]
    counts = [int(seeded[i]) if rows else 6 for i, rows in zip(keys, by_rows, strict=True)]
    views = sorted((key[i], r) for i, r in zip(slots.body.tolist(), slots.row.tolist(), strict=True) if i in key)
    number = {view: a for a, view in enumerate(views)}
    unit = [_place(seeds, keys[c], r) if by_rows[c] else -1 for c, r in views]
    groups = _products(tasks, views, number)
    mobile = {views[column][0] for column, whole in groups if whole}
    for c in range(len(keys) - 1, -1, -1):
        if c in mobile and up[c] >= 0:
            mobile.add(up[c])
    arrays = (
        stream, keys, up, np.cumsum([0, *counts]), by_rows, [int(c in mobile) for c in range(len(keys))],
        [c for c, _ in views], [r for _, r in views], [number.get((up[c], r), -1) for c, r in views], unit,
        [number[key[i], r] for i, r in zip(seeds.body.tolist(), seeds.row.tolist(), strict=True)],
        [column for column, _ in groups], [int(whole) for _, whole in groups],
        np.cumsum([0, *(len(left) for left in groups.values())]), [a for left in groups.values() for a in left],
    )  # fmt: skip
    return Streams(*(np.array(a, np.int64) for a in arrays))


def _place(seeds: Any, body: int, row: int) -> int:
    """The place of a row among the seeds of a body."""
    first, last = seeds.of_body[body : body + 2]
    return int(np.searchsorted(seeds.row[first:last], row))


def _products(
    tasks: TaskSet, views: list[tuple[int, int]], number: dict[tuple[int, int], int]
) -> dict[tuple[int, bool], list[int]]:
    """For each view on the right of a product (with Omega or with L), the views on the left.

    Rows on single bodies meet once, with Omega at their deepest common key. Others collect L at all common keys.
    """
    keys_of_row: list[list[int]] = [[] for _ in range(tasks.size)]
    for c, r in views:
        keys_of_row[r].append(c)
    single = np.bincount(tasks.seeds.row) == 1
    groups: dict[tuple[int, bool], list[int]] = {}
    for k in range(tasks.size):
        for l in range(k + 1):
            common = [c for c in keys_of_row[k] if (c, l) in number]
            whole = bool(single[k] and single[l])
            for c in common[-1:] if whole else common:
                groups.setdefault((number[c, l], whole), []).append(number[c, k])
    return groups


def prepare(tasks: TaskSet) -> Prepared:
    z = streams(tasks)
    sizes = tasks.sizes | {"coordinates": int(z.first[-1]), "views": len(z.view_key)}
    return Prepared(PVR, (tasks.model.mechanism, tasks.seeds, z), sizes)


def estimate(tasks: TaskSet, prepared: Prepared) -> int:
    z: Streams = prepared.constants[-1]  # type: ignore[assignment]
    dofs, width = np.diff(tasks.model.mechanism.dof), np.where(z.stream >= 0, np.diff(z.first)[z.stream], 0)
    total = inertias(tasks) + int((TRANSFORM * width + dofs * width * (width + 2)).sum())
    return total + 500 * int(z.mobile.sum()) + 66 * len(z.column) + 11 * len(z.left)


METHOD = InverseMethod("pvr", prepare, estimate)
