"""When to leave the tree: adaptive steps while they are cheaper than plain O(n) ones, with a memory of what failed.

A step on the tree costs its opened clusters; a plain step costs all joints; coming back to the tree costs a full
pass. So a try is made only when the forces' root paths alone do not cost more than a plain step, and a failed try is
repeated only after so many plain steps that it cannot weigh more than a few per cent.
"""

from __future__ import annotations

from dataclasses import dataclass

# First guesses of seconds for an opened cluster and for a cluster whose forces change; measured values replace the
# first.
OPEN_SECONDS, FORCE_SECONDS = 2e-6, 0.5e-6
SHARE = 0.04  # of the time may go into tries that fail
CHUNK = 32  # steps taken at once


@dataclass
class Switch:
    """Chooses between the tree and plain steps from measured times, all in seconds."""

    on_tree: bool = False
    wait: int = 1  # plain steps before the next try
    patience: int = 1
    open_seconds: float = OPEN_SECONDS

    def wants_tree(self, plain_seconds: float, root_paths: int) -> bool:
        """Whether a try is due and could pay."""
        return self.wait <= 0 and root_paths * FORCE_SECONDS < plain_seconds

    def budget(self, plain_seconds: float) -> int:
        """How many clusters a step on the tree may open before a plain step is cheaper."""
        return max(64, int(plain_seconds / self.open_seconds))

    def took(self, seconds: float, opened: int, plain_seconds: float) -> bool:
        """Learn from steps on the tree (per step); returns whether to stay there."""
        self.open_seconds += 0.2 * (seconds / max(opened, 1) - self.open_seconds)
        if seconds < plain_seconds:
            self.patience = 1
            return True
        return False

    def leave(self, build_seconds: float, plain_seconds: float) -> None:
        """Back to plain steps, for long enough."""
        self.on_tree = False
        self.wait = self.patience * (1 + int(build_seconds / (SHARE * plain_seconds)))
        self.patience = min(2 * self.patience, 1024)
