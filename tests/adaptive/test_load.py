"""Loads by arrays: the same as forces one by one, and nothing missed or half done."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.linkages import dense, random_linkage, relative
from bough.adaptive import QuasiStatics, relative_joint
from bough.errors import NonFiniteError, ShapeError, UnknownNameError
from bough.zoo import chain

METHODS = ("aba", "dca", "adaptive")


def loaded(seed, method, frame="world", moments=True, count=12):
    twin = random_linkage(seed, 15)
    rng = np.random.default_rng(seed)
    bodies, points = rng.integers(0, 15, count), rng.normal(size=(count, 3))
    sim = QuasiStatics(twin.model, relative_joint(0.0), method)
    sim.configuration = twin.model.random_configuration(rng)
    return twin, sim, sim.loads(bodies.tolist(), points, frame, moments), bodies, points, rng


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("frame", ["world", "body"])
def test_loads_equal_the_dense_solution_however_they_are_set(method, frame):
    twin, sim, load, bodies, points, rng = loaded(3, method, frame)
    f = np.zeros((12, 6))

    def agrees():
        forces = [(int(b), x, p, frame) for b, x, p in zip(bodies, f, points, strict=True)]
        expected = dense(twin, sim.configuration, np.zeros(twin.model.nv), forces)
        np.testing.assert_array_equal(load.values, f)
        return relative(sim.accelerations(), expected) < 1e-10

    assert agrees()
    for key in (slice(None), 3, slice(2, 5), [7, 1], (4, 2), (slice(None), 1), f > 0.5, -1):
        new = rng.normal(size=f[key].shape)
        f[key] = new
        load.values[key] = new
        assert agrees()
    load.values += 1.0
    load.values -= f
    load.values *= 2.0
    f[:] = ((f + 1.0) - f) * 2.0
    assert agrees()
    load.values = f = rng.normal(size=(12, 6))
    assert agrees()
    sim.step(0.01)
    assert agrees()


def test_one_force_of_three_numbers_takes_every_form():
    _, sim, load, *_ = loaded(1, "aba", moments=False)
    other = QuasiStatics(sim.model, method="aba")
    for value in ([1.0, 2.0, 3.0], (1, 2, 3), np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3])):
        load.values[2] = [0.0, 0.0, 1.0]
        load.values[2] = value
        assert load.values[2].tolist() == [1.0, 2.0, 3.0]
    assert not np.array_equal(sim.accelerations(), other.accelerations())


def test_loads_and_single_forces_add_up_and_are_taken_away():
    model = chain(30)
    sim, single = (QuasiStatics(model, relative_joint(1e-3), "adaptive") for _ in range(2))
    rng = np.random.default_rng(0)
    f = rng.normal(size=(30, 3))
    load = sim.loads(range(30))
    load.values[:] = f
    numbers = [single.apply_force(b, x) for b, x in enumerate(f)]
    for s in (sim, single):
        s.apply_force(4, [1.0, 0.0, 2.0], frame="body")
        s.run(3, 0.01)
    np.testing.assert_array_equal(sim.configuration, single.configuration)
    sim.remove_load(load)
    for number in numbers:
        single.remove_force(number)
    np.testing.assert_allclose(sim.accelerations(), single.accelerations(), rtol=1e-12, atol=1e-12)
    with pytest.raises(UnknownNameError, match="taken away"):
        load.values[:] = 0.0
    with pytest.raises(UnknownNameError, match="taken away"):
        load.values[3] = [0.0, 0.0, 0.0]
    with pytest.raises(UnknownNameError, match="no such load"):
        sim.remove_load(load)
    again = sim.loads([1, 2])
    sim.clear_forces()
    assert sim.all_loads == ()
    with pytest.raises(UnknownNameError, match="taken away"):
        again.values[0] = [0.0, 0.0, 0.0]


def test_a_callback_sets_forces_before_every_step():
    model = chain(30)
    called, by_hand = (QuasiStatics(model, relative_joint(1e-3), culled="zero", catch_up=False) for _ in range(2))
    loads = {sim: sim.loads([20]) for sim in (called, by_hand)}

    def pull(sim):
        loads[sim].values[0] = [0.0, np.sin(sim.steps), 1.0]

    called.run(7, h=1e-4, load=pull)
    for _ in range(7):
        pull(by_hand)
        by_hand.step(h=1e-4)
    np.testing.assert_array_equal(called.configuration, by_hand.configuration)


def test_loads_survive_a_checkpoint(tmp_path):
    model = chain(30)
    sim = QuasiStatics(model, relative_joint(1e-3))
    sim.loads([])
    number = sim.apply_force(3, [0.0, 1.0, 0.0])
    sim.remove_force(sim.apply_force(5, [0.0, 1.0, 0.0]))
    sim.loads([4, 20, 20], frame="body", moments=True).values[:] = np.arange(18.0).reshape(3, 6)
    sim.run(4, 0.01)
    sim.checkpoint(tmp_path / "run.npz")
    again = QuasiStatics.resume(model, tmp_path / "run.npz")
    for s in (sim, again):
        s.all_loads[-1].values[1] = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]
        s.change_force(number, [0.5, 0.0, 0.0])
        s.apply_force(7, [0.5, 0.0, 0.0])
        s.run(4, 0.01)
    np.testing.assert_array_equal(again.configuration, sim.configuration)


def test_bad_loads_are_refused_and_change_nothing():
    sim = QuasiStatics(chain(5))
    load = sim.loads([0, 3])
    load.values[:] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    before, qdd = np.array(load.values), sim.accelerations()
    with pytest.raises(NonFiniteError, match="must be finite"):
        load.values[:] = np.nan
    with pytest.raises(NonFiniteError, match="must be finite"):
        load.values[1] = [0.0, np.inf, 0.0]
    with pytest.raises(ShapeError, match="do not fit"):
        load.values[:] = np.zeros((3, 3))
    with pytest.raises(ShapeError, match="do not fit"):
        load.values[0] = [1.0, 2.0]
    with pytest.raises(IndexError):
        load.values[2] = [1.0, 2.0, 3.0]
    with pytest.raises(ShapeError, match=r"points: expected shape \(1, 3\)"):
        sim.loads([0], points=[0.0, 0.0, 0.0])
    with pytest.raises(NonFiniteError, match="points"):
        sim.loads([0], points=[[0.0, np.nan, 0.0]])
    with pytest.raises(UnknownNameError, match="there is no body 9"):
        sim.loads([9])
    with pytest.raises(UnknownNameError, match="moves nothing"):
        sim.loads(["world"])
    np.testing.assert_array_equal(load.values, before)
    np.testing.assert_array_equal(sim.accelerations(), qdd)
    view = load.values[0]
    view[:] = 7.0  # a copy
    np.testing.assert_array_equal(load.values, before)


def test_single_forces_wait_until_they_are_needed_and_are_kept_as_they_were_set():
    sims = [QuasiStatics(chain(30), relative_joint(1e-3), "adaptive") for _ in range(2)]
    loads = [sim.loads(range(30)) for sim in sims]
    value = [1.0, 2.0, 3.0]
    loads[0].values[4] = value
    value[0] = 9.0  # ours no more
    loads[1].values[4:5] = [[1.0, 2.0, 3.0]]
    assert loads[0].values[4].tolist() == [1.0, 2.0, 3.0]
    for sim, load in zip(sims, loads, strict=True):
        sim.step(1e-3)
        load.values[7], load.values[4] = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
        load.values[-1] = (1.0, 0.0, 0.0)
        load.values[7] = np.array([0.0, 0.5, 1.0])
        sim.accelerations()
        load.values[3] = (0.0, 1, np.float64(2.0))
    np.testing.assert_array_equal(loads[0].values, loads[1].values)
    sims[1].remove_load(loads[1])
    with pytest.raises(UnknownNameError, match="have been taken away"):
        loads[1].values[0]
    sims[0].clear_forces()
    for sim in sims:
        sim.step(1e-3)
    np.testing.assert_array_equal(sims[0].configuration, sims[1].configuration)


def test_rows_are_used_again():
    sim = QuasiStatics(chain(5))
    for _ in range(100):
        sim.remove_load(sim.loads([0, 1, 2]))
        sim.remove_force(sim.apply_force(3, [1.0, 0.0, 0.0]))
    assert len(sim.inputs.forces.rows.body) <= 16


def test_forces_that_were_changed_one_by_one_act_in_every_form():
    model = chain(6)
    waits, plain = (QuasiStatics(model, method="aba") for _ in range(2))
    numbers = [waits.apply_force(b, (0.0, 0.0, 1.0)) for b in (1, 3, 5)]
    values = [(0.1, 0.2, 0.3), [0.4, 0.5, 0.6], np.array([0.7, 0.8, 0.9])]
    for number, value in zip(numbers, values, strict=True):
        waits.change_force(number, (9.0, 9.0, 9.0))
        waits.change_force(number, value)
    waits.change_force(numbers[0], (1, 2, 3))  # whole numbers are written at once, over what waits
    for body, value in zip((1, 3, 5), [(1.0, 2.0, 3.0), *values[1:]], strict=True):
        plain.apply_force(body, value)
    np.testing.assert_array_equal(waits.accelerations(), plain.accelerations())
    waits.change_force(numbers[1], (5.0, 5.0, 5.0))
    waits.remove_force(numbers[1])
    with pytest.raises(UnknownNameError):
        waits.change_force(numbers[1], (1.0, 1.0, 1.0))
    gone = QuasiStatics(model, method="aba")
    gone.apply_force(1, (1.0, 2.0, 3.0))
    gone.apply_force(5, values[2])
    np.testing.assert_array_equal(waits.accelerations(), gone.accelerations())
