"""Priorities below one that cannot be reached, beside a solver of scipy that knows nothing of priorities."""

import numpy as np
import pytest

import bough
from robots import urdfs

minimize = pytest.importorskip("scipy.optimize").minimize
Rotation = pytest.importorskip("scipy.spatial.transform").Rotation


def panda():
    path = next((p for p in urdfs().values() if p.name == "panda.urdf"), None)
    if path is None:
        pytest.skip("needs example-robot-data")
    return bough.load(path, mimic="independent")


def far_targets(arm, dynamics, frame, count):
    """Positions mostly out of reach, and any orientation."""
    rng = np.random.default_rng(5)
    for _ in range(count):
        p = dynamics.placement(arm.random_configuration(rng), frame)[:3, 3] * rng.uniform(1.5, 4.0)
        yield p + 0.3 * rng.normal(size=3), Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()


@pytest.mark.native("takes long")
@pytest.mark.parametrize("make", [lambda: bough.zoo.arm(7), panda], ids=["without limits", "with limits"])
def test_no_other_solver_betters_the_second_priority(make):
    """From each answer SLSQP seeks a smaller angle at no larger distance."""
    arm = make()
    dynamics, frame = bough.Dynamics(arm), arm.body_names[-1] if arm.nv == 7 else "panda_hand"
    position, orientation = bough.position(frame), bough.orientation(frame)
    bounds = list(zip(np.maximum(arm.limits.lower, -50.0), np.minimum(arm.limits.upper, 50.0), strict=True))
    gains, missed = [], 0
    for p, R in far_targets(arm, dynamics, frame, 14):
        found = bough.ik.solve(arm, {position: p, orientation: R}, priorities={orientation: 1})

        def distance(q, p=p):
            return np.linalg.norm(p - dynamics.placement(q, frame)[:3, 3])

        def angle(q, R=R):
            return np.linalg.norm(Rotation.from_matrix(R @ dynamics.placement(q, frame)[:3, :3].T).as_rotvec())

        assert distance(found.q) == pytest.approx(found.error[0], abs=1e-9)
        assert angle(found.q) == pytest.approx(found.error[1], abs=1e-9)
        if found.success[0]:
            continue
        missed += 1
        near = {"type": "ineq", "fun": lambda q, most=found.error[0]: (most + 1e-10) ** 2 - distance(q) ** 2}
        other = minimize(
            lambda q: angle(q) ** 2, found.q, bounds=bounds, method="SLSQP", constraints=[near],
            options={"ftol": 1e-12, "maxiter": 300},
        )  # fmt: skip
        if distance(other.x) <= found.error[0] + 1e-7:
            gains.append(found.error[1] - angle(other.x))
    assert missed >= 5
    assert len(gains) >= 3
    assert max(gains) < 0.01  # rad
