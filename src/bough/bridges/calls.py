"""Functions of the table with their derivatives, as PyTorch and JAX call them: by number, on plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from bough.compile.derived import jvp, vjp
from bough.compile.executions import CPU, BoundFunction, Device, bind_arrays
from bough.compile.graph.program import Array
from bough.compile.routine import Constants, Routine
from bough.dynamics.functions import check_options, function
from bough.dynamics.given import Parameters
from bough.dynamics.parameters import SHAPES, check_inputs
from bough.errors import ModelError
from bough.model import Model, mark_limbs

if TYPE_CHECKING:
    from bough.compile.run.cuda import CudaFunction


class Call:
    """A routine of a model. `number` names it where only numbers may be passed; `by_weights` and `along` are its own
    derivatives, by all inputs: routines like it."""

    def __init__(self, routine: Routine, model: Model, constants: Constants, parameters: Parameters) -> None:
        self.routine, self.model, self.constants, self.parameters = routine, model, constants, parameters
        self.inputs: tuple[Array, ...] = routine.arrays(routine.arguments, model.sizes)
        self.shapes = tuple(x.shape for x in self.inputs)
        self.outputs: tuple[Array, ...] = routine.arrays(routine.outputs, model.sizes)
        self.number = len(_calls)
        _calls.append(self)

    @cached_property
    def by_weights(self) -> Call:
        """(inputs, weights of outputs) -> gradients by all inputs."""
        return Call(vjp(self.routine), self.model, self.constants, self.parameters)

    @cached_property
    def along(self) -> Call:
        """(inputs, directions of inputs) -> rates of all outputs."""
        return Call(jvp(self.routine), self.model, self.constants, self.parameters)

    @cached_property
    def on_the_cpu(self) -> BoundFunction:
        return self._on(CPU)

    @cached_property
    def on_the_card(self) -> CudaFunction:
        return cast("CudaFunction", self._on(Device("cuda")))

    def _on(self, device: Device) -> BoundFunction:
        c = self.constants
        return bind_arrays(self.routine, c.groups, self.model.sizes, folded=c.folded, twins=c.twins, device=device)


_calls: list[Call] = []
_known: dict[Any, Call] = {}


def numbered(number: int) -> Call:
    """The call with that number."""
    return _calls[number]


class Keywords(NamedTuple):
    """What a caller of a bridge says by name: options of the function, and quantities of the model as arrays."""

    options: dict[str, Any]
    parameters: dict[str, Any]  # in the order in which functions take them
    check: bool | None


def sorted_keywords(keywords: dict[str, Any]) -> Keywords:
    """The keywords of a call: `inertia`, `armature`, `gravity` and `placement` are inputs, `check` is about them."""
    if not keywords:
        return NOTHING
    options = dict(keywords)
    check = options.pop("check", None)
    parameters = {name: options.pop(name) for name in SHAPES if options.get(name) is not None}
    return Keywords({k: x for k, x in options.items() if k not in SHAPES}, parameters, check)


NOTHING = Keywords({}, {}, None)


def call_of(model: Model, name: str, options: dict[str, Any], inputs: Sequence[str] = ()) -> Call:
    """The function of the table on this model with quantities of it as `inputs`, the same object each time."""
    if not isinstance(model, Model):
        raise ModelError(f"{name} needs a Model, got {type(model).__name__}; use bough.load for files")
    key = (model.hash, name, tuple(sorted(options.items())) if options else (), tuple(inputs))
    found = _known.get(key)
    if found is None:
        row = function(name)
        chosen = check_options(row, options)
        method = row.method(model, chosen.method)
        parameters = Parameters(model, check_inputs(model, inputs))
        routine, more, twins = parameters.prepared(method.routine, method.constants(model, chosen), mark_limbs)
        folded = model.grouped if parameters.folds else model.mechanism
        constants = Constants((model.mechanism, *more), lambda: (folded, *more), twins)
        found = _known[key] = Call(routine, model, constants, parameters)
    return found
