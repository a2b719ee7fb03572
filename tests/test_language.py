"""Words of the house that no reader would search for stay out of public names and of the pages for users.

Only words without an honest other use are listed; the field's own word stands beside each.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from tokenize import COMMENT, tokenize

import pytest

import bough

ROOT = Path(__file__).parents[1]
CONTRIBUTORS = ("architecture.md", "kernels.md", "reproduction.md")
PAGES = [
    ROOT / "README.md",
    *sorted(
        p for p in (ROOT / "docs").rglob("*.md") if p.name not in CONTRIBUTORS and not {"_build", "api"} & {*p.parts}
    ),
]
WORDS = {
    r"(?<![Dd]egrees of )(?<!degree of )freedoms?": "degree of freedom, DoF",
    r"cards?": "GPU",
    r"plain (?:aba |rnea )?steps?": "full step",
    r"pictures? a second": "frames per second",
    r"limbs alike|twins?": "identical limbs",
    r"tips? held": "constrained end effectors",
    r"witness(?:es)?": "reference",
    r"survey(?:s|ed)?": "bound evaluation",
    r"blueprints?": "assembly layout",
    r"crew|hired|lend|lent": "thread pool, worker, bind",
    r"mover|chooser": "stepper, active-set selection",
    r"abroad|handed over": "foreign layout, exported",
    r"felt": "unchecked input",
    r"is dear": "weight",
}
NAMES = {"freedom", "freedoms", "card", "cards", "twin", "twins", "witness", "blueprint", "crew", "hired", "mover",
         "chooser", "abroad", "felt", "sought", "lent", "told", "asked", "survey", "gate", "seat"}  # fmt: skip
INSIDE = ("joints", "compile")  # packages for contributors, whose kernels speak for themselves
FORMER = {"Mobility.freedoms"}  # they warn
GENERATED = re.compile(r"<!-- begin .*?<!-- end", re.DOTALL)  # labels of recorded runs
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
CARDS = re.compile(r"::::\{container\} cards?|:::\{container\} cards?|\{container\} cards?|four cards")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_words_of_the_field(page):
    text = CODE.sub("", CARDS.sub("", GENERATED.sub("", page.read_text())))
    found = {match[0]: say for word, say in WORDS.items() for match in re.finditer(rf"\b(?:{word})\b", text)}
    assert found == {}


PHRASES = {
    r"asked for|is asked|was asked": "the quantity's own name",
    r"looked at|looked after": "say what is done",
    r"(?:if|unless) (?:not )?told": "by default",
    r"nobody|somebody": "say who",
    r"wanted|sought": "requirement, reference",
    r"bears": "tolerates, carries",
    r"takes out": "removes",
    r"left out|leaves? (?:it|them|that) out": "omitted, ignored",
    r"strangers?": "untrusted",
    r"what is there|a word to": "say which",
}

REWRITTEN = sorted(set(bough._PACKAGES) - {"arguments", "errors", "types"} | {"app", "bridges"})


@pytest.mark.parametrize("package", REWRITTEN)
def test_docstrings_and_comments_use_the_words_of_the_field(package):
    found = {}
    for path in (ROOT / "src" / "bough" / package).rglob("*.py"):
        with path.open("rb") as file:
            kept = [t for t in tokenize(file.readline) if t.type == COMMENT or t.string.startswith(('"""', 'f"'))]
        for token in kept:
            text = re.sub(r"`[^`]*`|\{[^}]*\}", "", token.string)
            for word, say in (WORDS | PHRASES).items():
                if package == "compile" and "twin" in word:  # nodes of a graph: `graph.twins` says which
                    continue
                for match in re.finditer(rf"\b(?:{word})\b", text):
                    found[f"{path.name}:{token.start[0]} {match[0]}"] = say
    assert found == {}


@pytest.mark.parametrize("package", REWRITTEN)
def test_docstrings_name_what_they_compute(package):
    """In the imperative or as a noun: no question, and no "what it does" for a noun."""
    found = []
    for path in (ROOT / "src" / "bough" / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                first = (ast.get_docstring(node) or "").split("\n")[0]
                if re.match(r"(?:What|Who|Is|Are|Does|May|Can|How many)\b", first) or first.endswith("?"):
                    found.append(f"{path.name}: {first}")
    assert found == []


def public_names():
    """Names at the doors, and those of members and parameters."""
    for package in sorted(set(bough._PACKAGES) - set(INSIDE)):
        door = getattr(bough, package)
        for name in getattr(door, "__all__", ()):
            found = getattr(door, name)
            yield name
            if inspect.isclass(found):
                yield from (f"{name}.{member}" for member in dir(found) if not member.startswith("_"))
            if inspect.isclass(found) or inspect.isfunction(found):
                yield from (f"{name}({parameter})" for parameter in parameters(found))


def parameters(found):
    try:
        return inspect.signature(found).parameters
    except (ValueError, TypeError):
        return ()


def test_public_names_use_the_words_of_the_field():
    wrong = {n for n in public_names() if {w.lower() for w in re.findall(r"[A-Z]?[a-z]+", n.split(".")[-1])} & NAMES}
    assert wrong == FORMER


def sentences(page):
    """Words of each sentence of a page: code is one word, items of lists are sentences, rows of links are none."""
    text = re.sub(r"\]\([^)]*\)", "]", CODE.sub("x", GENERATED.sub("", page.read_text())))
    prose = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "#", ":", "<", "!")))
    found = re.split(r"(?<=[.;?!])\s+(?=[A-Z`x\"])|:\n|\n\n|\n\s*- |\n\d\. ", re.sub(r"\$[^$]*\$", "x", prose))
    return [words for sentence in found if len(words := sentence.split()) > 2 and words[0][0] != "["]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short(page):
    """At most 25 words where users read first, and below that on average everywhere."""
    lengths = [len(words) for words in sentences(page)]
    assert sum(lengths) < 25 * max(len(lengths), 1)
    if not {"theory", "benchmarks"} & {*page.parts}:
        assert [" ".join(words) for words in sentences(page) if len(words) > 25] == []
