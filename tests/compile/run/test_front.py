"""`make_front`: calls as users write them, served by native code where it can, and by Python in all other cases."""

import gc
import inspect
import sys
import weakref

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.run import gate
from bough.errors import BoughError

ARM = zoo.arm(3)
TIP, OTHER = ARM.frame_names[-1], ARM.frame_names[1]


@pytest.fixture
def counted(monkeypatch):
    """A Dynamics whose functions are compiled, and the calls that Python serves from now on."""
    dyn, q = bough.Dynamics(ARM), np.array([0.1, 0.2, 0.3])
    served = []
    make = gate.make_front

    def counting(otherwise, *more, **options):
        def counted(*given, **named):
            served.append(otherwise.__name__)
            return otherwise(*given, **named)

        counted.__name__, counted.__doc__, counted.__module__ = otherwise.__name__, otherwise.__doc__, "tests"
        counted.__signature__ = inspect.signature(otherwise)
        return make(counted, *more, **options)

    for module in ("compile.run.call", "dynamics.dynamics", "dynamics.library", "dynamics.parameters"):
        monkeypatch.setattr(f"bough.{module}.make_front", counting)
    for reference in ("local", "world", "local_world_aligned"):
        dyn.jacobian(q, TIP, reference)
    dyn.placement(q, TIP), dyn.mass_matrix(q), dyn.semi_implicit_step(q, q, q, 1e-3), dyn.factorize(q)
    dyn.inverse_dynamics(q, q, q)
    served.clear()
    return dyn, q, served


@pytest.mark.native("counts calls of native code")
def test_what_fits_is_served_without_python(counted):
    dyn, q, served = counted
    expected = bough.Dynamics(ARM, general=True)
    out, H, factor = np.empty((6, 3)), np.empty((3, 3)), dyn.factorize(q)
    served.clear()
    found = {
        "default": dyn.jacobian(q, TIP), "by place": dyn.jacobian(q, TIP, "local"),
        "frame=": dyn.jacobian(q, frame=TIP), "reference=": dyn.jacobian(q, TIP, reference="world"),
    }  # fmt: skip
    assert dyn.jacobian(q, TIP, "world", out=out) is out
    assert dyn.mass_matrix(q, out=H) is H
    assert dyn.factorize(q, out=factor) is factor
    assert dyn.placement(q, TIP).shape == (4, 4)
    assert dyn.inverse_dynamics(q, q, q).shape == (3,)
    assert served == []
    for name, reference in (("default", "local_world_aligned"), ("frame=", "local_world_aligned"),
                            ("by place", "local"), ("reference=", "world")):  # fmt: skip
        np.testing.assert_allclose(found[name], expected.jacobian(q, TIP, reference), atol=1e-14)
    np.testing.assert_array_equal(out, found["reference="])
    np.testing.assert_allclose(H, expected.mass_matrix(q), atol=1e-14)
    np.testing.assert_allclose(factor.solve(H @ q), q, atol=1e-12)


@pytest.mark.native("counts calls of native code")
@pytest.mark.parametrize(
    "call",
    [
        lambda d, q: d.jacobian(q, OTHER),  # not compiled yet
        lambda d, q: d.jacobian(list(q), TIP),
        lambda d, q: d.jacobian(np.stack([q, q]), TIP),
        lambda d, q: d.jacobian(q, TIP, reference="local", out=None),
        lambda d, q: d.jacobian(q=q, frame=TIP),
        lambda d, q: d.factorize(q),
        lambda d, q: d.factorize(q, out=np.empty(6)),
        lambda d, q: d.inverse_dynamics(q, q, q, None),
    ],
)
def test_everything_else_is_served_by_python(call, counted):
    dyn, q, served = counted
    assert call(dyn, q) is not None
    assert len([name for name in served if name != "_call_any"]) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda d, q: d.jacobian(q),
        lambda d, q: d.jacobian(),
        lambda d, q: d.jacobian(q, ["no", "name"]),
        lambda d, q: d.jacobian(q, "nowhere"),
        lambda d, q: d.jacobian(q, TIP, "sideways"),
        lambda d, q: d.jacobian(q, TIP, ["local"]),
        lambda d, q: d.jacobian(q, TIP, "local", "more"),
        lambda d, q: d.jacobian(q, TIP, frame=TIP),
        lambda d, q: d.jacobian(q, TIP, ot=np.empty((6, 3))),
        lambda d, q: d.jacobian(q * np.nan, TIP),
        lambda d, q: d.jacobian(q * np.nan, TIP, out=np.empty((6, 3))),
        lambda d, q: d.jacobian(q, TIP, out=np.empty((3, 6))),
        lambda d, q: d.jacobian(q, TIP, out=np.empty((6, 3), order="F")),
        lambda d, q: d.mass_matrix(q, frame=TIP),
        lambda d, q: d.mass_matrix(q, reference="local"),
        lambda d, q: d.mass_matrix(q, out=q),
        lambda d, q: d.factorize(q, out=bough.Dynamics(zoo.chain(3)).factorize(q)),
        lambda d, q: d.factorize(q, out=7),
    ],
)
def test_errors_are_those_of_python(call):
    """The same before and after native code is there."""
    dyn, q, texts = bough.Dynamics(ARM), np.array([0.1, 0.2, 0.3]), []
    for _ in range(2):
        with pytest.raises((BoughError, TypeError)) as error:
            call(dyn, q)
        texts.append(str(error.value).split(": in the first")[0])
        dyn.jacobian(q, TIP), dyn.mass_matrix(q), dyn.factorize(q)
    assert texts[0].removeprefix("Dynamics.") == texts[1].removeprefix("Dynamics.")


