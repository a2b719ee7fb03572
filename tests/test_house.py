"""Kernels have signatures that say what they take and return."""

import ast
from pathlib import Path

import bough

SOURCE = Path(bough.__file__).parent


def files():
    return {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def kernels():
    for name, text in files().items():
        for f in ast.walk(ast.parse(text)):
            if isinstance(f, ast.FunctionDef):
                marks = {d.id for d in f.decorator_list if isinstance(d, ast.Name)}
                if marks & {"kernel", "inlined"}:
                    yield f"{name} {f.name}", f


def test_kernels_say_what_they_take_and_give():
    found = dict(kernels())
    assert len(found) > 500
    silent = []
    for name, f in found.items():
        said = [a.annotation for a in (*f.args.args, *f.args.kwonlyargs)] + [f.returns]
        silent += [name for x in said if x is None or "Any" in {n.id for n in ast.walk(x) if isinstance(n, ast.Name)}]
    assert silent == []
