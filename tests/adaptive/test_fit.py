"""What is held together at several frames fits or does not: closed by construction, and the same with one moved."""

from __future__ import annotations

import numpy as np
import pytest

from bough.adaptive.closure import FREED
from bough.adaptive.feasible import Grip, fit

HELD = {joint: frozenset(range(6)) - set(freed) for joint, freed in FREED.items()}


def turned(rng):
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def about_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def tie(rng, joint, pose, size, frame):
    """Frames of two bodies that such a joint holds together when the first body has this pose in the second."""
    R, p = frame
    free = {"spherical": turned(rng), "revolute": about_z(rng.normal()), "cylindrical": about_z(rng.normal())}
    along = size * rng.normal() * R[:, 2] if joint in ("prismatic", "cylindrical") else np.zeros(3)
    return Grip(frame, (pose[0] @ R @ free.get(joint, np.eye(3)), pose[0] @ (p + along) + pose[1]), HELD[joint])


def ties(rng, size):
    """Several at once, and the pose in which all fit: anywhere, on one axis, or on parallel ones."""
    pose, way = (turned(rng), size * rng.normal(size=3)), rng.integers(3)
    R, p, found = turned(rng), size * rng.normal(size=3), []
    for joint in rng.choice([*HELD], rng.integers(1, 6)).tolist():
        off = rng.normal(size=3) * [(1, 1, 1), (0, 0, 1), (1, 1, 0)][way]
        found.append(tie(rng, joint, pose, size, (R if way else turned(rng), p + size * R @ off)))
    return found, pose


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e4])
def test_what_is_closed_somewhere_fits(size):
    rng, sure = np.random.default_rng(0), 0
    for _ in range(150):
        some, pose = ties(rng, size)
        found = fit(some)
        assert found.gap == 0.0
        if found.pose is not None:
            sure += 1
            np.testing.assert_allclose(found.pose[0], pose[0], atol=1e-8)
            np.testing.assert_allclose(found.pose[1], pose[1], atol=1e-8 * size)
    assert 40 < sure < 150


def pins(places, others, joint="spherical"):
    return [
        Grip((np.eye(3), np.array(a, float)), (np.eye(3), np.array(b, float)), HELD[joint])
        for a, b in zip(places, others, strict=True)
    ]


def lines(joint, *ends):
    """Frames that look along an axis: (p, z) on each of both bodies."""
    return [Grip(_looks(*a), _looks(*b), HELD[joint]) for a, b in ends]


def _looks(p, z):
    z = np.array(z) / np.linalg.norm(z)
    x = np.cross([0.3, 0.5, 0.9], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1), np.array(p, float)


SQUARE = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
X, Y, Z = np.eye(3)
AT = (0, 0, 0)
MISFITS = {
    "two pins": (lambda d: pins(SQUARE[:2], [AT, (1 + d, 0, 0)]), 0.5),
    "three pins": (lambda d: pins(SQUARE[:3], [AT, X, np.cos(np.pi / 2 - d) * X + np.sin(np.pi / 2 - d) * Y]), 0.5),
    "four pins mirrored": (lambda d: pins(SQUARE, [*SQUARE[:3], (0, 0, 1 - d)]), 2.0),
    "two hinges at an angle": (lambda d: lines("revolute", ((AT, Z), (AT, Z)), ((X, Z), (X, Z + d * X))), 0.5),
    "a hinge and a pin beside it": (lambda d: [*lines("revolute", ((AT, Z), (AT, Z))), *pins([X], [X + d * Z])], 0.5),
    "parallel sleeves": (lambda d: lines("cylindrical", ((AT, Z), (X, Z)), ((X, Z), (AT + (2 + d) * X, Z))), 0.5),
    "skew sleeves": (lambda d: lines("cylindrical", ((AT, Z), (AT, Z)), ((X, Y), ((1 + d) * X, Y))), 0.5),
    "a sleeve and a pin": (lambda d: [*lines("cylindrical", ((AT, Z), (AT, Z))), *pins([X], [(1 + d) * X + Z])], 0.5),
    "two slides at an angle": (lambda d: lines("prismatic", ((AT, Z), (AT, Z)), ((X, Y), (X, Y + d * Z))), 0.5),
    "a slide and a weld": (
        lambda d: [*lines("prismatic", ((AT, Z), (AT, Z))), *lines("fixed", ((X, Z), (X + d * Y, Z)))], 0.5
    ),
    "two welds": (lambda d: lines("fixed", ((AT, Z), (AT, Z)), ((X, Z), (X + d * Y, Z))), 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", MISFITS)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_what_does_not_fit_is_found_and_what_is_a_rounding_off_is_not(name, size):
    make, off = MISFITS[name]

    def scaled(d):
        return fit([Grip((t.a[0], size * t.a[1]), (t.b[0], size * t.b[1]), t.held) for t in make(d)])

    assert scaled(0.0).gap == 0.0
    assert scaled(1e-9).gap == 0.0
    for d in (off, 2e-3):
        assert scaled(d).gap > 1e-4 * min(size, 1.0)
    assert scaled(off).gap < 1.1 * max(size, 1.0)


def test_no_ties_on_a_point_say_nothing():
    one = fit(pins([X], [Y]))
    assert one == (0.0, None)
    assert fit(pins([AT], [AT])) == (0.0, None)
