"""One mechanism: Bough beside the engines that are here, each checked to give the same before it is timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bough.app.bench.engines import ENGINES, contestants
from bough.app.bench.states import Compared, PeerState, end_effectors, layout, random_state, random_states
from bough.app.bench.timing import Call, Times, contest
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError
from bough.model import Model
from bough.opspace import ConstrainedDynamics, OperationalSpace, position
from bough.sparsity import ltdl

BATCH, IN_BATCH = 1024, "bough, in a batch"
MOST, LARGEST = 500_000_000, 1000  # bytes of the result of a batch; degrees of freedom of one


class Comparison(NamedTuple):
    """Times by function, why a function has none, and why an engine does not take part."""

    times: dict[str, Times]
    notes: dict[str, str]
    absent: dict[str, str]


class Function(NamedTuple):
    """A method, and its arguments: fields of a state, and others."""

    owner: Any
    name: str
    fields: str
    more: tuple[Any, ...] = ()
    options: Mapping[str, Any] = {}

    def at(self, s: PeerState, **options: Any) -> Call:
        """The call as users write it: after the first one, methods are compiled functions."""
        given = (*(getattr(s, x) for x in self.fields.split()), *self.more)
        getattr(self.owner, self.name)(*given, **self.options, **options)
        return partial(getattr(self.owner, self.name), *given, **self.options, **options)


def functions(dyn: Dynamics, ends: OperationalSpace | None = None) -> dict[str, Function]:
    """Benchmarks, single and in batches; with `ends`, also those with larger results."""
    model = dyn.model
    found = {
        Compared.FORWARD: Function(dyn, "forward_dynamics", "q v tau"),
        Compared.PUSHED: Function(dyn, "forward_dynamics", "q v tau forces"),
        Compared.INVERSE: Function(dyn, "inverse_dynamics", "q v tau"),
        Compared.MASS: Function(dyn, "mass_matrix", "q"),
        Compared.MASS_INVERSE: Function(dyn, "inverse_mass_matrix", "q"),
        Compared.FRAMES: Function(dyn, "placements", "q"),
        Compared.JACOBIAN: Function(dyn, "jacobian", "q", (model.frame_names[layout(model).frame],)),
        Compared.STEP: Function(dyn, "semi_implicit_step", "q v tau dt"),
    }
    if ends is None:
        return found
    return found | {
        Compared.FORWARD_BY: Function(dyn, "forward_dynamics_derivatives", "q v tau"),
        Compared.INVERSE_BY: Function(dyn, "inverse_dynamics_derivatives", "q v tau"),
        Compared.REGRESSOR: Function(dyn, "regressor", "q v tau"),
        Compared.LAMBDA: Function(ends, "inverse_inertia", "q"),
        Compared.PASS: Function(ends, "full", "q v"),
        # at rest all kinds of acceleration are one
        Compared.CONSTRAINED: Function(ConstrainedDynamics(ends), "__call__", "q rest tau"),
    }


def ends_of(model: Model, dyn: Dynamics) -> OperationalSpace:
    """The positions of at most four ends of limbs, three rows each, in their own axes."""
    tasks = [position(model.frame_names[k], "local", name=f"end {k}") for k in end_effectors(model)]
    return OperationalSpace(model, tasks, dynamics=dyn)


def compare(model: Model, seconds: float = 0.3, engines: Mapping[str, str] = ENGINES) -> Comparison:
    """Single calls of the functions that everybody needs, and Bough's time in a batch."""
    dyn, states = Dynamics(model), random_states(model)
    ours = functions(dyn, ends_of(model, dyn))
    calls, found, notes = single(dyn, ours, states)
    cases, absent = contestants(calls, engines, model, states, found)
    for case, call in batched(model, {case: ours[case] for case in cases if case in ours}).items():
        cases[case][IN_BATCH] = call
    count = {IN_BATCH: BATCH}
    times = {case: contest(x, seconds).per({name: count.get(name, 1) for name in x}) for case, x in cases.items()}
    return Comparison(times, notes, absent)


# Single calls


def single(
    dyn: Dynamics, ours: Mapping[str, Function], states: Sequence[PeerState]
) -> tuple[dict[str, list[Call]], list[dict[str, Any]], dict[str, str]]:
    """Calls at all states, what engines must find at each, and why a function has no result."""
    model, tree, calls, why = dyn.model, dyn.model.dof_tree, dict[str, list[Call]](), dict[str, str]()
    for case, function in ours.items():
        try:
            calls[case] = [function.at(s) for s in states]
        except BoughError as error:
            why[case] = f"not measured: {error}"
    rows = [dyn.packed_mass_matrix(s.q) for s in states]
    calls[Compared.FACTOR] = [partial(ltdl(H, tree).refactor, H) for H in rows]
    calls[Compared.SOLVE] = [Function(dyn.factorize(s.q), "solve", "tau").at(s, out=0 * s.tau) for s in states]
    shown = {case: runs for case, runs in calls.items() if case != Compared.PASS}  # no other engine has this one
    found = [
        {case: comparable(case, runs[k](), s, model) for case, runs in shown.items()} for k, s in enumerate(states)
    ]
    return calls, found, why


def comparable(case: str, x: Any, s: PeerState, model: Model) -> Any:
    """A result as an array that other engines have, too."""
    if case in (Compared.FORWARD_BY, Compared.INVERSE_BY):
        return np.stack(x)
    if case == Compared.FACTOR:
        return x.solve(s.tau)
    if case == Compared.FRAMES:
        return x[np.asarray(model.frames.body) >= 0, :3, 3]
    if case == Compared.REGRESSOR:
        return x @ model.inertias.ravel()  # bodies are merged otherwise elsewhere
    return x.qdd if case == Compared.CONSTRAINED else x


def batched(model: Model, ours: Mapping[str, Function]) -> dict[str, Call]:
    """The same for many configurations on one thread, into one array; without results that take too much memory."""
    calls = dict[str, Call]()
    if model.nv > LARGEST:
        return calls
    rows = random_state(model, 1, BATCH)
    for case, function in ours.items():
        try:
            few: Any = function.at(rows.first(2))()
            if sum(x.nbytes for x in (few if isinstance(few, tuple) else (few,))) / 2 * BATCH < MOST:
                out = {"out": np.zeros((BATCH, *few.shape[1:]))} if isinstance(few, np.ndarray) else {}
                calls[case] = function.at(rows, threads=1, **out)
        except BoughError:  # of a row that is singular
            continue
    return calls
