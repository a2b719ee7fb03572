"""H^-1 without forming H: the definition, and H times it."""

import numpy as np

from bough import zoo
from bough.dynamics.crba import MASS_MATRIX
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from models import interpreted, random_state
from quantities import hold


def test_definition():
    hold("inverse_mass_matrix")


def test_is_the_inverse():
    model = zoo.star(4)
    q = random_state(model, 0)[0]
    H, inverse = (np.asarray(interpreted(r, model, (), q), float) for r in (MASS_MATRIX, INVERSE_MASS_MATRIX))
    np.testing.assert_allclose(H @ inverse, np.eye(model.nv), atol=1e-10)
    np.testing.assert_array_equal(inverse, inverse.T)
