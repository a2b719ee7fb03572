"""JAX: functions of the table on JAX arrays, through `jax.ffi` on Bough's own machine code.

`bough.jax.forward_dynamics(model, q, v, tau)` and its siblings work under `jit`, `vmap`, `grad`, `jvp` and `jacfwd`, in
float32 and float64, with any leading axes; arrays on a CUDA GPU are computed there. Gradients by q are those by its
entries; they are zero along the length of a quaternion. A result that is not finite is not an error here: it is in the
array, as JAX has it. Saved programs name their model by content: a process that loads one calls the function once with
the model, then runs the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.bridges.calls import Call, call_of, check_count, functions, leading_axes, registered, sorted_keywords
from bough.bridges.xla import cpu_handler, gpu_handler
from bough.compile.routine import interpret
from bough.compile.run.arrays import is_real
from bough.compile.settings import interpreted
from bough.dynamics.functions import FUNCTIONS
from bough.errors import ShapeError, required
from bough.model import Model
from bough.opspace import OperationalSpace

jax = required("jax", "jax", at_least="0.4.36")
jnp = jax.numpy
Primitive = import_module("jax.extend.core").Primitive
ad, batching, mlir = (import_module(f"jax.interpreters.{name}") for name in ("ad", "batching", "mlir"))

__all__ = ["call", *FUNCTIONS]


def call(model: Model | OperationalSpace, name: str, *arrays: Any, **options: Any) -> Any:
    """A function of `Dynamics` by name on JAX arrays, with the options of the function: method=, frame=, reference=.

    `forces` are wrenches on all bodies (..., bodies, 6), where `Dynamics` takes them. `inertia`, `armature`, `gravity`
    and `placement` are arrays in the place of the model's own numbers, for all rows or one for each (see `Dynamics`).
    All have gradients like the others. Quantities for all rows are examined where JAX knows their numbers (not under
    `jit` and `grad`); check=False skips that. Of an `OperationalSpace` in the place of the model, `name` is one of
    the functions that its `export_c` knows; Lambda is damped as in the space, and singular tasks are not looked for.
    """
    given = sorted_keywords(options)
    found = call_of(model, name, given.options, tuple(given.parameters))
    values, leading = _check(found, name, (*arrays, *given.parameters.values()))
    given.examine(found, lambda x: None if isinstance(x, jax.core.Tracer) else np.asarray(x))
    rows = [jnp.broadcast_to(x, (*leading, *spec.shape)) for x, spec in zip(values, found.inputs, strict=True)]
    results = _value.bind(*rows, name=found.name)
    if found.reshapes:
        results = [y.reshape((*leading, *shape)) for y, shape in zip(results, found.results, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


globals().update(functions(call, __name__, "arrays"))


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def __dir__() -> list[str]:
    return sorted(__all__)


def _check(found: Call, name: str, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The arrays as JAX has them, with all axes of their own, and the leading axes that they have in common."""
    check_count(found, name, arrays)
    dtypes = {getattr(x, "dtype", None) for x in arrays if not is_real(x)}
    if not jax.config.jax_enable_x64 and np.dtype(float) in dtypes:
        raise ShapeError(f"{name}: JAX would round float64 to float32; set jax_enable_x64, or pass float32")
    dtype = jnp.asarray(arrays[0]).dtype
    given = [
        jnp.asarray(x, dtype if is_scalar and is_real(x) else None)
        for x, is_scalar in zip(arrays, found.scalars, strict=True)
    ]
    for x, spec in zip(given, found.inputs, strict=True):
        if x.dtype not in (np.float32, np.float64) or x.dtype != dtype:
            raise ShapeError(
                f"{name}: {spec.name} is {x.dtype}; all arrays must be float32, or all float64, like the first, "
                f"which is {dtype}"
            )
    return leading_axes(found, name, given)


def _run(found: Call, arrays: Sequence[Any], on_gpu: bool) -> list[Any]:
    """The code itself, as XLA calls it."""
    results = [jax.ShapeDtypeStruct(shape, arrays[0].dtype) for shape in _shapes(found, arrays)]
    if interpreted() and not on_gpu:
        return list(jax.pure_callback(partial(_interpret, found), results, *arrays))
    target = _target(found.name, np.dtype(arrays[0].dtype), on_gpu)
    return list(jax.ffi.ffi_call(target, results)(*arrays))


