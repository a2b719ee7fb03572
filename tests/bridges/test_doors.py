"""All functions of the table through all bridges: the shapes and values of `Dynamics`, names by content, pickling."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import bough
from bough import zoo
from bough.bridges.calls import call_of, registered
from bough.compile import executions
from bough.dynamics.functions import FUNCTIONS

ROWS = [(), (1,), (5,), (2, 3)]


def one_joint():
    """With one joint, every vector has the shape of a number."""
    builder = bough.Builder("pendulum")
    builder.add_body("rod", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5))
    return builder.build()


MODELS = {"arm": zoo.arm(3), "one joint": one_joint()}


def arguments(model, name, leading):
    rng = np.random.default_rng(0)
    rows = int(np.prod(leading)) if leading else 1
    special = {"q": lambda: model.random_configuration(rng, rows), "dt": lambda: np.full((rows, 1), 0.01)}
    arrays = [special.get(x, lambda: rng.normal(size=(rows, model.nv)))() for x in FUNCTIONS[name].arguments]
    return [x.reshape(*leading, *x.shape[1:]) for x in arrays]


def options_of(model, name):
    return {"frame": model.frame_names[-1]} if "frame" in FUNCTIONS[name].options else {}


def expected(model, name, arrays):
    """What `Dynamics` gives, with the leading axes of the arrays."""
    leading = arrays[0].shape[:-1]
    rows = [x.reshape(-1, x.shape[-1]) if leading else x for x in arrays]
    function = getattr(bough.Dynamics(model), name)
    if name == "factorize":  # of one configuration
        found = np.array([function(q).packed for q in rows[0]]) if leading else function(*rows).packed
    else:
        found = function(*rows, **options_of(model, name))
    several = found if isinstance(found, tuple) else (found,)
    return [np.asarray(x).reshape((*leading, *np.shape(x)[bool(leading) :])) for x in several]


def torch_results(model, name, arrays):
    torch = pytest.importorskip("torch")
    found = getattr(bough.torch, name)(model, *map(torch.tensor, arrays), **options_of(model, name))
    return [x.numpy() for x in (found if isinstance(found, tuple) else (found,))]


def jax_results(model, name, arrays):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    found = getattr(bough.jax, name)(model, *arrays, **options_of(model, name))
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


BRIDGES = {"torch": torch_results, "jax": jax_results}


@pytest.mark.parametrize("robot", MODELS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("bridge", BRIDGES)
def test_shapes_and_values_are_those_of_dynamics(bridge, name, robot):
    model = MODELS[robot]
    for leading in ROWS:
        arrays = arguments(model, name, leading)
        wanted = expected(model, name, arrays)
        found = BRIDGES[bridge](model, name, arrays)
        assert [x.shape for x in found] == [x.shape for x in wanted], leading
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-12 * max(1.0, np.abs(y).max()))


def test_one_configuration_in_casadi_and_sympy():
    """A number is 1 x 1 in CasADi, which has no others, and an expression in SymPy."""
    arm = MODELS["one joint"]
    (q, v), wanted = ([0.3], [0.2]), bough.Dynamics(MODELS["one joint"]).kinetic_energy([0.3], [0.2])
    if pytest.importorskip("casadi"):
        found = bough.casadi.function(arm, "kinetic_energy")(q, v)
        assert found.shape == (1, 1)
        assert float(found) == pytest.approx(wanted)
    sympy = pytest.importorskip("sympy")
    energy = bough.sympy.expressions(arm, "kinetic_energy")
    ((q0,), (v0,)) = bough.sympy.symbols(arm, "kinetic_energy")
    assert isinstance(energy, sympy.Expr)
    assert float(energy.subs({q0: 0.3, v0: 0.2})) == pytest.approx(wanted)


@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_time_step_is_a_number_or_one_for_each_row(bridge):
    model = MODELS["arm"]
    *state, _ = arguments(model, "semi_implicit_step", (4,))
    wanted = expected(model, "semi_implicit_step", [*state, np.full((4, 1), 0.02)])
    library = pytest.importorskip(bridge)
    module, as_array = getattr(bough, bridge), np.asarray
    if bridge == "torch":
        as_array = library.tensor
    else:
        library.config.update("jax_enable_x64", True)
    for dt in (
        0.02,
        np.float64(0.02),
        np.float32(0.02),
        as_array(0.02, dtype=as_array(state[0]).dtype),
        as_array(np.full(4, 0.02)),
    ):
        found = module.semi_implicit_step(model, *map(as_array, state), dt)
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(x), y, atol=1e-7 if type(dt) is np.float32 else 1e-12)
    with pytest.raises(bough.BoughError, match=r"dt is a number, or has shape \(4,\), got \(3,\)"):
        module.semi_implicit_step(model, *map(as_array, state), as_array(np.zeros(3)))


@pytest.fixture
def general(monkeypatch):
    """A tree whose functions are too large to be traced, as far as Bough knows."""
    monkeypatch.setattr(executions, "serves", lambda *_: False)
    return zoo.random_tree(6, seed=77)


@pytest.mark.native("general code is machine code")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_general_code_in_jax(name, general):
    """General code needs memory of its own for each call; XLA is given none, whatever the number of rows."""
    pytest.importorskip("jax")
    call = call_of(general, name, options_of(general, name))
    assert not call.on_cpu.entry(np.dtype(float)).batch().is_shared
    for rows in (1, 3, 1023, 1024):
        arrays = arguments(general, name, (rows,))
        for x, y in zip(jax_results(general, name, arrays), expected(general, name, arrays), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-9 * max(1.0, np.abs(y).max()))


@pytest.mark.native("general code is machine code")
def test_large_models_in_jax():
    jax = pytest.importorskip("jax")
    for model, name in ((zoo.chain(150), "forward_dynamics"), (zoo.humanoid(), "forward_dynamics_derivatives")):
        for rows in (1, 3, 1024):
            arrays = arguments(model, name, (rows,))
            arrays[0][0, 0] = np.nan  # this row is lost, the others are not
            found = jax.jit(lambda *x, m=model, n=name: getattr(bough.jax, n)(m, *x))(*arrays)
            found = found if isinstance(found, tuple) else (found,)
            assert all(np.isnan(x[0]).all() for x in found)
            if rows > 1:
                wanted = expected(model, name, [x[1:] for x in arrays])
                for x, y in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(x[1:], y, atol=1e-9 * np.abs(y).max())


@pytest.mark.slow
@pytest.mark.native("general code is machine code")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_functions_of_a_large_model_in_jax(name):
    """By whatever code serves them: specialised, general, and both sides of the rows from which threads help."""
    pytest.importorskip("jax")
    model = zoo.chain(60)
    for rows in (1, 3, 1023, 1024):
        arrays = arguments(model, name, (rows,))
        for x, y in zip(jax_results(model, name, arrays), expected(model, name, arrays), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-9 * max(1.0, np.abs(y).max()))


# Names


def test_names_tell_the_content():
    arm, other = zoo.arm(3), zoo.arm(3, seed=1)
    assert call_of(arm, "gravity", {}) is call_of(zoo.arm(3), "gravity", {})
    names = {
        call_of(arm, "gravity", {}).name,
        call_of(other, "gravity", {}).name,
        call_of(arm, "mass_matrix", {}).name,
        call_of(arm, "gravity", {}, ("inertia",)).name,
        call_of(arm, "forward_dynamics", {"method": "crba"}).name,
        call_of(arm, "forward_dynamics", {}).name,
        call_of(bough.OperationalSpace(arm, [bough.position("hand")]), "inertia", {}).name,
        call_of(bough.OperationalSpace(arm, [bough.orientation("hand")]), "inertia", {}).name,
        call_of(bough.OperationalSpace(arm, [bough.position("hand")], singular="damp"), "inertia", {}).name,
    }
    assert len(names) == 9
    space = [call_of(bough.OperationalSpace(arm, [bough.position("hand")]), "inertia", {}) for _ in range(2)]
    assert space[0] is space[1]
    assert registered(f"{space[0].name}/vjp/jvp") is registered(f"{space[0].name}/vjp").jvp
    with pytest.raises(bough.BoughError, match=r"call gravity\(model, \.\.\.\) of the same bridge once"):
        registered("gravity_of_ghost_0123")


SAVED_BY_TORCH = """
import sys, torch, bough.torch
program = torch.export.load(sys.argv[1]).module()
bough.torch.forward_dynamics(bough.zoo.arm(3, seed=1), *[torch.ones(3, dtype=torch.float64)] * 3)
x = [torch.full((3,), 0.1 * k, dtype=torch.float64) for k in range(3)]
try:
    program(*x)
