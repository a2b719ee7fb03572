"""Spaces with quantities of the model as inputs: beside a space on the changed model; bad input."""

import numpy as np
import pytest

import bough
from bough import zoo
from opspace.cases import state

ALL = ("inertia", "armature", "gravity", "placement")


def changed(model):
    rng = np.random.default_rng(1)
    scale = rng.uniform(0.5, 1.5, (len(model.joints), 1))
    return model.with_inertias(model.inertias * scale).with_gravity((1.0, 2.0, -3.0))


def values(model):
    return {
        "inertia": model.inertias,
        "armature": model.armature,
        "gravity": model.gravity,
        "placement": model.joint_placements,
    }


@pytest.mark.parametrize("inputs", [ALL, ("inertia",), ("gravity",)])
def test_quantities_are_those_of_the_changed_model(inputs):
    model = zoo.arm(6)
    tasks = [bough.position("hand"), bough.rows("hand", [[0, 0, 0, 1, 0, 0]])]
    other = changed(model) if len(inputs) > 1 else {
        "inertia": lambda: model.with_inertias(changed(model).inertias),
        "gravity": lambda: model.with_gravity((1.0, 2.0, -3.0)),
    }[inputs[0]]()  # fmt: skip
    given = {name: x for name, x in values(other).items() if name in inputs}
    q, v = state(model)
    ours = bough.OperationalSpace(model, tasks, inputs=inputs)(q, v, **given)
    theirs = bough.OperationalSpace(other, tasks)(q, v)
    for name in ("inverse_inertia", "inertia", "J", "bias", "drift", "jbar", "nullspace", "mu_rho"):
        wanted = getattr(theirs, name)
        assert np.abs(getattr(ours, name) - wanted).max() < 1e-9 * max(1.0, np.abs(wanted).max()), name
    a = np.arange(float(ours.space.tasks.size))
    wanted = theirs.space.torques(q, v, a, damping=1e-6)
    np.testing.assert_allclose(ours.space.torques(q, v, a, damping=1e-6, **given), wanted, rtol=1e-6, atol=1e-8)
    for name in ("weighted", "full"):
        for x, y in zip(getattr(ours.space, name)(q, v, **given), getattr(theirs.space, name)(q, v), strict=True):
            assert np.abs(x - y).max() < 1e-9 * max(1.0, np.abs(y).max())


@pytest.mark.parametrize("general", [False, True])
def test_the_centre_of_mass_and_momentum_are_those_of_the_given_masses(general):
    """Also where the model itself has a body without any."""
    b = bough.Builder("two arms and a payload")
    b.add_body("first", joint="revolute", axis=(0, 1, 0), mass=2.0, com=(0.1, 0, -0.3), inertia=np.eye(3) * 0.1)
    b.add_body("sensor", parent="first", joint="revolute", axis=(1, 0, 0), placement=(0, 0.1, -0.5), mass=0.0)
    b.add_body("last", parent="sensor", joint="revolute", axis=(0, 0, 1), placement=(0.2, 0, 0), mass=1.0,
               com=(0.1, 0.2, 0.1), inertia=np.eye(3) * 0.02)  # fmt: skip
    model = b.build()
    inertia = model.inertias.copy()
    inertia[1] = [0.7, 0.07, 0.0, 0.0, 0.01, 0.0, 0.02, 0.0, 0.0, 0.02]
    inertia[2] *= 3.0
    other = model.with_inertias(inertia)
    q, v = state(model)
    for tasks in ([bough.center_of_mass()], [bough.momentum("angular")]):
        ours = bough.OperationalSpace(model, tasks, inputs=["inertia"], general=general)(q, v, inertia=inertia)
        theirs = bough.OperationalSpace(other, tasks)(q, v)
        for name in ("J", "bias", "drift"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-11)
        own = bough.OperationalSpace(model, tasks, general=general)(q, v)
        assert np.abs(own.J - ours.J).max() > 1e-3
    wanted = bough.Dynamics(other).center_of_mass_jacobian(q)
    space = bough.OperationalSpace(model, [bough.center_of_mass()], inputs=["inertia"], general=general)
    np.testing.assert_allclose(space.jacobian(q, inertia=inertia), wanted, atol=1e-12)


def test_another_robot_in_each_row_and_the_model_itself_without_a_word():
    model, rng = zoo.arm(5), np.random.default_rng(0)
    tasks = [bough.position("hand")]
    space = bough.OperationalSpace(model, tasks, inputs=["inertia"])
    Q = model.random_configuration(rng, 6)
    many = model.inertias * rng.uniform(0.5, 2.0, (6, 1, 1))
    found = space.inverse_inertia(Q, inertia=many)
    for q, inertia, Lam_inv in zip(Q, many, found, strict=True):
        other = bough.OperationalSpace(model.with_inertias(inertia), tasks, general=True, method="ltdl")
        np.testing.assert_allclose(Lam_inv, other.inverse_inertia(q), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(space.inverse_inertia(q, inertia=inertia), Lam_inv, rtol=1e-12)
    plain = bough.OperationalSpace(model, tasks, general=True, method="ltdl")
    np.testing.assert_allclose(space.inverse_inertia(Q), plain.inverse_inertia(Q), rtol=1e-9)
    single = space.inverse_inertia(Q.astype(np.float32), inertia=many.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, rtol=1e-3)


def test_a_space_takes_the_inputs_of_its_dynamics():
    model = zoo.arm(3)
    dyn = bough.Dynamics(model, inputs=["gravity"])
    space = bough.OperationalSpace(model, [bough.position("hand")], dynamics=dyn)
    assert space.parameters.inputs == ("gravity",)
    with pytest.raises(bough.BoughError, match="those of its dynamics gravity"):
        bough.OperationalSpace(model, [bough.position("hand")], dynamics=dyn, inputs=["inertia"])


def test_bad_input():
    model = zoo.arm(3)
    space = bough.OperationalSpace(model, [bough.position("hand")], inputs=["inertia"])
    q = np.ones(3)
    with pytest.raises(bough.BoughError, match="inertia"):
        space.inverse_inertia(q, inertia=model.inertias[:-1])
    with pytest.raises(bough.BoughError, match=model.body_names[0]):
        space.inverse_inertia(q, inertia=-model.inertias)
    with pytest.raises(bough.BoughError, match="takes no 'mass'"):
        space.jacobian(q, mass=3.0)
    with pytest.raises(bough.BoughError, match="no quantity is called 'mass'"):
        bough.OperationalSpace(model, [bough.position("hand")], inputs=["mass"])
    free = bough.OperationalSpace(model, [bough.position("hand")])
    with pytest.raises(TypeError):
        free.inverse_inertia(q, inertia=model.inertias)
