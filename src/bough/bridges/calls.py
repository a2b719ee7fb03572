"""Functions of the table with their derivatives, as PyTorch and JAX call them: by number, on plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from bough.compile.derived import jvp, vjp
from bough.compile.executions import BoundFunction, bind_on_cpu
from bough.compile.graph.program import Array
from bough.compile.routine import Constants, Routine, Sizes
from bough.dynamics.external import mark_pushed
from bough.dynamics.functions import check_options, function
from bough.dynamics.given import Parameters
from bough.dynamics.parameters import SHAPES, check_inputs
from bough.errors import ModelError, OptionError, short
from bough.model import Model, mark_limbs
from bough.opspace import OperationalSpace
from bough.opspace.functions import DAMPED, damping_of, held, prepared, row

if TYPE_CHECKING:
    from bough.compile.run.cuda import CudaFunction


class Call:
    """A routine of a model. `number` names it where only numbers may be passed; `by_weights` and `along` are its own
    derivatives, by all inputs: routines like it."""

    def __init__(self, routine: Routine, sizes: Sizes, constants: Constants, parameters: Parameters) -> None:
        self.routine, self.sizes, self.constants, self.parameters = routine, sizes, constants, parameters
        self.inputs: tuple[Array, ...] = routine.arrays(routine.arguments, sizes)
        self.shapes = tuple(x.shape for x in self.inputs)
        self.outputs: tuple[Array, ...] = routine.arrays(routine.outputs, sizes)
        self.number = len(_calls)
        _calls.append(self)

    @cached_property
    def by_weights(self) -> Call:
        """(inputs, weights of outputs) -> gradients by all inputs."""
        return Call(vjp(self.routine), self.sizes, self.constants, self.parameters)

    @cached_property
    def along(self) -> Call:
        """(inputs, directions of inputs) -> rates of all outputs."""
        return Call(jvp(self.routine), self.sizes, self.constants, self.parameters)

    @cached_property
    def on_the_cpu(self) -> BoundFunction:
        return bind_on_cpu(self.routine, self.constants, self.sizes)

    @cached_property
    def on_the_card(self) -> CudaFunction:
        from bough.compile.run.cuda import bind

        return bind(self.routine, self.constants, self.sizes)


_calls: list[Call] = []
_known: dict[Any, Call] = {}


def numbered(number: int) -> Call:
    """The call with that number."""
    return _calls[number]


class Keywords(NamedTuple):
    """What a caller of a bridge says by name: options of the function, and forces and quantities of the model."""

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


def call_of(model: Model | OperationalSpace, name: str, options: dict[str, Any], inputs: Sequence[str] = ()) -> Call:
    """The function of the table on this model with quantities of it as `inputs`, the same object each time.

    "forces" among them is one array of wrenches on all bodies. Of a space it is one of its functions.
    """
    if not isinstance(model, Model | OperationalSpace):
        raise ModelError(f"{name} needs a Model, got {type(model).__name__}; use bough.load for files")
    whose = model.hash if isinstance(model, Model) else model
    key = (whose, name, tuple(sorted(options.items())) if options else (), tuple(inputs))
    try:
        found = _known.get(key)
    except TypeError:
        raise OptionError(f"{name}: options are words and numbers, got {short(repr(options))}") from None
    if found is None:
        rest = (name, options, inputs)
        found = _of_model(model, *rest) if isinstance(model, Model) else _of_space(model, *rest)
        _known[key] = found
    return found


def _of_model(model: Model, name: str, options: dict[str, Any], inputs: Sequence[str]) -> Call:
    known = function(name)
    chosen = check_options(known, options)
    method = known.method(model, chosen.method)
    routine, fixed, marks = method.routine, method.constants(model, chosen), mark_limbs
    if "forces" in inputs:
        if method.pushed is None:
            raise OptionError(f"{name} takes no forces")
        routine, points = method.pushed.on(model, ())
        fixed, marks = (*fixed, points), mark_pushed
    parameters = Parameters(model, check_inputs(model, [x for x in inputs if x != "forces"]))
    routine, more, twins = parameters.prepared(routine, fixed, marks)
    folded = model.grouped if parameters.folds else model.mechanism
    constants = Constants((model.mechanism, *more), lambda: (folded, *more), twins)
    return Call(routine, model.sizes, constants, parameters)


def _of_space(space: OperationalSpace, name: str, options: dict[str, Any], inputs: Sequence[str]) -> Call:
    """Lambda has the damping of the space, and is refused nowhere."""
    model, rest = space.model, dict(options)
    damping = damping_of(space, name, rest.pop("damping", None))
    check_options(row(space, name), rest)
    if "forces" in inputs:
        raise OptionError(f"{name} takes no forces")
    routine, (mechanism, *fixed), sizes = prepared(space, name)
    parameters = Parameters(model, check_inputs(model, inputs))
    routine, more, twins = parameters.prepared(routine, tuple(fixed), mark_limbs)
    routine = held(routine, "damping", damping) if name in DAMPED else routine
    first = space.tasks.traced_mechanism if parameters.folds else mechanism
    return Call(routine, sizes, Constants((mechanism, *more), lambda: (first, *more), twins), parameters)
