"""Lambda^-1 from the blocks Omega_ij of body mobilities: the part that RJK and Chang-Khatib share.

Both compute the diagonal blocks root to tips, then off-diagonal ones by one-sided products
Omega_ij = Omega_i,parent(j) X_j' P_j'. They differ in which blocks they go through: a `Blocks` program says so.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.articulated import ARTICULATED_WORK, eliminate_all, propagate
from bough.joints import Mechanism, Walk, freedom, joint_motion, motion_to_body, outward
from bough.opspace.methods.method import TRANSFORM, Prepared, inertias
from bough.opspace.methods.pv import mirror
from bough.opspace.sweeps.wrenches import WRENCH_WORK, Seeds, task_wrenches
from bough.opspace.taskset import TaskSet
from bough.spatial import (
    articulated_in,
    articulated_sub,
    articulated_times,
    dot6,
    fill,
    get6,
    get21,
    outer,
    put21,
    rotate_back,
    scale6,
    sub6,
    transpose3,
    x_articulated_in,
    z_articulated_in,
)
from bough.tree import Tree
from bough.types import ArticulatedInertia, Motion, Rotation, Rows, Scalar, Vector, Workspace

# Mobilities: the symmetric 6x6 matrices Omega_ii that turn a force on a body into its acceleration.
#
# A mobility is kept as 21 numbers in the layout of an articulated inertia, with linear and angular parts exchanged: in
# that layout forces transform as motions do, so that a mobility going outward transforms as an inertia going inward
# through the inverse screws.


@kernel
def exchange(v: Motion) -> Motion:
    """Linear part first."""
    return (v[3], v[4], v[5], v[0], v[1], v[2])


@kernel
def unplace(R: Rotation, p: Vector, Om: ArticulatedInertia) -> ArticulatedInertia:
    """A mobility into the frame placed at (R, p)."""
    o = rotate_back(R, p)
    return articulated_in(transpose3(R), (-o[0], -o[1], -o[2]), Om)


@kernel
def z_unscrew(c: Scalar, s: Scalar, d: Scalar, Om: ArticulatedInertia) -> ArticulatedInertia:
    return z_articulated_in(c, -s, -d, Om)


@kernel
def x_unscrew(c: Scalar, s: Scalar, d: Scalar, Om: ArticulatedInertia) -> ArticulatedInertia:
    return x_articulated_in(c, -s, -d, Om)


mobility_to_body: Walk[ArticulatedInertia] = outward(
    "mobility_to_body", "A mobility from the parent's frame into body i's.", z_unscrew, x_unscrew, unplace
)


@kernel
def free_mobility(m: Mechanism, i: int, Om: ArticulatedInertia, w: Workspace) -> ArticulatedInertia:
    """P Omega P' + S D^-1 S': the mobility that the joint of body i passes on."""
    for k in range(m.dof[i], m.dof[i + 1]):
        S, W = exchange(freedom(m, k, m.one[0])), exchange(get6(w.W, k))
        g = articulated_times(Om, W)
        h = sub6(g, scale6(dot6(W, g) + m.one[0] / w.D[k], S))
        # Om - S g' - h S', known to be symmetric
        Om = articulated_sub(articulated_sub(Om, outer(S, g)), outer(h, S))
    return Om


@kernel
def put_full(B: Rows, b: int, Om: ArticulatedInertia) -> None:
    """A mobility as block b of a (blocks, 6, 6) array, angular part first."""
    put_row(B, b, 3, (Om[6], Om[7], Om[8], Om[0], Om[3], Om[4]))
    put_row(B, b, 4, (Om[9], Om[10], Om[11], Om[3], Om[1], Om[5]))
    put_row(B, b, 5, (Om[12], Om[13], Om[14], Om[4], Om[5], Om[2]))
    put_row(B, b, 0, (Om[15], Om[18], Om[19], Om[6], Om[9], Om[12]))
    put_row(B, b, 1, (Om[18], Om[16], Om[20], Om[7], Om[10], Om[13]))
    put_row(B, b, 2, (Om[19], Om[20], Om[17], Om[8], Om[11], Om[14]))


@kernel
def put_row(B: Rows, b: int, r: int, x: Motion) -> None:
    B[b, r, 0], B[b, r, 1], B[b, r, 2] = x[0], x[1], x[2]
    B[b, r, 3], B[b, r, 4], B[b, r, 5] = x[3], x[4], x[5]


@kernel
def line(B: Rows, b: int, k: int, is_column: int) -> Motion:
    """Row k of block b, or its column k."""
    if is_column:
        return (B[b, 0, k], B[b, 1, k], B[b, 2, k], B[b, 3, k], B[b, 4, k], B[b, 5, k])
    return (B[b, k, 0], B[b, k, 1], B[b, k, 2], B[b, k, 3], B[b, k, 4], B[b, k, 5])


@kernel
def put_column(B: Rows, b: int, c: int, x: Motion) -> None:
    B[b, 0, c], B[b, 1, c], B[b, 2, c] = x[0], x[1], x[2]
    B[b, 3, c], B[b, 4, c], B[b, 5, c] = x[3], x[4], x[5]


# Operations of a diagonal block
MOBILITY = 250


class Blocks(NamedTuple):
    """The blocks to compute, in order. Blocks 0, 1, ... are the diagonal ones."""

    body: Rows  # (diagonals,) body of each diagonal block, ancestors first
    up: Rows  # (diagonals,) its parent's block, -1 at a root
    source: Rows  # (products,) block that a one-sided product starts from
    from_columns: Rows  # (products,) 1: take the columns of the source in place of its rows
    joint: Rows  # (products,) body through whose joint it goes
    target: Rows  # (products,)
    to_columns: Rows  # (products,) 1: the results are columns of the target
    first: Rows  # (pairs,) pairs of bodies with seeds, and the block that joins them
    second: Rows  # (pairs,)
    block: Rows  # (pairs,)
    transposed: Rows  # (pairs,) 1: rows of the block belong to the second body


# Pseudo-code (P_i = 1 - S D^-1 U'; which blocks, the program says):
#   D, U of all bodies, inward                                     eliminate_all
#   Om_ii = S D^-1 S' + P_i X_i Om_pp X_i' P_i',  p = parent(i)     diagonal_block
#   Om_ij = Om_i,parent(j) X_j' P_j'                                one_sided_product
#   Lam_inv += K_i Om_ij K_j'  for all seeds on bodies i and j       add_products


@kernel
def from_blocks(m: Mechanism, t: Seeds, z: Blocks, q: Rows, Lam_inv: Rows, w: Workspace) -> None:
    """Lambda^-1, full and symmetric, from q."""
    joint_motion(m, q, w.X)
    task_wrenches(m, t, w)
    eliminate_all(m, w)
    for b in range(len(z.body)):
        diagonal_block(m, z, b, w)
    for a in range(len(z.source)):
        one_sided_product(m, z, a, w)
    fill(Lam_inv, m.zero[0])
    for a in range(len(z.first)):
        for s in range(t.of_body[z.second[a]], t.of_body[z.second[a] + 1]):
            add_products(t, z, a, s, Lam_inv, w)
    mirror(Lam_inv)


@kernel
def diagonal_block(m: Mechanism, z: Blocks, b: int, w: Workspace) -> None:
    """Omega_ii = S D^-1 S' + P X Omega_pp X' P'."""
    i, zero = z.body[b], m.zero[0]
    zero3 = (zero, zero, zero)
    Om = zero3 + zero3 + zero3 + zero3 + zero3 + zero3 + zero3
    if z.up[b] >= 0:
        Om = mobility_to_body(m, w.X, i, get21(w.Om, z.up[b]))
    Om = free_mobility(m, i, Om, w)
    put21(w.Om, b, Om)
    put_full(w.B, b, Om)


