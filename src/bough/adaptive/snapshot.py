"""What a checkpoint keeps of a motion beyond its inputs, and how it goes on from there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.closure import Closure
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.mover import Mover

Arrays = dict[str, npt.NDArray[Any]]
Facts = dict[str, Any]
OWN = ("every", "steps", "time", "share", "last", "age", "h", "begun", "urgent", "cuts", "jolted")
REGION = ("energy_lost", "delta", "opened", "closed", "stale")


def mover_state(mover: Mover) -> tuple[Arrays, Facts]:
    """A motion as arrays and plain facts."""
    error, changes, region = mover.error, mover.inputs.changes, mover.region
    facts: Facts = {
        "options": [mover.method, mover.integrator, list(mover.without), mover.given, mover.most, mover.max_turn],
        "measure": [error.name, error.eps, error.over, list(error.scale)],
        "own": {name: getattr(mover, name) for name in OWN}, "turns": mover.turns.state(),
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
        more, facts["watch"] = mover.watch.state()
        arrays |= more
    if mover.is_made and mover.effort.stops[0]:
        arrays["full_grip"] = mover.full.work.grip
        facts["fresh"] = mover.full.fresh
    if region is not None:
        facts["region"] = {name: getattr(region, name) for name in REGION}
        if mover.begun:
            work = region.engine.work
            facts["felt"] = [region.engine.felt, region.engine.fresh]
            arrays |= {"grip": mover.effort.grip, "weld": mover.effort.weld}
            arrays |= {"gripped": work.grip, "held": work.held}
            arrays |= {"open": region.open_nodes.copy(), "touched": np.array(region.touched, np.int64)}
    return arrays, facts


def restore_mover(mover: Mover, arrays: Arrays, facts: Facts) -> None:
    """What `mover_state` gave; inputs are there already. O(n) where a region was active."""
    mover.state.v[:] = arrays["v"]
    if mover.loops is not None:
        mover.loops.force[:], mover.loops.told[:] = arrays["loops"], arrays["told"]
    if "watch" in facts:
        mover.watch.restore(arrays, facts["watch"])
    if "full_grip" in arrays:
        mover.full.work.grip[:], mover.full.fresh = arrays["full_grip"], facts["fresh"]
    for name in OWN:
        setattr(mover, name, facts["own"][name])
    mover.turns.restore(facts["turns"])
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
            work, (engine.felt, engine.fresh) = engine.work, facts["felt"]
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
    method, integrator, without, every, most, turn = facts["options"]
    error = ErrorMeasure(name, eps, over, tuple(scale))
    given = {"integrator": integrator, "without": without, "every": every, "most": most, "max_turn": turn}
    given["closures"] = [Closure(*c) for c in facts.get("closures", [])]
    return (error, method), given
