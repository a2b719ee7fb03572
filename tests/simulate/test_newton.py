"""Newton steps find what sweeps find, where contacts slip and joints are at stops."""

import numpy as np
import pytest

from bough.compile.executions import bind_arrays
from bough.simulate.cone import IMPULSES, laws
from bough.simulate.newton import RowProblem, newton_impulses

JOINTS, CONTACTS = 4, 3
ROWS = JOINTS + 3 * CONTACTS


def problem(seed, batch=8):
    """Random mobilities; contacts that come down and slide, joints with friction and stops that some would pass."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(batch, ROWS, ROWS + 4))
    b = rng.normal(size=(batch, ROWS))
    b[:, JOINTS::3] = -np.abs(b[:, JOINTS::3])
    friction = np.tile([0.0, 0.1, 0.2, 0.0, 0.4, 0.6, 0.2], (batch, 1))
    lower, upper = np.full((batch, JOINTS + CONTACTS), -1e30), np.full((batch, JOINTS + CONTACTS), 1e30)
    lower[:, [0, 1]], upper[:, [1, 3]] = -0.1, 0.2
    return RowProblem(J @ np.swapaxes(J, 1, 2) / ROWS, b, friction, lower, upper)


@pytest.mark.parametrize("seed", range(6))
def test_as_sweeps(seed):
    given = problem(seed)
    sweeps = bind_arrays(IMPULSES, (laws(JOINTS, CONTACTS),), {"rows": ROWS, "laws": JOINTS + CONTACTS}, general=True)
    swept, change = sweeps.call(*given, np.zeros((8, ROWS)))
    assert change.max() < 1e-8
    # from where a few sweeps would be
    start = swept + 0.05 * np.random.default_rng(seed).normal(size=swept.shape) * np.abs(swept)
    found = newton_impulses(given, start)
    near = np.abs(found - swept).max(axis=1) < 1e-6
    assert near.mean() >= 0.7  # the others are left to sweeps
    slips = np.linalg.norm(swept[:, JOINTS:].reshape(8, CONTACTS, 3)[..., 1:], axis=-1)
    press = given.friction[:, JOINTS:] * swept[:, JOINTS::3]
    assert ((slips > 0.999 * press) & (press > 1e-6)).any()
