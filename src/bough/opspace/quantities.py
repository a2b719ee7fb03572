"""What a space computes: the routine behind each quantity, and results that come together."""

from __future__ import annotations

from collections.abc import Sequence
from sys import modules
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.routine import Routine
from bough.compile.run.arrays import real_array
from bough.compile.run.libraries import full, library_of
from bough.dynamics.engine import Device
from bough.errors import ShapeError
from bough.opspace.methods import dof_tree
from bough.opspace.sweeps.bias import BIAS, DRIFT
from bough.opspace.sweeps.factored import DYNAMICS, FACTORED, JBAR, JOINT_FORCES, NULLSPACE, WEIGHTED
from bough.opspace.sweeps.inverse import INVERT
from bough.opspace.sweeps.jacobian import JACOBIAN
from bough.opspace.sweeps.torques import TASK_TORQUES
from bough.opspace.taskset import TaskSet
from bough.types import RealArray

PRECISIONS: tuple[np.dtype[Any], ...] = (np.dtype(np.float64), np.dtype(np.float32))
# What errors call the functions behind quantities; those that serve several quantities speak of the space
PUBLIC = {"torques": "torques", "jacobian": "jacobian", "bias": "bias", "drift": "drift", "invert": "inertia"}


class FullPass(NamedTuple):
    """All operational-space quantities of one configuration or a batch."""

    J: RealArray
    bias: RealArray
    inverse_inertia: RealArray
    inertia: RealArray
    jbar: RealArray
    nullspace: RealArray


class Weighted(NamedTuple):
    """J (m, nv), H^-1 J' (nv, m), Lambda^-1 (m, m), and beta (m,) where a velocity is known."""

    J: RealArray
    weighted: RealArray
    inverse_inertia: RealArray
    bias: RealArray | None = None


def routines(tasks: TaskSet) -> dict[str, tuple[Routine, tuple[Any, ...]]]:
    """The routine behind each quantity of tasks, and its constants after the mechanism."""
    tree, placed = dof_tree(tasks), (tasks.with_placements, tasks.pattern)
    return {
        "jacobian": (JACOBIAN, placed),
        "bias": (BIAS, (tasks.seeds,)),
        "drift": (DRIFT, (tasks.seeds,)),
        "invert": (INVERT, ()),
        "factored": (FACTORED, (*placed, tree)),
        "weighted": (WEIGHTED, (*placed, tree)),
        "dynamics": (DYNAMICS, (*placed, tree)),
        "jbar": (JBAR, (tasks.pattern, tree)),
        "nullspace": (NULLSPACE, (tasks.pattern,)),
        "joint_forces": (JOINT_FORCES, (tasks.pattern, tree)),
        "torques": (TASK_TORQUES, (*placed, tree)),
    }


def checked_dtype(dtype: npt.DTypeLike | None) -> np.dtype[Any] | None:
    """float64 or float32, or none."""
    if dtype is None:
        return None
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in PRECISIONS:
        raise ShapeError(f"dtype is float64 or float32, got {dtype!r}")
    return found


def alike(arrays: Sequence[Any], dtype: np.dtype[Any] | None) -> tuple[RealArray, ...]:
    """Arrays in one precision: this one, else single where all are."""
    single = all(getattr(x, "dtype", None) == np.float32 for x in arrays)
    try:
        return tuple([np.asarray(x, dtype or (np.float32 if single else np.float64)) for x in arrays])
    except (TypeError, ValueError):
        [real_array("q, v or a force", x) for x in arrays]
        raise


def beside(device: Device, q: Any, x: float) -> Any:
    """A number as an array (1,) in the library, precision and place of q; nothing is copied from the host."""
    return full((1,), x, q)


def kept_beside(device: Device, q: Any, x: float, kept: dict[Any, Any]) -> Any:
    """The same for a number that is always the same, made once: filling a tensor takes as long as a small kernel."""
    if library_of(q) != "torch":
        return beside(device, q, x)
    found = kept.get((q.device, q.dtype))
    if found is None:
        found, cuda = beside(device, q, x), modules["torch"].cuda
        if not cuda.is_current_stream_capturing():  # what is recorded is not done yet
            cuda.current_stream(q.device).synchronize()  # for all streams
            kept[q.device, q.dtype] = found
    return found
