"""The table of functions: names, routines by method, and options.

`Dynamics`, `count`, `export_c`, the docs and the tests take names, arguments, defaults and methods from here: a new
algorithm is its own file and a row of this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

from bough.compile.graph.program import Program
from bough.compile.routine import Routine, trace
from bough.dynamics import center_of_mass, centroidal, energy, momentum
from bough.dynamics.aba import ABA
from bough.dynamics.coriolis import CORIOLIS_MATRIX
from bough.dynamics.crba import CRBA, MASS_MATRIX
from bough.dynamics.forward_by_factor import FACTORIZE, FORWARD_CRBA, dof_rows
from bough.dynamics.forward_derivatives import FORWARD_DERIVATIVES
from bough.dynamics.inverse_by_factor import INVERSE_BY_FACTOR
from bough.dynamics.inverse_derivatives import INVERSE_DERIVATIVES
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from bough.dynamics.jacobian import JACOBIAN
from bough.dynamics.joint_forces import JOINT_FORCES
from bough.dynamics.kinematics import BIAS_ACCELERATION, PLACEMENT, VELOCITY, frame_of
from bough.dynamics.laws import joint_laws
from bough.dynamics.parameters import SHAPES, Parameters, body_layout, check_inputs
from bough.dynamics.placements import PLACEMENTS, all_frames
from bough.dynamics.regressor import PACKED_REGRESSOR, REGRESSOR
from bough.dynamics.rnea import BIAS, GRAVITY, RNEA
from bough.dynamics.stepping import INTEGRATORS, Rule
from bough.errors import ModelError, OptionError, unknown_option
from bough.joints import Mechanism
from bough.model import Model
from bough.types import Reference

REFERENCE: Reference = "local_world_aligned"  # the default of every function that takes a reference


class Options(NamedTuple):
    """Options beside the arrays."""

    method: str | None = None  # None or "auto": the first that serves the model
    frame: str | None = None
    reference: Reference = REFERENCE


@dataclass(frozen=True)
class Method:
    """A routine, and the groups of constants that it takes beside the mechanism."""

    routine: Routine
    constants: Callable[[Model, Options], tuple[Any, ...]] = lambda model, options: ()
    mimic: bool = True  # whether it serves models with mimic joints
    folds: bool = True  # whether it depends on inertias through base parameters only, as H and C do

    def mechanism(self, model: Model) -> Mechanism:
        """The routine for traced code."""
        return model.grouped if self.folds else model.mechanism


@dataclass(frozen=True)
class Function:
    """A row of the table. The first method is the default; the summary goes into headers and docs."""

    name: str
    summary: str
    methods: Mapping[str, Method]
    options: tuple[str, ...] = field(default=())
    takes_forces: bool = False  # external ones, which join its tau: see `external`

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arrays that a caller supplies, in order."""
        return tuple(next(iter(self.methods.values())).routine.arguments)

    @property
    def results(self) -> dict[str, str]:
        """The words of the shape of each result."""
        return dict(next(iter(self.methods.values())).routine.outputs)

    def method(self, model: Model, name: str | None = None) -> Method:
        """The method of this name, or the first that serves the model."""
        if name in (None, "auto"):
            serving = [m for m in self.methods.values() if m.mimic or not model.couplings]
            if not serving:
                packed = self.name == "packed_mass_matrix"
                remedy = "use mass_matrix, or factorize" if packed else 'load it with mimic="independent"'
                raise ModelError(f"{self.name}: {model.name!r} has mimic joints; {remedy}")
            return serving[0]
        if name not in self.methods or "method" not in self.options:
            offered = (*self.methods, "auto") if "method" in self.options else ()
            raise unknown_option(f"{self.name} has no method {name!r}", name, offered)
        found = self.methods[name]
        if model.couplings and not found.mimic:
            served = " or ".join(f'"{key}"' for key, m in self.methods.items() if m.mimic)
            raise ModelError(f"{self.name}: {model.name!r} has mimic joints, which tie branches: use method={served}")
        return found


def _of_frame(model: Model, options: Options) -> tuple[Any, ...]:
    assert options.frame is not None
    return (frame_of(model, options.frame, options.reference),)


def _rows(model: Model, options: Options) -> tuple[Any, ...]:
    return (dof_rows(model.dof_tree),)


def _body_layout(model: Model, options: Options) -> tuple[Any, ...]:
    return (body_layout(model, ()),)


def _laws(model: Model, options: Options) -> tuple[Any, ...]:
    return joint_laws(model)


def _step(rule: Rule) -> Function:
    routine, damping = rule.step(), "implicit damping" if rule.is_implicit else "damping"
    summary = f"q and v after dt, of order {rule.order}: joints with springs, {damping}, friction and stops"
    return Function(routine.name, summary, {routine.name: Method(routine, _laws, mimic=False)})


def _row(name: str, summary: str, routine: Routine, *options: str) -> Function:
    method = Method(routine, _of_frame) if "frame" in options else Method(routine)
    return Function(name, summary, {name: method}, options)


