"""Tests mirror the source: an algorithm is in a file, and its test is found by that file's name."""

from pathlib import Path

import bough

SOURCE, TESTS = Path(bough.__file__).parent, Path(__file__).parent

# Kernels that other files' tests cover; to be brought down, never up.
ELSEWHERE = {
    "adaptive": "tests of whole linkages: exact, bounds, rigid, steps, dynamics",
}


def kernels():
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "\n@kernel\n" in text or "\n@inlined\n" in text:
            yield path.relative_to(SOURCE)


def test_every_algorithm_has_a_test_of_its_name():
    missing = [
        f.as_posix() for f in kernels()
        if not (TESTS / f.parent / f"test_{f.name}").exists()
        and f.as_posix() not in ELSEWHERE and f.parts[0] not in ELSEWHERE
    ]  # fmt: skip
    assert missing == []


def test_nothing_is_excused_that_has_its_test():
    known = {f.as_posix() for f in kernels()}
    for name in ELSEWHERE:
        path = Path(name)
        assert path.suffix == "" or not (TESTS / path.parent / f"test_{path.name}").exists(), name
        assert path.suffix == "" or name in known, name
