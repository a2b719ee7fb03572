"""Rows of six or eight numbers as vectors of LLVM: each function of `compile/vectors.py` is a few instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bough.compile import vectors
from bough.compile.lower.values import LLVM, Arr, Num
from bough.compile.lower.writer import FAST, Writer
from bough.compile.vectors import WIDTH, place

VECTOR = LLVM["v"]
KINDS = {"f8": ("v", 8), "f4": ("w", 4)}  # the kind of a vector, and the bytes of an element


def arithmetic(out: Writer, word: str, x: Num, y: Num) -> Num:
    """An operation lane by lane."""
    return Num(x.kind, out(f"{word} {FAST} {LLVM[x.kind]} {x.ref}, {y.ref}"))


def spread(out: Writer, a: Any, kind: str) -> Num:
    """A number in every lane."""
    return out.spread(out.number(a, "f" if kind == "v" else "s"), kind)


def _scaled(out: Writer, a: Any, x: Num) -> Num:
    return arithmetic(out, "fmul", spread(out, a, x.kind), x)


def _plus(out: Writer, z: Num, a: Any, x: Num) -> Num:
    return arithmetic(out, "fadd", z, _scaled(out, a, x))


def _over(out: Writer, x: Num, a: Any) -> Num:
    return arithmetic(out, "fdiv", x, spread(out, a, x.kind))


def _eight(out: Writer, A: Arr, p: Any) -> Num:
    kind, size = KINDS[A.element]
    return Num(kind, out(f"load {LLVM[kind]}, ptr {out.address(A, p)}, align {size}"))


def _put_eight(out: Writer, A: Arr, p: Any, x: Num) -> None:
    out.do(f"store {LLVM[x.kind]} {x.ref}, ptr {out.address(A, p)}, align {KINDS[A.element][1]}")


def _subtract_eight(out: Writer, A: Arr, p: Any, x: Num) -> None:
    _put_eight(out, A, p, arithmetic(out, "fsub", _eight(out, A, p), x))


def pick(out: Writer, a: str, b: str, lanes: Iterable[int], of: int = WIDTH) -> str:
    """Some lanes of a, which come first, and b, vectors of `of` numbers."""
    chosen = list(lanes)
    mask = ", ".join(f"i32 {k}" for k in chosen)
    kind = f"<{of} x double>"
    return out(f"shufflevector {kind} {a}, {kind} {b}, <{len(chosen)} x i32> <{mask}>")


def fetch(out: Writer, where: str, size: int = WIDTH) -> str:
    return out(f"load <{size} x double>, ptr {where}, align 8")


def leave(out: Writer, x: str, where: str, size: int = WIDTH) -> None:
    out.do(f"store <{size} x double> {x}, ptr {where}, align 8")


def scratch_row(out: Writer, S: Arr, c: Any, i: Any) -> str:
    return out.address(S, out.product(out.sum(out.product(c, 6), i), WIDTH))


def _row(out: Writer, S: Arr, c: Any, i: Any) -> Num:
    return Num("v", fetch(out, scratch_row(out, S, c, i)))


def _put(out: Writer, S: Arr, c: Any, i: Any, x: Num) -> None:
    leave(out, x.ref, scratch_row(out, S, c, i))


def parts(out: Writer, r: Arr, o: Any, sizes: Iterable[int]) -> list[str]:
    """Places of vectors of these sizes, one behind the other, in a record from o on."""
    start, at, found = out.address(r, o), 0, []
    for size in sizes:
        found.append(out.address(Arr("f8", start, ()), at))
        at += size
    return found


def _taken(out: Writer, r: Arr, o: Any) -> Num:
    four, two = parts(out, r, o, (4, 2))
    x, y = fetch(out, four, 4), fetch(out, two, 2)
    rest = pick(out, y, "zeroinitializer", range(4), of=2)
    return Num("v", pick(out, x, rest, range(8), of=4))


def _give(out: Writer, r: Arr, o: Any, x: Num) -> None:
    four, two = parts(out, r, o, (4, 2))
    leave(out, pick(out, x.ref, "poison", range(4)), four, 4)
    leave(out, pick(out, x.ref, "poison", (4, 5)), two, 2)


def _unpacked(out: Writer, r: Arr, o: Any) -> tuple[Num, ...]:
    places = parts(out, r, o, (8, 8, 4, 1))
    first, second, third = (fetch(out, where, size) for where, size in zip(places, (8, 8, 4), strict=False))
    last = out(f"load double, ptr {places[3]}")
    third = pick(out, third, third, [0, 1, 2, 3, 0, 0, 0, 0], of=4)
    third = out(f"insertelement {VECTOR} {third}, double {last}, i32 4")
    found = []
    for i in range(6):
        at = [place(min(i, j), max(i, j)) for j in range(6)]
        early = pick(out, first, second, [k if k < 16 else 0 for k in at] + [0, 0])
        lanes = [j if k < 16 else 8 + k - 16 for j, k in enumerate(at)] + [0, 0]
        found.append(Num("v", pick(out, early, third, lanes)))
    return tuple(found)


def _pack(out: Writer, r: Arr, o: Any, x: tuple[Num, ...]) -> None:
    entries = [(i, j) for i in range(6) for j in range(i, 6)]
    at, sizes = 0, (8, 8, 4, 1)
    for where, size in zip(parts(out, r, o, sizes), sizes, strict=True):
        chunk, value = entries[at : at + size], "poison"
        for i in sorted({i for i, _ in chunk}):
            lanes = [8 + j if k == i else n for n, (k, j) in enumerate(chunk)] + list(range(size, WIDTH))
            value = pick(out, value, x[i].ref, lanes)
        leave(out, pick(out, value, "poison", range(size)), where, size)
        at += size


def _flipped(out: Writer, x: tuple[Num, ...]) -> tuple[Num, ...]:
    found = []
    # pairs of rows, interleaved: even columns, then odd ones
    pairs = [
        [pick(out, x[i].ref, x[i + 1].ref, [n + j for j in range(0, 8, 2) for n in (odd, 8 + odd)]) for i in (0, 2, 4)]
        for odd in (0, 1)
    ]
    for j in range(6):
        first, second, third = pairs[j % 2]
        at = j - j % 2
        four = pick(out, first, second, [at, at + 1, 8 + at, 9 + at, 0, 0, 0, 0])
        found.append(Num("v", pick(out, four, third, [0, 1, 2, 3, 8 + at, 9 + at, 0, 0])))
    return tuple(found)


def _joined(out: Writer, *given: Any) -> Num:
    value = "zeroinitializer"
    for k, a in enumerate(given):
        value = out(f"insertelement {VECTOR} {value}, double {out.number(a, 'f').ref}, i32 {k}")
    return Num("v", value)


def _replaced(out: Writer, x: Num, k: Any, a: Any) -> Num:
    lane, number = out.number(k, "i").ref, out.number(a, "f").ref
    return Num("v", out(f"insertelement {VECTOR} {x.ref}, double {number}, i64 {lane}"))


MEANINGS: dict[Any, Callable[..., Any]] = {
    vectors.scaled: _scaled, vectors.plus: _plus, vectors.over: _over, vectors.eight: _eight,
    vectors.put_eight: _put_eight, vectors.subtract_eight: _subtract_eight, vectors.row: _row, vectors.put: _put,
    vectors.taken: _taken, vectors.give: _give, vectors.unpacked: _unpacked, vectors.pack: _pack,
    vectors.flipped: _flipped, vectors.joined: _joined, vectors.replaced: _replaced,
}  # fmt: skip
