"""Tests mirror the source: an algorithm is in a file, and its test is found by that file's name."""

from pathlib import Path

import bough

SOURCE, TESTS = Path(bough.__file__).parent, Path(__file__).parent


def kernels():
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "\n@kernel\n" in text or "\n@inlined\n" in text:
            yield path.relative_to(SOURCE)


def test_every_algorithm_has_a_test_of_its_name():
    found = list(kernels())
    assert len(found) > 100
    assert [f.as_posix() for f in found if not (TESTS / f.parent / f"test_{f.name}").exists()] == []
