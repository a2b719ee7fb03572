"""All frames at once are where each of them is alone."""

import numpy as np

from bough import zoo
from bough.dynamics.kinematics import PLACEMENT, frame_of
from bough.dynamics.placements import PLACEMENTS, all_frames
from models import interpreted, random_state


def test_each_frame_is_where_it_is_alone():
    model = zoo.star(3)
    q = random_state(model, 0)[0]
    every = interpreted(PLACEMENTS, model, (all_frames(model),), q)
    for T, name in zip(every, model.frame_names, strict=True):
        alone = interpreted(PLACEMENT, model, (frame_of(model, name),), q)
        np.testing.assert_allclose(np.asarray(T, float), np.asarray(alone, float), atol=1e-14, err_msg=name)
