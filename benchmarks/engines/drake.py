"""Drake's functions on a model. Drake keeps what it computed: every call sets the state first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.engines import last
from bough.app.bench.engines import PeerCall, bodies, origins, velocity_map
from bough.app.bench.states import Compared, PeerState, layout
from bough.errors import required
from bough.joints import FREE, SLIDE, TURN
from bough.model import Model
from bough.types import FloatArray


class DrakeEngine:
    """A MultibodyPlant with the bodies and joints of a model, and its context."""

    def __init__(self, model: Model) -> None:
        self.tree = tree = required("pydrake.multibody.tree", "peers", "this comparison")
        self.plant = plant = required("pydrake.multibody.plant", "peers", "this comparison").MultibodyPlant(
            time_step=0.0
        )
        rotations = required("pydrake.math", "peers", "this comparison")
        plant.mutable_gravity_field().set_gravity_vector(np.array(model.mechanism.gravity))
        self.model, self.layout, self.bodies, self.joints = model, layout(model), list[Any](), list[Any]()
        kinds = {TURN: tree.RevoluteJoint, SLIDE: tree.PrismaticJoint, FREE: tree.QuaternionFloatingJoint}
        for b in bodies(model, "Drake", kinds, armature=False):
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

    def velocities(self, s: PeerState) -> FloatArray:
        """B with v = B v_drake: [angular, linear] of floating bases, in the world's axes."""
        m, order = self.model.mechanism, np.empty(self.model.nv, int)
        for i, joint in enumerate(self.joints):
            at, own = joint.velocity_start(), np.sort(m.v_index[m.dof[i] : m.dof[i + 1]])
            order[at : at + len(own)] = np.roll(own, 3 * (len(own) == 6))
        return velocity_map(self.model, s, order, True, True)

    def positions(self, s: PeerState) -> FloatArray:
        m, q = self.model.mechanism, np.empty(self.plant.num_positions())
        for i, joint in enumerate(self.joints):
            at, x = joint.position_start(), s.q[int(m.q_index[i]) :]
            q[at : at + joint.num_positions()] = [x[6], *x[3:6], *x[:3]] if m.kind[i] == FREE else x[0]
        return q

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        plant, context, model, frame, B = self.plant, self.context, self.model, self.layout.frame, self.velocities(s)
        q, tau = self.positions(s), B.T @ s.tau
        state = np.concatenate([q, B.T @ s.v])
        none, kind, world = self.tree.MultibodyForces(plant), self.tree.JacobianWrtVariable.kV, plant.world_frame()
        plant.get_applied_generalized_force_input_port().FixValue(context, tau)  # the same in all states
        accelerations, poses = plant.get_generalized_acceleration_output_port(), plant.get_body_poses_output_port()
        body, point = self.bodies[int(model.frames.body[frame])].body_frame(), np.array(model.frames.p[frame])

        # fmt: off
        calls: dict[str, tuple[str, Callable[[], Any]]] = {
            Compared.FORWARD: ("generalized_acceleration", lambda: (
                plant.SetPositionsAndVelocities(context, state), accelerations.Eval(context))),
            Compared.INVERSE: ("CalcInverseDynamics", lambda: (
                plant.SetPositionsAndVelocities(context, state), plant.CalcForceElementsContribution(context, none),
                plant.CalcInverseDynamics(context, tau, none))),
            Compared.MASS: ("CalcMassMatrix", lambda: (
                plant.SetPositions(context, q), plant.CalcMassMatrix(context))),
            Compared.FRAMES: ("body_poses (bodies)", lambda: (plant.SetPositions(context, q), poses.Eval(context))),
            Compared.JACOBIAN: ("CalcJacobianSpatialVelocity", lambda: (
                plant.SetPositions(context, q),
                plant.CalcJacobianSpatialVelocity(context, kind, body, point, world, world))),
        }
        # fmt: on
        found = {case: PeerCall(f"drake {name}", run, partial(last, run)) for case, (name, run) in calls.items()}
        jacobian, frames = found[Compared.JACOBIAN].result, found[Compared.FRAMES].result

        def places() -> Any:
            at = [frames()[b.index()] for b in self.bodies]
            return origins(model, [X.rotation().matrix() for X in at], [X.translation() for X in at])

        found[Compared.JACOBIAN] = found[Compared.JACOBIAN]._replace(result=lambda: np.roll(jacobian(), 3, axis=0))
        found[Compared.FRAMES] = found[Compared.FRAMES]._replace(result=places)
        return found
