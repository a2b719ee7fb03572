"""Quantities of a model as inputs of its functions: inertias, rotors, gravity and placements of joints.

A parametrised routine first turns the user's numbers into the kernels' (`lay_inertias`, `lay_placements`), and then
runs the original body on a mechanism that has them in the place of its constants. One source serves both; a quantity
that is not named stays a constant, and folds. In calls they are keywords, by default the model's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from bough.compile.graph.program import Mark
from bough.compile.graph.twins import Twins
from bough.compile.kernel import from_text, is_straight_line, kernel
from bough.compile.routine import Constants, FindTwins, Groups, Routine
from bough.compile.run.arrays import real_array
from bough.compile.run.gate import Default, make_front
from bough.compile.run.libraries import Copies, is_on_gpu
from bough.dynamics.engine import CompiledFunction
from bough.errors import ModelError, OptionError, unknown_option
from bough.joints import PLACED, Mechanism
from bough.model import Model, find_limbs, mark_limbs
from bough.model.parameters import body_frames, check_physical, joint_frames, own_dofs
from bough.spatial import add3, get3, get9, get10, matmul3, put10, rigid_in, rotate
from bough.types import FloatArray, Rows, Workspace

SHAPES = {"inertia": "joints 10", "armature": "nv", "gravity": "3", "placement": "joints 4 4"}


class BodyLayout(NamedTuple):
    """The layout of the user's numbers. All arrays with a row for each of the user's bodies are marked with them."""

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
            raise unknown_option(f"no quantity is called {name!r}", name, SHAPES)
    if len(set(given)) < len(given):
        raise OptionError(f"inputs names a quantity twice: {', '.join(given)}")
    if "placement" in given and model.couplings:
        raise ModelError(f"{model.name!r} has mimic joints: placements of joints cannot be inputs")
    return tuple(name for name in SHAPES if name in given)


def own_values(model: Model, name: str) -> FloatArray:
    """The model's own value of a quantity."""
    found = {"inertia": "inertias", "placement": "joint_placements"}.get(name, name)
    values: FloatArray = getattr(model, found)
    return values


def body_layout(model: Model, inputs: Sequence[str]) -> BodyLayout:
    """The constants of a parametrised routine, after the mechanism."""
    body, R, p = body_frames(model)
    own = np.zeros(len(model.mechanism.v_index), np.int64)
    own[own_dofs(model)] = 1
    n = len(body)
    first, up, down, _ = joint_frames(model) if "placement" in inputs else (body, *np.tile(np.eye(4), (3, n, 1, 1)))
    kind = np.array(model.mechanism.fixed_kind)
    kind[first] = PLACED
    (up_R, up_p), (down_R, down_p) = ((_snapped(T[:, :3, :3].reshape(n, 9)), T[:, :3, 3].copy()) for T in (up, down))
    return BodyLayout(body, _snapped(R.reshape(n, 9)), p, own, first, up_R, up_p, down_R, down_p, kind)


def _snapped(R: FloatArray) -> FloatArray:
    """Rotations whose elements are 0, 1 or -1 to rounding are exactly so: these cost nothing."""
    nearest = np.round(R)
    return np.where(np.abs(R - nearest) < 1e-15, nearest, R)


@kernel
def lay_inertias(m: Mechanism, s: BodyLayout, given: Rows, w: Workspace) -> None:
    """The kernels' inertias, from the user's in the order m, m c, xx xy yy xz yz zz."""
    for i in range(len(m.parent)):
        put10(w.laid_inertia, i, get10(m.inertia, i))
    for j in range(len(s.body)):
        x = given[j]
        own = (x[4], x[6], x[9], x[5], x[7], x[8], x[1], x[2], x[3], x[0])
        put10(w.laid_inertia, s.body[j], rigid_in(get9(s.R, j), get3(s.p, j), own))


@kernel
def lay_rotors(m: Mechanism, s: BodyLayout, given: Rows, w: Workspace) -> None:
    """The kernels' rotor inertias, from the user's in the order of v."""
    for k in range(len(m.v_index)):
        if s.own[k] == 1:
            w.laid_armature[k] = given[m.v_index[k]]
        else:
            w.laid_armature[k] = m.armature[k]


