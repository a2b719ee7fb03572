"""The text of a kernel as a syntax tree: the one that the function at hand was made from."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import CodeType
from typing import Any

from bough.compile.kernel import text_of

REMEDY = "define kernels in a file, or by bough.compile.kernel.from_text"


class MissingTextError(Exception):
    """The text of a kernel is not there."""


def definition(function: Callable[..., Any]) -> ast.FunctionDef:
    """The definition of a function in its file, if that has not changed since it was imported."""
    code: CodeType = function.__code__
    text = text_of(code)
    if text is not None:
        own = ast.parse(text).body[0]
        assert isinstance(own, ast.FunctionDef)
        return own
    lines = linecache.getlines(code.co_filename, function.__globals__)
    node, made = _definitions(code.co_filename, "".join(lines)).get((code.co_name, code.co_firstlineno), (None, None))
    if node is None or made is None:
        raise MissingTextError(f"has no text in {code.co_filename!r}, which compiling needs; {REMEDY}")
    if _meaning(made) != _meaning(code):
        raise MissingTextError(f"has another text in {code.co_filename!r} than when it was imported; begin anew")
    return node


def _meaning(code: CodeType) -> tuple[object, ...]:
    """A key of a function's code: instructions, and the constants and names that they refer to by number."""
    constants = tuple(_meaning(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars


@cache
def _definitions(filename: str, text: str) -> dict[tuple[str, int], tuple[ast.FunctionDef, CodeType | None]]:
    """All functions of a file and what Python makes of them, by name and first line, where decorators begin."""
    tree = ast.parse(text)
    codes = {(c.co_name, c.co_firstlineno): c for c in _codes(compile(tree, filename, "exec", dont_inherit=True))}
    nodes = [node for node in statements(tree.body) if isinstance(node, ast.FunctionDef)]
    keys = [(n.name, min([n.lineno, *(d.lineno for d in n.decorator_list)])) for n in nodes]
    return {key: (node, codes.get(key)) for key, node in zip(keys, nodes, strict=True)}


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def bindings(node: ast.FunctionDef) -> dict[str, int]:
    """The number of assignments of each name in a function."""
    found: dict[str, int] = {}
    arguments = [*node.args.posonlyargs, *node.args.args, *([node.args.vararg] if node.args.vararg else [])]
    names = [a.arg for a in arguments]
    for statement in statements(node.body):
        if isinstance(statement, ast.Assign):
            names += (name for target in statement.targets for name in _names(target))
        elif isinstance(statement, ast.AnnAssign | ast.For):
            names += _names(statement.target)
        elif isinstance(statement, ast.AugAssign):  # which also reads it
            names += 2 * _names(statement.target)
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


def _names(target: ast.expr) -> list[str]:
    """The variables that an assignment to a target sets."""
    if isinstance(target, ast.Tuple):
        return [name for part in target.elts for name in _names(part)]
    if isinstance(target, ast.Starred):
        return _names(target.value)
    return [target.id] if isinstance(target, ast.Name) else []


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements and those inside them; a walk through all expressions would take ten times as long."""
    for statement in body:
        yield statement
        for part in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, part, ()))
