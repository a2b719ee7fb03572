"""Measurements as linear equations: tau = Y pi + armature qdd + damping v + friction sign(v), one row a DoF.

All rows are kept as a triangular factor, [W y] = Q [R z], so that any number of them costs no more memory than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.run.arrays import real_array
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError, OptionError, ShapeError, unknown_option
from bough.model import Model
from bough.types import FloatArray

DRIVE = ("armature", "damping", "friction")
NUMBERS = ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
ROWS_AT_ONCE = 20_000


class Equations(NamedTuple):
    """W x = y in the least-squares sense, x the inertias of all bodies and then the chosen terms of the drives."""

    R: FloatArray  # (unknowns, unknowns) upper triangle
    z: FloatArray  # (unknowns,)
    rest: float  # sum of squares that no x explains
    rows: int


class Samples(NamedTuple):
    """Measured states, (samples, n) each; `weight` (nv,) is one over the noise of each DoF's force."""

    q: FloatArray
    v: FloatArray
    qdd: FloatArray
    tau: FloatArray
    weight: FloatArray


def names_of(model: Model, drive: tuple[str, ...]) -> tuple[str, ...]:
    """The name of each unknown: body.number, or dof.term."""
    inertias = [f"{body}.{number}" for body in model.body_names for number in NUMBERS]
    return (*inertias, *(f"{dof}.{term}" for term in drive for dof in model.dof_names))


def check_drive(drive: Sequence[str]) -> tuple[str, ...]:
    if isinstance(drive, str):
        raise OptionError(f"drive is a tuple of names, got the word {drive!r}; write ({drive!r},)")
    names = tuple(drive)
    for name in names:
        if name not in DRIVE:
            raise unknown_option(f"no term of a drive is called {name!r}", name, DRIVE)
    return tuple(name for name in DRIVE if name in names)


def check_samples(model: Model, measured: tuple[npt.ArrayLike, ...], noise: npt.ArrayLike | None) -> Samples:
    """The arrays as (samples, n), all of one length and finite."""
    if model.couplings:
        raise ModelError(f'{model.name!r} has mimic joints: load it with mimic="independent" to identify its bodies')
    found = []
    for name, x, n in zip(("q", "v", "qdd", "tau"), measured, (model.nq, *[model.nv] * 3), strict=True):
        array = np.atleast_2d(real_array(f"identify: {name}", x).astype(float))
        if array.ndim != 2 or array.shape[1] != n or not len(array):
            raise ShapeError(f"identify: {name} must have shape (samples, {n}), got {np.shape(x)}")
        if not np.isfinite(array).all():
            raise ShapeError(f"identify: {name} has numbers that are not finite in row {_first_bad(array)}")
        found.append(array)
    if len({len(x) for x in found}) > 1:
        raise ShapeError(f"identify: q, v, qdd and tau have {', '.join(str(len(x)) for x in found)} rows")
    spread = real_array("identify: noise", 1.0 if noise is None else noise)
    if spread.shape not in ((), (model.nv,)) or not (np.isfinite(spread) & (spread > 0.0)).all():
        raise ShapeError(f"identify: noise must be positive, one number or one for each DoF ({model.nv})")
    q, v, qdd, tau = found
    return Samples(q, v, qdd, tau, 1.0 / np.broadcast_to(spread, (model.nv,)))


def _first_bad(array: FloatArray) -> int:
    return int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])


def equations(model: Model, samples: Samples, drive: tuple[str, ...]) -> Equations:
    """All rows, folded into a triangle some at a time. Freedoms without a drive of their own give equations, too."""
    dyn, nv = Dynamics(model), model.nv
    unknowns = 10 * len(model.joints) + len(drive) * nv
    at_once = max(1, ROWS_AT_ONCE // nv)
    R, total = np.zeros((0, unknowns + 1)), 0
    for first in range(0, len(samples.q), at_once):
        part = slice(first, first + at_once)
        W = rows_of(dyn, samples.q[part], samples.v[part], samples.qdd[part], drive)
        # rotors of the model that are not looked for are known
        y = samples.tau[part] - (0.0 if "armature" in drive else model.armature * samples.qdd[part])
        both = np.concatenate([W, y[:, :, None]], axis=2) * samples.weight[None, :, None]
        R = np.linalg.qr(np.concatenate([R, both.reshape(-1, unknowns + 1)]))[1]
        total += W.shape[0] * nv
    R = np.concatenate([R, np.zeros((max(0, unknowns + 1 - len(R)), unknowns + 1))])
    return Equations(R[:unknowns, :unknowns], R[:unknowns, -1], float(R[unknowns, -1] ** 2), total)


def rows_of(dyn: Dynamics, q: FloatArray, v: FloatArray, qdd: FloatArray, drive: tuple[str, ...]) -> FloatArray:
    """W (samples, nv, unknowns)."""
    parts = [dyn.regressor(q, v, qdd)]
    eye = np.eye(v.shape[1])
    terms = {"armature": qdd, "damping": v, "friction": np.sign(v)}
    parts += [terms[name][:, :, None] * eye for name in drive]
    return np.concatenate(parts, axis=2)
