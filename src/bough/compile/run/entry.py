"""Compiled code, and gates to it for one thread or for several at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough.compile.run.gate import Gate, Pile, Signature, make_gate


@dataclass(frozen=True)
class Entry:
    """Compiled code: `int64_t entry(void **arrays, int64_t batch, void *context)`.

    `owner` keeps the code in memory. Code that needs scratch memory gives `new_context`, which returns the
    address of a fresh context and what keeps it alive; each running call has its own.
    """

    address: int
    owner: Any = None
    new_context: Callable[[], tuple[int, Any]] | None = None


def shared_gate(signature: Signature, entry: Entry) -> Gate:
    """A gate that may be used by several threads at once: code with a context gets one gate for each running call."""
    if entry.new_context is None:
        return make_gate(signature, entry.address)
    idle: list[Gate] = []

    def pooled(*arrays: np.ndarray) -> int:
        try:
            gate = idle.pop()
        except IndexError:
            gate = own_gate(signature, entry)
        try:
            return gate(*arrays)
        finally:
            idle.append(gate)

    return pooled


def own_gate(signature: Signature, entry: Entry, pile: Pile | None = None) -> Gate:
    """A gate for one thread at a time, with a context of its own if the code needs one."""
    if entry.new_context is None:
        return make_gate(signature, entry.address, pile=pile)
    address, owner = entry.new_context()
    gate = make_gate(signature, entry.address, address, pile)

    def keeping_the_context(*arrays: np.ndarray, owner: Any = owner) -> int:
        return gate(*arrays)

    return keeping_the_context
