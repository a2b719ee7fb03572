"""Kernels keep the rules of their dialect and the subset of Python that docs/kernels.md lists."""

import ast
import re
from importlib import import_module
from pathlib import Path

import bough
from bough.compile.lower import builtins, expressions, statements

SOURCE = Path(bough.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "kernels.md").read_text()
DIALECTS = {"kernel", "loop_kernel"}
PARTS = {  # of other nodes: `lower` treats them where it reads those
    ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd, ast.Invert, ast.Pow, ast.In, ast.NotIn, ast.Slice, ast.Starred,
}  # fmt: skip
SYNTAX = {*statements.MEANINGS, *expressions.MEANINGS, *expressions.SIGNS, *expressions.COMPARISONS, *PARTS}


def marked():
    """(module, function, marks) of all kernels in the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = [p for p in ("bough", *path.relative_to(SOURCE).with_suffix("").parts) if p != "__init__"]
        for f in ast.walk(ast.parse(path.read_text())):
            if isinstance(f, ast.FunctionDef):
                marks = {d.id for d in f.decorator_list if isinstance(d, ast.Name)}
                if marks & {*DIALECTS, "inlined"}:
                    yield ".".join(parts), f, marks


KERNELS = list(marked())
LOOPS = {(module, f.name) for module, f, marks in KERNELS if "loop_kernel" in marks}


def nodes(f):
    for line in f.body:
        yield from ast.walk(line)


def test_every_kernel_has_one_dialect():
    assert len(KERNELS) > 500
    assert [f"{module}.{f.name}" for module, f, marks in KERNELS if len(marks & DIALECTS) != 1] == []


def test_kernels_say_what_they_take_and_give():
    silent = []
    for module, f, _ in KERNELS:
        said = [a.annotation for a in (*f.args.args, *f.args.kwonlyargs)] + [f.returns]
        names = [x is None or "Any" in {n.id for n in ast.walk(x) if isinstance(n, ast.Name)} for x in said]
        silent += [f"{module}.{f.name}"] if any(names) else []
    assert silent == []


def is_loop_only(node, scalars):
    """Whether only a loop kernel may hold this."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id in ("np", "math")
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("abs", "float", "round")
    if isinstance(node, ast.Compare):
        return any(isinstance(x, ast.Name) and x.id in scalars for x in (node.left, *node.comparators))
    return False


def test_straight_line_kernels_hold_no_float_and_branch_on_none():
    """What arrays hold, only the compiler knows: it refuses comparisons of their floats (tests/compile/lower)."""
    broken = []
    for module, f, marks in KERNELS:
        scalars = {a.arg for a in f.args.args if ast.unparse(a.annotation) in ("Scalar", "float")}
        if "kernel" in marks:
            broken += [f"{module}.{f.name}: {ast.unparse(n)}" for n in nodes(f) if is_loop_only(n, scalars)]
    assert broken == []


def test_straight_line_kernels_call_no_loop_kernel():
    broken = []
    for module, f, marks in KERNELS:
        for name in {n.id for n in nodes(f) if isinstance(n, ast.Name)} if "kernel" in marks else ():
            called = getattr(import_module(module), name, None)
            if (getattr(called, "__module__", ""), getattr(called, "__name__", "")) in LOOPS:
                broken.append(f"{module}.{f.name} calls {name}")
    assert broken == []


def test_kernels_stay_inside_the_subset():
    plain = (ast.Load, ast.Store)
    outside = [
        f"{module}.{f.name}: {type(n).__name__}"
        for module, f, _ in KERNELS
        for n in nodes(f)
        if type(n) not in SYNTAX and not isinstance(n, plain)
    ]
    assert outside == []


def test_the_page_lists_the_subset():
    """The subset is frozen: what `lower` reads is what the page says, no more and no less."""
    assert set(re.findall(r"`ast\.(\w+)`", PAGE)) == {node.__name__ for node in SYNTAX}
    section = PAGE.split("## Functions")[1]
    listed = set(re.findall(r"`(\w+)\(\)`", section))
    known = {f.__name__.removeprefix("_") for f in builtins.BUILTINS} | {"range", "sincos"}
    assert listed == known
