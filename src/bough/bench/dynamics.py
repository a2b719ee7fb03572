"""Forward and inverse dynamics, mass matrix and its inverse: Bough beside Pinocchio and MuJoCo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bough import zoo
from bough.bench.peers import mujoco_twin, pinocchio_twin
from bough.bench.report import Timing
from bough.bench.timing import contest
from bough.compile.executions import bind_arrays
from bough.dynamics.dynamics import Dynamics
from bough.io import load
from bough.model import Model
from bough.sparsity.routines import LTDL, PackedRows

BATCH = 4096


def rows() -> list[Timing]:
    """All comparisons, on the 30-DoF humanoid of Featherstone 2005 and on a real robot of 35 DoF."""
    found: list[Timing] = []
    for model in models():
        found += [*single(model), *general(model), *batch(model)]
    return found


def models() -> list[Model]:
    g1 = robot_file("g1_29dof_rev_1_0.urdf")
    return [zoo.humanoid(), *([load(g1, floating_base=True)] if g1 else [])]


def robot_file(name: str) -> Path | None:
    """A robot of the example-robot-data package, if that is installed."""
    import site

    for folder in site.getsitepackages():
        for path in sorted(Path(folder).glob(f"**/example-robot-data/robots/**/{name}")):
            return path
    return None


class Setting:
    """One model in all three engines, with random states; vectors for the peers are in depth-first order."""

    def __init__(self, model: Model, batch: int = BATCH) -> None:
        import mujoco
        import pinocchio as pin

        rng = np.random.default_rng(1)
        self.model = model
        self.Q = model.random_configuration(rng, batch=batch)
        self.V, self.T = rng.normal(size=(2, batch, model.nv))
        self.q, self.v, self.tau = self.Q[0].copy(), self.V[0].copy(), self.T[0].copy()
        self.pin = pinocchio_twin(model)
        self.data = self.pin.createData()
        self.mujoco = mujoco_twin(model)
        self.state = mujoco.MjData(self.mujoco)
        self.pin_q = pin.randomConfiguration(self.pin, -np.ones(self.pin.nq), np.ones(self.pin.nq))
        self.state.qpos[:] = self.pin_q
        self.state.qvel[:] = self.v


def single(model: Model) -> list[Timing]:
    """One call from Python, everything included."""
    import mujoco
    import pinocchio as pin

    s, dyn = Setting(model, 2), Dynamics(model)
    q, v, tau = s.q, s.v, s.tau
    cases: dict[str, dict[str, Callable[[], Any]]] = {
        "forward dynamics": {
            "bough": lambda: dyn.forward_dynamics(q, v, tau),
            "pin.aba": lambda: pin.aba(s.pin, s.data, s.pin_q, v, tau),
            "mj_forward": lambda: mujoco.mj_forward(s.mujoco, s.state),
        },
        "inverse dynamics": {
            "bough": lambda: dyn.inverse_dynamics(q, v, tau),
            "pin.rnea": lambda: pin.rnea(s.pin, s.data, s.pin_q, v, tau),
        },
        "mass matrix": {
            "bough": lambda: dyn.mass_matrix(q),
            "pin.crba": lambda: pin.crba(s.pin, s.data, s.pin_q),
        },
        "inverse mass matrix": {
            "bough": lambda: dyn.inverse_mass_matrix(q),
            "pin.computeMinverse": lambda: pin.computeMinverse(s.pin, s.data, s.pin_q),
        },
        "inverse dynamics derivatives": {
            "bough": lambda: dyn.inverse_dynamics_derivatives(q, v, tau),
            "pin.computeRNEADerivatives": lambda: pin.computeRNEADerivatives(s.pin, s.data, s.pin_q, v, tau),
        },
    }
    return [Timing("single call", model.name, case, contest(contestants)) for case, contestants in cases.items()]


def general(model: Model) -> list[Timing]:
    """One call of the code that serves every model, and the factorization alone."""
    import pinocchio as pin

    s, dyn = Setting(model, 2), Dynamics(model, general=True)
    q, v, tau = s.q, s.v, s.tau
    factor = factorization(model)
    H = dyn.packed_mass_matrix(q)
    pin.crba(s.pin, s.data, s.pin_q)
    cases: dict[str, dict[str, Callable[[], Any]]] = {
        "forward dynamics": {
            "bough": lambda: dyn.forward_dynamics(q, v, tau),
            "pin.aba": lambda: pin.aba(s.pin, s.data, s.pin_q, v, tau),
        },
        "inverse dynamics": {
            "bough": lambda: dyn.inverse_dynamics(q, v, tau),
            "pin.rnea": lambda: pin.rnea(s.pin, s.data, s.pin_q, v, tau),
        },
        "packed mass matrix": {
            "bough": lambda: dyn.packed_mass_matrix(q),
            "pin.crba": lambda: pin.crba(s.pin, s.data, s.pin_q),
        },
        "LTDL": {
            "bough": lambda: factor(H),
            "pin.cholesky.decompose": lambda: pin.cholesky.decompose(s.pin, s.data),
        },
    }
    return [Timing("general code, single call", model.name, case, contest(c)) for case, c in cases.items()]


def factorization(model: Model) -> Callable[..., Any]:
    """LTDL of packed rows as a function H -> L, by the general code."""
    tree = model.dof_tree
    constants = PackedRows(tree.regular, tree.rows, tree.order, np.array([0]))
    return bind_arrays(LTDL, (constants,), {"packed": int(tree.rows[-1])}, general=True).call


def batch(model: Model) -> list[Timing]:
    """A batch of 4096 configurations on one thread; times are per configuration."""
    import pinocchio as pin
    from mujoco.batch import Batch

    s, dyn = Setting(model), Dynamics(model)
    Q, V, T = s.Q, s.V, s.T
    qdd, H = np.empty_like(V), dyn.packed_mass_matrix(Q)
    single_precision = [x.astype(np.float32) for x in (Q, V, T, qdd)]
    pool, columns = pin.ModelPool(s.pin, 1), [np.asfortranarray(x.T) for x in (np.tile(s.pin_q, (BATCH, 1)), V, T, qdd)]
    peer = Batch(s.mujoco, BATCH, 1)
    peer.qpos[:], peer.qvel[:] = s.pin_q, V
    forward, inverse = dyn._library.function("forward_dynamics").call, dyn._library.function("inverse_dynamics").call
    by_factor = dyn._library.function("forward_dynamics", "crba").call
    packed = dyn._library.function("packed_mass_matrix").call
    cases: dict[str, dict[str, Callable[[], Any]]] = {
        "forward dynamics": {
            "bough": lambda: forward(Q, V, T, out=qdd, threads=1),
            "bough float32": lambda: forward(*single_precision[:3], out=single_precision[3], threads=1),
            "bough 2 threads": lambda: forward(Q, V, T, out=qdd, threads=2),
            "pin.abaInParallel": lambda: pin.abaInParallel(1, pool, *columns),
            "mujoco.batch": lambda: peer.forward(),
        },
        "inverse dynamics": {
            "bough": lambda: inverse(Q, V, T, out=qdd, threads=1),
            "pin.rneaInParallel": lambda: pin.rneaInParallel(1, pool, *columns),
        },
        "packed mass matrix": {
            "bough": lambda: packed(Q, out=H, threads=1),
            "loop over pin.crba": lambda: [pin.crba(s.pin, s.data, s.pin_q) for _ in range(64)],
        },
        "CRBA, LTDL and solve": {
            "bough": lambda: by_factor(Q, V, T, out=qdd, threads=1),
            "mujoco.batch": lambda: peer.forward(),
        },
    }
    found = []
    for case, contestants in cases.items():
        times = contest(contestants, burst=10e-3)
        rows = {name: BATCH if not name.startswith("loop") else 64 for name in times}
        found.append(Timing("batch of 4096", model.name, case, {name: t / rows[name] for name, t in times.items()}))
    return found