@kernel
def lay_placements(m: Mechanism, s: BodyLayout, given: Rows, w: Workspace) -> None:
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
    """The routine with further inputs of these names; `BodyLayout` is second of its `groups` + 1 constants."""
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
    body = from_text("\n".join(text), scope)
    if is_straight_line(routine.body):
        kernel(body)
    body.__qualname__ = f"{routine.name}_of_{'_'.join(inputs)}"
    return replace(routine, body=body, inputs={**routine.inputs, **{x: SHAPES[x] for x in inputs}}, work=work)


def marks_of(twins: FindTwins) -> FindTwins:
    """The marks that `twins` finds, and the rows of inputs marked by the user's bodies that they belong to."""

    def found(constants: Sequence[Any]) -> Twins | None:
        marked = twins(constants)
        if marked is None:
            return None
        m, layout = constants[:2]
        limb, place = find_limbs(m)
        rows = {j: Mark(limb[i], (place[i],)) for j, i in enumerate(layout.body.tolist()) if limb[i]}
        return marked._replace(axes={**marked.axes, "joints": rows})

    return found


NAMES = frozenset(SHAPES)
RIGHT_ANGLES = 1e-6  # how far R R' of a placement may be from 1


@dataclass(frozen=True, eq=False)
class Parameters:
    """The quantities of a model that are inputs; none of them is false."""

    model: Model
    inputs: tuple[str, ...] = ()
    check: bool | None = None

    def __bool__(self) -> bool:
        return bool(self.inputs)

    @property
    def folds(self) -> bool:
        """Whether masses may be moved between bodies: not if they, or placements of joints, are inputs."""
        return not {"inertia", "placement"} & {*self.inputs}

    @cached_property
    def layout(self) -> BodyLayout:
        return body_layout(self.model, self.inputs)

    @cached_property
    def own(self) -> dict[str, FloatArray]:
        return {name: own_values(self.model, name) for name in self.inputs}

    @cached_property
    def defaults_of_calls(self) -> tuple[Default, ...]:
        """The model's own values, and the numbers that were examined last: these are not examined again."""
        free = {"gravity"} if self.check is not False else NAMES
        return tuple(Default(name, own, None if name in free else own.copy()) for name, own in self.own.items())

    def prepared(
        self, routine: Routine, constants: tuple[Any, ...], twins: FindTwins
    ) -> tuple[Routine, tuple[Any, ...], FindTwins]:
        """A routine, its constants after the mechanism and its marks, with the parameters as inputs."""
        if not self:
            return routine, constants, twins
        return parametrised(routine, self.inputs, 1 + len(constants)), (self.layout, *constants), marks_of(twins)

    def constants(
        self, routine: Routine, groups: Groups, folded: Callable[[], Mechanism], twins: FindTwins = mark_limbs
    ) -> tuple[Routine, Constants]:
        """A routine and its constants, the mechanism first, with the parameters as inputs.

        `folded` gives the mechanism that traced code is made from, where no parameter forbids it.
        """
        mechanism, *rest = groups
        routine, more, twins = self.prepared(routine, tuple(rest), twins)
        return routine, Constants((mechanism, *more), lambda: (folded() if self.folds else mechanism, *more), twins)

    def defaults(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """The model's own values in the precision of the inputs, and beside them where these are on a GPU."""
        single = bool(inputs) and all(getattr(x, "dtype", None) == np.float32 for x in inputs)
        if single or (inputs and is_on_gpu(inputs[0])):
            return {name: copies.like(inputs[0]) for name, copies in self._copies.items()}
        return self.own

    @cached_property
    def _copies(self) -> dict[str, Copies]:
        return {name: Copies(x) for name, x in self.own.items()}

    def declared(self, name: str, given: Any, whose: str = "Dynamics") -> None:
        """Refuse quantities of the model among the keywords of a call that are no inputs; those that are None go."""
        if NAMES.isdisjoint(given):
            return
        for key in (NAMES - {*self.inputs}) & given.keys():
            if given[key] is not None:
                known = ", ".join(self.inputs) or "none"
                hint = f"make it with inputs={(*self.inputs, key)}"
                raise OptionError(f"{name} takes no {key!r}: the inputs of this {whose} are {known}; {hint}")
            del given[key]

    def given_to(self, function: CompiledFunction) -> CompiledFunction:
        return WithParameters(function, self) if self else function

    def shortcut(
        self, function: CompiledFunction, method: Callable[..., Any], option: str | None = None
    ) -> Callable[..., Any]:
        """A function that does what `method` does; one configuration in arrays goes to compiled code directly.

        `option` is one more input, which `function.makers[option]` serves once it is there.
        """
        count, parameters = len(function.inputs), self.defaults_of_calls
        return make_front(method, count, function.makers, longer=option, parameters=parameters)

    def examine(self, name: str, value: Any, check: bool | None = None) -> None:
        """Refuse what no mechanism has, by the name of the body or joint; rows of a batch only with `check`."""
        check = self.check if check is None else check
        if is_on_gpu(value):
            return  # where it stays
        rows = np.asarray(real_array(name, value), float)
        own = self.own[name]
        batch = rows[None] if rows.shape == own.shape else rows
        if check is False or batch.shape[1:] != own.shape or (rows.ndim > own.ndim and not check):
            return  # shapes are for the function to complain of
        if not np.isfinite(batch).all() or name == "gravity":
            return
        for k, row in enumerate(batch):
            where = name if rows.ndim == own.ndim else f"{name}, row {k}"
            self._examine_one(name, row, where)
        examined = next(x.examined for x in self.defaults_of_calls if x.name == name)
        if examined is not None and rows.ndim == own.ndim:
            examined[...] = rows

    def _examine_one(self, name: str, row: FloatArray, where: str) -> None:
        model = self.model
        if name == "inertia":
            check_physical(row, model.body_names, where)
        elif name == "armature":
            for k in np.flatnonzero(row < 0.0):
                raise ModelError(f"{where}: that of {model.dof_names[k]!r} is negative: {row[k]:g}")
        elif name == "placement":
            R = row[:, :3, :3]
            off = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2)) > RIGHT_ANGLES
            wrong = off | (np.linalg.det(R) < 0.0) | (row[:, 3] != [0.0, 0.0, 0.0, 1.0]).any(axis=1)
            for k in np.flatnonzero(wrong):
                raise ModelError(f"{where}: that of joint {model.joint_names[k]!r} is no homogeneous matrix")


