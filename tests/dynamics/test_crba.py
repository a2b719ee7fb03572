"""The mass matrix: the definition, and its packed rows, which hold exactly the branch-induced pattern."""

import numpy as np

import naive
from bough import zoo
from bough.dynamics.crba import CRBA, MASS_MATRIX
from models import interpreted, random_state
from quantities import hold


def test_definition():
    hold("mass_matrix")


def test_packed_rows_are_the_pattern():
    model = zoo.star(3)
    q = random_state(model, 0)[0]
    H, packed = (np.asarray(interpreted(routine, model, (), q)) for routine in (MASS_MATRIX, CRBA))
    tree, m = model.dof_tree, model.mechanism
    pattern = naive.pattern(tree.parent)
    assert not H[~pattern].any()
    assert len(packed) == tree.D1 + model.nv == pattern.sum() - (pattern.sum() - model.nv) // 2
    for k in range(model.nv):
        i = int(m.v_index[k])
        assert packed[m.rows[k + 1] - 1] == H[i, i]
