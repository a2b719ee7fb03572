"""External forces: wrenches on frames, in the world's axes, as the forces on bodies that the kernels take.

A wrench is [force, moment] at the origin of its frame, in the world's axes. Wrenches come as one array, a row for each
of the model's bodies, or by name, each an array of its own; either way they are inputs of the same compiled function
as q, v and tau.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.compile.graph.program import Mark
from bough.compile.graph.twins import Twins
from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.aba import ABA, aba
from bough.dynamics.forward_by_factor import FORWARD_CRBA, DofRows, forward_crba
from bough.dynamics.kinematics import place_body
from bough.dynamics.rnea import BIAS, RNEA, rnea
from bough.errors import ShapeError, UnknownNameError
from bough.joints import Mechanism, joint_motion
from bough.model import Model, find_limbs, mark_limbs
from bough.spatial import add3, add6, cross, get3, get6, get9, join, put6, rotate_back
from bough.types import Rows, Workspace

LARGEST_COMPANY = 4  # twins of a pushed body that are pushed along with it: as many as lie side by side


class Points(NamedTuple):
    """The origins of frames on bodies."""

    body: Rows  # (count,) kernel's number of the body, -1 = world
    p: Rows  # (count, 3) in that body's frame


class NamedPoints(NamedTuple):
    """The same, and how the named wrenches go to them: the wrench at point k is the sum over j of share[k, j] x_j."""

    body: Rows  # (count,)
    p: Rows  # (count, 3)
    share: Rows  # (count, names)


Places: TypeAlias = Points | NamedPoints


def points_of(model: Model, names: Sequence[str]) -> Points:
    """The frames with these names; the same frame may occur twice."""
    for name in names:
        if not isinstance(name, str):
            raise UnknownNameError(f"forces must be named by frames, got the name {name!r}")
    numbers = [model.frame(name) for name in names]
    return Points(model.frames.body[numbers], model.frames.p[numbers])


def named_points(model: Model, names: Sequence[str], *, in_company: bool) -> NamedPoints:
    """Points for named wrenches, one each.

    In company, the twins of the bodies (see `find_limbs`) are pushed, too, with a share of zero: limbs stay alike, so
    that code for one configuration can treat them side by side.
    """
    body, p = points_of(model, names)
    seats = [(int(i), tuple(x), j) for j, (i, x) in enumerate(zip(body, p, strict=True))]
    if in_company:
        limb, place = find_limbs(model.mechanism)
        pushed = Counter(i for i, _, _ in seats)
        for i, x, _ in tuple(seats):
            twins = [t for t in range(len(place)) if i >= 0 and limb[i] and place[t] == place[i]]
            for t in twins if len(twins) <= LARGEST_COMPANY else ():
                if pushed[t] < pushed[i]:
                    pushed[t] += 1
                    seats.append((t, x, -1))
    share = np.array([[float(j == k) for k in range(len(names))] for _, _, j in seats])
    return NamedPoints(np.array([s[0] for s in seats], np.int64), np.array([s[1] for s in seats]), share)


@kernel
def push(m: Mechanism, points: Places, q: Rows, wrenches: Rows, w: Workspace) -> None:
    """f_ext (bodies, 6), moment first, in body frames, from wrenches[k] (6,) [force, moment] at each point.

    Wrenches on the world are ignored: it does not move.
    """
    zero = m.zero[0]
    joint_motion(m, q, w.X)
    for i in range(len(m.parent)):
        place_body(m, i, w)
        put6(w.f_ext, i, (zero, zero, zero, zero, zero, zero))
    for k in range(len(points.body)):
        i = points.body[k]
        if i >= 0:
            x, R = wrenches[k], get9(w.P, i)
            force = rotate_back(R, (x[0], x[1], x[2]))
            moment = rotate_back(R, (x[3], x[4], x[5]))
            moment = add3(moment, cross(get3(points.p, k), force))
            put6(w.f_ext, i, add6(get6(w.f_ext, i), join(moment, force)))


# Wrenches as one array; below, each in an array of its own, in `rest` with the output and the workspace


@kernel
def aba_pushed(
    m: Mechanism, points: Places, q: Rows, v: Rows, tau: Rows, wrenches: Rows, qdd: Rows, w: Workspace
) -> None:
    push(m, points, q, wrenches, w)
    aba(m, q, v, tau, w.f_ext, qdd, w)


@kernel
def crba_pushed(
    m: Mechanism,
    t: DofRows,
    points: Points | NamedPoints,
    q: Rows,
    v: Rows,
    tau: Rows,
    wrenches: Rows,
    qdd: Rows,
    w: Workspace,
) -> None:
    push(m, points, q, wrenches, w)
    forward_crba(m, t, q, v, tau, w.f_ext, qdd, w)


@kernel
def rnea_pushed(
    m: Mechanism, points: Places, q: Rows, v: Rows, qdd: Rows, wrenches: Rows, tau: Rows, w: Workspace
) -> None:
    push(m, points, q, wrenches, w)
    rnea(m, q, v, qdd, w.f_ext, tau, w)


@kernel
def hand_out(m: Mechanism, points: NamedPoints, wrenches: Rows, w: Workspace) -> None:
    """w.wrench (count, 6): the wrench at each point."""
    for k in range(len(points.body)):
        for c in range(6):
            x = m.zero[0]
            for j in range(len(wrenches)):
                x = x + points.share[k, j] * wrenches[j][c]
            w.wrench[k, c] = x


@kernel
def aba_named(m: Mechanism, points: NamedPoints, q: Rows, v: Rows, tau: Rows, *rest: Any) -> None:
    hand_out(m, points, rest[:-2], rest[-1])
    aba_pushed(m, points, q, v, tau, rest[-1].wrench, rest[-2], rest[-1])


@kernel
def crba_named(m: Mechanism, t: DofRows, points: NamedPoints, q: Rows, v: Rows, tau: Rows, *rest: Any) -> None:
    hand_out(m, points, rest[:-2], rest[-1])
    crba_pushed(m, t, points, q, v, tau, rest[-1].wrench, rest[-2], rest[-1])


@kernel
def rnea_named(m: Mechanism, points: NamedPoints, q: Rows, v: Rows, qdd: Rows, *rest: Any) -> None:
    hand_out(m, points, rest[:-2], rest[-1])
    rnea_pushed(m, points, q, v, qdd, rest[-1].wrench, rest[-2], rest[-1])


class Pushed(NamedTuple):
    """A routine with f_ext, and its bodies that take wrenches as one array or by name."""

    routine: Routine
    by_array: Callable[..., None]
    by_name: Callable[..., None]

    def with_array(self, rows: str = "joints") -> Routine:
        """The routine for one array of wrenches, a row for each point; `Points` are its last constants."""
        return self._with({"forces": f"{rows} 6"}, {}, self.by_array)

    def with_names(self, points: NamedPoints) -> Routine:
        """The routine for separate wrenches; `points` are its last constants."""
        count, names = points.share.shape
        return self._with({f"force_{k}": "6" for k in range(names)}, {"wrench": f"{count} 6"}, self.by_name)

    def _with(self, forces: dict[str, str], work: dict[str, str], body: Callable[..., None]) -> Routine:
        inputs = {name: shape for name, shape in self.routine.inputs.items() if name != "f_ext"} | forces
        work = {**self.routine.work, "f_ext": "bodies 6", "P": "bodies 12", **work}
        return Routine(self.routine.name, body, inputs, self.routine.outputs, work, self.routine.zeros)


PUSHED_ABA = Pushed(ABA, aba_pushed, aba_named)
PUSHED_CRBA = Pushed(FORWARD_CRBA, crba_pushed, crba_named)
PUSHED_RNEA = Pushed(RNEA, rnea_pushed, rnea_named)
PUSHED_BIAS = Pushed(BIAS, rnea_pushed, rnea_named)


def mark_pushed(constants: Sequence[Any]) -> Twins | None:
    """`mark_limbs`, and the rows of an array of wrenches marked by the bodies that they act on; `Points` come last."""
    found = mark_limbs(constants)
    if found is None:
        return None
    limb, place = find_limbs(constants[0])
    bodies = constants[-1].body.tolist()
    marks = {row: Mark(limb[i], (place[i],)) for row, i in enumerate(bodies) if i >= 0 and limb[i]}
    return found._replace(axes={**found.axes, "joints": marks})


def check_wrenches(function: str, forces: Mapping[str, Any]) -> None:
    """Say which of several named wrenches does not fit, or that they do not fit together."""
    rows: dict[str, int] = {}
    for name, wrench in forces.items():
        try:
            given = np.asarray(wrench)
        except ValueError:
            raise ShapeError(f"{function}: the force on {name!r} is ragged; expected (6,) or (batch, 6)") from None
        if given.dtype.kind not in "fiub":
            raise ShapeError(f"{function}: the force on {name!r} must be real numbers, got dtype {given.dtype}")
        if given.shape != (6,) and (given.ndim != 2 or given.shape[1] != 6):
            raise ShapeError(
                f"{function}: the force on {name!r} must have shape (6,) or (batch, 6), "
                f"[force, moment] in world axes, got {given.shape}"
            )
        if given.ndim == 2:
            rows[name] = len(given)
    if len(set(rows.values())) > 1:
        found = ", ".join(f"{n} for {name!r}" for name, n in rows.items())
        raise ShapeError(f"{function}: the forces have different numbers of rows: {found}")
