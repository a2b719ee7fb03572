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


class Reference:
    """Position and orientation of a frame for `scipy.optimize.minimize`, with slopes."""

    def __init__(self, arm, frame):
        self.arm, self.dynamics, self.frame = arm, bough.Dynamics(arm), frame
        self.lower, self.upper = np.maximum(arm.limits.lower, -50.0), np.minimum(arm.limits.upper, 50.0)

    def random(self, rng):
        return self.dynamics.placement(self.arm.random_configuration(rng), self.frame)

    def square(self, q, target):
        """|target less position|^2 of a point, or of a rotation, and its slope."""
        T, J = self.dynamics.placement(q, self.frame), self.dynamics.jacobian(q, self.frame, "local_world_aligned")
        if target.ndim == 1:
            e, J = target - T[:3, 3], J[:3]
        else:
            e, J = Rotation.from_matrix(target @ T[:3, :3].T).as_rotvec(), J[3:]
        return e @ e, -2.0 * J.T @ e

    def least(self, q, target, *constraints):
        """Where SLSQP finds the least square from q, within the limits."""
        bounds = list(zip(self.lower, self.upper, strict=True))
        options = {"ftol": 1e-15, "maxiter": 300}
        found = minimize(self.square, np.clip(q, self.lower, self.upper), (target,), "SLSQP", True, bounds=bounds,
                         constraints=constraints, options=options)  # fmt: skip
        return np.clip(found.x, self.lower, self.upper)

    def gains(self, answer, p, R, starts):
        """How much nearer other minima are; by how much the angle falls at no larger distance, and where."""
        first = np.sqrt(self.square(answer.q, p)[0])
        other = min(np.sqrt(self.square(self.least(q, p), p)[0]) for q in (answer.q, *starts))
        most = (max(min(first, other), 1e-6) + 1e-10) ** 2
        near = {"type": "ineq", "fun": lambda q: most - self.square(q, p)[0], "jac": lambda q: -self.square(q, p)[1]}
        q = self.least(answer.q, R, near)
        kept = np.sqrt(self.square(q, p)[0]) <= np.sqrt(most) + 1e-9
        angles = (np.sqrt(self.square(x, R)[0]) for x in (answer.q, q if kept else answer.q))
        return first - other, np.subtract(*angles), q


@pytest.mark.native("takes long")
@pytest.mark.parametrize("make", [lambda: bough.zoo.arm(7), panda], ids=["without limits", "with limits"])
def test_no_other_solver_betters_a_priority(make):
    """Targets that can be reached are; of others, SLSQP finds no smaller distance, and no smaller angle there."""
    arm = make()
    is_panda = arm.nv != 7
    inside, outside, frame = (200, 100, "panda_hand") if is_panda else (20, 20, arm.body_names[-1])
    reference, rng = Reference(arm, frame), np.random.default_rng(5)
    T = np.array([reference.random(rng) for _ in range(inside + outside)])
    p, R = T[:, :3, 3].copy(), T[:, :3, :3].copy()
    far = outside, 1
    p[inside:] = p[inside:] * rng.uniform(1.5, 4.0, far) + 0.3 * rng.normal(size=(outside, 3))
    R[inside:] = Rotation.random(outside, random_state=7).as_matrix()
    position, orientation = bough.position(frame), bough.orientation(frame)
    found = bough.ik.solve(arm, {position: p, orientation: R}, priorities={orientation: 1})
    assert found.success[:inside].all()
    assert (found.error[:inside] <= 1e-6).all()
    missed = elsewhere = 0
    for k in range(inside, inside + outside):
        answer = found._replace(q=found.q[k], error=found.error[k], success=found.success[k])
        error = [np.sqrt(reference.square(answer.q, x)[0]) for x in (p[k], R[k])]
        assert answer.error == pytest.approx(error, abs=1e-9)
        assert answer.success.tolist() == [x <= 1e-6 for x in error]
        if answer.success.all():
            continue
        missed += 1
        starts = [arm.random_configuration(rng) for _ in range(2)] if is_panda and not answer.success[0] else []
        first, second, q = reference.gains(answer, p[k], R[k], starts)
        assert first < 1e-6, k
        if np.abs(q - answer.q).max() > 1.0:  # another minimum, far away
            elsewhere += second > 1e-3
        else:
            assert second < 1e-3, k
    assert missed >= outside // 3
    assert elsewhere <= outside // 50


