"""Forward dynamics by the factor of H: the recursion's result, and the factor itself."""

import numpy as np

import naive
from bough import zoo
from bough.dynamics.aba import ABA
from bough.dynamics.crba import MASS_MATRIX
from bough.dynamics.forward_by_factor import FACTORIZE, FORWARD_CRBA, dof_rows
from models import interpreted, random_state


def test_as_the_recursion():
    model = zoo.star(3)
    q, v, tau, _ = random_state(model, 0)
    rows = (dof_rows(model.dof_tree),)
    found = interpreted(FORWARD_CRBA, model, rows, q, v, tau)
    np.testing.assert_allclose(found, interpreted(ABA, model, (), q, v, tau), rtol=1e-10, atol=1e-10)


def test_the_factor_of_a_chain_is_the_dense_one():
    model = zoo.arm(4)
    q = random_state(model, 0)[0]
    H = np.asarray(interpreted(MASS_MATRIX, model, (), q), float)
    L, d = naive.ltdl(H)
    packed = np.asarray(interpreted(FACTORIZE, model, (dof_rows(model.dof_tree),), q), float)
    expected = np.concatenate([[*L[i, :i], d[i]] for i in range(4)])
    np.testing.assert_allclose(packed, expected, rtol=1e-11, atol=1e-12)
