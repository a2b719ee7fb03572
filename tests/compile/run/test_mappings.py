"""Options that are one more input: arrays and dicts are served right, in native code or by the method."""

import numpy as np
import pytest

from bough.compile.run.call import _free_threaded
from bough.compile.run.gate import make_front, make_unpacker
from compile.programs import program
from graphs import specialise


@pytest.fixture
def functions():
    """(x, rows) and (x, a, b), which do the same, as one method that takes an array or a dict."""
    plain = specialise("weigh", program(lambda x: ([x[0]],), {"x": (2,)}, {"y": (1,)}))
    by_rows = specialise(
        "rows", program(lambda x, r: ([x[0] + r[0][0] - 2.0 * r[1][2]],), {"x": (2,), "r": (2, 3)}, {"y": (1,)})
    )
    by_names = specialise(
        "names", program(lambda x, a, b: ([x[0] + a[0] - 2.0 * b[2]],), {"x": (2,), "a": (3,), "b": (3,)}, {"y": (1,)})
    )
    calls = []

    def method(x, forces=None, *, out=None, threads=None):
        calls.append(forces)
        if forces is None:
            return plain.call(x)
        if not isinstance(forces, dict):
            result = by_rows.call(x, forces)
            plain.makers["forces"] = by_rows.makers["make"]
            return result
        result = by_names.call(x, forces["a"], forces["b"])
        one, several = by_rows.makers["make"], by_names.makers["make"]
        plain.makers["forces"] = make_unpacker(several, one, 1, {key: 1 + "ab".index(key) for key in forces}) or one
        return result

    return make_front(method, 1, plain.makers, longer="forces"), calls


X, A, B = np.array([1.0, 2.0]), np.array([3.0, 0.0, 0.0]), np.array([0.0, 0.0, 5.0])
RESULT = [1.0 + 3.0 - 10.0]


def test_dicts_and_arrays_in_any_order(functions):
    call, calls = functions
    for given in (np.stack([A, B]), {"a": A, "b": B}, {"b": B, "a": A}):
        for _ in range(3):
            assert call(X, given) == RESULT
            assert call(X, forces=given) == RESULT
        assert call(X) == [1.0]
    # Each kind was passed to the method once, to be compiled or to be known; without the GIL all are.
    assert len(calls) <= 4 or _free_threaded()


def test_an_array_is_served_beside_a_dict(functions):
    call, calls = functions
    call(X, np.stack([A, B]))
    for _ in range(3):
        assert call(X, {"a": A, "b": B}) == call(X, np.stack([A, B])) == RESULT
    assert len(calls) <= 2 or _free_threaded()


def test_equal_keys_that_are_other_objects(functions):
    call, calls = functions
    call(X, {"a": A, "b": B})
    other = str(b"a1 b1", "ascii").replace("1", "").split()  # made anew, so not the literals
    assert call(X, {other[0]: A, other[1]: B}) == RESULT
    assert len(calls) == 1 or _free_threaded()


@pytest.mark.parametrize("wrong", [{"a": A}, {"a": A, "c": B}, {}, {1: A, "b": B}])
def test_other_keys_are_not_mistaken(functions, wrong):
    call, calls = functions
    call(X, {"a": A, "b": B})
    call(X, {"a": A, "b": B})
    with pytest.raises(KeyError):
        call(X, wrong)
    assert calls[-1] is wrong


def test_an_option_with_out_is_left_to_the_method(functions):
    call, calls = functions
    call(X, {"a": A, "b": B})
    assert call(X, {"a": A, "b": B}, out=np.zeros(1)) == RESULT
    assert len(calls) == 2


@pytest.mark.parametrize("value", [[3, 0, 0], A.astype(np.float32), np.array([3, 0, 0]), np.repeat(A, 2)[::2]])
def test_values_that_do_not_fit_are_converted(functions, value):
    call, _ = functions
    for _ in range(3):
        assert call(X, {"a": value, "b": B}) == RESULT
        assert call(X, {"a": A, "b": B}) == RESULT


def test_subclasses_take_the_long_way(functions):
    call, calls = functions

    class Doubled(dict):
        def __getitem__(self, key):
            return 2.0 * super().__getitem__(key)

    call(X, {"a": A, "b": B})
    assert call(X, Doubled(a=A, b=B)) == [1.0 + 6.0 - 20.0]
    assert type(calls[-1]) is Doubled


def test_values_that_are_not_finite_are_refused(functions):
    call, _ = functions
    call(X, {"a": A, "b": B})
    with pytest.raises(Exception, match=r"names: b\[1\] is nan"):
        call(X, {"a": A, "b": np.array([0.0, np.nan, 0.0])})
