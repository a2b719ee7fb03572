"""Actuators of MJCF: which joints they drive, and with how much force."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.errors import some_of
from bough.io.description import BodyArguments
from bough.io.mjcf.bodies import DOFS, HINGE, SLIDE
from bough.io.mjcf.names import Names
from bough.types import FloatArray

ON_JOINT, ON_JOINT_IN_PARENT, ON_TENDON = 0, 1, 3  # mujoco.mjtTrn
WRAPS_JOINT = 1  # mujoco.mjtWrap
FIXED_GAIN, NO_BIAS = 0, 0  # mujoco.mjtGain, mjtBias


def motors(m: Any, names: Names) -> tuple[dict[str, BodyArguments], list[str]]:
    """The facts of joints from actuators (whether they are driven, and their largest effort), and notes.

    A file without actuators says nothing, and so does one that drives sites, bodies or spatial tendons: there every
    joint is taken as by default.
    """
    said: dict[str, BodyArguments] = {name: {} for name in names.joints}
    count = len(m.actuator_trntype)
    notes = [f"dropped the gains and dynamics of {count} actuators" if count > 1 else
             "dropped the gain and dynamics of 1 actuator"] if count else []  # fmt: skip
    drive = _gears(m, names) if count else None
    for j, name in enumerate(names.joints):
        kind = int(m.jnt_type[j])
        if drive is not None:
            dof = int(m.jnt_dofadr[j])
            said[name]["actuated"] = [bool(drive[:, k].any()) for k in range(dof, dof + DOFS[kind])]
        effort = _effort(m, j, drive) if kind in (SLIDE, HINGE) else np.inf
        if np.isfinite(effort):
            said[name]["effort"] = effort
    if drive is not None:
        idle = [name for j, name in enumerate(names.joints) if not any(_flags(said[name]))]
        if idle:
            notes.append(f"no actuator drives {some_of([*map(repr, idle)])}")
    elif count:
        notes.append("which joints the actuators drive is not known: they act on sites, bodies or spatial tendons")
    return said, notes


def _flags(body: BodyArguments) -> list[bool]:
    flags = body.get("actuated", [])
    return flags if isinstance(flags, list) else [flags]


def _gears(m: Any, names: Names) -> FloatArray | None:
    """(actuators, nv): how far each actuator moves with each degree of freedom; None if that depends on where it is."""
    gears = np.zeros((len(m.actuator_trntype), m.nv))
    for a, kind in enumerate(m.actuator_trntype.tolist()):
        target, gear = int(m.actuator_trnid[a, 0]), m.actuator_gear[a]
        if kind in (ON_JOINT, ON_JOINT_IN_PARENT):
            dof, n = int(m.jnt_dofadr[target]), DOFS[int(m.jnt_type[target])]
            gears[a, dof : dof + n] = gear[:n]
        elif kind == ON_TENDON:
            for w in range(m.tendon_adr[target], m.tendon_adr[target] + m.tendon_num[target]):
                if m.wrap_type[w] != WRAPS_JOINT:
                    return None
                gears[a, m.jnt_dofadr[m.wrap_objid[w]]] = gear[0] * m.wrap_prm[w]
        else:
            return None
    return gears


def _effort(m: Any, j: int, drive: FloatArray | None) -> float:
    """The largest effort of a joint: its own limit, or what its actuators can give together."""
    own = np.abs(m.jnt_actfrcrange[j]).max() if m.jnt_actfrclimited[j] else np.inf
    if drive is None:
        return float(own)
    gears = np.abs(drive[:, int(m.jnt_dofadr[j])])
    together = sum(gear * _force(m, a) for a, gear in enumerate(gears.tolist()) if gear)
    return float(min(own, together)) if gears.any() else float(own)


def _force(m: Any, a: int) -> float:
    """The largest force of an actuator: its range, or that of its control if it is a plain motor."""
    most = np.inf
    if m.actuator_forcelimited[a]:
        most = np.abs(m.actuator_forcerange[a]).max()
    plain = m.actuator_gaintype[a] == FIXED_GAIN and m.actuator_biastype[a] == NO_BIAS and m.actuator_dyntype[a] == 0
    if plain and m.actuator_ctrllimited[a]:
        most = min(most, abs(m.actuator_gainprm[a, 0]) * np.abs(m.actuator_ctrlrange[a]).max())
    return float(most)