_ROWS = (
    Function(
        "forward_dynamics",
        "qdd such that H qdd + C = tau",
        {"aba": Method(ABA, mimic=False), "crba": Method(FORWARD_CRBA, _rows)},
        ("method",),
        takes_forces=True,
    ),
    Function("inverse_dynamics", "tau = H qdd + C", {"rnea": Method(RNEA)}, takes_forces=True),
    Function("bias_force", "C: Coriolis, centrifugal and gravity terms", {"rnea": Method(BIAS)}, takes_forces=True),
    Function(
        "joint_forces",
        "what each joint exerts on its body, [force, moment] at the body's origin, in its axes",
        {"rnea": Method(JOINT_FORCES, _body_layout, folds=False)},
        takes_forces=True,
    ),
    _row("gravity", "the torque that holds the mechanism at rest against gravity", GRAVITY),
    _row("coriolis_matrix", "C with C v the Coriolis and centrifugal terms and Hdot - 2 C skew", CORIOLIS_MATRIX),
    _row("mass_matrix", "H, both triangles", MASS_MATRIX),
    Function(
        "regressor",
        "Y with tau = Y pi + armature qdd, pi the inertias of all bodies",
        {"regressor": Method(REGRESSOR, _body_layout, mimic=False)},
    ),
    Function(
        "packed_regressor",
        "the rows of Y that are not zero, for each body the DoFs from it to its root",
        {"regressor": Method(PACKED_REGRESSOR, _body_layout, mimic=False)},
    ),
    _row("inverse_dynamics_derivatives", "dtau/dq, dtau/dv and dtau/dqdd, q along velocities", INVERSE_DERIVATIVES),
    Function(
        "forward_dynamics_derivatives",
        "dqdd/dq, dqdd/dv and dqdd/dtau, q along velocities",
        {"factor": Method(FORWARD_DERIVATIVES, _rows)},
    ),
    Function(
        "packed_mass_matrix",
        "H in packed ancestor rows of the tree of degrees of freedom",
        {"crba": Method(CRBA, mimic=False)},
    ),
    Function("factorize", "the LTDL factor of H in packed ancestor rows", {"crba": Method(FACTORIZE, _rows)}),
    Function(
        "inverse_mass_matrix",
        "H^-1, both triangles",
        {"recursion": Method(INVERSE_MASS_MATRIX, mimic=False), "factor": Method(INVERSE_BY_FACTOR, _rows)},
    ),
    Function(
        "placements",
        "world placements of all frames, in the order of frame_names",
        {"placements": Method(PLACEMENTS, lambda model, options: (all_frames(model),))},
    ),
    _row("placement", "world placement of a frame, homogeneous", PLACEMENT, "frame"),
    _row("velocity", "velocity [linear, angular] of a frame", VELOCITY, "frame", "reference"),
    _row("jacobian", "J [linear; angular] of a frame: velocity = J v", JACOBIAN, "frame", "reference"),
    _row("bias_acceleration", "Jdot v [linear, angular] of a frame", BIAS_ACCELERATION, "frame", "reference"),
    _row("center_of_mass", "centre of mass in the world", center_of_mass.CENTER_OF_MASS),
    _row("center_of_mass_velocity", "velocity of the centre of mass", center_of_mass.CENTER_OF_MASS_VELOCITY),
    _row("center_of_mass_jacobian", "Jacobian of the centre of mass", center_of_mass.CENTER_OF_MASS_JACOBIAN),
    _row("kinetic_energy", "kinetic energy in joules", energy.KINETIC_ENERGY),
    _row("potential_energy", "potential energy in joules", energy.POTENTIAL_ENERGY),
    _row("momentum", "momentum [linear, angular about the world's origin], world axes", momentum.MOMENTUM),
    _row(
        "centroidal_momentum",
        "momentum [linear, angular about the centre of mass], world axes",
        momentum.CENTROIDAL_MOMENTUM,
    ),
    _row("centroidal_momentum_matrix", "A with centroidal momentum = A v", centroidal.CENTROIDAL_MOMENTUM_MATRIX),
    _row("centroidal_momentum_drift", "Adot v", centroidal.CENTROIDAL_MOMENTUM_DRIFT),
    *map(_step, INTEGRATORS.values()),
)
FUNCTIONS: dict[str, Function] = {row.name: row for row in _ROWS}
ALIASES = {"forward_kinematics": "placements"}


def function(name: str) -> Function:
    """The row of this name; an unknown one is refused with the nearest."""
    found = FUNCTIONS.get(ALIASES.get(name, name))
    if found is None:
        raise unknown_option(f"unknown function {name!r}", name, FUNCTIONS)
    return found


def check_options(row: Function, given: Mapping[str, Any]) -> Options:
    """The options for a row; others are refused."""
    for name in given:
        if name not in row.options:
            takes = ", ".join(row.options) or "none"
            hint = f"; make what it belongs to with inputs=({name!r},)" if name in SHAPES else ""
            raise OptionError(f"{row.name} does not take the option {name!r}; it takes {takes}{hint}")
    options = Options(**given)
    if "frame" in row.options and options.frame is None:
        raise OptionError(f"{row.name} is a function of a frame: name one with frame=...")
    if options.reference not in get_args(Reference):
        sentence = f"{row.name}: there is no reference {options.reference!r}"
        raise unknown_option(sentence, options.reference, get_args(Reference))
    return options


def public_shape(words: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a result as users see it, where a routine has `words`: energies are numbers."""
    return () if words == "1" else shape


def program(model: Model, name: str, *, inputs: Sequence[str] = (), **given: Any) -> Program:
    """The straight-line program of a function of the table on one model, before any rewriting.

    `inputs` names quantities of the model that are further inputs, as in `Dynamics`.
    """
    row = function(name)
    options = check_options(row, given)
    method = row.method(model, options.method)
    return traced_for(model, method.routine, method.constants(model, options), inputs, method.mechanism(model))


def traced_for(
    model: Model, routine: Routine, constants: tuple[Any, ...], inputs: Sequence[str], folded: Mechanism | None = None
) -> Program:
    """A routine on one model, with quantities of it as further inputs, as a program."""
    parameters = Parameters(model, check_inputs(model, inputs))
    routine, found = parameters.constants(routine, (model.mechanism, *constants), lambda: folded or model.grouped)
    return trace(routine, found.for_tracing(), model.sizes)
