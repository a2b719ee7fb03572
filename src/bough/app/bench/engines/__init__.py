"""The same mechanism and state in other engines: one file for each, all with `calls(model, state)`.

Belongs here: twins of a model, and what each engine calls the functions that everybody has. Does not belong here: what
is measured (`mechanisms`, `own`), and timing. An engine that is not installed, or cannot have the mechanism, says so by
a `BoughError`; results are compared with Bough's before anything is timed.
"""

from __future__ import annotations

from bough.app.bench.engines.common import PeerCall, PeerState, agreed, expected, random_state

ENGINES = ("pinocchio", "mujoco", "drake", "dart", "casadi")

__all__ = ["ENGINES", "PeerCall", "PeerState", "agreed", "expected", "random_state"]
