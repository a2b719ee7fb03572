"""Forces gathered by body and turned into its frame."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bough.adaptive.tree.contract import Applied, gather, load_body

pytestmark = pytest.mark.interpreted


def test_the_sum_of_forces_on_a_body_in_its_frame():
    rng = np.random.default_rng(0)
    body, world = np.array([4, 1, 4, 4, 1, 0]), np.array([True, False, False, True, True, False])
    force, moment, point = rng.normal(size=(3, 6, 3))
    slot = np.zeros(6, np.int32)
    loads, place = gather(Applied(body, world, force, moment, point), slot)
    np.testing.assert_array_equal(loads.force[place], force)
    assert slot.tolist() == [0, 1, -1, -1, 2, -1]
    found = np.zeros((6, 6))
    for k, b in enumerate(loads.body):
        R = Rotation.random(random_state=k).as_matrix()
        load_body(found, loads, k, tuple(R.ravel()))
        f, n = (np.where(world[:, None], x @ R, x) for x in (force, moment))
        mine = body == b
        expected = np.concatenate([(n + np.cross(point, f))[mine].sum(axis=0), f[mine].sum(axis=0)])
        np.testing.assert_allclose(found[b], expected, atol=1e-12)
    assert not found[[2, 3, 5]].any()
