"""Python's expressions on values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bough.compile.lower.values import LLVM, Arr, Named, Num, OutsideError, Words, common, is_constant, type_of

if TYPE_CHECKING:
    from bough.compile.lower.function import Translation

SIGNS: dict[type, tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv), ast.FloorDiv: ("//", operator.floordiv), ast.Mod: ("%", operator.mod),
    ast.BitAnd: ("&", operator.and_), ast.BitOr: ("|", operator.or_), ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift), ast.RShift: (">>", operator.rshift),
}  # fmt: skip
COMPARISONS: dict[type, tuple[str, Callable[..., Any]]] = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
}  # fmt: skip


def evaluate(f: Translation, node: ast.expr) -> Any:
    """The value of an expression; instructions for it are appended."""
    meaning = MEANINGS.get(type(node))
    if meaning is None:
        raise OutsideError(f"{type(node).__name__} is outside the subset of kernels")
    return meaning(f, node)


def _attribute(f: Translation, node: ast.Attribute) -> Any:
    x = evaluate(f, node.value)
    if isinstance(x, Words):
        return f.out.member(x, node.attr)
    if isinstance(x, Named):
        return x.members[x.type._fields.index(node.attr)]  # type: ignore[attr-defined]
    if isinstance(x, Arr) and node.attr == "shape":
        return x.extents
    if isinstance(x, ModuleType | type):
        return getattr(x, node.attr)
    raise OutsideError(f"the attribute {node.attr} of {type(x).__name__}")


def _tuple(f: Translation, node: ast.Tuple) -> Any:
    return tuple(_items(f, node.elts))


def _items(f: Translation, nodes: list[ast.expr]) -> list[Any]:
    """The values of expressions, those with a star taken apart."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found += members(evaluate(f, node.value))
        else:
            found.append(evaluate(f, node))
    return found


def members(x: Any) -> tuple[Any, ...]:
    """The members of a tuple."""
    if isinstance(x, Named):
        return x.members
    if isinstance(x, tuple) and not isinstance(x, Num | Arr | Words):
        return tuple(x)
    raise OutsideError("a tuple was expected")


def arithmetic(f: Translation, sign: type, a: Any, b: Any) -> Any:
    """a sign b."""
    if sign is ast.Pow:
        return _power(f, a, b)
    text, fold = SIGNS[sign]
    if is_constant(a) and is_constant(b):
        return fold(a, b)
    if sign is ast.Add and not isinstance(a, Num) and not is_constant(a):
        return (*members(a), *members(b))
    return f.out.binary(text, a, b)


def _power(f: Translation, a: Any, b: Any) -> Any:
    if is_constant(a) and is_constant(b):
        return a**b
    if not (isinstance(b, int) and b >= 1):
        f.out.loop_only("a power whose exponent is no whole constant")
        x, y = f.out.number(a, "f").ref, f.out.number(b, "f").ref
        return Num("f", f.out(f"call double @llvm.pow.f64(double {x}, double {y})"))
    result, square = None, a  # by squares
    while b:
        if b & 1:
            result = square if result is None else f.out.binary("*", result, square)
        b >>= 1
        square = f.out.binary("*", square, square) if b else square
    return result


def _binary(f: Translation, node: ast.BinOp) -> Any:
    return arithmetic(f, type(node.op), evaluate(f, node.left), evaluate(f, node.right))


def _unary(f: Translation, node: ast.UnaryOp) -> Any:
    x = evaluate(f, node.operand)
    if isinstance(node.op, ast.Not):
        return negation(f, x)
    if is_constant(x):
        return -x if isinstance(node.op, ast.USub) else ~x if isinstance(node.op, ast.Invert) else +x
    if isinstance(node.op, ast.Invert):
        return f.out.binary("^", x, -1)
    if isinstance(node.op, ast.UAdd):
        return x
    if x.kind in "fsv":
        return Num(x.kind, f.out(f"fneg contract arcp {LLVM[x.kind]} {x.ref}"))
    return f.out.binary("-", 0, x)


def negation(f: Translation, x: Any) -> Any:
    """not x."""
    x = f.out.truth(x)
    return not x if isinstance(x, bool) else Num("b", f.out(f"xor i1 {x.ref}, true"))


def _compare(f: Translation, node: ast.Compare) -> Any:
    if len(node.ops) != 1:  # a < b < c is a < b and b < c, as nothing in a kernel minds being evaluated twice
        terms = zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
        pairs: list[ast.expr] = [ast.copy_location(ast.Compare(x, [op], [y]), node) for x, op, y in terms]
        return _both_or_either(f, ast.copy_location(ast.BoolOp(ast.And(), pairs), node))
    a, b = evaluate(f, node.left), evaluate(f, node.comparators[0])
    if isinstance(node.ops[0], ast.In | ast.NotIn):
        found: Any = False
        for x in members(b):
            equal = compared(f, ast.Eq, a, x)
            if isinstance(equal, bool) and isinstance(found, bool):
                found = found or equal
            else:
                found = f.out.select(equal, True, found) if not isinstance(equal, bool) else equal or found
        return negation(f, found) if isinstance(node.ops[0], ast.NotIn) else found
    return compared(f, type(node.ops[0]), a, b)


def compared(f: Translation, sign: type, a: Any, b: Any) -> Any:
    """Whether a sign b."""
    if sign not in COMPARISONS:
        raise OutsideError(f"{sign.__name__} is outside the subset of kernels")
    text, fold = COMPARISONS[sign]
    return bool(fold(a, b)) if is_constant(a) and is_constant(b) else f.out.compare(text, a, b)


