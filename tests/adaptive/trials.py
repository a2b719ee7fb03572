"""Random trials of every bound that adaptive simulation states, beside solutions of all joints."""

import warnings
from dataclasses import replace

import numpy as np
from scipy.optimize import lsq_linear

import bough
from adaptive.linkages import random_forces, random_linkage
from bough import adaptive
from bough.adaptive import Closure
from bough.model import Passive

TYPES = (("revolute",), ("revolute", "prismatic", "spherical"), ("revolute", "universal", "cylindrical", "planar"))
AT_REST = ("relative_joint", "absolute_joint", "relative_linkage", "absolute_linkage", "energy", "displacement")
DECADES = (0, 0, 2, 4, 6, 8)  # of masses
H = 1e-4  # s^2, of a step from rest


def with_loops(model, q, rng, count):
    """The model with loops that are closed at q, and their closures."""
    names, closures = model.body_names, []
    for k in range(count):
        a, b = rng.choice(len(names), 2, replace=False).tolist()
        poses = adaptive_poses(model, q, [a, b])
        model = model.with_frame(f"end{k}", names[a], np.linalg.inv(poses[0]) @ poses[1])
        closures.append(Closure(f"end{k}", names[b], str(rng.choice(["spherical", "revolute", "fixed"]))))
    return model, closures


def adaptive_poses(model, q, bodies):
    sim = adaptive.QuasiStatics(model, method="aba", without=["friction", "limits", "closures"])
    sim.configuration = q
    return sim.poses(bodies)


def case(seed):
    """(twin, model with laws, q, closures, rng, words)."""
    rng = np.random.default_rng(seed)
    decades = int(rng.choice(DECADES))
    types = TYPES[int(rng.integers(len(TYPES)))]
    twin = random_linkage(seed, int(rng.integers(5, 40)), types, floating=rng.random() < 0.3, decades=decades)
    model, n = twin.model, twin.model.nv
    q = model.random_configuration(rng)
    laws = rng.random(4) < 0.35
    joint = np.ones(n)
    if model.joints[0].type == "floating":
        joint[:6] = 0.0

    def some(on, top):
        return joint * on * (rng.random(n) < 0.5) * rng.uniform(0.0, top, n)

    passive = Passive(some(laws[0], 0.5), some(laws[1], 1.0), some(laws[2], 5.0), np.zeros(n))
    model = replace(model, passive=passive)
    if laws[3]:
        at, v = model.scalar_joints
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        chosen = rng.random(len(v)) < 0.3
        lower[v[chosen]], upper[v[chosen]] = q[at[chosen]] - rng.choice([0.0, 0.2]), q[at[chosen]] + 0.2
        model = replace(model, limits=model.limits._replace(lower=lower, upper=upper))
    closures = []
    if rng.random() < 0.3 and len(model.joints) > 6:
        model, closures = with_loops(model, q, rng, int(rng.integers(1, 3)))
    words = f"decades {decades}, laws {laws.astype(int)}, loops {len(closures)}"
    return twin, model, q, closures, rng, words


