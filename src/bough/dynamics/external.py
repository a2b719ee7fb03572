"""External forces: wrenches on frames, in the world's axes, as inputs of functions of the table.

The recursions read them from the mechanism (`newton_euler.subtract_wrenches`), where there are none by default. Here
they are inputs of a routine. A wrench is [force, moment] at the origin of its frame, in the world's axes. Wrenches are
one array, a row for each of the model's bodies, or by name an array each. Either way they are inputs of one compiled
function, like q, v and tau.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.compile.graph.program import Mark
from bough.compile.graph.twins import Twins
from bough.compile.kernel import from_text, kernel
from bough.compile.routine import Routine
from bough.compile.run.arrays import real_array
from bough.compile.run.libraries import asarray, full, is_on_gpu
from bough.dynamics.engine import Device
from bough.errors import ShapeError, UnknownNameError
from bough.joints import Mechanism
from bough.model import Model, find_limbs, mark_limbs
from bough.types import FloatArray, IntArray, Rows, Workspace

LARGEST_COMPANY = 4  # bodies of identical limbs that share a vector instruction with a loaded body


class Points(NamedTuple):
    """The origins of frames on bodies; those of body i are numbered order[first[i] : first[i + 1]].

    Points of the world are in no body's list.
    """

    body: Rows  # (count,) kernel's number of the body, -1 = world
    p: Rows  # (count, 3) in that body's frame
    first: Rows  # (bodies + 1,)
    order: Rows  # (count on bodies,)


class NamedPoints(NamedTuple):
    """The same with shares of named wrenches: the wrench at point k is the sum over j of share[k, j] x_j."""

    body: Rows
    p: Rows
    first: Rows
    order: Rows
    share: Rows  # (count, names)


Places: TypeAlias = Points | NamedPoints


def _listed(body: IntArray, p: FloatArray, bodies: int) -> Points:
    """Points with the list of each body."""
    order = np.argsort(body, kind="stable")
    first = np.searchsorted(body[order], np.arange(bodies + 1))
    return Points(body, p, first - first[0], order[first[0] :])


def points_of(model: Model, names: Sequence[str]) -> Points:
    """The frames with these names; the same frame may occur twice."""
    for name in names:
        if not isinstance(name, str):
            raise UnknownNameError(f"forces must be named by frames, got the name {name!r}")
    return points_at(model, names, np.zeros((len(names), 3)))


def points_at(model: Model, names: Sequence[str], offsets: FloatArray) -> Points:
    """Points (count, 3) of frames, in the frames' own axes."""
    return points_on(model, np.array([model.frame(name) for name in names], np.int64), offsets)


def points_on(model: Model, numbers: IntArray, offsets: FloatArray) -> Points:
    """The same for frames by number."""
    p = model.frames.p[numbers] + np.einsum("kij,kj->ki", model.frames.R[numbers].reshape(-1, 3, 3), offsets)
    return _listed(
        model.frames.body[numbers], p if np.any(offsets) else model.frames.p[numbers], len(model.mechanism.parent)
    )


def named_points(model: Model, names: Sequence[str], *, in_company: bool) -> NamedPoints:
    """Points for named wrenches, one each.

    With `in_company`, the same bodies of identical limbs (see `find_limbs`) get points, too, of zero share: limbs
    stay identical, so that code for one configuration is vectorised over them.
    """
    body, p, *_ = points_of(model, names)
    points = [(int(i), tuple(x), j) for j, (i, x) in enumerate(zip(body, p, strict=True))]
    if in_company:
        limb, place = find_limbs(model.mechanism)
        pushed = Counter(i for i, _, _ in points)
        for i, x, _ in tuple(points):
            twins = [t for t in range(len(place)) if i >= 0 and limb[i] and place[t] == place[i]]
            for t in twins if len(twins) <= LARGEST_COMPANY else ():
                if pushed[t] < pushed[i]:
                    pushed[t] += 1
                    points.append((t, x, -1))
    share = np.array([[float(j == k) for k in range(len(names))] for _, _, j in points])
    bodies, places = np.array([s[0] for s in points], np.int64), np.array([s[1] for s in points])
    return NamedPoints(*_listed(bodies, places, len(model.mechanism.parent)), share)


@kernel
def hand_out(m: Mechanism, points: NamedPoints, wrenches: Rows, w: Workspace) -> None:
    """w.wrench (count, 6): the wrench at each point."""
    for k in range(len(points.body)):
        for c in range(6):
            x = m.zero[0]
            for j in range(len(wrenches)):
                x = x + points.share[k, j] * wrenches[j][c]
            w.wrench[k, c] = x


Constants: TypeAlias = tuple[Any, ...]  # groups after the mechanism