def _both_or_either(f: Translation, node: ast.BoolOp) -> Any:
    """`and` and `or`: what comes later is evaluated only where it decides."""
    all_of = isinstance(node.op, ast.And)
    waiting = list(node.values)
    first = f.out.truth(evaluate(f, waiting.pop(0)))
    while isinstance(first, bool) and waiting:  # known now
        if first != all_of:
            return first
        first = f.out.truth(evaluate(f, waiting.pop(0)))
    if not waiting:
        return first
    place, end = f.out.place("b"), f.out.fresh("end")
    f.out.keep(place, "b", first)
    for more in waiting:
        on = f.out.fresh("on")
        x = Num("b", f.out(f"load i1, ptr {place[0]}"))
        f.out.branch(x, on if all_of else end, end if all_of else on)
        f.out.block(on)
        f.scope.enter()
        f.out.keep(place, "b", f.out.truth(evaluate(f, more)))
        f.scope.leave()
    f.out.block(end)
    return f.out.kept(place, "b")


def _conditional(f: Translation, node: ast.IfExp) -> Any:
    test = f.out.truth(evaluate(f, node.test))
    if isinstance(test, bool):
        return evaluate(f, node.body if test else node.orelse)
    yes, no, end = (f.out.fresh(stem) for stem in ("yes", "no", "end"))
    f.out.branch(test, yes, no)
    f.out.block(yes)
    a = evaluate(f, node.body)
    # The type of both is known only when both are evaluated: the first waits in a block of its own.
    first = f.out.lines
    f.out.lines, f.out.dead = [], True
    f.out.block(no)
    b = evaluate(f, node.orelse)
    kind = common(type_of(a), type_of(b))
    place = f.out.place(kind)
    f.out.keep(place, kind, b)
    f.out.jump(end)
    second, f.out.lines, f.out.dead = f.out.lines, first, False
    f.out.keep(place, kind, a)
    f.out.jump(end)
    f.out.lines += second
    f.out.block(end)
    return f.out.kept(place, kind)


def _subscript(f: Translation, node: ast.Subscript) -> Any:
    x = evaluate(f, node.value)
    if isinstance(x, Arr):
        return _of_array(f, x, node.slice)
    given = members(x)
    if isinstance(node.slice, ast.Slice):
        ends = [None if e is None else evaluate(f, e) for e in (node.slice.lower, node.slice.upper, node.slice.step)]
        return given[slice(*ends)]
    k = evaluate(f, node.slice)
    if is_constant(k):
        return given[k]
    chosen = given[0]
    for i, other in enumerate(given[1:], 1):
        chosen = f.out.select(f.out.compare("==", k, i), other, chosen)
    return chosen


def _of_array(f: Translation, x: Arr, index: ast.expr) -> Any:
    found, rest = part(f, x, index)
    return f.out.load(found, 0) if not rest else Arr(found.element, found.data, rest)


def part(f: Translation, x: Arr, index: ast.expr) -> tuple[Arr, tuple[Any, ...]]:
    """The part of an array that an index names, as an array from its first element on, and the extents of it."""
    nodes = index.elts if isinstance(index, ast.Tuple) else [index]
    slices = [k for k, node in enumerate(nodes) if isinstance(node, ast.Slice)]
    if len(nodes) > len(x.extents):
        raise OutsideError("more indices than an array has")
    if not slices:
        indices = [evaluate(f, node) for node in nodes]
        return Arr(x.element, f.out.address(x, f.out.flat(x, indices)), ()), x.extents[len(nodes) :]
    first = slices[0]
    if len(slices) > 1 and any(not _whole(node) for node in nodes[first + 1 :]):
        raise OutsideError("several slices")
    if any(k > first and not isinstance(node, ast.Slice) for k, node in enumerate(nodes)):
        raise OutsideError("an index behind a slice")
    indices = [evaluate(f, node) for node in nodes[:first]]
    lower, extent = _ends(f, nodes[first], x.extents[first])
    where = f.out.address(x, f.out.flat(x, [*indices, lower]))
    return Arr(x.element, where, ()), (extent, *x.extents[first + 1 :])


def _whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None


def _ends(f: Translation, node: ast.expr, extent: Any) -> tuple[Any, Any]:
    """The start and length of a slice; kernels never count from the end, nor go beyond it."""
    assert isinstance(node, ast.Slice)
    if node.step is not None:
        raise OutsideError("a slice with a step")
    lower = 0 if node.lower is None else evaluate(f, node.lower)
    upper = extent if node.upper is None else evaluate(f, node.upper)
    if is_constant(upper) and upper < 0:
        raise OutsideError("a slice that counts from the end")
    if is_constant(lower) and lower == 0:
        return 0, upper
    return lower, arithmetic(f, ast.Sub, upper, lower)


def _call(f: Translation, node: ast.Call) -> Any:
    if node.keywords:
        raise OutsideError("arguments by name")
    function = evaluate(f, node.func)
    return f.call(function, _items(f, node.args))


def _name(f: Translation, node: ast.Name) -> Any:
    return f.scope.look_up(node.id)


def _literal(f: Translation, node: ast.Constant) -> Any:
    if isinstance(node.value, float):
        f.out.loop_only("a float literal")
    return node.value


MEANINGS: dict[type, Callable[..., Any]] = {
    ast.Name: _name, ast.Constant: _literal, ast.Attribute: _attribute, ast.Tuple: _tuple, ast.BinOp: _binary,
    ast.UnaryOp: _unary, ast.Compare: _compare, ast.BoolOp: _both_or_either, ast.IfExp: _conditional,
    ast.Subscript: _subscript, ast.Call: _call,
}  # fmt: skip
