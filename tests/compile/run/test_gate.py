"""Both kinds of gate accept exactly the arrays that fit, and report what is not finite."""

import ctypes
import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

from bough.compile.graph.program import Array
from bough.compile.run import gate, native, objects
from bough.compile.run.gate import BAD_INPUT, BAD_OUTPUT, MISFIT, OK, Signature, make_gate
from bough.errors import SettingError

DOUBLE = """
define i64 @entry(ptr %arrays, i64 %batch, ptr %context) {
  %x.p = load ptr, ptr %arrays
  %y.pp = getelementptr ptr, ptr %arrays, i64 2
  %y.p = load ptr, ptr %y.pp
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %j, %body ]
  %more = icmp slt i64 %i, %batch
  br i1 %more, label %body, label %end
body:
  %at = mul i64 %i, 20
  %p = getelementptr double, ptr %x.p, i64 %at
  %x = load <20 x double>, ptr %p, align 8
  %y = fadd <20 x double> %x, %x
  %at.y = mul i64 %i, 6
  %q = getelementptr double, ptr %y.p, i64 %at.y
  %first = shufflevector <20 x double> %y, <20 x double> undef, <6 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5>
  store <6 x double> %first, ptr %q, align 8
  %j = add i64 %i, 1
  br label %next
end:
  ret i64 0
}
"""
INPUTS, OUTPUTS = (Array("x", (20,)), Array("z", (3,))), (Array("y", (2, 3)),)


@pytest.fixture(scope="module")
def code():
    return native.load(native.compile_ir(DOUBLE), "entry")


@pytest.fixture
def make(code):
    def build(batched=False):
        return make_gate(Signature(INPUTS, OUTPUTS, np.dtype(np.float64), batched), code.address)

    return build


def arrays(batch=None):
    lead = () if batch is None else (batch,)
    x = np.arange(float(np.prod((*lead, 20)))).reshape(*lead, 20)
    return x, np.ones((*lead, 3)), np.zeros((*lead, 2, 3))


@pytest.mark.parametrize("batch", [None, 0, 1, 2, 128, 129, 1000])
def test_arrays_that_fit(make, batch):
    x, z, y = arrays(batch)
    assert make(batch is not None)(x, z, y) == OK
    assert (y.ravel() == 2 * x[..., :6].ravel()).all()


def misfits():
    x, z, y = arrays()
    read_only = y.copy()
    read_only.flags.writeable = False
    unaligned = np.zeros(20 * 8 + 1, np.uint8)[1:].view(np.float64)
    both = np.zeros(26)
    return {
        "too few": (x, z),
        "too many": (x, z, y, y),
        "a list": (list(x), z, y),
        "None": (x, None, y),
        "an int": (3, z, y),
        "a subclass": (x.view(np.recarray), z, y),
        "wrong size": (x[:-1].copy(), z, y),
        "wrong ndim": (x, z, y.ravel().copy()),
        "wrong extents": (x, z, np.zeros((3, 2))),
        "batched": (x[None], z[None], y[None]),
        "float32": (x.astype(np.float32), z, y),
        "big-endian": (x.astype(">f8"), z, y),
        "strided": (np.zeros(40)[::2], z, y),
        "Fortran": (x, z, np.zeros((3, 2)).T),
        "unaligned": (unaligned, z, y),
        "read-only output": (x, z, read_only),
        "output in input": (both[:20], z, both[16:22].reshape(2, 3)),
    }


@pytest.mark.parametrize("case", misfits())
def test_arrays_that_do_not_fit(make, case):
    assert make()(*misfits()[case]) == MISFIT


def test_read_only_inputs_fit(make):
    x, z, y = arrays()
    x.flags.writeable = False
    assert make()(x, z, y) == OK


def test_rows_must_agree(make):
    x, z, y = arrays(5)
    assert make(True)(x, z[:4], y) == MISFIT
    assert make(True)(x, z, y[:4]) == MISFIT
    assert make(True)(x[0], z[0], y[0]) == MISFIT


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("batch", [None, 300])
def test_every_non_finite_input_is_found(make, bad, batch):
    run = make(batch is not None)
    for which in (0, 1):
        for place in (0, -1, 7):
            given = arrays(batch)
            given[which].reshape(-1)[place % given[which].size] = bad
            assert run(*given) == BAD_INPUT


def test_non_finite_output_is_found(make):
    x, z, y = arrays()
    x[2] = 1.5e308
    assert make()(x, z, y) == BAD_OUTPUT


def test_largest_and_smallest_numbers_are_finite(make):
    x, z, y = arrays()
    x[:] = 5e-324
    x[7:] = np.finfo(float).max
    x[8:] = -np.finfo(float).max
    assert make()(x, z, y) == OK


@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 40])
def test_float32(size):
    nothing = native.load(native.compile_ir("define i64 @entry(ptr %a, i64 %b, ptr %c) {\n ret i64 0\n}"), "entry")
    signature = Signature((Array("x", (size,)),), (Array("y", (1,)),), np.dtype(np.float32), False)
    run = make_gate(signature, nothing.address)
    x, y = np.full(size, -3.4e38, np.float32), np.zeros(1, np.float32)
    assert run(x, y) == OK
    for i in range(size):
        x[:] = 1.0
        x[i] = np.nan
        assert run(x, y) == BAD_INPUT
    assert run(x.astype(float), y) == MISFIT


