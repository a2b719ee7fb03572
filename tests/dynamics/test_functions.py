"""The table of functions is what `Dynamics`, `count` and `export_c` offer: same names, arguments and defaults."""

import inspect
import typing

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.functions import FUNCTIONS, REFERENCE, Function, Method, Options, program
from bough.dynamics.rnea import WORK, rnea
from models import random_state, random_twin

# what is composed of several functions of the table
COMPOSED = {
    "derivatives",
    "vjp",
    "jvp",
    "hvp",
    "with_status",
    "kinematics",
    "fused",
    "generalized_forces",
    "together",
}


def test_every_function_of_dynamics_is_in_the_table():
    public = {name for name, _ in inspect.getmembers(bough.Dynamics, inspect.isfunction) if not name.startswith("_")}
    assert public - COMPOSED == set(FUNCTIONS)


@pytest.mark.parametrize("row", FUNCTIONS.values(), ids=FUNCTIONS)
def test_methods_take_what_the_table_says(row):
    method = getattr(bough.Dynamics, row.name)
    parameters = inspect.signature(method).parameters
    names = [*row.arguments, *(x for x in row.options if x != "method")]
    assert [*parameters][1 : 1 + len(names)] == names
    assert ("method" in parameters) == ("method" in row.options)
    assert row.name == "factorize" or "threads" in parameters
    if "reference" in row.options:
        assert parameters["reference"].default == REFERENCE == Options().reference == "local_world_aligned"
    if "method" in row.options:
        words = typing.get_args(typing.get_type_hints(method)["method"])
        assert set(words) == {*row.methods, "auto"}
    for way in row.methods.values():
        assert way.routine.name == row.name  # errors speak of public functions
        assert tuple(way.routine.arguments) == row.arguments


@kernel
def gravity_power(m, q, v, P, w):
    """Minus the torque that holds the mechanism against gravity, times the velocity."""
    rnea(m, q, w.still, w.still, w.tau, w)
    P[0] = m.zero[0]
    for k in range(len(v)):
        P[0] = P[0] - w.tau[k] * v[k]


def test_a_row_from_outside_is_counted_differentiated_and_exported(monkeypatch, tmp_path):
    work = WORK | {"still": "nv", "tau": "nv"}
    routine = Routine("power", gravity_power, inputs={"q": "nq", "v": "nv"}, outputs={"P": "1"}, work=work)
    monkeypatch.setitem(FUNCTIONS, "power", Function("power", "of gravity", {"power": Method(routine)}))
    model = zoo.arm(3)
    dyn, (q, v, *_) = bough.Dynamics(model), random_state(model, 1)
    holds = dyn.gravity(q)
    np.testing.assert_allclose(dyn.fused(["power"])(q, v)[0], [-holds @ v], rtol=1e-12)
    np.testing.assert_allclose(dyn.with_status("power", q, v)[0], [-holds @ v], rtol=1e-12)
    np.testing.assert_allclose(dyn.derivatives("power", q, v)["v"], -holds, strict=True, rtol=1e-12)
    assert bough.count(model, "power").mul > bough.count(model, "gravity").mul
    assert "power(" in "".join(path.read_text() for path in bough.export_c(model, ["power"], tmp_path / "p.c"))


def test_signatures_stay_what_they_were_once_a_function_is_compiled():
    dyn = bough.Dynamics(zoo.arm(2))
    before = {name: (x.kind, x.default) for name, x in inspect.signature(dyn.gravity).parameters.items()}
    assert [*before] == ["q", "out", "threads", "parameters"]
    dyn.gravity(np.zeros(2))
    assert "gravity" in vars(dyn)
    after = inspect.signature(dyn.gravity).parameters.items()  # a native function has no annotations
    assert {name: (x.kind, x.default) for name, x in after} == before
    assert dyn.gravity.__doc__ == bough.Dynamics.gravity.__doc__


