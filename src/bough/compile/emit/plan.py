"""The layout of a straight-line program as code: stages, chunks, and the place of every value.

The code computes units: single nodes, or several nodes side by side (see `twins`), which are stored side by side, too.

Sines and cosines are evaluated many at a time, so the operations are cut into stages at those points;
stages are cut into chunks, which become functions of their own, because a compiler's time grows faster than
the length of a function. A value that outlives its chunk is stored in a slot of a workspace.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bough.compile.graph.expr import ADD, CONST, COS, INPUT, SIN
from bough.compile.graph.program import Program, Unit


@dataclass(frozen=True)
class Place:
    """A number in memory: element `offset` of array argument number `array`, or of the workspace (array = -1)."""

    array: int
    offset: int


@dataclass(frozen=True)
class AngleStage:
    """Chunks of units, then the angles whose sines and cosines they make possible.

    The stage's sines and cosines are rows of the workspace, `room` elements each; cosines may take the place of angles.
    """

    chunks: list[list[Unit]]
    angles: list[int]
    first_angle: int
    first_sine: int
    first_cosine: int
    room: int


class Plan:
    """Stages, chunks and places of a program.

    `group` is the number of angles evaluated together: their rows are padded to a multiple of it. `units` are the
    operations in an order of evaluation; without them each is a unit of its own, in the order of the graph.
    Node i is stored to `targets[i]` when it is computed, and loaded from `source[i]` in other chunks. Units of
    several nodes that outlive their chunk are stored to `shelves[unit]` and the places that follow.
    `size` is the length of the workspace so far.
    """

    def __init__(self, program: Program, chunk: int, group: int = 1, units: Sequence[Unit] | None = None) -> None:
        self.program = program
        self.size = 0
        self.source: dict[int, Place] = {}
        self.targets: dict[int, list[Place]] = {}
        self.shelves: dict[Unit, Place] = {}
        self.shelved: dict[int, tuple[Unit, int]] = {}
        if program.parameters:
            raise ValueError("parameters must be settled before a program is laid out")
        graph = program.graph
        self.live = graph.live(program.flat_roots())
        for i in self.live:
            if graph.op[i] == INPUT:
                self.source[i] = Place(graph.a[i], graph.b[i])
        units = units or [(i,) for i in self.live if graph.op[i] >= ADD]
        self.stages = [self._stage(_cut(ops, chunk), angles, group) for ops, angles in _levels(program, units)]
        self._place_slots()

    def place_outputs(self, skipped: Sequence[Collection[int]]) -> None:
        """Let every output element be stored, but for the `skipped` columns of each output."""
        for k, roots in enumerate(self.program.roots):
            for offset, r in enumerate(roots):
                if offset not in skipped[k]:
                    self._store(r, Place(len(self.program.inputs) + k, offset))

    def reserve(self, count: int, alignment: int = 1) -> int:
        """Reserve `count` more elements of the workspace; returns the first, a multiple of `alignment`."""
        first = -(-self.size // alignment) * alignment
        self.size = first + count
        return first

    def copies(self, stage: AngleStage) -> list[int]:
        """Inputs, constants, sines and cosines to store as they are at the end of a stage: angles, and outputs."""
        op = self.program.graph.op
        roots = self.program.flat_roots() if stage is self.stages[-1] else []
        plain = dict.fromkeys(i for i in (*stage.angles, *roots) if op[i] in (CONST, INPUT, SIN, COS))
        return [i for i in plain if i in self.targets]

    def _store(self, node: int, place: Place) -> None:
        self.targets.setdefault(node, []).append(place)

    def _stage(self, chunks: list[list[Unit]], angles: list[int], group: int) -> AngleStage:
        room, roots = -(-len(angles) // group) * group, set(self.program.flat_roots())
        sine, cosine = (self.reserve(room, group) for _ in range(2))
        # an angle that is an output, too, is stored again when its cosine is there
        angle = cosine if roots.isdisjoint(angles) else self.reserve(room, group)
        stage = AngleStage(chunks, angles, angle, sine, cosine, room)
        for offset, angle in enumerate(angles):
            self._store(angle, Place(-1, stage.first_angle + offset))
            for op, first in ((SIN, stage.first_sine), (COS, stage.first_cosine)):
                node = self.program.graph.table.get((op, angle, -1))
                if node is not None:
                    self.source[node] = Place(-1, first + offset)
        return stage

    def _place_slots(self) -> None:
        """Slots for the values that one chunk leaves to a later one; a slot is free again after its last reader."""
        graph = self.program.graph
        chunks = [chunk for stage in self.stages for chunk in stage.chunks]
        last_reader = {i: c for c, chunk in enumerate(chunks) for unit in chunk for i in unit}
        for c, chunk in enumerate(chunks):
            for i in (i for unit in chunk for i in unit):
                for operand in (graph.a[i], graph.b[i]):
                    if operand in last_reader:
                        last_reader[operand] = c
        free: dict[int, list[int]] = {}  # slots by the size of the units that fit
        released: list[list[tuple[int, int]]] = [[] for _ in chunks]
        for c, chunk in enumerate(chunks):
            for unit in chunk:
                size, last = len(unit), max(last_reader[i] for i in unit)
                if last > c:
                    slot = free[size].pop() if free.get(size) else self.reserve(size, size)
                    self._shelve(unit, slot)
                    released[last].append((size, slot))
            for size, slot in released[c]:
                free.setdefault(size, []).append(slot)

    def _shelve(self, unit: Unit, slot: int) -> None:
        for lane, i in enumerate(unit):
            self.source.setdefault(i, Place(-1, slot + lane))
        if len(unit) == 1:
            self._store(unit[0], self.source[unit[0]])
        else:
            self.shelves[unit] = Place(-1, slot)
            self.shelved |= {i: (unit, lane) for lane, i in enumerate(unit)}


def _levels(program: Program, units: Sequence[Unit]) -> list[tuple[list[Unit], list[int]]]:
    """(operations, angles) of each stage, in evaluation order.

    Stage s holds the operands of angles that depend on s sines or cosines; all the rest is in the last one.
    """
    graph = program.graph
    op, a, b = graph.op, graph.a, graph.b
    level, early = [0] * len(graph), bytearray(len(graph))
    for i in (i for unit in units for i in unit):
        behind = max(level[a[i]], level[b[i]] if b[i] >= 0 else 0)
        level[i] = behind + 1 if op[i] in (SIN, COS) else behind
    for unit in reversed(units):
        if op[unit[0]] in (SIN, COS) or any(early[i] for i in unit):
            for i in unit:
                early[a[i]] = 1
                if b[i] >= 0:
                    early[b[i]] = 1
    last = max((level[i] for unit in units for i in unit), default=0)
    operations: list[list[Unit]] = [[] for _ in range(last + 1)]
    turns: list[list[Unit]] = [[] for _ in range(last + 1)]
    for unit in units:
        if op[unit[0]] in (SIN, COS):
            turns[level[a[unit[0]]]].append(unit)
        else:
            operations[level[unit[0]] if any(early[i] for i in unit) else last].append(unit)
    # the angles of large units first: units of 2, 4, ... then lie at multiples of that
    large_first = [sorted(found, key=len, reverse=True) for found in turns]
    angles = [list(dict.fromkeys(program.graph.a[i] for unit in found for i in unit)) for found in large_first]
    return list(zip(operations, angles, strict=True))


def _cut(operations: list[Unit], size: int) -> list[list[Unit]]:
    """Pieces of nearly equal length, at most `size`; one empty piece when there is nothing."""
    pieces = max(1, -(-len(operations) // size))
    ends = [len(operations) * k // pieces for k in range(pieces + 1)]
    return [operations[i:j] for i, j in pairwise(ends)]
