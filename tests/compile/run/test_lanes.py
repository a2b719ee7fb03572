"""General code with rows side by side: the same numbers as row by row, whatever the size of the batch."""

import numpy as np
import pytest

from bough import zoo
from bough.compile.executions import bind_arrays
from bough.compile.kernel import kernel, loop_kernel
from bough.compile.routine import Routine
from bough.compile.scalar import clip, sqrt
from bough.errors import KernelError
from bough.opspace.sweeps.factored import INVERT

MECHANISM = zoo.arm(2).mechanism


@kernel
def mixed(m, x, y, out, w):
    """Whole numbers, constants and rows meet; a variable becomes a float in a loop, and an array is filled."""
    total = 0
    for k in range(len(x)):
        total = total + x[k] * (k + 1)
    w.s[:] = total
    for k in range(len(out)):
        out[k] = clip(-w.s[k % 2] / sqrt(y[0]), -m.one[0], y[k]) + (k if k > 1 else 0)


MIXED = Routine("mixed", mixed, inputs={"x": "3", "y": "4"}, outputs={"out": "4"}, work={"s": "2"})


@pytest.mark.native("compares compiled codes")
@pytest.mark.parametrize("batch", [1, 7, 8, 9, 40])
def test_the_same_numbers_as_row_by_row(batch):
    rng = np.random.default_rng(batch)
    A = rng.normal(size=(batch, 6, 6))
    for routine, sizes, arrays in (
        (INVERT, {"rows": 6}, (A @ A.swapaxes(1, 2) + np.eye(6), np.full((batch, 1), 0.1), np.ones((batch, 6)))),
        (MIXED, {}, (rng.normal(size=(batch, 3)), rng.uniform(1.0, 2.0, (batch, 4)))),
    ):
        side_by_side, alone = (bind_arrays(routine, (MECHANISM,), sizes, execution=x) for x in ("lanes", "general"))
        found, expected = side_by_side.call(*arrays), alone.call(*arrays)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-15)


def test_one_row_and_single_precision_are_general_code():
    function = bind_arrays(MIXED, (MECHANISM,), {}, execution="lanes")
    x, y = np.array([0.1, 0.2, 0.3]), np.full(4, 1.5)
    one = function.call(x, y)
    assert one.shape == (4,)
    np.testing.assert_allclose(function.call(x.astype(np.float32)[None], y.astype(np.float32)[None])[0], one, rtol=1e-5)


@pytest.mark.native("is refused by the compiler")
def test_rows_side_by_side_do_not_branch():
    @loop_kernel
    def branching(m, x, out, w):
        out[0] = 1.0 if x[0] > 0.0 else 2.0

    routine = Routine("branching", branching, inputs={"x": "1"}, outputs={"out": "1"})
    with pytest.raises(KernelError, match="a comparison of rows side by side"):
        bind_arrays(routine, (MECHANISM,), {}, execution="lanes").call(np.ones((3, 1)))