def _interpret(found: Call, *arrays: Any) -> list[np.ndarray]:
    """Row by row in plain Python; like compiled code, what is not finite stays in its row."""
    shapes, groups, sizes = _shapes(found, arrays), found.constants.groups, found.sizes
    rows = (np.asarray(x).reshape(-1, *spec.shape) for x, spec in zip(arrays, found.inputs, strict=True))
    answers = [interpret(found.routine, groups, sizes, *row) for row in zip(*rows, strict=True)]
    return [np.array([y[k] for y in answers], arrays[0].dtype).reshape(shape) for k, shape in enumerate(shapes)]


def _shapes(found: Call, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    return [(*found.batch(arrays[0]), *y.shape) for y in found.outputs]


# Two operations: the value of a call, and its rate, which is linear in the directions. Both are calls.


def _primitive(operation: str, which: Callable[[str], Call]) -> Any:
    """An operation of JAX with the parameter `name`, done by the call `which(name)`."""
    primitive = Primitive(operation)
    primitive.multiple_results = True

    def on_cpu(*arrays: Any, name: str) -> list[Any]:
        return _run(which(name), arrays, on_gpu=False)

    def on_gpu(*arrays: Any, name: str) -> list[Any]:
        return _run(which(name), arrays, on_gpu=True)

    def run(*arrays: Any, name: str) -> list[Any]:
        is_on_gpu = any(device.platform in ("gpu", "cuda") for device in arrays[0].devices())
        return (on_gpu if is_on_gpu else on_cpu)(*arrays, name=name)

    def abstract(*arrays: Any, name: str) -> list[Any]:
        return [arrays[0].update(shape=shape) for shape in _shapes(which(name), arrays)]

    def batched(arrays: Any, axes: Any, name: str) -> tuple[list[Any], list[int]]:
        found = which(name)
        size = next(x.shape[k] for x, k in zip(arrays, axes, strict=True) if k is not None)
        rows = [
            jnp.broadcast_to(x, (size, *x.shape)) if k is None else jnp.moveaxis(x, k, 0)
            for x, k in zip(arrays, axes, strict=True)
        ]
        return primitive.bind(*rows, name=name), [0] * len(found.outputs)

    primitive.def_impl(run)
    primitive.def_abstract_eval(abstract)
    batching.primitive_batchers[primitive] = batched
    mlir.register_lowering(primitive, mlir.lower_fun(on_cpu, multiple_results=True))
    mlir.register_lowering(primitive, mlir.lower_fun(on_gpu, multiple_results=True), platform="cuda")
    return primitive


_value = _primitive("bough", registered)
_rate = _primitive("bough_rate", lambda name: registered(name).jvp)


def _jvp(primitive: Any, which: Callable[[str], Call], arrays: Any, directions: Any, name: str) -> tuple[Any, Any]:
    """The operation and its rate, which is that of the call `which(name)`."""
    rates = _rate.bind(*arrays, *map(ad.instantiate_zeros, directions), name=which(name).name)
    return primitive.bind(*arrays, name=name), rates


def _rate_transpose(weights: Any, *arrays: Any, name: str) -> list[Any]:
    """From weights of the rates to weights of the directions: the gradient of the call at the same arrays."""
    found = registered(name)
    here, directions = arrays[: len(found.inputs)], arrays[len(found.inputs) :]
    gradients = _value.bind(*here, *map(ad.instantiate_zeros, weights), name=found.vjp.name)
    tangents = [g if ad.is_undefined_primal(d) else None for g, d in zip(gradients, directions, strict=True)]
    return [None] * len(here) + tangents


ad.primitive_jvps[_value] = partial(_jvp, _value, registered)
ad.primitive_jvps[_rate] = partial(_jvp, _rate, lambda name: registered(name).jvp)
ad.primitive_transposes[_rate] = _rate_transpose


@cache
def _target(name: str, dtype: np.dtype, on_gpu: bool) -> str:
    """The name under which XLA knows the code of a call in one precision: the same in every process."""
    target = f"bough.{name}.{dtype.name}"
    handler = (gpu_handler if on_gpu else cpu_handler)(registered(name), dtype)
    _alive.append(handler)
    jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler), platform="CUDA" if on_gpu else "cpu")
    return target


_alive: list[Any] = []  # machine code must outlive XLA's use of it
