"""The limits of a GPU: registers, shared memory and multiprocessors, as the device reports them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SPILL_BLOCK = 64  # threads of a block that spills to shared memory
THREAD_REGISTERS = 255  # that a thread has at most
AT_WORK = {4: 45, 8: 55}  # registers of a thread beside its live values, by bytes of a number


@dataclass(frozen=True)
class Limits:
    """Sizes of a GPU; memory is in bytes."""

    multiprocessors: int
    registers: int  # of a multiprocessor
    shared: int  # shared memory of a multiprocessor
    block_shared: int  # shared memory of one block
    reserved: int  # of that memory, what each block takes for itself

    def live_registers(self, dtype: npt.DTypeLike, blocks: int) -> int:
        """Registers of a thread for live values, with so many resident blocks of SPILL_BLOCK threads."""
        return min(THREAD_REGISTERS, self.registers // (SPILL_BLOCK * blocks)) - AT_WORK[np.dtype(dtype).itemsize]

    def spill_memory(self, blocks: int) -> int:
        """Bytes of shared memory for the spilled values of a thread, with so many resident blocks."""
        return min(self.shared // blocks - self.reserved, self.block_shared) // SPILL_BLOCK

    @property
    def tile(self) -> int:
        """Shared memory of a block, of which two fit on a multiprocessor."""
        return min(self.shared // 2, self.block_shared)
