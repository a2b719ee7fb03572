"""Quantities of a model as inputs of its functions: inertias, rotors, gravity and placements of joints.

A parametrised routine first turns the user's numbers into the kernels' (`lay_inertias`, `lay_placements`), and then
runs the original body on a mechanism that has them in the place of its constants. One source serves both; a quantity
that is not named stays a constant, and folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bough.compile.graph.program import Mark
from bough.compile.graph.twins import Twins
from bough.compile.kernel import from_text, kernel
from bough.compile.routine import FindTwins, Routine
from bough.errors import ModelError, OptionError
from bough.joints import PLACED, Mechanism
from bough.model import Model, body_frames, find_limbs, joint_frames, own_freedoms
from bough.spatial import add3, get3, get9, get10, matmul3, put10, rigid_in, rotate
from bough.types import FloatArray, Rows, Workspace

SHAPES = {"inertia": "joints 10", "armature": "nv", "gravity": "3", "placement": "joints 4 4"}


class Seats(NamedTuple):
    """Where the user's numbers go. All arrays with a row for each of the user's bodies are marked with them."""

    body: Rows  # (joints,) the kernel's number of the body that carries the inertia of each of the user's
    R: Rows  # (joints, 9) the user's frame in the laid one
    p: Rows  # (joints, 3)
    own: Rows  # (n,) whether the rotor of a degree of freedom is the user's, 0 for mimic joints
    first: Rows  # (joints,) the kernel's number of the body whose fixed part is the joint's placement
    up_R: Rows  # (joints, 9) the fixed part is up, placement, down
    up_p: Rows  # (joints, 3)
    down_R: Rows  # (joints, 9)
    down_p: Rows  # (joints, 3)
    fixed_kind: Rows  # (N,) general placements where they are inputs


def check_inputs(model: Model, inputs: Any) -> tuple[str, ...]:
    """The names of quantities, each known and once, in the order of `SHAPES`."""
    if isinstance(inputs, str):
        raise OptionError(f"inputs is a tuple of names, got the word {inputs!r}; write ({inputs!r},)")
    given = tuple(inputs)
    for name in given:
        if name not in SHAPES:
            raise OptionError(f"no quantity is called {name!r}: inputs may be {', '.join(SHAPES)}")
    if len(set(given)) < len(given):
        raise OptionError(f"inputs names a quantity twice: {', '.join(given)}")
    if "placement" in given and model.couplings:
        raise ModelError(f"{model.name!r} has mimic joints: placements of joints cannot be inputs")
    return tuple(name for name in SHAPES if name in given)


def own_values(model: Model, name: str) -> FloatArray:
    """What the model itself has for a quantity."""
    found = {"inertia": "inertias", "placement": "joint_placements"}.get(name, name)
    values: FloatArray = getattr(model, found)
    return values


def seats_of(model: Model, inputs: Sequence[str]) -> Seats:
    """The constants of a parametrised routine, after the mechanism."""
    body, R, p = body_frames(model)
    own = np.zeros(len(model.mechanism.v_index), np.int64)
    own[own_freedoms(model)] = 1
    n = len(body)
    first, up, down, _ = joint_frames(model) if "placement" in inputs else (body, *np.tile(np.eye(4), (3, n, 1, 1)))
    kind = np.array(model.mechanism.fixed_kind)
    kind[first] = PLACED
    (up_R, up_p), (down_R, down_p) = ((_snapped(T[:, :3, :3].reshape(n, 9)), T[:, :3, 3].copy()) for T in (up, down))
    return Seats(body, _snapped(R.reshape(n, 9)), p, own, first, up_R, up_p, down_R, down_p, kind)


def _snapped(R: FloatArray) -> FloatArray:
    """Rotations whose elements are 0, 1 or -1 to rounding are exactly so: these cost nothing."""
    nearest = np.round(R)
    return np.where(np.abs(R - nearest) < 1e-15, nearest, R)


@kernel
def lay_inertias(m: Mechanism, s: Seats, given: Rows, w: Workspace) -> None:
    """The kernels' inertias, from the user's in the order m, m c, xx xy yy xz yz zz."""
    for i in range(len(m.parent)):
        put10(w.laid_inertia, i, get10(m.inertia, i))
    for j in range(len(s.body)):
        x = given[j]
        own = (x[4], x[6], x[9], x[5], x[7], x[8], x[1], x[2], x[3], x[0])
        put10(w.laid_inertia, s.body[j], rigid_in(get9(s.R, j), get3(s.p, j), own))


@kernel
def lay_rotors(m: Mechanism, s: Seats, given: Rows, w: Workspace) -> None:
    """The kernels' rotor inertias, from the user's in the order of v."""
    for k in range(len(m.v_index)):
        if s.own[k] == 1:
            w.laid_armature[k] = given[m.v_index[k]]
        else:
            w.laid_armature[k] = m.armature[k]


@kernel
def lay_placements(m: Mechanism, s: Seats, given: Rows, w: Workspace) -> None:
    """The fixed parts of all joints, as general placements, from homogeneous matrices."""
    zero, one = m.zero[0], m.one[0]
    for i in range(len(m.parent)):
        for c in range(12):
            w.laid_fixed[i, c] = m.fixed[i, c]
        for c in range(5):
            w.laid_offset[i, c] = m.offset[i, c]
    for j in range(len(s.first)):
        T, i = given[j], s.first[j]
        R = (T[0, 0], T[0, 1], T[0, 2], T[1, 0], T[1, 1], T[1, 2], T[2, 0], T[2, 1], T[2, 2])
        p = add3((T[0, 3], T[1, 3], T[2, 3]), rotate(R, get3(s.down_p, j)))
        p = add3(get3(s.up_p, j), rotate(get9(s.up_R, j), p))
        R = matmul3(get9(s.up_R, j), matmul3(R, get9(s.down_R, j)))
        for c in range(9):
            w.laid_fixed[i, c] = R[c]
        for c in range(3):
            w.laid_fixed[i, 9 + c] = p[c]
        w.laid_offset[i, 0], w.laid_offset[i, 1] = zero, zero
        w.laid_offset[i, 3], w.laid_offset[i, 4] = one, zero


LAYING = {
    "inertia": ("lay_inertias", {"laid_inertia": "bodies 10"}, {"inertia": "w.laid_inertia"}),
    "armature": ("lay_rotors", {"laid_armature": "dofs"}, {"armature": "w.laid_armature"}),
    "gravity": (None, {}, {"gravity": "given_gravity"}),
    "placement": (
        "lay_placements",
        {"laid_fixed": "bodies 12", "laid_offset": "bodies 5"},
        {"fixed": "w.laid_fixed", "offset": "w.laid_offset", "fixed_kind": "s.fixed_kind"},
    ),
}


@cache
def parametrised(routine: Routine, inputs: tuple[str, ...], groups: int) -> Routine:
    """The routine with further inputs of these names; `Seats` follow the mechanism in its `groups` + 1 constants."""
    fields = {name: f"m.{name}" for name in Mechanism._fields}
    lines, work = [], dict(routine.work)
    for name in inputs:
        lay, arrays, replaced = LAYING[name]
        work |= arrays
        fields |= replaced
        if lay:
            lines.append(f"    {lay}(m, s, given_{name}, w)")
    given = [*(f"c{k}" for k in range(groups - 1)), *(f"x{k}" for k in range(len(routine.inputs)))]
    results = [f"y{k}" for k in range(len(routine.outputs))]
    head = ", ".join(["m", "s", *given, *(f"given_{name}" for name in inputs), *results, "w"])
    call = ", ".join(["n", *given, *results, "w"])
    text = [f"def body({head}):", *lines, f"    n = Mechanism({', '.join(fields.values())})", f"    original({call})"]
    scope: dict[str, Any] = {"original": routine.body, "Mechanism": Mechanism, "lay_inertias": lay_inertias}
    scope |= {"lay_rotors": lay_rotors, "lay_placements": lay_placements, "__name__": __name__}
    body: Callable[..., None] = kernel(from_text("\n".join(text), scope))
    body.__qualname__ = f"{routine.name}_of_{'_'.join(inputs)}"
    return replace(routine, body=body, inputs={**routine.inputs, **{x: SHAPES[x] for x in inputs}}, work=work)


def marks_of(twins: FindTwins) -> FindTwins:
    """The marks that `twins` finds, and the rows of inputs marked by the user's bodies that they belong to."""

    def found(constants: Sequence[Any]) -> Twins | None:
        marked = twins(constants)
        if marked is None:
            return None
        m, seats = constants[:2]
        limb, place = find_limbs(m)
        rows = {j: Mark(limb[i], (place[i],)) for j, i in enumerate(seats.body.tolist()) if limb[i]}
        return marked._replace(axes={**marked.axes, "joints": rows})

    return found
