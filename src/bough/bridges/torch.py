"""PyTorch: functions of the table on tensors, with gradients of any order, on the CPU and on CUDA.

`bough.torch.forward_dynamics(model, q, v, tau)` and its siblings take tensors (n,) or with any leading axes (..., n),
all of one dtype (float32 or float64) on one device, and read them where they are. Gradients by q are those by its
entries; they are zero along the length of a quaternion. `torch.func` works, and `torch.compile` sees one operator;
before torch 2.13 a function must have been called once on the model before it is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from bough.bridges.calls import Call, call_of, numbered, sorted_keywords
from bough.dynamics.functions import FUNCTIONS
from bough.errors import ShapeError, required
from bough.model import Model
from bough.opspace import OperationalSpace

torch = required("torch", "torch", at_least="2.4")

__all__ = ["call", *FUNCTIONS]

FLOATS = (torch.float32, torch.float64)
DEVICES = ("cpu", "cuda")


def call(model: Model | OperationalSpace, name: str, *tensors: Any, **options: Any) -> Any:
    """A function of `Dynamics` by name on tensors; `options` are those of the function: method=, frame=, reference=.

    `forces` are wrenches on all bodies (..., bodies, 6), where `Dynamics` takes them. `inertia`, `armature`, `gravity`
    and `placement` are tensors in the place of the model's own numbers, for all rows or one for each (see `Dynamics`).
    All have gradients like the others. Quantities for all rows are examined; check=False leaves that out.
    Of an `OperationalSpace` in the place of the model, `name` is one of the functions that its `export_c` knows; Lambda
    is damped as in the space, and singular tasks are not looked for.
    """
    given = sorted_keywords(options)
    found = _found(model, name, given.options, tuple(given.parameters))
    tensors = (*tensors, *given.parameters.values())
    leading = _check(found, name, tensors)
    if given.parameters:
        given.examine(found, _numbers)
    if leading:
        rows = prod(leading)
        specs = zip(tensors, found.inputs, strict=True)
        tensors = tuple(x.reshape(-1, *spec.shape).expand(rows, *spec.shape) for x, spec in specs)
    results = (_run if _is_plain(tensors) else _apply)(found.number, tensors)
    if leading:
        results = tuple(y.reshape(*leading, *spec.shape) for y, spec in zip(results, found.outputs, strict=True))
    return results[0] if len(results) == 1 else tuple(results)


def _found(model: Model | OperationalSpace, name: str, options: dict[str, Any], inputs: tuple[str, ...]) -> Call:
    """Which call it is: found by Python, not by `torch.compile`, which cannot see into it."""
    return call_of(model, name, options, inputs)


FINDS_CALLS = tuple(int(x) for x in torch.__version__.split(".")[:2]) >= (2, 13)
if FINDS_CALLS:  # before, this fails in torch itself
    _found = torch.compiler.assume_constant_result(_found)


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return _named(name)
    raise AttributeError(f"module 'bough.torch' has no attribute {name!r}")


def _named(name: str) -> Any:
    def function(model: Model, *tensors: Any, **options: Any) -> Any:
        return call(model, name, *tensors, **options)

    row = FUNCTIONS[name]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{row.summary}: of a model and tensors {', '.join(row.arguments)}."
    return function


def _check(found: Call, name: str, tensors: Sequence[Any]) -> tuple[int, ...]:
    """The leading axes that the tensors have in common; those without any serve all rows."""
    if _is_one(found, tensors):
        return ()
    if len(tensors) != len(found.inputs):
        names = ", ".join(x.name for x in found.inputs)
        raise ShapeError(f"{name} takes {len(found.inputs)} tensors ({names}), got {len(tensors)}")
    first = tensors[0]
    leading: tuple[int, ...] = ()
    for x, spec in zip(tensors, found.inputs, strict=True):
        if not isinstance(x, torch.Tensor):
            raise ShapeError(f"{name}: {spec.name} must be a tensor, got {type(x).__name__}")
        if x.dtype not in FLOATS or x.dtype != first.dtype or x.device != first.device:
            raise ShapeError(
                f"{name}: {spec.name} is {x.dtype} on {x.device}; all tensors must be float32 or float64, alike and on "
                f"the device of the first, {first.dtype} on {first.device}"
            )
        if x.device.type not in DEVICES:
            raise ShapeError(f"{name}: {spec.name} is on {x.device}: tensors must be on the CPU or on a CUDA card")
        n = len(spec.shape)
        if tuple(x.shape[x.ndim - n :]) != spec.shape or x.ndim < n:
            raise ShapeError(f"{name}: {spec.name} must end in the axes {spec.shape}, got {tuple(x.shape)}")
        axes = tuple(x.shape[: x.ndim - n])
        if axes and leading and axes != leading:
            raise ShapeError(f"{name}: {spec.name} has leading axes {axes} where an earlier tensor has {leading}")
        leading = axes or leading
    return leading


def _is_one(found: Call, tensors: Sequence[Any]) -> bool:
    """Are these one configuration that fits as it is?"""
    first: Any = tensors[0] if tensors else None
    if type(first) is not torch.Tensor or first.dtype not in FLOATS or len(tensors) != len(found.shapes):
        return False
    dtype, device = first.dtype, first.device
    if device.type not in DEVICES:
        return False
    for x, shape in zip(tensors, found.shapes, strict=True):
        if type(x) is not torch.Tensor or x.shape != shape or x.dtype is not dtype or x.device != device:
            return False
    return True


def _numbers(x: Any) -> Any:
    """The numbers of a tensor, where they can be seen."""
    return x.detach().numpy() if x.device.type == "cpu" and not _is_transformed([x]) else None


def _is_transformed(tensors: Sequence[Any]) -> bool:
    """Is this part of a transform of torch.func, or of code that is being compiled?"""
    if torch.compiler.is_compiling():
        return True
    return any(torch._C._functorch.is_functorch_wrapped_tensor(x) for x in tensors)


def _is_plain(tensors: Sequence[Any]) -> bool:
    """Does nobody ask for derivatives, and is this not part of a transform or of code that is being compiled?"""
    if _is_transformed(tensors) or torch.autograd.forward_ad._current_level >= 0:
        return False
    return not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))


def _apply(number: int, tensors: Sequence[Any]) -> Sequence[Any]:
    """One configuration or a batch of rows, all tensors alike."""
    if torch.compiler.is_compiling():
        return list(torch.ops.bough.run(number, list(tensors)))
    rule = _Function if _is_transformed(tensors) or torch.autograd.forward_ad._current_level >= 0 else _Backward
    results: Sequence[Any] = rule.apply(number, *tensors)
    return results


def _run(number: int, tensors: Sequence[Any]) -> tuple[Any, ...]:
    found = numbered(number)
    if tensors[0].is_cuda:
        results = found.on_the_card(*(x.detach().contiguous() for x in tensors))
        return results if isinstance(results, tuple) else (results,)
    results = found.on_the_cpu.call(*[x.detach().numpy() if x.requires_grad else x.numpy() for x in tensors])
    if type(results) is tuple:
        return tuple(map(torch.from_numpy, results))
    return (torch.from_numpy(results),)


def _empty(found: Call, tensors: Sequence[Any]) -> list[Any]:
    batch = tensors[0].shape[: tensors[0].ndim - len(found.inputs[0].shape)]
    return [tensors[0].new_empty((*batch, *spec.shape)) for spec in found.outputs]


class _Function(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """A call with its gradient, which is a call again: so it has gradients of its own."""

    @staticmethod
    def forward(number: int, *tensors: Any) -> Any:
        return _run(number, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.number = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def jvp(ctx: Any, _: Any, *directions: Any) -> Any:
        found, here = numbered(ctx.number), ctx.saved_tensors
        moving = [torch.zeros_like(x) if d is None else d for x, d in zip(here, directions, strict=True)]
        return tuple(_apply(found.along.number, [*here, *moving]))

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        found = numbered(ctx.number)
        return (None, *_apply(found.by_weights.number, [*ctx.saved_tensors, *weights]))

    @staticmethod
    def vmap(info: Any, in_dims: Any, number: int, *tensors: Any) -> Any:
        found = numbered(number)
        rows = [_rows_in_front(x, dim, info.batch_size) for x, dim in zip(tensors, in_dims[1:], strict=True)]
        leading = rows[0].shape[: rows[0].ndim - len(found.inputs[0].shape)]
        flat = [x.reshape(-1, *spec.shape) for x, spec in zip(rows, found.inputs, strict=True)]
        results = _apply(number, flat)
        shaped = tuple(y.reshape(*leading, *spec.shape) for y, spec in zip(results, found.outputs, strict=True))
        return shaped, (0,) * len(shaped)


class _Backward(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """The same without transforms, which torch then reaches in half the time."""

    @staticmethod
    def forward(ctx: Any, number: int, *tensors: Any) -> Any:
        ctx.number = number
        ctx.save_for_backward(*tensors)
        return _run(number, tensors)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        found = numbered(ctx.number)
        return (None, *_apply(found.by_weights.number, [*ctx.saved_tensors, *weights]))


def _rows_in_front(x: Any, dim: int | None, size: int) -> Any:
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


# The same as an operator that torch.compile does not look into.


@torch.library.custom_op("bough::run", mutates_args=())  # type: ignore[untyped-decorator]
def _operator(number: int, tensors: list[torch.Tensor]) -> list[torch.Tensor]:  # type: ignore[name-defined]
    return list(_run(number, tensors))


@_operator.register_fake  # type: ignore[untyped-decorator]
def _(number: int, tensors: list[Any]) -> list[Any]:
    return _empty(numbered(number), tensors)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.number = inputs[0]
    ctx.save_for_backward(*inputs[1])


def _backward(ctx: Any, weights: Any) -> Any:
    found = numbered(ctx.number)
    return None, torch.ops.bough.run(found.by_weights.number, [*ctx.saved_tensors, *weights])


_operator.register_autograd(_backward, setup_context=_keep)
