"""Trees whose clusters have any handles, rearranged for the algebra of nodes, which takes two ends of a path at most.

A cluster whose joints to the outside are all on its top body, or which has one only, stays. Any other is taken apart:
the largest clusters in it that stay become parts of the smallest one around it that does. There, parts are joined along
heavy paths: each with its light branches first, the smallest before, then the path by halves, as in `tree`.
"""

from __future__ import annotations

from typing import NamedTuple


class Join(NamedTuple):
    """Two parts and the body whose joint is between them: b < N a body, N the ground, N + 1 + k the k-th join."""

    above: int
    below: int
    joint: int


def rearranged(joins: list[Join], parent: list[int]) -> list[tuple[int, int]]:
    """Rows of pairs in which no cluster has more than two ends; `parent` has N for the ground. O(n log n)."""
    plan = _Plan(joins, parent)
    for cluster in range(plan.n + 1, plan.n + 1 + len(joins)):
        if plan.stays[cluster]:
            plan.assemble(cluster)
    return plan.rows


class _Plan:
    """What is known of bodies, the ground and clusters, by number, and the rows so far."""

    def __init__(self, joins: list[Join], parent: list[int]) -> None:
        n = self.n = len(parent)
        self.joins, self.parent = joins, parent
        self.rows: list[tuple[int, int]] = []
        self.code = {x: x for x in range(n + 1)}  # what stays, as the new rows have it
        self.home = [*range(n + 1 + len(joins))]  # the cluster that stays around each, followed upwards
        self.top, self.size, self.stays = [*range(n + 1)], [1] * (n + 1), [True] * (n + 1)
        self.exit = [-1] * (n + 1 + len(joins))  # the joint by which a cluster goes on from another body than its top
        self._look()

    def _look(self) -> None:
        """Which clusters stay: by the number of joints to the outside, of all bodies and of the top, and their sums."""
        count, total = [0] * (self.n + 1), [0] * (self.n + 1)
        for child, p in enumerate(self.parent):
            count[p] += 1
            total[p] += child
        top_count, top_total = count.copy(), total.copy()
        for a, b, joint in self.joins:
            on_top = self.parent[joint] == self.top[a]
            count.append(count[a] + count[b] - 1)
            total.append(total[a] + total[b] - joint)
            top_count.append(top_count[a] - on_top)
            top_total.append(top_total[a] - joint * on_top)
            self.top.append(self.top[a])
            self.size.append(self.size[a] + self.size[b])
            elsewhere = count[-1] - top_count[-1]
            through = elsewhere == 1 and count[-1] == 1 and self.top[a] != self.n
            if through:
                self.exit[len(self.top) - 1] = total[-1] - top_total[-1]
            self.stays.append(elsewhere == 0 or through)

    def find(self, x: int) -> int:
        """The largest cluster so far that stays and has x in it."""
        while self.home[x] != x:
            self.home[x] = self.home[self.home[x]]
            x = self.home[x]
        return x

    def assemble(self, cluster: int) -> None:
        """Join the parts of a cluster that stays."""
        inside = self._inside(cluster)
        branches: dict[int, list[int]] = {x: [] for x in inside}
        above = {x: self.find(self.parent[self.top[x]]) for x in inside[1:]}
        for x, y in above.items():
            branches[y].append(x)
        weight = {x: self.size[x] for x in inside}
        for x in reversed(inside[1:]):
            weight[above[x]] += weight[x]
        # the path that goes on outside ends there
        end = self.find(self.parent[self.exit[cluster]]) if self.exit[cluster] >= 0 else -1
        way, x = set(), end
        while x in above:
            way.add(x)
            x = above[x]
        paths: dict[int, list[tuple[int, int]]] = {}  # joined with light branches, the last first, and their sizes
        for x in reversed(inside):
            lights = sorted(branches[x], key=lambda y: (y in way, weight[y]))
            goes_on = lights and x != end and self.top[x] != self.n  # the ground begins no path
            path, code = paths.pop(lights.pop()) if goes_on else [], self.code[x]
            for y in lights:
                code = self._join(code, self._halves(paths.pop(y)))
            path.append((code, self.size[x]))
            paths[x] = path
        self.code[cluster] = self._halves(paths[inside[0]])
        for x in inside:
            self.home[x] = cluster

    def _inside(self, cluster: int) -> list[int]:
        """The largest parts of a cluster that stay, those above first."""
        found, waiting = [], [*self.joins[cluster - self.n - 1][1::-1]]
        while waiting:
            x = waiting.pop()
            if self.stays[x]:
                found.append(x)
            else:
                waiting += self.joins[x - self.n - 1][1::-1]
        return found

    def _join(self, a: int, b: int) -> int:
        self.rows.append((a, b))
        return self.n + len(self.rows)

    def _halves(self, path: list[tuple[int, int]]) -> int:
        """Join a path, the last first, by halves of about the same size."""
        if len(path) == 1:
            return path[0][0]
        total, half, k = sum(size for _, size in path), 0, 0
        while k < len(path) - 1 and (k == 0 or 2 * (half + path[k][1]) <= total):
            half += path[k][1]
            k += 1
        low, high = self._halves(path[k:]), self._halves(path[:k])
        return self._join(low, high)
