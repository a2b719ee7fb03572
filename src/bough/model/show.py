"""Models in words: one line that sums one up, and a line for each of its joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bough.model.parameters import carriers

if TYPE_CHECKING:
    from bough.model.model import Model

SHOWN = 60  # joints that a printed model lists


def summary(model: Model) -> str:
    """One line."""
    tree = model.dof_tree
    return (
        f"Model({model.name!r}: {len(model.joints)} joints, nq = {model.nq}, nv = {model.nv}, depth {tree.height}, "
        f"D1 = {tree.D1}, D2 = {tree.D2}, density {tree.density:.2f}, "
        f"{len(model.frame_names)} frames, mass {model.total_mass:.6g} kg{_passive(model)}{_loops(model)})"
    )


def _passive(model: Model) -> str:
    """How many freedoms have damping, friction, springs or no motor: nothing for a model without them."""
    counts = {
        "damped": np.count_nonzero(model.damping), "with friction": np.count_nonzero(model.friction),
        "sprung": np.count_nonzero(model.stiffness), "not actuated": np.count_nonzero(~model.actuated),
    }  # fmt: skip
    return "".join(f", {count} {what}" for what, count in counts.items() if count)


def _loops(model: Model) -> str:
    count, rows = len(model.closures), sum(c.rows for c in model.closures)
    return f", {count} closure{'s' if count > 1 else ''} of {rows} rows" if count else ""


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
