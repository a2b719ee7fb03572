"""General and specialised code agree on every function and every mechanism of the zoo, in every way of calling."""

from itertools import islice

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.routine import interpret
from bough.dynamics.aba import ABA

ROBOTS = {
    "tree1": zoo.tree1,
    "tree1_expanded": zoo.tree1_expanded,
    "shimanovskij": zoo.shimanovskij,
    "humanoid": zoo.humanoid,
    "floating_chain": zoo.floating_chain,
    "asimo": zoo.asimo,
    "ck_standin": zoo.ck_standin,
    "arm": lambda: zoo.arm(7),
    "binary": lambda: zoo.binary(4),
    "side_branches": lambda: zoo.side_branches(5),
    "grid": lambda: zoo.grid(4),
    "star": lambda: zoo.star(6),
    "random_tree": lambda: zoo.random_tree(15, seed=2),
    "bicycle_chain": zoo.bicycle_chain,
    "molecule": lambda: zoo.molecule(20, seed=1),
}


def results(dyn, q, v, x):
    """Every function of `Dynamics` at one state."""
    frame = dyn.model.frame_names[-1]
    yield "forward_dynamics", dyn.forward_dynamics(q, v, x, method="aba")
    yield "forward_dynamics crba", dyn.forward_dynamics(q, v, x, method="crba")
    yield "inverse_dynamics", dyn.inverse_dynamics(q, v, x)
    yield "mass_matrix", dyn.mass_matrix(q)
    yield "jacobian", dyn.jacobian(q, frame)
    yield "bias_acceleration", dyn.bias_acceleration(q, v, frame)
    yield "center_of_mass", dyn.center_of_mass(q)
    yield "bias_force", dyn.bias_force(q, v)
    yield "gravity", dyn.gravity(q)
    yield "inverse_mass_matrix", dyn.inverse_mass_matrix(q)
    yield "factorize", dyn.factorize(q).packed
    yield "placement", dyn.placement(q, frame)
    yield "velocity", dyn.velocity(q, v, frame, "local")
    yield "center_of_mass_jacobian", dyn.center_of_mass_jacobian(q)
    yield "kinetic_energy", dyn.kinetic_energy(q, v)
    yield "potential_energy", dyn.potential_energy(q)
    yield "centroidal_momentum", dyn.centroidal_momentum(q, v)


# Code of many joints takes long to compile: of these, the functions that the others are made of
LARGE = ("humanoid", "floating_chain", "asimo", "ck_standin", "bicycle_chain", "grid", "random_tree")
FEW = 7


@pytest.mark.parametrize("robot", [*ROBOTS, *(pytest.param(f"all of {x}", marks=pytest.mark.slow) for x in LARGE)])
def test_general_and_specialised_agree(robot):
    count = FEW if robot in LARGE else None
    model = ROBOTS[robot.removeprefix("all of ")]()
    rng = np.random.default_rng(7)
    q = model.random_configuration(rng)
    v, x = rng.normal(size=(2, model.nv))
    pairs = zip(*(results(bough.Dynamics(model, general=g), q, v, x) for g in (True, False)), strict=True)
    for (name, general), (_, special) in islice(pairs, count):
        assert np.abs(general - special).max() <= 1e-12 * np.abs(general).max(), name


