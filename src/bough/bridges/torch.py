"""PyTorch: functions of the table on tensors, with gradients of any order, on the CPU and on CUDA.

`bough.torch.forward_dynamics(model, q, v, tau)` and its siblings take tensors (n,) or with any leading axes (..., n),
all of one dtype (float32 or float64) on one device, and read them where they are. Gradients by q are those by its
entries; they are zero along the length of a quaternion. A result that is not finite is not an error here: it is NaN or
infinite in its row, and the other rows are computed. `torch.func` works, and `torch.compile` sees one operator; before
torch 2.13 a function must have been called once on the model before it is compiled. The operator names its model by
content: a process that loads a saved program calls the function once with the model, then runs the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from bough.bridges.calls import Call, call_of, check_count, functions, leading_axes, registered, sorted_keywords
from bough.compile.run.arrays import is_real
from bough.dynamics.functions import FUNCTIONS
from bough.errors import NonFiniteError, NumericalError, ShapeError, required
from bough.model import Model
from bough.opspace import OperationalSpace

torch = required("torch", "torch", at_least="2.4")

__all__ = ["call", *FUNCTIONS]

FLOATS = (torch.float32, torch.float64)
DEVICES = ("cpu", "cuda")
BATCHED = torch._C._dispatch_key_parse("Batched")  # of tensors under is_grads_batched=True


def call(model: Model | OperationalSpace, name: str, *tensors: Any, **options: Any) -> Any:
    """A function of `Dynamics` by name on tensors; `options` are those of the function: method=, frame=, reference=.

    `forces` are wrenches on all bodies (..., bodies, 6), where `Dynamics` takes them. `inertia`, `armature`, `gravity`
    and `placement` are tensors in the place of the model's own numbers, for all rows or one for each (see `Dynamics`).
    All have gradients like the others. Quantities for all rows are checked; check=False skips that.
    Of an `OperationalSpace` in the place of the model, `name` is one of the functions that its `export_c` knows; Lambda
    is damped as in the space, and singular tasks are not looked for.
    """
    given = sorted_keywords(options)
    found = _found(model, name, given.options, tuple(given.parameters))
    tensors = (*tensors, *given.parameters.values())
    leading: tuple[int, ...] = ()
    if not _is_one(found, tensors):
        tensors, leading = _check(found, name, tensors)
    if given.parameters:
        given.examine(found, _numbers)
    if leading:
        rows = prod(leading)
        specs = zip(tensors, found.inputs, strict=True)
        tensors = tuple(x.reshape(-1, *spec.shape).expand(rows, *spec.shape) for x, spec in specs)
    results = (_run if _is_plain(tensors) else _apply)(found.name, tensors)
    if leading or found.reshapes:
        results = tuple(y.reshape((*leading, *shape)) for y, shape in zip(results, found.results, strict=True))
    return results[0] if len(results) == 1 else tuple(results)


def _found(model: Model | OperationalSpace, name: str, options: dict[str, Any], inputs: tuple[str, ...]) -> Call:
    """The kind of call, found by Python: `torch.compile` cannot trace this."""
    return call_of(model, name, options, inputs)


FINDS_CALLS = tuple(int(x) for x in torch.__version__.split(".")[:2]) >= (2, 13)
if FINDS_CALLS:  # before, this fails in torch itself
    _found = torch.compiler.assume_constant_result(_found)


globals().update(functions(call, __name__, "tensors"))


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def __dir__() -> list[str]:
    return sorted(__all__)


def _check(found: Call, name: str, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The tensors with all axes of their own, and the leading axes that they have in common."""
    check_count(found, name, tensors)
    first, checked = tensors[0], list(tensors)
    for k, (x, spec) in enumerate(zip(tensors, found.inputs, strict=True)):
        if found.scalars[k] and is_real(x) and isinstance(first, torch.Tensor):
            checked[k] = x = torch.tensor(x, dtype=first.dtype, device=first.device)
        if not isinstance(x, torch.Tensor):
            raise ShapeError(f"{name}: {spec.name} must be a tensor, got {type(x).__name__}")
        if x.dtype not in FLOATS or x.dtype != first.dtype or x.device != first.device:
            raise ShapeError(
                f"{name}: {spec.name} is {x.dtype} on {x.device}; all tensors must be float32 or float64, alike and on "
                f"the device of the first, {first.dtype} on {first.device}"
            )
        if x.device.type not in DEVICES:
            raise ShapeError(f"{name}: {spec.name} is on {x.device}: tensors must be on the CPU or on a CUDA GPU")
    return leading_axes(found, name, checked)


def _is_one(found: Call, tensors: Sequence[Any]) -> bool:
    """Whether these are one configuration that fits without conversion."""
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
    """Whether this runs in a transform of torch.func, or in code that is being compiled."""
    if torch.compiler.is_compiling():
        return True
    return any(torch._C._functorch.is_functorch_wrapped_tensor(x) for x in tensors)


