"""Programs -> one C99 file and its header, with no dependency but math.h.

No allocation, no globals, no branches: each program is one function of arrays, split into static pieces
that compile quickly. Temporaries that outlive a piece are in a local array.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bough.compile.emit.plan import AngleStage, Place, Plan
from bough.compile.graph.expr import ADD, ATAN, CONST, DIV, MUL, NEG, SQRT, STEP, SUB
from bough.compile.graph.program import Array, Program
from bough.compile.graph.schedule import optimise
from bough.errors import ModelError, OptionError, ShapeError

CHUNK = 1000
REAL = {8: "double", 4: "float"}  # by bytes
OPERATOR = {ADD: "+", SUB: "-", MUL: "*", DIV: "/"}
KEYWORDS = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|register|"
    "restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while"
)
LONGEST_NAME = 100
TEMPORARIES = re.compile(r"n\d+|w|i")


class Identifiers:
    """Names that C takes: letters, digits and single underscores, each unique without regard to case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, text: str) -> str:
        """An identifier like `text`; a number is added where it is taken."""
        stem = identifier(text)
        name, number = stem, 1
        while name.upper() in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name.upper())
        return name


def identifier(text: str) -> str:
    """`text` as a C identifier: other characters become underscores, long names are cut."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")[:LONGEST_NAME].strip("_")
    return f"x{name}" if not name or name[0].isdigit() or KEYWORDS.fullmatch(name) else name


def quoted(text: str) -> str:
    """Any text as one line of ASCII for a comment."""
    shown = text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "..."
    return ascii(shown)


def export(
    programs: Mapping[str, Program],
    path: str | Path,
    prefix: str,
    dtype: Any = np.float64,
    banner: str = "",
    notes: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Path, Path]:
    """Write `path` (.c) and the header beside it; returns both paths.

    Program `name` becomes `void <prefix>_<name>(const double *q, ..., double *out)`, with float for a dtype of
    float32; names become identifiers, different ones for different programs. Arrays are row-major and must not overlap.
    `banner` goes into a comment at the top of both files, `notes` into the comments of functions.
    """
    source = Path(path)
    header = source.with_suffix(".h") if source.name else source
    real = real_type(dtype)
    if source == header or source.is_dir() or not re.fullmatch(r'[^"\\\n\r\0]+', header.name):
        raise ModelError(f"export: {str(path)!r} is no name for a C file; expected something like 'functions.c'")
    if not source.parent.is_dir():
        raise OptionError(f"export: there is no folder {str(source.parent)!r} for {source.name!r}")
    names, notes = Identifiers(), notes or {}
    prefix = names.new(prefix)
    functions = [
        CFunction(names.new(f"{prefix}_{name}"), program, real, tuple(notes.get(name, ())))
        for name, program in programs.items()
    ]
    comment = _comment(banner.splitlines()) if banner else ""
    body = "".join(f.definition(names) for f in functions)
    guard = identifier(f"{prefix}_{header.name}").upper()
    declared = "".join(f.declaration() for f in functions)
    cpp = "#ifdef __cplusplus\n#define restrict __restrict\n#endif\n"
    source.write_text(f'{comment}#include <math.h>\n\n#include "{header.name}"\n\n{cpp}{body}')
    header.write_text(
        f'{comment}#ifndef {guard}\n#define {guard}\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n'
        f"{declared}\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )
    return source, header


def literal(x: float, dtype: np.dtype, where: str = "a kernel") -> str:
    """x to round-trip precision; a negative one in parentheses. `where` is for errors."""
    value, kind = dtype.type(x), REAL[dtype.itemsize]
    if not math.isfinite(value):
        raise ModelError(f"{where}: the constant {x} is not a finite {kind}")
    text = repr(float(value)) if kind == "double" else f"{value!s}f"
    return f"({text})" if text.startswith("-") else text


def real_type(dtype: Any) -> np.dtype:
    """float64 or float32; anything else is refused."""
    for known in (np.float64, np.float32):
        try:
            if np.dtype(dtype) == known:
                return np.dtype(known)
        except TypeError:
            break
    raise ShapeError(f"dtype must be float64 or float32, got {dtype!r}")


def _comment(lines: Sequence[str]) -> str:
    """A comment that nothing in `lines` ends or nests, and that holds no trigraph."""
    safe = [line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?") for line in lines]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in safe) + " */\n"


def parameter_names(inputs: Sequence[Array], outputs: Sequence[Array]) -> list[str]:
    """A C identifier for each array; none is a keyword, a temporary (n12, w, i) or another's name."""
    names: list[str] = []
    for k, array in enumerate((*inputs, *outputs)):
        name = re.sub(r"\W", "_", array.name, flags=re.ASCII)
        if k >= len(inputs) and name in names:
            name += "_out"
        while name in names or not name.isidentifier() or KEYWORDS.fullmatch(name) or TEMPORARIES.fullmatch(name):
            name = f"x{name}"
        names.append(name)
    return names


