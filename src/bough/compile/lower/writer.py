"""One LLVM function while it is written: instructions on values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bough.compile.ir import Instructions
from bough.compile.lower.values import (
    ELEMENT,
    LANES,
    LLVM,
    Arr,
    DialectError,
    Kind,
    Named,
    Num,
    Numbers,
    OutsideError,
    Several,
    TupleType,
    Words,
    common,
    is_constant,
    made,
    meeting,
    parts,
    ref,
    refs,
    type_of,
    words_in,
)

# Contraction and reciprocals keep full accuracy; reassociation would not.
FAST = "contract arcp"
FLOATS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
INTEGERS = {
    "+": "add nsw",
    "-": "sub nsw",
    "*": "mul nsw",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "shl",
    ">>": "ashr",
}
FLOAT_NAMES = {"f": "f64", "s": "f32", "v": "v8f64"}  # in names of functions of LLVM
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class Writer(Instructions):
    """Instructions on values, block after block; `head` comes first, in the block that all others follow."""

    def __init__(self, is_straight_line: bool = False) -> None:
        super().__init__("v")
        self.head: list[str] = []
        self.line = 0  # of the text that is being read
        self.dead = False  # behind a jump: nothing can come here
        self._is_straight_line = is_straight_line
        self._read: dict[tuple[str, int], str] = {}

    def loop_only(self, what: str) -> None:
        """Refuse something that a straight-line kernel may not hold."""
        if self._is_straight_line:
            raise DialectError(f"{what} in a @kernel: only a @loop_kernel may hold it")

    # Blocks

    def jump(self, label: str) -> None:
        """Go to a block, unless nothing comes here."""
        if not self.dead:
            self.do(f"br label %{label}")
            self.dead = True

    def branch(self, condition: Num, yes: str, no: str) -> None:
        """Go to one of two blocks."""
        self.do(f"br i1 {condition.ref}, label %{yes}, label %{no}")
        self.dead = True

    def block(self, label: str) -> None:
        """Begin a block; what came before falls into it."""
        self.jump(label)
        self.label(label)
        self.dead = False

    # Places on the stack

    def place(self, kind: Any) -> list[str]:
        """Room for a value of this type."""
        names = [f"%{self.fresh('p')}" for _ in parts(kind)]
        self.head += [f" {name} = alloca {part}" for name, part in zip(names, parts(kind), strict=True)]
        return names

    def keep(self, places: Sequence[str], kind: Any, x: Any) -> None:
        """Put a value into its place, as one of this type."""
        for where, part, what in zip(places, parts(kind), refs(self.as_type(x, kind)), strict=True):
            self.do(f"store {part} {what}, ptr {where}")

    def kept(self, places: Sequence[str], kind: Any) -> Any:
        """The value in a place."""
        loaded = [self(f"load {part}, ptr {where}") for where, part in zip(places, parts(kind), strict=True)]
        return made(kind, iter(loaded))

    # Numbers

    def as_type(self, x: Any, kind: Any) -> Any:
        """A value as one of a type that it can be kept in."""
        have = type_of(x)
        if have == kind:
            return x
        if isinstance(kind, TupleType):
            given = x.members if isinstance(x, Named) else x
            members = tuple(self.as_type(member, k) for member, k in zip(given, kind.members, strict=True))
            return members if kind.type is None else Named(kind.type, members)
        if common(have, kind) != kind:
            raise OutsideError(f"a value of type {have} where {kind} is kept")
        return self.number(x, kind)

    def number(self, x: Any, kind: str) -> Any:
        """A number as one of another kind."""
        if kind == "v" and type_of(x) != "v":
            return self.spread(self.number(x, "f"), kind)
        if is_constant(x):
            if isinstance(x, float):
                self.loop_only("a float constant")
            return Num(kind, ref(_constant(x, kind)))
        if not isinstance(x, Num):
            raise OutsideError(f"a number was expected, not {type(x).__name__}")
        if x.kind == kind:
            return x
        if kind == "i" and x.kind in "fs":
            self.loop_only("a float as a whole number")
            # towards zero; what is too large becomes the largest there is
            name = f"llvm.fptosi.sat.i64.{'f64' if x.kind == 'f' else 'f32'}"
            return Num("i", self(f"call i64 @{name}({LLVM[x.kind]} {x.ref})"))
        change = {
            "bi": "zext", "bf": "uitofp", "bs": "uitofp", "if": "sitofp", "is": "sitofp", "sf": "fpext",
            "fs": "fptrunc",
        }.get(x.kind + kind)  # fmt: skip
        if change is None:
            raise OutsideError(f"a number of kind {x.kind} as one of kind {kind}")
        return Num(kind, self(f"{change} {LLVM[x.kind]} {x.ref} to {LLVM[kind]}"))

    def spread(self, x: Num, kind: str) -> Num:
        """A float in every lane of a vector."""
        whole = LLVM[kind]
        first = self(f"insertelement {whole} poison, {LLVM[x.kind]} {x.ref}, i32 0")
        return Num(kind, self(f"shufflevector {whole} {first}, {whole} poison, <8 x i32> zeroinitializer"))

    def truth(self, x: Any) -> Any:
        """Whether a number is not zero; a constant remains one."""
        if is_constant(x):
            return bool(x)
        if not isinstance(x, Num) or x.kind in "vw":
            raise OutsideError("a truth value was expected")
        if x.kind == "b":
            return x
        if x.kind == "i":
            return Num("b", self(f"icmp ne i64 {x.ref}, 0"))
        self.loop_only("a branch on a float")
        return Num("b", self(f"fcmp une {LLVM[x.kind]} {x.ref}, {ref(0.0)}"))

    def binary(self, sign: str, a: Any, b: Any) -> Any:
        """a sign b, one of them not a constant."""
        kind = meeting(a, b)
        if sign == "/" and kind == "i":
            kind = "f"
        if kind == "i" and sign in ("//", "%"):
            return self._floor(sign, a, b)
        table = INTEGERS if kind == "i" else FLOATS
        if sign not in table:
            raise OutsideError(f"{sign} between numbers of kind {kind}")
        fast = "" if kind == "i" else f" {FAST}"
        x, y = self.number(a, kind), self.number(b, kind)
        return Num(kind, self(f"{table[sign]}{fast} {LLVM[kind]} {x.ref}, {y.ref}"))

    def _floor(self, sign: str, a: Any, b: Any) -> Num:
        """Integer division and its remainder, rounding down as in Python; never by zero."""
        x, y = self.number(a, "i").ref, self.number(b, "i").ref
        if is_constant(b) and b > 0 and b & (b - 1) == 0:
            shift = int(b).bit_length() - 1
            return Num("i", self(f"ashr i64 {x}, {shift}" if sign == "//" else f"and i64 {x}, {int(b) - 1}"))
        rest = self(f"srem i64 {x}, {y}")
        mixed = self(f"xor i64 {rest}, {y}")
        signs = self(f"icmp slt i64 {mixed}, 0")
        some = self(f"icmp ne i64 {rest}, 0")
        off = self(f"and i1 {signs}, {some}")  # the rest has the sign of x: it must have that of y
        more = self(f"select i1 {off}, i64 {y}, i64 0")
        rest = self(f"add nsw i64 {rest}, {more}")
        if sign == "%":
            return Num("i", rest)
        even = self(f"sub nsw i64 {x}, {rest}")
        return Num("i", self(f"sdiv exact i64 {even}, {y}"))

    def compare(self, sign: str, a: Any, b: Any) -> Num:
        """Whether a sign b, one of them not a constant."""
        kind = meeting(a, b)
        if kind == "v":
            raise OutsideError("a comparison of rows side by side")
        x, y, word = self.number(a, kind).ref, self.number(b, kind).ref, COMPARISONS[sign]
        if kind == "i":
            return Num("b", self(f"icmp {word if word in ('eq', 'ne') else 's' + word} i64 {x}, {y}"))
        self.loop_only("a comparison of floats")
        return Num("b", self(f"fcmp {'une' if word == 'ne' else 'o' + word} {LLVM[kind]} {x}, {y}"))

    def select(self, condition: Num, a: Any, b: Any) -> Any:
        """a where the condition holds, else b; both are values already."""
        kind = common(type_of(a), type_of(b))
        x, y = refs(self.as_type(a, kind)), refs(self.as_type(b, kind))
        chosen = [
            self(f"select i1 {condition.ref}, {part} {p}, {part} {r}")
            for part, p, r in zip(parts(kind), x, y, strict=True)
        ]
        return made(kind, iter(chosen))

    def call(self, function: str, x: Any) -> Num:
        """A function of LLVM of one floating-point number, such as `llvm.sqrt`."""
        kind = x.kind if isinstance(x, Num) and x.kind in "sv" else "f"
        if kind == "v" and function != "llvm.sqrt":
            raise OutsideError(f"{function} of rows side by side")
        part = LLVM[kind]
        name = f"{function}.{FLOAT_NAMES[kind]}"
        return Num(kind, self(f"call {FAST} {part} @{name}({part} {self.number(x, kind).ref})"))

    # Arrays

    def product(self, a: Any, b: Any) -> Any:
        """Of whole numbers; of constants, a constant."""
        return a * b if is_constant(a) and is_constant(b) else self.binary("*", a, b)

    def sum(self, a: Any, b: Any) -> Any:
        """Of whole numbers; of constants, a constant."""
        if is_constant(a) and is_constant(b):
            return a + b
        return b if is_constant(a) and a == 0 else a if is_constant(b) and b == 0 else self.binary("+", a, b)

    def flat(self, array: Arr, indices: Sequence[Any]) -> Any:
        """The offset of the first element with these indices, in elements."""
        if any(type_of(index) not in ("i", "b") for index in indices):
            raise OutsideError("an index that is no whole number")
        if any(is_constant(index) and index < 0 for index in indices):
            raise OutsideError("an index that counts from the end")
        at: Any = 0
        for k, extent in enumerate(array.extents):
            at = self.product(at, extent) if k and not (is_constant(at) and at == 0) else at
            if k < len(indices):
                at = self.sum(at, indices[k])
        return at

    def address(self, array: Arr, at: Any) -> str:
        """The address of an element."""
        if is_constant(at) and at == 0:
            return array.data
        return self(f"getelementptr inbounds {ELEMENT[array.element]}, ptr {array.data}, i64 {ref(at)}")

    def load(self, array: Arr, at: Any) -> Num:
        """An element, whole numbers of any size as i64."""
        part = ELEMENT[array.element]
        if array.element == LANES:
            return Num("v", self(f"load {part}, ptr {self.address(array, at)}, align 8"))
        x = self(f"load {part}, ptr {self.address(array, at)}")
        if array.element == "f8":
            return Num("f", x)
        if array.element == "f4":
            return Num("s", x)
        return Num("i", x if part == "i64" else self(f"sext {part} {x} to i64"))

    def store(self, array: Arr, at: Any, x: Any) -> None:
        """Overwrite an element."""
        part, kind = ELEMENT[array.element], {"f8": "f", "f4": "s", LANES: "v"}.get(array.element, "i")
        y = self.number(x, kind).ref
        if kind == "v":
            self.do(f"store {part} {y}, ptr {self.address(array, at)}, align 8")
            return
        if kind == "i" and part != "i64":
            y = self(f"trunc i64 {y} to {part}")
        self.do(f"store {part} {y}, ptr {self.address(array, at)}")

    # Tables of words

    def member(self, words: Words, name: str) -> Any:
        """A member of a named tuple in a table."""
        fields = words.what.type._fields  # type: ignore[attr-defined]
        if name not in fields:
            raise OutsideError(f"{words.what.type.__name__} has no {name}")
        at = fields.index(name)
        return self.read(words.data, sum(map(words_in, words.what.fields[:at])), words.what.fields[at])

    def read(self, table: str, at: int, kind: Kind) -> Any:
        """The value of this kind whose words begin at `at`."""
        if isinstance(kind, Several):
            if kind.type is not tuple:
                return Words(kind, self._word(table, at, "address"))
            places = [at + sum(map(words_in, kind.fields[:k])) for k in range(len(kind.fields))]
            return tuple(self.read(table, p, k) for p, k in zip(places, kind.fields, strict=True))
        if isinstance(kind, Numbers):
            extents = [Num("i", self._word(table, at + 1 + k, "i64")) for k in range(kind.ndim)]
            element = LANES if kind.dtype == LANES else np.dtype(kind.dtype).str[1:]
            return Arr(element, self._word(table, at, "ptr"), tuple(extents))
        return Num(kind, self._word(table, at, LLVM[kind]))

    def _word(self, table: str, at: int, part: str) -> str:
        """A word, which no one changes while the kernel runs: read once, before all else, if its table is there."""
        if (table, at) in self._read:
            return self._read[table, at]
        early = table.startswith("%a")
        name = f"%{self.fresh('a' if early else 'v')}"
        where = f"%{self.fresh('v')}" if part != "address" else name
        lines = [f" {where} = getelementptr inbounds i64, ptr {table}, i64 {at}"]
        if part != "address":
            lines.append(f" {name} = load {part}, ptr {where}, !invariant.load !0")
        if early:
            self.head += lines
            self._read[table, at] = name
        else:
            self.lines += lines
        return name


def count(
    out: Writer, ends: tuple[Any, Any, int], each: Callable[[Num], None], loops: list[tuple[str, str]] | None = None
) -> None:
    """Do something for all whole numbers from start on, before stop, by steps; `loops` learns where it may jump to."""
    start, stop, step = ends
    head, inside, on, end = (out.fresh(stem) for stem in ("head", "loop", "next", "end"))
    place = out.place("i")
    out.keep(place, "i", start)
    stop = out.number(stop, "i")
    out.block(head)
    k = out.kept(place, "i")
    out.branch(out.compare("<" if step > 0 else ">", k, stop), inside, end)
    out.block(inside)
    if loops is not None:
        loops.append((on, end))
    each(k)
    if loops is not None:
        loops.pop()
    out.block(on)
    out.keep(place, "i", out.binary("+", k, step))
    out.jump(head)
    out.block(end)


def _constant(x: Any, kind: str) -> Any:
    if kind == "s":
        return float(np.float32(x))
    return {"i": int, "f": float, "b": bool}[kind](x)
