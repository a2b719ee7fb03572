"""Table 1, eqs. 2 to 29: the recursive algorithm on 24 links and two hands, and how long it takes."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from bough import cost, zoo
from bough.control import augmented_object, grasp_matrix, rigid_object
from bough.opspace import OperationalSpace, count, pose
from bough.opspace.methods.chang_khatib import chang_khatib_program
from bough.types import FloatArray
from papers.graphs import mechanisms
from papers.result import MEASURED, Result, Row, exact, measured, not_reproducible, of_formula, ratio

HANDS = ("left_hand", "right_hand")
CALLS, ROUNDS = 200, 10


def run(full: bool = False) -> Result:
    """The topology of the paper's robot (Fig. 2) is not in the text: a stand-in with as many links and hands."""
    model = zoo.ck_standin()
    space = OperationalSpace(model, [pose(hand) for hand in HANDS])
    q = model.random_configuration(np.random.default_rng(0))
    dense, recursive = (space.inverse_inertia(q, method=method) for method in ("dense", "chang_khatib"))
    bodies = [model.body_names.index(f"{side}_arm7") for side in ("left", "right")]
    products = cost.chang_khatib_products(model.tree, bodies)
    formula, own = (
        cost.chang_khatib(model.tree, bodies),
        count(model, "inverse_inertia", "chang_khatib", space.tasks.tasks),
    )
    rows = (
        exact("links, operational points", (24, 2), (len(model.joints), len(HANDS))),
        exact("Lambda^-1 of Table 1 equals J H^-1 J'", True, bool(np.allclose(recursive, dense, rtol=1e-9, atol=1e-9))),
        of_formula("products of step 4, executed program", len(products),
                   len(chang_khatib_program(space.tasks).source)),
        exact("at most n (2 m - 1) products", True, len(products) <= 24 * 3, f"{len(products)} of {24 * 3}"),
        Row("operations for Lambda^-1", "", str(own), ratio(formula, own), MEASURED,
            "the program includes transforms from q and moves to the hands' frames", str(formula)),
        exact("augmented object: Lambda_+ = Lambda_object + W Lambda W'", True, _augmented(space, q)),
        not_reproducible("Fig. 2: the humanoid", "24 links, 2 end-effectors", "the figure is not in the text"),
        measured("Lambda in milliseconds", "less than 1 (Pentium II, 266 MHz)", 1e3 * _time(space, q),
                 "the stand-in, one call from Python, best of many"),
    )  # fmt: skip
    remark = (
        "Figs. 5 and 6, a box put on the floor by two hands, are below; `examples/box_to_floor.py` and "
        "`examples/two_hands.py` have it with a grip that is held, and back up again. "
        "The augmented object, its bias, object-level forces and internal forces: `bough.control.augmented_object`, "
        "tested against the closed chain."
    )
    drawn = mechanisms(
        {"stand-in for Figs. 1, 2 and 4": model.tree},
        "Figs. 1, 2 and 4 show a branching robot with 24 links and two operational points, whose topology the text "
        "does not give; this is the stand-in that is computed with.",
        columns=1,
    )
    return Result(rows, (drawn,), (remark,))


def _augmented(space: OperationalSpace, q: FloatArray) -> bool:
    """A box held in two hands at rest: its acceleration under grip forces, beside the closed chain solved densely."""
    model, dynamics = space.model, space.dynamics
    op = space(q, np.zeros(model.nv))
    at = [dynamics.placement(q, hand)[:3, 3] for hand in HANDS]
    points = [p - np.mean(at, axis=0) for p in at]
    box = rigid_object(3.0, (0.0, 0.0, 0.0), 0.05 * np.eye(3), gravity=model.gravity)
    F, G, n = np.linspace(-1.0, 1.0, 12), grasp_matrix(points), model.nv
    A = np.zeros((n + 18, n + 18))
    A[:n, :n], A[:n, n + 6 :] = dynamics.mass_matrix(q), op.J.T
    A[n : n + 6, n : n + 6], A[n : n + 6, n + 6 :] = box.inertia, -G
    A[n + 6 :, :n], A[n + 6 :, n : n + 6] = op.J, -G.T
    b = np.concatenate([op.J.T @ F - dynamics.bias_force(q, np.zeros(n)), -box.bias, np.zeros(12)])
    found = augmented_object(op, points, box).acceleration(F)
    return bool(np.allclose(found, np.linalg.solve(A, b)[n : n + 6], rtol=1e-8, atol=1e-9))


def _time(space: OperationalSpace, q: FloatArray) -> float:
    """Seconds for Lambda by the algorithm of the paper."""
    best = np.inf
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(CALLS):
            space.invert(space.inverse_inertia(q, method="chang_khatib"))
        best = min(best, (perf_counter() - began) / CALLS)
    return best
