"""Functions of a model or a space with their derivatives, as PyTorch, JAX and CasADi call them: by a name made of their
content, on arrays with any leading axes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough.compile.derived import jvp, vjp
from bough.compile.executions import BoundFunction, bind_on_cpu
from bough.compile.graph.passes import drop_dead_code
from bough.compile.graph.program import Array, Program
from bough.compile.routine import Constants, Routine, Sizes, trace
from bough.dynamics.external import mark_forces, with_forces
from bough.dynamics.functions import FUNCTIONS, check_options, function, public_shape
from bough.dynamics.parameters import SHAPES, Parameters, check_inputs
from bough.errors import ModelError, OptionError, ShapeError, short
from bough.model import Model, mark_limbs
from bough.opspace import OperationalSpace
from bough.opspace.functions import DAMPED, damping_of, prepared, row, with_fixed

if TYPE_CHECKING:
    from bough.compile.run.cuda import CudaFunction


class Call:
    """A routine of a model, known to other libraries by `name`: the same in every process for the same content.

    `vjp` (inputs, weights of outputs -> gradients by all inputs) and `jvp` (inputs, directions of inputs -> rates of
    all outputs) are calls like it.
    """

    def __init__(self, name: str, routine: Routine, sizes: Sizes, constants: Constants, parameters: Parameters) -> None:
        self.name, self.routine, self.sizes, self.constants = name, routine, sizes, constants
        self.parameters = parameters
        self.inputs: tuple[Array, ...] = routine.arrays(routine.arguments, sizes)
        self.outputs: tuple[Array, ...] = routine.arrays(routine.outputs, sizes)
        self.shapes = tuple(x.shape for x in self.inputs)
        self.scalars = tuple(shape == "1" for shape in routine.arguments.values())  # inputs that are one number
        self.results = tuple(
            public_shape(words, y.shape) for words, y in zip(routine.outputs.values(), self.outputs, strict=True)
        )
        self.reshapes = self.results != tuple(y.shape for y in self.outputs)

    @cached_property
    def vjp(self) -> Call:
        return Call(f"{self.name}/vjp", vjp(self.routine), self.sizes, self.constants, self.parameters)

    @cached_property
    def jvp(self) -> Call:
        return Call(f"{self.name}/jvp", jvp(self.routine), self.sizes, self.constants, self.parameters)

    @cached_property
    def on_cpu(self) -> BoundFunction:
        return bind_on_cpu(self.routine, self.constants, self.sizes)

    @cached_property
    def on_gpu(self) -> CudaFunction:
        from bough.compile.run.cuda import bind

        return bind(self.routine, self.constants, self.sizes)

    def program(self) -> Program:
        """The straight-line program."""
        groups = self.constants.folded() if self.constants.folded else self.constants.groups
        return drop_dead_code(trace(self.routine, groups, self.sizes))

    def batch(self, first: Any) -> tuple[int, ...]:
        """The leading axes of the first input, where all have them."""
        return tuple(first.shape[: first.ndim - len(self.shapes[0])])


# For arrays of PyTorch and of JAX. No methods: torch.compile cannot follow those of a call.


def leading_axes(call: Call, name: str, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The arrays with all axes of their own, and the leading axes that they have in common.

    Those without leading axes serve all rows. An input that is one number may have no axis of its own.
    """
    leading: tuple[int, ...] = ()
    for x, spec, is_scalar in zip(arrays, call.inputs, call.scalars, strict=True):
        n = len(spec.shape)
        if is_scalar:
            continue
        if tuple(x.shape[x.ndim - n :]) != spec.shape or x.ndim < n:
            raise ShapeError(f"{name}: {spec.name} must end in the axes {spec.shape}, got {tuple(x.shape)}")
        axes = tuple(x.shape[: x.ndim - n])
        if axes and leading and axes != leading:
            raise ShapeError(f"{name}: {spec.name} has leading axes {axes} where an earlier input has {leading}")
        leading = axes or leading
    found = list(arrays)
    for k, (x, spec) in enumerate(zip(arrays, call.inputs, strict=True)):
        if call.scalars[k]:
            if tuple(x.shape) not in ((), leading, (1,), (*leading, 1)):
                raise ShapeError(f"{name}: {spec.name} is a number, or has shape {leading}, got {tuple(x.shape)}")
            found[k] = x[..., None] if tuple(x.shape) in ((), leading) else x
    return tuple(found), leading


def check_count(call: Call, name: str, arrays: Sequence[Any]) -> None:
    """Refuse another number of arrays than the function takes."""
    if len(arrays) != len(call.inputs):
        names = ", ".join(x.name for x in call.inputs)
        raise ShapeError(f"{name} takes {len(call.inputs)} arrays ({names}), got {len(arrays)}")


_calls: dict[str, Call] = {}  # by name
_known: dict[Any, Call] = {}  # by model and options


