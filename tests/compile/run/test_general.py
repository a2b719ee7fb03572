"""General code: one for each precision, whatever else a routine states."""

from __future__ import annotations

import numpy as np
import pytest

from bough.compile.executions import bind_arrays
from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.types import Rows, Workspace


@kernel
def double(x: Rows, y: Rows, w: Workspace) -> None:
    for k in range(len(x)):
        y[k] = x[k] + x[k]


@pytest.mark.native("machine code of two precisions")
def test_precisions_have_code_of_their_own(tmp_path, monkeypatch):
    """A routine without constants and workspace of floats: nothing but the precision tells its two codes apart."""
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    routine = Routine("double", double, inputs={"x": "n"}, outputs={"y": "n"})
    for dtype in (np.float64, np.float32, np.float64):
        twice = bind_arrays(routine, (), {"n": 3}, general=True, dtype=dtype)
        found = twice(np.array([1.0, 2.0, 3.0], dtype))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, [2.0, 4.0, 6.0])
