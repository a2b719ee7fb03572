"""Turns of a loop that were written out are a loop again, wherever nothing tells them apart."""

from typing import NamedTuple

import numpy as np
import pytest

from bough import zoo
from bough.compile.emit import cuda, limits
from bough.compile.graph.expr import ADD
from bough.compile.graph.rolling import Loop, roll
from bough.compile.kernel import kernel
from bough.compile.routine import Routine, interpret, trace
from bough.compile.scalar import positive, turn
from bough.dynamics import Dynamics
from bough.simulate import Contacts
from bough.simulate.constrained_stepper import ConstrainedStepper
from compile.emit.test_cuda import run
from stand_in import LIMITS

N = 12


class Count(NamedTuple):
    turns: object


@kernel
def sweeps(c, A, b, x, last, w):
    """Gauss-Seidel sweeps of a system of complementarity, and how far the last one moved each number."""
    for r in range(len(b)):
        x[r] = b[r] / A[r, r]
    for _ in range(c.turns[0]):
        turn(b[0])
        for r in range(len(b)):
            w.before[r] = x[r]
            y = b[r]
            for k in range(len(b)):
                if k != r:
                    y = y - A[r, k] * x[k]
            x[r] = positive(y / A[r, r])
    turn(b[0])
    for r in range(len(b)):
        last[r] = x[r] - w.before[r]


SWEEPS = Routine("sweeps", sweeps, {"A": "n n", "b": "n"}, {"x": "n", "last": "n"}, {"before": "n"})
SIZES = {"n": N}


def program_of(turns):
    return trace(SWEEPS, (Count(np.array([turns])),), SIZES)


def rolled(program, lanes=1):
    arranged = cuda.arrangements(lambda: program)(lanes)
    items = roll(arranged.program.graph, arranged.order, arranged.program.flat_roots())
    return arranged, items, [x for x in items if isinstance(x, Loop)]


@pytest.mark.parametrize("turns", [3, 7])
def test_turns_are_found(turns):
    arranged, items, (loop,) = rolled(program_of(turns))
    assert loop.turns in (turns - 1, turns)  # the first one may share operations with what was before
    assert len(loop.kept) >= N  # the solution, and what it was before
    assert len(loop.former) >= N - 1
    units = [unit for x in items for unit in (x.units if isinstance(x, Loop) else [x])]
    assert units == [*arranged.order]


def test_what_reads_an_earlier_turn_is_no_loop():
    program = program_of(5)
    graph, roots = program.graph, program.flat_roots()
    order = [(i,) for i in graph.live(roots) if graph.op[i] >= ADD]
    loop = next(x for x in roll(graph, order, roots) if isinstance(x, Loop))
    early = loop.units[loop.period + 3][0]
    left = [x.turns for x in roll(graph, order, [*roots, early]) if isinstance(x, Loop)]
    assert all(turns < loop.turns for turns in left)


@pytest.mark.native("writes CUDA text and compiles it as C++")
@pytest.mark.parametrize("resident", [0, 4])
@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("turns", [1, 2, 6])
def test_a_loop_computes_what_its_turns_do(turns, staged, resident, monkeypatch):
    if resident:
        monkeypatch.setattr(limits, "AT_WORK", {8: 235})  # twenty registers: nearly everything spills
    rng = np.random.default_rng(turns)
    A = rng.normal(size=(5, N, N))
    inputs = [A @ A.transpose(0, 2, 1) + 3 * N * np.eye(N), rng.normal(size=(5, N))]
    program = program_of(turns)
    form = cuda.Form(1, staged=staged, resident=resident)
    source = cuda.emit(cuda.arrangements(lambda: program)(1), np.float64, form, LIMITS["H200"])
    assert ("    REPEAT(" in source.text) == (turns > 2)
    assert ("= RELOAD(" in source.text) == bool(resident)
    outputs, bad = run(source, inputs, [(N,), (N,)])
    assert not bad.any()
    for row in range(5):
        expected = interpret(SWEEPS, (Count(np.array([turns])),), SIZES, *(x[row] for x in inputs))
        np.testing.assert_allclose(outputs[0][row], expected[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(outputs[1][row], expected[1], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("lanes", [1, 4])
def test_sweeps_of_contacts_are_loops(lanes):
    feet = Contacts(["lf_foot", "rf_foot", "lh_foot", "rh_foot"], sweeps=6)
    stepper = ConstrainedStepper(Dynamics(zoo.quadruped()), feet, (), strict=False, servo=True)
    arranged, items, loops = rolled(stepper.on_gpu("float32")[0].launches.program(), lanes)
    assert max(loop.turns for loop in loops) >= 4
    assert sum(loop.period if isinstance(loop, Loop) else 1 for loop in items) < 0.85 * len(arranged.order)
