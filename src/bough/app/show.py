"""Models for the terminal: tree, joints, sparsity pattern and operation counts, as rich renderables."""

from __future__ import annotations

import json
import sys
from collections import Counter

import numpy as np
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as Branches

from bough.compile.graph.program import OperationCount
from bough.compile.run.cache import fetch, source_digest
from bough.model import WORLD, Model
from bough.model.facts import facts
from bough.model.limbs import identical_limbs
from bough.model.parameters import carriers, moving_frames
from bough.sparsity import density
from bough.tree import Tree

HALVES, SHADES = " ▀▄█", " ░▒▓█"
PLAIN_HALVES, PLAIN_SHADES = " '.:", " .:*#"  # for terminals that cannot show the others


def summary(model: Model) -> Table:
    """The numbers that describe a model and what its branches save."""
    table = Table(show_header=False, box=None, padding=(0, 2))
    more = {"identical limbs": limb_groups(identical_limbs(model.mechanism)), "hash": model.hash[:12]}
    for key, value in (facts(model) | more).items():
        table.add_row(Text(key, style="bold"), Text(value))
    return table


def limb_groups(limbs_on_bodies: list[tuple[int, int]]) -> str:
    """Identical limbs, in words: how many hang on one body, of how many joints each, and how often that is so."""
    often = [
        f"{limbs} of {joints} joint{'s' * (joints != 1)}" + f" on {count} bodies" * (count > 1)
        for (limbs, joints), count in Counter(limbs_on_bodies).items()
    ]
    return ", ".join(often) or "none"


def branches(model: Model, most: int = 80) -> Branches:
    """The tree of joints, mimic joints among them: name, type, place in v (or what it follows) and body."""
    root = Branches(Text(f"{model.name} ({WORLD})", style="bold"))
    frames, n = moving_frames(model), len(model.joints)
    above, nodes = carriers(model), {0: root}
    for k in np.argsort(model.frames.body[frames])[:most].tolist():
        if k < n:
            joint = model.joints[k]
            place = f"v[{joint.v.start}]" if joint.v.stop == joint.v.start + 1 else f"v[{joint.v.start}:{joint.v.stop}]"
            name, what = joint.name, f" {joint.type} "
        else:
            c = model.couplings[k - n]
            name, what, place = c.follower, " mimic ", f"{c.ratio:g} {c.leader} + {c.offset:g}"
        label, body = Text.assemble((name, "cyan"), what, (place, "dim")), model.frames.names[frames[k]]
        if body != name:
            label.append(f" {body}", "green")
        nodes[int(frames[k])] = nodes[int(above[k])].add(label)
    if len(frames) > most:
        root.add(Text(f"... and {len(frames) - most} more joints", style="dim"))
    for closure in model.closures[:most]:
        root.add(Text(str(closure), style="dim"))
    return root


def has_limits(model: Model) -> bool:
    """Whether there is anything to say in `limits`."""
    return bool(np.isfinite(model.limits).any() or np.any(model.passive))


def limits(model: Model, most: int = 80) -> Table:
    """Limits of each degree of freedom, and those of its passive forces that the model has."""
    passive = {name: column for name, column in model.passive._asdict().items() if name == "damping" or column.any()}
    table = Table("degree of freedom", "lower", "upper", "velocity", "effort", *passive, box=None)
    columns = (*model.limits, *passive.values())
    for k, name in enumerate(model.dof_names[:most]):
        table.add_row(Text(name, style="cyan"), *(f"{column[k]:.4g}" for column in columns))
    if model.nv > most:
        table.add_row(Text(f"... and {model.nv - most} more", style="dim"))
    return table


def pattern(tree: Tree, width: int = 64) -> Text:
    """The nonzeros of H, in the order of v: one half-block for each, or shades of the density of cells."""
    cells = density(tree, min(tree.n, width))
    halves, shades = (HALVES, SHADES) if can_show(HALVES + SHADES) else (PLAIN_HALVES, PLAIN_SHADES)
    if tree.n <= width:
        full = np.zeros((tree.n + tree.n % 2, tree.n), int)
        full[: tree.n] = cells > 0
        pairs = zip(full[::2].tolist(), full[1::2].tolist(), strict=True)
        lines = ["".join(halves[up + 2 * low] for up, low in zip(*pair, strict=True)) for pair in pairs]
    else:
        levels = np.ceil(cells * (len(shades) - 1)).astype(int)
        lines = ["".join(shades[x] * 2 for x in row) for row in levels.tolist()]
    return Text("\n".join(lines))


def can_show(text: str) -> bool:
    """Whether the encoding of standard output has all of these characters."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:
        return False
    return True


# Operation counts of the functions that everybody needs, kept on the disk: counting takes longer than all else

SHOWN = (
    ("inverse dynamics, RNEA", "inverse_dynamics", None),
    ("mass matrix, CRBA", "mass_matrix", None),
    ("forward dynamics, ABA", "forward_dynamics", "aba"),
    ("forward dynamics, CRBA and LTDL", "forward_dynamics", "crba"),
)


def counted(model: Model) -> dict[str, OperationCount]:
    """The four functions, as far as they serve the model; from the disk if they were counted before."""
    found = fetch(f"counts of {model.hash} by {source_digest('bough')}", lambda: _count(model), machine="any")
    return {label: OperationCount(*numbers) for label, numbers in json.loads(found).items()}


def _count(model: Model) -> bytes:
    from bough.dynamics.export import count

    served = [row for row in SHOWN if not (row[2] == "aba" and model.couplings)]
    return json.dumps({label: count(model, name, method=method).astuple() for label, name, method in served}).encode()


def cost_table(model: Model) -> Table:
    """The operation counts as a table, and the factorization beside a dense one."""
    tree, n = model.dof_tree, model.nv
    shown = Table("function", "mul", "add", "div", box=None)
    for label, found in counted(model).items():
        shown.add_row(label, f"{found.mul:,}", f"{found.add:,}", f"{found.div:,}")
    shown.add_row("LTDL factorization: D2, D2, D1", f"{tree.D2:,}", f"{tree.D2:,}", f"{tree.D1:,}")
    dense = n * (n * n - 1) // 6
    shown.add_row(f"the same if H were full, {n} x {n}", f"{dense:,}", f"{dense:,}", f"{n * (n - 1) // 2:,}")
    return shown
