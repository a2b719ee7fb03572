"""Trees of sub-assemblies: which bodies a linkage has, in which order they are joined, and how each joint counts.

Belongs here: what follows from a model before any force or motion. Does not belong here: equations of clusters
(`node`), sweeps over them (`passes`).
"""

from __future__ import annotations

from bough.adaptive.assembly.linkage import Linkage, body_name, is_floating_base, make_linkage
from bough.adaptive.assembly.metric import lever, make_metric
from bough.adaptive.assembly.shapes import GivenPairs, NearBodies, near, rows_of, shaped_tree
from bough.adaptive.assembly.tree import GROUND_WELD, Assembly, assembly_tree

__all__ = [
    "GROUND_WELD",
    "Assembly",
    "GivenPairs",
    "Linkage",
    "NearBodies",
    "assembly_tree",
    "body_name",
    "is_floating_base",
    "lever",
    "make_linkage",
    "make_metric",
    "near",
    "rows_of",
    "shaped_tree",
]
