"""How long a region of open joints serves, and whether choosing one pays: counted in joints of a plain step, not timed.

Choosing costs, and the longer a region serves, the more of the descent it loses. With k open joints, a choice that
costs as much as c of them, and a share of the descent rate lost that grows from a to b in T steps, going down costs
(k + c / T) / (1 - (a + b) / 2). T is doubled or halved where that makes it less, within the error that is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

from bough.adaptive.engines import cost

LEAST, MOST = 10, 50  # steps with one region, at first
LONGEST = 2  # times as many, at most
STALE = 4.0  # times the loss allowed, twice the error, which a region may come to before it is chosen anew
DEARER = 2.0  # times what redoing nodes costs: a choice, with opening and contracting
WORTH = 0.95  # of the cost of plain steps, above which regions do not pay


@dataclass
class Pace:
    """After how many steps a region is chosen anew: `every` where that is fixed."""

    every: int
    fixed: bool
    stretch: float = 1.0  # times the steps that what choosing costs asks for
    life: float = 0.0  # steps that regions serve: fewer where other forces end them
    spent: float = 0.0  # by one choice
    open: int = 0  # joints, and
    lost: float = 0.0  # the share of the descent rate lost, after it

    def ended(self, age: int) -> None:
        """A region is chosen anew after so many steps; early, perhaps."""
        self.life = float(self.every) if age >= self.every else 0.5 * (self.life + max(age, 1))

    def learn(self, lost: float, allowed: float) -> None:
        """A region that has served its time has come to lose this share of the descent rate."""
        half, once, twice = (self._price(x, lost) for x in (0.5, 1.0, 2.0))
        if lost > STALE * allowed or half < once:
            self.stretch = max(1.0, 0.5 * self.stretch)
        elif twice < once and 2.0 * lost - self.lost <= STALE * allowed:
            self.stretch = min(LONGEST, 2.0 * self.stretch)

    def _price(self, times: float, lost: float) -> float:
        """Of going down, if regions served so many times as long."""
        left = 1.0 - self.lost - 0.5 * times * max(lost - self.lost, 0.0)
        return (self.open + self.spent / (times * self.every)) / left if left > 0.0 else float("inf")

    def chosen(self, joints: int, above: int, lost: float) -> None:
        """So many joints are open, with so many nodes above forces: all that is redone by a choice."""
        self.open, self.lost, self.spent = joints, lost, DEARER * cost(joints, above)
        if not self.fixed:
            least = min(MOST, max(LEAST, round(2.0 * self.spent / joints))) if joints else 1
            self.every = round(self.stretch * least) if joints else 1
        self.life = self.life or float(self.every)

    def pays(self, joints: int) -> bool:
        """Whether regions as the last one cost less than plain steps of so many joints."""
        return self.open == 0 or self.open + self.spent / max(self.life, 1.0) < WORTH * joints