def test_context_reaches_the_code():
    ir = """
    define i64 @entry(ptr %arrays, i64 %batch, ptr %context) {
      %y = load ptr, ptr %arrays
      %number = load double, ptr %context
      store double %number, ptr %y
      ret i64 0
    }"""
    code = native.load(native.compile_ir(ir), "entry")
    number = ctypes.c_double(42.0)
    y = np.zeros(1)
    signature = Signature((), (Array("y", (1,)),), np.dtype(float), False)
    assert make_gate(signature, code.address, ctypes.addressof(number))(y) == OK
    assert y[0] == 42.0


@pytest.mark.parametrize("seen", [0, 1])
def test_results_that_the_code_has_seen_to_be_finite_are_not_looked_at_again(seen):
    ir = f"define i64 @entry(ptr %arrays, i64 %batch, ptr %context) {{\n  ret i64 {seen}\n}}"
    code, y = native.load(native.compile_ir(ir), "entry"), np.array([np.nan])
    signature = Signature((), (Array("y", (1,)),), np.dtype(float), False)
    assert make_gate(signature, code.address)(y) == (OK if seen else BAD_OUTPUT)


def test_an_unknown_layout_is_refused(monkeypatch):
    monkeypatch.setattr(objects, "_matches", lambda layout, sample: False)
    with pytest.raises(SettingError, match="BOUGH_INTERPRET=1"):
        objects.object_layout.__wrapped__()


def test_a_wrong_layout_is_noticed():
    layout = objects.object_layout()
    for field in layout.__dataclass_fields__:
        shifted = {**vars(layout), field: getattr(layout, field) + 8}
        assert not objects._matches(objects.ObjectLayout(**shifted), np.ones((2, 3)))


def test_signatures_that_cannot_be_are_refused():
    for dtype in (np.float16, ">f8", int):
        with pytest.raises(ValueError, match="float64 or float32"):
            Signature((), (), np.dtype(dtype), False)
    with pytest.raises(ValueError, match="at most"):
        Signature((Array("x", (1, 1, 1, 1)),), (), np.dtype(float), False)
    with pytest.raises(ValueError, match="at most"):
        Signature((Array("x", (1,)),) * 65, (), np.dtype(float), False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [*range(1, 20), 31, 40])
def test_every_place_of_every_size_is_looked_at(dtype, size):
    """A function that copies nothing: only the check of its input is seen."""
    nothing = native.load(
        native.compile_ir("define i64 @entry(ptr %arrays, i64 %batch, ptr %c) {\n  ret i64 0\n}\n"), "entry"
    )
    signature = Signature((Array("x", (size,)),), (Array("y", (1,)),), np.dtype(dtype), False)
    run, y = make_gate(signature, nothing.address), np.zeros(1, dtype)
    assert run(np.full(size, np.finfo(dtype).max), y) == OK
    for place in range(size):
        for bad in (np.nan, np.inf, -np.inf):
            x = np.ones(size, dtype)
            x[place] = bad
            assert run(x, y) == BAD_INPUT


def test_code_of_gates_stays_as_long_as_they_do(monkeypatch, code):
    """Of threads that ask at once each makes its own, and a cache keeps only the last."""
    found, make = [], gate._gate_code.__wrapped__

    def kept(*given):
        made = make(*given)
        found.append(weakref.ref(made))
        return made

    monkeypatch.setattr(gate, "_gate_code", kept)
    monkeypatch.setattr(gate, "_method", gate._method.__wrapped__)
    run = make_gate(Signature(INPUTS, OUTPUTS, np.dtype(float), False), code.address, keep=code)
    serve = gate.serve.__wrapped__()
    gc.collect()
    assert len(found) >= 1 + (serve is not None)
    assert all(made() is not None for made in found)
    assert run(*arrays()) == OK
    del run, serve
    gc.collect()
    assert not any(made() is not None for made in found)


def test_gates_and_makers_keep_what_they_run(code):
    signature = Signature(INPUTS, OUTPUTS, np.dtype(float), False)
    mine = native.LoadedCode(code.address, code)
    seen, run = weakref.ref(mine), make_gate(signature, code.address, keep=mine)
    maker = gate.make_maker(signature, code.address, keep=mine)
    unpacker = gate.make_unpacker(maker, gate.nothing, 1, {"z": 1})
    del mine, maker
    gc.collect()
    assert seen() is not None
    assert run(*arrays()) == OK
    del run
    gc.collect()
    assert seen() is not None  # by way of what the unpacker calls
    np.testing.assert_array_equal(unpacker(arrays()[0], {"z": arrays()[1]}).shape, (2, 3))
    del unpacker
    gc.collect()
    assert seen() is None


TAKEN_DOWN = """
import ctypes, gc
import numpy as np
from bough import Dynamics, zoo
from bough.compile.run import gate

dynamics = Dynamics(zoo.arm(2))
dynamics.forward_dynamics(*np.zeros((3, 2)))
gate._method.cache_clear()
for kept in vars(gate).values():
    if type(kept) is list:
        kept.clear()
others = [ctypes.create_string_buffer(b"\\xff" * 32, 32) for _ in range(20_000)]  # where descriptions were
del dynamics
gc.collect()
"""


def test_gates_may_be_freed_after_the_module_that_made_them():
    """As at exit. Python looks into the description of a function that it frees."""
    assert subprocess.run([sys.executable, "-c", TAKEN_DOWN]).returncode == 0
