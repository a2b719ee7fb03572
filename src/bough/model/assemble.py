"""Primitive bodies as arrays into the kernels' `Mechanism`: renumber depth-first and lay the screw frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.joints import PRIMITIVES, TURN, Mechanism, close_table
from bough.model.laid_frames import LaidFrames, Placement, blocks, lay, sizes
from bough.spatial import inertia_matrix
from bough.tree import Tree
from bough.types import FloatArray, IntArray

GRAVITY = (0.0, 0.0, -9.81)


class Parts(NamedTuple):
    """Primitive bodies in the user's order, as arrays: what `assemble` makes a mechanism of."""

    parent: IntArray  # (N,)
    kind: IntArray  # (N,)
    R: FloatArray  # (N, 3, 3) joint frame in the parent's joint frame at q = 0
    p: FloatArray  # (N, 3)
    axis: FloatArray  # (N, 3) unit, in the joint frame
    pitch: FloatArray  # (N,)
    inertia: FloatArray  # (N, 10) about the origin of the joint frame
    q_index: IntArray  # (N,)
    v_index: IntArray  # (N,) of the first degree of freedom
    armature: FloatArray  # (N,) for every degree of freedom of the joint
    ratio: FloatArray  # (N,) mimic ratio
    shift: FloatArray  # (N,) mimic offset


def assemble(parts: Parts, gravity: Sequence[float] = GRAVITY) -> tuple[Mechanism, LaidFrames, IntArray]:
    """The kernel's arrays, the laid frames (in depth-first order) and the depth-first rank of each part."""
    close_table()
    tree = Tree(parts.parent)
    order, rank = tree.order, tree.rank
    sorted_parts = Parts._make(a[order] for a in parts)
    dh = tree.dh_child[order]
    dh = np.where(dh >= 0, rank[np.maximum(dh, 0)], -1)
    parent, kind = tree.regular, sorted_parts.kind
    joint = Placement(sorted_parts.R, sorted_parts.p)
    layout = lay(parent, kind, joint, sorted_parts.axis, dh, sizes(parent, joint, sorted_parts.inertia))
    inertia = laid_inertia(sorted_parts.inertia, layout.R, layout.p)
    axes = _axes(kind)
    dofs = np.count_nonzero(axes >= 0, axis=1)
    expansion = tree.sorted().expanded(dofs)
    body = np.repeat(np.arange(len(parent)), dofs)
    place = np.arange(len(body)) - expansion.first[body]
    theta = layout.offset[:, 0] + np.where(kind == TURN, sorted_parts.shift, 0.0)
    d = layout.offset[:, 1] + np.where(kind == TURN, sorted_parts.pitch, 1.0) * sorted_parts.shift
    mechanism = Mechanism(
        parent=parent,
        kind=kind,
        fixed_kind=layout.fixed_kind,
        dof=expansion.first,
        q_index=sorted_parts.q_index,
        v_index=sorted_parts.v_index[body] + place,
        axis=axes[body, place],
        depth=expansion.depth - 1,
        rows=expansion.rows,
        fixed=layout.fixed,
        offset=np.stack([theta, d, sorted_parts.pitch, np.cos(theta), np.sin(theta)], axis=1),
        pitch=np.where(kind[body] == TURN, sorted_parts.pitch[body], 0.0),
        ratio=sorted_parts.ratio[body],
        inertia=inertia,
        armature=sorted_parts.armature[body],
        gravity=np.asarray(gravity, float),
        zero=np.zeros(1),
        one=np.ones(1),
    )
    return Mechanism(*map(frozen, mechanism)), layout, rank


def _axes(kind: IntArray) -> IntArray:
    """(N, 6) axes that each joint frees, then -1."""
    table = np.full((len(kind), 6), -1)
    for primitive in PRIMITIVES.values():
        table[kind == primitive.kind, : len(primitive.axes)] = primitive.axes
    return table


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array = np.ascontiguousarray(array, np.int64 if array.dtype.kind in "iu" else np.float64)
    array.flags.writeable = False
    return array


def laid_inertia(inertia: FloatArray, R: FloatArray, p: FloatArray) -> FloatArray:
    """Rigid inertias (N, 10) brought into frames placed at (R, p) in their own frames."""
    out = np.empty((len(inertia), 10))
    for b in blocks(np.arange(len(inertia))):
        out[b] = _laid_inertia(inertia[b], R[b], p[b])
    return out


def _laid_inertia(inertia: FloatArray, R: FloatArray, p: FloatArray) -> FloatArray:
    mass, h = inertia[:, 9], inertia[:, 6:9]
    J = inertia_matrix(inertia)
    # about the new origin: h' = h - m p, J' = J - (2 h.p - m p.p) 1 + h p' + p h' - m p p'
    hp, ph = h[:, :, None] * p[:, None, :], p[:, :, None] * h[:, None, :]
    pp = mass[:, None, None] * p[:, :, None] * p[:, None, :]
    both = hp + ph - pp
    J = J - np.trace(both, axis1=1, axis2=2)[:, None, None] * np.eye(3) + both
    J = np.swapaxes(R, 1, 2) @ J @ R
    h = np.einsum("nji,nj->ni", R, h - mass[:, None] * p)
    columns = [J[:, 0, 0], J[:, 1, 1], J[:, 2, 2], J[:, 0, 1], J[:, 0, 2], J[:, 1, 2]]
    return np.stack([*columns, h[:, 0], h[:, 1], h[:, 2], mass], axis=1)
