"""Random trees, and matrices with their pattern."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from bough.tree.tree import Tree

FACTS = json.loads((Path(__file__).parent / "data" / "facts.json").read_text())
TREES = {name: Tree(fact["parent"]) for name, fact in FACTS["trees"].items()}


@st.composite
def regular_parents(draw, max_size=24):
    """Parent arrays with parents first; from chains through bushes to forests and stars."""
    n = draw(st.integers(1, max_size))
    reach = draw(st.integers(1, n))
    forest = draw(st.booleans())
    lowest = [max(-1 if forest or i == 0 else 0, i - reach) for i in range(n)]
    return [draw(st.integers(lowest[i], i - 1)) for i in range(n)]


@st.composite
def parents(draw, max_size=24):
    """Parent arrays in any order."""
    regular = draw(regular_parents(max_size))
    return relabel(regular, draw(st.permutations(range(len(regular)))))


@st.composite
def trees(draw, max_size=24):
    return Tree(draw(parents(max_size)))


seeds = st.integers(0, 2**32 - 1)


def relabel(parent, new):
    """The same tree with node i called new[i]."""
    relabelled = [-1] * len(parent)
    for i, above in enumerate(parent):
        relabelled[new[i]] = new[above] if above >= 0 else -1
    return relabelled


def random_matrix(tree, seed, dtype=np.float64):
    """A well-conditioned symmetric positive definite matrix with the pattern of the tree."""
    rng = np.random.default_rng(seed)
    L = np.eye(tree.n)
    for i in range(tree.n):
        above = tree.path(i)[:-1]
        L[i, above] = rng.uniform(-1, 1, len(above)) / max(1, len(above)) ** 0.5
    H = L.T @ np.diag(rng.uniform(0.5, 2, tree.n)) @ L
    return ((H + H.T) / 2).astype(dtype)


def relative_error(actual, expected):
    return np.abs(actual - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-300)
