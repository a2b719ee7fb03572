"""The tree of degrees of freedom, also when mimic joints tie branches together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.errors import ModelError, UnknownNameError
from bough.joints import JOINTS, Mechanism
from bough.model.assemble import frozen
from bough.model.bodies import LARGEST, Body
from bough.model.contents import unknown
from bough.types import IntArray


def parents_of_dofs(m: Mechanism) -> IntArray:
    """The parent of each degree of freedom, both in the kernel's order."""
    dof = np.asarray(m.dof)
    body = np.repeat(np.arange(len(m.parent)), np.diff(dof))
    number = np.arange(len(m.axis))
    up = m.parent[body]
    above = np.where(up >= 0, dof[np.maximum(up, 0) + 1] - 1, -1)
    parents: IntArray = np.where(dof[body] == number, above, number - 1)
    return parents


def parents_in_order_of_v(m: Mechanism) -> IntArray:
    """The same with DoF numbered as in v."""
    parent = parents_of_dofs(m)
    user = np.empty(len(parent), np.int64)
    user[m.v_index] = np.where(parent >= 0, m.v_index[np.maximum(parent, 0)], -1)
    return user


def coupled_parents(m: Mechanism, nv: int) -> IntArray:
    """The elimination tree of H when mimic joints add rows together, in the order of v (Liu 1986).

    Degrees of freedom are ranked by their first appearance in depth-first order and eliminated last rank first. Those
    on one path to the root all meet in H, so they come to lie on one path of the tree: it holds all of H and its
    factors. O(n), and O(depth) more for each tied degree of freedom.
    """
    first = np.full(nv, len(m.v_index))
    np.minimum.at(first, m.v_index, np.arange(len(m.v_index)))
    order = np.argsort(first)
    rank = np.empty(nv, np.int64)
    rank[order] = np.arange(nv)
    parent = _eliminate(_meetings(parents_of_dofs(m).tolist(), rank[m.v_index].tolist(), nv))
    user = np.full(nv, -1, np.int64)
    user[order] = [order[up] if up >= 0 else -1 for up in parent]
    return user


def _meetings(above: list[int], rank: list[int], nv: int) -> list[set[int]]:
    """For each rank, higher ranks that it meets in H: enough of them to chain together the ranks of every path."""
    meets: list[set[int]] = [set() for _ in range(nv)]
    highest = [-1] * len(rank)  # rank on the path to the root
    for k, own in enumerate(rank):
        top = highest[above[k]] if above[k] >= 0 else -1
        for other in [top] if own > top else _neighbours(k, above, rank):
            if other >= 0:
                meets[min(other, own)].add(max(other, own))
        highest[k] = max(top, own)
    return meets


def _neighbours(k: int, above: list[int], rank: list[int]) -> tuple[int, int]:
    """The ranks next below and next above that of k on its path to the root; -1 for none."""
    own, low, high = rank[k], -1, len(rank)
    while (k := above[k]) >= 0:
        if rank[k] < own:
            low = max(low, rank[k])
        elif rank[k] > own:
            high = min(high, rank[k])
    return low, high if high < len(rank) else -1


def _eliminate(meets: list[set[int]]) -> list[int]:
    """The elimination tree of a graph whose nodes are eliminated in descending order."""
    parent, root = [-1] * len(meets), [-1] * len(meets)
    for node in range(len(meets) - 1, -1, -1):
        for below in meets[node]:
            while root[below] not in (-1, node):  # climb, and shorten the way for the next
                root[below], below = node, root[below]
            if root[below] < 0 and below != node:
                root[below] = parent[below] = node
    return parent


# Mimic joints: which joint each follows in the end, with what ratio and offset.


class Tie(NamedTuple):
    """A mimic joint: the number of the moving body on the leading joint, ratio and offset."""

    leader: int
    ratio: float
    offset: float


def find_ties(moving: list[Body]) -> dict[int, Tie]:
    """Every mimic joint with the independent joint at the end of its chain of leaders."""
    by_joint = {b.joint_name: k for k, b in enumerate(moving)}
    first = {k: _first(b, by_joint, moving) for k, b in enumerate(moving) if b.options.get("mimic")}
    last: dict[int, Tie] = {}
    for k in first:
        _follow(k, first, last, moving)
    return {k: last[k] for k in first}


def _first(body: Body, by_joint: dict[str, int], moving: list[Body]) -> Tie:
    name, mimic = body.joint_name, body.options["mimic"]
    try:
        leader, ratio, offset = mimic
        ratio, offset = float(ratio), float(offset)
    except (TypeError, ValueError):
        raise ModelError(f"joint {name!r}: mimic is (joint, ratio, offset), got {mimic!r}") from None
    if not np.isfinite([ratio, offset]).all():
        raise ModelError(f"joint {name!r}: mimic ratio and offset must be finite, got {ratio} and {offset}")
    if leader not in by_joint:
        hint = unknown("moving joint", leader, tuple(by_joint))
        remedy = '(mimic="independent" frees all mimic joints)'
        raise UnknownNameError(f"joint {name!r} mimics {leader!r}: {hint} {remedy}")
    for b in (body, moving[by_joint[leader]]):
        if JOINTS[b.joint] not in (("turn",), ("slide",)):
            raise ModelError(f"joint {name!r} mimics {leader!r}: {b.joint_name!r}, {b.joint}, has not one DoF")
    return Tie(by_joint[leader], ratio, offset)


def _follow(k: int, first: dict[int, Tie], last: dict[int, Tie], moving: list[Body]) -> None:
    """x_k = ratio x_leader + offset, followed from leader to leader, for k and all that it follows."""
    way: dict[int, None] = {}
    while k in first and k not in last:
        if k in way:
            circle = ", ".join(repr(moving[j].joint_name) for j in way)
            raise ModelError(f"mimic joints follow each other in a circle: {circle}")
        way[k] = None
        k = first[k].leader
    for k in reversed(way):
        tie = first[k]
        up = last.get(tie.leader, Tie(tie.leader, 1.0, 0.0))
        last[k] = Tie(up.leader, tie.ratio * up.ratio, tie.ratio * up.offset + tie.offset)
        if not max(abs(last[k].ratio), abs(last[k].offset)) <= LARGEST:
            raise ModelError(
                f"joint {moving[k].joint_name!r} mimics {moving[up.leader].joint_name!r} with ratio {last[k].ratio:g} "
                f"and offset {last[k].offset:g}; expected at most {LARGEST:g}"
            )


def free_parents(parents: list[int], ties: dict[int, Tie]) -> IntArray:
    """The parent of each independent joint among the independent joints: the nearest one below it towards the world."""
    rank, nearest, found = 0, [-1] * (len(parents) + 1), []
    for k, up in enumerate(parents):
        if k in ties:
            nearest[k] = nearest[up]
            continue
        nearest[k], rank = rank, rank + 1
        found.append(nearest[up])
    return frozen(np.array(found, np.int64))
