"""Gradients, rates and products with second derivatives of functions of the table, q on its tangent space.

A configuration moves as qdot = N(q) v: its gradient is N' times that by the numbers of q, and a direction of it is a
velocity, so that both have nv numbers whatever the joints. Derivatives are routines like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from bough.compile.derived import jvp, vjp
from bough.compile.routine import Routine
from bough.joints import configuration_rate


@cache
def gradients(routine: Routine, wrt: tuple[str, ...]) -> Routine:
    """(inputs, weights of outputs) -> the gradient of their weighted sum by each input `wrt`, that by q (nv,)."""
    plain = vjp(routine, wrt)
    if "by_q" not in plain.outputs:
        return plain
    outputs = {name: "nv" if name == "by_q" else shape for name, shape in plain.outputs.items()}
    return _wrapped(plain, plain.inputs, outputs, _to_tangent)


@cache
def rates(routine: Routine, wrt: tuple[str, ...]) -> Routine:
    """(inputs, directions `along_<input>`) -> the rate of each output; that of q is a velocity (nv,)."""
    plain = jvp(routine, wrt)
    along = next((name for name in plain.inputs if name.endswith("along_q")), None)
    if along is None:
        return plain
    inputs = {name: "nv" if name == along else shape for name, shape in plain.inputs.items()}
    return _wrapped(plain, inputs, plain.outputs, _from_tangent)


@cache
def curvatures(routine: Routine, wrt: tuple[str, ...], along: tuple[str, ...]) -> Routine:
    """(inputs, weights, directions) -> the rate of each gradient: products with second derivatives."""
    return rates(gradients(routine, wrt), along)


Arrays = dict[str, Any]
Convert = Callable[[Arrays, Arrays, Any], None]


def _wrapped(plain: Routine, inputs: Mapping[str, str], outputs: Mapping[str, str], run: Convert) -> Routine:
    """A routine around `plain`, which `run` calls with arrays of its own shapes."""
    names = [*inputs, *outputs]

    def body(*arguments: Any) -> None:
        *rest, work = arguments
        constants, arrays = rest[: -len(names)], dict(zip(names, rest[-len(names) :], strict=True))
        nq, nv = len(arrays["q"]), len(constants[0].v_index) and max(constants[0].v_index) + 1
        N = np.full((nq, nv), 0.0, object)
        configuration_rate(constants[0], arrays["q"], N)
        inner: Arrays = dict(arrays)

        def go() -> None:
            plain.body(*constants, *(inner[k] for k in (*plain.inputs, *plain.outputs)), work)

        run(inner, arrays, (N, go))

    return replace(plain, body=body, inputs=dict(inputs), outputs=dict(outputs))


def _to_tangent(inner: Arrays, arrays: Arrays, tools: Any) -> None:
    N, go = tools
    inner["by_q"] = np.full(len(N), 0.0, object)
    go()
    arrays["by_q"][...] = _times(N.T, inner["by_q"])


def _from_tangent(inner: Arrays, arrays: Arrays, tools: Any) -> None:
    N, go = tools
    along = next(name for name in arrays if name.endswith("along_q"))
    inner[along] = _times(N, arrays[along])
    go()


def _times(M: Any, x: Sequence[Any]) -> Any:
    """M x, without what is zero."""
    found = np.full(len(M), 0.0, object)
    for r, row in enumerate(M):
        for a, b in zip(row, x, strict=True):
            if not isinstance(a, float | int) or a != 0.0:
                found[r] = found[r] + a * b
    return found
