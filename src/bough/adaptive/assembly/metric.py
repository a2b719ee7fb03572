"""Joint metrics: one symmetric positive definite matrix for each joint, by which its acceleration counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bough.adaptive.assembly.linkage import Linkage, is_floating_base
from bough.adaptive.compiled import compiled
from bough.compile.kernel import kernel
from bough.errors import ModelError, SettingError, ShapeError
from bough.joints import PLACED
from bough.model import Model
from bough.types import FloatArray, Rows


def make_metric(model: Model, link: Linkage, metric: str | npt.ArrayLike | None) -> FloatArray:
    """Weight matrices of all joints, flat. None: all ones; "lever": (reach of what a joint carries)^2, or (nv,)
    weights.

    Joint accelerations of several freedoms may also be given as {joint name: (d, d) matrix}. A floating base is no
    joint: its weights are zero and its motion is always computed.
    """
    m = model.mechanism
    size = np.diff(link.dof)
    body = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(body)) - link.dof[body]
    diagonal = link.metric_index[body] + place * (size[body] + 1)
    weights = np.zeros(link.metric_size)
    weights[diagonal] = 1.0
    if isinstance(metric, str):
        if metric != "lever":
            raise SettingError(f'a metric is None, "lever", weights (nv,) or matrices by joint name; got {metric!r}')
        turning = m.axis <= 2
        weights[diagonal] = np.where(turning, lever(model, link)[body] ** 2, 1.0)
    elif isinstance(metric, dict):
        for name, matrix in metric.items():
            _put_matrix(model, link, weights, name, np.asarray(matrix, float))
    elif metric is not None:
        given = np.asarray(metric, float)
        if given.shape != (model.nv,):
            raise ShapeError(f"metric: expected weights of shape ({model.nv},), got {given.shape}")
        if not (np.isfinite(given).all() and (given > 0.0).all()):
            worst = int(np.argmin(np.where(np.isfinite(given), given, -np.inf)))
            raise ModelError(f"metric: weights must be finite and positive, got {given[worst]} for velocity {worst}")
        weights[diagonal] = given[m.v_index]
    weights[diagonal[is_floating_base(m, link)[body]]] = 0.0
    return weights


def _put_matrix(model: Model, link: Linkage, weights: FloatArray, name: str, matrix: FloatArray) -> None:
    v = model.joint(name).v
    dofs = np.flatnonzero((model.mechanism.v_index >= v.start) & (model.mechanism.v_index < v.stop))
    body = int(np.searchsorted(link.dof, dofs[0], side="right")) - 1
    d = int(link.dof[body + 1] - link.dof[body])
    if matrix.shape != (d, d):
        raise ShapeError(f"metric of joint {name!r}: expected a matrix ({d}, {d}), got {matrix.shape}")
    symmetric = np.isfinite(matrix).all() and np.abs(matrix - matrix.T).max() <= 1e-12 * np.abs(matrix).max()
    if not symmetric or np.linalg.eigvalsh(matrix).min() <= 0.0:
        raise ModelError(f"metric of joint {name!r}: the matrix is not symmetric and positive definite")
    at = int(link.metric_index[body])
    weights[at : at + d * d] = matrix.ravel()


def lever(model: Model, link: Linkage) -> FloatArray:
    """(N,) how far the farthest body origin or centre of mass below each joint can be, whatever the configuration."""
    m = model.mechanism
    # |p| of the fixed part and of the joint's own offset bounds the distance between origins, sliding left out
    placed = m.fixed_kind == PLACED
    fixed = np.where(placed, np.linalg.norm(m.fixed[:, 9:12], axis=1), np.abs(m.fixed[:, 2]) + np.abs(m.fixed[:, 5]))
    step = np.add.reduceat(fixed + np.abs(m.offset[:, 1]), link.first)
    reach = np.linalg.norm(link.inverse[:, 6:9], axis=1)
    compiled(_longest)(link.parent, step, reach)
    return np.where(reach > 0.0, reach, 1.0)


@kernel
def _longest(parent: Rows, step: Rows, reach: Rows) -> None:
    for i in range(len(parent) - 1, -1, -1):
        if parent[i] >= 0:
            reach[parent[i]] = max(reach[parent[i]], step[i] + reach[i])
