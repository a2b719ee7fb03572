"""Features of MuJoCo that this library has not, by kind and number: everything that is dropped from a file is noted."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.io.mjcf.bodies import BALL, FREE
from bough.io.mjcf.names import Names


def notes(m: Any, names: Names) -> list[str]:
    counts = {what: int(count) for what, count in (_dropped(m) | _polynomials(m) | _medium(m)).items()}
    return [f"dropped {count} {what}" for what, count in counts.items() if count] + _joints(m, names)


def _dropped(m: Any) -> dict[str, Any]:
    solid = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    custom = m.nnumeric + m.ntext + m.ntuple
    return {
        "tendons": m.ntendon,
        "flexible bodies": m.nflex,
        "contact geoms": np.count_nonzero(solid),
        "contact pairs": m.npair,
        "contact exclusions": m.nexclude,
        "mocap bodies (held still)": m.nmocap,
        "gravity compensations": np.count_nonzero(m.body_gravcomp),
        "sensors": m.nsensor,
        "keyframes": m.nkey,
        "cameras": m.ncam,
        "plugins": m.nplugin,
        "custom numbers, texts and tuples": custom,
    }


def _polynomials(m: Any) -> dict[str, Any]:
    """Of recent versions: what goes beyond linear springs and dampers, and rotors of actuators."""

    def nonzero(field: str) -> int:
        return int(np.count_nonzero(getattr(m, field, 0)))

    return {
        "nonlinear dampings": nonzero("dof_dampingpoly"),
        "nonlinear stiffnesses": nonzero("jnt_stiffnesspoly"),
        "plastic springs": int(getattr(m, "nplastic", 0)),
        "actuator armatures": nonzero("actuator_armature"),
        "actuator dampings": nonzero("actuator_damping"),
    }


def _medium(m: Any) -> dict[str, Any]:
    return {
        "densities, viscosities and winds of the medium": np.count_nonzero(
            [m.opt.density, m.opt.viscosity, *m.opt.wind]
        ),
        "adhesions or other fluid forces of geoms": np.count_nonzero(m.geom_fluid[:, 0]),
    }


def _joints(m: Any, names: Names) -> list[str]:
    """Springs and limits that joints with several degrees of freedom have in MuJoCo only."""
    found = []
    for j, kind in enumerate(m.jnt_type.tolist()):
        name = names.joints[j]
        if kind == FREE and m.jnt_stiffness[j]:
            found.append(f"dropped the stiffness of the floating joint {name!r}")
        if kind == BALL and m.jnt_limited[j]:
            found.append(f"dropped the limit of the spherical joint {name!r}")
        if m.jnt_actfrclimited[j] and abs(m.jnt_actfrcrange[j].sum()) > 1e-12 * np.abs(m.jnt_actfrcrange[j]).max():
            found.append(f"the effort limit of {name!r} is the larger of two: {m.jnt_actfrcrange[j].tolist()}")
    return found
