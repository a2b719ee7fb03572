"""Rows of the table, bound to one model: each is compiled when it is first called, and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np

from bough.compile.graph.program import Array
from bough.compile.kernel import from_text, kernel
from bough.compile.routine import FindTwins, Routine, work_type
from bough.compile.run.arrays import is_real, real_array, results
from bough.compile.run.gate import make_front, make_unpacker, nothing
from bough.compile.run.libraries import full, is_on_gpu
from bough.compile.settings import interpreted
from bough.dynamics.derivatives import forward_derivatives, forward_derivatives_on_gpu
from bough.dynamics.engine import CPU, CompiledFunction, Device, bind_arrays, cheapest
from bough.dynamics.external import check_wrenches, mark_forces, points_of, stacked, with_forces, with_named_forces
from bough.dynamics.functions import REFERENCE, Function, Method, Options, check_options, function
from bough.dynamics.generalized_forces import generalized_forces_at
from bough.dynamics.parameters import Parameters
from bough.dynamics.whole_body import Kinematics, kinematics_of
from bough.errors import BoughError, OptionError, short
from bough.model import Model, mark_limbs
from bough.sparsity.pattern import require_memory
from bough.types import RealArray, Reference


def word_of(option: str, given: Any) -> Any:
    """An option that is a word, or None."""
    if given is None or isinstance(given, str):
        return given
    raise OptionError(f"{option} is a word, got {short(repr(given))}")


def check_frames(frames: Any, jacobians: Any) -> None:
    """Refuse an argument of kinematics that is not a list of names; None stands for all frames."""
    for what, names in (("frames", () if frames is None else frames), ("jacobians", jacobians)):
        if isinstance(names, str) or not isinstance(names, Iterable) or not all(isinstance(x, str) for x in names):
            hint = f"; write [{names!r}]" if isinstance(names, str) else ""
            raise OptionError(f"kinematics: {what} is a list of names, got {short(repr(names))}{hint}")


@cache
def fused(routines: tuple[Routine, ...], groups: tuple[int, ...]) -> Routine:
    """One routine that runs several in turn: inputs by name, constants and outputs one after another.

    `groups` says how many constants each has after the mechanism. Outputs are numbered. An input that is fixed at zero
    in one routine is another array than the input of that name in its neighbours.
    """
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    work: dict[str, str] = {}
    lines: list[str] = []
    scope: dict[str, Any] = {"__name__": __name__}
    constants = 0
    for k, routine in enumerate(routines):
        names = {name: f"zero_{name}" if name in routine.zeros else name for name in routine.inputs}
        inputs |= {names[name]: shape for name, shape in routine.inputs.items()}
        shared = {name: f"{name}_{shape.replace(' ', '_')}" for name, shape in routine.work.items()}
        work |= {shared[name]: shape for name, shape in routine.work.items()}
        lines.append(f"    w{k} = Work{k}({', '.join(f'w.{name}' for name in shared.values())})")
        scope[f"Work{k}"] = work_type(tuple(routine.work))
        results = [f"{k}_{name}" for name in routine.outputs]
        outputs |= dict(zip((f"y{name}" for name in results), routine.outputs.values(), strict=True))
        own = [f"c{constants + j}" for j in range(groups[k])]
        constants += groups[k]
        arguments = ["m", *own, *(f"x_{name}" for name in names.values()), *(f"y{name}" for name in results), f"w{k}"]
        lines.append(f"    body{k}({', '.join(arguments)})")
        scope[f"body{k}"] = routine.body
    head = ["m", *(f"c{j}" for j in range(constants)), *(f"x_{name}" for name in inputs), *outputs, "w"]
    body: Callable[..., None] = kernel(from_text("\n".join([f"def body({', '.join(head)}):", *lines]), scope))
    zeros = frozenset(f"zero_{name}" for routine in routines for name in routine.zeros)
    return Routine("_and_".join(r.name for r in routines), body, inputs, outputs, work, zeros)


def named_functions(functions: Sequence[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Names, or names with options, as `export_c` takes them."""
    if isinstance(functions, str) or not functions:
        raise OptionError(f"fused takes a list of functions, got {functions!r}")
    return [named_function(item) for item in functions]


def named_function(item: Any) -> tuple[str, dict[str, Any]]:
    """A function by its name, or by a pair of its name and options."""
    pair = (item, {}) if isinstance(item, str) else item
    if isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], dict):
        return pair[0], pair[1]
    raise OptionError(f"a function is a name, or a name and a dict of options, got {item!r}")


