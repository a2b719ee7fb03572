"""What must hold between quantities: inverse pairs, energy and momentum balance, derivatives, virtual work."""

from __future__ import annotations

import numpy as np
import pytest

from bough import zoo
from bough.dynamics.kinematics import REFERENCES, frame_of
from bough.dynamics.placements import PLACEMENTS, all_frames
from bough.errors import OptionError
from bough.model.builder import Builder
from models import EXECUTIONS, JOINT_TYPES, general, interpreted, random_state, random_twin
from quantities import QUANTITIES, State

PARENT = [-1, 0, 1, 1, 0, 4, -1, 6, 7, 7]
JOINTS = ["floating", "revolute", "spherical", "prismatic", "universal", "helical", "planar", "cylindrical",
          "continuous", "revolute"]  # fmt: skip
STEP = 1e-6


@pytest.fixture(scope="module")
def model():
    return random_twin(5, PARENT, JOINTS, armature=True).model


def value(name, model, state, frame="f3"):
    return QUANTITIES[name].by(interpreted, model, state, frame)


def state_of(model, seed=0):
    return State(*random_state(model, seed))


def later(model, state, time, qdd=None):
    """The state after a short time, to second order in the configuration."""
    qdd = np.zeros(model.nv) if qdd is None else qdd
    q = model.integrate(state.q, time * state.v + time**2 / 2 * qdd)
    return state._replace(q=q, v=state.v + time * qdd)


def rate(name, model, state, qdd=None):
    """Derivative of a quantity along the motion, by central differences."""
    ahead, behind = (value(name, model, later(model, state, h, qdd)) for h in (STEP, -STEP))
    return (ahead - behind) / (2 * STEP)


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def test_forward_dynamics_undoes_inverse_dynamics(model):
    state = state_of(model)
    tau = value("inverse_dynamics", model, state)
    close(value("forward_dynamics", model, state._replace(tau=tau)), state.qdd)


def test_mass_matrix_is_symmetric_positive_definite(model):
    H = value("mass_matrix", model, state_of(model))
    close(H, H.T, 0.0)
    assert np.linalg.eigvalsh(H)[0] > 0.0


def test_inverse_mass_matrix_is_its_inverse(model):
    state = state_of(model)
    M = value("inverse_mass_matrix", model, state)
    close(M, M.T, 0.0)
    close(M @ value("mass_matrix", model, state), np.eye(model.nv))


def test_mass_matrix_and_bias_force_make_inverse_dynamics(model):
    state = state_of(model)
    tau = value("mass_matrix", model, state) @ state.qdd + value("bias_force", model, state)
    close(tau, value("inverse_dynamics", model, state))


def test_gravity_is_the_bias_force_at_rest(model):
    state = state_of(model)
    close(value("gravity", model, state), value("bias_force", model, state._replace(v=0 * state.v)))


def test_kinetic_energy_is_half_v_h_v(model):
    state = state_of(model)
    close(value("kinetic_energy", model, state), [state.v @ value("mass_matrix", model, state) @ state.v / 2])


def test_gravity_is_the_gradient_of_potential_energy(model):
    state = state_of(model)
    close(rate("potential_energy", model, state), [state.v @ value("gravity", model, state)], 1e-6)


def test_energy_grows_by_the_power_of_the_torques(model):
    state = state_of(model)
    qdd = value("forward_dynamics", model, state)
    growth = rate("kinetic_energy", model, state, qdd) + rate("potential_energy", model, state, qdd)
    close(growth, [state.tau @ state.v], 1e-6)


@pytest.mark.parametrize("name", ["momentum", "centroidal_momentum"])
def test_momentum_of_a_free_mechanism_is_conserved(name):
    model = random_twin(3, [-1, 0, 1, 1, 0, 4], ["floating", *JOINT_TYPES[:5]], gravity=(0, 0, 0)).model
    state = state_of(model)._replace(tau=np.zeros(model.nv))
    close(rate(name, model, state, value("forward_dynamics", model, state)), np.zeros(6), 1e-6)


def test_momentum_of_a_free_mechanism_grows_by_its_weight():
    model = random_twin(3, [-1, 0, 1, 0], ["floating", "revolute", "spherical", "prismatic"]).model
    state = state_of(model)
    tau = np.where(np.arange(model.nv) < 6, 0.0, state.tau)
    state = state._replace(tau=tau)
    change = rate("centroidal_momentum", model, state, value("forward_dynamics", model, state))
    close(change, [0, 0, -9.81 * model.total_mass, 0, 0, 0], 1e-6)


def test_center_of_mass_velocity_is_momentum_over_mass(model):
    state = state_of(model)
    velocity = value("center_of_mass_velocity", model, state)
    close(velocity, value("momentum", model, state)[:3] / model.total_mass)
    close(velocity, value("center_of_mass_jacobian", model, state) @ state.v)
    close(velocity, rate("center_of_mass", model, state), 1e-7)


