"""Quantities of the model as inputs: the same as a model that has them as constants, however it is executed."""

import pickle
import re
import shutil

import numpy as np
import pytest

import bough
from bough import zoo
from bough.dynamics.functions import FUNCTIONS, program
from models import JOINT_TYPES, random_state, random_twin

ALL = ("inertia", "armature", "gravity", "placement")


def tree(seed=3):
    """Every joint type, with rotors."""
    return random_twin(seed, [-1, 0, 0, 1, 1, 2, 3, 4, 0], list(JOINT_TYPES), armature=True).model


def changed(model, seed=0):
    """The same mechanism with other masses and another gravity."""
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.5, 1.5, (len(model.joints), 1))
    return model.with_inertias(model.inertias * scale).with_gravity((1.0, 2.0, -3.0))


def arguments(row, model, seed=1):
    q, v, x = random_state(model, seed)[:3]
    return [{"q": q, "v": v, "dt": [0.01]}.get(name, x) for name in row.arguments]


@pytest.mark.parametrize("row", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("model", [tree(), zoo.star(3)], ids=["tree", "star"])
def test_every_function_takes_them(row, model):
    other = changed(model)
    options = {"frame": model.frame_names[-1]} if "frame" in row.options else {}
    traced = program(model, row.name, inputs=ALL, **options)
    plain = program(other, row.name, **options)
    given = arguments(row, model)
    from bough.compile.derived import FUNCTIONS as KNOWN
    from bough.compile.graph.evaluate import evaluate

    numbers = [*given, other.inertias, other.armature, other.gravity, other.joint_placements]
    found = evaluate(traced, [list(np.ravel(x)) for x in numbers], KNOWN)
    expected = evaluate(plain, [list(np.ravel(x)) for x in given], KNOWN)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-11 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("general", [False, True])
def test_a_robot_in_each_row(general):
    model = zoo.star(3)
    dyn = bough.Dynamics(model, inputs=("inertia", "gravity"), general=general)
    others = [changed(model, seed) for seed in range(5)]
    q, v, tau = (np.array(x) for x in zip(*(random_state(model, s)[:3] for s in range(5)), strict=True))
    inertia = np.array([m.inertias for m in others])
    found = dyn.forward_dynamics(q, v, tau, inertia=inertia, gravity=(1.0, 2.0, -3.0))
    for k, other in enumerate(others):
        expected = bough.Dynamics(other).forward_dynamics(q[k], v[k], tau[k])
        np.testing.assert_allclose(found[k], expected, rtol=1e-10)
        for _ in range(2):  # the second call goes to compiled code directly
            alone = dyn.forward_dynamics(q[k], v[k], tau[k], inertia=inertia[k], gravity=np.array([1.0, 2.0, -3.0]))
            np.testing.assert_allclose(alone, expected, rtol=1e-10)
    pushed = dyn.forward_dynamics(q, v, tau, {model.body_names[-1]: np.ones(6)}, inertia=inertia)
    first = bough.Dynamics(others[0].with_gravity(model.gravity))
    np.testing.assert_allclose(
        pushed[0], first.forward_dynamics(q[0], v[0], tau[0], {model.body_names[-1]: np.ones(6)}), rtol=1e-10
    )
    result, status = dyn.with_status("inverse_dynamics", q, v, tau, inertia=inertia)
    assert not status.any()
    np.testing.assert_allclose(result[0], first.inverse_dynamics(q[0], v[0], tau[0]), rtol=1e-10)


def test_without_its_keyword_a_quantity_is_the_models_own():
    model = zoo.arm(4)
    q, v, tau = random_state(model, 2)[:3]
    dyn, plain = bough.Dynamics(model, inputs=ALL), bough.Dynamics(model)
    for _ in range(2):
        np.testing.assert_allclose(dyn.forward_dynamics(q, v, tau), plain.forward_dynamics(q, v, tau), rtol=1e-11)
    single = [x.astype(np.float32) for x in (q, v, tau)]
    found = dyn.forward_dynamics(*single)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, plain.forward_dynamics(q, v, tau), rtol=1e-3)
    again = pickle.loads(pickle.dumps(dyn))
    assert again.inputs == dyn.inputs
    by_q = dyn.inverse_dynamics_derivatives(q, v, tau, gravity=np.zeros(3))[0]
    still = bough.Dynamics(model.with_gravity((0, 0, 0)))
    np.testing.assert_allclose(by_q, still.inverse_dynamics_derivatives(q, v, tau)[0], atol=1e-10)


