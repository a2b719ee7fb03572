"""`bough settle`."""

import json

import numpy as np
import pytest

import bough


def test_the_same_as_the_library(run):
    words = ("settle", "zoo:chain?n=20", "--force", "link19:1,0,0", "--steps", 3, "--eps", 0)
    found = json.loads(run(*words, "--record", "run.npz", "--json"))
    simulation = bough.adaptive.QuasiStatics(bough.zoo.chain(20), bough.adaptive.relative_joint(0.0))
    simulation.apply_force("link19", [1, 0, 0])
    simulation.run(3, 1e-2)
    np.testing.assert_allclose(found["bodies"][0]["to"], simulation.positions(["link19"])[0], rtol=1e-12)
    with np.load("run.npz") as file:
        assert file["step"].tolist() == [1, 2, 3]
        np.testing.assert_allclose(file["q"][-1], simulation.configuration, rtol=1e-12)


def test_gravity_measures_and_methods(run):
    words = ("settle", "zoo:chain?n=20", "--steps", 2, "--measure", "absolute_linkage", "--method", "dca")
    shown = run(*words, "--gravity", "0,0,0", "--body", "link3")
    assert "method dca" in shown
    assert "absolute_linkage 0.001" in shown
    still = json.loads(run(*words, "--gravity", "0,0,0", "--body", "link3", "--json"))["bodies"][0]
    assert still["to"] == pytest.approx(still["from"], abs=1e-15)  # two ways to sum up one pose