def _is_plain(tensors: Sequence[Any]) -> bool:
    """Whether no derivatives are needed, outside of transforms and of code that is being compiled."""
    if _is_transformed(tensors) or torch.autograd.forward_ad._current_level >= 0:
        return False
    return not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))


def _apply(name: str, tensors: Sequence[Any]) -> Sequence[Any]:
    """One configuration or a batch of rows, the same for all tensors."""
    if torch.compiler.is_compiling():
        return list(torch.ops.bough.run(name, list(tensors)))
    if any(torch._C._dispatch_keys(x).has(BATCHED) for x in tensors):
        return _apply_to_batched_gradients(name, tensors)
    rule = _Function if _is_transformed(tensors) or torch.autograd.forward_ad._current_level >= 0 else _Backward
    results: Sequence[Any] = rule.apply(name, *tensors)
    return results


def _apply_to_batched_gradients(name: str, tensors: Sequence[Any]) -> Sequence[Any]:
    """The same under `is_grads_batched=True` and `vectorize=True`, whose batches torch.func does not know."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    rows = [torch._remove_batch_dim(x, level, 1, 0) for x in tensors]  # (1, ...) where it has no such batch
    size = max(len(x) for x in rows)
    results = _apply_to_rows(name, [x.expand(size, *x.shape[1:]) for x in rows])
    return [torch._add_batch_dim(y, 0, level) for y in results]


def _apply_to_rows(name: str, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The same with one more axis in front of all tensors."""
    found, leading = registered(name), registered(name).batch(tensors[0])
    flat = [x.reshape(-1, *spec.shape) for x, spec in zip(tensors, found.inputs, strict=True)]
    results = zip(_apply(name, flat), found.outputs, strict=True)
    return tuple(y.reshape(*leading, *spec.shape) for y, spec in results)


def _run(name: str, tensors: Sequence[Any]) -> tuple[Any, ...]:
    found = registered(name)
    if tensors[0].is_cuda:
        results = found.on_gpu(*(x.detach().contiguous() for x in tensors))
        return results if isinstance(results, tuple) else (results,)
    arrays = [x.detach().numpy() if x.requires_grad else x.numpy() for x in tensors]
    try:
        results = found.on_cpu.call(*arrays)
    except (NonFiniteError, NumericalError):
        results, _ = found.on_cpu.with_status(*arrays)
    if type(results) is tuple:
        return tuple(map(torch.from_numpy, results))
    return (torch.from_numpy(results),)


def _empty(found: Call, tensors: Sequence[Any]) -> list[Any]:
    return [tensors[0].new_empty((*found.batch(tensors[0]), *spec.shape)) for spec in found.outputs]


class _Function(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """A call with its gradient, which is a call again: so it has gradients of its own."""

    @staticmethod
    def forward(name: str, *tensors: Any) -> Any:
        return _run(name, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.call = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def jvp(ctx: Any, _: Any, *directions: Any) -> Any:
        found, here = registered(ctx.call), ctx.saved_tensors
        moving = [torch.zeros_like(x) if d is None else d for x, d in zip(here, directions, strict=True)]
        return tuple(_apply(found.jvp.name, [*here, *moving]))

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        found = registered(ctx.call)
        return (None, *_apply(found.vjp.name, [*ctx.saved_tensors, *weights]))

    @staticmethod
    def vmap(info: Any, in_dims: Any, name: str, *tensors: Any) -> Any:
        rows = [_rows_in_front(x, dim, info.batch_size) for x, dim in zip(tensors, in_dims[1:], strict=True)]
        results = _apply_to_rows(name, rows)
        return results, (0,) * len(results)


class _Backward(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """The same without transforms, which torch then reaches in half the time."""

    @staticmethod
    def forward(ctx: Any, name: str, *tensors: Any) -> Any:
        ctx.call = name
        ctx.save_for_backward(*tensors)
        return _run(name, tensors)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> Any:
        found = registered(ctx.call)
        return (None, *_apply(found.vjp.name, [*ctx.saved_tensors, *weights]))


def _rows_in_front(x: Any, dim: int | None, size: int) -> Any:
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


# The same as an operator that torch.compile does not look into.


@torch.library.custom_op("bough::run", mutates_args=())  # type: ignore[untyped-decorator]
def _operator(name: str, tensors: list[torch.Tensor]) -> list[torch.Tensor]:  # type: ignore[name-defined]
    return list(_run(name, tensors))


@_operator.register_fake  # type: ignore[untyped-decorator]
def _(name: str, tensors: list[Any]) -> list[Any]:
    return _empty(registered(name), tensors)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.call = inputs[0]
    ctx.save_for_backward(*inputs[1])


def _backward(ctx: Any, weights: Any) -> Any:
    found = registered(ctx.call)
    return None, torch.ops.bough.run(found.vjp.name, [*ctx.saved_tensors, *weights])


_operator.register_autograd(_backward, setup_context=_keep)
