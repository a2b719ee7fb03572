"""What eight numbers become in compiled code: a vector, each operation on it one or two instructions."""

from __future__ import annotations

from typing import Any

from bough.compile.lower.values import LLVM, Arr, Num
from bough.compile.lower.writer import FAST, Writer
from bough.sparsity import eight

KINDS = {"f8": ("v", 8), "f4": ("w", 4)}  # the kind of a vector, and the bytes of an element


def _eight(out: Writer, A: Arr, p: Any) -> Num:
    kind, size = KINDS[A.element]
    return Num(kind, out.give(f"load {LLVM[kind]}, ptr {out.address(A, p)}, align {size}"))


def _put(out: Writer, A: Arr, p: Any, x: Num) -> None:
    out.do(f"store {LLVM[x.kind]} {x.ref}, ptr {out.address(A, p)}, align {KINDS[A.element][1]}")


def _take_off(out: Writer, A: Arr, p: Any, x: Num) -> None:
    _put(out, A, p, _of(out, "fsub", _eight(out, A, p), x))


def _scaled(out: Writer, a: Num, x: Num) -> Num:
    return _of(out, "fmul", _spread(out, a, x.kind), x)


def _plus(out: Writer, z: Num, a: Num, x: Num) -> Num:
    return _of(out, "fadd", z, _scaled(out, a, x))


def _over(out: Writer, x: Num, a: Num) -> Num:
    return _of(out, "fdiv", x, _spread(out, a, x.kind))


def _of(out: Writer, word: str, x: Num, y: Num) -> Num:
    return Num(x.kind, out.give(f"{word} {FAST} {LLVM[x.kind]} {x.ref}, {y.ref}"))


def _spread(out: Writer, a: Num, kind: str) -> Num:
    """A number in every lane."""
    one = out.give(f"insertelement {LLVM[kind]} poison, {LLVM[a.kind]} {a.ref}, i32 0")
    return Num(kind, out.give(f"shufflevector {LLVM[kind]} {one}, {LLVM[kind]} poison, <8 x i32> zeroinitializer"))


MEANINGS = {
    eight.eight: _eight, eight.put: _put, eight.take_off: _take_off, eight.scaled: _scaled, eight.plus: _plus,
    eight.over: _over,
}  # fmt: skip
