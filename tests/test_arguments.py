"""Junk given to any argument of any public function: one `BoughError`, or an answer, never an error of Python's own.

The walk finds the functions and classes of the packages by itself: one that is new is attacked, too, as soon as the
words below say what its arguments are called; one whose words are not known here fails the first test.
"""

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import bough
from bough import zoo
from bough.arguments import complaint, explained, fits
from bough.errors import BoughError, OptionError

PACKAGES = (
    "adaptive", "control", "convert", "cost", "dynamics", "identification", "molecules", "opspace",
    "simulate", "sparsity", "zoo",
)  # fmt: skip
# Functions that other packages call with what they have checked, and those that want another library's objects
INNER = {
    "opspace": {"count", "make_plan", "invert"},
    "simulate": {"lie_midpoint", "runge_kutta_4", "semi_implicit_euler"},
    "dynamics": {"regressor_pairs"},
    "convert": {"to_pinocchio"},
    "control": {"augmented_object"},
    "identification": {"write_urdf"},
    "molecules": {"from_openmm"},
    "sparsity": {"panel_size"},
    "zoo": {"fold"},
}
CLASSES = {
    "dynamics": ("Dynamics",),
    "opspace": ("OperationalSpace", "Hierarchy"),
    "molecules": ("LogDeterminant", "Pull", "Repulsion", "RestraintEnergy"),
    "control": ("TaskController", "WholeBody", "CubicPath", "LimitMonitor"),
    "simulate": ("Ensemble", "Contacts", "HeightField", "Plane"),
    "adaptive": ("QuasiStatics", "Dynamics"),
}


SMALL = {"legs": 4}  # where a default is large


class Odd:
    """Nothing that anybody expects."""


def junk():
    """Fresh each time: some of it can be used once."""
    return {
        "none": None, "word": "x", "bytes": b"", "object": Odd(), "minus one": -1, "huge": 1e308, "nan": np.nan,
        "ragged": [[1.0], [1.0, 2.0]], "empty": {}, "mapping": {"x": None}, "words": np.array(["a", "b"]),
        "complex": 1 + 2j, "complexes": np.ones(4, complex), "long": "n" * 5000, "set": {1, 2},
        "generator": (i for i in (1, 2)), "masked": np.ma.masked_array(np.ones(4), [0, 1, 0, 0]),
        "cube": np.ones((2, 3, 5)), "nans": np.full(4, np.nan), "objects": np.array([Odd()] * 4, object),
        "holes": [None],
    }  # fmt: skip


@cache
def words():
    """Valid values by the names of parameters."""
    arm = zoo.arm(4)
    hand, q = arm.frame_names[-1], np.full(4, 0.3)
    space = bough.OperationalSpace(arm, [bough.position(hand)])
    return {
        "model": arm, "q": q, "v": q, "qdd": q, "tau": q, "dt": 0.01, "duration": 0.02, "frame": hand, "eps": 1e-3,
        "function": "gravity", "functions": ["gravity"], "path": "/nowhere/at/all.c",
        "space": space, "tasks": [bough.position(hand)], "references": {}, "metres": 1e-3, "bodies": [1],
        "stiffness": 1.0, "lower": -1.0, "upper": 1.0, "strength": 1.0, "amplitudes": 1.0, "multiplicities": 1.0,
        "points": [np.zeros(3)], "base": arm.frame_names[0], "matrix": np.eye(6)[:2],
        "times": [0.0, 1.0], "other": arm.frame_names[0],
        "levels": [["position"]], "heights": np.zeros((3, 3)), "joint": arm.joint_names[0], "mass": 1.0,
        "com": np.zeros(3), "inertia": np.eye(3), "wrench": np.zeros(6), "forces": np.zeros((1, 6)),
        "tree": arm.tree, "rows": [0], "dofs": [1] * 4, "m": 2, "n": 4, "cost": bough.cost.ltdl(arm.tree), "unit": True,
        "H": np.eye(4), "x": np.ones(4), "packed": np.ones(10), "size": 4, "residues": 3, "strands": 2,
        "sequence": "GA", "a": "A/1/CA", "b": "A/2/CA", "atoms": ["A/1/N", "A/1/CA", "A/1/C", "A/2/N"], "angle": 0.0,
        "target": np.zeros((4, 3)), "y": np.ones(4), "molecule": bough.molecules.peptide("GA"), "restraints": [],
        "to": np.zeros((4, 3)), "error": None,
    }  # fmt: skip


def public():
    for package in PACKAGES:
        door = getattr(bough, package)
        for name in door.__all__:
            member = getattr(door, name)
            if (inspect.isfunction(member) and name not in INNER.get(package, ())) or name in CLASSES.get(package, ()):
                yield pytest.param(member, id=f"{package}.{name}")


def parameters(member):
    return [p for p in inspect.signature(member).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


@pytest.mark.parametrize("member", list(public()))
def test_junk_in_any_argument(member, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a word is a path, too
    needed = {p.name: words()[p.name] for p in parameters(member) if p.default is p.empty}
    needed |= {p.name: SMALL[p.name] for p in parameters(member) if p.name in SMALL}
    raw = []
    for parameter in parameters(member):
        for name, value in junk().items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    member(**{**needed, parameter.name: value})
                except (BoughError, OSError):  # what the file system says of a path is its own
                    pass
                except Exception as error:
                    raw.append(f"{parameter.name}={name}: {type(error).__name__}: {error}")
    assert not raw, "\n".join(raw)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (float, (1, np.float32(2.0)), (True, np.nan, "1")),
        (int, (3, np.int64(3)), (3.0, True)),
        (bool, (True,), (1,)),
        (Sequence[str], (["a"], ("a",), []), ("a", [1], iter("ab"), 3)),
        (Iterable[str], (["a"], iter("ab")), ("a", [1])),
        (Mapping[str, int], ({"a": 1},), ({1: 1}, {"a": "b"}, ["a"])),
        (np.ndarray, ([1, 2], 3.0), ([1j], [[1], [1, 2]], "x", np.ma.masked_array([1.0], [True]))),
        (Any, (None, 1), ()),
    ],
)
def test_what_fits(kind, good, bad):
    assert all(fits(kind, value) for value in good)
    assert not any(fits(kind, value) for value in bad)


def test_what_a_function_of_the_user_raises_stays_what_it_is():
    def control(*state):
        raise ValueError("out of fuel")

    with pytest.raises(ValueError, match=r"^out of fuel$") as found:
        bough.simulate.rollout(zoo.arm(4), np.zeros(4), np.zeros(4), tau=control, duration=0.1, dt=0.01)
    assert not isinstance(found.value, BoughError)


def test_only_failures_are_explained_and_only_by_arguments():
    @explained
    def root(x: float, names: tuple[str, ...] = ()) -> float:
        return x**0.5 if names == () else {}[len(names)]

    assert root(4.0) == 2.0
    with pytest.raises(OptionError, match="root: x must be float, got 'a'"):
        root("a")
    with pytest.raises(OptionError, match="unexpected keyword argument 'y'"):
        root(1.0, y=2)
    with pytest.raises(KeyError) as bug:
        root(1.0, ("fine",))
    assert not isinstance(bug.value, BoughError)
    assert complaint(root, (1.0,), {}) is None
