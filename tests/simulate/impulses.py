"""The solver of rows by itself, on random problems."""

from __future__ import annotations

import numpy as np

from bough.compile.executions import bind_arrays
from bough.compile.kernel import loop_kernel
from bough.compile.routine import Routine, interpret
from bough.simulate.cone import STICKING_WORK, SWEEP_WORK, laws, solve_sticking, start_sweeps
from bough.simulate.newton import NEWTON_WORK, solve_impulses


@loop_kernel
def solve(k, A, b, friction, start, lam, change, w):
    """lam and how far the last sweep moved a velocity."""
    for r in range(len(lam)):
        w.start[r] = start[r]
    small = k.tolerance[0] * start_sweeps(k, A, b, start, lam, w)
    change[0] = solve_impulses(k, A, b, friction, lam, small, w)


def stick(k, A, b, friction, start, lam, change, w):
    """lam and what it leaves; above one where a law breaks."""
    change[0] = solve_sticking(k, A, b, friction, start, lam, k.zero[0], w)


INPUTS = {"A": "rows rows", "b": "rows", "friction": "laws", "start": "rows"}
OUTPUTS = {"lam": "solved", "change": "1"}
WORK = SWEEP_WORK | STICKING_WORK | NEWTON_WORK | {"start": "solved", "L": "rows rows", "U": "rows", "pivot": "rows"}
SOLVE, STICK = Routine("solve", solve, INPUTS, OUTPUTS, WORK), Routine("stick", stick, INPUTS, OUTPUTS, WORK)


def solved(joints, contacts, *given, sweeps=None, plain=False):
    """lam and change of A, b, friction and start, or batches of them."""
    sizes, constants = sizes_of(joints, contacts), (laws(joints, contacts, sweeps),)
    if plain:
        return interpret(SOLVE, constants, sizes, *given)
    return bind_arrays(SOLVE, constants, sizes, general=True).call(*given)


def stuck(joints, contacts, *given):
    """The same by one factor."""
    return interpret(STICK, (laws(joints, contacts, None),), sizes_of(joints, contacts), *given)


def sizes_of(joints, contacts):
    rows = joints + 3 * contacts
    return {"rows": rows, "solved": rows, "columns": rows + 1, "laws": joints + contacts}


def check(joints, A, b, friction, lam, tolerance=1e-7):
    """The laws of joints and contacts, and no energy from nowhere."""
    w = A @ lam + b
    for i in range(joints):  # friction sticks, or acts against the motion
        assert abs(lam[i]) <= friction[i] * (1 + 1e-9)
        if abs(w[i]) > 1e-4:
            np.testing.assert_allclose(lam[i], -friction[i] * np.sign(w[i]), atol=1e-9)
    for c in range(len(friction) - joints):
        mu, f, v = friction[joints + c], lam[joints + 3 * c :][:3], w[joints + 3 * c :][:3]
        slide, pull = np.linalg.norm(v[1:]), np.linalg.norm(f[1:])
        assert f[0] >= 0.0
        assert v[0] >= -10 * tolerance
        assert abs(f[0] * v[0]) < 10 * tolerance
        assert pull <= mu * f[0] * (1 + 1e-9) + 1e-12
        if slide > 1e-4 and f[0] > 1e-6:  # on the edge of the cone, against the sliding
            np.testing.assert_allclose(f[1:], -mu * f[0] * v[1:] / slide, atol=1e-4 * mu * f[0] + 1e-9)
    # kinetic energy after less before
    assert lam @ w - 0.5 * lam @ A @ lam <= 1e-9
