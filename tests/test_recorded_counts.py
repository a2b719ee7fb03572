"""Operation counts of every function on robots of the zoo stay what they were: none changes without a word.

A change that is meant is recorded by `python tests/test_recorded_counts.py`, and shows in the diff.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bough
from bough import zoo

RECORD = Path(__file__).parent / "data" / "counts.json"
ROBOTS = {
    "tree1": zoo.tree1,
    "humanoid": zoo.humanoid,
    "floating_chain": zoo.floating_chain,
    "asimo": zoo.asimo,
    "arm7": lambda: zoo.arm(7),
    "chain12": lambda: zoo.chain(12),
    "binary4": lambda: zoo.binary(4),
    "side_branches5": lambda: zoo.side_branches(5),
    "grid4": lambda: zoo.grid(4),
    "star8": lambda: zoo.star(8),
    "random20": lambda: zoo.random_tree(20, seed=1),
}
OF_FRAMES = {"jacobian": {"reference": "local"}, "placement": {}, "velocity": {"reference": "local"}}


def counted(model, name):
    """The count of "function", "function:method" or "Lambda_inv:method", as text."""
    function, _, method = name.partition(":")
    last = model.frame_names[-1]
    if function == "Lambda_inv":
        tasks = [bough.position(last), bough.pose(model.frame_names[1])]
        return str(bough.count(model, "inverse_inertia", method=method, tasks=tasks))
    options = OF_FRAMES[function] | {"frame": last} if function in OF_FRAMES else {}
    return str(bough.count(model, function, method=method or None, **options))


@pytest.mark.parametrize("robot", ROBOTS)
def test_counts_are_those_recorded(robot):
    model = ROBOTS[robot]()
    recorded = json.loads(RECORD.read_text())[robot]
    assert len(recorded) >= 23
    assert {name: counted(model, name) for name in recorded} == recorded


def test_every_robot_is_recorded():
    assert set(json.loads(RECORD.read_text())) == set(ROBOTS)


if __name__ == "__main__":
    names = {robot: list(recorded) for robot, recorded in json.loads(RECORD.read_text()).items()}
    found = {robot: {name: counted(make(), name) for name in names[robot]} for robot, make in ROBOTS.items()}
    RECORD.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
