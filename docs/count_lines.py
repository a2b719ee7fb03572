"""Count lines of code beside those before the rooms, and write what is found into architecture.md.

`python docs/count_lines.py` writes the page; with a revision it first notes the functions there were in that one
(`tests/data/lines_before.json` was made with the parent of the commit that made the rooms).
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tarfile
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, BEFORE = ROOT / "docs" / "architecture.md", ROOT / "tests" / "data" / "lines_before.json"
BEGIN, END = "<!-- lines begin -->\n", "<!-- lines end -->"
SKIPPED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
Documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
Counts = dict[str, list[int]]


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """Lines that are no comment, docstring or blank."""
    found: set[int] = set()
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type not in SKIPPED:
            found |= set(range(t.start[0], t.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            found -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return found


def functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods by name; whether one is private does not matter."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name.strip("_"), node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{node.name}.")


def count(texts: Iterator[str]) -> tuple[int, Counts]:
    """All lines of code, and those of each function."""
    total, found = 0, {}
    for text in texts:
        tree = ast.parse(text)
        lines = code_lines(text, tree)
        total += len(lines)
        for name, node in functions(tree.body):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.setdefault(name, []).append(len(lines & set(range(first, node.end_lineno + 1))))
    return total, found


def now() -> tuple[int, Counts]:
    """Of the sources as they are."""
    return count(path.read_text() for path in sorted((ROOT / "src" / "bough").rglob("*.py")))


def at(revision: str) -> tuple[int, Counts]:
    """Of those of a revision."""
    packed = subprocess.run(["git", "archive", revision, "src/bough"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        names = [m for m in files.getmembers() if m.name.endswith(".py")]
        return count(files.extractfile(m).read().decode() for m in names)


def compared() -> dict[str, int]:
    """What there was before the rooms beside what there is: functions whose names are unique, then and now."""
    before = json.loads(BEFORE.read_text())
    then, (total, found) = before["functions"], now()
    kept = [k for k, x in then.items() if len(x) == 1 and len(found.get(k, ())) == 1]
    gone = [k for k in then if k not in found]
    return {
        "functions_then": sum(map(len, then.values())), "then": before["total"],
        "functions_now": sum(map(len, found.values())), "now": total,
        "kept": len(kept), "kept_then": sum(then[k][0] for k in kept), "kept_now": sum(found[k][0] for k in kept),
        "gone": len(gone), "gone_then": sum(sum(then[k]) for k in gone),
    }  # fmt: skip


def sentence(c: dict[str, int]) -> str:
    return (
        f"Before the rooms there were {c['functions_then']:,} functions and {c['then']:,} lines of code (without\n"
        f"docstrings, comments and blank lines). {c['kept']:,} functions have a name that was unique then and is now:\n"
        f"{c['kept_then']:,} lines then, {c['kept_now']:,} now, with the options and refusals that they have learned.\n"
        "What kept its name takes fewer lines than before, and a test holds that.\n"
        f"{c['gone']:,} names are gone, with {c['gone_then']:,} lines then: dropped, merged or renamed. The whole is\n"
        f"longer by what is new: {c['functions_now']:,} functions and {c['now']:,} lines. Counted by\n"
        "`docs/count_lines.py`.\n"
    )


def main() -> None:
    if len(sys.argv) > 1:
        total, found = at(sys.argv[1])
        BEFORE.write_text(json.dumps({"total": total, "functions": found}, sort_keys=True) + "\n")
    text = PAGE.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:start] + sentence(compared()) + text[end:])


if __name__ == "__main__":
    main()