def public_result(words: str, x: Any, device: Device) -> Any:
    """A result with these words as users see it (`public_shape`): a number in the place of an array of one."""
    if words != "1":
        return x
    return x[0] if x.ndim == 1 or device.layout == "columns" else x[:, 0]


DOUBLE = np.dtype(float)


def with_dt(names: Sequence[str], inputs: tuple[Any, ...], device: Device) -> tuple[Any, ...]:
    """The inputs, with dt, a number or one for each row, as an array of one number a row, if it is one of them."""
    if "dt" not in names or names.index("dt") >= len(inputs):
        return inputs
    at = names.index("dt")
    return (*inputs[:at], as_column(inputs[at], inputs[:at] + inputs[at + 1 :], device), *inputs[at + 1 :])


def as_column(x: Any, others: Sequence[Any], device: Device) -> Any:
    """A number, or one for each row of q, as an array (1,) or (batch, 1): a number in float32 where all others are.

    `others` are the inputs beside it, q the first. In columns it is (1, batch).
    """
    if is_real(x):
        q = others[0]
        if type(q) is not np.ndarray and is_on_gpu(q):
            return full((1,), x, q)
        kinds = [getattr(y, "dtype", None) for y in others]
        single = not any(kind is DOUBLE for kind in kinds) and all(str(kind).endswith("float32") for kind in kinds)
        dtype = np.float32 if single else float
        if type(q) is np.ndarray and q.ndim == 2 and device.layout == "rows":
            return np.full((len(q), 1), x, dtype)  # fits the batch, so that nothing is converted
        return np.array([x], dtype)
    x = real_array("a number for each row", x) if isinstance(x, list | tuple) else x
    size = getattr(x, "ndim", 2)
    if size != 0 and (size != 1 or np.ndim(others[0]) < 2 or len(x) == 1):
        return x
    return x[None] if device.layout == "columns" else x[..., None]


class Transposed:
    """A function of three matrices (nv, nv), of which compiled code writes the first two transposed."""

    def __init__(self, function: CompiledFunction, nv: int) -> None:
        self.function, self.nv = function, nv

    def call(self, *inputs: Any, out: Any = None, **how: Any) -> Any:
        """The matrices; `out` takes those of an earlier call as they are, into others they are copied."""
        if out is None and len(getattr(inputs[0], "shape", ())) == 1:
            first, second, third = self.function.call(*inputs, **how)
            if first.ndim == 2:
                return first.T, second.T, third
            return first.swapaxes(-1, -2), second.swapaxes(-1, -2), third
        plain = how.keys() <= {"threads"}  # parameters may change the precision
        room = _transposed(out) if out is not None else self._block(inputs) if plain else None
        first, second, third = self.function.call(*inputs, out=room, **how)
        if out is not None and room is not None:
            return out
        found = first.swapaxes(-1, -2), second.swapaxes(-1, -2), third
        return found if out is None else copied(self.function.name, found, out)

    def _block(self, inputs: tuple[Any, ...]) -> tuple[RealArray, ...] | None:
        """One array for the matrices of a batch, which the allocator reuses; None without a batch."""
        q = inputs[0]
        if type(q) is not np.ndarray or q.ndim != 2:
            return None
        single = all(getattr(x, "dtype", None) == np.float32 for x in inputs)
        return tuple(np.empty((3, len(q), self.nv, self.nv), np.float32 if single else np.float64))


class InKernels:
    """The same on a GPU, by several kernels: the acceleration, slopes there, the triangle of H^-1, and a product."""

    def __init__(self, acceleration: CompiledFunction, parts: Sequence[CompiledFunction]) -> None:
        self.acceleration, (self.slopes, self.inverse, self.product) = acceleration, parts

    def call(self, *inputs: Any, out: Any = None, **how: Any) -> Any:
        """The matrices, copied into `out` where that is given."""
        q, v, _ = inputs
        qdd = self.acceleration.call(*inputs, **how)
        by_q, by_v, by_tau = self.product.call(self.slopes.call(q, v, qdd, **how), self.inverse.call(q, **how))
        found = by_q.swapaxes(-1, -2), by_v.swapaxes(-1, -2), by_tau
        return found if out is None else copied(self.product.name, found, out)


