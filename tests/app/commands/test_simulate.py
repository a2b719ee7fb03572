"""`bough simulate`."""

import json

import numpy as np

import bough
from bough.simulate import Recording


def test_a_motion_is_recorded_whole(run):
    run("simulate", "zoo:arm:2", "--duration", 0.02, "--dt", 0.001, "--every", 5, "--seed", 3, "--record", "run.npz")
    motion = Recording.load("run.npz", bough.zoo.arm(2))
    assert len(motion.time) == 5
    start = bough.zoo.arm(2).random_configuration(np.random.default_rng(3))
    np.testing.assert_array_equal(motion.q[0], start)


def test_a_force_on_a_frame_does_its_work(run):
    """Without gravity's own change, energy grows by the force times the way of the frame."""
    model = bough.zoo.arm(3)
    words = ("simulate", "zoo:arm:3", "--duration", 0.1, "--dt", 1e-4, "--integrator", "lie_midpoint")
    found = json.loads(run(*words, "--force", "hand:3,-1,2", "--json"))
    dynamics = bough.Dynamics(model)
    way = dynamics.placement(np.array(found["q"]), "hand")[:3, 3] - dynamics.placement(model.neutral, "hand")[:3, 3]
    work = found["energy"]["end"] - found["energy"]["start"]
    np.testing.assert_allclose(work, way @ (3, -1, 2), rtol=2e-3)


def test_pd_holds_and_a_moment_turns(run):
    words = ("simulate", "zoo:arm", "--duration", 0.2)
    held = json.loads(run(*words, "--controller", "pd", "--kp", 1000, "--json"))
    assert np.abs(held["q"]).max() < 0.05 < np.abs(json.loads(run(*words, "--json"))["q"]).max()
    turned = json.loads(run("simulate", "zoo:arm:2", "--force", "hand:0,0,0,1,1,1", "--duration", 0.01, "--json"))
    free = json.loads(run("simulate", "zoo:arm:2", "--duration", 0.01, "--json"))
    assert turned["q"] != free["q"]
