"""How long regions serve, when plain steps take their place, and that energy falls all the while."""

from __future__ import annotations

import numpy as np
import pytest

from bough.adaptive import QuasiStatics, energy
from bough.adaptive.cost import LEAST, LONGEST, STALE, ReselectionInterval
from bough.zoo import adenylate_kinase, molecule


def pulled_enzyme(eps, method="adaptive"):
    """Adenylate kinase at the beginning of its way from the open to the closed form."""
    model, closed = adenylate_kinase(), adenylate_kinase("closed")
    carbons = [name for name in model.frame_names if name.endswith(".CA")]
    goal = QuasiStatics(closed, method="aba").positions(carbons)
    sim = QuasiStatics(model, None if eps is None else energy(eps), method)
    return sim, sim.restraints(carbons, goal, 100.0)


def steps(sim, springs, n, h=0.01):
    """How each of n steps was taken; the energy falls in every one."""
    methods = []
    springs(sim)
    for _ in range(n):
        before = springs.energy
        sim.run(1, h=h, load=springs)
        assert springs.energy < before
        methods.append(sim.stats.method)
    return methods


@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-4])
def test_where_all_of_it_moves_plain_steps_take_over_and_energy_falls_in_each(eps):
    sim, springs = pulled_enzyme(eps)
    springs(sim)
    sim.accelerations()  # within eps, however many joints that takes
    assert sim.stats.method == "adaptive"
    methods = steps(sim, springs, 70)
    if eps == 1e-1:  # less than half of it does
        assert set(methods) == {"adaptive"}
        assert 300 < sim.stats.active < 600
    else:
        assert methods[0] == "adaptive"
        assert methods[-1] == "aba"
        assert methods == sorted(methods, reverse=True)  # one change


def test_a_region_that_would_be_nearly_all_is_given_up_before_the_first_step():
    sim, springs = pulled_enzyme(1e-3)
    assert set(steps(sim, springs, 3)) == {"aba"}


def test_the_region_is_not_looked_for_where_all_moves_and_is_where_little_does():
    for eps, found in ((1e-3, False), (0.3, True)):
        sim, springs = pulled_enzyme(eps, "auto")
        methods = steps(sim, springs, 5)
        assert methods[0] == "aba"
        assert methods[-1] == ("adaptive" if found else "aba")
        assert (sim.solver.tree is not None) == found


def test_plain_steps_are_left_again_when_that_pays():
    sim, springs = pulled_enzyme(1e-3)
    assert steps(sim, springs, 40)[-1] == "aba"
    assert sim.selector.wait > 0
    sim.selector.wait = 0
    assert steps(sim, springs, 1) == ["aba"]  # still all of it moves: the next look is later
    assert sim.selector.wait > 20
    sim.error = energy(0.3)
    assert steps(sim, springs, 1) == ["adaptive"]
    sim.selector.leave(4.0)
    sim.selector.wait = 0
    assert steps(sim, springs, 1) == ["adaptive"]


def test_without_an_error_steps_are_the_plain_ones():
    ends = []
    for eps, method in ((None, "aba"), (0.0, "auto")):
        sim, springs = pulled_enzyme(eps, method)
        sim.run(12, h=0.01, load=springs)
        ends.append(sim.configuration)
    np.testing.assert_array_equal(*ends)


def test_regions_serve_longer_while_they_lose_little():
    pace = ReselectionInterval(LEAST, False)
    pace.chosen(100, 400, 0.005)
    first, allowed = pace.every, 0.01
    for _ in range(5):
        pace.learn(0.006, allowed)
        pace.chosen(100, 400, 0.005)
    assert pace.every == LONGEST * first
    pace.learn(1.1 * STALE * allowed, allowed)
    pace.chosen(100, 400, 0.005)
    assert pace.every == first


def test_regions_that_end_early_stop_to_pay():
    pace = ReselectionInterval(LEAST, False)
    pace.chosen(100, 400, 0.0)
    assert pace.pays(500)
    for _ in range(10):  # other forces end each after one step
        pace.ended(1)
        pace.chosen(100, 400, 0.0)
    assert not pace.pays(500)
    assert pace.pays(50_000)


def test_an_empty_region_before_any_force_says_nothing_of_those_that_follow():
    """Springs that drift away from where bodies are."""
    model = molecule(1_000, seed=1).with_gravity((0, 0, 0))
    sim, bodies = QuasiStatics(model, energy(0.1), "adaptive"), list(model.body_names[500:505])
    springs = sim.restraints(bodies, sim.positions(bodies), 100.0)
    springs.drift = np.tile([0.0, 0.0, 10.0], (5, 1))
    sim.run(60, h=1e-4, load=springs)
    assert sim.stats.method == "adaptive"
    assert sim.stats.active < 300
