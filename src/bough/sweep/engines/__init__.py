"""Who does the work: threads, processes, a Ray cluster, Slurm. One file each over one small interface.

Belongs here: how chunks reach workers and their parts come back. Does not belong here: what a chunk is (`job`), what
becomes of a part (`driver`). An executor of your own is a class with `run`.
"""

from __future__ import annotations

from bough.sweep.engines.executor import Executor, Outcome
from bough.sweep.engines.processes import Processes
from bough.sweep.engines.ray_cluster import RayCluster
from bough.sweep.engines.slurm import Slurm
from bough.sweep.engines.threads import Threads

__all__ = ["Executor", "Outcome", "Processes", "RayCluster", "Slurm", "Threads"]
