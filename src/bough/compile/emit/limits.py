"""What a GPU has: registers, shared memory and multiprocessors, as the device itself says; no kernel assumes more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SHELF_BLOCK = 64  # threads of a block with values on shelves
THREAD_REGISTERS = 255  # that a thread has at most
AT_WORK = {4: 45, 8: 55}  # registers of a thread beside the values that wait for a use, by bytes of a number


@dataclass(frozen=True)
class Limits:
    """Sizes of a GPU; memory is in bytes."""

    multiprocessors: int
    registers: int  # of a multiprocessor
    shared: int  # shared memory of a multiprocessor
    block_shared: int  # shared memory of one block
    reserved: int  # of that memory, what each block takes for itself

    def waiting(self, dtype: npt.DTypeLike, blocks: int) -> int:
        """Registers of a thread for values that wait, where so many blocks of SHELF_BLOCK share a multiprocessor."""
        return min(THREAD_REGISTERS, self.registers // (SHELF_BLOCK * blocks)) - AT_WORK[np.dtype(dtype).itemsize]

    def shelf(self, blocks: int) -> int:
        """Bytes of shared memory for a thread there."""
        return min(self.shared // blocks - self.reserved, self.block_shared) // SHELF_BLOCK

    @property
    def tile(self) -> int:
        """Shared memory of a block, of which two fit on a multiprocessor."""
        return min(self.shared // 2, self.block_shared)
