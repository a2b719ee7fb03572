"""Spilling to shared memory: results stay equal, and no more values are live than registers allow."""

import re

import pytest

from bough.compile.emit.spilling import SharedSpills, defined_by, peak

LINES = [
    *(f"const Real t{k} = LOAD(x0, {k});" for k in range(60)),
    "Real t60s, t60c; turn(t0, &t60s, &t60c);",
    *(f"const Real t{61 + k} = t{k} * t60s;" for k in range(60)),
    *(f"STORE(y0, {k}, 1, t{61 + k});" for k in range(60)),
    "STORE(y0, 60, 1, t60c);",
]


def held(lines):
    """Play the lines: where each name is, by what it holds, and how many values wait at once."""
    value, memory, last = {}, {}, {}
    for k, line in enumerate(lines):
        for name in re.findall(r"\bt\d+[sc]?(?:_\d+)?\b", line):
            last[name] = k
    results, most = {}, 0
    for k, line in enumerate(lines):
        if found := re.match(r"SPILL\((\d+), (\S+)\);", line):
            memory[found[1]] = value[found[2]]
        elif found := re.match(r"const Real (\S+) = RELOAD\((\d+)\);", line):
            value[found[1]] = memory[found[2]]
        elif found := re.match(r"const Real (\S+) = LOAD\(x0, (\d+)\);", line):
            value[found[1]] = int(found[2])
        elif found := re.match(r"const Real (\S+) = (\S+) \* (\S+);", line):
            value[found[1]] = (value[found[2]], value[found[3]])
        elif found := re.match(r"Real (\S+), (\S+); turn\((\S+), .*", line):
            value[found[1]], value[found[2]] = ("sin", value[found[3]]), ("cos", value[found[3]])
        elif found := re.match(r"STORE\(y0, (\d+), 1, (\S+)\);", line):
            results[int(found[1])] = value[found[2]]
        value = {name: x for name, x in value.items() if last[name] > k}
        most = max(most, len(value))
    return results, most


@pytest.mark.parametrize(("registers", "slots"), [(30, 200), (30, 10), (1000, 10)])
def test_results_are_the_same(registers, slots):
    wanted, before = held(LINES)
    spills = SharedSpills(LINES, registers, slots)
    got, after = held(spills.lines)
    assert got == wanted
    assert peak(LINES) == before + 1  # one more while a line is computed
    assert after <= before
    assert spills.slots <= slots
    if registers < before and slots == 200:
        assert after <= registers + 2
    if registers > before:
        assert spills.lines == LINES


def test_names_that_are_made():
    assert defined_by("const Real t3 = t1 + t2;") == ["t3"]
    assert defined_by("Real t5s, t5c; turn(t1, &t5s, &t5c);") == ["t5s", "t5c"]
    assert defined_by("STORE(y0, 3, 1, t5s);") == []
