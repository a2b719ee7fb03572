"""Rebuild a model with joints welded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError
from bough.joints import JOINTS
from bough.model.builder import Builder
from bough.model.contents import Joint
from bough.model.model import Model
from bough.model.parameters import BodyFrames, body_frames, check_shape, inverse, joint_frames, matrix, steps
from bough.model.write import fixed_frames, moving_parts
from bough.types import FloatArray


def welded_at(model: Model, q: npt.ArrayLike, joints: Sequence[str]) -> Model:
    """See `Model.welded_at`."""
    if isinstance(joints, str):
        raise ModelError(f"welded_at: joints is a list of names, got {joints!r}; write [{joints!r}]")
    for name in joints:
        model.joint(name)
    at = check_shape(q, (model.nq,), "welded_at: q")
    return rebuilt(model, {name: at for name in joints})


def rebuilt(model: Model, welded: Mapping[str, FloatArray]) -> Model:
    """The model rebuilt with these joints fixed at configurations (nq,)."""
    if model.couplings:
        raise ModelError(f"{model.name!r} has mimic joints, which cannot be welded afterwards; use weld= of bough.load")
    m, builder = model.mechanism, Builder(model.name, model.gravity.tolist(), check=False)
    own, up, parts = body_frames(model), joint_frames(model).up, moving_parts(model)
    drawn = {id(q): steps(model, q) for q in welded.values()}
    for j, (joint, part) in enumerate(zip(model.joints, parts, strict=True)):
        T, i = part.T, int(own.body[j])
        body: dict[str, Any] = {"mass": part.mass, "com": part.com, "inertia": (part.inertia + part.inertia.T) / 2.0}
        if joint.name in welded:
            T = inverse(up[j]) @ _placed(model, j, own, drawn[id(welded[joint.name])])
        else:
            body |= _options(model, joint) | {"axis": part.axes if joint.type == "universal" else part.axes[0]}
            if joint.type == "helical":
                body["pitch"] = float(m.pitch[m.dof[i]])
        kind = "fixed" if joint.name in welded else joint.type
        builder.add_body(part.body, part.parent, kind, _orthonormal(T), joint_name=joint.name, **body)
    for frame in fixed_frames(model, parts):
        builder.add_frame(frame.name, frame.body, _orthonormal(frame.T))
    for closure in model.closures:
        builder.add_closure(
            closure.frame, closure.other, closure.kind, length=closure.length or None, name=closure.name
        )
    builder.notes += model.notes
    return replace(builder.build(), units=model.units, visuals=model.visuals)


def _placed(model: Model, j: int, own: BodyFrames, step: FloatArray) -> FloatArray:
    """(4, 4): the frame of joint j's body in the laid frame of the body that carries it; `step` as of `steps`."""
    T, i = matrix(own.R[j], own.p[j]), int(own.body[j])
    for _ in JOINTS[model.joints[j].type]:
        T, i = step[i] @ T, int(model.mechanism.parent[i])
    return T


def joint_placement(kind: str, q: FloatArray, **options: Any) -> tuple[FloatArray, FloatArray]:
    """(R, p) of the body of a joint at q, in the frame where it is at q = 0; `options` as of `add_body`."""
    builder = Builder("joint", check=False)
    builder.add_body("body", joint=kind, mass=1.0, inertia=np.eye(3), **options)
    model = builder.build()
    return _orthonormal(_placed(model, 0, body_frames(model), steps(model, q)))


def _options(model: Model, joint: Joint) -> dict[str, Any]:
    """Limits, passive forces, motors and rotors of a joint."""
    v = joint.v
    found: dict[str, Any] = {key: getattr(model, key)[v] for key in ("damping", "friction", "actuated")}
    found |= {key: getattr(model, key)[v] for key in ("stiffness", "rest") if getattr(model, key)[v].any()}
    if model.armature[v].any():
        found["armature"] = float(model.armature[v.start])
    for key, column in model.limits._asdict().items():
        if np.isfinite(column[v.start]):
            found[key] = float(column[v.start])
    return found


def _orthonormal(T: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(R, p) of a placement with the nearest rotation: products of rotations drift by rounding."""
    u, _, v = np.linalg.svd(T[:3, :3])
    return u @ v, T[:3, 3]