except Exception as error:
    assert "call forward_dynamics(model, ...) of the same bridge once" in str(error), error
else:
    raise AssertionError("another model was computed")
wanted = bough.torch.forward_dynamics(bough.zoo.arm(3), *x)
assert torch.equal(program(*x), wanted)
"""


def test_a_program_saved_by_torch_computes_its_own_model(tmp_path):
    torch = pytest.importorskip("torch")

    class Forward(torch.nn.Module):
        def forward(self, *x):
            return bough.torch.forward_dynamics(MODELS["arm"], *x)

    x = tuple(torch.full((3,), 0.1, dtype=torch.float64) for _ in range(3))
    bough.torch.forward_dynamics(MODELS["arm"], *x)
    torch.export.save(torch.export.export(Forward(), x), tmp_path / "arm.pt2")
    subprocess.run([sys.executable, "-c", SAVED_BY_TORCH, str(tmp_path / "arm.pt2")], check=True)


SAVED_BY_JAX = """
import sys, jax, numpy as np, bough
jax.config.update("jax_enable_x64", True)
program = jax.export.deserialize(open(sys.argv[1], "rb").read())
x = [np.full(3, 0.1 * k) for k in range(3)]
bough.jax.forward_dynamics(bough.zoo.arm(3, seed=1), *x)
try:
    program.call(*x)