class CFunction:
    """One program as C text."""

    def __init__(self, name: str, program: Program, dtype: np.dtype, notes: tuple[str, ...] = ()) -> None:
        self.name, self.program, self.notes = name, optimise(program), notes
        self.dtype, self.type = dtype, REAL[dtype.itemsize]
        self.suffix = "" if self.type == "double" else "f"
        self.arrays = (*program.inputs, *program.outputs)
        self.names = parameter_names(program.inputs, program.outputs)
        self.plan = Plan(self.program, CHUNK)
        self.plan.place_outputs([()] * len(program.outputs))

    def declaration(self) -> str:
        """Size macros, a comment, and the prototype."""
        described = []
        for k, (array, name) in enumerate(zip(self.arrays, self.names, strict=True)):
            role = "in " if k < len(self.program.inputs) else "out"
            shape = " x ".join(str(n) for n in array.shape) or "1"
            described.append(f"  {role}  {name}[{shape}]")
        stack = self.plan.size * (8 if self.type == "double" else 4)
        note = [f"{self.name}: {line}" if k == 0 else line for k, line in enumerate(self.notes)]
        title = "" if note else f"{self.name}: "
        note += [f"{title}{len(self.plan.live)} operations and constants, {stack} bytes of workspace on the stack."]
        note += ["Arrays are row-major and must not overlap.", *described]
        macros = "".join(
            f"#define {self.name.upper()}_{name.upper()}_SIZE {array.size}\n"
            for array, name in zip(self.arrays, self.names, strict=True)
        )
        return f"\n{_comment(note)}{macros}void {self.name}({self._parameters(range(len(self.arrays)))});\n"

    def definition(self, names: Identifiers) -> str:
        """The static pieces, under new names, and the function that calls them in turn."""
        pieces: list[str] = []
        calls: list[str] = []
        for stage in self.plan.stages:
            for units in stage.chunks:
                last = units is stage.chunks[-1]
                piece = _Piece(self, [i for (i,) in units], self.plan.copies(stage) if last else [])
                if piece.lines:
                    name = names.new(f"{self.name}_{len(pieces)}")
                    pieces.append(piece.text(name))
                    calls.append(f"    {name}({piece.arguments()});\n")
            if stage.angles:
                calls.append(self._sines_and_cosines(stage))
        workspace = f"    {self.type} w[{self.plan.size}];\n" if self.plan.size else ""
        counter = "    int i;\n" if any(stage.angles for stage in self.plan.stages) else ""
        unused = "".join(f"    (void){self.names[k]};\n" for k in range(len(self.arrays)) if not self._is_used(k))
        body = workspace + counter + unused + "".join(calls)
        return f"{''.join(pieces)}\nvoid {self.name}({self._parameters(range(len(self.arrays)))})\n{{\n{body}}}\n"

    def _is_used(self, k: int) -> bool:
        return (k >= len(self.program.inputs) and self.arrays[k].size > 0) or any(
            place.array == k for place in self.plan.source.values()
        )

    def _parameters(self, arrays: Sequence[int]) -> str:
        def typed(k: int) -> str:
            return ("const " if k < len(self.program.inputs) else "") + f"{self.type} *"

        return ", ".join(typed(k) + self.names[k] for k in arrays) or "void"

    def _sines_and_cosines(self, stage: AngleStage) -> str:
        angle = f"w[{stage.first_angle} + i]"
        return (
            f"    for (i = 0; i < {len(stage.angles)}; i++) {{\n"
            f"        w[{stage.first_sine} + i] = sin{self.suffix}({angle});\n"
            f"        w[{stage.first_cosine} + i] = cos{self.suffix}({angle});\n"
            "    }\n"
        )


class _Piece:
    """One static function: the statements of a chunk, and the arrays that they touch (-1 is the workspace)."""

    def __init__(self, function: CFunction, operations: list[int], copies: list[int]) -> None:
        self.function, self.graph, self.plan = function, function.program.graph, function.plan
        self.lines: list[str] = []
        self.local: dict[int, str] = {}
        self.touched: set[int] = set()
        for i in operations:
            self._set(i, self._expression(i))
            self._store(i)
        for i in copies:
            self._store(i)

    def text(self, name: str) -> str:
        function = self.function
        const = {k: "const " for k in range(len(function.program.inputs))}
        parameters = [f"{const.get(k, '')}{function.type} *restrict {self._array(k)}" for k in self._order()]
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"\nstatic void {name}({', '.join(parameters)})\n{{\n{body}}}\n"

    def arguments(self) -> str:
        return ", ".join(self._array(k) for k in self._order())

    def _order(self) -> list[int]:
        return sorted(self.touched, key=lambda k: (k < 0, k))

    def _array(self, k: int) -> str:
        return "w" if k < 0 else self.function.names[k]

    def _at(self, place: Place) -> str:
        self.touched.add(place.array)
        return f"{self._array(place.array)}[{place.offset}]"

    def _set(self, i: int, expression: str) -> None:
        self.lines.append(f"const {self.function.type} n{i} = {expression};")
        self.local[i] = f"n{i}"

    def _value(self, i: int) -> str:
        if self.graph.op[i] == CONST:
            return literal(self.graph.value[i], self.function.dtype, self.function.name)
        if i not in self.local:
            self._set(i, self._at(self.plan.source[i]))
        return self.local[i]

    def _expression(self, i: int) -> str:
        op, a = self.graph.op[i], self._value(self.graph.a[i])
        if op in OPERATOR:
            return f"{a} {OPERATOR[op]} {self._value(self.graph.b[i])}"
        suffix = self.function.suffix
        zero, one = (literal(x, self.function.dtype) for x in (0.0, 1.0))
        if op == STEP:
            return f"{a} >= {zero} ? {one} : {zero}"
        return {NEG: f"-{a}", SQRT: f"sqrt{suffix}({a})", ATAN: f"atan{suffix}({a})"}[op]

    def _store(self, i: int) -> None:
        for place in self.plan.targets.get(i, ()):
            self.lines.append(f"{self._at(place)} = {self._value(i)};")
