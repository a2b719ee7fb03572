"""Exact operation counts beside the papers' figures (Featherstone 2005 section 6, Featherstone 2010 Table 2)."""

import pytest

import bough
from bough import cost, zoo

# sines and cosines are not counted, a division counts as a multiplication
LIMITS = {
    ("mass_matrix", "humanoid"): (2475, 2124),
    ("mass_matrix", "floating_chain"): (6462, 4419),
    ("mass_matrix", "asimo"): (4100, 3389),
    ("forward_dynamics", "humanoid"): (5544, 5054),
    ("forward_dynamics", "floating_chain"): (5346, 4883),
    ("bias_force", "humanoid"): (2275, 1996),
}


def base_solve():
    """The 6x6 system of a floating base: factorize and back-substitute."""
    chain = bough.Tree([-1, 0, 1, 2, 3, 4])
    return cost.ltdl(chain) + cost.ltdl_solve(chain)


@pytest.mark.parametrize(("function", "robot"), LIMITS)
def test_counts_stay_within_the_papers(function, robot):
    model = getattr(zoo, robot)()
    count = bough.count(model, function, method="aba" if function == "forward_dynamics" else None)
    if function == "forward_dynamics":
        count -= base_solve()
    mul, add = LIMITS[function, robot]
    assert count.mul + count.div <= mul
    assert count.add <= add
    assert count.sqrt == 0
    assert count.sincos == len(model.joints) - 1


def test_factorization_adds_exactly_the_sparse_cost():
    for model in (zoo.humanoid(), zoo.asimo(), zoo.random_tree(12, seed=3)):
        tree = model.dof_tree
        extra = bough.count(model, "factorize") - bough.count(model, "packed_mass_matrix")
        assert extra.div <= tree.D1
        assert extra.mul <= tree.D2
        assert extra.add <= tree.D2


def test_a_frame_function_is_counted_on_its_path_only():
    model = zoo.humanoid()
    near, far = (
        bough.count(model, "jacobian", frame=name).total for name in (model.body_names[1], model.body_names[6])
    )
    assert near < far
    assert (
        bough.count(model, "placement", frame=model.body_names[6]).total
        < bough.count(model, "forward_kinematics").total
    )


def test_unknown_functions_are_refused():
    with pytest.raises(bough.BoughError, match="unknown function 'mass'"):
        bough.count(zoo.arm(3), "mass")
    with pytest.raises(bough.BoughError, match="name one with frame"):
        bough.count(zoo.arm(3), "jacobian")
    with pytest.raises(bough.BoughError, match="no method 'lu'"):
        bough.count(zoo.arm(3), "forward_dynamics", method="lu")