@pytest.mark.parametrize("general", [False, True], ids=["specialised", "general"])
class TestCalling:
    @pytest.fixture
    def dyn(self, general):
        return bough.Dynamics(zoo.random_tree(9, seed=1), general=general)

    @pytest.fixture
    def state(self, dyn):
        rng = np.random.default_rng(3)
        return dyn.model.random_configuration(rng, batch=37), *rng.normal(size=(2, 37, dyn.model.nv))

    def test_batches_are_rows(self, dyn, state):
        together = dyn.forward_dynamics(*state)
        rows = [dyn.forward_dynamics(*row) for row in zip(*state, strict=True)]
        np.testing.assert_allclose(together, rows, rtol=1e-11, atol=1e-11)
        assert dyn.mass_matrix(state[0]).shape == (37, dyn.model.nv, dyn.model.nv)

    def test_one_input_serves_every_row(self, dyn, state):
        q, v, tau = state
        np.testing.assert_array_equal(
            dyn.forward_dynamics(q, v[0], tau), dyn.forward_dynamics(q, np.tile(v[0], (37, 1)), tau)
        )

    def test_single_precision_stays_single(self, dyn, state):
        exact = dyn.forward_dynamics(*state)
        result = dyn.forward_dynamics(*(x.astype(np.float32) for x in state))
        assert result.dtype == np.float32
        assert np.abs(result - exact).max() <= 1e-3 * np.abs(exact).max()

    def test_any_layout_and_type(self, dyn, state):
        q, v, tau = state
        expected = dyn.inverse_dynamics(q, v, tau)
        strided = np.repeat(q, 2, axis=1)[:, ::2]
        result = dyn.inverse_dynamics(strided, np.asfortranarray(v), tau.tolist())
        np.testing.assert_array_equal(result, expected)
        integers = np.ones(dyn.model.nv, int)
        np.testing.assert_array_equal(dyn.gravity(integers), dyn.gravity(integers.astype(float)))

    def test_out_may_be_an_input(self, dyn, state):
        q, v, tau = state
        expected = dyn.forward_dynamics(q, v, tau)
        out = tau.copy()
        assert dyn.forward_dynamics(q, v, out, out=out) is out
        np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)

    def test_empty_batches(self, dyn):
        nv = dyn.model.nv
        assert dyn.forward_dynamics(*(np.empty((0, nv)) for _ in range(3))).shape == (0, nv)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_non_finite_input_is_refused(self, dyn, state, bad):
        q, v, tau = (x.copy() for x in state)
        v[5, 2] = bad
        with pytest.raises(bough.BoughError, match=r"forward_dynamics|aba.*v\[\(5, 2\)\] is"):
            dyn.forward_dynamics(q, v, tau)
        with pytest.raises(bough.BoughError, match=r"v\[2\] is"):
            dyn.inverse_dynamics(q[5], v[5], tau[5])

    def test_wrong_shapes_are_refused(self, dyn, state):
        q, v, tau = state
        with pytest.raises(bough.BoughError, match=r"v must have shape \(9,\) or \(batch, 9\), got \(8,\)"):
            dyn.inverse_dynamics(q[0], v[0, :8], tau[0])
        with pytest.raises(bough.BoughError, match="5 rows where an earlier input has 37"):
            dyn.inverse_dynamics(q, v[:5], tau)
        with pytest.raises(bough.BoughError, match="real numbers"):
            dyn.gravity(np.array(["a"] * 9))
        with pytest.raises(bough.BoughError, match="out"):
            dyn.gravity(q[0], out=np.empty(3))

    def test_unknown_names_are_refused(self, dyn, state):
        name = dyn.model.frame_names[-1]
        with pytest.raises(bough.BoughError, match=f"no frame '{name}x'; did you mean '{name}'"):
            dyn.jacobian(state[0][0], name + "x")
        with pytest.raises(bough.BoughError, match="no reference 'body'"):
            dyn.jacobian(state[0][0], name, "body")
        with pytest.raises(bough.BoughError, match="no method 'lu'"):
            dyn.forward_dynamics(*(x[0] for x in state), method="lu")


@pytest.mark.parametrize("name", ["gravity", "jacobian", "factorize"])
def test_methods_bound_before_the_first_call_go_the_short_way(name):
    """So does a partial; what does not fit goes to the method as it is written."""
    dyn = bough.Dynamics(zoo.arm(3))
    early, more, q = getattr(dyn, name), ["hand"] * (name == "jacobian"), np.array([0.1, 0.2, 0.3])
    first, again, listed = (early(x, *more) for x in (q, q, q.tolist()))
    for found in (again, listed):
        np.testing.assert_array_equal(getattr(found, "packed", found), getattr(first, "packed", first))
    if name in dyn.__dict__:  # not in interpreted runs of some
        dyn.__dict__[name] = lambda *given: "short"
        assert early(q, *more) == "short"


def test_a_zero_quaternion_has_no_result():
    model = zoo.humanoid()
    q = model.neutral.copy()
    q[3:7] = 0.0
    with pytest.raises(bough.BoughError, match="no finite"):
        bough.Dynamics(model).forward_dynamics(q, np.zeros(30), np.zeros(30))


def test_what_cannot_fit_is_refused_before_it_is_allocated():
    dyn = bough.Dynamics(zoo.chain(600_000))
    q = np.zeros(600_000)
    with pytest.raises(bough.BoughError, match=r"mass matrix needs .* TB of memory"):
        dyn.mass_matrix(q)
    with pytest.raises(bough.BoughError, match=r"factor of the mass matrix needs .* TB"):
        dyn.factorize(q)
    with pytest.raises(bough.BoughError, match=r"needs .* TB"):
        dyn.forward_dynamics(q, q, q, method="crba")


def test_external_forces_do_their_work():
    model = zoo.humanoid()
    dyn, rng = bough.Dynamics(model), np.random.default_rng(0)
    q, v, tau = model.random_configuration(rng), *rng.normal(size=(2, 30))
    wrench = rng.normal(size=6)
    pushed = dyn.forward_dynamics(q, v, tau, {"left_hand": wrench})
    expected = tau + dyn.jacobian(q, "left_hand").T @ wrench
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, pushed), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, pushed, {"left_hand": wrench}), tau, rtol=0, atol=1e-10)


@pytest.mark.interpreted
def test_interpreted_kernels_give_the_same():
    model = zoo.random_tree(6, seed=1)
    rng = np.random.default_rng(3)
    q, v, tau = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    (expected,) = interpret(ABA, (model.mechanism,), model.sizes, q, v, tau)
    result = bough.Dynamics(model).forward_dynamics(q, v, tau, method="aba")
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.interpreted
def test_forward_undoes_inverse_dynamics():
    model = zoo.tree1_expanded()
    dyn, rng = bough.Dynamics(model), np.random.default_rng(4)
    q = model.random_configuration(rng, batch=3)
    v, qdd = rng.normal(size=(2, 3, model.nv))
    tau = dyn.inverse_dynamics(q, v, qdd)
    for method in ("aba", "crba"):
        np.testing.assert_allclose(dyn.forward_dynamics(q, v, tau, method=method), qdd, rtol=0, atol=1e-9)
