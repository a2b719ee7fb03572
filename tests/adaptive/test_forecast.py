"""Forecasts: what a simulation with that error would do, without doing anything."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

import bough
from bough.adaptive import Dynamics, QuasiStatics, body_acceleration, energy, harmonic, relative_joint, rms_acceleration
from bough.errors import SettingError
from sizes import size

EPS = [1e-3, 1e-1, 1e-2, 0.0]


def simulation(error, method="adaptive"):
    model = bough.zoo.molecule(size(300, 60), seed=2)
    face = Dynamics if error.over == "body" else QuasiStatics
    sim = face(model, error, method)
    sim.configuration = 0.1 * np.random.default_rng(0).normal(size=model.nv)
    sim.gravity = (0.0, 0.0, 0.0)
    sim.apply_force(7, (1.0, 2.0, 3.0))
    if face is Dynamics:
        sim.velocity = np.where(np.arange(model.nv) > model.nv - 5, 1.0, 0.0)
    return sim


MEASURES = [energy(0.1), relative_joint(0.1), body_acceleration(0.1), rms_acceleration(0.1)]


@pytest.mark.parametrize("error", MEASURES, ids=lambda e: e.name)
def test_it_is_what_a_simulation_with_that_error_computes(error):
    sim = simulation(error)
    found = sim.forecast(EPS)
    assert found.eps == tuple(sorted(EPS, reverse=True))
    assert list(found.active) == sorted(found.active)
    assert found.active[-1] == found.joints == len(sim.model.joints)
    assert found.gain[-1] == 1.0 <= min(found.gain)
    for eps, active, _ in found.rows[:-1]:
        other = simulation(replace(error, eps=eps))
        other.accelerations()
        assert active == other.stats.active


@pytest.mark.parametrize("error", MEASURES, ids=lambda e: e.name)
def test_it_changes_nothing(error):
    ends = []
    for asks in (True, False):
        sim = simulation(error)
        for _ in range(3):
            sim.run(2, 1e-3)
            if asks:
                sim.forecast(EPS)
        ends.append(sim.configuration)
    assert np.array_equal(*ends)


def test_a_table_and_a_picture(tmp_path):
    found = simulation(energy(0.1)).forecast(EPS)
    assert len(str(found).splitlines()) == 2 + len(EPS)
    found.save(tmp_path / "f.svg")
    picture = ElementTree.parse(tmp_path / "f.svg").getroot()
    assert len(picture.findall("{*}rect")) == len(EPS)
    with pytest.raises(SettingError, match=r"saved as \.svg"):
        found.save(tmp_path / "f.png")


def test_what_it_does_not_know_is_refused():
    sim = simulation(energy(0.1))
    with pytest.raises(SettingError, match="at least one eps"):
        sim.forecast([])
    with pytest.raises(SettingError, match="eps must be a finite number"):
        sim.forecast([-1.0])
    sim.set_potential(0, harmonic(1.0))
    assert sim.forecast([0.1]).active[0] > 0
    sim.set_potential(0, lambda x, which: (0.0 * x, 0.0 * x, 0.0 * x))
    with pytest.raises(SettingError, match="Python functions"):
        sim.forecast([0.1])
