"""Translations of Python's and numpy's own functions: (writer, arguments) -> value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bough.compile.lower.values import LLVM, Arr, Named, Num, is_constant, ref
from bough.compile.lower.writer import Writer
from bough.compile.scalar import PRIMITIVES

Meaning = Callable[..., Any]


def _length(out: Writer, x: Any) -> Any:
    if isinstance(x, Arr):
        return x.extents[0]
    return len(x.members if isinstance(x, Named) else x)


def _largest(sign: str) -> Meaning:
    def meaning(out: Writer, *given: Any) -> Any:
        best = given[0]
        for x in given[1:]:
            if is_constant(x) and is_constant(best):
                best = max(best, x) if sign == ">" else min(best, x)
            else:
                best = out.select(out.compare(sign, x, best), x, best)
        return best

    return meaning


def _absolute(out: Writer, x: Any) -> Any:
    if is_constant(x):
        return abs(x)
    if x.kind in "fs":
        out.loop_only("abs of a float")
        return out.call("llvm.fabs", x)
    return out.select(out.compare("<", x, 0), out.binary("-", 0, x), x)


def _as(kind: str) -> Meaning:
    convert = {"f": float, "i": int, "b": bool}[kind]

    def meaning(out: Writer, x: Any) -> Any:
        if kind == "f":
            out.loop_only("float()")
        if kind == "f" and isinstance(x, Num) and x.kind == "s":
            return x
        if is_constant(x):
            return convert(x)
        return out.truth(x) if kind == "b" else out.number(x, kind)

    return meaning


def _function(name: str, fold: Callable[[float], float], is_primitive: bool = False) -> Meaning:
    def meaning(out: Writer, x: Any) -> Any:
        if not is_primitive:
            out.loop_only(f"{name} of math or numpy")
        return fold(x) if is_constant(x) else out.call(f"llvm.{name}", x)

    return meaning


def _atan(out: Writer, x: Any) -> Any:
    """LLVM's own is new: this is that of the C library."""
    y = out.number(x, "f")
    z = Num("f", out(f"call double @atan(double {y.ref})"))
    return out.number(z, "s") if isinstance(x, Num) and x.kind == "s" else z


def _round(out: Writer, x: Any) -> Any:
    """To the nearest whole number, halves to the even one."""
    return round(x) if is_constant(x) else out.number(out.call("llvm.rint", x), "i")


def _step(out: Writer, x: Any) -> Any:
    """1 where x >= 0, else 0, in the precision of x."""
    if is_constant(x):
        return float(x >= 0.0)
    y = x if x.kind in "fsv" else out.number(x, "f")
    part, bits = LLVM[y.kind], "<8 x i1>" if y.kind == "v" else "i1"
    is_met = out(f"fcmp oge {part} {y.ref}, {'zeroinitializer' if y.kind == 'v' else ref(0.0)}")
    return Num(y.kind, out(f"uitofp {bits} {is_met} to {part}"))


def _ahead(out: Writer, array: Arr, k: Any) -> None:
    """To be read or written, into all caches."""
    out.do(f"call void @llvm.prefetch.p0(ptr {out.address(array, k)}, i32 0, i32 3, i32 1)")


FUNCTIONS = ("sqrt", "sin", "cos", "exp", "log", "log10")  # of LLVM, and of numpy and math alike
BUILTINS: dict[Any, Meaning] = {
    len: _length, max: _largest(">"), min: _largest("<"), abs: _absolute, float: _as("f"), int: _as("i"),
    bool: _as("b"), round: _round, PRIMITIVES["atan"]: _atan, PRIMITIVES["step"]: _step,
    PRIMITIVES["ahead"]: _ahead,
    PRIMITIVES["turn"]: lambda out, x: None,
}  # fmt: skip
BUILTINS |= {getattr(home, name): _function(name, getattr(math, name)) for home in (np, math) for name in FUNCTIONS}
BUILTINS |= {PRIMITIVES[name]: _function(name, getattr(math, name), True) for name in ("sqrt", "sin", "cos")}
DECLARATIONS = [
    *(
        f"declare {part} @llvm.{name}.{size}({part})"
        for name in (*FUNCTIONS, "fabs", "rint")
        for part, size in (("double", "f64"), ("float", "f32"))
    ),
    "declare <8 x double> @llvm.sqrt.v8f64(<8 x double>)",
    "declare double @llvm.pow.f64(double, double)",
    "declare i64 @llvm.fptosi.sat.i64.f64(double)",
    "declare i64 @llvm.fptosi.sat.i64.f32(float)",
    "declare double @atan(double)",
    "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
]
