"""What a kernel gives compiled is what it gives interpreted, piece by piece of its subset of Python."""

import math
from collections import namedtuple

import numpy as np
import pytest

from bough.compile.kernel import from_text, inlined, kernel, loop_kernel
from bough.compile.run import direct
from bough.compile.scalar import ahead, atan, sincos, sqrt
from bough.errors import KernelError

Pair = namedtuple("Pair", ["x", "k"])
TWO, HALVES = 2, (0.5, 0.25)


def both(function, *arguments):
    """The result of a kernel, compiled; it is the same interpreted, and so is what the arrays hold then."""
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    expected, got = function(*mine), direct.call(function, *theirs)
    for a, b in zip(mine, theirs, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
    assert got == (0.0 if expected is None else float(expected)) or (math.isnan(got) and math.isnan(expected))
    return got


@loop_kernel
def becomes_a_float(x, n):
    total = 0
    for k in range(n):
        total = total + x[k]
    return total


@loop_kernel
def asks_for_what_comes(x, n):
    total = 0.0
    for k in range(n):
        ahead(x, min(k + 3, n - 1))
        total += x[k]
    return total


@loop_kernel
def known_behind_its_suite(x, n):
    if n > 1:
        y = x[1]
    else:
        y = 3
    for k in range(n):
        last = k
    return y + last


@loop_kernel
def looks_only_where_it_may(x, i):
    while i >= 0 and x[i] > 0.0:
        i -= 1
    found = x[i] if i >= 0 else -1.0
    return found if i < 0 or x[i] < -5.0 else 2.0 * found


@loop_kernel
def counts_down(x, n):
    for k in range(n - 1, -1, -2):
        if k == 3:
            continue
        if x[k] > 100.0:
            break
        x[k] += k
    return (n - 9) // 2 + 10 * ((n - 9) % 4) + 100 * ((n - 9) // 3) + 1000 * ((n - 9) % 3)


@loop_kernel
def goes_through_a_tuple(x, n):
    total = 0.0
    for a in (x[0], x[1], 3.0):
        if a < 0.0:
            continue
        if a > 50.0:
            break
        total += a
    return total


@inlined
@loop_kernel
def _spread(x, *rest):
    return (*rest[:-1], x), rest[-1]


@loop_kernel
def takes_tuples_apart(x, n):
    (a, b), c = _spread(x[0], x[1], x[2])
    y = (a, b, c)
    x[0], x[1] = x[1], x[0]
    return y[0] + 2.0 * y[n] + 4.0 * y[-1] + len(y) + y[0] * HALVES[1]


@loop_kernel
def takes_parts_of_arrays(x, n):
    y = x[1 : n + 1]
    y[0] = 7.0
    x[n:] = 2.5
    return len(y) + y[0]


@loop_kernel
def works_on_rows(a, n):
    row = a[n]
    row[1] = 9.0
    a[:, :] = row[0]
    a[n, 1] += a[0, n] ** 2
    a[n - 1] = a[n]
    return len(a) * row[0]


@loop_kernel
def makes_a_named_tuple(x, n):
    p = Pair(x, n)
    return p.x[p.k] + p.k


@loop_kernel
def knows_functions(x, n):
    s, c = sincos(x[0])
    return s + 2.0 * c + sqrt(abs(x[1])) + atan(x[2]) + np.sqrt(4.0) + max(x[0], x[1], n) - min(n, 5) + abs(-n)


@loop_kernel
def knows_bits(x, n):
    return (n & 6) + (n | 8) + (n << 2) + (n >> 1) + ~n + (n in (3, 4)) + (n not in (5, TWO)) + (not n > 3)


@loop_kernel
def compares_in_a_chain(x, n):
    return (1 < n <= 3) + 2 * (0.0 <= x[0] < x[1] < 100.0)


@loop_kernel
def leaves_early(x, n):
    for k in range(n):
        if x[k] < 0.0:
            return k
    return 0.5


@loop_kernel
def means_two_things(x, n):
    for k in range(n):
        p = (x[k], x[0])
        x[k] = p[1]
    for k in range(n):
        a, p = x[k], k
        if p > 1:
            p = p - 1
        x[p] += a
    for a in range(n):
        x[a] += 1.0
    return x[n]


KERNELS = [
    means_two_things, asks_for_what_comes,
    becomes_a_float, known_behind_its_suite, looks_only_where_it_may, counts_down, goes_through_a_tuple,
    takes_parts_of_arrays, makes_a_named_tuple, knows_bits, compares_in_a_chain, leaves_early,
]  # fmt: skip


@pytest.mark.parametrize("function", KERNELS)
@pytest.mark.parametrize("x", [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [-1.0, 200.0, -7.0, 1.0, 1.0, 3.0]])
@pytest.mark.parametrize("n", [1, 3, 4])
def test_kernels(function, x, n):
    both(function, np.array(x), n)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tuples(n):
    both(takes_tuples_apart, np.array([1.0, 2.0, 3.0]), n)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32, np.int8])
