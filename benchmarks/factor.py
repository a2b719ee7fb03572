"""Factorization alone: LTDL of balanced trees and chains beside MuJoCo, CHOLMOD and LAPACK, on one thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench.engines.mujoco import mujoco_model
from bough.app.bench.timing import Contestant, contest
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError, ModelError, NumericalError
from bough.model import Model
from bough.sparsity import Factor, ltdl
from bough.sparsity.pattern import to_dense
from bough.types import FloatArray

LEVELS = (6, 8, 10, 12)  # balanced trees of 63, 255, 1023 and 4095 joints
LINKS = (30, 100, 300, 1000, 4000)
MOST_FULL = 1000  # links of a chain, for those that look for zeros
EQUAL = 1e-10
SECONDS = 0.8
GROUP = "factorization of H, in all"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "BOUGH")}


def rows() -> list[Timing]:
    """In a process of its own, whose libraries are held to one thread before they are loaded."""
    command = [sys.executable, "-m", "benchmarks.factor"]
    run = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=True)
    return [Timing(**row) for row in json.loads(run.stdout)]


def measured() -> list[Timing]:
    balanced = [one(zoo.binary(levels), f"binary {2**levels - 1:,}") for levels in LEVELS]
    return balanced + [one(zoo.chain(n), f"chain {n:,}") for n in LINKS]


def one(model: Model, name: str) -> Timing:
    """`refactor` of given packed rows, with all its checks, beside those that take the same matrix."""
    b, dyn, tree = np.random.default_rng(1).normal(size=model.nv), Dynamics(model, general=True), model.dof_tree
    states = [model.random_configuration(np.random.default_rng(seed)) for seed in range(2)]
    matrices = [dyn.packed_mass_matrix(q) for q in states]
    problems = [Problem(model, q, H, b, ltdl(H, tree)) for q, H in zip(states, matrices, strict=True)]
    contestants: dict[str, Contestant] = {"bough": [partial(ltdl(H, tree).refactor, H) for H in matrices]}
    left_out = {}
    for peer, make in PEERS.items():
        try:
            contestants |= in_turn([make(problem) for problem in problems])
        except (BoughError, ImportError, ValueError) as error:
            left_out[peer] = str(error).splitlines()[0]
    long = model.nv > 1000 and name.startswith("chain")
    times = contest(contestants, seconds=4 * SECONDS if long else SECONDS, burst=30e-3 if model.nv >= 1000 else 2e-3)
    note = f"{int(tree.rows[-1]):,} elements of H"
    return Timing(GROUP, name, "LTDL", times, note).noted(left_out)


def in_turn(peers: Sequence[dict[str, Callable[[], Any]]]) -> dict[str, Contestant]:
    """The same calls on all matrices."""
    return {name: [calls[name] for calls in peers] for name in peers[0]}


class Problem(NamedTuple):
    """A model, H of a configuration in packed rows, a right-hand side, and what we make of it."""

    model: Model
    q: FloatArray
    H: FloatArray
    b: FloatArray
    factor: Factor


def require_solution(name: str, x: FloatArray, given: Problem) -> None:
    """Refuse to time what solves another system: |H x - b| is rounding beside |H| |x|, however ill-conditioned H is."""
    left = np.abs(given.factor.hmul(x) - given.b).max()
    gap = left / (np.abs(given.H).max() * np.abs(x).max() + np.abs(given.b).max())
    if not gap < EQUAL:
        raise NumericalError(f"{name} solves another system: {gap:.1e} is left of it")


def mj_factor(given: Problem) -> dict[str, Callable[[], Any]]:
    import mujoco

    model = given.model
    refuse_long_chains(model)
    twin, m = mujoco_model(model), model.mechanism
    state, found, x = mujoco.MjData(twin), np.empty((1, model.nv)), np.empty(model.nv)
    state.qpos[:] = given.q[m.q_index]
    mujoco.mj_kinematics(twin, state)
    mujoco.mj_comPos(twin, state)
    (getattr(mujoco, "mj_makeM", None) or mujoco.mj_crb)(twin, state)
    mujoco.mj_factorM(twin, state)
    mujoco.mj_solveM(twin, state, found, given.b[m.v_index][None].copy())
    x[m.v_index] = found[0]
    require_solution("mj_factorM", x, given)
    return {"mj_factorM": lambda: mujoco.mj_factorM(twin, state)}


def cholmod(given: Problem) -> dict[str, Callable[[], Any]]:
    """Numeric refactorization: the symbolic analysis, with the order that CHOLMOD chooses, was done before."""
    import cvxopt
    import cvxopt.cholmod

    tree = given.model.dof_tree
    refuse_long_chains(given.model)
    rows, columns = np.repeat(tree.order, np.diff(tree.rows)), tree.order[tree.ancestors]
    lower = np.maximum(rows, columns).tolist(), np.minimum(rows, columns).tolist()
    H = cvxopt.spmatrix(given.H.tolist(), *lower, (tree.n, tree.n))
    known, x = cvxopt.cholmod.symbolic(H), cvxopt.matrix(given.b)
    cvxopt.cholmod.numeric(H, known)
    cvxopt.cholmod.solve(known, x)
    require_solution("CHOLMOD", np.array(x)[:, 0], given)
    return {"cholmod.numeric (cvxopt)": lambda: cvxopt.cholmod.numeric(H, known)}


def lapack(given: Problem) -> dict[str, Callable[[], Any]]:
    """Cholesky of the full matrix, which does not know of branches."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    tree = given.model.dof_tree
    if tree.n > MOST_FULL and tree.height < tree.n:
        raise ModelError(f"a full matrix of {tree.n:,} rows, of which most are zero")
    H = np.asfortranarray(to_dense(given.H, tree))
    require_solution("LAPACK", dpotrs(dpotrf(H, lower=1)[0], given.b, lower=1)[0], given)
    return {"dpotrf (scipy)": lambda: dpotrf(H, lower=1, clean=0)}


def refuse_long_chains(model: Model) -> None:
    if model.dof_tree.height > MOST_FULL:
        raise ModelError("without zeros there is nothing to look for")


PEERS = {"mujoco": mj_factor, "cholmod": cholmod, "lapack": lapack}


if __name__ == "__main__":
    print(json.dumps([asdict(row) for row in measured()]))