def registered(name: str) -> Call:
    """The call of this name, if its model was used in this process."""
    found = _calls.get(name)
    if found is None:
        base, _, derivative = name.rpartition("/")
        if base:
            found = _calls[name] = getattr(registered(base), derivative)
        else:
            called = name.partition("_of_")[0]
            raise ModelError(
                f"a saved program calls {name!r}, of a model that this process has not used: call {called}(model, ...) "
                "of the same bridge once with that model, then run the program"
            )
    return found


class Keywords(NamedTuple):
    """Keywords of a call: options of the function, and forces and quantities of the model."""

    options: dict[str, Any]
    parameters: dict[str, Any]  # arrays, in the order in which functions take them
    check: bool | None

    def examine(self, found: Call, numbers: Callable[[Any], Any]) -> None:
        """Refuse quantities that no mechanism has; `numbers` gives their arrays, or None where they are not known."""
        if self.check is not False:
            known = {name: numbers(x) for name, x in self.parameters.items() if name != "forces"}
            for name, x in known.items():
                if x is not None:
                    found.parameters.examine(name, x, self.check)


def sorted_keywords(keywords: dict[str, Any]) -> Keywords:
    """The keywords of a call: `forces` and the quantities of a model are inputs, `check` is about the latter."""
    if not keywords:
        return NOTHING
    options = dict(keywords)
    check = options.pop("check", None)
    names = ("forces", *SHAPES)
    parameters = {name: options.pop(name) for name in names if options.get(name) is not None}
    return Keywords({k: x for k, x in options.items() if k not in names}, parameters, check)


NOTHING = Keywords({}, {}, None)


def functions(call: Callable[..., Any], module: str, arrays: str) -> dict[str, Callable[..., Any]]:
    """One function for each row of the table, as the module of a bridge shows it; each can be pickled by name."""

    def of(name: str) -> Callable[..., Any]:
        def function(model: Model, *given: Any, **options: Any) -> Any:
            return call(model, name, *given, **options)

        row = FUNCTIONS[name]
        function.__module__, function.__name__, function.__qualname__ = module, name, name
        function.__doc__ = f"{row.summary}: of a model and {arrays} {', '.join(row.arguments)}."
        return function

    return {name: of(name) for name in FUNCTIONS}


def call_of(model: Model | OperationalSpace, name: str, options: dict[str, Any], inputs: Sequence[str] = ()) -> Call:
    """The function of the table on this model with quantities of it as `inputs`, the same object each time.

    "forces" among them is one array of wrenches on all bodies. Of a space it is one of its functions.
    """
    if not isinstance(model, Model | OperationalSpace):
        raise ModelError(f"{name} needs a Model, got {type(model).__name__}; use bough.load for files")
    key = (model.hash if isinstance(model, Model) else model, name, tuple(sorted(options.items())), tuple(inputs))
    try:
        found = _known.get(key)
    except TypeError:
        raise OptionError(f"{name}: options are words and numbers, got {short(repr(options))}") from None
    if found is None:
        made = _of_model(model, *key[1:]) if isinstance(model, Model) else _of_space(model, *key[1:])
        found = _known[key] = _calls.setdefault(made.name, made)
    return found


Options = tuple[tuple[str, Any], ...]


def _of_model(model: Model, name: str, options: Options, inputs: Sequence[str]) -> Call:
    known = function(name)
    chosen = check_options(known, dict(options))
    method = known.method(model, chosen.method)
    routine, fixed, marks = method.routine, method.constants(model, chosen), mark_limbs
    if "forces" in inputs:
        if not known.takes_forces:
            raise OptionError(f"{name} takes no forces")
        (routine, fixed), marks = with_forces(model, routine, fixed), mark_forces
    parameters = Parameters(model, check_inputs(model, [x for x in inputs if x != "forces"]))
    routine, constants = parameters.constants(
        routine, (model.mechanism, *fixed), lambda: method.mechanism(model), marks
    )
    return Call(_name(model, name, (options, inputs)), routine, model.sizes, constants, parameters)


def _of_space(space: OperationalSpace, name: str, options: Options, inputs: Sequence[str]) -> Call:
    """Lambda has the damping of the space, and is refused nowhere."""
    model, rest = space.model, dict(options)
    damping = damping_of(space, name, rest.pop("damping", None))
    check_options(row(space, name), rest)
    if "forces" in inputs:
        raise OptionError(f"{name} takes no forces")
    found = prepared(space, name)
    parameters = Parameters(model, check_inputs(model, inputs))
    tasks = [(x.dtype.str, x.shape, x.tobytes()) for group in found.constants[1:] for x in map(np.asarray, group)]
    routine, constants = found.with_parameters(space.tasks, parameters)
    routine = with_fixed(routine, "damping", damping) if name in DAMPED else routine
    return Call(_name(model, name, (tasks, damping, inputs)), routine, found.sizes, constants, parameters)


def _name(model: Model, function: str, content: Any) -> str:
    """A name that tells the same content in every process, and no other: of letters, digits and underscores."""
    digest = hashlib.sha256(repr((model.hash, function, content)).encode()).hexdigest()[:24]
    readable = "".join(c if c.isascii() and c.isalnum() else "_" for c in model.name[:40])
    return f"{function}_of_{readable}_{digest}"
