"""The cost model: adaptive steps while they are cheaper than full ones, and when to choose active joints again.

Costs are counted in joints of a full step, not measured: the same run takes the same steps on every machine, and goes
on the same way from a checkpoint. A step on the assembly tree costs the nodes that it redoes. A step of the contracted
tree costs its active joints, and its share of choosing them. An attempt that fails costs a pass over the tree, so it is
repeated only after so many full steps that it cannot weigh more than a few per cent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

NO_LIMIT = 1 << 60
SHARE = 0.04  # of the time may go into attempts that fail

# Steps from rest. What a node costs while those touched fit into the cache, and beyond; half of it where only its
# forces change
WARM_COST, COLD_COST, CACHED = 4.0, 10.0, 2500
LOOK_COST = 3.0  # of seeing that an attempt would be in vain, for each joint of the linkage
CHUNK = 32  # steps after which the tree is judged
LEAST_CLUSTERS = 64  # clusters that any step may open

# Steps with velocities. A bound evaluation costs so much for each active cluster, and for itself; building all records,
# for each joint of the linkage
EVALUATION_COST, EVALUATION_LEAST, BUILD_COST = 12.0, 1000.0, 50.0


def cost(full: float, linear: float) -> float:
    """The cost of a step from rest that redoes so many nodes in full, and so many for their forces only."""
    nodes = full + 0.5 * linear
    return nodes * (WARM_COST + (COLD_COST - WARM_COST) * min(1.0, nodes / CACHED))


def motion_cost(open_: int, every: int) -> float:
    """The cost of a step with velocities where so many clusters are active, chosen anew after `every` steps."""
    return open_ * (1.0 + EVALUATION_COST / every) + EVALUATION_LEAST / every


def most_open(joints: int, every: int) -> int:
    """The number of active clusters in a motion above which full steps are cheaper."""
    return int((joints - EVALUATION_LEAST / every) / (1.0 + EVALUATION_COST / every) / 1.02)


@dataclass
class SolverSelector:
    """Chooses between adaptive and full steps of a linkage with so many joints."""

    joints: int
    on_tree: bool = False
    wait: int = 1  # full steps before the next attempt
    patience: int = 1
    taken: int = 0  # steps on the tree since it was last judged
    full: int = 0  # nodes that they redid
    linear: int = 0  # nodes of which they redid the forces
    restarts: int = 0  # of motions before active joints were due, one after another

    def wants_tree(self, root_paths: int) -> bool:
        """Whether an attempt is due and could pay, if so many nodes lie above the forces."""
        return self.wait <= 0 and cost(0, root_paths) < self.joints

    def may_try(self, moving: int, every: int) -> bool:
        """Whether an attempt with velocities is due, if so many joints move; at the start, not if they are too many."""
        most = most_open(self.joints, every)
        if most < 8:
            self.wait = NO_LIMIT
        elif self.wait <= 0 and self.patience == 1 and moving > most:
            self.leave(BUILD_COST + EVALUATION_COST)
        self.on_tree = self.wait <= 0
        return self.on_tree

    @property
    def budget(self) -> int:
        """The number of clusters a step on the tree may activate before a full step is cheaper."""
        return max(LEAST_CLUSTERS, int(self.joints / WARM_COST))

    @property
    def most(self) -> int:
        """The most active clusters of a contracted tree, which costs a full step for each joint, and choosing."""
        return max(LEAST_CLUSTERS, 2 * self.joints // 3)

    def took(self, steps: int, full: int, linear: int) -> bool:
        """Learn what steps took, in nodes of the tree; returns whether to stay there."""
        self.taken, self.full, self.linear = self.taken + steps, self.full + full, self.linear + linear
        if self.taken < CHUNK:
            return True
        pays = cost(self.full / self.taken, self.linear / self.taken) < self.joints
        self.taken = self.full = self.linear = 0
        if pays:
            self.patience = 1
        return pays

    def restart(self, on_tree: bool, wait: int = 1) -> None:
        """Nothing is known yet of what pays."""
        self.on_tree, self.wait, self.patience, self.restarts = on_tree, wait, 1, 0

    def enter(self) -> None:
        """Over to the tree."""
        self.on_tree, self.taken, self.full, self.linear = True, 0, 0, 0

    def leave(self, spent: float) -> None:
        """Back to full steps, for long enough: an attempt has cost so many of them."""
        self.on_tree, self.taken, self.full, self.linear = False, 0, 0, 0
        self.wait = self.patience * (1 + int(spent / SHARE))
        self.patience = min(2 * self.patience, 1024)

    def state(self) -> dict[str, Any]:
        """All it knows, as plain facts."""
        return {name: value for name, value in asdict(self).items() if name != "joints"}

    def restore(self, facts: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        for name in self.state():
            setattr(self, name, facts[name])


# Steps between choices of a motion, unless they are given: to begin with, and at any time
EVERY, SOONEST, LATEST = 20, 10, 40
FEW, MANY = 0.04, 0.1  # shares of the active clusters that were new at a choice


# How long a region of active joints serves, and whether choosing one pays: counted in joints of a full step, not
# timed.
#
# Choosing costs, and the longer a region serves, the more of the descent it loses. With k active joints, a choice that
# costs as much as c of them, and a share of the descent rate lost that grows from a to b in T steps, going down costs
# (k + c / T) / (1 - (a + b) / 2). T is doubled or halved where that makes it less, within the error that is allowed.


LEAST, MOST = 10, 50  # steps with one region, at first
LONGEST = 2  # times as many, at most
STALE = 4.0  # times the loss allowed, twice the error, which a region may come to before it is chosen anew
DEARER = 2.0  # times what redoing nodes costs: a choice, with opening and contracting
WORTH = 0.95  # of the cost of full steps, above which regions do not pay


@dataclass
class ReselectionInterval:
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
        """A region that has ended has come to lose this share of the descent rate."""
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
        if joints:  # one that is empty, before any force, says nothing of those that follow
            self.life = self.life or float(self.every)

    def adapt(self, opened: int, open_: int) -> None:
        """Of a motion: choose later where hardly any cluster had to be opened, sooner where many had."""
        if self.fixed:
            return
        if opened > MANY * open_:
            self.every = max(SOONEST, self.every // 2)
        elif opened <= FEW * open_:
            self.every = min(LATEST, 2 * self.every)

    def pays(self, joints: int) -> bool:
        """Whether regions as the last one cost less than full steps of so many joints."""
        return self.open == 0 or self.open + self.spent / max(self.life, 1.0) < WORTH * joints
