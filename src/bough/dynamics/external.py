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
from bough.compile.run.arrays import real_array
from bough.dynamics.aba import ABA, eliminate_and_accelerate, start_body
from bough.dynamics.forward_by_factor import FORWARD_CRBA, DofRows, factorize, solve_bias
from bough.dynamics.kinematics import orient_body
from bough.dynamics.rnea import BIAS, RNEA, accelerate, gather, load
from bough.errors import ShapeError, UnknownNameError
from bough.joints import Mechanism, by_freedom, fetch_joint, move_joint
from bough.model import Model, find_limbs, mark_limbs
from bough.spatial import add3, angular, cross, get3, get6, get9, join, linear, put6, sub3
from bough.types import FloatArray, IntArray, Rotation, Rows, Vector, Workspace

LARGEST_COMPANY = 4  # twins of a pushed body that are pushed along with it: as many as lie side by side


class Points(NamedTuple):
    """The origins of frames on bodies, and which of them lie on a body: those numbered order[first[i] : first[i + 1]].

    Points of the world are in no body's list: it does not move.
    """

    body: Rows  # (count,) kernel's number of the body, -1 = world
    p: Rows  # (count, 3) in that body's frame
    first: Rows  # (bodies + 1,)
    order: Rows  # (count on bodies,)


class NamedPoints(NamedTuple):
    """The same, and how the named wrenches go to them: the wrench at point k is the sum over j of share[k, j] x_j."""

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
    numbers = [model.frame(name) for name in names]
    return _listed(model.frames.body[numbers], model.frames.p[numbers], len(model.mechanism.parent))


def named_points(model: Model, names: Sequence[str], *, in_company: bool) -> NamedPoints:
    """Points for named wrenches, one each.

    In company, the twins of the bodies (see `find_limbs`) are pushed, too, with a share of zero: limbs stay alike, so
    that code for one configuration can treat them side by side.
    """
    body, p, *_ = points_of(model, names)
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
    bodies, places = np.array([s[0] for s in seats], np.int64), np.array([s[1] for s in seats])
    return NamedPoints(*_listed(bodies, places, len(model.mechanism.parent)), share)


@kernel
def push(m: Mechanism, points: Places, wrenches: Rows, i: int, f: Rows, w: Workspace) -> None:
    """Take the wrenches on body i, [force, moment] in the world's axes, off the force f[i], moment first, in its own.

    Body by body, where f[i] has just been made: nothing waits in memory. Term by term: each product joins a sum.
    """
    orient_body(m, i, w)
    R = get9(w.E, i)
    for j in range(points.first[i], points.first[i + 1]):
        k = points.order[j]
        x, p, y = wrenches[k], get3(points.p, k), get6(f, i)
        force = turned_off(R, (x[0], x[1], x[2]), linear(y))
        # the part of the force's moment about the body's origin is p x (what force lost)
        moment = add3(turned_off(R, (x[3], x[4], x[5]), angular(y)), cross(p, sub3(force, linear(y))))
        put6(f, i, join(moment, force))


@kernel
def turned_off(R: Rotation, x: Vector, y: Vector) -> Vector:
    """y - R' x."""
    return (
        y[0] - R[0] * x[0] - R[3] * x[1] - R[6] * x[2],
        y[1] - R[1] * x[0] - R[4] * x[1] - R[7] * x[2],
        y[2] - R[2] * x[0] - R[5] * x[1] - R[8] * x[2],
    )


# Wrenches as one array; below, each in an array of its own, in `rest` with the output and the workspace


@kernel
def aba_pushed(
    m: Mechanism, points: Places, q: Rows, v: Rows, tau: Rows, wrenches: Rows, qdd: Rows, w: Workspace
) -> None:
    by_freedom(m, v, w.rate)
    by_freedom(m, tau, w.u)
    for i in range(len(m.parent)):
        fetch_joint(m, q, i)
        move_joint(m, q, i, w.X)
        start_body(m, i, w)
        push(m, points, wrenches, i, w.pA, w)
    eliminate_and_accelerate(m, qdd, w)


@kernel
def crba_pushed(
    m: Mechanism,
    t: DofRows,
    points: Places,
    q: Rows,
    v: Rows,
    tau: Rows,
    wrenches: Rows,
    qdd: Rows,
    w: Workspace,
) -> None:
    factorize(m, t, q, w.L, w)
    for k in range(len(qdd)):
        w.rest[k] = m.zero[0]
    rnea_pushed(m, points, q, v, w.rest, wrenches, qdd, w)
    solve_bias(t, tau, qdd, w)


@kernel
def rnea_pushed(
    m: Mechanism, points: Places, q: Rows, v: Rows, qdd: Rows, wrenches: Rows, tau: Rows, w: Workspace
) -> None:
    by_freedom(m, v, w.rate)
    by_freedom(m, qdd, w.effort)
    for i in range(len(m.parent)):
        fetch_joint(m, q, i)
        move_joint(m, q, i, w.X)
        accelerate(m, i, w)
        load(m, i, w)
        push(m, points, wrenches, i, w.f, w)
    gather(m, tau, w)


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

    def on(self, model: Model, frames: Sequence[str]) -> tuple[Routine, Points]:
        """The routine for one array of wrenches on these frames, or on all bodies, and where they act."""
        return self.with_array(str(len(frames)) if frames else "joints"), points_of(model, frames or model.body_names)

    def with_names(self, points: NamedPoints) -> Routine:
        """The routine for separate wrenches; `points` are its last constants."""
        count, names = points.share.shape
        return self._with({f"force_{k}": "6" for k in range(names)}, {"wrench": f"{count} 6"}, self.by_name)

    def _with(self, forces: dict[str, str], work: dict[str, str], body: Callable[..., None]) -> Routine:
        inputs = {name: shape for name, shape in self.routine.inputs.items() if name != "f_ext"} | forces
        work = {**self.routine.work, "E": "bodies 9", **work}
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


def stacked(function: str, forces: Mapping[str, Any], order: Sequence[str]) -> FloatArray:
    """Named wrenches as one array (..., names, 6)."""
    check_wrenches(function, forces)
    return np.stack(np.broadcast_arrays(*(np.asarray(forces[name]) for name in order)), axis=-2)


def check_wrenches(function: str, forces: Mapping[str, Any]) -> None:
    """Say which of several named wrenches does not fit, or that they do not fit together."""
    rows: dict[str, int] = {}
    for name, wrench in forces.items():
        given = real_array(f"{function}: the force on {name!r}", wrench, "(6,) or (batch, 6)")
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