@kernel
def one_sided_product(m: Mechanism, z: Blocks, a: int, w: Workspace) -> None:
    j = z.joint[a]
    for r in range(6):
        x = propagate(m, j, motion_to_body(m, w.X, j, line(w.B, z.source[a], r, z.from_columns[a])), w)
        if z.to_columns[a]:
            put_column(w.B, z.target[a], r, x)
        else:
            put_row(w.B, z.target[a], r, x)


@kernel
def add_products(t: Seeds, z: Blocks, a: int, s: int, Lam_inv: Rows, w: Workspace) -> None:
    """Lambda^-1 += K_i Omega_ij K_j' for seed s on the second body of pair a and all seeds on the first."""
    b, K = z.block[a], get6(w.K, s)
    for r in range(6):
        w.x[0, r] = dot6(K, line(w.B, b, r, z.transposed[a]))
    i, c, x = z.first[a], t.row[s], get6(w.x, 0)
    for e in range(t.of_body[i], t.of_body[i + 1]):
        r = t.row[e]
        if r >= c:
            y = dot6(get6(w.K, e), x)
            Lam_inv[r, c] = Lam_inv[r, c] + y
            if r == c and i != z.second[a]:
                Lam_inv[r, c] = Lam_inv[r, c] + y
        elif i != z.second[a]:
            Lam_inv[c, r] = Lam_inv[c, r] + dot6(get6(w.K, e), x)


