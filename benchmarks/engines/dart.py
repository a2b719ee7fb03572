"""DART's functions on a model. DART answers from its cache where a state is set again: every call sets another one."""

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
from bough.spatial import quaternion_matrix
from bough.types import FloatArray


class DartEngine:
    """A Skeleton with the bodies and joints of a model."""

    def __init__(self, model: Model) -> None:
        self.dart = required("dartpy", "peers", "this comparison")
        dart, twin = self.dart.dynamics, self.dart.dynamics.Skeleton("twin")
        self.model, self.twin, self.layout, self.bodies = model, twin, layout(model), list[Any]()
        twin.setGravity(np.array(model.mechanism.gravity))
        kinds = {
            TURN: (dart.RevoluteJointProperties, twin.createRevoluteJointAndBodyNodePair),
            SLIDE: (dart.PrismaticJointProperties, twin.createPrismaticJointAndBodyNodePair),
            FREE: (dart.FreeJointProperties, twin.createFreeJointAndBodyNodePair),
        }
        for b in bodies(model, "DART", kinds, armature=False):
            properties, create = kinds[b.kind]
            place, joint = np.eye(4), properties()
            place[:3, :3], place[:3, 3] = b.R, b.p
            joint.mName = f"joint {b.number}"
            joint.mT_ParentBodyToJoint = type(joint.mT_ParentBodyToJoint)(place)
            if b.kind != FREE:
                joint.mAxis = [0.0, 0.0, 1.0]
            _, body = create(None if b.parent < 0 else self.bodies[b.parent], joint)
            body.setInertia(dart.Inertia(b.mass, b.center, b.inertia))
            self.bodies.append(body)

    def velocities(self, s: PeerState) -> FloatArray:
        """B with v = B v_dart: [angular, linear] of floating bases, in the world's axes."""
        m, order = self.model.mechanism, np.empty(self.model.nv, int)
        for i, body in enumerate(self.bodies):
            joint, own = body.getParentJoint(), np.sort(m.v_index[m.dof[i] : m.dof[i + 1]])
            order[[joint.getIndexInSkeleton(k) for k in range(len(own))]] = np.roll(own, 3 * (len(own) == 6))
        return velocity_map(self.model, s, order, True, True)

    def positions(self, s: PeerState) -> FloatArray:
        m, q = self.model.mechanism, np.empty(self.model.nv)
        for i, body in enumerate(self.bodies):
            at, x = body.getParentJoint().getIndexInSkeleton(0), s.q[int(m.q_index[i]) :]
            q[at] = x[0]
            if m.kind[i] == FREE:
                pose = np.eye(4)
                pose[:3, :3], pose[:3, 3] = quaternion_matrix(x[3:7]), x[:3]
                q[at : at + 6] = self.dart.dynamics.FreeJoint.convertToPositions(self.dart.math.Isometry3(pose))
        return q

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        x, model, frame, B = self.twin, self.model, self.layout.frame, self.velocities(s)
        q, v, tau = self.positions(s), B.T @ s.v, B.T @ s.tau
        body, point = self.bodies[int(model.frames.body[frame])], np.array(model.frames.p[frame])

        def places() -> Any:
            found = [b.getWorldTransform() for b in self.bodies]
            return origins(model, [X.rotation() for X in found], [X.translation() for X in found])

        # fmt: off
        calls: dict[str, tuple[str, Callable[[], Any]]] = {
            Compared.FORWARD: ("computeForwardDynamics", lambda: (
                x.setPositions(q), x.setVelocities(v), x.setForces(tau), x.computeForwardDynamics(),
                x.getAccelerations())),
            Compared.INVERSE: ("computeInverseDynamics", lambda: (
                x.setPositions(q), x.setVelocities(v), x.setAccelerations(tau), x.computeInverseDynamics(),
                x.getForces())),
            Compared.MASS: ("getMassMatrix", lambda: (x.setPositions(q), x.getMassMatrix())),
            Compared.MASS_INVERSE: ("getInvMassMatrix", lambda: (x.setPositions(q), x.getInvMassMatrix())),
            Compared.FRAMES: ("computeForwardKinematics (bodies)", lambda: (
                x.setPositions(q), x.computeForwardKinematics(True, False, False))),
            Compared.JACOBIAN: ("getWorldJacobian", lambda: (x.setPositions(q), x.getWorldJacobian(body, point))),
        }
        # fmt: on
        found = {case: PeerCall(f"dart {name}", run, partial(last, run)) for case, (name, run) in calls.items()}
        jacobian = found[Compared.JACOBIAN]
        found[Compared.JACOBIAN] = jacobian._replace(result=lambda: np.roll(jacobian.run()[-1], 3, axis=0))
        found[Compared.FRAMES] = found[Compared.FRAMES]._replace(result=places)
        return found