def test_counts_are_those_of_the_same_defaults():
    model = zoo.arm(4)
    assert bough.count(model, "jacobian", frame="hand") == bough.count(
        model, "jacobian", frame="hand", reference="local_world_aligned"
    )
    assert bough.count(model, "forward_kinematics") == bough.count(model, "placements")
    assert program(model, "placements").outputs[0].shape == (len(model.frame_names), 4, 4)


def test_what_the_table_does_not_have_is_refused():
    model = zoo.arm(3)
    with pytest.raises(bough.BoughError, match="did you mean 'gravity'"):
        bough.count(model, "gravty")
    with pytest.raises(bough.BoughError, match="does not take the option 'reference'; it takes frame"):
        bough.count(model, "placement", frame="hand", reference="local")
    with pytest.raises(bough.BoughError, match="no method 'abba'; did you mean 'aba'"):
        bough.Dynamics(model).forward_dynamics(*np.zeros((3, 3)), method="abba")


@pytest.mark.parametrize("batch", [None, 5])
def test_results_are_what_the_docstrings_say(batch):
    model = zoo.random_tree(6, seed=1)
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    q = model.random_configuration(rng, batch=batch)
    v = rng.normal(size=q.shape)
    rows = () if batch is None else (batch,)
    for energy in (dyn.kinetic_energy(q, v), dyn.potential_energy(q)):
        assert isinstance(energy, float) if batch is None else energy.shape == rows
    frames, nv = len(model.frame_names), model.nv
    assert dyn.placements(q).shape == (*rows, frames, 4, 4)
    assert dyn.placement(q, "world").shape == (*rows, 4, 4)
    assert dyn.jacobian(q, model.frame_names[-1]).shape == (*rows, 6, nv)
    assert dyn.center_of_mass_jacobian(q).shape == (*rows, 3, nv)
    assert dyn.momentum(q, v).shape == dyn.centroidal_momentum(q, v).shape == (*rows, 6)
    assert dyn.packed_mass_matrix(q).shape == (*rows, model.dof_tree.D1 + nv)


def test_placements_agree_with_pinocchio():
    pin = pytest.importorskip("pinocchio")
    twin = random_twin(7, [-1, 0, 1, 1, 0], ["floating", "revolute", "spherical", "prismatic", "helical"])
    q = random_state(twin.model, 3)[0]
    pin.framesForwardKinematics(twin.pin, twin.data, twin.q_to_pin(q))
    T = bough.Dynamics(twin.model).placements(q)
    for k, name in enumerate(twin.model.frame_names):
        if name.startswith("f"):
            expected = twin.data.oMf[twin.pin.getFrameId(name)].homogeneous
            np.testing.assert_allclose(T[k], expected, atol=1e-12)


def test_one_configuration_is_factorized():
    with pytest.raises(bough.BoughError, match="one configuration"):
        bough.Dynamics(zoo.arm(3)).factorize(np.zeros((2, 3)))


def test_mimic_joints_choose_what_serves_them():
    builder = bough.Builder("pair")
    builder.add_body("a", mass=1.0, com=(0.3, 0, 0))
    builder.add_body("b", "a", axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0), mimic=("a", -0.5, 0.1))
    model = builder.build()
    assert bough.count(model, "forward_dynamics") == bough.count(model, "forward_dynamics", method="crba")
    assert bough.count(model, "inverse_mass_matrix").div > 0
    for function in (
        lambda: bough.count(model, "packed_mass_matrix"),
        lambda: bough.Dynamics(model).packed_mass_matrix([0]),
    ):
        with pytest.raises(bough.BoughError, match="mimic joints"):
            function()


