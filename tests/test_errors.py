"""What users may do wrong is answered by a `BoughError`: a walk over the source, and calls that once gave others."""

import ast
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import bough
from bough import zoo
from bough.adaptive import QuasiStatics, displacement, harmonic, relative_joint
from bough.errors import BoughError, OptionError, nearest, required

SOURCE = Path(bough.__file__).parent
# What stands behind the doors (compiling, benchmarks, the command line, which catches its own)
INSIDE = {"compile", "bench", "app", "view"}

BUILTIN = {"ValueError", "TypeError", "KeyError", "IndexError", "RuntimeError", "NotImplementedError", "OSError"}


def raised(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            yield node.exc.func.id


def test_no_room_that_users_enter_raises_errors_of_python():
    files = [p for p in SOURCE.rglob("*.py") if p.relative_to(SOURCE).parts[0] not in INSIDE]
    assert len(files) > 200
    found = {(str(p.relative_to(SOURCE)), name) for p in files for name in raised(p) if name in BUILTIN}
    assert found == set()


UNKNOWN = {
    "function": lambda: bough.count(zoo.arm(3), "forward_dynamic"),
    "method": lambda: bough.Dynamics(zoo.arm(3)).forward_dynamics(*np.zeros((3, 3)), method="abba"),
    "reference": lambda: bough.Dynamics(zoo.arm(3)).jacobian(np.zeros(3), "hand", reference="locale"),
    "method of Lambda^-1": lambda: bough.OperationalSpace(zoo.arm(3), [bough.pose("hand")], method="pvt"),
    "method of quasi-statics": lambda: chain(method="adaptiv"),
    "locked clusters": lambda: chain(culled="rigit"),
    "frame of a force": lambda: chain().apply_force(1, (1, 0, 0), frame="word"),
    "integrator": lambda: bough.simulate.rollout(
        zoo.arm(3), *np.zeros((2, 3)), duration=0.1, dt=0.01, integrator="lie_midpoin"
    ),
    "geometry": lambda: zoo.chain(4, geometry="random_"),
    "variant": lambda: zoo.asimo("all_"),
    "body option": lambda: bough.Builder().add_body("a", mas=1.0),
    "joint type": lambda: bough.Builder().add_body("a", "world", "revolut"),
    "mimic": lambda: bough.Builder().build("independant"),
    "equality": lambda: bough.load(SOURCE.parents[1] / "examples" / "arm.urdf", equality="dropp"),
    "closure": lambda: bough.Builder().add_closure("a", "b", "points"),
    "device": lambda: bough.Dynamics(zoo.arm(3), device="cudda"),
    "layout": lambda: bough.Dynamics(zoo.arm(3), device="cuda", layout="column"),
    "input of a derivative": lambda: bough.Dynamics(zoo.arm(3)).derivatives("gravity", np.zeros(3), wrt=["qq"]),
    "singular": lambda: bough.OperationalSpace(zoo.arm(3), [bough.pose("hand")], singular="refused"),
    "part of momentum": lambda: bough.momentum("lineer"),
    "reference of a task": lambda: bough.pose("hand", "locale"),
    "also": lambda: bough.OperationalSpace(zoo.arm(3), [bough.pose("hand")], also=["factors"]).plan(),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_unknown_options_are_refused_by_one_class_with_a_hint(what):
    with pytest.raises(OptionError, match=r"did you mean|expected one of"):
        UNKNOWN[what]()


def test_the_hint_names_the_nearest_or_the_first():
    assert nearest("abba", ["aba", "crba"]) == "; did you mean 'aba'?"
    assert nearest("hand", ["left_hand_frame", "foot"]) == "; did you mean 'left_hand_frame'?"
    assert nearest("x", ["aba", "crba"], "it has") == "; it has aba, crba"
    assert nearest("x", map(str, range(100))).endswith("29, ...")
    assert nearest("x", []) == ""


def chain(**options):
    return QuasiStatics(zoo.chain(6), **options)


@pytest.mark.parametrize(
    ("do", "sentence"),
    [
        (lambda: chain(error=True), "error is a number, or a measure such as adaptive.relative_joint"),
        (lambda: setattr(chain(), "error", "small"), "error is a number, or a measure"),
        (lambda: bough.adaptive.Dynamics(zoo.chain(6), error="small"), "error is a measure"),
        (lambda: chain(method="adaptve"), "no method 'adaptve'; did you mean 'adaptive'"),
        (lambda: bough.adaptive.Dynamics(zoo.chain(6), integrator="semi-implicit"), "did you mean 'semi_implicit'"),
        (lambda: relative_joint(-1.0), "eps must be a finite number"),
        (lambda: displacement(1e-3, []), "at least one body"),
        (lambda: harmonic(-1.0), "harmonic"),
        (lambda: chain().step(-0.1), "dt"),
        (lambda: chain(assembly="odd"), "no assembly 'odd'"),
    ],
)
def test_adaptive_simulations(do, sentence):
    with pytest.raises(BoughError, match=sentence):
        do()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tau": "none"}, r"tau has 'none', expected an array of shape"),
        ({"tau": np.zeros(2)}, r"tau has shape \(2,\), expected \(3,\)"),
        ({"dt": "0.01"}, "dt must be a number, got '0.01'"),
        ({"duration": None}, "duration must be a number"),
        ({"every": "all"}, "a whole number every >= 1"),
        ({"integrator": {}}, "no integrator"),
        ({"q": ["a", "b", "c"]}, "q must be an array of real numbers"),
        ({"v": {"j": 1.0}}, "v must be an array of real numbers"),
    ],
)
def test_rollouts(given, sentence):
    usual = {"q": np.zeros(3), "v": np.zeros(3), "duration": 0.02, "dt": 0.01}
    with pytest.raises(BoughError, match=sentence):
        bough.simulate.rollout(zoo.arm(3), **{**usual, **given})