@pytest.mark.native("takes long")
def test_a_pose_out_of_reach_is_at_a_minimum():
    """SLSQP finds nothing nearer from the answer, position and orientation together, within the limits."""
    arm = panda()
    reference, rng = Reference(arm, "panda_hand"), np.random.default_rng(15)
    T = np.array([reference.random(rng) for _ in range(40)])
    T[:, :3, 3] *= rng.uniform(1.5, 4.0, (40, 1))
    found = bough.ik.solve(arm, {"panda_hand": T})
    assert np.count_nonzero(found.success) < 10
    bounds = list(zip(reference.lower, reference.upper, strict=True))

    def both(q, T):
        (x, slope), (y, other) = reference.square(q, T[:3, 3]), reference.square(q, T[:3, :3])
        return x + y, slope + other

    for q, error, target in zip(found.q, found.error, T, strict=True):
        options = {"ftol": 1e-15, "maxiter": 300}
        other = minimize(both, q, (target,), "SLSQP", jac=True, bounds=bounds, options=options)
        assert error < np.sqrt(other.fun) + 1e-6


def test_joints_at_limits_move_inwards_again():
    """Two arms on a floating base, hands out of reach: no motion within the limits brings both nearer."""
    rng, builder = np.random.default_rng(18), bough.Builder("afloat")
    builder.add_body("base", joint="floating", mass=3.0, inertia=0.1 * np.eye(3))
    for side in "ab":
        parent = "base"
        for k in range(4):
            place, axis = 0.25 * rng.normal(size=3), rng.normal(size=3)
            limits = {"lower": -rng.uniform(0.2, 1.5), "upper": rng.uniform(0.2, 1.5)}
            builder.add_body(f"{side}{k}", parent, "revolute", place, axis=axis, mass=1.0, inertia=0.01 * np.eye(3),
                             **limits)  # fmt: skip
            parent = f"{side}{k}"
        builder.add_frame(f"hand_{side}", parent, (0.1, 0.0, 0.2))
    model = builder.build()
    dynamics = bough.Dynamics(model, general=True)
    targets = {f"hand_{s}": dynamics.placement(model.random_configuration(rng), f"hand_{s}") for s in "ab"}
    for T in targets.values():
        T[:3, 3] *= 3.0
    found = bough.ik.solve(model, targets, model.neutral, starts=1)

    def square(d):
        q, total = model.integrate(found.q, d), 0.0
        for frame, T in targets.items():
            P = dynamics.placement(q, frame)
            turn = Rotation.from_matrix(T[:3, :3] @ P[:3, :3].T).as_rotvec()
            total += np.sum((T[:3, 3] - P[:3, 3]) ** 2) + turn @ turn
        return total

    assert np.sqrt(square(np.zeros(model.nv))) == pytest.approx(float(found.error), abs=1e-9)
    at, place = model.scalar_joints[::-1]
    low, high = -np.ones((2, model.nv)) * [[1.0], [-1.0]]
    low[at], high[at] = model.limits.lower[at] - found.q[place], model.limits.upper[at] - found.q[place]
    bounds = list(zip(np.minimum(low, 0.0), np.maximum(high, 0.0), strict=True))
    nearer = minimize(square, np.zeros(model.nv), method="SLSQP", bounds=bounds, options={"ftol": 1e-14})
    assert found.error - np.sqrt(nearer.fun) < 1e-6
