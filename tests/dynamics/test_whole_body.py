"""Kinematics of many frames in one call, and functions compiled together: the same as one by one."""

from itertools import product

import numpy as np
import pytest

import bough
from bough import zoo
from bough.compile.routine import interpret, resolve
from bough.dynamics.functions import FUNCTIONS, Options
from bough.dynamics.library import fused
from models import JOINT_TYPES, random_state, random_twin


@pytest.fixture(scope="module")
def model():
    return random_twin(3, [-1, 0, 0, 1, 1, 2, 3, 4, 0], list(JOINT_TYPES)).model


@pytest.mark.parametrize("reference", ["local", "world", "local_world_aligned"])
def test_frame_by_frame(model, reference):
    q, v = random_state(model, 1)[:2]
    dyn = bough.Dynamics(model, general=True)  # one code for all frames
    found = bough.Dynamics(model).kinematics(q, v, jacobians=("f3", "f7", "world"), reference=reference)
    assert found.frames == model.frame_names
    for k, name in enumerate(found.frames):
        np.testing.assert_allclose(found.placements[k], dyn.placement(q, name), atol=1e-13)
        np.testing.assert_allclose(found.velocities[k], dyn.velocity(q, v, name, reference), atol=1e-12)
        np.testing.assert_allclose(found.drifts[k], dyn.bias_acceleration(q, v, name, reference), atol=1e-12)
    for name, J in found.jacobians.items():
        np.testing.assert_allclose(J, dyn.jacobian(q, name, reference), atol=1e-13)


@pytest.mark.parametrize("general", [False, True])
def test_some_frames_without_velocities_in_batches(general):
    model = zoo.star(3)
    q = np.array([random_state(model, s)[0] for s in range(5)])
    dyn = bough.Dynamics(model, general=general)
    name = model.frame_names[-1]
    found = dyn.kinematics(q, frames=[name, "world"], jacobians=[name])
    assert found.velocities is None
    assert found.drifts is None
    assert found.placements.shape == (5, 2, 4, 4)
    np.testing.assert_allclose(found.placements[:, 0], dyn.placement(q, name), atol=1e-13)
    np.testing.assert_allclose(found.jacobians[name], dyn.jacobian(q, name), atol=1e-13)


@pytest.mark.parametrize("general", [False, True])
def test_fused(general):
    model = zoo.star(3)
    q, v, tau = random_state(model, 1)[:3]
    dyn, name = bough.Dynamics(model, general=general), model.frame_names[-1]
    wanted = ["mass_matrix", "bias_force", "gravity", ("jacobian", {"frame": name}), "coriolis_matrix"]
    H, c, g, J, C = dyn.fused(wanted)(q, v)
    np.testing.assert_allclose(H, dyn.mass_matrix(q), atol=1e-13)
    np.testing.assert_allclose(c, dyn.bias_force(q, v), atol=1e-12)
    np.testing.assert_allclose(g, dyn.gravity(q), atol=1e-12)
    np.testing.assert_allclose(J, dyn.jacobian(q, name), atol=1e-13)
    np.testing.assert_allclose(C, dyn.coriolis_matrix(q, v), atol=1e-12)
    qdd, tau_back = dyn.fused(["forward_dynamics", "bias_force"])(q, v, tau)
    np.testing.assert_allclose(qdd, dyn.forward_dynamics(q, v, tau), rtol=1e-10)
    np.testing.assert_allclose(tau_back, c, atol=1e-12)


@pytest.mark.parametrize("general", [False, True])
def test_fused_keeps_what_one_function_has_at_zero(general):
    model = zoo.star(3)
    q, v, qdd = random_state(model, 1)[:3]
    dyn = bough.Dynamics(model, general=general)
    c, g = dyn.fused(["bias_force", "gravity"])(q, v)
    np.testing.assert_allclose(c, dyn.bias_force(q, v), atol=1e-12)
    np.testing.assert_allclose(g, dyn.gravity(q), atol=1e-12)
    tau, c = dyn.fused(["inverse_dynamics", "bias_force"])(q, v, qdd)
    np.testing.assert_allclose(tau, dyn.inverse_dynamics(q, v, qdd), atol=1e-12)
    np.testing.assert_allclose(c, dyn.bias_force(q, v), atol=1e-12)