def test_one_bad_row_leaves_the_others_alone():
    model = zoo.humanoid()
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    q, (v, tau) = model.random_configuration(rng, batch=6), rng.normal(size=(2, 6, model.nv))
    expected = dyn.forward_dynamics(q, v, tau)
    q[2, 3:7] = 0.0  # no rotation
    v[4, 1] = np.nan
    qdd, status = dyn.with_status("forward_dynamics", q, v, tau)
    assert status.tolist() == [0, 0, 3, 0, 2, 0]
    good = status == 0
    np.testing.assert_allclose(qdd[good], expected[good], rtol=1e-12, atol=1e-12)
    with pytest.raises(bough.BoughError, match="a function of a frame"):
        dyn.with_status("jacobian", q)
    J, status = dyn.with_status("jacobian", q, frame=model.body_names[-1], reference="world")
    assert status.tolist() == [0, 0, 3, 0, 0, 0]
    np.testing.assert_allclose(J[0], dyn.jacobian(q[0], model.body_names[-1], "world"), rtol=1e-12, atol=1e-12)
    with pytest.raises(bough.BoughError, match="did you mean 'gravity'"):
        dyn.with_status("gravty", q)
    qdd, status = dyn.with_status("forward_dynamics", q[:0], v[:0], tau[:0])
    assert (qdd.shape, status.shape) == ((0, model.nv), (0,))


def test_rows_with_forces_have_a_status():
    model = zoo.arm(4)
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    q, (v, tau) = model.random_configuration(rng, batch=4), rng.normal(size=(2, 4, model.nv))
    forces = {model.body_names[-1]: rng.normal(size=(4, 6)), model.body_names[1]: rng.normal(size=6)}
    expected = dyn.forward_dynamics(q, v, tau, forces)
    qdd, status = dyn.with_status("forward_dynamics", q, v, tau, forces=forces, method="aba")
    assert not status.any()
    np.testing.assert_allclose(qdd, expected, rtol=1e-10, atol=1e-10)
    forces[model.body_names[-1]][2, 1] = np.inf
    assert dyn.with_status("forward_dynamics", q, v, tau, forces=forces)[1].tolist() == [0, 0, 2, 0]
    assert dyn.with_status("bias_force", q, v, forces=rng.normal(size=(4, 4, 6)))[1].tolist() == [0, 0, 0, 0]
    with pytest.raises(bough.BoughError, match="gravity takes no forces"):
        dyn.with_status("gravity", q, forces=forces)


@pytest.mark.parametrize("general", [False, True])
def test_errors_say_which_quaternion_is_zero(general):
    """Not that the mechanism is singular, and not by the name of a kernel."""
    builder = bough.Builder("two")
    builder.add_body("trunk", joint="floating", joint_name="base", mass=1.0, inertia=np.eye(3))
    builder.add_body("head", "trunk", joint="spherical", joint_name="neck", mass=1.0, inertia=np.eye(3))
    model = builder.build()
    dyn, v = bough.Dynamics(model, general=general), np.zeros(model.nv)
    q = model.neutral.copy()
    q[-4:] = 0.0
    neck, base = "the quaternion of joint 'neck' is zero", "the quaternion of joint 'base' is zero"
    assert message(dyn.forward_dynamics, q, v, v) == f"forward_dynamics: no finite qdd; {neck}"
    assert message(dyn.mass_matrix, np.stack([model.neutral, q])) == f"mass_matrix: no finite M in row 1; {neck}"
    q[3:7] = 1e-170
    assert f"{base} up to rounding (1e-170)" in message(dyn.jacobian, q, "head")
    assert base in message(model.integrate, q, v)
    large = message(dyn.inverse_dynamics, model.neutral, np.full(model.nv, 1e200), v)
    assert "inverse_dynamics: no finite tau; overflow: numbers in v are as large as 1e+200" in large
    bad = {"head": [0, 0, np.nan, 0, 0, 0]}
    if not general:
        assert "forward_dynamics: forces['head'][2] is nan" in message(dyn.forward_dynamics, model.neutral, v, v, bad)
    space = bough.OperationalSpace(model, [bough.pose("head")], general=general)
    assert message(space.inverse_inertia, q).startswith("inverse_inertia: no finite")
    assert base in message(space.inverse_inertia, q)
    assert message(space.weighted, q, v).startswith("OperationalSpace: no finite")


def message(function, *arguments):
    with pytest.raises(bough.BoughError) as caught:
        function(*arguments)
    return str(caught.value)
