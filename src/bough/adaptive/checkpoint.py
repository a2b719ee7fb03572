"""Checkpoints that lose nothing: one npz file that ends in a digest of all its bytes."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.closure import Closure
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.mover import Mover
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Cost
from bough.adaptive.tree.shapes import GivenPairs, NearBodies, rows_of
from bough.errors import CheckpointError
from bough.model import Model
from bough.record import replacing

VERSION = 4
DIGEST = 64  # characters
CHANGES = ("forces", "torques", "everything", "most_forces", "measure")  # since the last solution
KINDS = {"solver": "quasi-statics", "motion": "a motion"}  # by the part that only they have


def write_checkpoint(path: str | Path, arrays: dict[str, npt.NDArray[Any]], facts: dict[str, Any]) -> None:
    """Arrays and plain facts into one file. The digest is the comment of the archive, which other readers pass over."""
    content = io.BytesIO()
    text = np.array(json.dumps(facts | {"version": VERSION}, sort_keys=True))
    np.savez_compressed(content, **arrays, facts=text)  # type: ignore[arg-type]
    body = content.getvalue()[:-2] + DIGEST.to_bytes(2, "little")  # an archive ends in the length of its comment
    try:
        with replacing(path) as file:
            file.write(body + _digest(body))
    except OSError as error:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be written: {error.strerror}") from error


def read_checkpoint(path: str | Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """What `write_checkpoint` wrote; a damaged file is refused."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read: {error.strerror}") from None
    if content[-DIGEST:] != _digest(content[:-DIGEST]):
        raise CheckpointError(f"the checkpoint {str(path)!r} is damaged or none: its digest does not match its content")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    facts = json.loads(str(arrays.pop("facts")))
    if facts["version"] != VERSION:
        raise CheckpointError(f"the checkpoint {str(path)!r} has format {facts['version']}, expected {VERSION}")
    return arrays, facts


