"""JAX: functions of the table on JAX arrays, through `jax.ffi` on Bough's own machine code.

`bough.jax.forward_dynamics(model, q, v, tau)` and its siblings work under `jit`, `vmap`, `grad`, `jvp` and `jacfwd`, in
float32 and float64, with any leading axes; arrays on a CUDA card are worked on there. Gradients by q are those by its
entries; they are zero along the length of a quaternion. A result that is not finite is not an error here: it is in the
array, as JAX has it.
"""

from __future__ import annotations

import ctypes
import math
from _thread import interrupt_main
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

from bough.bridges.calls import Call, call_of, numbered, sorted_keywords
from bough.compile.routine import interpret
from bough.compile.run.entry import NativeCode
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

MANY = 1024  # rows that are worth asking Python for its threads
HANDLER = (files("bough.bridges") / "xla_handler.ll").read_text()


def call(model: Model | OperationalSpace, name: str, *arrays: Any, **options: Any) -> Any:
    """A function of `Dynamics` by name on JAX arrays, with the options of the function: method=, frame=, reference=.

    `forces` are wrenches on all bodies (..., bodies, 6), where `Dynamics` takes them. `inertia`, `armature`, `gravity`
    and `placement` are arrays in the place of the model's own numbers, for all rows or one for each (see `Dynamics`).
    All have gradients like the others. Quantities for all rows are examined where JAX knows their numbers (not under
    `jit` and `grad`); check=False leaves that out. Of an `OperationalSpace` in the place of the model, `name` is one of
    the functions that its `export_c` knows; Lambda is damped as in the space, and singular tasks are not looked for.
    """
    given = sorted_keywords(options)
    found = call_of(model, name, given.options, tuple(given.parameters))
    values, leading = _check(found, name, (*arrays, *given.parameters.values()))
    given.examine(found, lambda x: None if isinstance(x, jax.core.Tracer) else np.asarray(x))
    rows = [jnp.broadcast_to(x, (*leading, *spec.shape)) for x, spec in zip(values, found.inputs, strict=True)]
    results = _value.bind(*rows, number=found.number)
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


def _run(found: Call, arrays: Sequence[Any], on_card: bool) -> list[Any]:
    """The code itself, as XLA calls it."""
    results = [jax.ShapeDtypeStruct(shape, arrays[0].dtype) for shape in _shapes(found, arrays)]
    if interpreted() and not on_card:
        return list(jax.pure_callback(partial(_interpret, found), results, *arrays))
    name = (_registered_on_card if on_card else _registered)(found.number, np.dtype(arrays[0].dtype))
    return list(jax.ffi.ffi_call(name, results)(*arrays))


def _interpret(found: Call, *arrays: Any) -> list[np.ndarray]:
    """Row by row in plain Python; like compiled code, what is not finite stays in its row."""
    shapes, groups, sizes = _shapes(found, arrays), found.constants.groups, found.sizes
    rows = (np.asarray(x).reshape(-1, *spec.shape) for x, spec in zip(arrays, found.inputs, strict=True))
    answers = [interpret(found.routine, groups, sizes, *row) for row in zip(*rows, strict=True)]
    return [np.array([y[k] for y in answers], arrays[0].dtype).reshape(shape) for k, shape in enumerate(shapes)]


