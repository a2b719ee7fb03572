"""The house keeps its measure: files that are read in one go, and kernels whose signatures say what they take."""

import ast
import importlib.util
import re
from pathlib import Path

import bough

SOURCE = Path(bough.__file__).parent
LONGEST = 300  # lines of a file


def files():
    return {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def kernels():
    for name, text in files().items():
        for f in ast.walk(ast.parse(text)):
            if isinstance(f, ast.FunctionDef):
                marks = {d.id for d in f.decorator_list if isinstance(d, ast.Name)}
                if marks & {"kernel", "inlined"}:
                    yield f"{name} {f.name}", f


def test_no_file_is_longer_than_one_idea():
    long = {name: text.count("\n") for name, text in files().items() if text.count("\n") > LONGEST}
    assert long == {}


def test_kernels_say_what_they_take_and_give():
    found = dict(kernels())
    assert len(found) > 500
    silent = []
    for name, f in found.items():
        said = [a.annotation for a in (*f.args.args, *f.args.kwonlyargs)] + [f.returns]
        silent += [name for x in said if x is None or "Any" in {n.id for n in ast.walk(x) if isinstance(n, ast.Name)}]
    assert silent == []


def test_the_page_says_how_much_there_is():
    """Within a tenth: it is written anew now and then. Functions from before the rooms are shorter now."""
    root = Path(__file__).parents[1]
    spec = importlib.util.spec_from_file_location("count_lines", root / "docs" / "count_lines.py")
    counting = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(counting)
    found, page = counting.compared(), (root / "docs" / "architecture.md").read_text()
    said = page[page.index(counting.BEGIN) : page.index(counting.END)]

    def numbers(text):
        return [int(x.replace(",", "")) for x in re.findall(r"\d[\d,]*", text)]

    for a, b in zip(numbers(said), numbers(counting.sentence(found)), strict=True):
        assert abs(a - b) <= 0.1 * b + 2
    assert found["kept"] > 900  # not by renaming
    assert found["kept_now"] < found["kept_then"]
