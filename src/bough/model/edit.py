"""Other models from a model: with other inertias, with a payload, with another frame, with joints welded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError, UnknownNameError
from bough.joints import JOINTS
from bough.model.assemble import frozen, laid_inertia
from bough.model.bodies import checked_inertia, placed
from bough.model.builder import Builder
from bough.model.contents import WORLD, Frames, Joint, unknown
from bough.model.model import Model
from bough.model.parameters import (
    armature,
    body_frames,
    check_physical,
    check_shape,
    inertias,
    inverse,
    joint_frames,
    laid_inertias,
    matrix,
    standard,
    steps,
)
from bough.types import FloatArray


def with_gravity(model: Model, gravity: npt.ArrayLike) -> Model:
    """See `Model.with_gravity`."""
    try:
        g = np.array(gravity, float)
    except (TypeError, ValueError):
        g = np.empty(0)
    if g.shape != (3,) or not np.isfinite(g).all():
        raise ModelError(f"gravity must be three finite numbers, got {gravity!r}")
    return replace(model, mechanism=model.mechanism._replace(gravity=g))


def with_inertias(model: Model, given: npt.ArrayLike | Mapping[str, npt.ArrayLike], check: bool) -> Model:
    """See `Model.with_inertias`."""
    if isinstance(given, Mapping):
        rows = np.array(inertias(model))
        for name, row in given.items():
            if name not in model.body_names:
                raise UnknownNameError(unknown("body", name, model.body_names))
            rows[model.body_names.index(name)] = check_shape(row, (10,), f"the inertia of body {name!r}")
    else:
        rows = check_shape(given, (len(model.joints), 10), "inertias")
    if check:
        check_physical(rows, model.body_names, "with_inertias")
    laid = frozen(laid_inertias(model, rows))
    return replace(model, mechanism=model.mechanism._replace(inertia=laid))


def with_frame(model: Model, name: str, parent_frame: str, placement: Any) -> Model:
    """See `Model.with_frame`."""
    if not name or name in model.frame_names:
        raise ModelError(f"with_frame: the name {name!r} is taken or empty")
    k = model.frame(parent_frame)
    R, p = placed(placement, name)
    f = model.frames
    frames = Frames(
        (*f.names, name),
        frozen(np.append(f.body, f.body[k])),
        frozen(np.concatenate([f.R, (f.R[k] @ R)[None]])),
        frozen(np.concatenate([f.p, (f.p[k] + f.R[k] @ p)[None]])),
    )
    return replace(model, frames=frames)


def with_payload(model: Model, frame: str, mass: float, com: npt.ArrayLike, inertia: npt.ArrayLike | None) -> Model:
    """See `Model.with_payload`."""
    k = model.frame(frame)
    own = np.array(checked_inertia(f"the payload on {frame}", mass, com, inertia, strict=True))
    body, R, p = int(model.frames.body[k]), model.frames.R[k], model.frames.p[k]
    if body < 0:
        raise ModelError(f"with_payload: frame {frame!r} belongs to the world, which does not move")
    total = np.array(model.mechanism.inertia)
    total[body] += laid_inertia(own[None], R.T[None], -(R.T @ p)[None])[0]
    return replace(model, mechanism=model.mechanism._replace(inertia=frozen(total)))


def welded_at(model: Model, q: npt.ArrayLike, joints: Sequence[str]) -> Model:
    """See `Model.welded_at`."""
    if isinstance(joints, str):
        raise ModelError(f"welded_at: joints is a list of names, got {joints!r}; write [{joints!r}]")
    for name in joints:
        model.joint(name)
    at = check_shape(q, (model.nq,), "welded_at: q")
    return rebuilt(model, {name: at for name in joints})


def rebuilt(model: Model, welded: Mapping[str, FloatArray]) -> Model:
    """The model built anew from what it knows of itself, with these joints fixed at configurations (nq,)."""
    if model.couplings:
        raise ModelError(f"{model.name!r} has mimic joints, which cannot be welded afterwards; use weld= of bough.load")
    builder = Builder(model.name, model.mechanism.gravity.tolist(), check=False)
    own, at, rows = body_frames(model), joint_frames(model), standard(inertias(model))
    drawn = {id(q): steps(model, q) for q in welded.values()}
    rotors = armature(model)
    for j, joint in enumerate(model.joints):
        mass, com, J = rows[j]
        body: dict[str, Any] = {"mass": mass, "com": com, "inertia": (J + J.T) / 2.0}
        up = model.body_names[model.parent[j]] if model.parent[j] >= 0 else WORLD
        T = at.now[j]
        if joint.name in welded:
            step, i = drawn[id(welded[joint.name])], int(own.body[j])
            T = matrix(own.R[j], own.p[j])
            for _ in JOINTS[joint.type]:
                T, i = step[i] @ T, int(model.mechanism.parent[i])
            kind, T = "fixed", inverse(at.up[j]) @ T
        else:
            kind = joint.type
            body |= _options(model, joint, rotors) | _axis(model, j, at.down[j], own.R[j])
        T[:3, :3] = _orthonormal(T[:3, :3])
        builder.add_body(joint.body, up, kind, (T[:3, :3], T[:3, 3]), joint_name=joint.name, **body)
    _add_frames(builder, model)
    for closure in model.closures:
        builder.add_closure(
            closure.frame, closure.other, closure.kind, length=closure.length or None, name=closure.name
        )
    for note in model.notes:
        builder.note(note)
    return builder.build()


def _options(model: Model, joint: Joint, rotors: FloatArray) -> dict[str, Any]:
    """Limits, passive forces, motors and rotors of a joint."""
    v = joint.v
    found: dict[str, Any] = {key: getattr(model, key)[v] for key in ("damping", "friction", "actuated")}
    if model.stiffness[v].any():
        found["stiffness"] = model.stiffness[v]
    if model.rest[v].any():
        found["rest"] = model.rest[v]
    if rotors[v].any():
        found["armature"] = float(rotors[v.start])
    for key, column in model.limits._asdict().items():
        if np.isfinite(column[v.start]):
            found[key] = float(column[v.start])
    return found


def _axis(model: Model, j: int, down: FloatArray, R: FloatArray) -> dict[str, Any]:
    """The axis of a joint in the frame of its body, which is z of the laid frame; two for a universal joint."""
    joint, m = model.joints[j], model.mechanism
    z = down[:3, 2]
    if joint.type == "universal":
        return {"axis": np.array([z, R[2]])}
    if joint.type == "helical":
        body = body_frames(model).body[j]
        return {"axis": z, "pitch": float(m.pitch[m.dof[body]])}
    return {"axis": z}


def _add_frames(builder: Builder, model: Model) -> None:
    """All named frames but the world and the bodies, on the bodies that carry them."""
    own, f = body_frames(model), model.frames
    carrier = {int(i): j for j, i in enumerate(own.body)}
    for k, name in enumerate(f.names):
        if name == WORLD or name in model.body_names:
            continue
        body, T = int(f.body[k]), matrix(f.R[k], f.p[k])
        if body >= 0:
            j = carrier[body]
            T = inverse(matrix(own.R[j], own.p[j])) @ T
        R = _orthonormal(T[:3, :3])
        builder.add_frame(name, model.body_names[carrier[body]] if body >= 0 else WORLD, (R, T[:3, 3]))


def _orthonormal(R: FloatArray) -> FloatArray:
    """The nearest rotation: products of rotations drift by rounding."""
    u, _, v = np.linalg.svd(R)
    turned: FloatArray = u @ v
    return turned