def _shapes(found: Call, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    leading = arrays[0].shape[: arrays[0].ndim - len(found.inputs[0].shape)]
    return [(*leading, *y.shape) for y in found.outputs]


# Two operations: the value of a call, and its rate, which is linear in the directions. Both are calls.


def _primitive(name: str, which: Callable[[int], Call]) -> Any:
    """An operation of JAX with the parameter `number`, done by the call `which(number)`."""
    primitive = Primitive(name)
    primitive.multiple_results = True

    def on_cpu(*arrays: Any, number: int) -> list[Any]:
        return _run(which(number), arrays, on_card=False)

    def on_card(*arrays: Any, number: int) -> list[Any]:
        return _run(which(number), arrays, on_card=True)

    def run(*arrays: Any, number: int) -> list[Any]:
        return (on_card if _is_on_card(arrays[0]) else on_cpu)(*arrays, number=number)

    def abstract(*arrays: Any, number: int) -> list[Any]:
        return [arrays[0].update(shape=shape) for shape in _shapes(which(number), arrays)]

    def batched(arrays: Any, axes: Any, number: int) -> tuple[list[Any], list[int]]:
        found = which(number)
        size = next(x.shape[k] for x, k in zip(arrays, axes, strict=True) if k is not None)
        rows = [
            jnp.broadcast_to(x, (size, *x.shape)) if k is None else jnp.moveaxis(x, k, 0)
            for x, k in zip(arrays, axes, strict=True)
        ]
        return primitive.bind(*rows, number=number), [0] * len(found.outputs)

    primitive.def_impl(run)
    primitive.def_abstract_eval(abstract)
    batching.primitive_batchers[primitive] = batched
    mlir.register_lowering(primitive, mlir.lower_fun(on_cpu, multiple_results=True))
    mlir.register_lowering(primitive, mlir.lower_fun(on_card, multiple_results=True), platform="cuda")
    return primitive


_value = _primitive("bough", numbered)
_rate = _primitive("bough_rate", lambda number: numbered(number).along)


def _rule(directions: Any, arrays: Any, number: int) -> list[Any]:
    return _rate.bind(*arrays, *map(ad.instantiate_zeros, directions), number=number)


def _value_jvp(arrays: Any, directions: Any, number: int) -> tuple[Any, Any]:
    return _value.bind(*arrays, number=number), _rule(directions, arrays, number)


def _rate_jvp(arrays: Any, directions: Any, number: int) -> tuple[Any, Any]:
    return _rate.bind(*arrays, number=number), _rule(directions, arrays, numbered(number).along.number)


def _rate_transpose(weights: Any, *arrays: Any, number: int) -> list[Any]:
    """From weights of the rates to weights of the directions: the gradient of the call at the same arrays."""
    found = numbered(number)
    here, directions = arrays[: len(found.inputs)], arrays[len(found.inputs) :]
    gradients = _value.bind(*here, *map(ad.instantiate_zeros, weights), number=found.by_weights.number)
    wanted = [g if ad.is_undefined_primal(d) else None for g, d in zip(gradients, directions, strict=True)]
    return [None] * len(here) + wanted


ad.primitive_jvps[_value] = _value_jvp
ad.primitive_jvps[_rate] = _rate_jvp
ad.primitive_transposes[_rate] = _rate_transpose


@cache
def _registered(number: int, dtype: np.dtype) -> str:
    """The name under which XLA knows the code of a call in one precision."""
    found = numbered(number)
    code = found.on_the_cpu.entry(dtype).batch()
    assert isinstance(code, NativeCode)
    _alive.append(code)
    name = f"bough_{number}_{dtype.name}"
    handler = _handler(code.address, found, _team(found, dtype))
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
    return name


@cache
def _registered_on_card(number: int, dtype: np.dtype) -> str:
    """The same for the code on a card."""
    from bough.bridges.xla_card import handler

    found = numbered(number)
    name = f"bough_{number}_{dtype.name}_on_card"
    handle = handler(found.on_the_card, dtype)
    _alive.append(handle)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handle), platform="CUDA")
    return name


def _is_on_card(x: Any) -> bool:
    return any(device.platform in ("gpu", "cuda") for device in x.devices())


_alive: list[Any] = []  # machine code must outlive XLA's use of it


TEAM = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int64)


def _team(found: Call, dtype: np.dtype) -> Any:
    """`team(arrays, rows)` for XLA: all rows on Bough's threads; what is not 0 asks XLA's thread to do them alone."""
    specs = found.inputs + found.outputs

    def team(addresses: Any, rows: int) -> int:
        try:
            arrays = [_array_at(addresses[k], (rows, *x.shape), dtype) for k, x in enumerate(specs)]
            return found.on_the_cpu.fill(arrays)
        except BaseException as problem:  # nothing can be raised through XLA
            if isinstance(problem, KeyboardInterrupt):
                interrupt_main()
            return 1

    return TEAM(team)


def _array_at(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    memory = (ctypes.c_char * (math.prod(shape) * dtype.itemsize)).from_address(address)
    return np.ndarray(shape, dtype, memoryview(memory))


def _handler(address: int, found: Call, team: Any) -> Any:
    """An XLA handler for one entry: it passes the addresses of the buffers and the number of rows on."""
    from bough.compile.run import native

    text = HANDLER
    inputs, outputs = len(found.inputs), len(found.outputs)
    numbers = {"ARRAYS": inputs + outputs, "INPUTS": inputs, "OUTPUTS": outputs, "RANK": len(found.inputs[0].shape)}
    numbers |= {"ENTRY": address, "MANY": MANY, "TEAM": ctypes.cast(team, ctypes.c_void_p).value or 0}
    for word, number in numbers.items():
        text = text.replace(f"@{word}@", str(number))
    code = native.load(native.compile_ir(text), "xla_handler")
    _alive.extend([code, team])
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(code.address)
