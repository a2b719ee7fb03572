"""A browser for all tests that need one, and a small model with every kind of joint."""

import numpy as np
import pytest

import bough
import browser


@pytest.fixture(scope="session")
def page():
    if browser.found() is None:
        pytest.skip("no Chromium or Chrome is installed (or named by BOUGH_TEST_BROWSER)")
    found = browser.Page()
    yield found
    found.close()


@pytest.fixture(scope="session")
def every_joint():
    """Every type of joint, a mimic joint, a welded body and a frame."""
    builder, solid = bough.Builder("every joint"), {"mass": 1.0, "com": (0.1, 0.0, 0.05), "inertia": 0.1 * np.eye(3)}
    types = ("floating", "revolute", "prismatic", "planar", "spherical", "cylindrical", "universal", "continuous")
    up = "world"
    for k, kind in enumerate(types):
        place = (np.linalg.qr(np.random.default_rng(k).normal(size=(3, 3)))[0], [0.2, 0.1 * k, 0.3])
        place[0][:, 0] *= np.sign(np.linalg.det(place[0]))
        axis = {} if kind in ("floating", "spherical") else {"axis": (0.3, 0.2, 0.9)}
        if kind == "universal":
            axis = {"axis": np.eye(3)[:2]}
        up = builder.add_body(f"b{k}", up, kind, place, **axis, **solid)
    builder.add_body("side", "b1", "revolute", (0.0, 0.2, 0.0), axis=(1, 0, 0), mimic=("b7", -0.5, 0.3), **solid)
    builder.add_frame("tip", up, (0.0, 0.0, 0.4))
    return builder.build()
