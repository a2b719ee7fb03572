"""`bough zoo`, `bough info`, `bough doctor`: mechanisms that ship, what a model holds, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.app.shell import FAILED, Json, out, say, show_json
from bough.app.source import Source, of_model

if TYPE_CHECKING:
    from bough.model import Model
    from bough.molecules import Molecule

COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}
MOST_COUNTED = 150  # degrees of freedom up to which `info` counts operations


def zoo(json: Json = False) -> None:
    """List the mechanisms that ship with Bough.

    Each is a MODEL of the other commands: zoo:NAME, or with arguments zoo:NAME?n=30&seed=1.
    """
    from inspect import signature

    import bough
    from bough.io.named import mechanisms

    rows: list[dict[str, Any]] = []
    for name in mechanisms():
        maker = getattr(bough.zoo, name)
        arguments = {key: parameter.default for key, parameter in signature(maker).parameters.items()}
        rows.append({"name": name, "summary": str(maker.__doc__).split("\n\n")[0], "arguments": arguments})
    if json:
        show_json(rows)
        return
    for row in rows:
        out().print(f"[bold]zoo:{row['name']}[/bold]  {' '.join(row['summary'].split())}", highlight=False)
        words = ", ".join(f"{key}={value}" for key, value in row["arguments"].items())
        out().print(f"    {words}", style="dim", markup=False, highlight=False)


@of_model
def info(source: Source, json: Json = False) -> None:
    """Print the tree, the joints, the zeros of H, and costs."""
    molecule = source.molecule() if source.is_structure else None
    model = molecule.model if molecule else source.model()
    if json:
        show_json(facts(model) | ({"molecule": contents(molecule)} if molecule else {}))
        return
    from rich.text import Text

    from bough.app import show

    if molecule:
        for word, value in contents(molecule).items():
            say(f"{word}: {value}")
    else:
        out().print(show.summary(model))
        out().print(show.branches(model))
    if show.has_limits(model):
        out().print(show.limits(model))
    out().print("\nNonzeros of the mass matrix:")
    out().print(show.pattern(model.dof_tree))
    if model.nv <= MOST_COUNTED:
        out().print(show.cost_table(model))
    for note in model.notes:
        out().print(Text(f"note: {note}", style="dim"))


def contents(molecule: Molecule) -> dict[str, Any]:
    """A molecule in numbers."""
    atoms = molecule.atoms
    kinds = [dihedral.rsplit("/", 1)[1] for dihedral, (_, v) in molecule.dihedrals.items() if v is not None]
    named = {kind: kinds.count(kind) for kind in ("phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4")}
    return {
        "name": molecule.model.name, "chains": len(set(atoms.chain.tolist())), "residues": len(atoms.chain),
        "atoms": len(atoms), "mass, Da": round(float(atoms.masses.sum()), 3), "degrees of freedom": molecule.model.nv,
        "torsions that turn": len(kinds), **{kind: count for kind, count in named.items() if count},
        "bonds closed by closures": len(molecule.groups.cut),
    }  # fmt: skip


def facts(model: Model) -> dict[str, Any]:
    """A model for machines."""
    from bough.app import show
    from bough.model.parameters import carriers, moving_frames

    tree, joints = model.dof_tree, model.joints
    by_frame = dict(
        zip(moving_frames(model).tolist(), (*joints.names, *(c.follower for c in model.couplings)), strict=True)
    )
    listed = [
        {
            "name": joint.name, "type": joint.type, "body": joint.body,
            "parent": by_frame.get(up), "v": [joint.v.start, joint.v.stop],
        }
        for joint, up in zip(joints, carriers(model).tolist(), strict=False)
    ]  # fmt: skip
    return {
        "name": model.name, "hash": model.hash, "nq": model.nq, "nv": model.nv, "mass": model.total_mass,
        "depth": tree.height, "D1": tree.D1, "D2": tree.D2, "density": tree.density, "joints": listed,
        "frames": model.frame_names, "limits": model.limits._asdict(), "passive": model.passive._asdict(),
        "mimic": model.couplings, "closures": [c.name for c in model.closures], "notes": model.notes,
        "operations": show.counted(model) if model.nv <= MOST_COUNTED else None,
    }  # fmt: skip


@of_model
def doctor(
    source: Source, strict: Annotated[bool, typer.Option(help="Fail on warnings too.")] = False, json: Json = False
) -> None:
    """List what is wrong or suspicious in a model file.

    The exit code is 1 if the file cannot be loaded with these options.
    """
    findings = source.findings()
    numbers = {severity: sum(f.severity == severity for f in findings) for severity in COLOURS}
    if json:
        show_json({"findings": findings, **{f"{severity}s": number for severity, number in numbers.items()}})
    else:
        from rich.text import Text

        for f in findings:
            line = Text(f"{f.severity:8}", style=COLOURS[f.severity])
            line.append_text(Text.assemble((f.link, "cyan"), f": {f.what}", (f" ({f.remedy})", "dim")))
            out().print(line, soft_wrap=True)
        out().print(", ".join(f"{number} {severity}{'s' * (number != 1)}" for severity, number in numbers.items()))
    if numbers["error"] or (strict and numbers["warning"]):
        raise typer.Exit(FAILED)
