"""`Dynamics`: the functions of one model, compiled one by one when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from inspect import Parameter, signature
from types import MethodType
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack
from warnings import warn

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from bough.arguments import explained
from bough.compile.run.gate import make_front, nothing
from bough.dynamics import functions as table
from bough.dynamics import gradients
from bough.dynamics.engine import CompiledFunction, device_of
from bough.dynamics.functions import REFERENCE
from bough.dynamics.gradients import Gradients
from bough.dynamics.library import Library, named_functions, public_result, with_dt
from bough.dynamics.parameters import Parameters, check_inputs
from bough.dynamics.whole_body import Kinematics
from bough.errors import ModelError, ShapeError
from bough.model import Model
from bough.sparsity.factor import Factor
from bough.types import RealArray, Reference

T = TypeVar("T")


class RunKeywords(TypedDict, total=False):
    """Keywords of a call: threads, and values of the `inputs` of its `Dynamics`."""

    threads: int | None
    inertia: npt.ArrayLike
    armature: npt.ArrayLike
    gravity: npt.ArrayLike
    placement: npt.ArrayLike


class CallKeywords(RunKeywords, total=False):
    """The same, and an array for the result."""

    out: npt.NDArray[Any] | None


class TupleKeywords(RunKeywords, total=False):
    """The same, and a tuple of arrays for several results."""

    out: tuple[npt.NDArray[Any], ...] | None


# by the name that a method gives to its last argument
KEYWORDS = {"given": ("threads",), "call": ("out", "threads")}


def written_out(cls: type[T]) -> type[T]:
    """A class whose methods show `out` and `threads` in their signatures where they take keywords of this file."""
    for method in vars(cls).values():
        if not callable(method):
            continue
        found = signature(method)
        *stated, last = found.parameters.values() or [None]
        if last is not None and last.kind is Parameter.VAR_KEYWORD and str(last.annotation).startswith("Unpack"):
            more = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in KEYWORDS[last.name]]
            rest = Parameter("parameters", Parameter.VAR_KEYWORD)
            method.__signature__ = found.replace(parameters=[*stated, *more, rest])
    return cls


Forces: TypeAlias = Mapping[str, ArrayLike] | ArrayLike | None
ForwardMethod: TypeAlias = Literal["auto", "aba", "crba"]


OPTIONS = ("method", "frame", "reference", "forces")  # of functions, beside their arrays


@written_out
class Dynamics:
    """The dynamics of a model: rigid bodies, joints, rotor inertias, gravity and external forces.

    Joint damping, dry friction, springs, limits, actuators, contacts and closures of the model are ignored:
    `bough.simulate` and `bough.opspace.ConstrainedDynamics` include them. `tau` has all other joint forces and torques.

    All functions take one configuration, (nq,) and (nv,), or a batch, (batch, nq) and (batch, nv). In a batch an array
    without the leading axis serves every row. q and v are in the order of `model.joint_names`, in SI units. Results are
    float32 if all inputs are. `out=` takes an array for the result. Batches run over `threads` (by default
    BOUGH_NUM_THREADS, or the number of CPUs) with the GIL released. The first call of a function traces and compiles it
    for this model; models that are too large for that run general code.

    Parameters
    ----------
    model : the model
    inputs : quantities that become keywords of every call, one value for all rows or one a row: "inertia" (bodies, 10)
        as in `Model.inertias`, "armature" (nv,), "gravity" (3,), "placement" (joints, 4, 4) as in
        `Model.joint_placements`. Without its keyword a call takes the model's own.
    check : whether to refuse inertias that no rigid body has. True: always; False: never; None: unless they are given
        row by row.
    general : always run general code, compiled once for all models
    device : "cuda" runs on a GPU: arrays of PyTorch and CuPy stay there, and the result is of the same kind, on the
        caller's stream; numpy arrays are copied
    layout : "rows", or on a GPU "columns": batches are (n, batch)

    Notes
    -----
    Keywords of several functions:

    - `forces` are external wrenches [force, moment] in N and N m, in world axes, each at the origin of a frame: an
      array (bodies, 6) or (batch, bodies, 6) in the order of `model.body_names`, or a mapping from names of frames to
      (6,) or (batch, 6). Wrenches on the world's frames have no effect.
    - `reference` of a frame's velocity and Jacobian: "local" (at the frame's origin, in its axes), "world" (at the
      world's origin, in its axes) or "local_world_aligned" (at the frame's origin, in the world's axes).
    """

    @explained
    def __init__(
        self,
        model: Model,
        *,
        inputs: Sequence[str] = (),
        check: bool | None = None,
        general: bool = False,
        device: str | None = None,
        layout: str = "rows",
    ) -> None:
        if not isinstance(model, Model):
            raise ModelError(f"Dynamics needs a Model, got {type(model).__name__}; use bough.load for files")
        self.model = model
        self.general = general
        self.device = device_of(device, layout)
        if general:
            self.device.refuse_gpu("there is no general code on a GPU: leave general=True out")
        self.inputs = check_inputs(model, inputs)
        self.check = check
        self._library = Library(model, general, self.device, Parameters(model, self.inputs, check))
        self._gradients = Gradients(self._library)

    def __repr__(self) -> str:
        kind = "general" if self.general else self.device.execution
        inputs = f", inputs={self.inputs}" if self.inputs else ""
        return f"Dynamics({self.model.name!r}, {kind}{inputs})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.model, self.inputs, self.check, self.general, *self.device)

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
        return self._with_forces("forward_dynamics", method, (q, v, tau), forces, call)

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, qdd: ArrayLike, forces: Forces = None, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """tau = H qdd + C (nv,), by the recursive Newton-Euler algorithm, O(n)."""
        return self._with_forces("inverse_dynamics", "auto", (q, v, qdd), forces, call)

    def bias_force(self, q: ArrayLike, v: ArrayLike, forces: Forces = None, **call: Unpack[CallKeywords]) -> RealArray:
        """C (nv,): Coriolis, centrifugal and gravity terms, less external forces."""
        return self._with_forces("bias_force", "auto", (q, v), forces, call)

    def joint_forces(
        self, q: ArrayLike, v: ArrayLike, qdd: ArrayLike, forces: Forces = None, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """The wrench of each joint on its body (joints, 6): [force, moment] at the body's origin, in the body's axes.

        The whole wrench that the joint transmits; `inverse_dynamics` is its part along the joint, and rotors.
        """
        return self._with_forces("joint_forces", "auto", (q, v, qdd), forces, call)

    def generalized_forces(
        self,
        q: ArrayLike,
        frames_or_points: Sequence[str | tuple[str, ArrayLike]],
        F: ArrayLike,
        **call: Unpack[CallKeywords],
    ) -> RealArray:
        """tau (nv,) = J' F of wrenches at frames, or at points (frame, (x, y, z)) of frames, in one sweep.

        F is (count, 6), [force, moment] in the world's axes, or (count, 3), forces alone; (batch, count, ...) in a
        batch.
        """
        return self._library.generalized_forces(frames_or_points, (q, F), call)

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

    def factorize(self, q: ArrayLike, *, out: Factor | RealArray | None = None, **parameters: Any) -> Factor:
        """The LTDL factor of H at one configuration (nq,), on the CPU.

        `out` is an earlier factor of this model, whose numbers are replaced, or an array (D1 + nv,) for the packed rows
        of the new one.
        """
        self.device.refuse_gpu("factorize works on the CPU: use a Dynamics without device, or inverse_mass_matrix")
        if np.ndim(q) > 1:
            raise ShapeError(f"factorize: q must be one configuration ({self.model.nq},), got {np.shape(q)}")
        tree = self.model.dof_tree
        if isinstance(out, Factor) and (out.tree is not tree or out.method != "ltdl"):
            raise ShapeError(f"factorize: out must be an LTDL factor of {self.model.name!r}, got {out!r}")
        found = self._library.function("factorize", given=parameters)
        packed = found.call(q, out=out.packed if isinstance(out, Factor) else out, **parameters)
        if "factorize" not in self.__dict__:
            self.__dict__["factorize"] = self._factorize_shortcut(found)
        return out if isinstance(out, Factor) else Factor(tree, "ltdl", packed, self._dof_joints)

    def _factorize_shortcut(self, found: CompiledFunction) -> Callable[..., Factor]:
        """`factorize`, faster for arrays that fit."""
        method, tree, names = self._written("factorize"), self.model.dof_tree, self._dof_joints
        known = self._library.parameters
        rows_of, defaults = known.shortcut(found, nothing), known.defaults_of_calls

        @wraps(method, updated=())
        def factorize(q: ArrayLike, *, out: Any = None, **parameters: Any) -> Factor:
            packed = rows_of(q) if out is None and not parameters else None
            return method(q, out=out, **parameters) if packed is None else Factor(tree, "ltdl", packed, names)

        return make_front(factorize, 1, found.makers, holder=(Factor, tree, "ltdl"), parameters=defaults)

    def regressor(self, q: ArrayLike, v: ArrayLike, qdd: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Y (nv, 10 bodies) with tau = Y pi + armature qdd, where pi = model.inertias.ravel()."""
        return self._plain("regressor", call)(q, v, qdd, **call)

    def packed_regressor(self, q: ArrayLike, v: ArrayLike, qdd: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """The rows of Y that are not zero, (pairs, 10): `bough.dynamics.regressor_pairs` has their DoF and bodies.

        A quarter of the numbers of Y, or fewer; large batches are limited by memory.
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
        """(q, v) after dt, a number or (batch,), of first order: springs, friction, stops and implicit damping.

        Loops are omitted; `bough.simulate.rollout` has them.
        """
        return self._step("semi_implicit_step", (q, v, tau, dt), call)

    def runge_kutta_step(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: ArrayLike, **call: Unpack[CallKeywords]
    ) -> tuple[RealArray, RealArray]:
        """(q, v) after dt, a number or (batch,), of fourth order: springs, damping, friction, stops; constant tau.

        Steps in which a joint is locked or released are of first order. Loops are omitted; `bough.simulate.rollout` has
        them.
        """
        return self._step("runge_kutta_step", (q, v, tau, dt), call)

    def midpoint_step(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: ArrayLike, **call: Unpack[CallKeywords]
    ) -> tuple[RealArray, RealArray]:
        """(q, v) after dt, a number or (batch,), of second order and symmetric in time; else as `runge_kutta_step`."""
        return self._step("midpoint_step", (q, v, tau, dt), call)

    # Kinematics

    def placements(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """World placements of all frames, homogeneous, in the order of `model.frame_names`: (frames, 4, 4)."""
        return self._plain("placements", call)(q, **call)

    def placement(self, q: ArrayLike, frame: str, **call: Unpack[CallKeywords]) -> RealArray:
        """World placement of a frame as a homogeneous matrix, (4, 4) or (batch, 4, 4)."""
        return self._of_frame("placement", frame, REFERENCE, (q,), call)

    def velocity(
        self, q: ArrayLike, v: ArrayLike, frame: str, reference: Reference = REFERENCE, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """Velocity (6,) = [linear, angular] of a frame in "local", "world" or "local_world_aligned" coordinates."""
        return self._of_frame("velocity", frame, reference, (q, v), call)

    def jacobian(
        self, q: ArrayLike, frame: str, reference: Reference = REFERENCE, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """Geometric Jacobian (6, nv) = [linear; angular] of a frame: velocity = J v."""
        return self._of_frame("jacobian", frame, reference, (q,), call)

    def bias_acceleration(
        self, q: ArrayLike, v: ArrayLike, frame: str, reference: Reference = REFERENCE, **call: Unpack[CallKeywords]
    ) -> RealArray:
        """Jdot v (6,): the rate of change of `velocity` while v is constant, without gravity."""
        return self._of_frame("bias_acceleration", frame, reference, (q, v), call)

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
        found = self._library.function("kinetic_energy", given=given).call(q, v, **given)
        return public_result("1", found, self.device)

    def potential_energy(self, q: ArrayLike, **given: Unpack[RunKeywords]) -> Any:
        """Potential energy in joules, zero with the centre of mass at the world's origin: a float, or (batch,)."""
        found = self._library.function("potential_energy", given=given).call(q, **given)
        return public_result("1", found, self.device)

    def momentum(self, q: ArrayLike, v: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Momentum (6,) = [linear, angular about the world's origin], in world axes; rotors are omitted."""
        return self._plain("momentum", call)(q, v, **call)

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Momentum (6,) = [linear, angular about the centre of mass], in world axes; rotors are omitted."""
        return self._plain("centroidal_momentum", call)(q, v, **call)

    def centroidal_momentum_matrix(self, q: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """A (6, nv): `centroidal_momentum` = A v; rotors are omitted."""
        return self._plain("centroidal_momentum_matrix", call)(q, **call)

    def centroidal_momentum_drift(self, q: ArrayLike, v: ArrayLike, **call: Unpack[CallKeywords]) -> RealArray:
        """Adot v (6,): the rate of `centroidal_momentum` while v is constant, without gravity."""
        return self._plain("centroidal_momentum_drift", call)(q, v, **call)

    # Several at once

    def kinematics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike | None = None,
        frames: Sequence[str] | None = None,
        jacobians: Sequence[str] = (),
        *,
        reference: Reference = REFERENCE,
        threads: int | None = None,
        **parameters: Any,
    ) -> Kinematics:
        """Placements of `frames` (all by default), with v their velocities and drifts, and Jacobians of some of them.

        One compiled function for each choice of frames. Velocities, drifts (Jdot v) and Jacobians are in `reference`,
        [linear, angular].
        """
        given = {"threads": threads, **parameters}
        return self._library.kinematics(frames, jacobians, reference, (q,) if v is None else (q, v), given)

    def fused(self, functions: Sequence[Any]) -> Callable[..., tuple[RealArray, ...]]:
        """Several functions as one, compiled together: common subexpressions are computed once.

        Functions are named, or listed with options, as in `export_c`. The result takes the arrays that any of them
        takes, in the order in which they first occur, and returns a tuple of their results.

        >>> both = dyn.fused(["mass_matrix", "bias_force", ("jacobian", {"frame": "hand"})])
        >>> H, C, J = both(q, v)
        """
        return self._library.fused(named_functions(functions))

    def together(self, functions: Sequence[Any]) -> Callable[..., tuple[RealArray, ...]]:
        """The former name of `fused`."""
        warn("Dynamics.together is called Dynamics.fused now", DeprecationWarning, stacklevel=2)
        return self.fused(functions)

    # Derivatives

    vjp, jvp, hvp, derivatives = gradients.vjp, gradients.jvp, gradients.hvp, gradients.derivatives

    def with_status(
        self, function: str, *inputs: npt.ArrayLike, out: Any = None, threads: int | None = None, **parameters: Any
    ) -> tuple[Any, npt.NDArray[np.int64]]:
        """(result, status) of a function: a bad row of a batch raises no error.

        `inputs` are its arrays; `forces`, `method`, `frame` and `reference` are given by name, where it takes them. The
        status, (batch,), is 0 for success, 2 where an input is not finite (the result is NaN there) and 3 where
        the result is not finite: the mechanism is singular there, a quaternion is zero, or the numbers are too large.
        """
        options = {name: parameters.pop(name) for name in OPTIONS if name in parameters}
        how = {"out": out, "threads": threads, **parameters}
        return self._library.with_status(function, inputs, options, **how)

    # How methods find compiled code

    def _step(self, name: str, inputs: tuple[Any, ...], call: CallKeywords) -> tuple[RealArray, RealArray]:
        given = with_dt(table.FUNCTIONS[name].arguments, inputs, self.device)
        function = self._library.function(name, given=call)
        found: Any = function.call(*given, **call)
        if name not in self.__dict__:
            self.__dict__[name] = self._step_shortcut(name, function)
        return found

    def _step_shortcut(self, name: str, function: CompiledFunction) -> Callable[..., Any]:
        """A step that runs compiled code directly if the arrays fit and dt is that of the last step."""
        method, last = self._written(name), {0.0: np.zeros(1)}
        make = self._library.parameters.shortcut(function, nothing)

        @wraps(method, updated=())
        def step(q: Any, v: Any, tau: Any, dt: Any, **call: Any) -> Any:
            found = None
            if not call and type(dt) is float:
                at = last.get(dt)
                if at is None:
                    last.clear()
                    at = last[dt] = np.array([dt])
                found = make(q, v, tau, at)
            return method(q, v, tau, dt, **call) if found is None else found

        return step

    def _plain(self, name: str, call: CallKeywords) -> Callable[..., RealArray]:
        """A function of the table, bound on first use; later calls of the method with default options run compiled
        code without a Python frame."""
        if name not in self.__dict__:
            self.__dict__[name] = self._library.shortcut(name, self._written(name))
        return self._library.function(name, given=call).call

    def _written(self, name: str) -> Callable[..., Any]:
        """The method as written, not its compiled shortcut."""
        method = getattr(type(self), name)
        return MethodType(getattr(method, "__wrapped__", method), self)

    def _of_frame(
        self, name: str, frame: str, reference: Reference, inputs: tuple[ArrayLike, ...], call: CallKeywords
    ) -> RealArray:
        """A function of a frame; later calls with default options run compiled code without a Python frame."""
        if name not in self.__dict__:
            self.__dict__[name] = self._library.frame_shortcut(name, self._written(name))
        return self._library.call_of_frame(name, frame, reference, inputs, call)

    def _with_forces(
        self, name: str, method: Any, inputs: tuple[ArrayLike, ...], forces: Forces, call: CallKeywords
    ) -> RealArray:
        """The same for a function that takes external forces."""
        if forces is None and isinstance(method, str) and method == "auto":
            return self._plain(name, call)(*inputs, **call)
        return self._library.with_forces(name, method, inputs, forces, **call)

    @cached_property
    def _dof_joints(self) -> list[str]:
        """The name of the joint that each entry of v belongs to."""
        return [j.name for j in self.model.joints for _ in range(j.v.stop - j.v.start)]


def _shortened(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that takes its compiled shortcut once there is one, even if it was bound before."""

    @wraps(method)
    def call(self: Dynamics, *given: Any, **named: Any) -> Any:
        quick = self.__dict__.get(name)
        return method(self, *given, **named) if quick is None else quick(*given, **named)

    return call


for _name in table.FUNCTIONS:
    setattr(Dynamics, _name, _shortened(_name, getattr(Dynamics, _name)))


def _restore(
    model: Model, inputs: tuple[str, ...], check: bool | None, general: bool, device: str, layout: str
) -> Dynamics:
    return Dynamics(model, inputs=inputs, check=check, general=general, device=device, layout=layout)