def with_forces(
    model: Model, routine: Routine, constants: Constants, frames: Sequence[str] = ()
) -> tuple[Routine, Constants]:
    """A routine with one array of wrenches on these frames, or on all bodies, as its last input, and its constants."""
    rows = str(len(frames)) if frames else "joints"
    points = points_of(model, frames or model.body_names)
    return _with_forces(routine, len(constants), f"{rows} 6"), (*constants, points)


def with_named_forces(
    model: Model, routine: Routine, constants: Constants, frames: Sequence[str], *, in_company: bool
) -> tuple[Routine, Constants]:
    """The same with a wrench on each frame as an input of its own."""
    points = named_points(model, frames, in_company=in_company)
    return _with_forces(routine, len(constants), f"{len(points.body)} 6", len(frames)), (*constants, points)


@cache
def _with_forces(routine: Routine, groups: int, shape: str, names: int = 0) -> Routine:
    """The routine on a mechanism with external wrenches; points follow its other constants."""
    forces = {f"force_{k}": "6" for k in range(names)} or {"forces": shape}
    constants, work = [f"c{k}" for k in range(groups)], {**routine.work, "world": "bodies 9"}
    arrays = [*(f"x_{name}" for name in routine.inputs), *(f"y_{name}" for name in routine.outputs), "w"]
    inputs = [*arrays[: len(routine.inputs)], *forces, *arrays[len(routine.inputs) :]]
    lines, given = [f"def body({', '.join(['m', *constants, 'points', *inputs])}):"], "forces"
    if names:
        lines.append(f"    hand_out(m, points, ({', '.join(forces)},), w)")
        given, work = "w.wrench", {**work, "wrench": shape}
    fields = {name: f"m.{name}" for name in Mechanism._fields}
    fields |= {"first_push": "points.first", "push": "points.order", "push_at": "points.p"}
    fields |= {"wrench": given, "world": "w.world"}
    lines.append(f"    n = Mechanism({', '.join(fields.values())})")
    lines.append(f"    original({', '.join(['n', *constants, *arrays])})")
    scope: dict[str, Any] = {"original": routine.body, "Mechanism": Mechanism, "hand_out": hand_out}
    body: Callable[..., None] = kernel(from_text("\n".join(lines), scope | {"__name__": __name__}))
    body.__qualname__ = f"{routine.name}_with_forces"
    return replace(routine, body=body, inputs={**routine.inputs, **forces}, work=work)


def mark_forces(constants: Sequence[Any]) -> Twins | None:
    """`mark_limbs`, and the rows of an array of wrenches marked by the bodies that they act on; `Points` come last."""
    found = mark_limbs(constants)
    if found is None:
        return None
    limb, place = find_limbs(constants[0])
    bodies = constants[-1].body.tolist()
    marks = {row: Mark(limb[i], (place[i],)) for row, i in enumerate(bodies) if i >= 0 and limb[i]}
    return found._replace(axes={**found.axes, "joints": marks})


def stacked(function: str, forces: Mapping[str, Any], order: Sequence[str], device: Device) -> Any:
    """Named wrenches as one array (..., names, 6), on a GPU where they are; in columns (names, 6, batch)."""
    check_wrenches(function, forces, device)
    like = next(filter(is_on_gpu, forces.values()), None)
    given = [np.asarray(forces[name]) if like is None else asarray(forces[name], like) for name in order]
    columns = device.layout == "columns"
    if columns and any(x.ndim == 2 for x in given):
        given = [x if x.ndim == 2 else x[:, None] for x in given]
    if like is None:
        return np.stack(np.broadcast_arrays(*given), axis=0 if columns else -2)
    whole = np.broadcast_shapes(*(tuple(x.shape) for x in given))
    found = full((len(given), *whole) if columns else (*whole[:-1], len(given), 6), 0.0, like)
    for k, x in enumerate(given):
        found[k if columns else (..., k, slice(None))] = x
    return found


def check_wrenches(function: str, forces: Mapping[str, Any], device: Device) -> None:
    """Say which of several named wrenches does not fit, or that they do not fit together."""
    rows: dict[str, int] = {}
    columns = device.layout == "columns"
    expected = "(6,) or (6, batch)" if columns else "(6,) or (batch, 6)"
    for name, wrench in forces.items():
        given = wrench if is_on_gpu(wrench) else real_array(f"{function}: the force on {name!r}", wrench, expected)
        shape = tuple(given.shape)
        if len(shape) not in (1, 2) or shape[0 if columns else -1] != 6:
            raise ShapeError(
                f"{function}: the force on {name!r} must have shape {expected}, "
                f"[force, moment] in world axes, got {shape}"
            )
        if len(shape) == 2:
            rows[name] = shape[-1 if columns else 0]
    if len(set(rows.values())) > 1:
        found = ", ".join(f"{n} for {name!r}" for name, n in rows.items())
        raise ShapeError(f"{function}: the forces have different numbers of rows: {found}")