except Exception as error:
    assert "bough.forward_dynamics_of_arm" in str(error), error
else:
    raise AssertionError("another model was computed")
wanted = bough.jax.forward_dynamics(bough.zoo.arm(3), *x)
assert np.array_equal(program.call(*x), wanted)
"""


@pytest.mark.native("what is interpreted is no program")
def test_a_program_saved_by_jax_computes_its_own_model(tmp_path):
    jax = pytest.importorskip("jax")
    export = pytest.importorskip("jax.export")
    pytest.importorskip("flatbuffers")  # which JAX saves programs with
    jax.config.update("jax_enable_x64", True)
    x = [np.full(3, 0.1)] * 3
    target = f"bough.{call_of(MODELS['arm'], 'forward_dynamics', {}).name}.float64"
    allowed = [export.DisabledSafetyCheck.custom_call(target)]
    forward = jax.jit(lambda *x: bough.jax.forward_dynamics(MODELS["arm"], *x))
    (tmp_path / "arm.bin").write_bytes(bytes(export.export(forward, disabled_checks=allowed)(*x).serialize()))
    subprocess.run([sys.executable, "-c", SAVED_BY_JAX, str(tmp_path / "arm.bin")], check=True)


# Modules


@pytest.mark.parametrize("bridge", ["casadi", "env", "jax", "sympy", "torch"])
def test_modules_show_public_names_only(bridge):
    pytest.importorskip(bough._BRIDGES[bridge])
    module = getattr(bough, bridge)
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__


@pytest.mark.parametrize("bridge", BRIDGES)
def test_functions_can_be_pickled(bridge):
    pytest.importorskip(bridge)
    function = getattr(bough, bridge).forward_dynamics
    assert pickle.loads(pickle.dumps(function)) is function