def trial(seed):
    """How far bounds are broken in one trial: the largest (error - bound) / bound, and words for it."""
    twin, model, q, closures, rng, words = case(seed)
    forces, tau = random_forces(twin, rng), rng.normal(size=model.nv)
    eps = 10.0 ** rng.uniform(-6, -0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if rng.random() < 0.4:
            return moving(model, q, closures, rng, (forces, tau), eps), f"{words}, moving"
        name = str(rng.choice(AT_REST))
        return at_rest(model, q, closures, rng, (forces, tau), getattr(adaptive, name)(eps)), f"{words}, {name}"


def loaded(sim, q, loads):
    sim.configuration = q
    for body, force, point, frame in loads[0]:
        sim.apply_force(body, force, point, frame)
    sim.set_torque(None, loads[1])
    return sim


def excess(found, bound, rounding):
    """How far what was found is beyond its bound, by the bound; rounding of the reference is allowed."""
    return (found - bound - rounding) / bound if bound > 0.0 else float(found > rounding)


def at_rest(model, q, closures, rng, loads, measure):
    """Two loads one after another: a bound holds for the second, too."""
    sim = loaded(adaptive.QuasiStatics(model, measure, "adaptive", closures=closures), q, loads)
    full = loaded(adaptive.QuasiStatics(model, None, "aba", closures=closures), q, loads)
    worst, mass = -1.0, bough.Dynamics(model, general=True)
    for _ in range(2):
        for s in (sim, full):
            s.solver.set_step(H)
        found, truth, stats = sim.accelerations(), full.accelerations(), sim.stats
        if stats.method == "aba" or not np.isfinite(truth).all():
            wrong, bound, scale = 0.0, 1.0, 1.0
        elif measure.over == "energy":
            H_ = mass.mass_matrix(q) + np.diag(added(sim))
            norm = np.sqrt((found - truth) @ H_ @ (found - truth))
            scale = np.sqrt(truth @ H_ @ truth)
            wrong, bound = norm, max(sim.error.eps * scale, 0.0)
            if measure.metres:
                bound = sim.error.eps * np.sqrt(model.inertias[:, 0].min()) / H
            wrong = max(wrong, 0.0)
        else:
            error = np.abs(found - truth)
            free = np.ones(len(error), bool)
            if model.joints[0].type == "floating":
                free[:6] = False
            size = np.linalg.norm(error[free]) if measure.over == "linkage" else by_joint(model, error, free)
            whole = np.linalg.norm(truth[free]) if measure.over == "linkage" else by_joint(model, truth, free)
            scale = max(np.abs(truth).max(), 1e-300)
            unit = 1.0 if measure.name.startswith("absolute") else whole
            wrong, bound = size, stats.bound * unit
        worst = max(worst, excess(wrong, bound, 1e-9 * scale))
        number, force = int(rng.integers(len(loads[0]))), rng.normal(size=6) * 10.0 ** rng.uniform(-2, 2)
        for s in (sim, full):
            s.change_force(number, force)
    return worst


def by_joint(model, x, free):
    """The largest norm of a joint's part."""
    return max((np.linalg.norm(x[j.v][free[j.v]]) for j in model.joints), default=0.0)


def added(sim):
    """(nv,) what implicit potentials and rotors add to the mass matrix that `Dynamics.mass_matrix` lacks."""
    m, out = sim.inputs.mechanism, np.zeros(sim.model.nv)
    out[m.v_index] = m.armature - sim.model.mechanism.armature
    return out


def law_residual(M, v0, v, J, friction, least, most):
    """|M (v - v0) - J' lam - f| in M^-1, by |v0| in M, with the lam and the f within the laws that make it least.

    The rates v of a step minimise |v - v0|^2_M / 2 + friction' |v| where J v is given and least <= v <= most; as the
    solution is a projection in M, its error is at most this residual.
    """
    L, large = np.linalg.cholesky(M), max(np.abs(v0).max(), np.abs(v).max(), 1e-300)
    near = 1e-6 * large
    low = np.where(v > near, -friction, np.where(v < -near, friction, -friction))
    high = np.where(v < -near, friction, np.where(v > near, -friction, friction))
    high[v <= least + near], low[v >= most - near] = np.inf, -np.inf
    rows = J[np.linalg.norm(J, axis=1) > 1e-10] if len(J) else np.zeros((0, len(v)))
    U, s, _ = np.linalg.svd(np.linalg.solve(L, (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T), False)
    U = U[:, s > 1e-9 * s.max(initial=0.0)]
    given, free = (low == high), (low < high)
    f = np.linalg.solve(L, np.where(given, low, 0.0))
    y, A = L.T @ (v - v0) - f, np.linalg.solve(L, np.eye(len(v))[:, free])
    y, A = y - U @ (U.T @ y), A - U @ (U.T @ A)
    if free.any():
        scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        found = lsq_linear(A / scale, y, (low[free] * scale, high[free] * scale), "bvls", 1e-15, max_iter=1000)
        y = y - A @ (found.x / scale)
    beyond = max((least - v).max(), (v - most).max(), 0.0) / large
    return max(np.linalg.norm(y) / max(np.sqrt(v0 @ M @ v0), 1e-300), beyond)


def step_residual(model, q, v, closures, J, dt, loads=((), None)):
    """How far one full step is from the laws of friction and limits, loops kept: see `law_residual`."""
    free, full = (
        adaptive.Dynamics(model, None, "full", without=without, closures=more)
        for without, more in ((("friction", "limits", "closures"), ()), ((), closures))
    )
    for sim in (full, free):
        loaded(sim, q, (loads[0], np.zeros(model.nv) if loads[1] is None else loads[1]))
    full.velocity = v
    full.stepper._check_loops()
    free.velocity = full.velocity
    for sim in (full, free):
        sim.step(dt)
    at, joint = model.scalar_joints
    least, most = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    least[joint] = np.minimum((model.limits.lower[joint] - q[at]) / dt, 0.0)
    most[joint] = np.maximum((model.limits.upper[joint] - q[at]) / dt, 0.0)
    M = bough.Dynamics(model, general=True).mass_matrix(q)
    M += np.diag(dt * model.passive.damping + dt * dt * model.passive.stiffness)
    return law_residual(M, free.velocity, full.velocity, J, dt * model.passive.friction, least, most)


HELD = {"spherical": [3, 4, 5], "revolute": [0, 1, 3, 4, 5], "fixed": [0, 1, 2, 3, 4, 5]}  # turns, then slides


def loop_rows(model, q, closures):
    """J, by which closed loops open."""
    dyn, rows = bough.Dynamics(model, general=True), [np.zeros((0, model.nv))]
    for c in closures:
        R, (a, b) = dyn.placement(q, c.b)[:3, :3], (dyn.jacobian(q, x, "local_world_aligned") for x in (c.a, c.b))
        rows.append(np.vstack([R.T @ (b - a)[3:], R.T @ (b - a)[:3]])[HELD[c.joint]])
    return np.vstack(rows)


def law_trial(seed):
    """`step_residual` of a step of the case of `trial`."""
    twin, model, q, closures, rng, words = case(seed)
    loads, v = (random_forces(twin, rng), rng.normal(size=model.nv)), rng.normal(size=model.nv)
    v *= rng.random(model.nv) < 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return step_residual(model, q, v, closures, loop_rows(model, q, closures), 1e-3, loads), words


def moving(model, q, closures, rng, loads, eps):
    """The error of a motion when joints are chosen, with velocities."""
    v = rng.normal(size=model.nv) * (rng.random(model.nv) < 0.3)
    measure = adaptive.rms_acceleration(10.0 * eps)
    try:
        sim = loaded(adaptive.Dynamics(model, measure, "adaptive", closures=closures), q, loads)
        sim.velocity = v
        sim.stepper._check_loops() if closures else None
        found = sim.accelerations()
    except (bough.errors.NumericalError, bough.errors.SettingError, bough.errors.ModelError):
        return -1.0
    if sim.active == len(model.joints):  # nothing is locked
        return -1.0
    full = loaded(adaptive.Dynamics(model, None, "full", closures=closures), sim.configuration, loads)
    full.velocity = sim.velocity
    truth = full.accelerations()
    if not np.isfinite(truth).all():
        return -1.0
    H_ = bough.Dynamics(model, general=True).mass_matrix(sim.configuration)
    scale = np.sqrt(truth @ H_ @ truth / model.total_mass)
    error = np.sqrt(max((found - truth) @ H_ @ (found - truth), 0.0) / model.total_mass)
    bound = max(sim.error.eps, sim.solver.region.noise_floor)
    reported = excess(error, sim.acceleration_error, 1e-5 * scale + 1e-3 * bound)
    return max(excess(error, bound, 1e-7 * scale), reported)
