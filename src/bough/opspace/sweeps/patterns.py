"""Where the entries of J and of the factor of H stand, as kernels see it (Featherstone 2010, sections 4 and 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.types import Rows


class Slots(NamedTuple):
    """Pairs (body, row) such that the row has a seed in the subtree of the body, sorted by body, then row."""

    of_body: Rows  # (N + 1,) slots of body i are of_body[i] .. of_body[i + 1] - 1
    body: Rows  # (slots,)
    row: Rows  # (slots,)
    up: Rows  # (slots,) slot of the same row at the parent body, -1 at the root
    of_seed: Rows  # (S,) slot of each seed
    entry: Rows  # (slots,) entry in packed J of the body's first degree of freedom


class JacobianPattern(NamedTuple):
    """Packed J: for each row the degrees of freedom of its support, ascending; E entries."""

    of_row: Rows  # (rows + 1,)
    dof: Rows  # (E,)
    up: Rows  # (E,) entry of the parent degree of freedom in the same row, -1 at the root
    of_seed: Rows  # (S,) entry of the last degree of freedom of the seed's body, -1 for a joint's seeds
    constant: Rows  # (E,) what joint rows have in J


class DofTree(NamedTuple):
    """The tree of degrees of freedom behind packed ancestor rows."""

    parent: Rows  # (n,)
    rows: Rows  # (n + 1,)
    leader: Rows = np.zeros(0, np.int64)  # (nv,) behind each entry of v, for kernels in which mimic joints are tied
