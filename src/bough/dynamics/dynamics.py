"""`Dynamics`: the functions of one model, compiled one by one when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.dynamics import functions as table
from bough.dynamics.bound import Library
from bough.dynamics.derivatives import force_slopes, inverse_dynamics_derivatives
from bough.dynamics.engine import device_of
from bough.dynamics.functions import REFERENCE
from bough.dynamics.given import Parameters
from bough.dynamics.gradient_calls import Gradients
from bough.dynamics.parameters import check_inputs
from bough.dynamics.together import check_wanted
from bough.dynamics.whole_body import Kinematics
from bough.errors import ModelError, OptionError, ShapeError
from bough.model import Model
from bough.sparsity.factor import Factor
from bough.types import Reference

Array = npt.NDArray[Any]
Forces: TypeAlias = Mapping[str, npt.ArrayLike] | npt.ArrayLike | None
ForwardMethod: TypeAlias = Literal["auto", "aba", "crba"]
OPTIONS = ("method", "frame", "reference", "forces")  # what a function may be asked for beside its arrays


class Dynamics:
    """The dynamics of a model: rigid bodies, joints, rotor inertias, gravity and external forces, and nothing else.

    It is frictionless: joint damping, dry friction, springs, limits, actuators and contacts of the model are left out
    (`bough.simulate` adds them). It is of the tree alone: `model.closures` are left out, too
    (`bough.opspace.ConstrainedDynamics` and `bough.simulate` hold them). Forces and torques that joints feel besides
    belong in `tau`.

    All functions take one configuration, (nq,) and (nv,), or a batch, (batch, nq) and (batch, nv); in a batch an array
    without the leading axis serves every row. q and v are in the order of `model.joint_names`; SI units. float32 arrays
    give float32 results, if all inputs are float32. `out=` takes an array for the result. Batches run over `threads`
    (by default BOUGH_NUM_THREADS, or the number of CPUs) with the GIL released. Each function is traced and compiled
    for this model when it is first called, unless `general` is set or the model is too large: then the code that serves
    every model is used.

    `forces` are external wrenches [force, moment] in newtons and newton metres, each at the origin of a frame and in
    world axes. As an array they act on the frames of `model.body_names` in that order, (bodies, 6) or
    (batch, bodies, 6); as a mapping on the frames that it names, each (6,) or (batch, 6). Wrenches on the world's
    frames have no effect. None and an empty mapping mean no forces.

    `inputs` names quantities of the model that become keywords of every call, one for all rows or one for each:
    "inertia" (bodies, 10) as in `Model.inertias`, "armature" (nv,), "gravity" (3,) and "placement" (joints, 4, 4) as in
    `Model.joint_placements`; without its keyword a call takes the model's own. Inertias that no body has are refused
    (`check` = None: but for those given row by row; True: those, too; False: never).

    With device="cuda" all of this runs on a CUDA card: arrays of PyTorch and CuPy stay there and results come in kind,
    on the caller's stream; numpy arrays are copied. With layout="columns" batches are (n, batch) there.

    `reference` of a frame's velocity and Jacobian: "local" (at the frame's origin, in its axes), "world" (at the
    world's origin, in its axes) or "local_world_aligned" (at the frame's origin, in the world's axes).
    """

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
        if general and self.device.name == "cuda":
            raise ModelError("there is no general code on the card: leave general=True out")
        self.inputs = check_inputs(model, inputs)
        self.check = check
        self._library = Library(model, general, self.device, Parameters(model, self.inputs, check))

    def __repr__(self) -> str:
        kind = "general" if self.general else "specialised" if self.device.name == "cpu" else "cuda"
        inputs = f", inputs={self.inputs}" if self.inputs else ""
        return f"Dynamics({self.model.name!r}, {kind}{inputs})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.model, self.inputs, self.check, self.general, *self.device)

    # Joint space

    def forward_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        forces: Forces = None,
        *,
        method: ForwardMethod = "auto",
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """qdd (nv,) such that H qdd + C = tau. Methods: "aba" (O(n)), "crba" (CRBA and LTDL), "auto" (the cheaper)."""
        if forces is None and method == "auto":
            return self._forward(q, v, tau, out=out, threads=threads, **parameters)
        return self._library.pushed(
            "forward_dynamics", method, (q, v, tau), forces, out=out, threads=threads, **parameters
        )

    def inverse_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        qdd: npt.ArrayLike,
        forces: Forces = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """tau = H qdd + C (nv,), by the recursive Newton-Euler algorithm, O(n)."""
        if forces is None:
            return self._inverse(q, v, qdd, out=out, threads=threads, **parameters)
        return self._library.pushed(
            "inverse_dynamics", None, (q, v, qdd), forces, out=out, threads=threads, **parameters
        )

    def bias_force(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        forces: Forces = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """C (nv,): Coriolis, centrifugal and gravity terms, less what external forces do."""
        if forces is None:
            return self._bias(q, v, out=out, threads=threads, **parameters)
        return self._library.pushed("bias_force", None, (q, v), forces, out=out, threads=threads, **parameters)

    def gravity(
        self, q: npt.ArrayLike, *, out: Array | None = None, threads: int | None = None, **parameters: Any
    ) -> Array:
        """The torque (nv,) that holds the mechanism at rest against gravity."""
        return self._gravity(q, out=out, threads=threads, **parameters)

    def coriolis_matrix(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """C (nv, nv): C v are the Coriolis and centrifugal terms without gravity, and Hdot - 2 C is skew."""
        return self._library.function("coriolis_matrix").call(q, v, out=out, threads=threads, **parameters)

    def mass_matrix(
        self, q: npt.ArrayLike, *, out: Array | None = None, threads: int | None = None, **parameters: Any
    ) -> Array:
        """H (nv, nv), both triangles, by the composite-rigid-body algorithm; rotor inertias included."""
        return self._mass(q, out=out, threads=threads, **parameters)

    def packed_mass_matrix(
        self, q: npt.ArrayLike, *, out: Array | None = None, threads: int | None = None, **parameters: Any
    ) -> Array:
        """H in packed ancestor rows of `model.dof_tree` (D1 + nv,): what `bough.sparsity` works on."""
        return self._packed(q, out=out, threads=threads, **parameters)

    def inverse_mass_matrix(
        self, q: npt.ArrayLike, *, out: Array | None = None, threads: int | None = None, **parameters: Any
    ) -> Array:
        """H^-1 (nv, nv), both triangles, without forming H or by its factor, whichever is cheaper."""
        return self._inverse_mass(q, out=out, threads=threads, **parameters)

    def factorize(self, q: npt.ArrayLike, **parameters: Any) -> Factor:
        """The LTDL factor of H at one configuration (nq,), on the CPU."""
        if self.device.name == "cuda":
            raise ModelError(
                "factorize gives a factor on the CPU: use a Dynamics without device, or inverse_mass_matrix"
            )
        if np.ndim(q) > 1:
            raise ShapeError(f"factorize: q must be one configuration ({self.model.nq},), got {np.shape(q)}")
        packed = self._library.function("factorize").call(q, **parameters)
        return Factor(self.model.dof_tree, "ltdl", packed, self._dof_names)

    def regressor(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        qdd: npt.ArrayLike,
        *,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """Y (nv, 10 bodies) with tau = Y pi + armature qdd, where pi = model.inertias.ravel()."""
        Y = self._library.function("regressor").call(q, v, qdd, threads=threads, **parameters)
        return Y.reshape(*Y.shape[:-2], Y.shape[-2] * Y.shape[-1])

    def inverse_dynamics_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        qdd: npt.ArrayLike,
        *,
        threads: int | None = None,
        **parameters: Any,
    ) -> tuple[Array, Array, Array]:
        """dtau/dq, dtau/dv and dtau/dqdd, (nv, nv) each; q is varied in its tangent space.

        Differentiated on the graph of the kernel, so always specialised; refused if the graph becomes too large.
        """
        found: tuple[Array, Array, Array] = self._inverse_derivatives(q, v, qdd, threads=threads, **parameters)
        return found

    def forward_dynamics_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        *,
        threads: int | None = None,
        **parameters: Any,
    ) -> tuple[Array, Array, Array]:
        """dqdd/dq, dqdd/dv and dqdd/dtau, (nv, nv) each: -H^-1 dtau/dq, -H^-1 dtau/dv and H^-1."""
        if self.device.layout == "columns":
            raise ModelError('forward_dynamics_derivatives needs layout="rows": it multiplies matrices row by row')
        qdd = self.forward_dynamics(q, v, tau, threads=threads, **parameters)
        slopes = self._force_slopes(q, v, qdd, threads=threads, **parameters)
        H_inv = self.inverse_mass_matrix(q, threads=threads, **parameters)
        both = H_inv @ slopes
        return both[..., : self.model.nv], both[..., self.model.nv :], H_inv

    # Kinematics

    def placements(
        self, q: npt.ArrayLike, *, out: Array | None = None, threads: int | None = None, **parameters: Any
    ) -> Array:
        """World placements of all frames, homogeneous, in the order of `model.frame_names`: (frames, 4, 4)."""
        return self._placements(q, out=out, threads=threads, **parameters)

    def placement(
        self,
        q: npt.ArrayLike,
        frame: str,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """World placement of a frame as a homogeneous matrix, (4, 4) or (batch, 4, 4)."""
        return self._library.of_frame("placement", frame, REFERENCE).call(q, out=out, threads=threads, **parameters)

    def velocity(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        frame: str,
        reference: Reference = REFERENCE,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """Velocity (6,) = [linear, angular] of a frame in "local", "world" or "local_world_aligned" coordinates."""
        return self._library.of_frame("velocity", frame, reference).call(q, v, out=out, threads=threads, **parameters)

    def jacobian(
        self,
        q: npt.ArrayLike,
        frame: str,
        reference: Reference = REFERENCE,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """Geometric Jacobian (6, nv) = [linear; angular] of a frame: velocity = J v."""
        return self._library.of_frame("jacobian", frame, reference).call(q, out=out, threads=threads, **parameters)

    def bias_acceleration(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        frame: str,
        reference: Reference = REFERENCE,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """Jdot v (6,): the rate of change of `velocity` while v is constant, without gravity."""
        return self._library.of_frame("bias_acceleration", frame, reference).call(
            q, v, out=out, threads=threads, **parameters
        )

    # The whole mechanism

    def center_of_mass(
        self, q: npt.ArrayLike, *, out: Array | None = None, threads: int | None = None, **parameters: Any
    ) -> Array:
        """Centre of mass (3,) in the world."""
        return self._library.function("center_of_mass").call(q, out=out, threads=threads, **parameters)

    def center_of_mass_velocity(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """Velocity (3,) of the centre of mass, in world axes."""
        return self._library.function("center_of_mass_velocity").call(q, v, out=out, threads=threads, **parameters)

    def center_of_mass_jacobian(
        self, q: npt.ArrayLike, *, out: Array | None = None, threads: int | None = None, **parameters: Any
    ) -> Array:
        """Jacobian (3, nv) of the centre of mass, in world axes."""
        return self._library.function("center_of_mass_jacobian").call(q, out=out, threads=threads, **parameters)

    def kinetic_energy(
        self, q: npt.ArrayLike, v: npt.ArrayLike, *, threads: int | None = None, **parameters: Any
    ) -> Any:
        """Kinetic energy in joules, v' H v / 2, rotors included: a float, or an array (batch,)."""
        return _scalar(self._library.function("kinetic_energy").call(q, v, threads=threads, **parameters))

    def potential_energy(self, q: npt.ArrayLike, *, threads: int | None = None, **parameters: Any) -> Any:
        """Potential energy in joules, zero with the centre of mass at the world's origin: a float, or (batch,)."""
        return _scalar(self._library.function("potential_energy").call(q, threads=threads, **parameters))

    def momentum(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """Momentum (6,) = [linear, angular about the world's origin], in world axes; rotors are left out."""
        return self._library.function("momentum").call(q, v, out=out, threads=threads, **parameters)

    def centroidal_momentum(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """Momentum (6,) = [linear, angular about the centre of mass], in world axes; rotors are left out."""
        return self._library.function("centroidal_momentum").call(q, v, out=out, threads=threads, **parameters)

    def centroidal_momentum_matrix(
        self, q: npt.ArrayLike, *, out: Array | None = None, threads: int | None = None, **parameters: Any
    ) -> Array:
        """A (6, nv): `centroidal_momentum` = A v; rotors are left out."""
        return self._library.function("centroidal_momentum_matrix").call(q, out=out, threads=threads, **parameters)

    def centroidal_momentum_drift(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> Array:
        """Adot v (6,): the rate of `centroidal_momentum` while v is constant, without gravity."""
        return self._library.function("centroidal_momentum_drift").call(q, v, out=out, threads=threads, **parameters)

    # Gradients

    def vjp(
        self,
        function: str,
        *inputs: npt.ArrayLike,
        weight: npt.ArrayLike,
        wrt: Sequence[str] | None = None,
        threads: int | None = None,
        **given: Any,
    ) -> dict[str, Array]:
        """The gradient of sum(weight * result) of a function of the table, by each input in `wrt` (by default all).

        `weight` has the shape of the result. The gradient by q is on the tangent space, (nv,). `given` are options of
        the function (frame=, reference=, method=) and values of the `inputs` that this `Dynamics` was made with, by
        which it is differentiated, too. Traced, so refused for models that are too large.
        """
        return self._gradients.vjp(function, inputs, weight, wrt, given, threads)

    def jvp(
        self,
        function: str,
        *inputs: npt.ArrayLike,
        along: Mapping[str, npt.ArrayLike],
        threads: int | None = None,
        **given: Any,
    ) -> Array:
        """The rate of the result of a function of the table as its inputs move along directions, q along a velocity.

        `along` names inputs, or parameters, and gives each a direction; `given` is as in `vjp`.
        """
        return self._gradients.jvp(function, inputs, along, given, threads)

    def hvp(
        self,
        function: str,
        *inputs: npt.ArrayLike,
        weight: npt.ArrayLike,
        along: Mapping[str, npt.ArrayLike],
        wrt: Sequence[str] | None = None,
        threads: int | None = None,
        **given: Any,
    ) -> dict[str, Array]:
        """The rate of what `vjp` gives as inputs move along directions: a product with second derivatives.

        Of q, it is the rate of the gradient on the tangent space, as the configuration moves with that velocity.
        """
        return self._gradients.hvp(function, inputs, weight, along, (wrt, given, threads))

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
        for what, names in (("frames", frames), ("jacobians", jacobians)):
            if isinstance(names, str):
                raise OptionError(f"kinematics: {what} is a list of names, got {names!r}; write [{names!r}]")
        chosen = tuple(self.model.frame_names if frames is None else frames)
        found = self._library.kinematics(chosen, tuple(jacobians), reference, v is not None)
        inputs = (q,) if v is None else (q, v)
        T, *moving, J = found.call(*inputs, threads=threads, **parameters)
        each = {name: J[..., k, :, :] for k, name in enumerate(jacobians)}
        velocities, drifts = moving or (None, None)
        return Kinematics(chosen, T, velocities, drifts, each)

    def together(self, functions: Sequence[Any]) -> Callable[..., tuple[Array, ...]]:
        """Several functions as one, compiled together: what they share is computed once.

        Functions are named, or given with options, as in `export_c`. The result takes the arrays that any of them
        takes, in the order in which they first occur, and gives a tuple of their results.

        >>> both = dyn.together(["mass_matrix", "bias_force", ("jacobian", {"frame": "hand"})])
        >>> H, C, J = both(q, v)
        """
        return self._library.together(check_wanted(functions)).call

    def with_status(
        self,
        function: str,
        *inputs: npt.ArrayLike,
        out: Any = None,
        threads: int | None = None,
        **parameters: Any,
    ) -> tuple[Any, npt.NDArray[np.int64]]:
        """(result, status) of a function: no row of a batch raises for the others.

        `inputs` are its arrays; `forces`, `method`, `frame` and `reference` are given by name, where it takes them. The
        status, (batch,), is 0 where all is well, 2 where an input is not finite (the result is NaN there) and 3 where
        the result is not finite: the mechanism is singular there, a quaternion is zero, or the numbers are too large.
        """
        options = {name: parameters.pop(name) for name in OPTIONS if name in parameters}
        how = {"out": out, "threads": threads, **parameters}
        return self._library.with_status(table.function(function).name, inputs, options, **how)

    # Functions that are called often: bound when first asked for, then put in the place of the method

    def _shortcut(self, name: str) -> Callable[..., Array]:
        """Calls of the method with default options then go to compiled code without a frame in between."""
        self.__dict__[name] = self._library.shortcut(name, getattr(self, name))
        return self._library.function(name).call

    @cached_property
    def _forward(self) -> Callable[..., Array]:
        return self._shortcut("forward_dynamics")

    @cached_property
    def _inverse(self) -> Callable[..., Array]:
        return self._shortcut("inverse_dynamics")

    @cached_property
    def _bias(self) -> Callable[..., Array]:
        return self._shortcut("bias_force")

    @cached_property
    def _gravity(self) -> Callable[..., Array]:
        return self._shortcut("gravity")

    @cached_property
    def _mass(self) -> Callable[..., Array]:
        return self._shortcut("mass_matrix")

    @cached_property
    def _packed(self) -> Callable[..., Array]:
        return self._shortcut("packed_mass_matrix")

    @cached_property
    def _inverse_mass(self) -> Callable[..., Array]:
        return self._shortcut("inverse_mass_matrix")

    @cached_property
    def _placements(self) -> Callable[..., Array]:
        return self._shortcut("placements")

    @cached_property
    def _inverse_derivatives(self) -> Callable[..., Any]:
        return inverse_dynamics_derivatives(self._library.parameters, self.device)

    @cached_property
    def _force_slopes(self) -> Callable[..., Any]:
        return force_slopes(self._library.parameters, self.device)

    @cached_property
    def _gradients(self) -> Gradients:
        return Gradients(self._library)

    @cached_property
    def _dof_names(self) -> list[str]:
        return [j.name for j in self.model.joints for _ in range(j.v.stop - j.v.start)]


def _scalar(x: Array) -> Any:
    """A number instead of an array of one, or a column of them instead of a matrix."""
    return x[0] if x.ndim == 1 else x[:, 0]


def _restore(
    model: Model, inputs: tuple[str, ...], check: bool | None, general: bool, device: str, layout: str
) -> Dynamics:
    return Dynamics(model, inputs=inputs, check=check, general=general, device=device, layout=layout)
