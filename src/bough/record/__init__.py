"""Records of long runs: files that survive a crash, tables, progress bars, and provenance.

Belongs here: how files are written and read back, whatever is in them. Does not belong here: what is recorded
(`simulate`, `adaptive`), and compiled code (`compile`).
"""

from __future__ import annotations

from bough.record.arrays import check_samples, read_arrays, write_arrays
from bough.record.files import RECORDINGS, check_folder, check_recording, is_special, make_folder, replacing
from bough.record.origin import cpu_name, machine
from bough.record.progress import progress_bar
from bough.record.tables import put_table, read_table, table_facts, write_table

__all__ = [
    "RECORDINGS",
    "check_folder",
    "check_recording",
    "check_samples",
    "cpu_name",
    "is_special",
    "machine",
    "make_folder",
    "progress_bar",
    "put_table",
    "read_arrays",
    "read_table",
    "replacing",
    "table_facts",
    "write_arrays",
    "write_table",
]