class WithParameters:
    """A function whose last inputs are parameters: `call(*inputs, out=None, threads=None, inertia=...)`."""

    def __init__(self, function: CompiledFunction, parameters: Parameters) -> None:
        self.function, self.parameters = function, parameters
        self.name, self.outputs = function.name, function.outputs
        self.inputs = function.inputs[: len(function.inputs) - len(parameters.inputs)]

    def __call__(self, *inputs: Any, out: Any = None, threads: int | None = None, **given: Any) -> Any:
        return self.function.call(*inputs, *self._arrays(inputs, given), out=out, threads=threads)

    call = __call__

    def with_status(self, *inputs: Any, out: Any = None, threads: int | None = None, **given: Any) -> tuple[Any, Any]:
        return self.function.with_status(*inputs, *self._arrays(inputs, given), out=out, threads=threads)

    def launcher(self, *inputs: Any, out: Any, bad: Any, threads: int | None = None) -> Callable[[], None]:
        """See `CompiledFunction`; the parameters are the model's own."""
        return self.function.launcher(*inputs, *self._arrays(inputs, {}), out=out, bad=bad, threads=threads)

    def on_basis(self, *inputs: Any, last: bool, threads: int | None = None) -> dict[str, tuple[Any, ...]]:
        """See `CompiledFunction`; the parameters are the model's own."""
        own = self._arrays([x for x in inputs if x is not None], {})
        return self.function.on_basis(*inputs, *own, last=last, threads=threads)

    @property
    def makers(self) -> dict[str, Callable[..., Any]]:
        return self.function.makers

    def with_code_of(self, choose: Callable[[bool], WithParameters]) -> WithParameters:
        return WithParameters(self.function.with_code_of(lambda batch: choose(batch).function), self.parameters)

    def _arrays(self, inputs: Sequence[Any], given: dict[str, Any]) -> list[Any]:
        """The parameters in order, examined; the model's own are in the precision of the inputs."""
        names = self.parameters.inputs
        for name, x in given.items():
            if x is not None and name not in names:
                raise OptionError(f"{self.name} takes no {name!r}: the inputs of this Dynamics are {', '.join(names)}")
        found = []
        defaults = self.parameters.defaults(inputs)
        for name, own in self.parameters.own.items():
            value = given.get(name)
            if value is None or value is own:
                value = defaults[name]
            elif self.parameters.check is not False:
                self.parameters.examine(name, value)
            found.append(value)
        return found
