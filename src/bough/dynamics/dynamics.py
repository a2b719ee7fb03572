"""`Dynamics`: the functions of one model, compiled one by one when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.routine import Routine
from bough.dynamics import center_of_mass, energy, momentum
from bough.dynamics.aba import ABA
from bough.dynamics.crba import CRBA, MASS_MATRIX
from bough.dynamics.derivatives import inverse_dynamics_derivatives
from bough.dynamics.engine import BoundFunction, Candidates, bind, cheapest
from bough.dynamics.external import external_forces, points_of
from bough.dynamics.forward import FACTORIZE, FORWARD_CRBA, Pattern, pattern
from bough.dynamics.inverse_by_factor import INVERSE_BY_FACTOR
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from bough.dynamics.jacobian import JACOBIAN
from bough.dynamics.kinematics import BIAS_ACCELERATION, PLACEMENT, VELOCITY, frame_of
from bough.dynamics.rnea import BIAS, GRAVITY, RNEA
from bough.errors import ModelError
from bough.model import Model
from bough.sparsity.factor import Factor
from bough.sparsity.memory import require_memory

Array = npt.NDArray[Any]
Forces = Mapping[str, npt.ArrayLike] | None


class Dynamics:
    """All functions take one configuration, (nq,) and (nv,), or a batch, (batch, nq) and (batch, nv).

    float32 arrays give float32 results; `out=` takes an array for the result. Batches run over threads with the GIL
    released. Each function is traced and compiled for this model when it is first called, unless `general` is set or
    the model is too large: then the code that serves every model is used.

    `forces` are external wrenches by frame name, each (6,) = [force, moment about the frame's origin] in world axes.
    """

    def __init__(self, model: Model, *, general: bool = False) -> None:
        if not isinstance(model, Model):
            raise ModelError(f"Dynamics needs a Model, got {type(model).__name__}; use bough.load for files")
        self.model = model
        self.general = general
        self._functions: dict[Any, BoundFunction] = {}

    def __repr__(self) -> str:
        return f"Dynamics({self.model.name!r}, {'general' if self.general else 'specialised'})"

    # Joint space

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, forces: Forces = None, *, method: str = "auto", out: Array | None = None
    ) -> Array:
        """qdd (nv,) such that H qdd + C = tau. Methods: "aba" (O(n)), "crba" (CRBA and LTDL), "auto" (the cheaper)."""
        if forces is None and method == "auto":
            return self._forward(q, v, tau, out)
        if forces is None:
            return self._by_method(method, "f_ext").call(q, v, tau, out=out)
        return self._by_method(method).call(q, v, tau, self._f_ext(q, forces), out=out)

    def inverse_dynamics(self, q: Any, v: Any, qdd: Any, forces: Forces = None, *, out: Array | None = None) -> Array:
        """tau = H qdd + C, (nv,), by the recursive Newton-Euler algorithm, O(n)."""
        if forces is None:
            return self._inverse(q, v, qdd, out)
        return self._function(RNEA).call(q, v, qdd, self._f_ext(q, forces), out=out)

    def bias_force(self, q: Any, v: Any, forces: Forces = None, *, out: Array | None = None) -> Array:
        """C = Coriolis, centrifugal and gravity terms, (nv,), less external forces."""
        if forces is None:
            return self._bias(q, v, out)
        return self._function(BIAS).call(q, v, self._f_ext(q, forces), out=out)

    def gravity(self, q: Any, *, out: Array | None = None) -> Array:
        """The torque (nv,) that holds the mechanism at rest against gravity."""
        return self._gravity(q, out)

    def mass_matrix(self, q: Any, *, out: Array | None = None) -> Array:
        """H (nv, nv), both triangles, by the composite-rigid-body algorithm."""
        return self._mass(q, out)

    def packed_mass_matrix(self, q: Any, *, out: Array | None = None) -> Array:
        """H in packed ancestor rows of `model.dof_tree` (D1 + nv,): what `bough.sparsity` works on."""
        return self._packed(q, out)

    def inverse_mass_matrix(self, q: Any, *, out: Array | None = None) -> Array:
        """H^-1 (nv, nv), both triangles, without forming H."""
        return self._inverse_mass(q, out)

    def factorize(self, q: Any) -> Factor:
        """The LTDL factor of H at one configuration."""
        return Factor(self.model.dof_tree, "ltdl", self._factor(q), self._dof_names)

    def inverse_dynamics_derivatives(self, q: Any, v: Any, qdd: Any) -> tuple[Array, Array, Array]:
        """dtau/dq, dtau/dv and dtau/dqdd, (nv, nv) each; q is varied in its tangent space.

        Differentiated on the graph of the kernel, so always specialised; refused if the graph becomes too large.
        """
        return self._inverse_derivatives(q, v, qdd)

    def forward_dynamics_derivatives(self, q: Any, v: Any, tau: Any) -> tuple[Array, Array, Array]:
        """dqdd/dq, dqdd/dv and dqdd/dtau, (nv, nv) each: -H^-1 dtau/dq, -H^-1 dtau/dv and H^-1."""
        qdd = self.forward_dynamics(q, v, tau)
        by_q, by_v, _ = self.inverse_dynamics_derivatives(q, v, qdd)
        H_inv = self.inverse_mass_matrix(q)
        return -H_inv @ by_q, -H_inv @ by_v, H_inv

    # Kinematics

    def placement(self, q: Any, frame: str) -> Array:
        """World placement of a frame as a homogeneous matrix, (4, 4) or (batch, 4, 4)."""
        return self._of_frame(PLACEMENT, frame, "local").call(q)

    def velocity(self, q: Any, v: Any, frame: str, reference: str = "local_world_aligned") -> Array:
        """Velocity (6,) = [linear, angular] of a frame in "local", "world" or "local_world_aligned" coordinates."""
        return self._of_frame(VELOCITY, frame, reference).call(q, v)

    def jacobian(
        self, q: Any, frame: str, reference: str = "local_world_aligned", *, out: Array | None = None
    ) -> Array:
        """Geometric Jacobian (6, nv) = [linear; angular] of a frame: velocity = J v."""
        return self._of_frame(JACOBIAN, frame, reference).call(q, out=out)

    def bias_acceleration(self, q: Any, v: Any, frame: str, reference: str = "local_world_aligned") -> Array:
        """Jdot v (6,): the rate of change of `velocity` while v is constant."""
        return self._of_frame(BIAS_ACCELERATION, frame, reference).call(q, v)

    # The whole mechanism

    def center_of_mass(self, q: Any) -> Array:
        """Centre of mass (3,) in the world."""
        return self._function(center_of_mass.CENTER_OF_MASS).call(q)

    def center_of_mass_velocity(self, q: Any, v: Any) -> Array:
        """Velocity (3,) of the centre of mass."""
        return self._function(center_of_mass.CENTER_OF_MASS_VELOCITY).call(q, v)

    def center_of_mass_jacobian(self, q: Any) -> Array:
        """Jacobian (3, nv) of the centre of mass."""
        return self._function(center_of_mass.CENTER_OF_MASS_JACOBIAN).call(q)

    def kinetic_energy(self, q: Any, v: Any) -> Any:
        """Kinetic energy in joules: a float, or (batch,)."""
        return self._function(energy.KINETIC_ENERGY).call(q, v)[..., 0]

    def potential_energy(self, q: Any) -> Any:
        """Potential energy in joules, zero with the centre of mass at the world's origin: a float, or (batch,)."""
        return self._function(energy.POTENTIAL_ENERGY).call(q)[..., 0]

    def momentum(self, q: Any, v: Any) -> Array:
        """Momentum (6,) = [linear, angular about the world's origin], in world axes."""
        return self._function(momentum.MOMENTUM).call(q, v)

    def centroidal_momentum(self, q: Any, v: Any) -> Array:
        """Momentum (6,) = [linear, angular about the centre of mass], in world axes."""
        return self._function(momentum.CENTROIDAL_MOMENTUM).call(q, v)

    # Binding: a function is made when it is first asked for, then found in the instance

    def _shortcut(self, name: str, function: BoundFunction) -> Callable[..., Any]:
        """Put compiled code in the place of a method: calls with default options then skip the method's own frame."""
        self.__dict__[name] = function.shortcut(getattr(self, name))
        return function.call

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.model, self.general)

    def _function(self, routine: Routine, *constants: Any, key: Any = None) -> BoundFunction:
        key = key or (routine.name, routine.zeros)
        if key not in self._functions:
            self._functions[key] = bind(routine, self.model, *constants, general=self.general)
        return self._functions[key]

    def _of_frame(self, routine: Routine, frame: str, reference: str) -> BoundFunction:
        key = (routine.name, frame, reference)
        found = self._functions.get(key)
        return found or self._function(routine, frame_of(self.model, frame, reference), key=key)

    def _by_method(self, method: str, *zeros: str) -> BoundFunction:
        found = self._functions.get((method, zeros))
        if found is None:
            found = self._functions[method, zeros] = self._forward_by(method, zeros)
        return found

    def _forward_by(self, method: str, zeros: tuple[str, ...]) -> BoundFunction:
        if method not in ("aba", "crba", "auto"):
            raise ValueError(f'forward_dynamics: unknown method {method!r}; expected "aba", "crba" or "auto"')
        if method == "aba" and self.model.couplings:
            raise ModelError(f'{self.model.name!r} has mimic joints, which tie branches together: use method="crba"')
        if method == "crba" or self.model.couplings:
            self._require("coupled", 'forward_dynamics with method="crba"')
            return self._function(FORWARD_CRBA.without(*zeros), self._pattern)
        aba = ABA.without(*zeros)
        if method == "aba" or self.general:
            return self._function(aba)
        return self._cheapest({"aba": (aba, ()), "crba": (FORWARD_CRBA.without(*zeros), (self._pattern,))})

    def _cheapest(self, candidates: Candidates) -> BoundFunction:
        """The cheapest candidate for one configuration, and the cheapest for batches."""

        def bound(name: str) -> BoundFunction:
            routine, constants = candidates[name]
            return self._function(routine, *constants, key=(name, routine.name, routine.zeros))

        any_of_them = bound(next(iter(candidates)))
        return any_of_them.with_code_of(lambda batch: bound(cheapest(self.model, candidates, batch=batch)))

    @cached_property
    def _dof_names(self) -> list[str]:
        return [j.name for j in self.model.joints for _ in range(j.v.stop - j.v.start)]

    @cached_property
    def _pattern(self) -> Pattern:
        return pattern(self.model.dof_tree)

    @cached_property
    def _forward(self) -> Callable[..., Any]:
        return self._shortcut("forward_dynamics", self._by_method("auto", "f_ext"))

    @cached_property
    def _inverse(self) -> Callable[..., Any]:
        return self._shortcut("inverse_dynamics", self._function(RNEA.without("f_ext")))

    @cached_property
    def _bias(self) -> Callable[..., Any]:
        return self._shortcut("bias_force", self._function(BIAS.without("f_ext")))

    @cached_property
    def _gravity(self) -> Callable[..., Any]:
        return self._shortcut("gravity", self._function(GRAVITY))

    @cached_property
    def _inverse_derivatives(self) -> Callable[..., Any]:
        return inverse_dynamics_derivatives(self.model)

    @cached_property
    def _mass(self) -> Callable[..., Any]:
        require_memory(self.model.nv**2 * 8, f"the {self.model.nv} x {self.model.nv} mass matrix")
        self._require("packed", "the mass matrix")
        return self._shortcut("mass_matrix", self._function(MASS_MATRIX))

    @cached_property
    def _packed(self) -> Callable[..., Any]:
        if self.model.couplings:
            raise ModelError(f"{self.model.name!r} has mimic joints: use mass_matrix, or factorize")
        self._require("packed", "the packed mass matrix")
        return self._shortcut("packed_mass_matrix", self._function(CRBA))

    @cached_property
    def _factor(self) -> Callable[..., Any]:
        self._require("coupled", "the factor of the mass matrix")
        return self._function(FACTORIZE, self._pattern).call

    @cached_property
    def _inverse_mass(self) -> Callable[..., Any]:
        require_memory(2 * self.model.nv**2 * 8, f"the {self.model.nv} x {self.model.nv} inverse mass matrix")
        if self.model.couplings:
            bound = self._function(INVERSE_BY_FACTOR, self._pattern)
        elif self.general:
            bound = self._function(INVERSE_MASS_MATRIX)
        else:
            by_factor = (INVERSE_BY_FACTOR, (self._pattern,))
            bound = self._cheapest({"recursion": (INVERSE_MASS_MATRIX, ()), "factor": by_factor})
        return self._shortcut("inverse_mass_matrix", bound)

    def _require(self, size: str, what: str) -> None:
        require_memory(self.model.sizes[size] * 8, what)

    def _f_ext(self, q: Any, forces: Mapping[str, npt.ArrayLike]) -> Array:
        """The force on each body in its own frame."""
        names = tuple(forces)
        wrenches = np.stack([np.asarray(forces[name], float) for name in names], axis=-2)
        routine = external_forces(len(names))
        bound = self._function(routine, points_of(self.model, names), key=(routine.name, names))
        return bound.call(q, wrenches)


def _restore(model: Model, general: bool) -> Dynamics:
    return Dynamics(model, general=general)
