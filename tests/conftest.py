"""Settings that all tests share."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Compiling on first use would break any deadline; examples are the same in every run.
settings.register_profile("bough", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("bough")

# Left out of the run without the JIT: the first are about compiled code, or what other libraries make of graphs; the
# others simulate, search or count for so long that plain Python takes hours. What they have that is quick is marked
# `interpreted`, or lies in files named below, and runs.
COMPILED = (
    "compile/run", "compile/emit", "bridges", "app", "reproduce", "adaptive", "control", "simulate",
    "test_box_to_floor", "test_stand", "test_two_hands", "test_threads_everywhere",
)  # fmt: skip
QUICK = (
    "adaptive/assembly", "adaptive/node", "adaptive/engines/test_newton", "adaptive/engines/test_side_by_side",
    "adaptive/motion/test_active", "adaptive/motion/test_choose",
)  # fmt: skip
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is left out of the run without the JIT."""
    for item in items:
        place = item.path.relative_to(HERE).as_posix() if item.path.is_relative_to(HERE) else ""
        quick = place.startswith(QUICK) or item.get_closest_marker("interpreted")
        if place.startswith(COMPILED) and not quick:
            item.add_marker("compiled")
