"""Sampling in torsion space: Langevin dynamics, dynamics of constant energy, and hybrid Monte Carlo.

A step of dynamics is BAOAB (Leimkuhler & Matthews 2013) on the tree, with one call of the energy: half a kick of the
momenta p = H v, half a free flight, friction and noise, half a flight, the energy, half a kick. Flights are symplectic
(`flight`), so without friction the energy has no drift of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bough.compile.run.direct import compiled
from bough.errors import SettingError, ShapeError
from bough.molecules.energy import AtomEnergy, TorsionEnergy
from bough.molecules.fixman import LogDeterminant, sweep_work, thermal_velocities
from bough.molecules.flight import Flight
from bough.molecules.writing import Trajectory
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

KB = 0.00831446261815324  # kJ/mol/K


@dataclass(frozen=True)
class Settings:
    """Settings of dynamics and Monte Carlo."""

    temperature: float  # K
    dt: float  # ps
    steps: int
    friction: float = 1.0  # 1/ps
    fixman: bool = False
    every: int = 10  # steps between frames
    seed: int = 0

    def __post_init__(self) -> None:
        if not (0.0 <= self.temperature < math.inf and 0.0 < self.dt < math.inf and 0.0 <= self.friction < math.inf):
            given = f"{self.temperature}, {self.dt} and {self.friction}"
            raise SettingError(f"temperature and friction must not be negative and dt positive, got {given}")
        if self.steps < 1 or self.every < 1 or self.seed < 0:
            given = f"{self.steps}, {self.every} and {self.seed}"
            raise SettingError(f"steps and every must be 1 at least and seed not negative, got {given}")


class Sampler:
    """A molecule under an energy: forces and velocities in torsion space."""

    def __init__(self, molecule: Molecule, terms: list[AtomEnergy], settings: Settings) -> None:
        self.molecule, self.model, self.settings = molecule, molecule.model, settings
        self.energy = TorsionEnergy(molecule, terms)
        self.rng = np.random.default_rng(settings.seed)
        self.kT = KB * settings.temperature
        self.fixman = LogDeterminant(self.model) if settings.fixman else None
        self._work = sweep_work(self.model)
        self.flight = Flight(molecule.dynamics)

    def velocities(self, q: FloatArray) -> FloatArray:
        """(nv,) drawn with covariance kT H^-1."""
        v, e = np.empty(self.model.nv), self.rng.normal(size=self.model.nv)
        compiled(thermal_velocities)(self.model.mechanism, q, e, v, self._work)
        return math.sqrt(self.kT) * v

    def force(self, q: FloatArray) -> tuple[float, FloatArray]:
        """The potential energy, and the generalized forces; with Fixman's potential if it was chosen."""
        energy, gradient = self.energy(q)
        if self.fixman is not None:
            value, slope = self.fixman(q)
            energy, gradient = energy + 0.5 * self.kT * value, gradient + 0.5 * self.kT * slope
        return energy, -gradient

    def step(self, q: FloatArray, p: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """One step from q, the momenta p and the forces there; returns q, p, forces and potential energy."""
        dt, friction, flight = self.settings.dt, self.settings.friction, self.flight
        p = p + 0.5 * dt * tau
        if friction > 0.0:
            q, p = flight.step(q, p, 0.5 * dt)
            keep = math.exp(-friction * dt)
            p = keep * p + math.sqrt(1.0 - keep * keep) * flight.momentum(q, self.velocities(q))
            q, p = flight.step(q, p, 0.5 * dt)
        else:
            q, p = flight.step(q, p, dt)
        energy, tau = self.force(q)
        return q, p + 0.5 * dt * tau, tau, energy


def langevin(
    molecule: Molecule, terms: list[AtomEnergy], settings: Settings, q: npt.ArrayLike | None, v: npt.ArrayLike | None
) -> Trajectory:
    """See `Molecule.langevin`."""
    sampler = Sampler(molecule, terms, settings)
    at = molecule.start(q)
    rate = sampler.velocities(at) if v is None else np.array(v, float)
    if rate.shape != (molecule.model.nv,):
        raise ShapeError(f"v: expected shape ({molecule.model.nv},), got {rate.shape}")
    energy, tau = sampler.force(at)
    p, rows = sampler.flight.momentum(at, rate), list[tuple[Any, ...]]()
    for step in range(settings.steps + 1):
        if step:
            at, p, tau, energy = sampler.step(at, p, tau)
        if step % settings.every == 0 or step == settings.steps:
            rate = sampler.flight.velocity(at, p)
            kinetic = 0.5 * float(p @ rate)
            rows.append((step * settings.dt, at, energy, energy + kinetic, 2.0 * kinetic / (KB * molecule.model.nv)))
    time, frames, energies, total, temperature = (np.array(column) for column in zip(*rows, strict=True))
    tracks = {"total energy, kJ/mol": total, "temperature, K": temperature}
    return Trajectory(molecule, frames, energies, time, calls=sampler.energy.calls, tracks=tracks, v=rate)


def hybrid_monte_carlo(
    molecule: Molecule, terms: list[AtomEnergy], settings: Settings, samples: int, q: npt.ArrayLike | None
) -> Trajectory:
    """See `Molecule.hybrid_monte_carlo`.

    The metric M = H at the start is the same for all: then leapfrog steps keep volumes, and the torsions have the
    density exp(-U/kT), that of a flexible molecule. For the rigid model's, sqrt(det H) is part of the density.
    """
    sampler = Sampler(molecule, terms, Settings(**{**vars(settings), "fixman": False}))
    at, model, kT, dt = molecule.start(q), molecule.model, sampler.kT, settings.dt
    if kT <= 0.0 or samples < 1:
        given = f"{settings.temperature:g} and {samples}"
        raise SettingError(f"hybrid Monte Carlo needs a temperature above zero and 1 sample at least, got {given}")
    metric = molecule.dynamics.factorize(at)
    rigid = None if settings.fixman else LogDeterminant(model)

    def force(x: FloatArray) -> tuple[float, FloatArray]:
        energy, tau = sampler.force(x)
        if rigid is not None:
            value, slope = rigid(x)
            energy, tau = energy - 0.5 * kT * value, tau + 0.5 * kT * slope
        return energy, tau

    energy, tau = force(at)
    taken, rows = 0, [(at, sampler.energy.last)]
    for _ in range(samples):
        # p ~ N(0, kT M), v = M^-1 p, so v ~ N(0, kT M^-1)
        v = math.sqrt(kT) * metric.lsolve(sampler.rng.normal(size=model.nv) / np.sqrt(metric.D))
        new, end, push, rate = at, energy, tau, v
        for _ in range(settings.steps):
            rate = rate + 0.5 * dt * metric.solve(push)
            new = model.integrate(new, dt * rate)
            end, push = force(new)
            rate = rate + 0.5 * dt * metric.solve(push)
        change = end - energy + 0.5 * float(rate @ metric.hmul(rate) - v @ metric.hmul(v))
        if sampler.rng.random() < math.exp(min(0.0, -change / kT)):
            at, energy, tau, taken = new, end, push, taken + 1
            last = sampler.energy.last
        else:
            last = rows[-1][1]
        rows.append((at, last))
    frames, energies = (np.array(column) for column in zip(*rows, strict=True))
    time = np.arange(len(rows), dtype=float)
    reason = f"{taken} of {samples} moves were accepted"
    return Trajectory(molecule, frames, energies, time, "samples", True, reason, sampler.energy.calls)
