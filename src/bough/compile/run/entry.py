"""Entries: what an execution makes of a routine, and gates to its code for one thread or for several at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from bough.compile.run.gate import Gate, Maker, Pile, Signature, make_gate, make_maker


class Opened(NamedTuple):
    """A gate for one thread at a time, `make` where it is for one configuration, and what they need to live."""

    gate: Gate
    make: Maker | None = None
    keep: Any = None


class Code(Protocol):
    """What runs the rows of arrays."""

    @property
    def is_shared(self) -> bool:
        """May several threads use one gate at once?"""

    def open(self, signature: Signature, pile: Pile | None = None) -> Opened:
        """A gate to all rows of some arrays, or to those that it takes from the pile."""


@dataclass(frozen=True)
class Entry:
    """Code for one configuration and code for many, each made when it is first asked for."""

    single: Callable[[], Code]
    batch: Callable[[], Code]


@dataclass(frozen=True)
class NativeCode:
    """`int64_t entry(void **arrays, int64_t batch, void *context)` in memory.

    `owner` keeps it there. Code that needs scratch memory gives `new_context`, which returns the
    address of a fresh context and what keeps it alive; each running call has its own. Inputs that are `felt` (see
    `graph.felt`) are not looked at, where the results are.
    """

    address: int
    owner: Any = None
    new_context: Callable[[], tuple[int, Any]] | None = None
    felt: frozenset[int] = frozenset()

    @property
    def is_shared(self) -> bool:
        return self.new_context is None

    def open(self, signature: Signature, pile: Pile | None = None) -> Opened:
        context, keep = self.new_context() if self.new_context else (0, None)
        signature = replace(signature, felt=self.felt)
        gate = make_gate(signature, self.address, context, pile)
        alone = not signature.batched and bool(signature.outputs)
        return Opened(gate, make_maker(signature, self.address, context) if alone else None, (self, keep))


def own_gate(code: Code, signature: Signature, pile: Pile | None = None) -> Gate:
    """A gate for one thread at a time; keep the code alive, which keeps what is shared."""
    gate, _, keep = code.open(signature, pile)
    if code.is_shared:
        return gate

    def keeping(*arrays: np.ndarray, keep: Any = keep) -> int:
        return gate(*arrays)

    keeping.gate = gate  # type: ignore[attr-defined]  # for `record_of`
    return keeping


def shared_gate(code: Code, signature: Signature) -> Gate:
    """A gate that several threads may use at once: where the code is not shared, each running call has its own."""
    if code.is_shared:
        return own_gate(code, signature)
    idle: list[Gate] = []

    def pooled(*arrays: np.ndarray) -> int:
        try:
            gate = idle.pop()
        except IndexError:
            gate = own_gate(code, signature)
        try:
            return gate(*arrays)
        finally:
            idle.append(gate)

    return pooled
