"""When clusters open and close, from an error measure; and when plain steps are cheaper than an active region."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.motion.choose import Rule

THETA = 0.25  # of the square at which clusters open, they close: hysteresis
TIME = 0.02  # s; velocities count as the accelerations that bring them about in this time
NO_LIMIT = 1 << 60
BY_JOINT = "joint_motion"  # the measure that goes by joints

# What counts, in joints of a plain step: a survey, for each open cluster and for itself; building all records, for each
# joint of the linkage; share of the time that may go into tries that fail
SURVEY, AT_LEAST, BUILDING, SHARE = 12.0, 1000.0, 50.0, 0.04


EVERY, LEAST, MOST = 20, 10, 40  # steps between choices, unless they are given: to begin with, and at any time
FEW, MANY = 0.04, 0.1  # shares of the open clusters that were opened at a choice


def spaced(every: int, opened: int, open_: int) -> int:
    """After how many steps to choose again: later where hardly any cluster had to be opened, sooner where many had."""
    if opened > MANY * open_:
        return max(LEAST, every // 2)
    return min(MOST, 2 * every) if opened <= FEW * open_ else every


def make_rule(error: ErrorMeasure, mass: float, share: float, most: int) -> Rule:
    """Clusters open where a body of this mass would gain more than a share of eps."""
    a, by_joint = (share * error.eps) ** 2, error.name == BY_JOINT
    mass = 1.0 if by_joint else mass
    return Rule(a * mass, THETA * mass, a, TIME**2 * a, most, int(by_joint))


@dataclass
class Turns:
    """Chooses between an active region and plain steps of all joints, by counting.

    The same run takes the same turns on every machine, and goes on the same way from a checkpoint.
    """

    joints: int
    every: int
    active: bool = True
    wait: int = 0  # plain steps before the next try
    patience: int = 1

    @property
    def most(self) -> int:
        """How many clusters may be open before plain steps are cheaper."""
        return int((self.joints - AT_LEAST / self.every) / (1.0 + SURVEY / self.every) / 1.02)

    def may_try(self, moving: int) -> bool:
        """Whether a try is due, if so many joints move; at the start, it is not if they are too many."""
        if self.most < 8:
            self.wait = NO_LIMIT
        elif self.wait <= 0 and self.patience == 1 and moving > self.most:
            self.failed()
        self.active = self.wait <= 0
        return self.active

    def succeeded(self) -> None:
        """A region pays."""
        self.active, self.patience = True, 1

    def failed(self) -> None:
        """Back to plain steps, for so long that the try weighs little."""
        self.active = False
        self.wait = self.patience * int(1 + (BUILDING + SURVEY) / SHARE)
        self.patience = min(2 * self.patience, 1024)

    def state(self) -> dict[str, Any]:
        """All it knows, as plain facts."""
        return asdict(self)

    def restore(self, facts: dict[str, Any]) -> None:
        """What `state` gave."""
        for name, value in facts.items():
            setattr(self, name, value)