# Programs

Pair: TypeAlias = tuple[int, int]
Block: TypeAlias = tuple[int, bool]  # number, transposed


class BlockList:
    """Collects diagonal blocks and one-sided products, each once."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.parent = tree, tree.parent.tolist()
        self.diagonals: dict[int, int] = {}
        self.products: list[tuple[int, int, int, int, int]] = []
        self.blocks = 0

    def add_diagonals(self, bodies: set[int]) -> None:
        for i in sorted(bodies):
            self.diagonals[i] = len(self.diagonals)
        self.blocks = len(self.diagonals)

    def product(self, source: Block, joint: int, columns: bool = False) -> int:
        """The block that has the source's columns (or rows) taken through a joint."""
        number, transposed = source
        target, self.blocks = self.blocks, self.blocks + 1
        self.products.append((number, int(transposed != columns), joint, target, int(columns)))
        return target

    def finish(self, pairs: dict[Pair, Block]) -> Blocks:
        body = list(self.diagonals)
        up = [self.diagonals.get(self.parent[i], -1) for i in body]
        products = np.array(self.products, np.int64).reshape(-1, 5).T
        ends = np.array([[i, j, number, int(t)] for (i, j), (number, t) in pairs.items()], np.int64).reshape(-1, 4).T
        arrays = (np.array(body), np.array(up), *products, *ends)
        return Blocks(*(np.ascontiguousarray(a, np.int64) for a in arrays))


def seed_pairs(tasks: TaskSet) -> list[Pair]:
    """Pairs of bodies with seeds, of one tree and in the order of the rows; each pair once, bodies with themselves."""
    rows, bodies = tasks.seeds.row.tolist(), tasks.seeds.body.tolist()
    listed = list(dict.fromkeys(b for _, b in sorted(zip(rows, bodies, strict=True))))
    root = tasks.seeds.root.tolist()
    pairs = [(i, j) for a, i in enumerate(listed) for j in listed[a:]]
    return [(i, j) for i, j in pairs if root[i] == root[j]]


def block_routine(name: str) -> Routine:
    """The routine that executes a program; its size must be known as "blocks"."""
    work = WRENCH_WORK | ARTICULATED_WORK | {"Om": "diagonals 21", "B": "blocks 6 6", "x": "1 6"}
    return Routine(name, from_blocks, inputs={"q": "nq"}, outputs={"Lam_inv": "rows rows"}, work=work)


def prepare_blocks(routine: Routine, tasks: TaskSet, program: Blocks) -> Prepared:
    """The routine with a program, whose sizes it needs."""
    sizes = {"diagonals": len(program.body), "blocks": len(program.body) + len(program.target)}
    return Prepared(routine, (tasks.model.mechanism, tasks.seeds, program), tasks.sizes | sizes)


def estimate(tasks: TaskSet, prepared: Prepared) -> int:
    program: Blocks = prepared.constants[-1]  # type: ignore[assignment]
    total = inertias(tasks) + MOBILITY * len(program.body) + 6 * (TRANSFORM + 12) * len(program.source)
    return total + 66 * len(program.first) * max(1, tasks.size // max(1, len(program.first)))
