"""Factorization alone: LTDL of balanced trees and chains beside MuJoCo, CHOLMOD and LAPACK, on one thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from bough import zoo
from bough.bench.peers import mujoco_twin
from bough.bench.report import Timing
from bough.bench.timing import contest
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError, NumericalError
from bough.model import Model
from bough.sparsity import Factor, ltdl
from bough.types import FloatArray

LEVELS = (6, 8, 10, 12)  # balanced trees of 63, 255, 1023 and 4095 joints
LINKS = (30, 100, 300, 1000, 2000, 4000)
MOST_DENSE = 4000  # DoF, for LAPACK
EQUAL = 1e-10
SECONDS = 0.8
GROUP = "factorization of H, in all"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "BOUGH")}


def rows() -> list[Timing]:
    """In a process of its own, whose libraries are held to one thread before they are loaded."""
    command = [sys.executable, "-m", "bough.bench.factor"]
    run = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=True)
    return [Timing(**row) for row in json.loads(run.stdout)]


def measured() -> list[Timing]:
    balanced = [one(zoo.binary(levels), f"binary {2**levels - 1:,}") for levels in LEVELS]
    return balanced + [one(zoo.chain(n), f"chain {n:,}") for n in LINKS]


def one(model: Model, name: str) -> Timing:
    """`ltdl` of given packed rows, with all its checks, beside those that take the same matrix."""
    q, b = model.random_configuration(np.random.default_rng(0)), np.random.default_rng(1).normal(size=model.nv)
    dyn = Dynamics(model, general=True)
    H, tree = dyn.packed_mass_matrix(q), model.dof_tree
    factor = ltdl(H, tree)
    contestants: dict[str, Callable[[], Any]] = {"bough": lambda: ltdl(H, tree)}
    left_out = {}
    for peer, make in PEERS.items():
        try:
            contestants |= make(model, q, factor, b)
        except (BoughError, ImportError, ValueError) as error:
            left_out[peer] = str(error).splitlines()[0]
    long = model.nv > 1000 and name.startswith("chain")
    times = contest(contestants, seconds=4 * SECONDS if long else SECONDS, burst=30e-3 if model.nv >= 1000 else 2e-3)
    note = f"{int(tree.rows[-1]):,} elements of H"
    return Timing(GROUP, name, "LTDL", times, note).noted(left_out)


def require_solution(name: str, x: FloatArray, factor: Factor, b: FloatArray) -> None:
    """Refuse to time what solves another system: |H x - b| is rounding beside |H| |x|, however ill-conditioned H is."""
    largest = float(np.abs(factor.reconstruct("packed")).max())
    gap = np.abs(factor.hmul(x) - b).max() / (largest * np.abs(x).max() + np.abs(b).max())
    if not gap < EQUAL:
        raise NumericalError(f"{name} solves another system: {gap:.1e} is left of it")


def mj_factor(model: Model, q: FloatArray, factor: Factor, b: FloatArray) -> dict[str, Callable[[], Any]]:
    import mujoco

    twin, m = mujoco_twin(model), model.mechanism
    state, found = mujoco.MjData(twin), np.empty((1, model.nv))
    state.qpos[:] = q[m.q_index]
    mujoco.mj_kinematics(twin, state)
    mujoco.mj_comPos(twin, state)
    (getattr(mujoco, "mj_makeM", None) or mujoco.mj_crb)(twin, state)
    mujoco.mj_factorM(twin, state)
    mujoco.mj_solveM(twin, state, found, b[m.v_index][None].copy())
    x = np.empty(model.nv)
    x[m.v_index] = found[0]
    require_solution("mj_factorM", x, factor, b)
    return {"mj_factorM": lambda: mujoco.mj_factorM(twin, state)}


def cholmod(model: Model, q: FloatArray, factor: Factor, b: FloatArray) -> dict[str, Callable[[], Any]]:
    """Numeric refactorization: the symbolic analysis, with the order that CHOLMOD chooses, was done before."""
    import cvxopt
    import cvxopt.cholmod

    tree = model.dof_tree
    packed = factor.reconstruct("packed")
    rows = np.repeat(tree.order, np.diff(tree.rows))
    columns = tree.order[tree.ancestors]
    lower = np.maximum(rows, columns).tolist(), np.minimum(rows, columns).tolist()
    H = cvxopt.spmatrix(packed.tolist(), *lower, (model.nv, model.nv))
    known = cvxopt.cholmod.symbolic(H)
    cvxopt.cholmod.numeric(H, known)
    x = cvxopt.matrix(b)
    cvxopt.cholmod.solve(known, x)
    require_solution("CHOLMOD", np.array(x)[:, 0], factor, b)
    return {"cholmod.numeric (cvxopt)": lambda: cvxopt.cholmod.numeric(H, known)}


def lapack(model: Model, q: FloatArray, factor: Factor, b: FloatArray) -> dict[str, Callable[[], Any]]:
    """Cholesky of the full matrix, which does not know of branches."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    if model.nv > MOST_DENSE:
        return {}
    H = np.asfortranarray(factor.reconstruct())
    require_solution("LAPACK", dpotrs(dpotrf(H, lower=1)[0], b, lower=1)[0], factor, b)
    return {"dpotrf (scipy)": lambda: dpotrf(H, lower=1, clean=0)}


PEERS = {"mujoco": mj_factor, "cholmod": cholmod, "lapack": lapack}


if __name__ == "__main__":
    print(json.dumps([asdict(row) for row in measured()]))
