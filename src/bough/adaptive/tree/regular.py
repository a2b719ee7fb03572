"""Bodies without inertia about every axis, made regular: a part of another body's inertia counts as theirs.

What is symmetric about the axis of a revolute joint, and has no inertia about it, moves alike with the bodies on both
sides: a mass on the axis, and inertia a (1 - z z'). So does inertia without mass on both sides of a prismatic joint. To
count it for the outer body instead of the inner one changes no motion and no energy (base parameters; Gautier & Khalil
1990). Point masses and rods get such parts from their parents, which get theirs from their own, and the ground has
plenty. What is not regular then is a mechanism that is none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bough.adaptive.tree.assembly import absorbed, is_flat
from bough.adaptive.tree.layout import primitive_pose, put_pose
from bough.compile.kernel import loop_kernel
from bough.compile.run.direct import compiled
from bough.joints import Mechanism, move_joint
from bough.model import Model
from bough.spatial import rigid_in
from bough.types import BoolArray, FloatArray, Rows

# shares of its own mass and inertia that a body keeps of what it gets: the more, the less is lost to rounding, and the
# fewer bodies can follow one another
SHARES = ((1e-2, 1e-3), (1e-3, 1e-4), (1e-3, 1e-5))
LEFT = 0.5  # of the least inertia of a body that gives to others, which it must be left with


@loop_kernel
def _poses(m: Mechanism, q: Rows, X: Rows, out: Rows) -> None:
    """The pose of every body in its parent."""
    for i in range(len(m.parent)):
        move_joint(m, q, i, X)
        put_pose(out, i, primitive_pose(m, X, i))


def regular(model: Model) -> Model:
    """The model, its bodies with invertible inertias where parts of those of others make them so."""
    m, inside = model.mechanism, absorbed(model.mechanism)
    if not (is_flat(m.inertia) & ~inside).any():
        return model
    poses = np.zeros((len(m.parent), 12))
    compiled(_poses)(m, np.array(model.neutral), np.zeros_like(poses), poses)
    for keeps in SHARES:
        inertia = _shared(m, inside, poses, keeps)
        if not (is_flat(inertia) & ~inside).any():
            return replace(model, mechanism=m._replace(inertia=inertia))
    return model


def _shared(m: Mechanism, inside: BoolArray, poses: FloatArray, keeps: tuple[float, float]) -> FloatArray:
    """Inertias (N, 10) after singular bodies have got parts of their parents', children first."""
    inertia, needs = np.array(m.inertia), is_flat(m.inertia) & ~inside
    given = np.zeros((len(m.parent), 2))  # mass and inertia that a body has given to others
    for i in range(len(m.parent) - 1, -1, -1):
        p, k = int(m.parent[i]), int(m.dof[i])
        if given[i].any() and not needs[i]:
            needs[i] = _least(inertia[i]) < LEFT * _least(m.inertia[i])
        single = m.dof[i + 1] - k == 1 and m.pitch[k] == 0.0 and not (p >= 0 and inside[p])
        if not (needs[i] and single):
            continue
        R, at = poses[i, :9], poses[i, 9:]
        size = max(float(np.trace(_matrix(inertia[i]))), m.inertia[i, 9] * (float(at @ at) or 1.0))
        part = _part(int(m.axis[k]), given[i] + np.multiply(keeps, (m.inertia[i, 9], size)))
        inertia[i] += part
        if p >= 0:
            inertia[p] -= rigid_in(tuple(R.tolist()), tuple(at.tolist()), tuple(part.tolist()))
            given[p] += part[9], part[:3].max()
    return inertia


def _part(axis: int, share: FloatArray) -> FloatArray:
    """Inertia (10,) that moves alike on both sides of a joint with this axis (0-2 turn, 3-5 slide): (mass, inertia)."""
    part = np.zeros(10)
    part[:3] = share[1]
    if axis <= 2:
        part[axis], part[9] = 0.0, share[0]
    return part


def _matrix(I: FloatArray) -> FloatArray:
    """The rotational inertia about the centre of mass (3, 3)."""
    c = I[6:9] / (I[9] if I[9] > 0.0 else 1.0)
    J = I[[0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(3, 3)
    return J - I[9] * ((c @ c) * np.eye(3) - np.outer(c, c))


def _least(I: FloatArray) -> float:
    """The least inertia about an axis through the centre of mass; none without mass."""
    return float(np.linalg.eigvalsh(_matrix(I))[0]) if I[9] > 0.0 else 0.0
