"""Facts of a model: its sizes, its digest, its summary, and why a result is not finite."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from bough import _display as display
from bough.joints import JOINTS, PRIMITIVES
from bough.joints.mechanism import OWN_FIELDS
from bough.model.contents import Joints
from bough.model.parameters import carriers
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.model.model import Model


def sizes_of(model: Model) -> dict[str, int]:
    """By the names that routines use."""
    from bough.sparsity import panel_size  # of no use to those who only load

    m = model.mechanism
    sizes = {"nq": model.nq, "nv": model.nv, "bodies": len(m.parent), "dofs": len(m.axis)}
    coupled = model.dof_tree.rows[-1] if model.couplings else m.rows[-1]
    height = model.dof_tree.height if model.couplings else int(m.depth.max(initial=-1)) + 1
    sizes |= {"joints": len(model.joints), "inertias": 10 * len(model.joints), "frames": len(model.frame_names)}
    above = np.zeros(model.nv, np.int64)
    above[m.v_index] = m.depth
    sizes["pairs"] = sum(int(above[j.v].max(initial=-1)) + 1 for j in model.joints)  # of a body and what carries it
    return sizes | {"packed": int(m.rows[-1]), "coupled": int(coupled), "panel": panel_size(height)}


def digest(model: Model) -> str:
    """Of all numbers, names and closures; notes and visuals are omitted."""
    found = hashlib.sha256()
    of_dofs = (*model.limits, *model.passive, model.actuated)
    for array in (*model.mechanism[:OWN_FIELDS], *of_dofs, *model.frames[1:], model.joints.q, model.joints.v):
        found.update(str((array.dtype.str, array.shape)).encode())
        found.update(np.ascontiguousarray(array).data)
    names = [*model.joints.names, *model.joints.bodies, *model.joints.types, *model.frame_names]
    found.update("\0".join(names).encode())
    if model.closures:
        found.update(repr([tuple(closure) for closure in model.closures]).encode())
    return found.hexdigest()


def explain(joints: Joints, inputs: Mapping[str, FloatArray]) -> str | None:
    """The first quaternion among the inputs of one row that has no direction, by name of its joint; else None."""
    for name in ("q", "q0", "q1"):
        q = inputs.get(name)
        for joint in joints if q is not None else ():
            if any(PRIMITIVES[part].quaternion for part in JOINTS[joint.type]):
                x = q[joint.q][-4:]  # type: ignore[index]
                if np.abs(x).max() < np.sqrt(np.finfo(x.dtype).tiny):
                    short = "" if not x.any() else f" up to rounding ({np.abs(x).max():.2g})"
                    return f"the quaternion of joint {joint.name!r} is zero{short}"
    return None


SHOWN = 60  # joints that a printed model lists


def summary(model: Model) -> str:
    """One line."""
    tree = model.dof_tree
    return (
        f"Model({model.name!r}: {len(model.joints)} joints, nq = {model.nq}, nv = {model.nv}, depth {tree.height}, "
        f"D1 = {tree.D1}, D2 = {tree.D2}, density {tree.density:.2f}, "
        f"{len(model.frame_names)} frames, mass {model.total_mass:.6g} {model.units[1]}"
        f"{_passive(model)}{_loops(model)})"
    )


def _passive(model: Model) -> str:
    """The numbers of DoF with damping, friction, springs or no motor; empty for a model without them."""
    counts = {
        "damped": np.count_nonzero(model.damping), "with friction": np.count_nonzero(model.friction),
        "sprung": np.count_nonzero(model.stiffness), "not actuated": np.count_nonzero(~model.actuated),
    }  # fmt: skip
    return "".join(f", {count} {what}" for what, count in counts.items() if count)


def _loops(model: Model) -> str:
    count, rows = len(model.closures), sum(c.rows for c in model.closures)
    return f", {count} closure{'s' if count > 1 else ''} of {rows} rows" if count else ""


def facts(model: Model) -> dict[str, str]:
    """The numbers that describe a model, and what its branches save, in words."""
    tree, n = model.dof_tree, model.nv
    found = {
        "joints": f"{len(model.joints):,}" + (f" and {len(model.couplings)} mimic" if model.couplings else ""),
        "degrees of freedom": f"{n:,} in v, {model.nq:,} numbers in q",
        "loops": f"{len(model.closures)} closed by {sum(c.rows for c in model.closures)} rows",
        "frames": f"{len(model.frame_names):,}",
        "mass": f"{model.total_mass:.6g} {model.units[1]}",
        "depth": f"{tree.height:,}",
        "nonzeros of H": f"{tree.density:.1%}; D1 = {tree.D1:,} below the diagonal",
        "to factorize H": f"D2 = {tree.D2:,} multiplications; dense {n * (n * n - 1) // 6:,}",
    }
    return found if model.closures else {name: words for name, words in found.items() if name != "loops"}


def html(model: Model) -> str:
    """For notebooks: facts, the first joints, and the pattern of H."""
    from bough.sparsity import density

    joints = [(j.name, j.type, j.body, f"{j.v.start}:{j.v.stop}") for j in model.joints[:20]]
    more = [("...", f"{len(model.joints) - 20:,} more", "", "")] * (len(model.joints) > 20)
    shown = density(model.dof_tree, min(model.nv, 64)) if model.nv else np.zeros((0, 0))
    listed = display.table([*joints, *more], ("joint", "type", "body", "v"))
    return (
        f"<b>{escape(model.name)}</b>{display.table(facts(model).items())}"
        f"<details><summary>joints</summary>{listed}</details>{display.pattern(shown, 'nonzeros of H')}"
    )


def listing(model: Model) -> str:
    """The summary, and a line for each of the first joints, coupling and closure."""
    width = max((len(name) for name in model.joint_names[:SHOWN]), default=0)
    lines = [summary(model)]
    above = [model.frames.names[k] for k in carriers(model).tolist()]
    for joint, up in zip(model.joints[:SHOWN], above, strict=False):
        lines.append(f"  v[{joint.v.start}:{joint.v.stop}]  {joint.name:{width}}  {joint.type}: {up} -> {joint.body}")
    if len(model.joints) > SHOWN:
        lines.append(f"  ... and {len(model.joints) - SHOWN} more")
    for c, up, body in zip(model.couplings, above[len(model.joints) :], model.mimic_bodies, strict=True):
        lines.append(f"  {c.follower} = {c.ratio:g} {c.leader} + {c.offset:g}: {up} -> {body}")
    return "\n".join([*lines, *(f"  {c}" for c in model.closures[:SHOWN])])
