"""`TaskSet`: tasks found in a model, as arrays for the kernels, with their supports and the pattern of J.

Featherstone 2010, sections 4 and 5. The support of a row is the set of degrees of freedom on the paths from its
bodies to the root; J has no other entries.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from bough.errors import TaskError
from bough.joints import Mechanism
from bough.model import Model
from bough.model.coupling import parents_of_dofs
from bough.opspace.sweeps.jacobian import JacobianPattern, Slots
from bough.opspace.sweeps.wrenches import CENTER, JOINT, LOCAL, MOMENTUM, REACTION, TIE, Seeds
from bough.opspace.tasks import Seed, Task
from bough.types import IntArray

# Inertias that differ by more than this make H so badly conditioned that its factor loses digits.
WIDE_RANGE = 1e6
OF_JOINTS = (JOINT, REACTION, TIE)  # seeds whose entries of J are constant


class TaskSet:
    """Tasks on a model. Rows come in the order of the tasks; `row_names` says what each is."""

    def __init__(self, model: Model, tasks: Iterable[Task]) -> None:
        self.model = model
        alone: object = tasks  # mistaken for a list
        if isinstance(alone, str | Task):
            what = f"the name {alone!r}" if isinstance(alone, str) else f"the task {alone.name!r}"
            raise TaskError(f"tasks are a list such as [bough.pose(frame)], got {what}")
        self.tasks = tuple(tasks)
        for task in self.tasks:
            if not isinstance(task, Task):
                raise TaskError(f"expected tasks such as bough.pose(frame), got {task!r}")
        if not self.tasks:
            loops = "; for the loops of the model alone: ConstrainedDynamics(model)" * bool(model.closures)
            raise TaskError(f"the task set is empty: expected at least one task{loops}")
        for name, times in Counter(t.name for t in self.tasks).items():
            if times > 1:
                raise TaskError(f"task {name!r} is listed {times} times: drop one, or give it a name= of its own")
        found: list[list[list[Seed]]] = [_checked_seeds(model, task) for task in self.tasks]
        counts = [len(rows) for rows in found]
        ends = np.cumsum(counts).tolist()
        self.slices = {t.name: slice(end - n, end) for t, n, end in zip(self.tasks, counts, ends, strict=True)}
        self.rows = [row for rows in found for row in rows]  # the seeds of each

    @property
    def size(self) -> int:
        """m: the number of rows."""
        return len(self.rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tasks by name, in order."""
        return tuple(t.name for t in self.tasks)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """One name for each row, such as "pose(hand).rz"."""
        names: list[str] = []
        for task in self.tasks:
            rows = self.slices[task.name]
            names.extend(task.row_names(rows.stop - rows.start))
        return tuple(names)

    # Topology

    @cached_property
    def seeds(self) -> Seeds:
        """Where rows begin: bodies, points and axes, as kernels take them."""
        m = self.model.mechanism
        pairs = [(s, r) for r, row in enumerate(self.rows) for s in row]
        flat = sorted(pairs, key=lambda pair: (pair[0].body, pair[1]))
        body = np.array([s.body for s, _ in flat], np.int64)
        root = np.arange(len(m.parent))
        for i, p in enumerate(m.parent.tolist()):
            root[i] = root[p] if p >= 0 else i
        kinds = np.array([s.kind for s, _ in flat], np.int64)
        return Seeds(
            kind=kinds,
            body=body,
            other=np.array([s.other for s, _ in flat], np.int64),
            row=np.array([r for _, r in flat], np.int64),
            wrench=np.array([s.wrench for s, _ in flat], float),
            point=np.array([s.point for s, _ in flat], float),
            of_body=np.searchsorted(body, np.arange(len(m.parent) + 1)).astype(np.int64),
            placed=self._placed(flat),
            root=root,
            central=np.array([int(np.isin(kinds, (MOMENTUM, CENTER)).any())], np.int64),
        )

    def _placed(self, flat: Sequence[tuple[Seed, int]]) -> IntArray:
        """Bodies whose placement a seed's K or a column of J needs: all on the path to the root."""
        parent = self.model.mechanism.parent.tolist()
        if any(s.kind in (MOMENTUM, CENTER) for s, _ in flat):
            return np.arange(len(parent), dtype=np.int64)
        found: set[int] = set()
        for s, _ in flat:
            if s.kind not in (LOCAL, *OF_JOINTS):
                found |= _path(parent, s.body) | _path(parent, s.other)
        return np.array(sorted(found), np.int64)

    @cached_property
    def hash(self) -> str:
        """A digest of the model and of the rows, but not of their names."""
        rows = [(array.shape, array.tobytes()) for array in self.seeds]
        return hashlib.sha256(repr((self.model.hash, rows)).encode()).hexdigest()

    @cached_property
    def with_placements(self) -> Seeds:
        """The same seeds with every body of their supports placed: what J is computed from."""
        parent = self.model.mechanism.parent.tolist()
        found = set(self.seeds.placed.tolist())
        for kind, body in zip(self.seeds.kind.tolist(), self.seeds.body.tolist(), strict=True):
            if kind not in OF_JOINTS:
                found |= _path(parent, body)
        return self.seeds._replace(placed=np.array(sorted(found), np.int64))

    @cached_property
    def bodies_of_row(self) -> tuple[IntArray, ...]:
        """For each row the (kernel's) bodies on the paths from its seeds to the root, ascending."""
        parent = self.model.mechanism.parent.tolist()
        return tuple(np.array(sorted(set().union(*(_path(parent, s.body) for s in row)))) for row in self.rows)

    @cached_property
    def slots(self) -> Slots:
        """A place for each pair of a body and a row that it moves, bodies in order."""
        parent, first = self.model.mechanism.parent, self.model.mechanism.dof
        pairs = sorted((int(i), r) for r, bodies in enumerate(self.bodies_of_row) for i in bodies)
        number = {pair: k for k, pair in enumerate(pairs)}
        body = np.array([i for i, _ in pairs], np.int64)
        seeds = zip(self.seeds.body.tolist(), self.seeds.row.tolist(), strict=True)
        return Slots(
            of_body=np.searchsorted(body, np.arange(len(parent) + 1)).astype(np.int64),
            body=body,
            row=np.array([r for _, r in pairs], np.int64),
            up=np.array([number.get((int(parent[i]), r), -1) for i, r in pairs], np.int64),
            of_seed=np.array([number[pair] for pair in seeds], np.int64),
            entry=np.array([self._entries[r, int(first[i])] for i, r in pairs], np.int64),
        )

    @cached_property
    def _entries(self) -> dict[tuple[int, int], int]:
        """The place in packed J of each (row, degree of freedom)."""
        first = self.model.mechanism.dof.tolist()
        pairs = (
            (r, k) for r, bodies in enumerate(self.bodies_of_row) for i in bodies for k in range(first[i], first[i + 1])
        )
        return {pair: e for e, pair in enumerate(pairs)}

    @cached_property
    def pattern(self) -> JacobianPattern:
        """Where J can be different from zero, row after row."""
        m, entry = self.model.mechanism, self._entries
        dof_parent = parents_of_dofs(m).tolist()
        rows = np.array([r for r, _ in entry])
        up = [entry.get((r, dof_parent[k]), -1) for r, k in entry]
        constant = np.zeros(len(entry))
        for r, row in enumerate(self.rows):
            for s in row:
                if s.kind in (JOINT, TIE):
                    constant[entry[r, s.dof]] = s.wrench[m.axis[s.dof]]
        seeds = self.seeds
        last = [entry[r, int(m.dof[i + 1]) - 1] for i, r in zip(seeds.body.tolist(), seeds.row.tolist(), strict=True)]
        skip = np.isin(seeds.kind, OF_JOINTS)
        return JacobianPattern(
            np.searchsorted(rows, np.arange(self.size + 1)), np.array([k for _, k in entry]), np.array(up),
            np.where(skip, -1, np.array(last, np.int64)), constant,
        )  # fmt: skip

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The numbers behind the shapes of kernel arrays, the model's included."""
        own = {"rows": self.size, "seeds": len(self.seeds.kind), "slots": len(self.slots.row)}
        return self.model.sizes | own | {"entries": len(self.pattern.dof)}

    @cached_property
    def traced_mechanism(self) -> Mechanism:
        """Constants for traced code: inertias in their cheapest form, unless rows need those of each body.

        Masses that differ widely stay where they are too: moving them would cost the recursions their digits.
        """
        if bool(self.seeds.central[0]) or self.mass_range > WIDE_RANGE:
            return self.model.mechanism
        return self.model.grouped

    @cached_property
    def mass_range(self) -> float:
        """The largest mass of a body over the smallest that is not zero."""
        mass = self.model.mechanism.inertia[:, 9]
        mass = mass[mass > 0.0]
        return float(mass.max() / mass.min()) if len(mass) else 1.0

    # What a user may ask about the rows

    @cached_property
    def support(self) -> tuple[IntArray, ...]:
        """For each row, the degrees of freedom (in the order of v) that its part of J may depend on."""
        p, v_index = self.pattern, self.model.mechanism.v_index
        return tuple(np.unique(v_index[p.dof[a:b]]) for a, b in zip(p.of_row[:-1], p.of_row[1:], strict=True))

    def __repr__(self) -> str:
        return f"TaskSet({', '.join(self.names)}: {self.size} rows on {self.model.name!r})"


def _checked_seeds(model: Model, task: Task) -> list[list[Seed]]:
    """The seeds of a task's rows; what the sweeps could not serve is refused by name."""
    rows = task.seeds(model)
    if not rows or not all(rows):
        raise TaskError(f"task {task.name!r} has {'a row without a seed' if rows else 'no rows'}: it moves nothing")
    for r, row in enumerate(rows):
        if len({seed.body for seed in row}) < len(row):
            raise TaskError(f"task {task.name!r}: row {r} has two seeds on one body; expected one that joins them")
    return rows


def _path(parent: list[int], body: int) -> set[int]:
    found = set()
    while body >= 0:
        found.add(body)
        body = parent[body]
    return found
