"""The factorization as a routine, to be bound to one tree and called on many matrices."""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.sparsity.ltdl import ltdl


@kernel
def factorize_copy(t: Any, H: Any, L: Any, w: Any) -> None:
    """L and D of H, both in packed rows; H is kept."""
    for k in range(len(H)):
        L[k] = H[k]
    ltdl(t.parent, t.rows, L)


LTDL = Routine("ltdl", factorize_copy, inputs={"H": "packed"}, outputs={"L": "packed"})
