"""Lambda^-1 by dense matrices is J H^-1 J', on random trees and tasks; its count has every zero."""

import bough
from bough import zoo
from bough.compile.routine import operations
from bough.opspace.methods import Prepared, prepare
from bough.opspace.methods.dense import MATRICES
from opspace.cases import agrees


def test_definition():
    agrees("dense")


def test_the_count_has_every_zero():
    """What follows H and J costs the same on every tree."""
    n, m = 9, 6
    for model in (zoo.chain(n), zoo.star(n), zoo.random_tree(n, seed=2)):
        tasks = bough.opspace.TaskSet(model, [bough.pose(model.body_names[-1])])
        dense = bough.count(model, "inverse_inertia", method="dense", tasks=tasks)
        before = operations(Prepared(MATRICES, prepare("dense", tasks).constants[:3], tasks.sizes).program(tasks))
        factor, rows, product = n * (n - 1) * (n + 1) // 6, m * n * (n - 1) // 2, m * (m + 1) // 2 * n
        assert dense.mul - before.mul == factor + rows + product
        assert dense.add - before.add == factor + rows + m * (m + 1) // 2 * (n - 1)
        assert dense.div - before.div == n * (n - 1) // 2 + m * n
