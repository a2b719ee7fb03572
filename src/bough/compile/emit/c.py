"""Programs -> one C99 file and its header, with no dependency but math.h.

No allocation, no globals, no branches: each program is one function of arrays, split into static pieces
that a compiler digests quickly. Temporaries that outlive a piece rest in a local array.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bough.compile.emit.plan import Place, Plan, Stage
from bough.compile.graph.expr import ADD, ATAN, CONST, DIV, MUL, NEG, SQRT, SUB
from bough.compile.graph.program import Array, Program
from bough.compile.graph.schedule import optimise

CHUNK = 1000
OPERATOR = {ADD: "+", SUB: "-", MUL: "*", DIV: "/"}
KEYWORDS = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|register|"
    "restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while"
)
TEMPORARIES = re.compile(r"n\d+|w|i")


def export(
    programs: Mapping[str, Program], path: str | Path, prefix: str, dtype: Any = np.float64, banner: str = ""
) -> tuple[Path, Path]:
    """Write `path` (.c) and the header beside it; returns both paths.

    Program `name` becomes `void <prefix>_<name>(const double *q, ..., double *out)`, with float for a dtype of
    float32. Arrays are row-major and must not overlap. `banner` goes into a comment at the top of both files.
    """
    source = Path(path)
    header = source.with_suffix(".h")
    functions = [CFunction(f"{prefix}_{name}", program, np.dtype(dtype)) for name, program in programs.items()]
    comment = _comment(banner.splitlines()) if banner else ""
    source.write_text(
        f'{comment}#include <math.h>\n\n#include "{header.name}"\n' + "".join(f.definition() for f in functions)
    )
    guard = re.sub(r"\W", "_", header.name).upper()
    header.write_text(
        f'{comment}#ifndef {guard}\n#define {guard}\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n'
        + "".join(f.declaration() for f in functions)
        + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )
    return source, header


def _comment(lines: Sequence[str]) -> str:
    safe = [line.replace("*/", "* /") for line in lines]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in safe) + " */\n"


def parameter_names(inputs: Sequence[Array], outputs: Sequence[Array]) -> list[str]:
    """A C identifier for each array; none is a keyword, a temporary (n12, w, i) or another's name."""
    names: list[str] = []
    for k, array in enumerate((*inputs, *outputs)):
        name = re.sub(r"\W", "_", array.name)
        if k >= len(inputs) and name in names:
            name += "_out"
        while name in names or not name.isidentifier() or KEYWORDS.fullmatch(name) or TEMPORARIES.fullmatch(name):
            name = f"x{name}"
        names.append(name)
    return names


class CFunction:
    """One program as C text."""

    def __init__(self, name: str, program: Program, dtype: np.dtype) -> None:
        self.name, self.program = name, optimise(program)
        self.type = {8: "double", 4: "float"}[dtype.itemsize]
        self.suffix = "" if self.type == "double" else "f"
        self.scalar = dtype.type
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
        note = [
            f"{self.name}: {len(self.plan.live)} operations and constants, {stack} bytes of workspace on the stack."
        ]
        note += ["Arrays are row-major and must not overlap.", *described]
        macros = "".join(
            f"#define {self.name.upper()}_{name.upper()}_SIZE {array.size}\n"
            for array, name in zip(self.arrays, self.names, strict=True)
        )
        return f"\n{_comment(note)}{macros}void {self.name}({self._parameters(range(len(self.arrays)))});\n"

    def definition(self) -> str:
        """The static pieces and the function that calls them in turn."""
        pieces, calls, number = [], [], 0
        for stage in self.plan.stages:
            for units in stage.chunks:
                last = units is stage.chunks[-1]
                piece = _Piece(self, [i for (i,) in units], self.plan.copies(stage) if last else [])
                if piece.lines:
                    pieces.append(piece.text(f"{self.name}_{number}"))
                    calls.append(f"    {self.name}_{number}({piece.arguments()});\n")
                    number += 1
            if stage.angles:
                calls.append(self._sines_and_cosines(stage))
        workspace = f"    {self.type} w[{self.plan.size}];\n" if self.plan.size else ""
        counter = "    int i;\n" if any(stage.angles for stage in self.plan.stages) else ""
        unused = "".join(f"    (void){self.names[k]};\n" for k in range(len(self.arrays)) if not self._is_used(k))
        body = workspace + counter + unused + "".join(calls)
        return f"{''.join(pieces)}\nvoid {self.name}({self._parameters(range(len(self.arrays)))})\n{{\n{body}}}\n"

    def _is_used(self, k: int) -> bool:
        return k >= len(self.program.inputs) or any(place.array == k for place in self.plan.source.values())

    def _parameters(self, arrays: Sequence[int]) -> str:
        def typed(k: int) -> str:
            return ("const " if k < len(self.program.inputs) else "") + f"{self.type} *"

        return ", ".join(typed(k) + self.names[k] for k in arrays) or "void"

    def _sines_and_cosines(self, stage: Stage) -> str:
        angle = f"w[{stage.first_angle} + i]"
        return (
            f"    for (i = 0; i < {len(stage.angles)}; i++) {{\n"
            f"        w[{stage.first_sine} + i] = sin{self.suffix}({angle});\n"
            f"        w[{stage.first_cosine} + i] = cos{self.suffix}({angle});\n"
            "    }\n"
        )

    def literal(self, x: float) -> str:
        """x to round-trip precision; a negative one in parentheses."""
        value = self.scalar(x)
        if not math.isfinite(value):
            raise ValueError(f"{self.name}: the constant {x} is not a finite {self.type}")
        text = repr(float(value)) if self.type == "double" else f"{value!s}f"
        return f"({text})" if text.startswith("-") else text


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
            return self.function.literal(self.graph.value[i])
        if i not in self.local:
            self._set(i, self._at(self.plan.source[i]))
        return self.local[i]

    def _expression(self, i: int) -> str:
        op, a = self.graph.op[i], self._value(self.graph.a[i])
        if op in OPERATOR:
            return f"{a} {OPERATOR[op]} {self._value(self.graph.b[i])}"
        suffix = self.function.suffix
        return {NEG: f"-{a}", SQRT: f"sqrt{suffix}({a})", ATAN: f"atan{suffix}({a})"}[op]

    def _store(self, i: int) -> None:
        for place in self.plan.targets.get(i, ()):
            self.lines.append(f"{self._at(place)} = {self._value(i)};")
