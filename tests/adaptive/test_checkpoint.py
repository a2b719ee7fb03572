"""Checkpoints: exact to the last bit, whole or not there, and refused by one error when damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from adaptive.linkages import random_linkage
from bough.adaptive import QuasiStatics, absolute_joint, near, relative_joint
from bough.adaptive.checkpoint import read_checkpoint, write_checkpoint
from bough.errors import CheckpointError
from bough.zoo import chain, molecule
from sizes import size

DT = 0.01


def loaded(model, error, method, **options):
    sim = QuasiStatics(model, error, method, **options)
    sim.gravity = (0, 0, 0)
    sim.apply_force(len(model.body_names) // 2, [1.0, 2.0, 0.5])
    return sim


@pytest.mark.parametrize("before", [3, 20, size(150, 40)])
def test_auto_goes_on_to_the_last_bit(tmp_path, before):
    model = molecule(600, seed=2)
    sim = loaded(model, relative_joint(1e-3), "auto")
    sim.run(before, DT)
    sim.checkpoint(tmp_path / "run.npz")
    again = QuasiStatics.resume(model, tmp_path / "run.npz")
    for s in (sim, again):
        s.run(size(150, 20), DT)
    assert sim.stats.method == again.stats.method
    np.testing.assert_array_equal(again.configuration, sim.configuration)
    np.testing.assert_array_equal(again.accelerations(), sim.accelerations())


def test_a_tree_of_its_own_whose_rounding_depends_on_loads_goes_on(tmp_path):
    twin = random_linkage(4, 40, types=("revolute",), decades=6)
    sim = loaded(twin.model, relative_joint(1e-2), "adaptive", assembly=near([3]))
    sim.run(4, 1e-3)
    assert sim.solver.tree.noise.depends_on_loads
    sim.checkpoint(tmp_path / "run.npz")
    again = QuasiStatics.resume(twin.model, tmp_path / "run.npz")
    for s in (sim, again):
        s.run(4, 1e-3)
    np.testing.assert_allclose(again.configuration, sim.configuration, rtol=1e-12, atol=1e-14)


def test_how_a_run_is_divided_changes_nothing():
    model = molecule(600, seed=2)
    whole, divided = (loaded(model, relative_joint(1e-3), "auto") for _ in range(2))
    parts = size((1, 7, 92, 30, 70), (1, 7, 12))
    whole.run(sum(parts), DT)
    for n in parts:
        divided.run(n, DT)
    assert whole.stats.method == "adaptive"
    np.testing.assert_array_equal(whole.configuration, divided.configuration)


def test_clusters_opened_by_hand_stay_open(tmp_path):
    model = chain(200)
    sim = loaded(model, relative_joint(0.5), "adaptive", culled="zero", catch_up=False)
    sim.refine(budget=40)
    sim.checkpoint(tmp_path / "run.npz")
    again = QuasiStatics.resume(model, tmp_path / "run.npz")
    assert again.stats.joints == sim.stats.joints
    for s in (sim, again):
        s.step(DT)
    np.testing.assert_array_equal(again.configuration, sim.configuration)


def test_every_option_survives(tmp_path):
    model = chain(40)
    sim = loaded(model, absolute_joint(0.1), "adaptive", catch_up=True, max_turn=0.03, refresh=77)
    sim.run(5, h=1e-3)
    sim.checkpoint(tmp_path / "run.npz")
    again = QuasiStatics.resume(model, tmp_path / "run.npz")
    assert again.error == sim.error
    assert (again.stepper.max_turn, again.stepper.refresh) == (0.03, 77)
    assert (again.pseudo_time, again.time, again.steps) == (sim.pseudo_time, sim.time, 5)


def test_damage_of_any_kind_is_one_error(tmp_path):
    model, path = chain(5), tmp_path / "run.npz"
    QuasiStatics(model, relative_joint(0.1)).checkpoint(path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    damaged = [b"", b"PK", whole + b"x", whole[1:], b"x" * len(whole)]
    damaged += [whole[:k] for k in rng.integers(0, len(whole), 100).tolist()]
    for place, bit in zip(rng.integers(0, len(whole), 400).tolist(), rng.integers(0, 8, 400).tolist(), strict=True):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        damaged.append(bytes(flipped))
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="damaged or none"):
            QuasiStatics.resume(model, path)
    with pytest.raises(CheckpointError, match="cannot be read"):
        QuasiStatics.resume(model, tmp_path)
    path.write_bytes(whole)
    QuasiStatics.resume(model, path)


def test_other_readers_find_the_arrays(tmp_path):
    model, path = chain(5), tmp_path / "run.npz"
    QuasiStatics(model).checkpoint(path)
    with np.load(path) as file:
        np.testing.assert_array_equal(file["inputs/q"], model.neutral)


def test_a_format_to_come_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("bough.adaptive.checkpoint.VERSION", 99)
    write_checkpoint(tmp_path / "run.npz", {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="has format 99, expected 7"):
        read_checkpoint(tmp_path / "run.npz")


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_an_interrupted_save_leaves_the_last_one_and_no_litter(tmp_path, monkeypatch, call):
    path = tmp_path / "run.npz"
    write_checkpoint(path, {"a": np.arange(3)})

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, call, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(path, {"a": np.arange(4)})
    monkeypatch.undo()
    assert len(read_checkpoint(path)["a"]) == 3
    assert list(tmp_path.iterdir()) == [path]


SAVE_FOREVER = """
import sys, numpy as np
from bough.adaptive.checkpoint import write_checkpoint
noise = np.random.default_rng(0).random(100_000)
k = 0
while True:
    k += 1
    write_checkpoint(sys.argv[1], {"noise": noise, "k": np.array(k)})
"""


def test_a_kill_while_saving_leaves_a_whole_checkpoint(tmp_path):
    path = tmp_path / "run.npz"
    with subprocess.Popen([sys.executable, "-c", SAVE_FOREVER, str(path)]) as child:
        while not path.exists() and child.poll() is None:
            time.sleep(0.01)
        seen = [int(read_checkpoint(path)["k"]) for _ in range(50)]  # read while it is replaced again and again
        child.send_signal(signal.SIGKILL)
    assert sorted(seen) == seen
    assert int(read_checkpoint(path)["k"]) >= seen[-1]
