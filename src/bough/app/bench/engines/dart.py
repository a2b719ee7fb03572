"""DART's functions on a model. DART answers from its cache where a state is set again: every call sets another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.app.bench.engines import PeerCall
from bough.app.bench.states import Compared, PeerState, bodies, origins, required, velocity_map
from bough.joints import FREE, SLIDE, TURN
from bough.model import Model
from bough.spatial import quaternion_matrix

KINDS = {TURN: "revolute", SLIDE: "prismatic", FREE: "floating"}


class DartEngine:
    """A Skeleton with the bodies and joints of a model."""

    def __init__(self, model: Model) -> None:
        self.dart = required("dartpy", "peers")
        dart, twin = self.dart.dynamics, self.dart.dynamics.Skeleton("twin")
        self.model, self.twin, self.bodies = model, twin, list[Any]()
        twin.setGravity(np.array(model.mechanism.gravity))
        kinds = {
            TURN: (dart.RevoluteJointProperties, twin.createRevoluteJointAndBodyNodePair),
            SLIDE: (dart.PrismaticJointProperties, twin.createPrismaticJointAndBodyNodePair),
            FREE: (dart.FreeJointProperties, twin.createFreeJointAndBodyNodePair),
        }
        for b in bodies(model, "DART", KINDS, armature=False):
            properties, create = kinds[b.kind]
            place, given = np.eye(4), properties()
            place[:3, :3], place[:3, 3] = b.R, b.p
            given.mName = f"joint {b.number}"
            given.mT_ParentBodyToJoint = type(given.mT_ParentBodyToJoint)(place)
            if b.kind != FREE:
                given.mAxis = [0.0, 0.0, 1.0]
            _, body = create(None if b.parent < 0 else self.bodies[b.parent], given)
            body.setInertia(dart.Inertia(b.mass, b.center, b.inertia))
            self.bodies.append(body)

    def coordinates(self, s: PeerState) -> tuple[Any, Any]:
        """q as DART has it, and B with v = B v_dart."""
        m, q, places = self.model.mechanism, np.empty(self.model.nv), []
        for i, body in enumerate(self.bodies):
            joint, first = body.getParentJoint(), int(m.q_index[i])
            places.append([joint.getIndexInSkeleton(k) for k in range(joint.getNumDofs())])
            if m.kind[i] == FREE:
                pose = np.eye(4)
                pose[:3, :3], pose[:3, 3] = quaternion_matrix(s.q[first + 3 : first + 7]), s.q[first : first + 3]
                q[places[i]] = self.dart.dynamics.FreeJoint.convertToPositions(self.dart.math.Isometry3(pose))
            else:
                q[places[i]] = s.q[first]
        return q, velocity_map(self.model, s, places, True)

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        twin, model = self.twin, self.model
        q, B = self.coordinates(s)
        v, tau = B.T @ s.v, B.T @ s.tau
        body, point = self.bodies[int(model.frames.body[s.frame])], np.array(model.frames.p[s.frame])

        def forward() -> Any:
            twin.setPositions(q)
            twin.setVelocities(v)
            twin.setForces(tau)
            twin.computeForwardDynamics()
            return twin.getAccelerations()

        def inverse() -> Any:
            twin.setPositions(q)
            twin.setVelocities(v)
            twin.setAccelerations(tau)
            twin.computeInverseDynamics()
            return twin.getForces()

        def mass() -> Any:
            twin.setPositions(q)
            return twin.getMassMatrix()

        def mass_inverse() -> Any:
            twin.setPositions(q)
            return twin.getInvMassMatrix()

        def frames() -> None:
            twin.setPositions(q)
            twin.computeForwardKinematics(True, False, False)

        def jacobian() -> Any:
            twin.setPositions(q)
            return twin.getWorldJacobian(body, point)

        def places() -> Any:
            frames()
            found = [b.getWorldTransform() for b in self.bodies]
            return origins(model, [X.rotation() for X in found], [X.translation() for X in found])

        def turned() -> Any:
            return np.roll(jacobian(), 3, axis=0) @ B.T

        return {
            Compared.FORWARD: PeerCall("dart computeForwardDynamics", forward, lambda: B @ forward()),
            Compared.INVERSE: PeerCall("dart computeInverseDynamics", inverse, lambda: B @ inverse()),
            Compared.MASS: PeerCall("dart getMassMatrix", mass, lambda: B @ mass() @ B.T),
            Compared.MASS_INVERSE: PeerCall("dart getInvMassMatrix", mass_inverse, lambda: B @ mass_inverse() @ B.T),
            Compared.FRAMES: PeerCall("dart computeForwardKinematics (bodies)", frames, places),
            Compared.JACOBIAN: PeerCall("dart getWorldJacobian", jacobian, turned),
        }