@pytest.mark.parametrize("reference", REFERENCES)
def test_velocity_is_jacobian_times_v(model, reference):
    state = state_of(model)
    J, nu = value(f"jacobian {reference}", model, state), value(f"velocity {reference}", model, state)
    close(nu, J @ state.v)
    close(value(f"bias_acceleration {reference}", model, state), rate(f"velocity {reference}", model, state), 1e-6)


def test_velocity_is_the_rate_of_the_placement(model):
    state = state_of(model)
    T, Tdot = value("placement", model, state), rate("placement", model, state)
    nu = value("velocity local_world_aligned", model, state)
    close(Tdot[:3, 3], nu[:3], 1e-7)
    spin = Tdot[:3, :3] @ T[:3, :3].T
    close([spin[2, 1], spin[0, 2], spin[1, 0]], nu[3:], 1e-7)


def test_columns_off_the_path_are_zero(model):
    J = value("jacobian world", model, state_of(model))
    path = [model.joints[j].v for j in model.tree.path(3)]
    off = np.setdiff1d(np.arange(model.nv), np.concatenate([np.arange(model.nv)[s] for s in path]))
    assert off.size
    assert not J[:, off].any()


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_forward_kinematics_places_every_frame(model, execution):
    state = state_of(model)
    T = execution(PLACEMENTS, model, (all_frames(model),), state.q)
    for k, name in enumerate(model.frame_names):
        close(T[k], value("placement", model, state, name))


def test_a_frame_of_the_world_does_not_move(model):
    state = state_of(model)
    close(value("placement", model, state, "world"), np.eye(4), 0.0)
    for reference in REFERENCES:
        assert not value(f"jacobian {reference}", model, state, "world").any()
        assert not value(f"velocity {reference}", model, state, "world").any()


# Mimic joints: the same as the free mechanism under the constraint q = ratio q_leader + offset, v = G v'

FOLLOW = {"b4": ("b0", -0.7, 0.4), "b5": ("b1", 1.6, 0.2)}


def _tied_and_free():
    joints = ["revolute", "prismatic", "revolute", "spherical", "revolute", "prismatic"]
    twin, builder = random_twin(11, [-1, 0, 1, 1, 3, 2], joints), Builder("mimic")
    for i, body in enumerate(twin.bodies):
        up = "world" if body.parent < 0 else f"b{body.parent}"
        options = body.options | ({"mimic": FOLLOW[f"b{i}"]} if f"b{i}" in FOLLOW else {})
        builder.add_body(f"b{i}", up, body.joint, (body.R, body.p), **options)
    builder.add_frame("f3", "b5", twin.bodies[5].frame)
    return builder.build(), twin.model


def test_mimic_joints_add_to_their_leaders():
    tied, free = _tied_and_free()
    state, G, q = state_of(tied), np.zeros((free.nv, tied.nv)), np.zeros(free.nq)
    for joint in free.joints:
        leader, ratio, offset = FOLLOW.get(joint.name, (joint.name, 1.0, 0.0))
        G[joint.v, tied.joint(leader).v] = ratio * np.eye(joint.v.stop - joint.v.start)
        q[joint.q] = ratio * state.q[tied.joint(leader).q] + offset
    wide = State(q, G @ state.v, np.zeros(free.nv), G @ state.qdd)
    for name in ("inverse_dynamics", "bias_force", "gravity"):
        close(value(name, tied, state), G.T @ value(name, free, wide))
    close(value("mass_matrix", tied, state), G.T @ value("mass_matrix", free, wide) @ G)
    for name in ("center_of_mass_jacobian", *(f"jacobian {r}" for r in REFERENCES)):
        close(value(name, tied, state), value(name, free, wide, "f5") @ G)
    same = ["kinetic_energy", "potential_energy", "momentum", "center_of_mass", "center_of_mass_velocity", "placement"]
    for name in (*same, *(f"{x} {r}" for r in REFERENCES for x in ("velocity", "bias_acceleration"))):
        close(value(name, tied, state), value(name, free, wide, "f5"))


def test_a_long_chain_is_solved():
    model = zoo.chain(2000, geometry="straight")
    state = state_of(model)
    tau = QUANTITIES["inverse_dynamics"].by(general, model, state, "")
    qdd = QUANTITIES["forward_dynamics"].by(general, model, state._replace(tau=tau), "")
    assert np.abs(qdd - state.qdd).max() < 1e-3


def test_unknown_reference_is_refused(model):
    with pytest.raises(OptionError, match="there is no reference 'global'"):
        frame_of(model, "f0", "global")
