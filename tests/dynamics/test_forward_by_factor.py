"""Forward dynamics by the factor of H: the recursion's result, and the factor itself."""

import numpy as np
import pytest

import bough
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


@pytest.mark.parametrize("general", [False, True])
def test_factorize_into_a_factor(general):
    model, rng = bough.zoo.humanoid(), np.random.default_rng(1)
    dyn, b = bough.Dynamics(model, general=general), rng.normal(size=model.nv)
    factor = dyn.factorize(model.neutral)
    for _ in range(3):
        q = model.random_configuration(rng)
        assert dyn.factorize(q, out=factor) is factor
        np.testing.assert_allclose(dyn.mass_matrix(q) @ factor.solve(b), b, atol=1e-9)
        packed = np.empty_like(factor.packed)
        assert dyn.factorize(q, out=packed).packed is packed
        np.testing.assert_array_equal(packed, factor.packed)
        np.testing.assert_array_equal(dyn.factorize(q).packed, packed)
        assert dyn.factorize(q.tolist(), out=factor) is factor
    other = bough.zoo.arm(3)
    with pytest.raises(bough.BoughError, match="out must be an LTDL factor of 'humanoid'"):
        dyn.factorize(q, out=bough.Dynamics(other).factorize(other.neutral))
    with pytest.raises(bough.BoughError, match="one configuration"):
        dyn.factorize(np.tile(q, (2, 1)), out=factor)
    with pytest.raises(bough.BoughError, match="finite"):
        dyn.factorize(np.full(model.nq, np.nan), out=factor)