@pytest.mark.parametrize("gravity", ["down", None, [1.0, 2.0], [0.0, 0.0, np.nan], {"z": -9.81}])
def test_gravity(gravity):
    with pytest.raises(BoughError, match="gravity must be three finite numbers"):
        zoo.arm(3).with_gravity(gravity)


def test_more_named_wrenches_than_a_function_takes_arrays():
    """They become one array; 45 of them gave an error of the gate."""
    model = zoo.chain(45)
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 7, model.nv))
    array = rng.normal(size=(7, len(model.body_names), 6))
    for rows in (slice(None), 2):
        named = {name: array[rows, k] if rows == 2 else array[:, k] for k, name in enumerate(model.body_names)}
        expected = dyn.inverse_dynamics(q[rows], v[rows], tau[rows], array[rows])
        np.testing.assert_allclose(dyn.inverse_dynamics(q[rows], v[rows], tau[rows], named), expected, atol=1e-9)
    named[model.body_names[3]] = np.ones(5)
    with pytest.raises(BoughError, match="must have shape"):
        dyn.inverse_dynamics(q[2], v[2], tau[2], named)


def test_a_missing_library_names_its_extra():
    with pytest.raises(bough.BoughError, match=r'bough.casadi needs no_such_library: pip install "bough\[casadi\]"'):
        required("no_such_library", "casadi")


def test_a_library_that_is_too_old(monkeypatch):
    old = types.ModuleType("casadi")
    old.__version__ = "3.5.6"
    monkeypatch.setitem(sys.modules, "casadi", old)
    for name in ("bough.casadi", "bough.bridges.casadi"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delitem(vars(bough), "casadi", raising=False)
    with pytest.raises(bough.BoughError, match=r"bough\.casadi needs casadi 3\.6 or newer, found 3\.5\.6"):
        bough.casadi  # noqa: B018
    old.__version__ = "3.10.0rc1"
    assert required("casadi", "casadi", at_least="3.6") is old