def test_mimic_joints_keep_what_is_theirs():
    builder = bough.Builder()
    builder.add_body("a", axis=(0, 1, 0), mass=1.0, com=(0.1, 0, 0), inertia=0.1 * np.eye(3), armature=0.2)
    options = {"mimic": ("a", 2.0, 0.1), "armature": 0.3}
    builder.add_body("b", "a", "revolute", (0.5, 0, 0), mass=2.0, inertia=0.1 * np.eye(3), **options)
    builder.add_body("c", "b", "revolute", (0.5, 0, 0), axis=(0, 1, 1), mass=1.5, com=(0.1, 0.2, 0.3))
    model = builder.build()
    assert model.body_names == ("a", "c")
    dyn, state = bough.Dynamics(model, inputs=("inertia", "armature")), np.array([[0.3, 0.4], [1.0, 2.0], [0.5, 0.6]])
    other = model.with_inertias(2.0 * model.inertias)
    found = dyn.forward_dynamics(*state, inertia=other.inertias)
    np.testing.assert_allclose(found, bough.Dynamics(other).forward_dynamics(*state), rtol=1e-12)
    with pytest.raises(bough.BoughError, match="placements of joints cannot be inputs"):
        bough.Dynamics(model, inputs=("placement",))


def test_moved_joints():
    model = zoo.arm(4)
    moved = np.array(model.joint_placements)
    moved[:, :3, 3] *= 1.3
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    moved[2, :3, :3] = moved[2, :3, :3] @ turn
    builder = bough.Builder("moved")
    for k, name in enumerate(model.body_names):
        mass, com, J = bough.model.parameters.standard(model.inertias[k : k + 1])[0]
        z = model.frames.R[model.frame(name)][2]
        up = "world" if model.parent[k] < 0 else model.body_names[model.parent[k]]
        builder.add_body(name, up, "revolute", moved[k], axis=z, mass=mass, com=com, inertia=J)
    q, v, tau = random_state(model, 5)[:3]
    expected = bough.Dynamics(builder.build()).forward_dynamics(q, v, tau)
    found = bough.Dynamics(model, inputs=["placement"]).forward_dynamics(q, v, tau, placement=moved)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_limbs_stay_twins():
    model = zoo.star(4)
    dyn = bough.Dynamics(model, inputs=("inertia",))
    from bough.dynamics.parameters import marks_of
    from bough.model import mark_limbs

    marks = marks_of(mark_limbs)((model.mechanism, dyn._library.parameters.layout))
    assert len(marks.axes["joints"]) == len(model.joints)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_exported_c_takes_them(tmp_path):
    import ctypes
    import subprocess

    model = zoo.arm(3)
    source, _ = bough.export_c(model, ["gravity"], tmp_path / "arm.c", inputs=["inertia"])
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(tmp_path / "a.so"), "-lm"], check=True)
    library = ctypes.CDLL(str(tmp_path / "a.so"))
    q, tau, inertia = np.array([0.1, 0.2, 0.3]), np.zeros(3), changed(model).inertias.copy()
    library.arm_gravity(*(ctypes.c_void_p(x.ctypes.data) for x in (q, inertia, tau)))
    np.testing.assert_allclose(tau, bough.Dynamics(model, inputs=["inertia"]).gravity(q, inertia=inertia), rtol=1e-12)


