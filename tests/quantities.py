"""Everything the kernels compute about a state: by a kernel, by Pinocchio, and by the naive definitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import naive
from bough.compile.routine import Routine
from bough.dynamics.aba import ABA
from bough.dynamics.center_of_mass import CENTER_OF_MASS, CENTER_OF_MASS_JACOBIAN, CENTER_OF_MASS_VELOCITY
from bough.dynamics.crba import MASS_MATRIX
from bough.dynamics.energy import KINETIC_ENERGY, POTENTIAL_ENERGY
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from bough.dynamics.jacobian import JACOBIAN
from bough.dynamics.kinematics import BIAS_ACCELERATION, PLACEMENT, REFERENCES, VELOCITY, frame_of
from bough.dynamics.momentum import CENTROIDAL_MOMENTUM, MOMENTUM
from bough.dynamics.rnea import BIAS, GRAVITY, RNEA
from models import JOINT_TYPES, interpreted, random_state, random_twin


class State(NamedTuple):
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    qdd: np.ndarray


class Quantity(NamedTuple):
    routine: Routine
    inputs: tuple[str, ...]
    reference: str | None = None  # for quantities of a frame

    def by(self, execution, model, state, frame, dtype=float):
        constants = () if self.reference is None else (frame_of(model, frame, self.reference),)
        return execution(self.routine, model, constants, *(getattr(state, x).astype(dtype) for x in self.inputs))


QUANTITIES = {
    "forward_dynamics": Quantity(ABA, ("q", "v", "tau")),
    "inverse_dynamics": Quantity(RNEA, ("q", "v", "qdd")),
    "bias_force": Quantity(BIAS, ("q", "v")),
    "gravity": Quantity(GRAVITY, ("q",)),
    "mass_matrix": Quantity(MASS_MATRIX, ("q",)),
    "inverse_mass_matrix": Quantity(INVERSE_MASS_MATRIX, ("q",)),
    "kinetic_energy": Quantity(KINETIC_ENERGY, ("q", "v")),
    "potential_energy": Quantity(POTENTIAL_ENERGY, ("q",)),
    "momentum": Quantity(MOMENTUM, ("q", "v")),
    "centroidal_momentum": Quantity(CENTROIDAL_MOMENTUM, ("q", "v")),
    "center_of_mass": Quantity(CENTER_OF_MASS, ("q",)),
    "center_of_mass_velocity": Quantity(CENTER_OF_MASS_VELOCITY, ("q", "v")),
    "center_of_mass_jacobian": Quantity(CENTER_OF_MASS_JACOBIAN, ("q",)),
    "placement": Quantity(PLACEMENT, ("q",), "local"),
} | {
    f"{name} {reference}": Quantity(routine, inputs, reference)
    for reference in REFERENCES
    for name, routine, inputs in (
        ("jacobian", JACOBIAN, ("q",)),
        ("velocity", VELOCITY, ("q", "v")),
        ("bias_acceleration", BIAS_ACCELERATION, ("q", "v")),
    )
}


def by_pinocchio(twin, state, frame):
    """All quantities, in the order of the model."""
    import pinocchio as pin

    model, data = twin.pin, twin.data
    q, v = twin.q_to_pin(state.q), twin.v_to_pin(state.v)
    tau, qdd, rest = twin.v_to_pin(state.tau), twin.v_to_pin(state.qdd), np.zeros_like(v)
    H = _symmetric(pin.crba(model, data, q))
    # Pinocchio's own kinetic energy does not agree with its H where there are rotors
    energy = v @ H @ v / 2 if model.armature.any() else pin.computeKineticEnergy(model, data, q, v)
    out = {
        "forward_dynamics": twin.from_pin(pin.aba(model, data, q, v, tau)),
        "inverse_dynamics": twin.from_pin(pin.rnea(model, data, q, v, qdd)),
        "bias_force": twin.from_pin(pin.nonLinearEffects(model, data, q, v)),
        "gravity": twin.from_pin(pin.computeGeneralizedGravity(model, data, q)),
        "mass_matrix": twin.from_pin(H, (0, 1)),
        "inverse_mass_matrix": twin.from_pin(_symmetric(pin.computeMinverse(model, data, q)), (0, 1)),
        "kinetic_energy": [energy],
        "potential_energy": [pin.computePotentialEnergy(model, data, q)],
        "center_of_mass_jacobian": twin.from_pin(pin.jacobianCenterOfMass(model, data, q).reshape(3, -1), (1,)),
        "centroidal_momentum": pin.computeCentroidalMomentum(model, data, q, v).vector,
    }
    pin.centerOfMass(model, data, q, v)
    out |= {"center_of_mass": data.com[0].copy(), "center_of_mass_velocity": data.vcom[0].copy()}
    shift = np.cross(out["center_of_mass"], out["centroidal_momentum"][:3])
    out["momentum"] = out["centroidal_momentum"] + np.concatenate([np.zeros(3), shift])
    return out | _frame_by_pinocchio(twin, (q, v, rest), frame)


def _symmetric(M):
    """Pinocchio fills the upper triangle only."""
    return np.triu(M) + np.triu(M, 1).T


def _frame_by_pinocchio(twin, motion, frame):
    import pinocchio as pin

    references = {"local": pin.LOCAL, "world": pin.WORLD, "local_world_aligned": pin.LOCAL_WORLD_ALIGNED}
    model, data = twin.pin, twin.data
    pin.forwardKinematics(model, data, *motion)
    pin.computeJointJacobians(model, data, motion[0])
    pin.updateFramePlacements(model, data)
    k, out = model.getFrameId(frame), {}
    out["placement"] = data.oMf[k].homogeneous
    for name, reference in references.items():
        classical = name == "local_world_aligned"
        acceleration = pin.getFrameClassicalAcceleration if classical else pin.getFrameAcceleration
        J = pin.getFrameJacobian(model, data, k, reference).reshape(6, -1)
        out[f"jacobian {name}"] = twin.from_pin(J, (1,))
        out[f"velocity {name}"] = pin.getFrameVelocity(model, data, k, reference).vector
        out[f"bias_acceleration {name}"] = acceleration(model, data, k, reference).vector
    return out


def by_definition(twin, state, body):
    """All quantities from the naive dense mechanism; the frame is f<body>."""
    m = naive.Mechanism(twin.bodies, state.q, state.v, twin.gravity)
    at_rest = naive.Mechanism(twin.bodies, state.q, 0 * state.v, twin.gravity)
    H, C, J = m.mass_matrix(), m.inverse_dynamics(0 * state.v), m.center_of_mass_jacobian()
    out = {
        "forward_dynamics": np.linalg.solve(H, state.tau - C),
        "inverse_dynamics": m.inverse_dynamics(state.qdd),
        "bias_force": C,
        "gravity": at_rest.inverse_dynamics(0 * state.v),
        "mass_matrix": H,
        "inverse_mass_matrix": np.linalg.inv(H),
        "kinetic_energy": [m.kinetic_energy()],
        "potential_energy": [m.potential_energy()],
        "momentum": m.momentum(),
        "centroidal_momentum": m.centroidal_momentum(),
        "center_of_mass": m.center_of_mass(),
        "center_of_mass_velocity": J @ state.v,
        "center_of_mass_jacobian": J,
    }
    for name in REFERENCES:
        out["placement"], J, bias = m.frame(body, *twin.bodies[body].frame, name)
        out |= {f"jacobian {name}": J, f"velocity {name}": J @ state.v, f"bias_acceleration {name}": bias}
    return out


def error(actual, expected, state):
    """Largest difference, relative to the largest element expected or to what the state makes it out of."""
    expected, scale = np.asarray(expected, float), 1e-3 * (1 + np.abs(state.v).max() ** 2)
    return np.abs(np.asarray(actual, float) - expected).max() / max(np.abs(expected).max(initial=0.0), scale)


def hold(*names):
    """Interpreted kernels give these quantities as they are defined, on a tree with every type of joint."""
    parent = [-1, 0, 1, 2, 1, 4, 0, 6, 7]
    for seed, joints in enumerate((JOINT_TYPES, JOINT_TYPES[::-1])):
        twin = random_twin(seed, parent, joints, armature=bool(seed), gravity=(1.0, -2.0, -9.0))
        state = State(*random_state(twin.model, seed))
        expected = by_definition(twin, state, 5)
        for name in names:
            actual = QUANTITIES[name].by(interpreted, twin.model, state, "f5")
            assert error(actual, expected[name], state) < 1e-10, name
