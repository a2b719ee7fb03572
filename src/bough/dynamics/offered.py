"""The functions of the table as methods: what each takes and gives, and how it comes to its compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MethodType
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from bough.dynamics.bound import Library
from bough.dynamics.engine import Device
from bough.dynamics.functions import REFERENCE
from bough.dynamics.keywords import CallKeywords, RunKeywords, TupleKeywords, written_out
from bough.dynamics.outs import by_bodies
from bough.errors import ModelError, ShapeError
from bough.model import Model
from bough.sparsity.factor import Factor
from bough.types import RealArray, Reference

Forces: TypeAlias = Mapping[str, ArrayLike] | ArrayLike | None
ForwardMethod: TypeAlias = Literal["auto", "aba", "crba"]


@written_out
class Offered:
    """One method for each row of the table; `Dynamics` says what they have in common."""

    model: Model
    device: Device
    _library: Library

    # Joint space

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        forces: Forces = None,
        *,
        method: ForwardMethod = "auto",
        **call: Unpack[CallKeywords],
    ) -> RealArray:
        """qdd (nv,) such that H qdd + C = tau. Methods: "aba" (O(n)), "crba" (CRBA and LTDL), "auto" (the cheaper)."""
        return self._pushed("forward_dynamics", method, (q, v, tau), forces, call)

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, qdd: ArrayLike, forces: Forces = None, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """tau = H qdd + C (nv,), by the recursive Newton-Euler algorithm, O(n)."""
        return self._pushed("inverse_dynamics", "auto", (q, v, qdd), forces, call)

    def bias_force(self, q: ArrayLike, v: ArrayLike, forces: Forces = None, **call: Unpack[CallKeywords]) -> RealArray:
        """C (nv,): Coriolis, centrifugal and gravity terms, less what external forces do."""
        return self._pushed("bias_force", "auto", (q, v), forces, call)

    def gravity(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """The torque (nv,) that holds the mechanism at rest against gravity."""
        return self._plain("gravity", call)(q, **call)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """C (nv, nv): C v are the Coriolis and centrifugal terms without gravity, and Hdot - 2 C is skew."""
        return self._plain("coriolis_matrix", call)(q, v, **call)

    def mass_matrix(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """H (nv, nv), both triangles, by the composite-rigid-body algorithm; rotor inertias included."""
        return self._plain("mass_matrix", call)(q, **call)

    def packed_mass_matrix(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """H in packed ancestor rows of `model.dof_tree` (D1 + nv,): what `bough.sparsity` works on."""
        return self._plain("packed_mass_matrix", call)(q, **call)

    def inverse_mass_matrix(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """H^-1 (nv, nv), both triangles, without forming H or by its factor, whichever is cheaper."""
        return self._plain("inverse_mass_matrix", call)(q, **call)

    def factorize(self, q: ArrayLike, **parameters: Any) -> Factor:
        """The LTDL factor of H at one configuration (nq,), on the CPU."""
        if self.device.is_gpu:
            raise ModelError("factorize works on the CPU: use a Dynamics without device, or inverse_mass_matrix")
        if np.ndim(q) > 1:
            raise ShapeError(f"factorize: q must be one configuration ({self.model.nq},), got {np.shape(q)}")
        packed = self._library.function("factorize", given=parameters).call(q, **parameters)
        return Factor(self.model.dof_tree, "ltdl", packed, self._joint_of_freedom)

    def regressor(self, q: ArrayLike, v: ArrayLike, qdd: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Y (nv, 10 bodies) with tau = Y pi + armature qdd, where pi = model.inertias.ravel()."""
        out = call.get("out")
        if out is not None:
            call["out"] = by_bodies("regressor", out)
        Y = self._library.function("regressor", given=call).call(q, v, qdd, **call)
        return out if out is not None else Y.reshape(*Y.shape[:-2], Y.shape[-2] * Y.shape[-1])

    def packed_regressor(self, q: ArrayLike, v: ArrayLike, qdd: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """The rows of Y that are not zero, (pairs, 10): `bough.dynamics.regressor_pairs` says whose they are.

        A quarter of the numbers of Y, or fewer; in large batches memory decides.
        """
        return self._plain("packed_regressor", call)(q, v, qdd, **call)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, qdd: ArrayLike, **call: Unpack[TupleKeywords]
    ) -> tuple[RealArray, RealArray, RealArray]:
        """dtau/dq, dtau/dv and dtau/dqdd = H, (nv, nv) each; q is varied in its tangent space."""
        found: Any = self._library.function("inverse_dynamics_derivatives", given=call).call(q, v, qdd, **call)
        return found

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **call: Unpack[TupleKeywords]
    ) -> tuple[RealArray, RealArray, RealArray]:
        """dqdd/dq, dqdd/dv and dqdd/dtau, (nv, nv) each: -H^-1 dtau/dq, -H^-1 dtau/dv and H^-1.

        The first two are transposed in memory. `out` takes the arrays of an earlier call as they are; into others, all
        three are copied.
        """
        found: Any = self._library.forward_derivatives((q, v, tau), call.pop("out", None), call)
        return found

    # Steps in time

    def semi_implicit_step(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: ArrayLike, **call: Unpack[CallKeywords]
    ) -> tuple[RealArray, RealArray]:
        """(q, v) after dt (1,), of first order: joints with springs, friction, stops and implicit damping.

        Loops are omitted; `bough.simulate.rollout` has them.
        """
        found: Any = self._library.function("semi_implicit_step", given=call).call(q, v, tau, dt, **call)
        return found

    def runge_kutta_step(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: ArrayLike, **call: Unpack[CallKeywords]
    ) -> tuple[RealArray, RealArray]:
        """(q, v) after dt (1,), of fourth order: joints with springs, damping, friction and stops, tau constant.

        Steps in which a joint is locked or released are of first order. Loops are omitted; `bough.simulate.rollout` has
        them.
        """
        found: Any = self._library.function("runge_kutta_step", given=call).call(q, v, tau, dt, **call)
        return found

    def midpoint_step(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: ArrayLike, **call: Unpack[CallKeywords]
    ) -> tuple[RealArray, RealArray]:
        """(q, v) after dt (1,), of second order and symmetric in time; otherwise as `runge_kutta_step`."""
        found: Any = self._library.function("midpoint_step", given=call).call(q, v, tau, dt, **call)
        return found

    # Kinematics

    def placements(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """World placements of all frames, homogeneous, in the order of `model.frame_names`: (frames, 4, 4)."""
        return self._plain("placements", call)(q, **call)

    def placement(self, q: ArrayLike, frame: str, **call: Unpack[CallKeywords]) -> RealArray:
        """World placement of a frame as a homogeneous matrix, (4, 4) or (batch, 4, 4)."""
        try:
            return self._library.of_frame("placement", frame, REFERENCE).call(q, **call)
        except TypeError:
            self._library.parameters.declared("placement", call)
            raise

    def velocity(
        self, q: ArrayLike, v: ArrayLike, frame: str, reference: Reference = REFERENCE, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """Velocity (6,) = [linear, angular] of a frame in "local", "world" or "local_world_aligned" coordinates."""
        try:
            return self._library.of_frame("velocity", frame, reference).call(q, v, **call)
        except TypeError:
            self._library.parameters.declared("velocity", call)
            raise

    def jacobian(
        self, q: ArrayLike, frame: str, reference: Reference = REFERENCE, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """Geometric Jacobian (6, nv) = [linear; angular] of a frame: velocity = J v."""
        try:
            return self._library.of_frame("jacobian", frame, reference).call(q, **call)
        except TypeError:
            self._library.parameters.declared("jacobian", call)
            raise

    def bias_acceleration(
        self, q: ArrayLike, v: ArrayLike, frame: str, reference: Reference = REFERENCE, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """Jdot v (6,): the rate of change of `velocity` while v is constant, without gravity."""
        try:
            return self._library.of_frame("bias_acceleration", frame, reference).call(q, v, **call)
        except TypeError:
            self._library.parameters.declared("bias_acceleration", call)
            raise

    # The whole mechanism

    def center_of_mass(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Centre of mass (3,) in the world."""
        return self._plain("center_of_mass", call)(q, **call)

    def center_of_mass_velocity(self, q: ArrayLike, v: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Velocity (3,) of the centre of mass, in world axes."""
        return self._plain("center_of_mass_velocity", call)(q, v, **call)

    def center_of_mass_jacobian(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Jacobian (3, nv) of the centre of mass, in world axes."""
        return self._plain("center_of_mass_jacobian", call)(q, **call)

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, **given: Unpack[RunKeywords]) -> Any:
        """Kinetic energy in joules, v' H v / 2, rotors included: a float, or an array (batch,)."""
        return _scalar(self._library.function("kinetic_energy", given=given).call(q, v, **given))

    def potential_energy(self, q: ArrayLike, **given: Unpack[RunKeywords]) -> Any:
        """Potential energy in joules, zero with the centre of mass at the world's origin: a float, or (batch,)."""
        return _scalar(self._library.function("potential_energy", given=given).call(q, **given))

    def momentum(self, q: ArrayLike, v: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Momentum (6,) = [linear, angular about the world's origin], in world axes; rotors are left out."""
        return self._plain("momentum", call)(q, v, **call)

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Momentum (6,) = [linear, angular about the centre of mass], in world axes; rotors are left out."""
        return self._plain("centroidal_momentum", call)(q, v, **call)

    def centroidal_momentum_matrix(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """A (6, nv): `centroidal_momentum` = A v; rotors are left out."""
        return self._plain("centroidal_momentum_matrix", call)(q, **call)

    def centroidal_momentum_drift(self, q: ArrayLike, v: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Adot v (6,): the rate of `centroidal_momentum` while v is constant, without gravity."""
        return self._plain("centroidal_momentum_drift", call)(q, v, **call)

    # How they come to their code

    def _plain(self, name: str, call: CallKeywords) -> Callable[..., RealArray]:
        """A function of the table, bound when it is first asked for; calls of the method with default options then go
        to compiled code without a frame in between."""
        if name not in self.__dict__:
            method = MethodType(getattr(type(self), name), self)  # not what another thread put in its place meanwhile
            self.__dict__[name] = self._library.shortcut(name, method)
        return self._library.function(name, given=call).call

    def _pushed(
        self, name: str, method: Any, inputs: tuple[ArrayLike, ...], forces: Forces, call: CallKeywords
    ) -> RealArray:
        """The same for a function that takes external forces."""
        if forces is None and isinstance(method, str) and method == "auto":
            return self._plain(name, call)(*inputs, **call)
        return self._library.pushed(name, method, inputs, forces, **call)

    @cached_property
    def _joint_of_freedom(self) -> list[str]:
        """The name of the joint that each entry of v belongs to."""
        return [j.name for j in self.model.joints for _ in range(j.v.stop - j.v.start)]


def _scalar(x: RealArray) -> Any:
    """A number instead of an array of one, or a column of them instead of a matrix."""
    return x[0] if x.ndim == 1 else x[:, 0]
