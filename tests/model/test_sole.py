"""Soles: one definition for controllers and simulations."""

import numpy as np
import pytest

from bough import zoo
from bough.control import Contact
from bough.errors import ModelError, UnknownNameError
from bough.model import Sole
from bough.simulate import Contacts


def test_corners_of_a_rectangle_and_of_a_point():
    corners = np.array(Sole("foot", (0.2, 0.1), (0.05, 0.0, -0.03)).corners)
    np.testing.assert_allclose(corners.mean(axis=0), (0.05, 0.0, -0.03), atol=1e-15)
    np.testing.assert_allclose(np.ptp(corners, axis=0), (0.2, 0.1, 0.0), atol=1e-15)
    assert Sole("foot", point=(1, 2, 3)).corners == ((1.0, 2.0, 3.0),)


def test_contacts_from_frames_soles_and_contacts_of_a_controller_are_the_same():
    model, size = zoo.arm(3), (0.2, 0.1)
    name = model.body_names[-1]
    made = [
        Contacts.from_soles(model, [x], size, friction=0.5) for x in (name, Sole(name, size), Contact(name, size=size))
    ]
    assert made[0] == made[1] == made[2]
    assert len(made[0].points) == 4
    assert made[0].friction == 0.5
    assert len(Contacts.from_soles(model, [name]).points) == 1


@pytest.mark.parametrize(
    "wrong", [{"size": (0.1,)}, {"size": (-0.1, 0.1)}, {"size": ("a", 1)}, {"point": (0, 0)}, {"point": (0, 0, np.nan)}]
)
def test_what_is_no_sole_is_refused(wrong):
    for kind in (Sole, Contact):
        with pytest.raises(ModelError, match="contact 'foot': "):
            kind("foot", **wrong)


def test_soles_of_no_robot_are_refused():
    with pytest.raises(UnknownNameError, match="no frame 'paw'"):
        Contacts.from_soles(zoo.arm(3), ["paw"], (0.1, 0.1))
    with pytest.raises(ModelError, match="soles is a list"):
        Contacts.from_soles(zoo.arm(3), "hand", (0.1, 0.1))
