"""Drake's functions on a model. Drake keeps what it computed: every call sets the state first."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.app.bench.engines import PeerCall
from bough.app.bench.states import Compared, PeerState, bodies, origins, required, velocity_map
from bough.joints import FREE, SLIDE, TURN
from bough.model import Model

KINDS = {TURN: "revolute", SLIDE: "prismatic", FREE: "floating"}


class DrakeEngine:
    """A MultibodyPlant with the bodies and joints of a model, and its context."""

    def __init__(self, model: Model) -> None:
        tree = required("pydrake.multibody.tree", "peers")
        plant = required("pydrake.multibody.plant", "peers").MultibodyPlant(time_step=0.0)
        rotations = required("pydrake.math", "peers")
        plant.mutable_gravity_field().set_gravity_vector(np.array(model.mechanism.gravity))
        self.model, self.plant = model, plant
        self.tree, self.bodies, self.joints = tree, list[Any](), list[Any]()
        kinds = {TURN: tree.RevoluteJoint, SLIDE: tree.PrismaticJoint, FREE: tree.QuaternionFloatingJoint}
        for b in bodies(model, "Drake", KINDS, armature=False):
            J = b.inertia
            central = tree.RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
            inertia = tree.SpatialInertia.MakeFromCentralInertia(b.mass, b.center, central)
            body = plant.AddRigidBody(f"body {b.number}", inertia)
            place = rotations.RigidTransform(rotations.RotationMatrix(b.R), b.p)
            above = plant.world_body() if b.parent < 0 else self.bodies[b.parent]
            at = plant.AddFrame(tree.FixedOffsetFrame(f"place {b.number}", above.body_frame(), place))
            axis = () if b.kind == FREE else ([0, 0, 1],)
            self.joints.append(plant.AddJoint(kinds[b.kind](f"joint {b.number}", at, body.body_frame(), *axis)))
            self.bodies.append(body)
        plant.Finalize()
        self.context = plant.CreateDefaultContext()

    def coordinates(self, s: PeerState) -> tuple[Any, Any]:
        """q as Drake has it, and B with v = B v_drake."""
        m, q = self.model.mechanism, np.empty(self.plant.num_positions())
        for i, joint in enumerate(self.joints):
            a, first = joint.position_start(), int(m.q_index[i])
            if m.kind[i] == FREE:
                q[a : a + 7] = [s.q[first + 6], *s.q[first + 3 : first + 6], *s.q[first : first + 3]]
            else:
                q[a] = s.q[first]
        places = [[joint.velocity_start() + k for k in range(joint.num_velocities())] for joint in self.joints]
        return q, velocity_map(self.model, s, places, True)

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        plant, context, model = self.plant, self.context, self.model
        q, B = self.coordinates(s)
        state, tau = np.concatenate([q, B.T @ s.v]), B.T @ s.tau
        none, kind = self.tree.MultibodyForces(plant), self.tree.JacobianWrtVariable.kV
        plant.get_applied_generalized_force_input_port().FixValue(context, tau)  # the same in all states
        accelerations, poses = plant.get_generalized_acceleration_output_port(), plant.get_body_poses_output_port()
        body, point = self.bodies[int(model.frames.body[s.frame])].body_frame(), np.array(model.frames.p[s.frame])
        world = plant.world_frame()

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
            return plant.CalcJacobianSpatialVelocity(context, kind, body, point, world, world)

        def places() -> Any:
            found = [frames()[b.index()] for b in self.bodies]
            return origins(model, [X.rotation().matrix() for X in found], [X.translation() for X in found])

        def turned() -> Any:
            return np.roll(jacobian(), 3, axis=0) @ B.T

        return {
            Compared.FORWARD: PeerCall("drake generalized_acceleration", forward, lambda: B @ forward()),
            Compared.INVERSE: PeerCall("drake CalcInverseDynamics", inverse, lambda: B @ inverse()),
            Compared.MASS: PeerCall("drake CalcMassMatrix", mass, lambda: B @ mass() @ B.T),
            Compared.FRAMES: PeerCall("drake body_poses (bodies)", frames, places),
            Compared.JACOBIAN: PeerCall("drake CalcJacobianSpatialVelocity", jacobian, turned),
        }
