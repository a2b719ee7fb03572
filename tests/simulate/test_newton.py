"""Newton steps find what sweeps find, where contacts and joints slip; redundant rows are no lottery."""

import numpy as np
import pytest

from simulate.impulses import solved

JOINTS, CONTACTS = 4, 3
ROWS = JOINTS + 3 * CONTACTS


def problem(seed, batch=8):
    """Random mobilities; contacts that come down and slide, joints with friction."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(batch, ROWS, ROWS + 4))
    b = rng.normal(size=(batch, ROWS))
    b[:, JOINTS::3] = -np.abs(b[:, JOINTS::3])
    friction = np.tile([0.0, 0.1, 0.2, 0.0, 0.4, 0.6, 0.2], (batch, 1))
    return J @ np.swapaxes(J, 1, 2) / ROWS, b, friction


@pytest.mark.parametrize("seed", range(6))
def test_as_sweeps(seed):
    given = problem(seed)
    swept, _ = solved(JOINTS, CONTACTS, *given, np.zeros((8, ROWS)), sweeps=4000)
    found, change = solved(JOINTS, CONTACTS, *given, np.zeros((8, ROWS)))
    assert change.max() < 1e-8
    np.testing.assert_allclose(found, swept, atol=1e-6)
    slips = np.linalg.norm(swept[:, JOINTS:].reshape(8, CONTACTS, 3)[..., 1:], axis=-1)
    press = given[2][:, JOINTS:] * swept[:, JOINTS::3]
    assert ((slips > 0.999 * press) & (press > 1e-6)).any()


@pytest.mark.parametrize("seed", range(4))
def test_redundant_rows_do_not_follow_rounding(seed):
    """Four corners of a sliding plate: rounding of A must not move load from one diagonal to the other."""
    rng = np.random.default_rng(seed)
    corners = np.array([(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    eye = np.eye(3)
    rows = [np.r_[eye[a], np.cross(c, eye[a])] for c in corners for a in (2, 0, 1)]
    J = np.array(rows) / np.sqrt(np.r_[2.0, 2.0, 2.0, np.full(3, 0.0133)])
    given = J @ J.T, J @ np.r_[0.5, 0.3, -0.1, rng.normal(size=3)], np.full(4, 0.3)
    start = np.abs(rng.normal(size=12)) * 0.01
    noise = 1.0 + 1e-15 * rng.normal(size=(12, 12))
    noise = np.sqrt(noise * noise.T)
    ours, theirs = (solved(0, 4, A, *given[1:], start)[0] for A in (given[0], given[0] * noise))
    np.testing.assert_allclose(ours, theirs, atol=1e-7 * np.abs(ours).max())
