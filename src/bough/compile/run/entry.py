"""Entries: the code that an execution makes of a routine, and call trampolines for one or several threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from bough.compile.run.gate import Gate, Maker, Signature, WorkQueue, make_gate, make_maker


class Opened(NamedTuple):
    """A call trampoline for one thread at a time, and `make` if it is for one configuration."""

    gate: Gate
    make: Maker | None = None


class Code(Protocol):
    """Code that computes the rows of arrays."""

    @property
    def is_shared(self) -> bool:
        """Whether several threads may use one call trampoline at once."""

    def open(self, signature: Signature, queue: WorkQueue | None = None) -> Opened:
        """A call trampoline for all rows of some arrays, or for those that it takes from the queue."""


@dataclass(frozen=True)
class Entry:
    """Code for one configuration and code for a batch, each compiled on first use."""

    single: Callable[[], Code]
    batch: Callable[[], Code]


@dataclass(frozen=True)
class NativeCode:
    """`int64_t entry(void **arrays, int64_t batch, void *context)` in memory.

    `owner` keeps it alive. Code that needs scratch memory has `new_context`, which returns the
    address of a new context and its owner; each running call has its own. Inputs that are `unchecked` (see
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
    """A call trampoline for several threads at once: where code is not shared, each running call has its own."""
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
