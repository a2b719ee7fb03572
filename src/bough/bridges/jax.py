"""JAX: functions of the table on JAX arrays, through `jax.ffi` on Bough's own machine code.

`bough.jax.forward_dynamics(model, q, v, tau)` and its siblings work under `jit`, `vmap`, `grad`, `jvp` and `jacfwd`, in
float32 and float64, with any leading axes. Gradients by q are those by its entries; they are zero along the length of a
quaternion. A result that is not finite is not an error here: it is in the array, as JAX has it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bough.bridges.calls import Call, call_of, numbered
from bough.bridges.extras import required
from bough.compile.run import native
from bough.compile.run.cache import fetch
from bough.dynamics.functions import FUNCTIONS
from bough.errors import ShapeError
from bough.model import Model

jax = required("jax", "jax", at_least="0.4.36")
jnp = jax.numpy

__all__ = ["call", *FUNCTIONS]

HANDLER = (Path(__file__).parent / "xla_handler.ll").read_text()


def call(model: Model, name: str, *arrays: Any, **options: Any) -> Any:
    """A function of `Dynamics` by name on JAX arrays; `options` are those of the function: method=, frame=, reference=."""
    found = call_of(model, name, options)
    given, leading = _check(found, name, arrays)
    rows = [jnp.broadcast_to(x, (*leading, *spec.shape)) for x, spec in zip(given, found.inputs, strict=True)]
    results = _call(found.number)(*rows)
    return results[0] if len(results) == 1 else tuple(results)


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise AttributeError(f"module 'bough.jax' has no attribute {name!r}")

    def function(model: Model, *arrays: Any, **options: Any) -> Any:
        return call(model, name, *arrays, **options)

    row = FUNCTIONS[name]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{row.summary}: of a model and arrays {', '.join(row.arguments)}."
    return function


def _check(found: Call, name: str, arrays: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]]:
    """The arrays as JAX has them, and the leading axes that they have in common."""
    if len(arrays) != len(found.inputs):
        names = ", ".join(x.name for x in found.inputs)
        raise ShapeError(f"{name} takes {len(found.inputs)} arrays ({names}), got {len(arrays)}")
    if not jax.config.jax_enable_x64 and any(getattr(x, "dtype", None) == np.float64 for x in arrays):
        raise ShapeError(f"{name}: JAX would round float64 to float32; set jax_enable_x64, or pass float32")
    given = [jnp.asarray(x) for x in arrays]
    leading: tuple[int, ...] = ()
    for x, spec in zip(given, found.inputs, strict=True):
        if x.dtype not in (np.float32, np.float64) or x.dtype != given[0].dtype:
            raise ShapeError(
                f"{name}: {spec.name} is {x.dtype}; all arrays must be float32, or all float64, like the first, "
                f"which is {given[0].dtype}"
            )
        n = len(spec.shape)
        if x.ndim < n or tuple(x.shape[x.ndim - n :]) != spec.shape:
            raise ShapeError(f"{name}: {spec.name} must end in the axes {spec.shape}, got {tuple(x.shape)}")
        axes = tuple(x.shape[: x.ndim - n])
        if axes and leading and axes != leading:
            raise ShapeError(f"{name}: {spec.name} has leading axes {axes} where an earlier array has {leading}")
        leading = axes or leading
    return given, leading


@cache
def _call(number: int) -> Any:
    """A call as a JAX function of arrays with leading axes, with derivatives that are calls again."""
    found = numbered(number)

    @jax.custom_jvp
    def function(*arrays: Any) -> tuple[Any, ...]:
        return _run(found, arrays)

    def along(arrays: Any, directions: Any) -> tuple[Any, ...]:
        rates: tuple[Any, ...] = _call(found.along.number)(*arrays, *directions)
        return rates

    def by_weights(arrays: Any, weights: Any) -> tuple[Any, ...]:
        gradients: tuple[Any, ...] = _call(found.by_weights.number)(*arrays, *weights)
        return gradients

    @function.defjvp
    def rule(arrays: Any, directions: Any) -> tuple[Any, Any]:
        rates = jax.custom_derivatives.linear_call(along, by_weights, tuple(arrays), tuple(directions))
        return function(*arrays), rates

    return function


def _run(found: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
    dtype, spec = arrays[0].dtype, found.inputs[0]
    leading = arrays[0].shape[: arrays[0].ndim - len(spec.shape)]
    results = [jax.ShapeDtypeStruct((*leading, *y.shape), dtype) for y in found.outputs]
    name = _registered(found.number, np.dtype(dtype))
    return tuple(jax.ffi.ffi_call(name, results, vmap_method="broadcast_all")(*arrays))


@cache
def _registered(number: int, dtype: np.dtype) -> str:
    """The name under which XLA knows the code of a call in one precision."""
    found = numbered(number)
    code = found.on_the_cpu.entry(dtype).batch()
    name = f"bough_{number}_{dtype.name}"
    handler = _handler(code.address, len(found.inputs), len(found.outputs), len(found.inputs[0].shape))
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
    return name


_alive: list[Any] = []


def _handler(address: int, inputs: int, outputs: int, rank: int) -> Any:
    """An XLA handler for one entry: it passes the addresses of the buffers and the number of rows on."""
    text = HANDLER.replace("@ARRAYS@", str(inputs + outputs)).replace("@ENTRY@", str(address)).replace("@RANK@", str(rank))
    text = text.replace("@INPUTS@", str(inputs)).replace("@OUTPUTS@", str(outputs))
    code = native.load(native.compile_ir(text), "xla_handler")
    _alive.append(code)
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(code.address)
