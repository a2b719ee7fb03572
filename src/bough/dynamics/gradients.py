"""Gradients, rates and products with second derivatives of functions of a table, q on its tangent space.

A configuration moves as qdot = N(q) v: its gradient is N' times that with respect to the numbers of q, and a direction
of it is a velocity, so that both have nv numbers whatever the joints. Derivatives are routines like all others. They
are called by name: inputs, parameters, weights and directions are put where the compiled function has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile import derived
from bough.compile.routine import Routine
from bough.compile.run.libraries import full
from bough.dynamics.engine import CompiledFunction, Device
from bough.dynamics.external import stacked
from bough.dynamics.functions import Function, function
from bough.dynamics.library import Derive, Library, Named, as_column, public_result, with_dt
from bough.errors import ModelError, OptionError, ShapeError, unknown_option
from bough.joints import configuration_rate
from bough.types import RealArray


@cache
def gradients(routine: Routine, wrt: tuple[str, ...]) -> Routine:
    """(inputs, weights of outputs) -> the gradient of their weighted sum by each input `wrt`, that by q (nv,)."""
    return _on_tangent(derived.vjp(routine, wrt))


@cache
def rates(routine: Routine, wrt: tuple[str, ...]) -> Routine:
    """(inputs, directions `along_<input>`) -> the rate of each output; that of q is a velocity (nv,)."""
    return _on_tangent(derived.jvp(routine, wrt))


@cache
def curvatures(routine: Routine, wrt: tuple[str, ...], along: tuple[str, ...]) -> Routine:
    """(inputs, weights, directions) -> the rate of each gradient: products with second derivatives."""
    return rates(gradients(routine, wrt), along)


def _on_tangent(plain: Routine) -> Routine:
    """The same with directions of q, and with the gradient by q, on its tangent space (nv,)."""
    along = next((name for name in plain.inputs if name.endswith("along_q")), None)
    if along is None and "by_q" not in plain.outputs:
        return plain
    inputs = {name: "nv" if name == along else shape for name, shape in plain.inputs.items()}
    outputs = {name: "nv" if name == "by_q" else shape for name, shape in plain.outputs.items()}
    names = [*inputs, *outputs]

    def body(*arguments: Any) -> None:
        *rest, work = arguments
        constants, arrays = rest[: -len(names)], dict(zip(names, rest[-len(names) :], strict=True))
        nq, nv = len(arrays["q"]), len(constants[0].v_index) and max(constants[0].v_index) + 1
        N = np.full((nq, nv), 0.0, object)
        configuration_rate(constants[0], arrays["q"], N)
        inner = dict(arrays)
        if along is not None:
            inner[along] = _times(N, arrays[along])
        if "by_q" in outputs:
            inner["by_q"] = np.full(nq, 0.0, object)
        plain.body(*constants, *(inner[name] for name in names), work)
        if "by_q" in outputs:
            arrays["by_q"][...] = _times(N.T, inner["by_q"])

    return replace(plain, body=body, inputs=inputs, outputs=outputs)


def _times(M: Any, x: Sequence[Any]) -> Any:
    """M x, without the zeros of M."""
    found = np.full(len(M), 0.0, object)
    for r, row in enumerate(M):
        for a, b in zip(row, x, strict=True):
            if not isinstance(a, float | int) or a != 0.0:
                found[r] = found[r] + a * b
    return found


Given = dict[str, Any]
CLOSED = ("forward_dynamics", "inverse_dynamics")  # have derivatives by q, v and tau or qdd that are not traced


class Derivative(NamedTuple):
    """A compiled derivative, the names of its inputs in order, and those by which is differentiated."""

    function: CompiledFunction
    names: tuple[str, ...]
    wrt: tuple[str, ...]
    weights: tuple[str, ...]  # the names of weights among the inputs: one for each result, if there are any


class Request(NamedTuple):
    """A function of the table, its options, and what it is given by name: inputs, forces and parameters."""

    row: Function
    options: Given
    values: Given
    frames: tuple[str, ...] | None  # that forces act on: None for no forces, an empty tuple for all bodies
    device: Device


class Gradients:
    """The derivatives of all functions of a library, each looked up once."""

    def __init__(self, library: Library) -> None:
        self.library, self.parameters, self.general = library, library.parameters, library.general
        self._plans: dict[Any, Derivative] = {}

    def row(self, name: str) -> Function:
        """The function of this name."""
        return function(name)

    def derived(self, name: str, options: Given, derive: Derive, key: Any, frames: Named | None) -> CompiledFunction:
        """See `Library.derived`."""
        return self.library.derived(name, options, derive, key, frames)

    def closed_form(self, request: Request, chosen: Sequence[str], threads: int | None) -> Given | None:
        """Full Jacobians that are not traced, where there are any."""
        name, arguments = request.row.name, request.row.arguments
        if name not in CLOSED or request.frames is not None or not {*chosen} <= {*arguments}:
            return None
        how = {"threads": threads} | {key: request.values[key] for key in self.parameters.inputs}
        inputs = tuple(request.values[key] for key in arguments)
        if name == "forward_dynamics":
            found = self.library.forward_derivatives(inputs, None, how)
        else:
            found = self.library.function("inverse_dynamics_derivatives").call(*inputs, **how)
        return {key: x for key, x in zip(arguments, found, strict=True) if key in chosen}

    def plan(self, request: Request, kind: str, wrt: Any, along: Any) -> Derivative:
        """The derivative of this kind, compiled on first use."""
        row, options, _, frames, _ = request
        names = tuple(x if x is None or isinstance(x, str) else tuple(x) for x in (wrt, along))
        key = (row.name, kind, *names, frames, *((k, str(x)) for k, x in options.items()))
        found = self._plans.get(key)
        if found is None:
            if self.general:
                raise ModelError(
                    "derivatives are compiled for one model, there is no general code: leave general=True out"
                )
            chosen = chosen_inputs(request, wrt if kind != "jvp" else along)
            moving = chosen_inputs(request, along) if kind == "hvp" else ()
            derive = {
                "vjp": partial(gradients, wrt=chosen),
                "jvp": partial(rates, wrt=chosen),
                "hvp": partial(curvatures, wrt=chosen, along=moving),
            }[kind]
            bound = self.derived(row.name, options, derive, (kind, chosen, moving), frames)
            inputs = tuple(spec.name for spec in bound.inputs)
            weights = tuple(x for x in inputs if x.startswith("weight_"))
            found = self._plans[key] = Derivative(bound, inputs, chosen, weights)
        return found

    def request(self, name: str, inputs: Sequence[Any], given: Given, named: Any) -> Request:
        """The function to differentiate; forces are zero where they are only `named`."""
        row, parameters = self.row(name), self.parameters
        if len(inputs) != len(row.arguments):
            raise ShapeError(f"{row.name} takes {', '.join(row.arguments)}, got {len(inputs)} arrays")
        options = {key: x for key, x in given.items() if key not in parameters.inputs}
        values = dict(zip(row.arguments, with_dt(row.arguments, tuple(inputs), self.library.device), strict=True))
        frames = self._forces(row, options.pop("forces", None), "forces" in (named or ()), values)
        for key, own in parameters.defaults(inputs).items():
            values[key] = own if given.get(key) is None else given[key]
            if values[key] is not own:
                parameters.examine(key, values[key])
        return Request(row, options, values, frames, self.library.device)

    def _forces(self, row: Function, forces: Any, named: bool, values: Given) -> tuple[str, ...] | None:
        """The frames that forces act on, which join the values of other inputs."""
        empty = forces is None or (isinstance(forces, Mapping) and not forces)
        if empty and not named:
            return None
        if not row.takes_forces:
            raise OptionError(f"{row.name} takes no forces")
        frames = () if empty or not isinstance(forces, Mapping) else tuple(sorted(forces, key=str))
        if empty:
            alike = all(str(getattr(x, "dtype", None)).endswith("float32") for x in values.values())
            shape = self.parameters.model.sizes["joints"], 6
            forces = full(shape, 0.0, next(iter(values.values())), "float32" if alike else "float64")
        values["forces"] = stacked(row.name, forces, frames, self.library.device) if frames else forces
        return frames


def chosen_inputs(request: Request, names: Sequence[str] | Mapping[str, Any] | None) -> tuple[str, ...]:
    """Inputs and parameters by which something is differentiated, in the order of the function."""
    row, known = request.row, tuple(request.values)
    wanted = known if names is None else tuple(names)
    if isinstance(names, str) or not wanted:
        raise OptionError(f"{row.name} is differentiated by some of {', '.join(known)}; got {names!r}")
    for name in wanted:
        if name not in known:
            raise unknown_option(f"{row.name} has no input {name!r}", name, known)
    return tuple(name for name in known if name in wanted)


def jacobians(forward: Derivative, reverse: Derivative, request: Request, threads: int | None) -> Given:
    """The derivatives of all results by each input: rates along all axes, or gradients of all numbers, side by side.

    A direction, or a result, is a row of the compiled function; whichever there are fewer of.
    """
    values = request.values
    ways = [x for x in forward.function.inputs if x.name not in values]
    weights = [x for x in reverse.function.inputs if x.name not in values]
    forwards = sum(x.size for x in ways) <= sum(x.size for x in weights)
    plan = forward if forwards else reverse
    arrays = [values.get(name) for name in plan.names]
    found = plan.function.on_basis(*arrays, last=forwards, threads=threads)
    result = {}
    for k, (name, way) in enumerate(zip(forward.wrt, ways, strict=True)):
        whole = found[way.name] if forwards else tuple(found[weight.name][k] for weight in weights)
        whole = tuple(
            _numbers(J, (y.shape, words), (way.shape, name), request.device)
            for J, y, words in zip(whole, weights, request.row.results.values(), strict=True)
        )
        result[name] = whole[0] if len(whole) == 1 else whole
    return result


def _numbers(J: Any, result: tuple[Any, str], unit: tuple[Any, str], device: Device) -> Any:
    """A derivative without the axes of results and inputs that are one number; in a batch of columns rows come last."""
    (of, words), (by, name) = result, unit
    rows = (slice(None),) * (device.layout == "columns" and J.ndim > len(of) + len(by))
    if name == "dt":
        J, by = J[(..., 0, *rows)], ()
    return J[(..., 0, *(slice(None),) * len(by), *rows)] if words == "1" else J


def _directions(request: Request, along: Mapping[str, Any]) -> Given:
    """The directions under the names of the compiled inputs; those of named wrenches are one array."""
    others = [*request.values.values()]
    found = {f"along_{name}": as_column(x, others, request.device) if name == "dt" else x for name, x in along.items()}
    if request.frames and "forces" in along:
        ways = along["forces"]
        if not isinstance(ways, Mapping) or not {*ways} <= {*request.frames}:
            raise ShapeError(
                f"{request.row.name}: forces move along directions of {', '.join(request.frames)}; got {ways!r}"
            )
        none = full((6,), 0.0, next(iter(ways.values()), request.values["forces"]))
        every = {name: ways.get(name, none) for name in request.frames}
        found["along_forces"] = stacked(request.row.name, every, request.frames, request.device)
    return found


def _by_frames(request: Request, found: Given, axes: int) -> Given:
    """Derivatives by named wrenches by their names; they have so many axes without the one of a batch."""
    if request.frames and "forces" in found:
        by = found["forces"]
        last = (slice(None),) * (1 + (request.device.layout == "columns" and by.ndim > axes))
        found["forces"] = {name: by[(..., k, *last)] for k, name in enumerate(request.frames)}
    return found


def _weights(request: Request, plan: Derivative, weight: Any) -> Given:
    """The weights by name: one array, or a tuple of them where the function has several results."""
    if len(plan.weights) == 1:
        if [*request.row.results.values()] == ["1"]:
            weight = as_column(weight, [*request.values.values()], request.device)
        return {plan.weights[0]: weight}
    if not isinstance(weight, tuple | list) or len(weight) != len(plan.weights):
        raise ShapeError(f"{request.row.name} has {len(plan.weights)} results: weight is a tuple of as many arrays")
    return dict(zip(plan.weights, weight, strict=True))


def _gradient(request: Request, plan: Derivative, weight: Any, values: Given, threads: int | None) -> Given:
    """A gradient, or its rate, by each input."""
    found = _several(plan, values | _weights(request, plan, weight), threads)
    by = dict(zip(plan.wrt, found, strict=True))
    by = {k: public_result("1" if k == "dt" else "", x, request.device) for k, x in by.items()}
    return _by_frames(request, by, axes=2)


def _several(plan: Derivative, values: Given, threads: int | None) -> tuple[RealArray, ...]:
    """Call a function by the names of its inputs; always a tuple."""
    result = plan.function.call(*[values[name] for name in plan.names], threads=threads)
    return result if isinstance(result, tuple) else (result,)


class Differentiable(Protocol):
    """The base class of `Dynamics` and `OperationalSpace`: derivatives of functions by name."""

    _gradients: Gradients


@explained
def vjp(
    self: Differentiable,
    function: str,
    *inputs: npt.ArrayLike,
    weight: npt.ArrayLike,
    wrt: Sequence[str] | None = None,
    threads: int | None = None,
    **given: Any,
) -> dict[str, RealArray]:
    """The gradient of sum(weight * result) of a function of the table, by each input in `wrt` (by default all).

    `weight` has the shape of the result. The gradient by q is on the tangent space, (nv,). `given` are options of
    the function (frame=, reference=, method=), `forces` and values of the `inputs` that this object was made
    with, by both of which it is differentiated, too. Traced, so refused for models that are too large.
    """
    request = self._gradients.request(function, inputs, given, wrt)
    plan = self._gradients.plan(request, "vjp", wrt, None)
    return _gradient(request, plan, weight, request.values, threads)


@explained
def jvp(
    self: Differentiable,
    function: str,
    *inputs: npt.ArrayLike,
    along: Mapping[str, npt.ArrayLike],
    threads: int | None = None,
    **given: Any,
) -> RealArray:
    """The rate of the result of a function of the table as its inputs move along directions, q along a velocity.

    `along` names inputs, or parameters, and gives each a direction; `given` is as in `vjp`.
    """
    request = self._gradients.request(function, inputs, given, along)
    plan = self._gradients.plan(request, "jvp", None, along)
    rates: Any = _several(plan, request.values | _directions(request, along), threads)
    words, *others = request.row.results.values()
    return rates if others else public_result(words, rates[0], request.device)


@explained
def hvp(
    self: Differentiable,
    function: str,
    *inputs: npt.ArrayLike,
    weight: npt.ArrayLike,
    along: Mapping[str, npt.ArrayLike],
    wrt: Sequence[str] | None = None,
    threads: int | None = None,
    **given: Any,
) -> dict[str, RealArray]:
    """The rate of the gradient of `vjp` as inputs move along directions: a product with second derivatives.

    Of q, it is the rate of the gradient on the tangent space, as the configuration moves with that velocity.
    """
    request = self._gradients.request(function, inputs, given, along if wrt is None else (*wrt, *along))
    plan = self._gradients.plan(request, "hvp", wrt, along)
    return _gradient(request, plan, weight, request.values | _directions(request, along), threads)


@explained
def derivatives(
    self: Differentiable,
    function: str,
    *inputs: npt.ArrayLike,
    wrt: Sequence[str] | None = None,
    threads: int | None = None,
    **given: Any,
) -> dict[str, Any]:
    """The full Jacobians of a function of the table by each input in `wrt` (by default all).

    Axes are those of the result, then those of the input, in a batch after a leading one; of q there are nv. For
    functions with several results they are tuples. `given` is as in `vjp`.
    """
    table = self._gradients
    request = table.request(function, inputs, given, wrt)
    chosen = chosen_inputs(request, wrt)
    closed = table.closed_form(request, chosen, threads)
    if closed is not None:
        return closed
    plans = table.plan(request, "jvp", None, chosen), table.plan(request, "vjp", chosen, None)
    (words, *_) = request.row.results.values()
    return _by_frames(request, jacobians(*plans, request, threads), len(words.split()) + 2)
