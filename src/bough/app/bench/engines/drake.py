"""Drake's functions on a twin of a model. Drake keeps what it computed, so that every call sets the state first."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.app.bench.engines.common import Compared, PeerCall, PeerState, origins, required
from bough.app.bench.peers import inertia_parts
from bough.errors import ModelError
from bough.joints import FREE, SLIDE, TURN
from bough.model import Model
from bough.spatial import quaternion_matrix
from bough.view.kinematics import links


class DrakeTwin:
    """A MultibodyPlant with the bodies and joints of a model, and its context."""

    def __init__(self, model: Model) -> None:
        tree = required("pydrake.multibody.tree", "peers")
        plant = required("pydrake.multibody.plant", "peers")
        rotations = required("pydrake.math", "peers")
        m, fixed = model.mechanism, links(model).fixed
        if np.any(m.armature):
            raise ModelError("only mechanisms without rotor inertias are compared with Drake")
        self.plant = plant.MultibodyPlant(time_step=0.0)
        self.plant.mutable_gravity_field().set_gravity_vector(np.array(m.gravity))
        self.bodies: list[Any] = []
        self.joints: list[Any] = []
        for i, parent in enumerate(m.parent):
            mass, c, J = inertia_parts(m, i)
            central = tree.RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
            inertia = tree.SpatialInertia.MakeFromCentralInertia(mass, c, central)
            body = self.plant.AddRigidBody(f"body {i}", inertia)
            place = rotations.RigidTransform(rotations.RotationMatrix(fixed[i, :, :3]), fixed[i, :, 3])
            above = self.plant.world_body() if parent < 0 else self.bodies[parent]
            name, kind = f"joint {i}", int(m.kind[i])
            at = self.plant.AddFrame(tree.FixedOffsetFrame(f"place {i}", above.body_frame(), place))
            if kind == TURN:
                joint = tree.RevoluteJoint(name, at, body.body_frame(), [0, 0, 1])
            elif kind == SLIDE:
                joint = tree.PrismaticJoint(name, at, body.body_frame(), [0, 0, 1])
            elif kind == FREE:
                joint = tree.QuaternionFloatingJoint(name, at, body.body_frame())
            else:
                raise ModelError("only revolute, prismatic and floating joints are compared with Drake")
            self.bodies.append(body)
            self.joints.append(self.plant.AddJoint(joint))
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()

    def coordinates(self, model: Model, s: PeerState) -> tuple[Any, Any]:
        """q as Drake has it, and B with v = B v_drake: floating bases have [angular, linear] in the world's axes."""
        m = model.mechanism
        q, B, at = np.empty(self.plant.num_positions()), np.zeros((model.nv, self.plant.num_velocities())), 0
        for i, joint in enumerate(self.joints):
            a, b, own = joint.position_start(), joint.velocity_start(), s.v_order[at : at + joint.num_velocities()]
            first = int(m.q_index[i])
            if m.kind[i] == FREE:
                R = quaternion_matrix(s.q[first + 3 : first + 7])
                q[a : a + 7] = [s.q[first + 6], *s.q[first + 3 : first + 6], *s.q[first : first + 3]]
                B[own[3:], b : b + 3] = B[own[:3], b + 3 : b + 6] = R.T
            else:
                q[a], B[own[0], b] = s.q[first], 1.0
            at += len(own)
        return q, B


def calls(model: Model, s: PeerState) -> dict[str, PeerCall]:
    twin = DrakeTwin(model)
    plant, context = twin.plant, twin.context
    q, B = twin.coordinates(model, s)
    tree = required("pydrake.multibody.tree", "peers")
    state, tau, none = np.concatenate([q, B.T @ s.v]), B.T @ s.tau, tree.MultibodyForces(plant)
    plant.get_applied_generalized_force_input_port().FixValue(context, tau)
    accelerations, poses = plant.get_generalized_acceleration_output_port(), plant.get_body_poses_output_port()
    body, number = twin.bodies[int(model.frames.body[s.frame])], tree.JacobianWrtVariable.kV
    point, world = np.array(model.frames.p[s.frame]), plant.world_frame()

    def forward() -> Any:
        plant.SetPositionsAndVelocities(context, state)
        return accelerations.Eval(context)

    def inverse() -> Any:
        plant.SetPositionsAndVelocities(context, state)
        plant.CalcForceElementsContribution(context, none)
        return plant.CalcInverseDynamics(context, tau, none)

    def mass() -> Any:
        plant.SetPositions(context, q)
        return plant.CalcMassMatrix(context)

    def frames() -> Any:
        plant.SetPositions(context, q)
        return poses.Eval(context)

    def jacobian() -> Any:
        plant.SetPositions(context, q)
        return plant.CalcJacobianSpatialVelocity(context, number, body.body_frame(), point, world, world)

    def places() -> Any:
        found = [frames()[b.index()] for b in twin.bodies]
        return origins(model, [X.rotation().matrix() for X in found], [X.translation() for X in found])

    return {
        Compared.FORWARD: PeerCall("drake generalized_acceleration", forward, lambda: B @ forward()),
        Compared.INVERSE: PeerCall("drake CalcInverseDynamics", inverse, lambda: B @ inverse()),
        Compared.MASS: PeerCall("drake CalcMassMatrix", mass, lambda: B @ mass() @ B.T),
        Compared.FRAMES: PeerCall("drake body_poses (bodies)", frames, places),
        Compared.JACOBIAN: PeerCall(
            "drake CalcJacobianSpatialVelocity", jacobian, lambda: np.roll(jacobian(), 3, axis=0) @ B.T
        ),
    }