@pytest.mark.native("counts calls of native code")
def test_parameters_are_served_without_python(monkeypatch):
    """As defaults, and with numbers that were examined; others are examined first, also where an array has changed."""
    dyn, q = bough.Dynamics(ARM, inputs=("inertia", "gravity")), np.array([0.1, 0.2, 0.3])
    plain, forces = bough.Dynamics(ARM, general=True), np.ones((len(ARM.body_names), 6))
    I, g, named = 1.5 * ARM.inertias, np.array([1.0, 2.0, 3.0]), dict(zip(ARM.body_names, forces, strict=True))
    calls = [
        lambda d, **k: d.forward_dynamics(q, q, q, **k), lambda d, **k: d.forward_dynamics(q, q, q, forces, **k),
        lambda d, **k: d.forward_dynamics(q, q, q, named, **k), lambda d, **k: d.jacobian(q, TIP, **k),
        lambda d, **k: d.mass_matrix(q, **k), lambda d, **k: d.mass_matrix(q, out=np.empty((3, 3)), **k),
        lambda d, **k: d.factorize(q, **k).packed, lambda d, **k: d.semi_implicit_step(q, q, q, 1e-3, **k)[1],
    ]  # fmt: skip
    other = bough.Dynamics(ARM.with_inertias(I), general=True)
    for call in calls:
        for _ in range(3):  # compiled, then known, then native
            np.testing.assert_allclose(call(dyn), call(plain), rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(call(dyn, inertia=None), call(plain), rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(call(dyn, inertia=I), call(other), rtol=1e-9, atol=1e-12)
    expected = dyn.gravity(q, inertia=I, gravity=g)
    served = []
    monkeypatch.setattr("bough.dynamics.parameters.WithParameters._arrays", lambda *_: served.append(1) or [])
    assert dyn.factorize(q, out=dyn.factorize(q)).packed.shape == (6,)
    calls[1](dyn), calls[2](dyn)
    for call in (calls[0], *calls[3:6]):
        call(dyn), call(dyn, inertia=I), call(dyn, gravity=g)
    np.testing.assert_array_equal(dyn.gravity(q, gravity=g, inertia=I.copy()), expected)
    assert served == []
    monkeypatch.undo()
    I[0, 0] = -1.0
    for call in calls:
        with pytest.raises(BoughError, match="mass"):
            call(dyn, inertia=I)
    with pytest.raises(BoughError, match="sideways"):
        dyn.gravity(q, sideways=g)


def test_nothing_is_compiled_where_kernels_are_interpreted(monkeypatch):
    monkeypatch.setenv("BOUGH_INTERPRET", "1")
    monkeypatch.setattr(gate, "_gate_code", lambda *_: pytest.fail("native code"))
    dyn, q = bough.Dynamics(zoo.arm(2)), np.zeros(2)
    for _ in range(2):
        assert dyn.jacobian(q, dyn.model.frame_names[-1]).shape == (6, 2)
        assert dyn.gravity(q).shape == (2,)


@pytest.mark.native("native functions")
def test_a_function_still_explains_itself_and_keeps_nothing():
    dyn, q = bough.Dynamics(ARM), np.array([0.1, 0.2, 0.3])
    dyn.jacobian(q, TIP)
    assert list(inspect.signature(dyn.jacobian).parameters)[:3] == ["q", "frame", "reference"]
    assert "Geometric Jacobian" in dyn.jacobian.__doc__
    out = np.empty((6, 3))
    gc.collect()
    before = [sys.getrefcount(x) for x in (q, TIP, out, None)]
    for _ in range(1000):
        dyn.jacobian(q, TIP, out=out)
        dyn.jacobian(q, TIP)
        dyn.mass_matrix(q)
    assert [sys.getrefcount(x) for x in (q, TIP, out)] == before[:3]
    assert abs(sys.getrefcount(None) - before[3]) < 500
    alive = weakref.ref(dyn)
    del dyn
    gc.collect()
    assert alive() is None


@pytest.mark.native("reads the record of native code")
def test_descriptions_outlive_functions_that_are_collected_in_cycles():
    """The record of a function is cleared before the function is freed, which reads its description once more."""
    dyn = bough.Dynamics(zoo.arm(2))
    dyn.jacobian(np.zeros(2), dyn.model.frame_names[-1])
    description = weakref.ref(dyn.jacobian.__self__.keep[-1])
    del dyn
    gc.collect()
    assert description() is not None
