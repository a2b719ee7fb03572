"""Parameters as keywords: functions whose last inputs are quantities of the model, by default its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from inspect import Parameter, signature
from typing import Any

import numpy as np

from bough.compile.routine import FindTwins, Routine
from bough.compile.run.arrays import real_array
from bough.compile.run.gate import make_known
from bough.compile.run.libraries import asarray, is_on_gpu
from bough.dynamics.engine import CompiledFunction
from bough.dynamics.parameters import SHAPES, Seats, marks_of, own_values, parametrised, seats_of
from bough.errors import ModelError, OptionError
from bough.model import Model, check_physical
from bough.types import FloatArray

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
        """May masses be handed from body to body? Not where they, or the way between the bodies, are inputs."""
        return not {"inertia", "placement"} & {*self.inputs}

    @cached_property
    def seats(self) -> Seats:
        return seats_of(self.model, self.inputs)

    @cached_property
    def own(self) -> dict[str, FloatArray]:
        return {name: own_values(self.model, name) for name in self.inputs}

    def prepared(
        self, routine: Routine, constants: tuple[Any, ...], twins: FindTwins
    ) -> tuple[Routine, tuple[Any, ...], FindTwins]:
        """A routine, its constants after the mechanism and its marks, with the parameters as inputs."""
        if not self:
            return routine, constants, twins
        return parametrised(routine, self.inputs, 1 + len(constants)), (self.seats, *constants), marks_of(twins)

    def defaults(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """The model's own values in the precision of the inputs, and beside them where these are on a GPU."""
        if inputs and is_on_gpu(inputs[0]):
            return self._beside(inputs[0])
        if inputs and all(getattr(x, "dtype", None) == np.float32 for x in inputs):
            return {name: own.astype(np.float32) for name, own in self.own.items()}
        return self.own

    def _beside(self, like: Any) -> dict[str, Any]:
        key = type(like).__module__, str(like.dtype), str(like.device)
        if key not in self._there:
            self._there[key] = {name: asarray(x, like) for name, x in self.own.items()}
        return self._there[key]

    @cached_property
    def _there(self) -> dict[Any, dict[str, Any]]:
        return {}

    def declared(self, name: str, given: Mapping[str, Any], whose: str = "Dynamics") -> None:
        """Refuse quantities of the model among the keywords of a call that are no inputs."""
        if NAMES.isdisjoint(given):
            return
        for key, x in given.items():
            if x is not None and key in NAMES and key not in self.inputs:
                known = ", ".join(self.inputs) or "none"
                hint = f"make it with inputs={(*self.inputs, key)}"
                raise OptionError(f"{name} takes no {key!r}: the inputs of this {whose} are {known}; {hint}")

    def given_to(self, function: CompiledFunction) -> CompiledFunction:
        return WithParameters(function, self) if self else function

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
        self.entry = function.entry

    def __call__(self, *inputs: Any, out: Any = None, threads: int | None = None, **given: Any) -> Any:
        return self.function.call(*inputs, *self._arrays(inputs, given), out=out, threads=threads)

    call = __call__

    def with_status(self, *inputs: Any, out: Any = None, threads: int | None = None, **given: Any) -> tuple[Any, Any]:
        return self.function.with_status(*inputs, *self._arrays(inputs, given), out=out, threads=threads)

    def on_basis(self, *inputs: Any, last: bool, threads: int | None = None) -> dict[str, tuple[Any, ...]]:
        """See `CompiledFunction`; the parameters are the model's own."""
        own = self._arrays([x for x in inputs if x is not None], {})
        return self.function.on_basis(*inputs, *own, last=last, threads=threads)

    def launcher(self, *inputs: Any, out: Any, bad: Any, threads: int | None = None) -> Callable[[], None]:
        """See `CompiledFunction`; the parameters are the model's own."""
        return self.function.launcher(*inputs, *self._arrays(inputs, {}), out=out, bad=bad, threads=threads)

    def lend_make(self, scope: dict[str, Any], name: str) -> None:
        scope[name] = _nothing  # the parameters are keywords

    def with_code_of(self, choose: Callable[[bool], CompiledFunction]) -> CompiledFunction:
        return WithParameters(self.function.with_code_of(choose), self.parameters)

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

    def shortcut(self, method: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
        """A function with the signature of `method` and keywords for the parameters, for one configuration.

        Numbers that were examined once are not examined again: a copy of the last is kept.
        """
        names = self.parameters.inputs
        others = [name for name in SHAPES if name not in names]
        taken = [p for p in signature(method).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        count = len(self.function.inputs) - len(names)
        inputs, options = [p.name for p in taken[:count]], taken[count:]
        keywords = "".join(f", {p.name}={p.name}_default" for p in options) + "".join(f", {n}=own_{n}" for n in names)
        keywords += "".join(f", {n}=None" for n in others)
        plain = " and ".join([*(f"{p.name} is {p.name}_default" for p in options), *(f"{n} is None" for n in others)])
        arguments = ", ".join([*inputs, *names])
        own = " and ".join(f"{n} is own_{n}" for n in names)
        examined = self.parameters.check is not False and names != ("gravity",)
        lines = [
            f"def shortcut({', '.join(inputs)}{keywords}):",
            f"    if {plain or True}:",
            f"        y0 = (make if {own} else known)({arguments})" if examined else f"        y0 = make({arguments})",
            "        if y0 is not None:",
            "            return y0",
            *([f"        y0 = make({arguments})",
               "        if y0 is not None:",
               f"            examine({', '.join(names)})",
               "            return y0"] if examined else []),
            f"    return otherwise({', '.join([*inputs, *(f'{p.name}={p.name}' for p in options)])}"
            + "".join(f", {n}={n}" for n in (*names, *others)) + ")",
        ]  # fmt: skip
        scope: dict[str, Any] = {f"{p.name}_default": p.default for p in options}
        scope |= {f"own_{name}": own for name, own in self.parameters.own.items()}
        scope |= {"otherwise": method, "known": _nothing, "examine": partial(self._examine, scope, count)}
        self.function.lend_make(scope, "make")
        exec("\n".join(lines), scope)
        function: Callable[..., Any] = scope["shortcut"]
        return wraps(method, updated=())(function)

    def _examine(self, scope: dict[str, Any], plain: int, *values: Any) -> None:
        for name, value in zip(self.parameters.inputs, values, strict=True):
            if value is not self.parameters.own[name]:
                self.parameters.examine(name, value)
        scope["known"] = make_known(scope["make"], plain, [x.copy() for x in values])


def _nothing(*_: Any) -> None:
    """Stands in for `known` until some numbers were examined, and for what is not there."""
