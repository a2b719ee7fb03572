"""Task rows as wrenches: the power of unit task forces on moving bodies is the rows' velocity, J v."""

import numpy as np
import pytest

from bough.compile.routine import Routine, scratch
from bough.dynamics.kinematics import body_velocities
from bough.joints import joint_motion
from bough.opspace.sweeps.bias import BIAS_WORK
from bough.opspace.sweeps.wrenches import WRENCH_WORK, act_at, task_wrenches
from opspace.cases import interpreted_jacobian, random_case


@pytest.mark.parametrize("seed", range(12))
def test_power_is_velocity(seed):
    twin, tasks = random_case(seed)
    m, rng = twin.model.mechanism, np.random.default_rng(seed)
    q, v = twin.model.random_configuration(rng), rng.normal(size=twin.model.nv)
    w = scratch(Routine("wrenches", task_wrenches, {}, {}, BIAS_WORK | WRENCH_WORK), tasks.sizes, float)
    joint_motion(m, q, w.X)
    seeds = tasks.with_placements
    task_wrenches(m, seeds, w)
    body_velocities(m, v, w.X, w.u6)
    rate = np.zeros(tasks.size)
    for s in range(len(seeds.kind)):
        rate[seeds.row[s]] += w.K[s] @ w.u6[seeds.body[s]]
    wanted = interpreted_jacobian(tasks, q) @ v
    np.testing.assert_allclose(rate, wanted, atol=1e-11 * max(1.0, np.abs(wanted).max()))


def test_a_force_at_a_point_has_a_moment():
    assert act_at((0.0, 0.0, 1.0, 0.0, 2.0, 0.0), (3.0, 0.0, 0.0)) == (0.0, 0.0, 7.0, 0.0, 2.0, 0.0)
