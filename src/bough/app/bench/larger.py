"""Functions with larger results on any mechanism: derivatives, the regressor, and the operational space of its tips."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from bough.app.bench.engines.common import check, random_state
from bough.app.bench.engines.derivatives import Peer
from bough.app.bench.timing import Timing, contest
from bough.compile.settings import on_threads
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError
from bough.model import Model
from bough.opspace import ConstrainedDynamics, OperationalSpace, position
from bough.types import FloatArray

FORWARD_BY, INVERSE_BY, REGRESSOR = "forward dynamics derivatives", "inverse dynamics derivatives", "regressor"
LAMBDA, PASS, HELD = "Lambda^-1 of end effectors", "J, beta, Lambda, Jbar, N", "constrained forward dynamics"
MOST_TIPS = 4


class Tips:
    """The positions of at most four ends of limbs, three rows each, in their own axes."""

    def __init__(self, model: Model, dyn: Dynamics) -> None:
        m, body = model.mechanism, np.asarray(model.frames.body)
        ends = sorted(set(range(len(m.parent))) - {int(i) for i in m.parent})[-MOST_TIPS:]
        self.frames = [int(np.flatnonzero(body == i)[-1]) for i in ends]
        tasks = [position(model.frame_names[k], "local", name=f"tip {k}") for k in self.frames]
        self.space = OperationalSpace(model, tasks, dynamics=dyn)
        self.held = ConstrainedDynamics(self.space)

    def full(self, q: FloatArray, v: FloatArray, threads: int | None = None) -> Any:
        with on_threads(threads):
            return self.space.full(q, v)


def functions(dyn: Dynamics, tips: Tips) -> dict[str, Callable[..., Any]]:
    """Of q, v and tau, one or many."""
    return {
        FORWARD_BY: dyn.forward_dynamics_derivatives,
        INVERSE_BY: dyn.inverse_dynamics_derivatives,
        REGRESSOR: dyn.regressor,
        LAMBDA: lambda q, v, tau, **k: tips.space.inverse_inertia(q, **k),
        PASS: lambda q, v, tau, **k: tips.full(q, v, **k),
        HELD: tips.held,
    }


def single(model: Model, dyn: Dynamics, seconds: float, pinocchio: bool) -> list[Timing]:
    """One call of each, beside Pinocchio where it takes part and agrees; what cannot be had says why."""
    s, tips = random_state(model), Tips(model, dyn)
    peers, found = TipPeers(model, tips).calls if pinocchio else {}, []
    for case, function in functions(dyn, tips).items():
        v = 0 * s.v if case == HELD else s.v  # at rest, where all kinds of acceleration are one
        calls: dict[str, Callable[[], Any]] = {"bough": partial(function, s.q, v, s.tau)}
        left_out: dict[str, str] = {}
        try:
            calls["bough"]()
        except BoughError as error:
            found.append(Timing("single call", model.name, case, {}, f"not measured: {error}"))
            continue
        try:
            calls |= peers[case]() if case in peers else {}
        except BoughError as error:
            left_out["pinocchio"] = str(error)
        found.append(Timing("single call", model.name, case, contest(calls, seconds)).noted(left_out))
    return found


class TipPeers(Peer):
    """Pinocchio's calls, each compared with ours when it is asked for."""

    def __init__(self, model: Model, tips: Tips) -> None:
        super().__init__(model)
        self.tips = tips
        self.calls: dict[str, Callable[[], dict[str, Callable[[], Any]]]] = {
            FORWARD_BY: partial(self.derived, "computeABADerivatives"),
            INVERSE_BY: partial(self.derived, "computeRNEADerivatives"),
            REGRESSOR: self.regressor,
            LAMBDA: self.delassus,
            HELD: self.held,
        }

    def derived(self, name: str) -> dict[str, Callable[[], Any]]:
        self.check_derivatives()
        return {f"pin.{name}": self.call(name, self.v, self.tau)}

    def regressor(self) -> dict[str, Callable[[], Any]]:
        self.check_regressor()
        return {"pin.computeJointTorqueRegressor": self.call("computeJointTorqueRegressor", self.v, self.tau)}

    def contacts(self) -> tuple[Any, Any]:
        """A point contact at each tip, and its data."""
        pin: Any = import_module("pinocchio")
        frames, models, data = self.model.frames, pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for k in self.tips.frames:
            at = pin.SE3(np.array(frames.R[k]), np.array(frames.p[k]))
            joint = int(frames.body[k]) + 1
            models.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.twin, joint, at, pin.LOCAL))
            data.append(models[-1].createData())
        return models, data

    def delassus(self) -> dict[str, Callable[[], Any]]:
        run = self.call("computeDelassusMatrix", *map(list, self.contacts()), 0.0)
        check("pin.computeDelassusMatrix", run(), self.tips.space.inverse_inertia(self.s.q))
        return {"pin.computeDelassusMatrix": run}

    def held(self) -> dict[str, Callable[[], Any]]:
        pin: Any = import_module("pinocchio")
        models, data = self.contacts()
        pin.initConstraintDynamics(self.twin, self.data, models, data)
        run = self.call("constraintDynamics", 0 * self.v, self.tau, models, data, pin.ProximalSettings(1e-12, 1e-10, 3))
        wanted = self.tips.held(self.s.q, 0 * self.s.v, self.s.tau).qdd
        check("pin.constraintDynamics", run(), wanted[self.s.v_order])
        return {"pin.constraintDynamics": run}