def test_bad_parameters():
    model = zoo.arm(3)
    q, v, tau = random_state(model, 2)[:3]
    with pytest.raises(bough.BoughError, match="no quantity is called 'mass'; expected one of inertia"):
        bough.Dynamics(model, inputs=("mass",))
    with pytest.raises(bough.BoughError, match="inputs is a tuple of names"):
        bough.Dynamics(model, inputs="inertia")
    with pytest.raises(bough.BoughError, match="twice"):
        bough.Dynamics(model, inputs=("inertia", "inertia"))
    dyn = bough.Dynamics(model, inputs=("inertia", "armature", "placement"))
    with pytest.raises(bough.BoughError, match=r"takes no 'gravity': the inputs of this Dynamics are inertia"):
        dyn.mass_matrix(q, gravity=(0, 0, 1))
    with pytest.raises(bough.BoughError, match=r"inertia must have shape \(3, 10\)"):
        dyn.mass_matrix(q, inertia=np.ones((2, 10)))
    for words in ("heavy", model.inertias + 1j, [[1.0], [1.0, 2.0]]):
        with pytest.raises(bough.BoughError, match=r"inertia (must be an array of real numbers|is ragged)"):
            dyn.mass_matrix(q, inertia=words)
    wrong = model.inertias.copy()
    wrong[1, 0] = np.nan
    with pytest.raises(bough.BoughError, match=r"inertia\[\(1, 0\)\] is nan"):
        dyn.mass_matrix(q, inertia=wrong)
    for place, message in (((1, 0), "mass is negative"), ((1, 4), "principal moment|not all positive")):
        inertia = model.inertias.copy()
        inertia[place] = -1.0
        for _ in range(2):
            with pytest.raises(bough.BoughError, match=f"{model.body_names[1]!r} is not physical.*({message})"):
                dyn.forward_dynamics(q, v, tau, inertia=inertia)
            dyn.forward_dynamics(q, v, tau, inertia=model.inertias.copy())
        bough.Dynamics(model, inputs=("inertia",), check=False).inverse_dynamics(q, v, tau, inertia=inertia)
        rows = np.array([model.inertias, inertia])
        dyn.inverse_dynamics(q, v, tau, inertia=rows)  # rows are not examined
        with pytest.raises(bough.BoughError, match="row 1"):
            bough.Dynamics(model, inputs=("inertia",), check=True).inverse_dynamics(q, v, tau, inertia=rows)
    inertia = model.inertias.copy()
    dyn.forward_dynamics(q, v, tau, inertia=inertia)
    inertia[1, 0] = -1.0  # the same array with other numbers
    with pytest.raises(bough.BoughError, match="mass is negative"):
        dyn.forward_dynamics(q, v, tau, inertia=inertia)
    with pytest.raises(bough.BoughError, match=r"armature: that of .* is negative"):
        dyn.mass_matrix(q, armature=[-1.0, 0.0, 0.0])
    with pytest.raises(bough.BoughError, match="no homogeneous matrix"):
        dyn.mass_matrix(q, placement=np.ones((3, 4, 4)))


def test_what_was_not_named_is_refused_with_how_to_name_it():
    """By every function, before and after its shorter way to compiled code is there; None means the model's own."""
    model, x = zoo.arm(3), np.full(3, 0.2)
    for inputs, said in (((), "none"), (("gravity",), "gravity")):
        dyn = bough.Dynamics(model, inputs=inputs)
        names = re.escape(f"takes no 'inertia': the inputs of this Dynamics are {said}; make it with inputs=")
        calls = [
            (dyn.forward_dynamics, x, x, x),
            (dyn.forward_dynamics, x, x, x, {"hand": np.ones(6)}),
            (dyn.forward_dynamics, [x, x], x, x),
            (dyn.mass_matrix, x),
            (dyn.placement, x, "hand"),
            (dyn.kinematics, x),
            (dyn.regressor, x, x, x),
            (dyn.forward_dynamics_derivatives, x, x, x),
            (dyn.potential_energy, x),
            (dyn.factorize, x),
            (dyn.with_status, "gravity", x),
        ]
        for _ in range(2):
            for function, *arrays in calls:
                with pytest.raises(bough.BoughError, match=names):
                    getattr(dyn, function.__name__)(*arrays, inertia=model.inertias)
            assert dyn.forward_dynamics(x, x, x, inertia=None).shape == dyn.forward_dynamics(x, x, x).shape
            assert dyn.mass_matrix(x, threads=1, inertia=None).shape == (3, 3)
        with pytest.raises(bough.BoughError, match=r"make what it belongs to with inputs=\('inertia',\)"):
            dyn.vjp("gravity", x, weight=x, inertia=model.inertias)
    with pytest.raises(bough.BoughError, match=r"make it with inputs=\('gravity', 'inertia'\)"):
        dyn.mass_matrix(x, inertia=model.inertias)
