"""Spaces with quantities of the model as inputs: beside a space on the changed model; bad input."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import bough
from bough import zoo
from bough.opspace import ConstrainedDynamics, ConstrainedInverseDynamics
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


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("stabilise", [None, 0.1])
def test_held_motions_are_those_of_the_changed_model(general, stabilise):
    model = zoo.arm(6)
    other, tasks = changed(model), [bough.position("hand")]
    given = {name: x for name, x in values(other).items() if name in ("inertia", "gravity")}
    q, v = state(model)
    tau = np.linspace(-1.0, 1.0, model.nv)
    ours = bough.OperationalSpace(model, tasks, inputs=("inertia", "gravity"), general=general)
    theirs = bough.OperationalSpace(other, tasks, general=general)
    held = [ConstrainedDynamics(space, stabilise=stabilise) for space in (ours, theirs)]
    backwards = [ConstrainedInverseDynamics(space) for space in (ours, theirs)]

    def close(x, y, share=1e-9):
        for a, b in zip(x, y, strict=True):
            assert np.abs(a - b).max() < share * max(1.0, np.abs(b).max())

    # one robot, and one for each row: the given, and the model's own
    rows = {name: np.stack([x, values(model)[name]]) for name, x in given.items()}
    own = ConstrainedDynamics(bough.OperationalSpace(model, tasks, general=general), stabilise=stabilise)
    wanted, plain = held[1](q, v, tau), own(q, v, tau)
    close(held[0](q, v, tau, **given), wanted)
    close(held[0](q, v, tau), plain)
    close(held[0](np.stack([q, q]), v, tau, **rows), [np.stack(x) for x in zip(wanted, plain, strict=True)])
    found, status = held[0].with_status(q, v, tau, **rows)
    close(found, [np.stack(x) for x in zip(wanted, plain, strict=True)])
    assert status.tolist() == [0, 0]
    close(held[0].impact(q, v, 0.5, **given), held[1].impact(q, v, 0.5))
    close([held[0].free_acceleration(q, v, tau, **given)], [held[1].free_acceleration(q, v, tau)])
    close(backwards[0](q, v, tau, **given), backwards[1](q, v, tau))
    results, status = backwards[0].with_status(np.stack([q, q]), v, tau, **rows)
    close([x[0] for x in results], backwards[1](q, v, tau))
    with pytest.raises(bough.BoughError, match="'armature' is no input of this space: inertia, gravity"):
        held[0](q, v, tau, armature=model.armature)
    with pytest.raises(bough.BoughError, match="'armature' is no input of this space: inertia, gravity"):
        ours(q, v, armature=model.armature)
    with pytest.raises(bough.BoughError, match="'gravity' is no input of this space: it has none"):
        own(q, v, tau, gravity=model.gravity)


def tilted(T, w):
    """The rates of homogeneous matrices T that turn and shift by w (joints, 6)."""
    x = np.zeros_like(T)
    for k, (R, way) in enumerate(zip(T[:, :3, :3], w, strict=True)):
        x[k, :3, :3], x[k, :3, 3] = R @ np.cross(np.eye(3), way[:3]), way[3:]
    return x


@pytest.mark.parametrize("stabilise", [None, 0.1])
def test_held_motions_have_derivatives_by_parameters(stabilise):
    """Full Jacobians, rates and gradients by all inputs, beside differences; one robot, rows, float32."""
    model = zoo.arm(3)
    inputs = ("inertia", "armature", "gravity", "placement")
    space = bough.OperationalSpace(model, [bough.rows("hand", [[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])], inputs=inputs)
    held = ConstrainedDynamics(space, stabilise=stabilise)
    q, v = state(model)
    rng = np.random.default_rng(0)
    tau, a, x, y = rng.normal(size=3), rng.normal(size=2), rng.normal(size=3), rng.normal(size=2)
    given = values(changed(model)) | {"armature": model.armature + 0.1}
    ways = {
        "inertia": 0.1 * rng.normal(size=(3, 1)) * given["inertia"],
        "armature": rng.normal(size=3),
        "gravity": rng.normal(size=3),
        "placement": tilted(given["placement"], rng.normal(size=(3, 6))),
    }
    slopes, gradient = held.derivatives(q, v, tau, a, **given), held.vjp(q, v, tau, a, qdd=x, force=y, **given)
    for name, way in ways.items():
        sides = [held(q, v, tau, a, **given | {name: given[name] + s * way}) for s in (1e-6, -1e-6)]
        wanted = [(ahead - back) / 2e-6 for ahead, back in zip(sides[0][:2], sides[1][:2], strict=True)]
        rate = held.jvp(q, v, tau, a, along={name: way}, **given)
        full = [(part.parameters[name] * way).sum(axis=tuple(range(1, 1 + way.ndim))) for part in slopes]
        for ours, also, theirs in zip(rate, full, wanted, strict=True):
            assert np.abs(ours - theirs).max() < 1e-5 * max(1.0, np.abs(theirs).max()), name
            np.testing.assert_allclose(also, ours, atol=1e-9 * max(1.0, np.abs(ours).max()))
        total = x @ rate.qdd + y @ rate.force
        assert abs((gradient[name] * way).sum() - total) < 1e-9 * max(1.0, abs(total))
    # all of them at once, with those that are not of the model, for one robot and for one in each row
    ways |= {
        "q": rng.normal(size=3),
        "v": rng.normal(size=3),
        "tau": rng.normal(size=3),
        "acceleration": rng.normal(size=2),
    }
    parts = [held.jvp(q, v, tau, a, along={name: way}, **given).qdd for name, way in ways.items()]
    rate = held.jvp(q, v, tau, a, along=ways, **given)
    np.testing.assert_allclose(rate.qdd, np.sum(parts, axis=0), atol=1e-9 * np.abs(parts).max())
    np.testing.assert_allclose(parts[4], slopes.qdd.q @ ways["q"], atol=1e-9 * np.abs(parts[4]).max())
    rows = {name: np.stack([values(model)[name], value]) for name, value in given.items()}
    batched = held.derivatives(q, v, tau, np.stack([a, a]), **rows)
    for name in inputs:
        wanted = slopes.force.parameters[name]
        np.testing.assert_allclose(batched.force.parameters[name][1], wanted, atol=1e-9 * np.abs(wanted).max())
    np.testing.assert_allclose(batched.qdd.q[1], slopes.qdd.q, atol=1e-8)
    np.testing.assert_allclose(held.jvp(q, v, tau, a, along=ways, **rows).qdd[1], rate.qdd, rtol=1e-8)
    assert held.vjp(q, v, tau, a, qdd=x, **rows)["inertia"].shape == (2, *model.inertias.shape)
    single = [z.astype(np.float32) for z in (q, v, tau, a)]
    assert held.jvp(*single, along=ways, **given).qdd.dtype == np.float32
    assert held.derivatives(*single, **given).qdd.parameters["placement"].dtype == np.float32
    with pytest.raises(bough.BoughError, match=r"along names some of q, v, tau, acceleration, .*; got 'mass'"):
        held.jvp(q, v, tau, along={"mass": 1.0}, **given)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_held_motions_with_inputs_in_c(tmp_path):
    model = zoo.arm(3)
    held = ConstrainedDynamics(
        bough.OperationalSpace(model, [bough.rows("hand", [[1, 0, 0, 0, 0, 0]])], inputs=["inertia"])
    )
    source, _ = held.export_c(tmp_path / "arm.c", prefix="arm")
    library = tmp_path / "arm.so"
    subprocess.run(["gcc", "-std=c99", "-O1", "-fPIC", "-shared", str(source), "-o", str(library), "-lm"], check=True)
    q, v = state(model)
    inertia, tau, out = 1.3 * model.inertias, np.ones(3), (np.zeros(3), np.zeros(1), np.zeros(1))
    call = ctypes.CDLL(str(library)).arm_constrained_dynamics
    call.restype = None
    given = (q, v, tau, np.zeros(1), np.zeros(1), np.array([1e-7]), inertia)
    call(*(ctypes.c_void_p(x.ctypes.data) for x in (*given, *out)))
    np.testing.assert_allclose(out[0], held(q, v, tau, inertia=inertia).qdd, rtol=1e-9)


def test_what_was_not_named_is_refused_with_how_to_name_it():
    model, x = zoo.arm(3), np.full(3, 0.2)
    space = bough.OperationalSpace(model, [bough.position("hand")])
    calls = [(name, x) for name in ("inverse_inertia", "inertia", "jacobian", "__call__")]
    calls += [(name, x, x) for name in ("bias", "drift", "weighted", "full")] + [("torques", x, x, x)]
    for _ in range(2):
        for name, *arrays in calls:
            with pytest.raises(bough.BoughError, match=r"make it with inputs=\('inertia',\)"):
                getattr(space, name)(*arrays, inertia=model.inertias)
        assert space.inverse_inertia(x).shape == (3, 3)