def _transposed(out: Any) -> tuple[RealArray, ...] | None:
    """Three arrays with the first two transposed, if they lie in memory as such results do; None if they do not."""
    if not isinstance(out, tuple) or len(out) != 3 or not all(isinstance(x, np.ndarray) and x.ndim > 1 for x in out):
        return None
    found = out[0].swapaxes(-1, -2), out[1].swapaxes(-1, -2), out[2]
    return found if all(x.flags.c_contiguous for x in found) else None


def copied(name: str, found: Sequence[RealArray], out: Any) -> Any:
    """The arrays `out`, which must fit, filled with results."""
    specs = [Array(f"result {k}", tuple(x.shape)) for k, x in enumerate(found)]
    for x, y in zip(results(name, specs, out, None, found[0].dtype), found, strict=True):
        np.copyto(x, y)
    return out


Named = tuple[str, ...]
Given = Any  # the keywords of a call, as a dict
Derive = Callable[[Routine], Routine]

NOTHING: Given = {}
MANY = 150  # bodies: larger models run general code for most functions
MOST_NAMED = 56  # wrenches that come as arrays of their own; of more, which no function could take, one array is made

# The size of the largest array of a function, by name
NEEDS = {
    "mass_matrix": ("packed", "the mass matrix"),
    "packed_mass_matrix": ("packed", "the packed mass matrix"),
    "factorize": ("coupled", "the factor of the mass matrix"),
}


