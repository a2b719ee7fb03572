"""Python's statements on values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bough.compile.lower.expressions import arithmetic, evaluate, members, part
from bough.compile.lower.values import Arr, Num, OutsideError, is_constant
from bough.compile.lower.writer import count

if TYPE_CHECKING:
    from bough.compile.lower.function import Translation


def run(f: Translation, suite: list[ast.stmt]) -> None:
    """Append the instructions of statements, as far as any of them can be reached."""
    for node in suite:
        if f.out.dead:
            return
        f.out.line = node.lineno
        meaning = MEANINGS.get(type(node))
        if meaning is None:
            raise OutsideError(f"{type(node).__name__} is outside the subset of kernels")
        meaning(f, node)


def _inside(f: Translation, suite: list[ast.stmt]) -> None:
    """Statements that may not be run, or more than once."""
    f.scope.enter()
    run(f, suite)
    f.scope.leave()


def _expression(f: Translation, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        evaluate(f, node.value)


def _assign(f: Translation, node: ast.Assign) -> None:
    x = evaluate(f, node.value)
    for target in node.targets:
        put(f, target, x)


def _assign_annotated(f: Translation, node: ast.AnnAssign) -> None:
    if node.value is not None:
        put(f, node.target, evaluate(f, node.value))


def put(f: Translation, target: ast.expr, x: Any) -> None:
    """Bind a name, or several, or overwrite what an index names."""
    if isinstance(target, ast.Name):
        f.scope.bind(target.id, x)
    elif isinstance(target, ast.Tuple):
        for each, value in zip(target.elts, members(x), strict=True):
            put(f, each, value)
    elif isinstance(target, ast.Subscript):
        array = evaluate(f, target.value)
        if not isinstance(array, Arr):
            raise OutsideError("an index into what is no array")
        where, rest = part(f, array, target.slice)
        if rest:
            _fill(f, Arr(where.element, where.data, rest), x)
        else:
            f.out.store(where, 0, x)
    else:
        raise OutsideError(f"an assignment to {type(target).__name__}")


def _fill(f: Translation, array: Arr, x: Any) -> None:
    """A number, or the elements of an array of the same size, into all elements of an array."""
    total = array.extents[0]
    for extent in array.extents[1:]:
        total = f.out.product(total, extent)
    if isinstance(x, Arr) and len(x.extents) != len(array.extents):
        raise OutsideError("an array into one of another shape")

    def one(k: Any) -> None:
        f.out.store(array, k, f.out.load(x, k) if isinstance(x, Arr) else x)

    count(f.out, (0, total, 1), one)


def _augment(f: Translation, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Name):
        old = f.scope.look_up(node.target.id)
        f.scope.bind(node.target.id, arithmetic(f, type(node.op), old, evaluate(f, node.value)))
        return
    if not isinstance(node.target, ast.Subscript):
        raise OutsideError(f"a change of {type(node.target).__name__}")
    array = evaluate(f, node.target.value)
    where, rest = part(f, array, node.target.slice)
    if rest:
        raise OutsideError("a change of several elements")
    f.out.store(where, 0, arithmetic(f, type(node.op), f.out.load(where, 0), evaluate(f, node.value)))


def _if(f: Translation, node: ast.If) -> None:
    test = f.out.truth(evaluate(f, node.test))
    if isinstance(test, bool):
        run(f, node.body if test else node.orelse)  # the other one is never run: it does not count as a suite
        return
    yes, no, end = (f.out.fresh(stem) for stem in ("yes", "no", "end"))
    f.out.branch(test, yes, no if node.orelse else end)
    f.out.block(yes)
    _inside(f, node.body)
    f.out.jump(end)
    if node.orelse:
        f.out.block(no)
        _inside(f, node.orelse)
        f.out.jump(end)
    f.out.block(end)


def _while(f: Translation, node: ast.While) -> None:
    if node.orelse:
        raise OutsideError("else behind a loop")
    head, inside, end = (f.out.fresh(stem) for stem in ("head", "loop", "end"))
    f.out.block(head)
    f.scope.enter()
    test = f.out.truth(evaluate(f, node.test))
    f.out.branch(test if isinstance(test, Num) else Num("b", "true" if test else "false"), inside, end)
    f.out.block(inside)
    f.loops.append((head, end))
    run(f, node.body)
    f.loops.pop()
    f.out.jump(head)
    f.scope.leave()
    f.out.block(end)


def _for(f: Translation, node: ast.For) -> None:
    if node.orelse:
        raise OutsideError("else behind a loop")
    call = node.iter
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and f.scope.look_up(call.func.id) is range:
        _for_range(f, node, [evaluate(f, a) for a in call.args])
        return
    end = f.out.fresh("end")
    for x in members(evaluate(f, node.iter)):  # one copy for each
        on = f.out.fresh("next")
        f.loops.append((on, end))
        f.scope.enter()
        put(f, node.target, x)
        run(f, node.body)
        f.scope.leave()
        f.loops.pop()
        f.out.block(on)
    f.out.block(end)


def _for_range(f: Translation, node: ast.For, ends: list[Any]) -> None:
    start, stop = (0, ends[0]) if len(ends) == 1 else ends[:2]
    step = ends[2] if len(ends) == 3 else 1
    if not (is_constant(step) and step != 0):
        raise OutsideError("a range whose step is not a constant")

    def each(k: Num) -> None:
        f.scope.enter()
        put(f, node.target, k)
        run(f, node.body)
        f.scope.leave()

    count(f.out, (start, stop, step), each, f.loops)


def _break(f: Translation, node: ast.Break) -> None:
    f.out.jump(f.loops[-1][1])


def _continue(f: Translation, node: ast.Continue) -> None:
    f.out.jump(f.loops[-1][0])


def _return(f: Translation, node: ast.Return) -> None:
    if node.value is not None:
        f.scope.keep("", evaluate(f, node.value))
    f.out.jump("exit")


def _pass(f: Translation, node: ast.Pass) -> None:
    pass


MEANINGS: dict[type, Callable[..., None]] = {
    ast.Expr: _expression, ast.Assign: _assign, ast.AnnAssign: _assign_annotated, ast.AugAssign: _augment,
    ast.If: _if, ast.While: _while, ast.For: _for, ast.Break: _break, ast.Continue: _continue,
    ast.Return: _return, ast.Pass: _pass,
}  # fmt: skip
