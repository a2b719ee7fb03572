"""Pinocchio's functions on a model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bough.app.bench.engines import PeerCall, bodies, velocity_map
from bough.app.bench.states import Compared, PeerState, end_effectors, layout, wrenches
from bough.errors import ModelError, required
from bough.joints import BALL, FREE, SLIDE, TURN
from bough.model import Model
from bough.types import FloatArray

LARGEST = 300  # degrees of freedom: 0.9 GB for each of five


def pinocchio_model(model: Model) -> Any:
    """A pin.Model with the bodies, joints and order of v of `model`; joints in depth-first order."""
    pin = required("pinocchio", "bench", "this comparison")
    twin = pin.Model()
    twin.gravity.linear = np.array(model.mechanism.gravity)
    turn, slide, ball, free = pin.JointModelRZ, pin.JointModelPZ, pin.JointModelSpherical, pin.JointModelFreeFlyer
    kinds = {TURN: turn, SLIDE: slide, FREE: free, BALL: ball}
    for b in bodies(model, "Pinocchio", kinds):
        joint = twin.addJoint(b.parent + 1, kinds[b.kind](), pin.SE3(b.R, b.p), f"joint {b.number}")
        twin.appendBodyToJoint(joint, pin.Inertia(b.mass, b.center, b.inertia), pin.SE3.Identity())
    twin.armature = np.array(model.mechanism.armature)
    return twin


class PinocchioEngine:
    """A model in Pinocchio, with its frames and a point contact at each end effector."""

    def __init__(self, model: Model) -> None:
        self.pin = pin = required("pinocchio", "bench", "this comparison")
        if model.nv > LARGEST:
            raise ModelError(f"its data has four tensors of {model.nv:,}^3 numbers, {32e-9 * model.nv**3:,.0f} GB")
        self.model, self.twin, self.layout = model, pinocchio_model(model), layout(model)
        self.contacts, self.contact_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        body, R, p = (np.asarray(x) for x in (model.frames.body, model.frames.R, model.frames.p))
        places = {k: (int(body[k]) + 1, pin.SE3(R[k], p[k])) for k in np.flatnonzero(body >= 0).tolist()}
        kind = pin.FrameType.OP_FRAME
        self.frames = {k: self.twin.addFrame(pin.Frame(f"frame {k}", *place, kind)) for k, place in places.items()}
        for k in end_effectors(model):
            point = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.twin, *places[k], pin.LOCAL)
            self.contacts.append(point)
            self.contact_data.append(point.createData())
        self.data, self.constrained = self.twin.createData(), self.twin.createData()
        pin.initConstraintDynamics(self.twin, self.constrained, self.contacts, self.contact_data)

    def velocities(self, s: PeerState) -> FloatArray:
        """B with v = B v_pinocchio: another order."""
        return velocity_map(self.model, s, self.layout.v, False, False)

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        pin, twin, data, factor, order = self.pin, self.twin, self.data, self.twin.createData(), self.layout
        q, v, tau, at_rest = s.q[order.q], s.v[order.v], s.tau[order.v], s.rest
        parameters = np.concatenate([I.toDynamicParameters() for I in list(twin.inertias)[1:]])
        settings, lists = pin.ProximalSettings(1e-12, 1e-10, 3), (list(self.contacts), list(self.contact_data))
        pin.forwardKinematics(twin, factor, q)
        outer = zip(list(factor.oMi)[1:], wrenches(self.model, s), strict=True)
        forces = pin.StdVec_Force([pin.Force.Zero(), *(X.actInv(pin.Force(f[:3], f[3:])) for X, f in outer)])
        pin.crba(twin, factor, q)
        pin.cholesky.decompose(twin, factor)
        solve, decompose = partial(pin.cholesky.solve, twin, factor, tau), partial(pin.cholesky.decompose, twin, factor)

        def symmetric(X: Any) -> Any:  # of which the upper triangle is set
            return np.triu(X) + np.triu(X, 1).T

        def of(name: str, *given: Any, on: Any = data, result: Any = lambda x: x) -> PeerCall:
            run = partial(getattr(pin, name), twin, on, q, *given)
            return PeerCall(f"pin.{name}", run, lambda: result(run()))

        def all_three(x: Any) -> Any:
            return np.stack([x[0], x[1], symmetric(x[2])])

        def places(_: Any) -> Any:
            return np.array([data.oMf[k].translation for k in self.frames.values()])

        return {
            Compared.FORWARD: of("aba", v, tau),
            Compared.PUSHED: of("aba", v, tau, forces),
            Compared.INVERSE: of("rnea", v, tau),
            Compared.MASS: of("crba", result=symmetric),
            Compared.FACTOR: PeerCall("pin.cholesky.decompose", decompose, solve),
            Compared.SOLVE: PeerCall("pin.cholesky.solve", solve, solve),
            Compared.MASS_INVERSE: of("computeMinverse", result=symmetric),
            Compared.FRAMES: of("framesForwardKinematics", result=places),
            Compared.JACOBIAN: of("computeFrameJacobian", self.frames[order.frame], pin.LOCAL_WORLD_ALIGNED),
            Compared.FORWARD_BY: of("computeABADerivatives", v, tau, result=all_three),
            Compared.INVERSE_BY: of("computeRNEADerivatives", v, tau, result=all_three),
            Compared.REGRESSOR: of("computeJointTorqueRegressor", v, tau, result=lambda Y: Y @ parameters),
            Compared.LAMBDA: of("computeDelassusMatrix", *lists, 0.0),
            Compared.CONSTRAINED: of(
                "constraintDynamics", at_rest, tau, self.contacts, self.contact_data, settings, on=self.constrained
            ),
        }
