"""The quadruped: its parts, and its twin for MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from benchmarks.robots import quadruped_mjcf


def test_a_quadruped_of_plain_numbers():
    model = bough.zoo.quadruped()
    assert (model.nv, model.total_mass) == (18, pytest.approx(14.4))
    assert {f"{leg}_foot" for leg in ("lf", "rf", "lh", "rh")} <= {*model.frame_names}
    assert model.actuated.sum() == 12


def test_its_twin_has_the_same_mass_matrix():
    mujoco = pytest.importorskip("mujoco")
    model, theirs = bough.zoo.quadruped(60.0, 2.0), mujoco.MjModel.from_xml_string(quadruped_mjcf())
    q = model.neutral.copy()
    q[7:] = np.random.default_rng(0).normal(size=12)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qpos[7:] = [0, 0, 0.4, 1, 0, 0, 0, *q[7:]], q[7:]
    mujoco.mj_forward(theirs, data)
    H = np.zeros((18, 18))
    mujoco.mj_fullM(theirs, data, H) if mujoco.__version__ >= "3.3.5" else mujoco.mj_fullM(theirs, H, data.qM)
    np.testing.assert_allclose(bough.Dynamics(model, general=True).mass_matrix(q), H, atol=1e-9)
    np.testing.assert_allclose(model.damping[6:], theirs.dof_damping[6:])
