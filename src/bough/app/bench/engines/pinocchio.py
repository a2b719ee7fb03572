"""Pinocchio's functions on a twin of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.app.bench.engines.common import Compared, PeerCall, PeerState, required
from bough.app.bench.peers import pinocchio_twin
from bough.errors import ModelError
from bough.model import Model

LARGEST = 400  # degrees of freedom: 2 GB


def calls(model: Model, s: PeerState) -> dict[str, PeerCall]:
    pin = required("pinocchio", "bench")
    if model.nv > LARGEST:
        raise ModelError(f"its data has four tensors of {model.nv:,}^3 numbers, {32e-9 * model.nv**3:,.0f} GB")
    twin = pinocchio_twin(model)
    frames = with_frames(model, twin)
    data, spare = twin.createData(), twin.createData()
    q, v, tau = s.q[s.q_order], s.v[s.v_order], s.tau[s.v_order]
    pushed, back, one = wrenches(model, twin, q, s), np.argsort(s.v_order), frames[s.frame]
    pin.crba(twin, spare, q)
    pin.cholesky.decompose(twin, spare)

    def jacobian() -> Any:
        return pin.computeFrameJacobian(twin, data, q, one, pin.LOCAL_WORLD_ALIGNED)

    def symmetric(X: Any) -> Any:
        full = np.triu(X) + np.triu(X, 1).T
        return full[np.ix_(back, back)]

    return {
        Compared.FORWARD: PeerCall("pin.aba", lambda: pin.aba(twin, data, q, v, tau), lambda: data.ddq[back]),
        Compared.PUSHED: PeerCall("pin.aba", lambda: pin.aba(twin, data, q, v, tau, pushed), lambda: data.ddq[back]),
        Compared.INVERSE: PeerCall("pin.rnea", lambda: pin.rnea(twin, data, q, v, tau), lambda: data.tau[back]),
        Compared.MASS: PeerCall("pin.crba", lambda: pin.crba(twin, data, q), lambda: symmetric(data.M)),
        Compared.FACTOR: PeerCall(
            "pin.cholesky.decompose",
            lambda: pin.cholesky.decompose(twin, spare),
            lambda: pin.cholesky.solve(twin, spare, tau)[back],
        ),
        Compared.SOLVE: PeerCall(
            "pin.cholesky.solve",
            lambda: pin.cholesky.solve(twin, spare, tau),
            lambda: pin.cholesky.solve(twin, spare, tau)[back],
        ),
        Compared.MASS_INVERSE: PeerCall(
            "pin.computeMinverse", lambda: pin.computeMinverse(twin, data, q), lambda: symmetric(data.Minv)
        ),
        Compared.FRAMES: PeerCall(
            "pin.framesForwardKinematics",
            lambda: pin.framesForwardKinematics(twin, data, q),
            lambda: np.array([data.oMf[k].translation for k in frames.values()]),
        ),
        Compared.JACOBIAN: PeerCall("pin.computeFrameJacobian", jacobian, lambda: jacobian()[:, back]),
    }


def with_frames(model: Model, twin: Any) -> dict[int, int]:
    """The twin with all frames that move; their numbers there by those here."""
    pin = required("pinocchio", "bench")
    found = {}
    for k, body in enumerate(model.frames.body):
        if body >= 0:
            at = pin.SE3(np.array(model.frames.R[k]), np.array(model.frames.p[k]))
            found[k] = twin.addFrame(pin.Frame(f"frame {k}", int(body) + 1, at, pin.FrameType.OP_FRAME))
    return found


def wrenches(model: Model, twin: Any, q: Any, s: PeerState) -> Any:
    """External forces as Pinocchio takes them: one for each joint, in its axes and about its origin."""
    pin = required("pinocchio", "bench")
    data, found = twin.createData(), pin.StdVec_Force()
    pin.forwardKinematics(twin, data, q)
    sums = [pin.Force.Zero() for _ in range(twin.njoints)]
    for name, wrench in zip(model.body_names, s.forces, strict=True):
        k = model.frame(name)
        joint = int(model.frames.body[k]) + 1
        if joint > 0:
            turn = np.array(model.frames.R[k]).T @ data.oMi[joint].rotation.T  # world to frame
            local = pin.Force(turn @ wrench[:3], turn @ wrench[3:])
            sums[joint] += pin.SE3(np.array(model.frames.R[k]), np.array(model.frames.p[k])).act(local)
    for force in sums:
        found.append(force)
    return found