class Library:
    """The compiled functions of one model, each made on first use."""

    def __init__(self, model: Model, general: bool, device: Device = CPU, parameters: Parameters | None = None) -> None:
        self.model, self.general, self.device = model, general, device
        self.parameters = parameters or Parameters(model)
        self._functions: dict[Any, CompiledFunction] = {}
        self._derivatives: CompiledFunction | Transposed | InKernels | None = None
        self._stacked = general or len(model.mechanism.parent) > MANY  # general code takes any number in one array
        self._by_frame: dict[str, dict[Any, Any]] = defaultdict(dict)  # code for one configuration
        self._served: dict[str, Any] = {}  # forces that native code takes, by function

    def function(self, name: str, method: str | None = None, given: Given = NOTHING) -> CompiledFunction:
        """A function that is not about a frame, without external forces, for a call with the keywords `given`."""
        if given:
            self.parameters.declared(name, given)
        found = self._functions.get((name, method if method is None else word_of("method", method)))
        if found is None:
            found = self.parameters.given_to(self._choose(function(name), method))
            self._functions[name, method] = found
        return found

    def of_frame(self, name: str, frame: Any, reference: Reference) -> CompiledFunction:
        if not (isinstance(frame, str) and isinstance(reference, str)):  # refuses either
            self.model.frame(frame)
            word_of("reference", reference)
        found = self._functions.get((name, frame, reference))
        if found is None:
            given = {"frame": frame, "reference": reference}
            row = function(name)
            options = check_options(row, {x: given[x] for x in row.options})
            method = row.method(self.model)
            constants = method.constants(self.model, options)
            found = self.parameters.given_to(self._bound(name, method.routine, constants, mark_limbs))
            self._functions[name, frame, reference] = found
        return found

    def call_of_frame(self, name: str, frame: Any, reference: Reference, inputs: Any, how: Any) -> RealArray:
        """A function of a frame; native code serves the next call of one configuration."""
        if how:
            self.parameters.declared(name, how)
        found = self.of_frame(name, frame, reference)
        result: RealArray = found.call(*inputs, **how)
        known = self._by_frame[name]
        (known.setdefault(reference, {}) if "reference" in function(name).options else known)[frame] = found.makers[
            "make"
        ]
        return result

    def frame_shortcut(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """`method` of a frame, which runs compiled code directly where possible."""
        row, known = function(name), self._by_frame[name]
        by_reference = "reference" in row.options
        makers = known.setdefault(REFERENCE, {}) if by_reference else known
        references, parameters = known if by_reference else None, self.parameters.defaults_of_calls
        return make_front(method, len(row.arguments), makers, None, references, parameters=parameters)

    def shortcut(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """`method`, which runs compiled code directly where possible."""
        found, row = self.function(name), function(name)
        return self.parameters.shortcut(found, method, "forces" if row.takes_forces else None)

    def with_forces(self, name: str, method: str | None, inputs: tuple[Any, ...], forces: Any, **how: Any) -> RealArray:
        """A function with external forces, by name or as whatever makes an array; `how` is out, threads, parameters."""
        self.parameters.declared(name, how)
        method = None if word_of("method", method) == "auto" else method
        found, given = self._with_forces(name, method, forces)
        try:
            result: RealArray = found.call(*inputs, *given, **how)
        except BoughError:
            if isinstance(forces, Mapping):
                check_wrenches(name, forces, self.device)
            raise
        if method is None:
            self._serve(name, found, forces)
        return result

    def _serve(self, name: str, found: CompiledFunction, forces: Any) -> None:
        """Let native code serve one configuration with such forces: in an array, or in a dict with these keys."""
        plain, array = self.function(name), self._functions.get((name, None, ()))
        maker, others = found.makers["make"], nothing if array is None else array.makers["make"]
        keys = tuple(forces) if type(forces) is dict else ()
        known = (keys, maker, others)
        if maker is nothing or self._served.get(name) == known:
            return
        self._served[name] = known
        if keys and not self._stacks(keys):
            start, order = len(plain.inputs), sorted(keys)
            maker = make_unpacker(maker, others, start, {key: start + order.index(key) for key in keys}) or others
        plain.makers["forces"] = maker if keys else others

    def with_status(
        self, name: str, inputs: tuple[Any, ...], options: dict[str, Any], **how: Any
    ) -> tuple[Any, RealArray]:
        """Any function, with `options` (frame, reference, method, forces), and a status for each row."""
        if name == "generalized_forces":
            q, places, F = inputs
            found, given = self._forces_at(places, q, F, how | options)
            return found.with_status(*given, **how)
        row, given = function(name), list[Any]()
        inputs = with_dt(row.arguments, inputs, self.device)
        self.parameters.declared(row.name, how)
        forces = options.pop("forces", None)
        if forces is not None and not row.takes_forces:
            raise OptionError(f"{row.name} takes no forces")
        chosen = check_options(row, options)
        method = None if chosen.method == "auto" else chosen.method
        if forces is not None:
            found, given = self._with_forces(row.name, method, forces)
        elif "frame" in row.options:
            found = self.of_frame(row.name, str(chosen.frame), chosen.reference)
        else:
            found = self.function(row.name, method)
        result, status = found.with_status(*inputs, *given, **how)
        outputs = next(iter(row.methods.values())).routine.outputs
        if len(outputs) == 1 and how.get("out") is None:
            (words,) = outputs.values()
            result = public_result(words, result, self.device)
        return result, status

    def _with_forces(self, name: str, method: str | None, forces: Any) -> tuple[CompiledFunction, list[Any]]:
        """The function that takes these forces, and its further inputs."""
        if forces is None or (isinstance(forces, Mapping) and not forces):
            return self.function(name, method), []
        if not isinstance(forces, Mapping):
            return self._with_names(name, method, ()), [forces]
        order = tuple(sorted(forces, key=str))
        found, given = self._with_names(name, method, order), [forces[frame] for frame in order]
        return found, [stacked(name, forces, order, self.device)] if self._stacks(order) else given

    def _stacks(self, frames: Named) -> bool:
        """Whether the wrenches on these frames are one array."""
        return self._stacked or len(frames) > MOST_NAMED

    def _with_names(self, name: str, method: str | None, order: Named) -> CompiledFunction:
        """The function with a wrench on each of these frames as further inputs; of none, one array on all bodies."""
        found = self._functions.get((name, method, order))
        if found is None:
            points_of(self.model, order)  # refuses unknown ones
            found = self.parameters.given_to(self._choose(function(name), method, order))
            self._functions[name, method, order] = found
        return found

    def kinematics(
        self, frames: Sequence[str] | None, jacobians: Sequence[str], reference: Reference, inputs: Any, how: Any
    ) -> Kinematics:
        """Placements of frames, velocities and drifts if v is among the inputs, and Jacobians of some of them."""
        check_frames(frames, jacobians)
        self.parameters.declared("kinematics", how)
        chosen = tuple(self.model.frame_names if frames is None else frames)
        found = self._kinematics(chosen, tuple(jacobians), reference, len(inputs) > 1)
        T, *moving, J = found.call(*inputs, **how)
        by_columns = self.device.layout == "columns"
        each = {name: J[k] if by_columns else J[..., k, :, :] for k, name in enumerate(jacobians)}
        velocities, drifts = moving or (None, None)
        return Kinematics(chosen, T, velocities, drifts, each)

    def _kinematics(self, frames: Named, jacobians: Named, reference: Reference, moving: bool) -> CompiledFunction:
        key = ("kinematics", frames, jacobians, word_of("reference", reference), moving)
        found = self._functions.get(key)
        if found is None:
            check_options(function("velocity"), {"frame": "", "reference": reference})
            routine, constants = kinematics_of(self.model, frames, jacobians, reference, moving)
            found = self.parameters.given_to(self._bound("kinematics", routine, constants, mark_limbs))
            self._functions[key] = found
        return found

    def generalized_forces(self, places: Sequence[Any], inputs: tuple[Any, Any], how: Any) -> RealArray:
        """J' F of wrenches, or forces, at frames or points."""
        found, given = self._forces_at(places, *inputs, how)
        result: RealArray = found.call(*given, **how)
        return result

    def _forces_at(self, places: Sequence[Any], q: Any, F: Any, how: Any) -> tuple[CompiledFunction, list[Any]]:
        """The function of generalized forces at these places, and its inputs."""
        self.parameters.declared("generalized_forces", how)
        F = F if hasattr(F, "dtype") else real_array("generalized_forces: F", F, "(count, 6) or (count, 3)")
        of_rows = F.shape[:-1] if F.ndim == 3 and self.device.layout == "columns" else F.shape
        columns = 3 if len(of_rows) >= 2 and of_rows[-1] == 3 else 6
        key = ("generalized_forces", columns, repr([x if isinstance(x, str) else (x[0], [*x[1]]) for x in places]))
        found = self._functions.get(key)
        if found is None:
            routine, points = generalized_forces_at(self.model, places, columns)
            found = self.parameters.given_to(self._bound("generalized_forces", routine, (points,), mark_limbs))
            self._functions[key] = found
        return found, [q, F]

    def forward_derivatives(self, inputs: tuple[Any, ...], out: Any, how: Any) -> Any:
        """dqdd/dq, dqdd/dv and dqdd/dtau by the fastest way: see `derivatives`."""
        self.parameters.declared("forward_dynamics_derivatives", how)
        if self._derivatives is None:
            self._derivatives = self._quickest_derivatives()
        return self._derivatives.call(*inputs, out=out, **how)

    def _quickest_derivatives(self) -> CompiledFunction | Transposed | InKernels:
        name = "forward_dynamics_derivatives"
        if self.general or (interpreted() and not self.device.is_gpu) or not self.model.nv:
            return self.function(name)
        if not self.device.is_gpu:
            fast = forward_derivatives(self.parameters)
            return Transposed(self.parameters.given_to(fast), self.model.nv) if fast else self.function(name)
        method = function("inverse_mass_matrix").method(self.model, None)
        inverse = method.routine, method.constants(self.model, Options())
        parts = forward_derivatives_on_gpu(self.parameters, inverse) if self.device.layout == "rows" else None
        if parts is None:
            return self.function(name)
        slopes, triangle, product = parts
        given = self.parameters.given_to
        return InKernels(self.function("forward_dynamics"), (given(slopes), given(triangle), product))

    def fused(self, wanted: Sequence[tuple[str, dict[str, Any]]]) -> Callable[..., tuple[RealArray, ...]]:
        """Several functions of the table as one, which always gives a tuple."""
        routines, constants, folds = [], [], True
        for name, given in wanted:
            row = function(name)
            options = check_options(row, given)
            method = row.method(self.model, options.method)
            routines.append(method.routine)
            folds = folds and method.folds
            constants.append(method.constants(self.model, options))
        whole = fused(tuple(routines), tuple(map(len, constants)))
        bound = self._bound("fused", whole, sum(constants, ()), mark_limbs, folds=folds)
        found, words = self.parameters.given_to(bound).call, tuple(whole.outputs.values())
        names = tuple(whole.arguments)

        def call(*arrays: Any, out: Any = None, **how: Any) -> tuple[RealArray, ...]:
            results = found(*with_dt(names, arrays, self.device), out=out, **how)
            results = results if len(words) > 1 else (results,)
            return results if out is not None else tuple(map(public_result, words, results, repeat(self.device)))

        return call if len(words) == 1 or "1" in words or "dt" in names else found

    def _choose(self, row: Function, method: str | None, frames: Named | None = None) -> CompiledFunction:
        """The function by one method; by "auto" the cheaper for one configuration, and the cheaper for batches.

        With `frames` it takes a wrench on each of them; with an empty tuple, one array of wrenches on all bodies.
        """
        self._require(row.name, row, method)
        first = row.method(self.model, method)
        serving = {key: m for key, m in row.methods.items() if m.mimic or not self.model.couplings}
        fixed = method not in (None, "auto") or self.general or len(serving) == 1
        if fixed and (not frames or self._stacks(frames)):
            return self._bound_to(row.name, first, frames, batch=True)
        plain = {key: (m.routine, m.constants(self.model, Options())) for key, m in serving.items()}
        bound: dict[Any, CompiledFunction] = {}

        def code(batch: bool) -> CompiledFunction:
            chosen = first if fixed else serving[cheapest(self.model, plain, batch=batch)]
            key = chosen.routine, batch and bool(frames)
            if key not in bound:
                bound[key] = self._bound_to(row.name, chosen, frames, batch)
            return bound[key]

        found = self._bound_to(row.name, first, frames, batch=True).with_code_of(code)
        names = {f"force_{k}": f"forces[{frame!r}]" for k, frame in enumerate(frames or ())}  # for errors
        found.inputs = tuple(replace(x, name=names.get(x.name, x.name)) for x in found.inputs)
        return found

    def _bound_to(self, name: str, method: Method, frames: Named | None, batch: bool) -> CompiledFunction:
        constants = method.constants(self.model, Options())
        if frames is None:
            return self._bound(name, method.routine, constants, mark_limbs, folds=method.folds)
        if not frames or self._stacks(frames):
            routine, constants = with_forces(self.model, method.routine, constants, frames)
        else:
            given = self.model, method.routine, constants, frames
            routine, constants = with_named_forces(*given, in_company=not batch)
        return self._bound(name, routine, constants, mark_forces, folds=method.folds)

    def derived(
        self, name: str, options: dict[str, Any], derive: Derive, key: Any, frames: Named | None = None
    ) -> CompiledFunction:
        """A derivative of a function of the table, by its inputs and by parameters alike, as a function of arrays.

        With `frames` also by an array of wrenches on them; with an empty tuple, on all bodies.
        """
        row = function(name)
        chosen = check_options(row, options)
        found = self._functions.get((row.name, chosen, key, frames))
        if found is None:
            method = row.method(self.model, chosen.method)
            routine, constants, twins = method.routine, method.constants(self.model, chosen), mark_limbs
            if frames is not None:
                routine, constants = with_forces(self.model, routine, constants, frames)
                twins = mark_forces
            found = self._bound(f"{key[0]} of {row.name}", routine, constants, twins, derive, method.folds)
            self._functions[row.name, chosen, key, frames] = found
        return found

    def _bound(
        self,
        name: str,
        routine: Routine,
        constants: tuple[Any, ...],
        twins: FindTwins,
        derive: Derive | None = None,
        folds: bool = True,
    ) -> CompiledFunction:
        """The routine, or its derivative, with parameters as inputs, for the model; errors call it `name`."""
        model = self.model
        groups = (model.mechanism, *constants)
        routine, found = self.parameters.constants(
            routine, groups, lambda: model.grouped if folds else model.mechanism, twins
        )
        how: dict[str, Any] = {"general": self.general, "device": self.device, "explain": model.explain, "name": name}
        how |= {"folded": found.folded, "twins": found.twins}
        return bind_arrays(derive(routine) if derive else routine, found.groups, model.sizes, **how)

    def _require(self, name: str, row: Function, method: str | None) -> None:
        """Refuse arrays that do not fit into memory, before allocation."""
        nv = self.model.nv
        if name == "mass_matrix":
            require_memory(nv**2 * 8, f"the {nv} x {nv} mass matrix")
        if name == "inverse_mass_matrix":
            require_memory(2 * nv**2 * 8, f"the {nv} x {nv} inverse mass matrix")
        if name.endswith("_derivatives"):
            require_memory(6 * nv**2 * 8, f"derivatives of {nv} x {nv}")
        size, what = NEEDS.get(name, ("", ""))
        if name == "forward_dynamics" and row.method(self.model, method).constants(self.model, Options()):
            size, what = "coupled", 'forward_dynamics with method="crba"'
        if size:
            require_memory(self.model.sizes[size] * 8, what)
