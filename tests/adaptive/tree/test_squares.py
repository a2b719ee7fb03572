"""dk of a node: what release adds while nothing pulls at its handles."""

from __future__ import annotations

import pytest

from adaptive.tree.test_columns import turning
from bough.adaptive.tree.rigid import DK, DK_REST, DK_SPLIT, dk_at, own_square

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("seed", range(3))
def test_a_square_of_the_products_of_the_angular_velocity(seed):
    for tree, n, cluster, S in turning(seed):
        assert own_square(tree.record(n), S) == pytest.approx(cluster.released(), rel=1e-6, abs=1e-8)


def test_the_upper_triangle_has_a_place_for_each_entry():
    places = [dk_at(i, j) for i in range(7) for j in range(i, 7)]
    assert sorted(places) == [*range(DK, DK + DK_SPLIT), *range(DK_REST, DK_REST + 28 - DK_SPLIT)]
