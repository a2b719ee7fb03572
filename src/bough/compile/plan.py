"""How a straight-line program is laid out as code: stages, chunks, and where every value rests.

Sines and cosines are evaluated many at a time, so the operations are cut into stages at those points;
stages are cut into chunks, which become functions of their own, because a compiler's time grows faster than
the length of a function. A value that outlives its chunk rests in a slot of a workspace.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bough.compile.expr import ADD, CONST, COS, INPUT, SIN, Program


@dataclass(frozen=True)
class Place:
    """A number in memory: element `offset` of array argument number `array`, or of the workspace (array = -1)."""

    array: int
    offset: int


@dataclass(frozen=True)
class Stage:
    """Chunks of operations, then the angles whose sines and cosines they make possible.

    The stage's angles, sines and cosines are three rows of the workspace, `room` elements each.
    """

    chunks: list[list[int]]
    angles: list[int]
    first_angle: int
    first_sine: int
    first_cosine: int
    room: int


class Plan:
    """Stages, chunks and places of a program.

    `group` is the number of angles evaluated together: their rows are padded to a multiple of it.
    Node i is stored to `targets[i]` when it is computed, and loaded from `source[i]` in other chunks.
    `size` is the length of the workspace so far.
    """

    def __init__(self, program: Program, chunk: int, group: int = 1) -> None:
        self.program = program
        self.size = 0
        self.source: dict[int, Place] = {}
        self.targets: dict[int, list[Place]] = {}
        graph = program.graph
        self.live = graph.live(program.flat_roots())
        for i in self.live:
            if graph.op[i] == INPUT:
                self.source[i] = Place(graph.a[i], graph.b[i])
        self.stages = [self._stage(_cut(ops, chunk), angles, group) for ops, angles in _levels(program, self.live)]
        self._place_slots()

    def place_outputs(self, skipped: Sequence[Collection[int]]) -> None:
        """Let every output element be stored, but for the `skipped` columns of each output."""
        for k, roots in enumerate(self.program.roots):
            for offset, r in enumerate(roots):
                if offset not in skipped[k]:
                    self._store(r, Place(len(self.program.inputs) + k, offset))

    def reserve(self, count: int) -> int:
        """Room for `count` more elements of the workspace; returns the first."""
        self.size += count
        return self.size - count

    def copies(self, stage: Stage) -> list[int]:
        """Inputs, constants, sines and cosines to store as they are at the end of a stage: angles, and outputs."""
        op = self.program.graph.op
        roots = self.program.flat_roots() if stage is self.stages[-1] else []
        plain = dict.fromkeys(i for i in (*stage.angles, *roots) if op[i] in (CONST, INPUT, SIN, COS))
        return [i for i in plain if i in self.targets]

    def _store(self, node: int, place: Place) -> None:
        self.targets.setdefault(node, []).append(place)

    def _stage(self, chunks: list[list[int]], angles: list[int], group: int) -> Stage:
        room = -(-len(angles) // group) * group
        stage = Stage(chunks, angles, self.reserve(room), self.reserve(room), self.reserve(room), room)
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
        last_reader = {i: c for c, chunk in enumerate(chunks) for i in chunk}
        for c, chunk in enumerate(chunks):
            for i in chunk:
                for operand in (graph.a[i], graph.b[i]):
                    if operand in last_reader:
                        last_reader[operand] = c
        released: list[list[int]] = [[] for _ in chunks]
        free: list[int] = []
        for c, chunk in enumerate(chunks):
            for i in chunk:
                if last_reader[i] > c:
                    slot = free.pop() if free else self.reserve(1)
                    self.source[i] = Place(-1, slot)
                    self._store(i, self.source[i])
                    released[last_reader[i]].append(slot)
            free += released[c]


def _levels(program: Program, live: list[int]) -> list[tuple[list[int], list[int]]]:
    """(operations, angles) of each stage, in evaluation order.

    Stage s holds what the angles with s sines or cosines behind them need; all the rest is in the last one.
    """
    graph = program.graph
    op, a, b = graph.op, graph.a, graph.b
    level, early = [0] * len(graph), bytearray(len(graph))
    for i in live:
        if op[i] >= ADD:
            behind = max(level[a[i]], level[b[i]] if b[i] >= 0 else 0)
            level[i] = behind + 1 if op[i] in (SIN, COS) else behind
    for i in reversed(live):
        if op[i] in (SIN, COS) or (early[i] and op[i] >= ADD):
            early[a[i]] = 1
            if b[i] >= 0:
                early[b[i]] = 1
    last = max((level[i] for i in live), default=0)
    operations: list[list[int]] = [[] for _ in range(last + 1)]
    angles: list[dict[int, None]] = [{} for _ in range(last + 1)]
    for i in live:
        if op[i] in (SIN, COS):
            angles[level[a[i]]][a[i]] = None
        elif op[i] >= ADD:
            operations[level[i] if early[i] else last].append(i)
    return [(ops, list(xs)) for ops, xs in zip(operations, angles, strict=True)]


def _cut(operations: list[int], size: int) -> list[list[int]]:
    """Pieces of nearly equal length, at most `size`; one empty piece when there is nothing."""
    pieces = max(1, -(-len(operations) // size))
    ends = [len(operations) * k // pieces for k in range(pieces + 1)]
    return [operations[i:j] for i, j in pairwise(ends)]