def checkpoint_of(model: Model, path: str | Path, part: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """The checkpoint of a simulation that has such a part; one of another model or kind of simulation is refused."""
    arrays, facts = read_checkpoint(path)
    if facts["model"] != model.hash:
        raise CheckpointError(f"the checkpoint {str(path)!r} was made for another model than {model.name!r}")
    if part not in facts:
        other = next(kind for name, kind in KINDS.items() if name in facts)
        raise CheckpointError(f"the checkpoint {str(path)!r} is one of {other}: expected one of {KINDS[part]}")
    return arrays, facts


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


# What a checkpoint keeps of a solver, and how a simulation is made from it.


Arrays = dict[str, npt.NDArray[Any]]
Facts = dict[str, Any]


def solver_state(solver: Solver) -> tuple[Arrays, Facts]:
    """What a solver remembers beyond its inputs, as arrays and plain facts."""
    arrays: Arrays = {"clock": np.concatenate(solver.clock)}
    error, exact = solver.error, solver.is_exact or solver.is_plain or solver.region is not None
    facts: Facts = {
        "method": solver.method, "h": solver.h, "measure": measure_facts(error),
        "assembly": assembly_facts(solver),
        "all_moved": solver.all_moved, "asked": list(solver.asked), "refined": not (solver.changes.solution or exact),
        "changes": {name: getattr(solver.changes, name) for name in CHANGES},
    }  # fmt: skip
    if solver.closures is not None:
        facts["closures"] = [[c.a, c.b, c.joint] for c in solver.closures.closures]
        facts["rate"] = solver.closures.rate
    if solver.tree is not None:
        kept, facts["tree"] = solver.tree.memory()
        arrays |= kept
    if solver.region is not None:
        kept, facts["region"] = solver.region.state()
        arrays |= kept
    return arrays, facts


def restore_solver(solver: Solver, arrays: Arrays, facts: Facts) -> None:
    """What `solver_state` gave; clusters that were open are opened again."""
    for own, kept in zip(solver.clock, arrays["clock"], strict=True):
        own[0] = kept
    solver.h, solver.all_moved = facts["h"], facts["all_moved"]
    solver.remember(measure_of(facts))
    if solver.closures is not None:
        solver.closures.rate = facts["rate"]
    if "tree" in facts:
        solver.assemble().restore(arrays, facts["tree"])
    if solver.region is not None:
        solver.region.restore(arrays, facts["region"])
    changes, everything = solver.changes, solver.changes.everything
    for name in CHANGES:
        setattr(changes, name, facts["changes"][name])
    changes.everything = changes.everything or everything
    if facts["refined"]:
        solver.ready_tree().refine(None, facts["tree"]["opened"])
        solver.changes.solution, solver.cost = False, Cost("adaptive")


def measure_of(facts: Facts) -> ErrorMeasure:
    """The error measure that `solver_state` noted."""
    name, eps, over, scale, metres, bodies = facts["measure"]
    return ErrorMeasure(name, eps, over, tuple(scale), metres, None if bodies is None else tuple(bodies))


def measure_facts(error: ErrorMeasure) -> list[Any]:
    """An error measure as plain facts."""
    bodies = None if error.bodies is None else list(error.bodies)
    return [error.name, error.eps, error.over, list(error.scale), error.metres, bodies]


def assembly_facts(solver: Solver) -> Any:
    """The assembly that was asked for, as plain facts."""
    shape = solver.assembly
    if isinstance(shape, str):
        return shape
    return (
        {"near": list(shape.bodies)}
        if isinstance(shape, NearBodies)
        else {"rows": rows_of(solver.assemble().plan).rows}
    )


def assembly_of(facts: Any) -> Any:
    """What `assembly_facts` gave."""
    if isinstance(facts, str):
        return facts
    return NearBodies(tuple(facts["near"])) if "near" in facts else GivenPairs(tuple((a, b) for a, b in facts["rows"]))


def options_of(arrays: Arrays, facts: Facts) -> dict[str, Any]:
    """The arguments of a simulation whose parts gave these facts."""
    solver, stepper = facts["solver"], facts["stepper"]
    return {
        "error": measure_of(solver), "method": solver["method"], "catch_up": solver["asked"][1],
        "closures": [Closure(*c) for c in solver.get("closures", [])], "culled": solver["asked"][0],
        "every": solver["region"]["pace"]["every"] if "region" in solver else None,
        "assembly": assembly_of(solver["assembly"]), "max_turn": stepper["max_turn"], "refresh": stepper["refresh"],
    }  # fmt: skip


# What a checkpoint keeps of a motion beyond its inputs, and how it goes on from there.


OWN = ("every", "steps", "time", "share", "last", "age", "h", "begun", "urgent", "cuts", "jolted")
REGION = ("energy_lost", "delta", "opened", "closed", "stale")


def mover_state(mover: Mover) -> tuple[Arrays, Facts]:
    """A motion as arrays and plain facts."""
    error, changes, region = mover.error, mover.inputs.changes, mover.region
    facts: Facts = {
        "options": [mover.method, mover.integrator, mover.given, mover.most, mover.max_turn],
        "measure": [error.name, error.eps, error.over, list(error.scale)],
        "own": {name: getattr(mover, name) for name in OWN}, "selector": mover.selector.state(),
        "changes": [changes.everything or changes.most_forces, list(changes.forces), list(changes.torques)],
    }  # fmt: skip
    loops = mover.loops
    if mover.closures is not None:
        facts["closures"] = [[c.a, c.b, c.joint] for c in mover.closures.closures]
    arrays = {
        "loops": np.zeros((0, 6)) if loops is None else loops.force,
        "told": np.zeros((0, 6)) if loops is None else loops.told,
        "v": mover.state.v,
        "open": np.zeros(0, np.int64),
        "touched": np.zeros(0, np.int64),
    }
    if mover.effort.stops[0]:
        arrays["looked"] = mover.looked
    if mover.is_made and mover.effort.stops[0]:
        arrays["full_grip"] = mover.full.work.grip
        facts["fresh"] = mover.full.fresh
    if region is not None:
        facts["region"] = {name: getattr(region, name) for name in REGION}
        if mover.begun:
            work = region.engine.work
            facts["region_fresh"] = region.engine.fresh
            arrays |= {"grip": mover.effort.grip, "weld": mover.effort.weld}
            arrays |= {"gripped": work.grip, "held": work.held}
            arrays |= {"open": region.open_nodes.copy(), "touched": np.array(region.touched, np.int64)}
    return arrays, facts


def restore_mover(mover: Mover, arrays: Arrays, facts: Facts) -> None:
    """What `mover_state` gave; inputs are there already. O(n) where a region was active."""
    mover.state.v[:] = arrays["v"]
    if mover.loops is not None:
        mover.loops.force[:], mover.loops.told[:] = arrays["loops"], arrays["told"]
    if "looked" in arrays:
        mover.looked = arrays["looked"]
    if "full_grip" in arrays:
        mover.full.work.grip[:], mover.full.fresh = arrays["full_grip"], facts["fresh"]
    for name in OWN:
        setattr(mover, name, facts["own"][name])
    mover.selector.restore(facts["selector"])
    everything, forces, torques = facts["changes"]
    changes = mover.inputs.changes
    if "region" in facts:
        region = mover.make_region()
        if mover.begun:
            mover.effort.grip[:], mover.effort.weld[:] = arrays["grip"], arrays["weld"]
            loads = mover.inputs.forces.loads()
            with mover.loops_known(loads, before=True):
                region.begin(loads, mover.h, arrays["open"])
            region.reload(loads)
            engine = region.engine
            work, engine.fresh = engine.work, facts["region_fresh"]
            work.grip[:], work.held[:] = arrays["gripped"], arrays["held"]
            region.touched = arrays["touched"].tolist()
        for name in REGION:
            setattr(region, name, facts["region"][name])
        changes.taken_by_tree()
        changes.everything = everything
        changes.forces, changes.torques = list(forces), list(torques)


def mover_options(facts: Facts) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a simulation whose mover gave these facts."""
    name, eps, over, scale = facts["measure"]
    method, integrator, every, most, turn = facts["options"]
    error = ErrorMeasure(name, eps, over, tuple(scale))
    given = {"integrator": integrator, "every": every, "most": most, "max_turn": turn}
    given["closures"] = [Closure(*c) for c in facts.get("closures", [])]
    return (error, method), given
