"""Every stated bound in random trials: measures, joint laws, loops, and masses up to 1e8 apart."""

import pytest

from adaptive.trials import law_trial, trial
from sizes import size


def test_bounds_hold():
    for seed in range(100, 100 + size(25, 4)):
        excess, words = trial(seed)
        assert excess <= 0.0, (seed, words)


def test_steps_obey_friction_limits_and_loops():
    for seed in range(size(60, 4)):
        residual, words = law_trial(seed)
        assert residual <= 2e-6, (seed, words)


# what bounds once missed: forces of loops beyond rounding, those of the locked linkage, states after joints locked,
# differences of large powers, clusters whose share of the error is less than rounding, and what loops move joints that
# are locked last
@pytest.mark.parametrize(
    "seed", [71, 246, 720, 893, 975, 3801, 10358, 11260, 11524, 11772, 14905, 10977, 18635, 19727, 26005, 27267, 70534]
)
def test_bounds_hold_where_they_did_not(seed):
    assert trial(seed)[0] <= 0.0


@pytest.mark.slow
def test_bounds_hold_in_many_trials():
    broken = [(seed, *found) for seed in range(20_000) if not (found := trial(seed))[0] <= 0.0]
    assert not broken


@pytest.mark.slow
def test_steps_obey_their_laws_in_many_trials():
    broken = [(seed, *found) for seed in range(5_000) if not (found := law_trial(seed))[0] <= 2e-6]
    assert not broken
