"""Primitive bodies as arrays into the kernels' `Mechanism`: renumber depth-first and lay the screw frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.joints import PRIMITIVES, TURN, Mechanism, close_table
from bough.model.laid_frames import LaidFrames, UserFrames, columns, lay, rows, sizes, slices
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
    dh = tree.dh_child[order]
    dh = np.where(dh >= 0, rank[np.maximum(dh, 0)], -1)
    parent, joint, lasting = tree.regular, UserFrames(parts.R, parts.p, order), _sorted(parts, order)
    kind = lasting.kind
    layout = lay(parent, kind, joint, lasting.axis, dh, sizes(parent, joint, parts.inertia))
    inertia = laid_inertia(parts.inertia, layout.R, layout.p, order)
    axes = _axes()
    expansion = tree.sorted().expanded(np.count_nonzero(axes >= 0, axis=1)[kind])
    several = len(expansion.node) > len(parent)
    # where every joint has one DoF, nothing is repeated, and a million are not copied
    body = expansion.node if several else slice(None)
    place = np.arange(len(expansion.node)) - expansion.first[body] if several else 0
    theta = layout.offset[:, 0] + np.where(kind == TURN, lasting.shift, 0.0)
    d = layout.offset[:, 1] + np.where(kind == TURN, lasting.pitch, 1.0) * lasting.shift
    mechanism = Mechanism(
        parent=parent,
        kind=kind,
        fixed_kind=layout.fixed_kind,
        dof=expansion.first,
        q_index=lasting.q_index,
        v_index=lasting.v_index[body] + place,
        axis=axes[kind[body], place],
        depth=expansion.depth - 1,
        rows=expansion.rows,
        fixed=layout.fixed,
        offset=np.stack([theta, d, lasting.pitch, np.cos(theta), np.sin(theta)], axis=1),
        pitch=np.where(kind[body] == TURN, lasting.pitch[body], 0.0),
        ratio=lasting.ratio[body],
        inertia=inertia,
        armature=lasting.armature[body],
        gravity=np.asarray(gravity, float),
        zero=np.zeros(1),
        one=np.ones(1),
    )
    return Mechanism(*map(frozen, mechanism)), layout, rank


def _sorted(parts: Parts, order: IntArray) -> Parts:
    """Parts in the given order, but for frames and inertias, which are large; one value for all is in any order."""
    large = ("R", "p", "inertia")
    columns = parts._asdict().items()
    return parts._replace(**{name: a.take(order, 0) for name, a in columns if name not in large and a.strides[0]})


def _axes() -> IntArray:
    """(kinds, 6) axes that a joint of each kind frees, then -1; kinds below zero count from the end."""
    kinds = [primitive.kind for primitive in PRIMITIVES.values()]
    table = np.full((max(kinds) + 1 - min(kinds), 6), -1)
    for primitive in PRIMITIVES.values():
        table[primitive.kind, : len(primitive.axes)] = primitive.axes
    return table


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array = np.ascontiguousarray(array, np.int64 if array.dtype.kind in "iu" else np.float64)
    array.flags.writeable = False
    return array


def laid_inertia(inertia: FloatArray, R: FloatArray, p: FloatArray, order: IntArray | None = None) -> FloatArray:
    """Rigid inertias (N, 10), taken in an order, brought into frames placed at (R, p) in their own frames."""
    out = np.empty((len(inertia), 10))
    for b in slices(len(inertia)):
        out[b] = _laid_inertia(inertia[b] if order is None else inertia.take(order[b], 0), R[b], p[b])
    return out


def _laid_inertia(inertia: FloatArray, R: FloatArray, p: FloatArray) -> FloatArray:
    mass, h, p = inertia[:, 9].copy(), columns(inertia[:, 6:9]), columns(p)
    # about the new origin: h' = h - m p, J' = J - (2 h.p - m p.p) 1 + h p' + p h' - m p p'
    both = h[:, None] * p[None] + p[:, None] * h[None] - mass * p[:, None] * p[None]
    trace = both[0, 0] + both[1, 1] + both[2, 2]
    J = columns(inertia_matrix(inertia)) - trace * np.eye(3)[:, :, None] + both
    J = np.swapaxes(R, 1, 2) @ rows(J) @ R
    out = np.empty_like(inertia)
    out[:, :6], out[:, 9] = J.reshape(-1, 9)[:, [0, 4, 8, 1, 2, 5]], mass
    np.einsum("nji,nj->ni", R, rows(h - mass * p), out=out[:, 6:9])
    return out
