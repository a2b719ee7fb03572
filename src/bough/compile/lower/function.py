"""One kernel for arguments of certain types, as a function of LLVM."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

from bough.compile.kernel import is_straight_line
from bough.compile.lower import vectors
from bough.compile.lower.builtins import BUILTINS
from bough.compile.lower.scope import BeginAgainError, Hints, Scope
from bough.compile.lower.source import MissingTextError, bindings, definition
from bough.compile.lower.statements import run
from bough.compile.lower.values import DialectError, Fixed, Named, OutsideError, made, parts, refs, type_of
from bough.compile.lower.writer import Writer
from bough.errors import KernelError

if TYPE_CHECKING:
    from bough.compile.lower.module import Module


FUNCTIONS: dict[Any, Callable[..., Any]] = BUILTINS | vectors.MEANINGS


@dataclass
class Translation:
    """The state of the translation of a function; a call of another one is translated first."""

    module: Module
    out: Writer
    scope: Scope
    loops: list[tuple[str, str]] = field(default_factory=list)  # labels: on with the next, out of it

    def call(self, function: Any, arguments: list[Any]) -> Any:
        """The result of a call."""
        meaning = FUNCTIONS.get(function)
        if meaning is not None:
            return meaning(self.out, *arguments)
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            return Named(function, tuple(arguments))
        if not isinstance(function, FunctionType):
            raise OutsideError(f"a call of {function!r}")
        if not is_straight_line(function):
            self.out.loop_only(f"a call of {function.__name__}, which is no @kernel,")
        return called(self.module, self.out, function, arguments)


@dataclass(frozen=True)
class Translated:
    """The name of a function in LLVM, and the type of its result; None without one."""

    name: str
    result: Any


def called(module: Module, out: Writer, function: Callable[..., Any], arguments: list[Any]) -> Any:
    """Append a call of a kernel."""
    kinds = tuple(type_of(a) for a in arguments)
    found = module.translated(function, kinds)
    given = ", ".join(f"{p} {r}" for k, a in zip(kinds, arguments, strict=True) for p, r in _pairs(k, a))
    if found.result is None:
        out.do(f"call void @{found.name}({given})")
        return None
    members = parts(found.result)
    if len(members) == 1:
        return made(found.result, iter([out(f"call {members[0]} @{found.name}({given})")]))
    whole = f"{{ {', '.join(members)} }}"
    x = out(f"call {whole} @{found.name}({given})")
    return made(found.result, iter([out(f"extractvalue {whole} {x}, {k}") for k in range(len(members))]))


def _pairs(kind: Any, x: Any) -> list[tuple[str, str]]:
    return [] if isinstance(kind, Fixed) else list(zip(parts(kind), refs(x), strict=True))


def translate(
    module: Module, function: Callable[..., Any], kinds: tuple[Any, ...], name: str
) -> tuple[Translated, str]:
    """A kernel for arguments of these types, and its text."""
    hints = Hints()
    while True:
        out = Writer(is_straight_line(function))
        try:
            node = definition(function)
            return _attempt(module, Scope(function, out, bindings(node), hints), kinds, name, node)
        except BeginAgainError:
            continue
        except DialectError as error:
            place = f"{function.__module__}.{function.__qualname__}, line {out.line}"
            raise KernelError(f"{place} of its file: {error}") from None
        except MissingTextError as error:
            raise KernelError(f"{function.__module__}.{function.__qualname__} {error}") from None
        except (OutsideError, AttributeError, IndexError, ValueError, ZeroDivisionError) as error:
            place = f"{function.__module__}.{function.__qualname__}, line {out.line}"
            raise KernelError(f"{place} of its file: {error}, which cannot be compiled") from None


def _attempt(
    module: Module, scope: Scope, kinds: tuple[Any, ...], name: str, node: ast.FunctionDef
) -> tuple[Translated, str]:
    function, out = scope.function, scope.out
    arguments = _bind_arguments(scope, node.args, kinds, function.__defaults__ or ())
    run(Translation(module, out, scope), node.body)
    out.block("exit")
    result = scope.kept("")
    if result is None:
        whole = "void"
        out.do("ret void")
    else:
        whole = _give_back(out, result)
    attributes = "alwaysinline nounwind" if module.is_inlined(function) else "nounwind"
    head = f"define internal {whole} @{name}({', '.join(arguments)}) {attributes} {{"
    text = "\n".join([head, "start:", *out.head, " br label %first", "first:", *out.lines, "}"])
    return Translated(name, None if result is None else type_of(result)), text


def _bind_arguments(scope: Scope, names: Any, kinds: tuple[Any, ...], defaults: tuple[Any, ...]) -> list[str]:
    """Let the function's names stand for its arguments; returns these as LLVM writes them."""
    arguments, values = [], []
    for kind in kinds:
        given = [f"%{scope.out.fresh('a')}" for _ in parts(kind)]
        arguments += [f"{p} {g}" for p, g in zip(parts(kind), given, strict=True)]
        values.append(made(kind, iter(given)))
    plain = [a.arg for a in (*names.posonlyargs, *names.args)]
    if len(values) < len(plain):
        values += defaults[len(defaults) - (len(plain) - len(values)) :]
    if names.vararg is not None:
        values[len(plain) :] = [tuple(values[len(plain) :])]
        plain.append(names.vararg.arg)
    if len(plain) != len(values) or names.kwonlyargs or names.kwarg:
        raise OutsideError(f"{scope.function.__name__} takes other arguments than {len(values)}")
    for name, value in zip(plain, values, strict=True):
        scope.bind(name, value)
    return arguments


def _give_back(out: Writer, result: Any) -> str:
    """Return a value; returns the LLVM type of it."""
    members, values = parts(type_of(result)), refs(result)
    if len(members) == 1:
        out.do(f"ret {members[0]} {values[0]}")
        return members[0]
    whole, x = f"{{ {', '.join(members)} }}", "undef"
    for k, (p, r) in enumerate(zip(members, values, strict=True)):
        x = out(f"insertvalue {whole} {x}, {p} {r}, {k}")
    out.do(f"ret {whole} {x}")
    return whole
