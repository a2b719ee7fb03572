"""DART's functions on a twin of a model. DART keeps what it computed, so that every call sets the state first."""

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


def skeleton(model: Model) -> tuple[Any, list[Any]]:
    """A Skeleton with the bodies and joints of a model, and its bodies in order."""
    dart = required("dartpy", "peers").dynamics
    m, fixed = model.mechanism, links(model).fixed
    if np.any(m.armature):
        raise ModelError("only mechanisms without rotor inertias are compared with DART")
    twin, bodies = dart.Skeleton("twin"), list[Any]()
    twin.setGravity(np.array(m.gravity))
    kinds = {
        TURN: (dart.RevoluteJointProperties, twin.createRevoluteJointAndBodyNodePair),
        SLIDE: (dart.PrismaticJointProperties, twin.createPrismaticJointAndBodyNodePair),
        FREE: (dart.FreeJointProperties, twin.createFreeJointAndBodyNodePair),
    }
    for i, parent in enumerate(m.parent):
        kind = int(m.kind[i])
        if kind not in kinds:
            raise ModelError("only revolute, prismatic and floating joints are compared with DART")
        properties, create = kinds[kind]
        place, given = np.eye(4), properties()
        place[:3] = fixed[i]
        given.mName = f"joint {i}"
        given.mT_ParentBodyToJoint = type(given.mT_ParentBodyToJoint)(place)
        if kind != FREE:
            given.mAxis = [0.0, 0.0, 1.0]
        _, body = create(None if parent < 0 else bodies[parent], given)
        mass, c, J = inertia_parts(m, i)
        body.setInertia(dart.Inertia(mass, c, J))
        bodies.append(body)
    return twin, bodies


def calls(model: Model, s: PeerState) -> dict[str, PeerCall]:
    twin, bodies = skeleton(model)
    q, B = coordinates(model, s, bodies)
    v, tau = B.T @ s.v, B.T @ s.tau
    body, point = bodies[int(model.frames.body[s.frame])], np.array(model.frames.p[s.frame])

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
        found = [b.getWorldTransform() for b in bodies]
        return origins(model, [X.rotation() for X in found], [X.translation() for X in found])

    return {
        Compared.FORWARD: PeerCall("dart computeForwardDynamics", forward, lambda: B @ forward()),
        Compared.INVERSE: PeerCall("dart computeInverseDynamics", inverse, lambda: B @ inverse()),
        Compared.MASS: PeerCall("dart getMassMatrix", mass, lambda: B @ mass() @ B.T),
        Compared.MASS_INVERSE: PeerCall("dart getInvMassMatrix", mass_inverse, lambda: B @ mass_inverse() @ B.T),
        Compared.FRAMES: PeerCall("dart computeForwardKinematics (bodies)", frames, places),
        Compared.JACOBIAN: PeerCall("dart getWorldJacobian", jacobian, lambda: np.roll(jacobian(), 3, axis=0) @ B.T),
    }


def coordinates(model: Model, s: PeerState, bodies: list[Any]) -> tuple[Any, Any]:
    """q as DART has it, and B with v = B v_dart: floating bases have [angular, linear] in the world's axes."""
    dart, m = required("dartpy", "peers"), model.mechanism
    q, B, at = np.empty(model.nv), np.zeros((model.nv, model.nv)), 0
    for i, body in enumerate(bodies):
        joint, first = body.getParentJoint(), int(m.q_index[i])
        places = [joint.getIndexInSkeleton(k) for k in range(joint.getNumDofs())]
        own = s.v_order[at : at + len(places)]
        if m.kind[i] == FREE:
            pose, R = np.eye(4), quaternion_matrix(s.q[first + 3 : first + 7])
            pose[:3, :3], pose[:3, 3] = R, s.q[first : first + 3]
            q[places] = dart.dynamics.FreeJoint.convertToPositions(dart.math.Isometry3(pose))
            B[np.ix_(own[3:], places[:3])] = B[np.ix_(own[:3], places[3:])] = R.T
        else:
            q[places[0]], B[own[0], places[0]] = s.q[first], 1.0
        at += len(places)
    return q, B
