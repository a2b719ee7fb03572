"""Pinocchio's functions on a model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bough.app.bench.engines import PeerCall
from bough.app.bench.states import Compared, PeerState, bodies, end_effectors, required
from bough.errors import ModelError
from bough.joints import BALL, FREE, SLIDE, TURN
from bough.model import Model

LARGEST = 300  # degrees of freedom: 0.9 GB for each of five
KINDS = {TURN: "revolute", SLIDE: "prismatic", BALL: "spherical", FREE: "floating"}


def pinocchio_twin(model: Model) -> Any:
    """A pin.Model with the bodies, joints and order of v of `model`; joints in depth-first order."""
    pin = required("pinocchio", "bench")
    twin = pin.Model()
    twin.gravity.linear = np.array(model.mechanism.gravity)
    turn, slide, ball, free = pin.JointModelRZ, pin.JointModelPZ, pin.JointModelSpherical, pin.JointModelFreeFlyer
    kinds = {TURN: turn, SLIDE: slide, BALL: ball, FREE: free}
    for b in bodies(model, "Pinocchio", KINDS):
        joint = twin.addJoint(b.parent + 1, kinds[b.kind](), pin.SE3(b.R, b.p), f"joint {b.number}")
        twin.appendBodyToJoint(joint, pin.Inertia(b.mass, b.center, b.inertia), pin.SE3.Identity())
    twin.armature = np.array(model.mechanism.armature)
    return twin


class PinocchioEngine:
    """A model in Pinocchio, with its frames and a point contact at each end effector."""

    def __init__(self, model: Model) -> None:
        self.pin = pin = required("pinocchio", "bench")
        if model.nv > LARGEST:
            raise ModelError(f"its data has four tensors of {model.nv:,}^3 numbers, {32e-9 * model.nv**3:,.0f} GB")
        self.model, self.twin = model, pinocchio_twin(model)
        self.frames = {k: self.add_frame(k) for k, body in enumerate(model.frames.body) if body >= 0}
        self.data = self.twin.createData()
        self.contacts, self.contact_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for k in end_effectors(model):
            at, joint = self.placement(k), int(model.frames.body[k]) + 1
            self.contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.twin, joint, at, pin.LOCAL))
            self.contact_data.append(self.contacts[-1].createData())
        self.constrained = self.twin.createData()
        pin.initConstraintDynamics(self.twin, self.constrained, self.contacts, self.contact_data)

    def placement(self, k: int) -> Any:
        return self.pin.SE3(np.array(self.model.frames.R[k]), np.array(self.model.frames.p[k]))

    def add_frame(self, k: int) -> int:
        joint, kind = int(self.model.frames.body[k]) + 1, self.pin.FrameType.OP_FRAME
        return int(self.twin.addFrame(self.pin.Frame(f"frame {k}", joint, self.placement(k), kind)))

    def arrays(self, s: PeerState) -> tuple[Any, Any, Any]:
        """q, v and tau in Pinocchio's order."""
        return s.q[s.q_order], s.v[s.v_order], s.tau[s.v_order]

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        pin, twin, data, factor = self.pin, self.twin, self.data, self.twin.createData()
        (q, v, tau), back, forces = self.arrays(s), np.argsort(s.v_order), self.wrenches(s)
        parameters = np.concatenate([I.toDynamicParameters() for I in list(twin.inertias)[1:]])
        at_rest, settings = 0 * v, pin.ProximalSettings(1e-12, 1e-10, 3)
        pin.crba(twin, factor, q)
        pin.cholesky.decompose(twin, factor)

        def square(X: Any) -> Any:
            return X[np.ix_(back, back)]

        def symmetric(X: Any) -> Any:  # of which the upper triangle is set
            return square(np.triu(X) + np.triu(X, 1).T)

        def of(name: str, *given: Any, on: Any = data) -> PeerCall:
            run = partial(getattr(pin, name), twin, on, q, *given)
            return PeerCall(f"pin.{name}", run, run)

        aba, rnea = of("computeABADerivatives", v, tau), of("computeRNEADerivatives", v, tau)
        regressor, lists = of("computeJointTorqueRegressor", v, tau), (list(self.contacts), list(self.contact_data))
        jacobian = of("computeFrameJacobian", self.frames[s.frame], pin.LOCAL_WORLD_ALIGNED)
        constraint = of(
            "constraintDynamics", at_rest, tau, self.contacts, self.contact_data, settings, on=self.constrained
        )
        solve = partial(pin.cholesky.solve, twin, factor, tau)
        decompose = partial(pin.cholesky.decompose, twin, factor)
        return {
            Compared.FORWARD: of("aba", v, tau)._replace(result=lambda: data.ddq[back]),
            Compared.PUSHED: of("aba", v, tau, forces)._replace(result=lambda: data.ddq[back]),
            Compared.INVERSE: of("rnea", v, tau)._replace(result=lambda: data.tau[back]),
            Compared.MASS: of("crba")._replace(result=lambda: symmetric(data.M)),
            Compared.FACTOR: PeerCall("pin.cholesky.decompose", decompose, lambda: solve()[back]),
            Compared.SOLVE: PeerCall("pin.cholesky.solve", solve, lambda: solve()[back]),
            Compared.MASS_INVERSE: of("computeMinverse")._replace(result=lambda: symmetric(data.Minv)),
            Compared.FRAMES: of("framesForwardKinematics")._replace(
                result=lambda: np.array([data.oMf[k].translation for k in self.frames.values()])
            ),
            Compared.JACOBIAN: jacobian._replace(result=lambda: jacobian.run()[:, back]),
            Compared.FORWARD_BY: aba._replace(result=lambda: [*map(square, (x := aba.run())[:2]), symmetric(x[2])]),
            Compared.INVERSE_BY: rnea._replace(result=lambda: [*map(square, (x := rnea.run())[:2]), symmetric(x[2])]),
            Compared.REGRESSOR: regressor._replace(result=lambda: (regressor.run() @ parameters)[back]),
            Compared.LAMBDA: of("computeDelassusMatrix", *lists, 0.0),
            Compared.CONSTRAINED: constraint._replace(result=lambda: constraint.run()[back]),
        }

    def wrenches(self, s: PeerState) -> Any:
        """External forces as Pinocchio takes them: one for each joint, in its axes and about its origin."""
        pin, data, found = self.pin, self.twin.createData(), self.pin.StdVec_Force()
        pin.forwardKinematics(self.twin, data, self.arrays(s)[0])
        sums = [pin.Force.Zero() for _ in range(self.twin.njoints)]
        for name, wrench in zip(self.model.body_names, s.forces, strict=True):
            k = self.model.frame(name)
            joint = int(self.model.frames.body[k]) + 1
            if joint > 0:
                to_frame = np.array(self.model.frames.R[k]).T @ data.oMi[joint].rotation.T
                sums[joint] += self.placement(k).act(pin.Force(to_frame @ wrench[:3], to_frame @ wrench[3:]))
        for force in sums:
            found.append(force)
        return found