def test_arrays_of_two_axes(dtype):
    both(works_on_rows, np.arange(6.0).reshape(3, 2).astype(dtype), 1)


def test_functions():
    got = direct.call(knows_functions, np.array([0.5, -3.0, 0.75]), 4)
    assert got == pytest.approx(knows_functions(np.array([0.5, -3.0, 0.75]), 4), rel=1e-15)


@loop_kernel
def powers(x, n):
    return x[0] ** 7 + x[1] ** 0.5 + 2.0**n + int(x[2]) + round(x[2]) + round(x[3]) + math.log10(x[1])


def test_powers_and_whole_numbers():
    x = np.array([1.1, 3.0, -2.5, 3.5])
    assert direct.call(powers, x, 3) == pytest.approx(powers(x, 3), rel=1e-15)


@loop_kernel
def divided(x, y):
    return x // y + 1000 * (x % y) + 7 // y + 100_000 * (x // 3)


@pytest.mark.parametrize("x", [-7, -6, -1, 0, 1, 6, 7])
@pytest.mark.parametrize("y", [-4, -3, -1, 1, 2, 3, 5])
def test_whole_division_rounds_down(x, y):
    both(divided, x, y)


@loop_kernel
def larger(a, b):
    return max(a, b) + 10.0 * min(a, b)


@pytest.mark.parametrize("pair", [(1.0, math.nan), (math.nan, 1.0), (math.inf, -math.inf), (2.0, 1.0)])
def test_no_numbers_are_compared_as_in_python(pair):
    both(larger, *pair)


@loop_kernel
def halved(x):
    for k in range(len(x)):
        x[k] = 0.5 * x[k] + k


def test_single_precision_stays_single():
    x = np.array([0.1, 0.2, 1e-3], np.float32)
    want = (np.float32(0.5) * x + np.arange(3, dtype=np.float32)).astype(np.float32)
    direct.call(halved, x)
    np.testing.assert_allclose(x, want, rtol=1e-7)


def test_a_kernel_from_a_text():
    function = loop_kernel(from_text("def twice(x):\n    x[0] = shift + 2.0 * x[0]", {"shift": 1.0}))
    both(function, np.array([3.0]))


def test_constants_decide_now():
    """What a constant rules out is not even read: it may be outside the subset."""
    size = 3

    def closed(x):
        if size == 4:
            x.sort()
        return float(len(x)) + size

    assert direct.call(loop_kernel(closed), np.zeros(2)) == 5.0


@loop_kernel
def sorts(x):
    x[0] = 1.0
    x.sort()


@loop_kernel
def mixes(x):
    y = (x[0], x[1])
    if x[0] > 0.0:
        y = x[0]
    x[1] = y


@loop_kernel
def calls_itself(x):
    x[0] -= 1.0
    if x[0] > 0.0:
        calls_itself(x)


@loop_kernel
def counts_from_the_end(x):
    x[-1] = 1.0


@loop_kernel
def slices_from_the_end(x):
    x[:-1] = 1.0


@loop_kernel
def takes_a_float_for_an_index(x):
    x[x[0]] = 1.0


REFUSED = [
    (sorts, "the attribute sort of Arr"), (mixes, "something is"), (calls_itself, "calls_itself, which calls itself"),
    (counts_from_the_end, "an index that counts from the end"),
    (slices_from_the_end, "a slice that counts from the end"),
    (takes_a_float_for_an_index, "an index that is no whole number"),
]  # fmt: skip


STRAIGHT_LINE = [
    ("x[0] = 1.0 * x[0]", "a float literal"), ("x[0] = HALVES[0] * x[0]", "a float constant"),
    ("x[0] = 1 if x[0] > x[1] else 2", "a comparison of floats"), ("x[0] = 1 if x[0] else 2", "a branch on a float"),
    ("x[0] = max(x[0], x[1])", "a comparison of floats"), ("x[0] = abs(x[0])", "abs of a float"),
    ("x[0] = float(len(x))", r"float\(\)"), ("x[0] = int(x[0])", "a float as a whole number"),
    ("x[0] = np.sin(x[0])", "sin of math or numpy"), ("x[0] = x[0] ** x[1]", "a power whose exponent"),
    ("halved(x)", "a call of halved, which is no @kernel"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "what"), STRAIGHT_LINE)
def test_straight_line_kernels_refuse_what_loop_kernels_may_hold(line, what):
    scope = {"np": np, "HALVES": HALVES, "halved": halved}
    with pytest.raises(KernelError, match=rf"f, line 2 of its file: {what}.* only a @loop_kernel may hold it"):
        direct.call(kernel(from_text(f"def f(x):\n    {line}", scope)), np.ones(2))
    direct.call(loop_kernel(from_text(f"def f(x):\n    {line}", scope)), np.ones(2))


@pytest.mark.parametrize(("function", "what"), REFUSED)
def test_what_cannot_be_compiled_is_said_with_its_place(function, what):
    with pytest.raises(KernelError, match=rf"{function.__name__}, line \d+ of its file: {what}"):
        direct.call(function, np.ones(2))