@pytest.mark.parametrize("rows", [(), (4,)])
def test_fused_results_have_the_shapes_of_single_calls(rows):
    model = zoo.arm(3)
    dyn, (q, v, tau) = bough.Dynamics(model), np.random.default_rng(0).normal(size=(3, *rows, 3))
    T, V = dyn.kinetic_energy(q, v), dyn.potential_energy(q)
    Y, (qs, vs) = dyn.regressor(q, v, tau), dyn.semi_implicit_step(q, v, tau, 1e-3)
    found = dyn.fused(["kinetic_energy", "semi_implicit_step", "regressor", "potential_energy"])(q, v, tau, 1e-3, tau)
    for x, wanted in zip(found, (T, qs, vs, Y, V), strict=True):
        np.testing.assert_allclose(x, wanted, rtol=1e-12, atol=1e-14, strict=True)
    np.testing.assert_allclose(dyn.fused(["kinetic_energy"])(q, v)[0], T, rtol=1e-12, strict=True)
    for name, inputs in (("kinetic_energy", (q, v)), ("regressor", (q, v, tau))):
        wanted, (found, _) = getattr(dyn, name)(*inputs), dyn.with_status(name, *inputs)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, strict=True)


def test_all_pairs_fused_are_as_one_by_one():
    model = zoo.arm(2)
    rng = np.random.default_rng(1)
    frame = Options(frame=model.frame_names[-1])
    methods = {f"{name} {key}": m for name, row in FUNCTIONS.items() for key, m in row.methods.items()}
    inputs = {name: shape for m in methods.values() for name, shape in m.routine.arguments.items()}
    values = {name: rng.uniform(0.1, 1.0, resolve(shape, model.sizes)) for name, shape in inputs.items()}

    def run(routine, *constants):
        given = [values[name] for name in routine.arguments]
        return interpret(routine, (model.mechanism, *constants), model.sizes, *given)

    constants = {name: m.constants(model, frame) for name, m in methods.items()}
    alone = {name: run(m.routine, *constants[name]) for name, m in methods.items()}
    for first, second in product(methods, methods):
        both = fused(
            (methods[first].routine, methods[second].routine), tuple(map(len, map(constants.get, (first, second))))
        )
        found = run(both, *constants[first], *constants[second])
        for x, y in zip(found, (*alone[first], *alone[second]), strict=True):
            np.testing.assert_array_equal(x, y, err_msg=f"{first} and {second}")


def test_the_former_name_warns():
    model = zoo.arm(2)
    with pytest.warns(DeprecationWarning, match=r"called Dynamics\.fused"):
        (H,) = bough.Dynamics(model).together(["mass_matrix"])(model.neutral)
    np.testing.assert_allclose(H, bough.Dynamics(model).mass_matrix(model.neutral))


def test_fused_with_parameters():
    model = zoo.star(3)
    q, v = random_state(model, 1)[:2]
    heavy = 2.0 * model.inertias
    (alone,) = bough.Dynamics(model).fused(["mass_matrix"])(q)  # a tuple of one
    assert alone.shape == (model.nv, model.nv)
    both = bough.Dynamics(model, inputs=["inertia"]).fused(["mass_matrix", "bias_force"])
    H, c = both(q, v, inertia=heavy)
    dyn = bough.Dynamics(model)
    np.testing.assert_allclose(c, 2.0 * dyn.bias_force(q, v), atol=1e-12)
    assert H.shape == (model.nv, model.nv)


def test_what_is_refused(model):
    dyn, q = bough.Dynamics(model), model.neutral
    with pytest.raises(bough.BoughError, match="no frame 'g3'"):
        dyn.kinematics(q, frames=["g3"])
    with pytest.raises(bough.BoughError, match="Jacobian of 'f3' needs the frame"):
        dyn.kinematics(q, frames=["f1"], jacobians=["f3"])
    with pytest.raises(bough.BoughError, match="no reference 'body'"):
        dyn.kinematics(q, reference="body")
    with pytest.raises(bough.BoughError, match="a list of functions"):
        dyn.fused("mass_matrix")
    with pytest.raises(bough.BoughError, match="frames is a list of names"):
        dyn.kinematics(q, frames="f1")
    with pytest.raises(bough.BoughError, match="a name and a dict of options, got 3"):
        dyn.fused([3])
    with pytest.raises(bough.BoughError, match="did you mean 'gravity'"):
        dyn.fused(["gravty"])
