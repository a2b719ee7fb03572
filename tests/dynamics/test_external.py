"""External forces: by virtual work, in every execution, as arrays and by name, and what is refused."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.dynamics.aba import ABA
from bough.dynamics.external import named_points, with_forces, with_named_forces
from bough.dynamics.forward_by_factor import FORWARD_CRBA, dof_rows
from bough.dynamics.rnea import BIAS, RNEA
from models import EXECUTIONS, general, random_state, random_twin

PARENT = [-1, 0, 1, 1, 0, 4, -1, 6, 7, 7]
JOINTS = ["floating", "revolute", "spherical", "prismatic", "universal", "helical", "planar", "cylindrical",
          "continuous", "revolute"]  # fmt: skip
NAMES = ("f3", "f8", "b5", "world", "f0")


@pytest.fixture(scope="module")
def model():
    return random_twin(5, PARENT, JOINTS, armature=True).model


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def work_of(model, q, wrenches):
    """J' x, summed over frames by name."""
    dyn = bough.Dynamics(model)
    return sum(dyn.jacobian(q, name).T @ x for name, x in wrenches.items())


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_wrenches_do_virtual_work(model, execution):
    """A wrench on a frame changes the torques by - J' wrench, whichever way it comes."""
    q, v, _, qdd = random_state(model, 0)
    rng, rows = np.random.default_rng(1), (dof_rows(model.dof_tree),)
    array, named = rng.normal(size=(len(model.body_names), 6)), rng.normal(size=(len(NAMES), 6))
    free = bough.Dynamics(model).inverse_dynamics(q, v, qdd)
    for given, names in (((array,), model.body_names), (tuple(named), NAMES)):
        if execution is general and names is NAMES:
            continue  # general code takes arrays only

        def run(routine, constants, *inputs, given=given, names=names):
            by_name = {"in_company": False} if names is NAMES else {}
            prepare = with_named_forces if by_name else with_forces
            forced, more = prepare(model, routine, constants, names, **by_name)
            return execution(forced, model, more, *inputs, *given)

        wrenches = dict(zip(names, given[0] if given[0].ndim == 2 else given, strict=True))
        tau = run(RNEA, (), q, v, qdd)
        close(tau, free - work_of(model, q, wrenches))
        close(run(ABA, (), q, v, tau), qdd)
        if execution is not general:  # seconds of compiling each
            close(run(FORWARD_CRBA, rows, q, v, tau), qdd)
            close(run(RNEA, (), q, v, 0 * v), run(BIAS, (), q, v))


def test_company_changes_nothing():
    """Twins of a pushed body get a share of zero: the same result to rounding, and limbs that stay alike."""
    model = zoo.humanoid()
    points = named_points(model, ("left_hand", "torso", "left_arm6"), in_company=True)
    assert len(points.body) == 1 + 2 * 4  # arms and legs are alike
    assert (points.share.sum(axis=1) == [1, 1, 1, 0, 0, 0, 0, 0, 0]).all()
    assert {points.body.tolist().count(i) for i in points.body[2:]} == {2}
    dyn, rng = bough.Dynamics(model), np.random.default_rng(2)
    q, v, tau = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    forces = {name: rng.normal(size=6) for name in ("left_hand", "torso", "left_arm6")}
    expected = dyn.forward_dynamics(q, v, tau + work_of(model, q, forces))
    for _ in range(2):
        close(dyn.forward_dynamics(q, v, tau, forces), expected)
        close(dyn.forward_dynamics(q, v, tau, dict(reversed(forces.items()))), expected)
    batch = {name: np.tile(x, (5, 1)) for name, x in forces.items()}
    close(dyn.forward_dynamics(np.tile(q, (5, 1)), v, tau, batch), np.tile(expected, (5, 1)))


def test_a_large_company_stays_away():
    model = zoo.star(9)
    assert len(named_points(model, (model.body_names[2],), in_company=True).body) == 1


