"""Robots of the zoo look like what they are called: limbs are where they belong at q = 0."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.view import scene
from bough.view.bounds import extent


def placed(model):
    """Centres of visuals in the world at q = 0, by frame."""
    T = dict(zip(model.frame_names, bough.Dynamics(model, general=True).placements(model.neutral), strict=True))
    found: dict[str, list[np.ndarray]] = {}
    for piece in model.visuals:
        found.setdefault(piece.frame, []).append(T[piece.frame][:3, :3] @ piece.p + T[piece.frame][:3, 3])
    return found


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("make", [zoo.humanoid, *(lambda seed, v=v: zoo.asimo(v, seed) for v in zoo.ASIMO_VARIANTS)])
def test_robots_stand_upright_and_look_along_x(make, seed):
    model = make(seed=seed)
    found = placed(model)
    assert set(found) == set(model.body_names)  # all of it is seen
    torso = found["torso"][0]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm, leg = ([body for body in found if body.startswith(f"{side}_{limb}")][-1] for limb in ("arm", "leg"))
        hand, foot = found[arm][0] - torso, found[leg][0] - torso
        assert sign * hand[1] > sign * foot[1] > 0.05
        assert foot[2] < hand[2] < 0.0
        assert foot[0] > 0.0  # feet point forwards
    low, high = extent(scene(model), np.array(model.neutral))
    assert 1.6 < high[2] - low[2] < 6.0


@pytest.mark.parametrize(
    ("legs", "leg_links", "floating"), [(8, 10, False), (8, 10, True), (2, 4, False), (30, 6, False)]
)
def test_legs_of_a_millipede_bend_down_to_both_sides(legs, leg_links, floating):
    model = zoo.millipede(legs=legs, leg_links=leg_links, floating=floating)
    p = bough.Dynamics(model, general=True).placements(model.neutral)[model.body_frames, :3, 3]
    spine, leg = p[: 3 * legs], p[3 * legs :].reshape(legs, leg_links, 3)
    assert np.abs(spine[:, 2]).max() < 1e-12  # flat
    hips = spine[np.arange(legs) // 2 * 6]
    ahead = spine[np.arange(legs) // 2 * 6 + 1] - hips
    aside = np.cross(ahead, leg[:, -1] - hips)[:, 2] * np.where(np.arange(legs) % 4 % 3 == 0, 1.0, -1.0)
    assert (aside < -0.1).all()  # left and right in turn
    assert (np.diff(leg[:, -2:, 2], axis=1) < 0.0).all()
