"""H^-1 by the factor of H, beside the recursion."""

import numpy as np

from bough import zoo
from bough.dynamics.forward_by_factor import dof_rows
from bough.dynamics.inverse_by_factor import INVERSE_BY_FACTOR
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from models import interpreted, random_state


def test_as_the_recursion():
    model = zoo.star(3)
    q = random_state(model, 0)[0]
    found = np.asarray(interpreted(INVERSE_BY_FACTOR, model, (dof_rows(model.dof_tree),), q), float)
    expected = np.asarray(interpreted(INVERSE_MASS_MATRIX, model, (), q), float)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
