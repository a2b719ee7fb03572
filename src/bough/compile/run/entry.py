"""Entries: what an execution makes of a routine, and gates to its code for one thread or for several at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from bough.compile.run.gate import Gate, Maker, Signature, WorkQueue, make_gate, make_maker


class Opened(NamedTuple):
    """A gate for one thread at a time, and `make` where it is for one configuration; both keep what they need."""

    gate: Gate
    make: Maker | None = None


class Code(Protocol):
    """What runs the rows of arrays."""

    @property
    def is_shared(self) -> bool:
        """May several threads use one gate at once?"""

    def open(self, signature: Signature, queue: WorkQueue | None = None) -> Opened:
        """A gate to all rows of some arrays, or to those that it takes from the queue."""


@dataclass(frozen=True)
class Entry:
    """Code for one configuration and code for many, each made when it is first asked for."""

    single: Callable[[], Code]
    batch: Callable[[], Code]


@dataclass(frozen=True)
class NativeCode:
    """`int64_t entry(void **arrays, int64_t batch, void *context)` in memory.

    `owner` keeps it there. Code that needs scratch memory gives `new_context`, which returns the
    address of a fresh context and what keeps it alive; each running call has its own. Inputs that are `unchecked` (see
    `graph.passes.unchecked_inputs`) are not checked where the results are.
    """

    address: int
    owner: Any = None
    new_context: Callable[[], tuple[int, Any]] | None = None
    unchecked: frozenset[int] = frozenset()

    @property
    def is_shared(self) -> bool:
        return self.new_context is None

    def open(self, signature: Signature, queue: WorkQueue | None = None) -> Opened:
        context, memory = self.new_context() if self.new_context else (0, None)
        signature, keep = replace(signature, unchecked=self.unchecked), (self, memory, queue)
        gate = make_gate(signature, self.address, context, queue, keep)
        alone = not signature.batched and bool(signature.outputs)
        return Opened(gate, make_maker(signature, self.address, context, keep) if alone else None)


def shared_gate(code: Code, signature: Signature) -> Gate:
    """A gate that several threads may use at once: where the code is not shared, each running call has its own."""
    if code.is_shared:
        return code.open(signature).gate
    idle: list[Gate] = []

    def pooled(*arrays: np.ndarray) -> int:
        try:
            gate = idle.pop()
        except IndexError:
            gate = code.open(signature).gate
        try:
            return gate(*arrays)
        finally:
            idle.append(gate)

    return pooled
