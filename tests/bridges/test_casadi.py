"""CasADi functions beside `Dynamics`, and one swing-up through CasADi's own solver."""

import numpy as np
import pytest

import bough
from bough import zoo
from bough.dynamics.functions import FUNCTIONS

casadi = pytest.importorskip("casadi")

ROBOTS = {"humanoid": zoo.humanoid(), "random": zoo.random_tree(9, seed=2)}
QUICK = ("forward_dynamics", "inverse_dynamics", "jacobian")  # of the humanoid; its other graphs take long to convert
CASES = [
    pytest.param(robot, name, marks=[pytest.mark.slow] * (robot == "humanoid" and name not in QUICK))
    for robot in ROBOTS
    for name in FUNCTIONS
]


def arguments(model, names, rng):
    special = {"q": lambda: model.random_configuration(rng), "dt": lambda: np.array([0.01])}
    return [special.get(name, lambda: rng.normal(size=model.nv))() for name in names]


@pytest.mark.parametrize(("robot", "name"), CASES)
def test_every_function_of_the_table(robot, name):
    model, row = ROBOTS[robot], FUNCTIONS[name]
    options = {"frame": model.frame_names[-1]} if "frame" in row.options else {}
    x = arguments(model, row.arguments, np.random.default_rng(0))
    results = bough.casadi.function(model, name, **options)(*x)
    dyn = bough.Dynamics(model, general=True)
    wanted = dyn.factorize(*x).packed if name == "factorize" else getattr(dyn, name)(*x, **options)
    several = isinstance(wanted, tuple)
    for got, expected in zip(results if several else [results], wanted if several else [wanted], strict=True):
        expected = np.asarray(expected)
        got = np.array(got).reshape(expected.shape)
        np.testing.assert_allclose(got, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))


def test_derivatives_are_casadis_own():
    model = zoo.arm(4)
    f = bough.casadi.function(model, "forward_dynamics")
    q, v, tau = (casadi.SX.sym(name, 4) for name in ("q", "v", "tau"))
    by_tau = casadi.Function("J", [q, v, tau], [casadi.jacobian(f(q, v, tau), tau)])
    rng = np.random.default_rng(1)
    x = [rng.normal(size=4) for _ in range(3)]
    np.testing.assert_allclose(np.array(by_tau(*x)), bough.Dynamics(model).inverse_mass_matrix(x[0]), atol=1e-9)


def test_names_of_arguments_and_results():
    f = bough.casadi.function(zoo.arm(2), "inverse_dynamics")
    assert f.name_in() == ["q", "v", "qdd"]
    assert f.name_out() == ["tau"]


def test_unknown_functions_are_refused_with_the_nearest():
    with pytest.raises(bough.BoughError, match="forward_dynamics"):
        bough.casadi.function(zoo.arm(2), "forward_dynamic")


def test_a_pendulum_swings_up():
    builder = bough.Builder("pendulum")
    builder.add_body("rod", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5))
    f = bough.casadi.function(builder.build(), "forward_dynamics")
    n, h = 60, 0.05
    opti = casadi.Opti()
    q, v, tau = opti.variable(n + 1), opti.variable(n + 1), opti.variable(n)
    for k in range(n):
        opti.subject_to(v[k + 1] == v[k] + h * f(q[k], v[k], tau[k]))
        opti.subject_to(q[k + 1] == q[k] + h * v[k + 1])
    opti.subject_to(opti.bounded(-2.0, tau, 2.0))  # too weak to lift it at once: m g l = 4.9 N m
    opti.subject_to([q[0] == 0, v[0] == 0, q[n] == np.pi, v[n] == 0])
    opti.minimize(casadi.sumsqr(tau))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    solution = opti.solve()
    assert abs(solution.value(q)[-1] - np.pi) < 1e-8
    assert np.abs(solution.value(tau)).max() <= 2.0 + 1e-6


def test_operational_space_and_derivatives():
    model = zoo.arm(4)
    space = bough.OperationalSpace(model, [bough.position("hand")], inputs=["inertia"])
    rng = np.random.default_rng(0)
    q, v, tau0 = rng.normal(size=(3, 4))
    a, heavy = np.array([1.0, 2.0, 3.0]), 1.2 * model.inertias
    f = bough.casadi.function(space, "torques", damping=1e-3)
    wanted = space.torques(q, v, a, tau0, damping=1e-3, inertia=heavy)
    np.testing.assert_allclose(np.ravel(f(q, v, a, tau0, heavy)), wanted, atol=1e-12 * np.abs(wanted).max())
    plain = bough.casadi.function(space, "torques", inputs=())
    assert plain.name_in() == ["q", "v", "acceleration", "tau0"]
    wanted = space.torques(q, v, a, tau0)
    np.testing.assert_allclose(np.ravel(plain(q, v, a, tau0)), wanted, atol=1e-12 * np.abs(wanted).max())
    inertia = bough.casadi.function(space, "inertia", inputs=())
    assert inertia.name_in() == ["q"]
    np.testing.assert_allclose(np.array(inertia(q)), space(q).inertia, rtol=1e-9)
    by = bough.casadi.function(model, "forward_dynamics_derivatives")(q, v, tau0)
    for ours, theirs in zip(by, bough.Dynamics(model).forward_dynamics_derivatives(q, v, tau0), strict=True):
        np.testing.assert_allclose(np.array(ours), theirs, atol=1e-12 * np.abs(theirs).max())
    with pytest.raises(bough.BoughError, match="does not take the option 'frame'"):
        bough.casadi.function(space, "torques", frame="hand")