@pytest.mark.parametrize("general", [False, True], ids=["specialised", "general"])
class TestCalls:
    @pytest.fixture
    def dyn(self, general):
        return bough.Dynamics(zoo.random_tree(7, seed=3), general=general)

    @pytest.fixture
    def state(self, dyn):
        rng, nv = np.random.default_rng(3), dyn.model.nv
        return dyn.model.random_configuration(rng, batch=9), *rng.normal(size=(2, 9, nv))

    def test_arrays_and_names_agree(self, dyn, state):
        names = dyn.model.body_names
        array = np.random.default_rng(4).normal(size=(9, len(names), 6))
        by_name = {name: array[:, k] for k, name in enumerate(names)}
        for rows in (slice(None), 3):
            q, v, tau = (x[rows] for x in state)
            named = {name: x[rows] for name, x in by_name.items()}
            for _ in range(2):  # the second time by the shortcut
                one = dyn.forward_dynamics(q, v, tau, array[rows])
                close(dyn.forward_dynamics(q, v, tau, named), one)
                close(dyn.inverse_dynamics(q, v, one, array[rows]), tau)
                close(dyn.inverse_dynamics(q, v, one, named), tau)

    def test_no_forces(self, dyn, state):
        plain = dyn.forward_dynamics(*state)
        for none in (None, {}):
            np.testing.assert_array_equal(dyn.forward_dynamics(*state, none), plain)
            np.testing.assert_array_equal(dyn.inverse_dynamics(*state, none), dyn.inverse_dynamics(*state))
        zeros = np.zeros((len(dyn.model.body_names), 6))
        close(dyn.forward_dynamics(*state, zeros), plain)
        close(dyn.forward_dynamics(*state, {"world": np.ones(6)}), plain)

    def test_one_wrench_serves_every_row(self, dyn, state):
        name, wrench = dyn.model.frame_names[-1], np.arange(6.0)
        rows = dyn.forward_dynamics(*state, {name: np.tile(wrench, (9, 1))})
        np.testing.assert_array_equal(dyn.forward_dynamics(*state, {name: wrench}), rows)
        mixed = {name: wrench, "world": np.ones((9, 6))}
        close(dyn.forward_dynamics(*state, mixed), rows)

    def test_what_does_not_fit_is_refused(self, dyn, state):
        one, name = tuple(x[0] for x in state), dyn.model.body_names[-1]
        other = dyn.model.body_names[0]
        for forces, sentence in (
            ({name: np.ones(5)}, rf"force on '{name}' must have shape \(6,\) or \(batch, 6\).*got \(5,\)"),
            ({name: [1.0, [2.0]]}, f"force on '{name}' is ragged"),
            ({name: ["a"] * 6}, "real numbers"),
            ({name: np.ma.ones(6)}, f"force on '{name}' is a masked array"),
            ({name: np.ones((2, 6)), other: np.ones((3, 6))}, f"different numbers of rows: 2 for '{name}', 3"),
            ({name + "x": np.ones(6)}, f"no frame '{name}x'; did you mean '{name}'"),
            ({3: np.ones(6)}, "named by frames, got the name 3"),
            (np.ones((2, 6)), r"forces must have shape \(7, 6\) or \(batch, 7, 6\), got \(2, 6\)"),
        ):
            for _ in range(2):
                with pytest.raises(bough.BoughError, match=sentence):
                    dyn.forward_dynamics(*one, forces)
        with pytest.raises(bough.BoughError, match="rows"):
            dyn.forward_dynamics(*state, {name: np.ones((4, 6))})
        with pytest.raises(bough.BoughError, match="finite"):
            dyn.forward_dynamics(*one, {name: np.full(6, np.nan)})

    def test_a_number_that_is_not_finite_is_found_among_many(self, dyn, state):
        """In batches wrenches are not looked at, but what comes of them: the message is the same."""
        forces = np.ones((9, len(dyn.model.body_names), 6))
        for bad in (np.nan, np.inf, -np.inf):
            for column in range(6):
                spoiled = forces.copy()
                spoiled[5, -1, column] = bad
                for f in (dyn.forward_dynamics, dyn.inverse_dynamics):
                    with pytest.raises(
                        bough.errors.NonFiniteError, match=rf"forces\[\(5, 6, {column}\)\] is {bad}"
                    ) as caught:
                        f(*state, spoiled)
                    assert caught.value.rows == (5,)
        tau = state[2].copy()
        tau[4, 0] = np.nan
        with pytest.raises(bough.errors.NonFiniteError, match=r"tau\[\(4, 0\)\] is nan"):
            dyn.forward_dynamics(state[0], state[1], tau)

    def test_out_and_threads(self, dyn, state):
        name = dyn.model.body_names[-1]
        expected, out = dyn.forward_dynamics(*state, {name: np.ones(6)}), np.empty_like(state[1])
        assert dyn.forward_dynamics(*state, {name: np.ones(6)}, out=out, threads=2) is out
        np.testing.assert_array_equal(out, expected)


def test_single_precision_stays_single():
    dyn, rng = bough.Dynamics(zoo.random_tree(7, seed=3)), np.random.default_rng(3)
    state = dyn.model.random_configuration(rng, batch=9), *rng.normal(size=(2, 9, dyn.model.nv))
    q, v, tau = (x.astype(np.float32) for x in state)
    names = dyn.model.body_names
    array = np.random.default_rng(4).normal(size=(9, len(names), 6)).astype(np.float32)
    for rows in (slice(None), 2):
        for forces in (array[rows], {names[2]: array[rows][..., 2, :]}):
            for _ in range(2):
                result = dyn.forward_dynamics(q[rows], v[rows], tau[rows], forces)
                assert result.dtype == np.float32
                assert dyn.inverse_dynamics(q[rows], v[rows], tau[rows], forces).dtype == np.float32
    wide = {names[2]: array[2, 2].astype(float)}
    assert dyn.forward_dynamics(q[2], v[2], tau[2], wide).dtype == np.float64


@pytest.mark.parametrize("method", ["aba", "crba"])
def test_methods_agree(method):
    dyn, rng = bough.Dynamics(zoo.random_tree(7, seed=3)), np.random.default_rng(3)
    q, v, tau = dyn.model.random_configuration(rng), *rng.normal(size=(2, 7))
    forces = {dyn.model.body_names[3]: rng.normal(size=6)}
    array = np.zeros((7, 6))
    array[3] = forces[dyn.model.body_names[3]]
    expected = dyn.forward_dynamics(q, v, tau, forces)
    close(dyn.forward_dynamics(q, v, tau, forces, method=method), expected)
    close(dyn.forward_dynamics(q, v, tau, array, method=method), expected)
    close(dyn.bias_force(q, v, array), dyn.inverse_dynamics(q, v, 0 * v, forces))
    close(dyn.bias_force(q, v, forces), dyn.bias_force(q, v, array))


def test_forces_on_mimic_joints():
    builder = bough.Builder("pair")
    builder.add_body("a", mass=1.0, com=(0.3, 0, 0))
    builder.add_body("b", "a", placement=(np.eye(3), (0.5, 0, 0)), axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0),
                     mimic=("a", -0.5, 0.1))  # fmt: skip
    model = builder.build()
    dyn, q, v = bough.Dynamics(model), np.array([0.3]), np.array([0.7])
    wrench = np.arange(1.0, 7.0)
    qdd = dyn.forward_dynamics(q, v, [0.2], {"b": wrench})
    close(qdd, dyn.forward_dynamics(q, v, np.array([0.2]) + dyn.jacobian(q, "b").T @ wrench))
