"""`bough simulate`: a motion under forces and a controller, recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.app.shell import Forces, Json, Record, note, patient, report, watched, wrote
from bough.app.source import Source, of_model

if TYPE_CHECKING:
    from bough.model import Model
    from bough.simulate import Contacts
    from bough.types import FloatArray

    Law = Callable[[float, FloatArray, FloatArray], FloatArray]


class Controller(str, Enum):  # noqa: UP042  (typer reads the values of both)
    """Controllers of joints."""

    none = "none"
    pd = "pd"


Touching = Annotated[
    list[str],
    typer.Option(
        "--contact",
        metavar="FRAME[:NUMBERS]",
        help="FRAME or FRAME:x,y,z, a point that may touch the ground. May be repeated.",
    ),
]
Without = Annotated[
    list[str],
    typer.Option(metavar="WHAT", help="Ignore damping, springs, friction, limits or closures. May be repeated."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Start at a random configuration with this seed.")]


@of_model
def simulate(
    source: Source,
    duration: Annotated[float, typer.Option(help="Duration, s.")] = 1.0,
    dt: Annotated[float, typer.Option(help="Time step, s.")] = 1e-3,
    force: Forces = [],  # noqa: B006
    controller: Annotated[Controller, typer.Option(help="pd holds the initial configuration with the motors.")]
    = Controller.none,
    kp: Annotated[float | None, typer.Option(min=0.0, help="Stiffness, N m / rad or N / m. Default: by weight.")]
    = None,
    kd: Annotated[float | None, typer.Option(min=0.0, help="Damping, N m s / rad or N s / m. Default: by kp.")] = None,
    contact: Touching = [],  # noqa: B006
    ground: Annotated[float, typer.Option(help="Height of the ground, m.")] = 0.0,
    friction: Annotated[float, typer.Option(min=0.0, help="Friction coefficient of the ground.")] = 0.8,
    height: Annotated[float | None, typer.Option(help="Start with the base of a floating robot at this z, m.")] = None,
    without: Without = [],  # noqa: B006
    seed: Seed = None,
    integrator: Annotated[str, typer.Option(help="Or runge_kutta_4, lie_midpoint.")]
    = "semi_implicit_euler",
    every: Annotated[int, typer.Option(min=1, help="Record one step in so many.")] = 1,
    record: Record = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Simulate a robot, and record its motion.

    It starts at rest, with slack springs and joints within their limits. Floating robots start with their
    contacts on or above the ground. Gravity, forces, a controller, damping, springs and limits act on it. Loops are
    closed at the start and stay closed. Contacts are hard, with exact friction cones.
    """
    import numpy as np

    from bough.app.arguments import placed_force
    from bough.dynamics import Dynamics
    from bough.dynamics.stepping import INTEGRATORS, integrator_named
    from bough.errors import NumericalError
    from bough.record import check_recording
    from bough.simulate import rollout
    from bough.simulate.drives import default_gains

    if record is not None:
        check_recording(record)
    model, forces = source.model(), dict[str, Any]()
    for name, numbers in map(placed_force, force):
        forces[name] = forces.get(name, np.zeros(6)) + np.pad(numbers, (0, 6 - len(numbers)))
    touching = contacts_of(contact, ground, friction)
    q = start(model, seed, height, touching)
    if touching is None and model.joints[0].type == "floating" and np.any(model.gravity):
        note(f"nothing stops the fall of {model.name}: put it on the ground with --contact FRAME (and --height)")
    rest = np.zeros(model.nv)
    springs, dampers = rest, rest
    if controller is Controller.pd:
        explicit = None if INTEGRATORS[integrator_named(integrator)].is_implicit else dt
        springs, dampers = default_gains(Dynamics(model), q, kp, kd, explicit)
    driven = damped(model, dampers, "damping" in without)
    options: dict[str, Any] = {
        "dt": dt, "tau": spring(model, q, springs, dt) if springs.any() else None, "forces": forces or None,
        "contacts": touching, "without": [name for name in without if name != "damping"], "dynamics": Dynamics(driven),
        "integrator": integrator,
    }  # fmt: skip
    if 0.0 < dt <= duration:
        with patient("compiling for this robot"):
            rollout(driven, q, rest, duration=dt, **options)
    try:
        motion = rollout(driven, q, rest, duration=duration, every=every, progress=watched(), **options)
    except NumericalError as error:
        hint = ", or smaller gains: --kp and --kd" if controller is Controller.pd else ""
        raise NumericalError(f"{error}{hint}") from None
    motion = replace(motion, model=model, tau=motion.tau - dampers * motion.v)
    if record:
        motion.save(record, source.text(force=force, contact=contact))
    energy = motion.energy()
    facts = {
        "model": model.name, "samples": len(motion.time), "duration": float(motion.time[-1]),
        "energy": {"start": energy[0], "end": energy[-1]}, "speed": np.abs(motion.v[-1]).max(initial=0.0),
        "q": motion.q[-1], "v": motion.v[-1], "file": record,
    }  # fmt: skip
    if touching is not None:
        facts["contact_force"] = dict(zip(contact, motion.extra["contact_force"][-1], strict=True))
    pushes = facts.get("contact_force", {}).items()
    report(
        json, facts, f"{motion!r}",
        f"energy {energy[0]:.6g} J at the start, {energy[-1]:.6g} J at the end; fastest joint {facts['speed']:.4g}",
        f"q at the end: {np.array2string(motion.q[-1], precision=5, threshold=40)}",
        *(f"{name}: the ground pushes with {np.array2string(push, precision=4)} N" for name, push in pushes),
        *wrote(record),
    )  # fmt: skip


def start(model: Model, seed: int | None, height: float | None, contacts: Contacts | None = None) -> FloatArray:
    """Where springs are slack and joints within their limits, or a random configuration; its loops are closed.

    Floating robots whose contacts would be in the ground are lifted out of it, unless a height is given.
    """
    import numpy as np

    from bough.dynamics import Dynamics
    from bough.dynamics.laws import coordinate_limits
    from bough.errors import OptionError
    from bough.opspace import close_loops
    from bough.simulate.contacts import ContactSpace

    q = model.rest_configuration.copy() if seed is None else model.random_configuration(np.random.default_rng(seed))
    v, places, lower, upper = coordinate_limits(model)
    q[places] = np.clip(q[places], lower, upper)
    if height is not None:
        if model.joints[0].type != "floating":
            raise OptionError("--height is for robots with a floating base")
        q[model.joints[0].q.start + 2] = height
    if model.closures:
        q = close_loops(model, q).q
        for k in v[(q[places] < lower - 1e-6) | (q[places] > upper + 1e-6)]:
            note(f"{model.dof_names[k]} of {model.name} starts outside its limits, to close the loops")
    if contacts is not None and height is None:
        dynamics = Dynamics(model, general=True)
        space = ContactSpace(dynamics, contacts)
        for joint in (joint for joint in model.joints if joint.type == "floating"):
            if own := [p for p in space.points if base_of(model, p.frame) == base_of(model, joint.body)]:
                depth = ContactSpace(dynamics, replace(contacts, points=own)).depth(q[None])[0]
                up = dynamics.placement(model.neutral, joint.body)[2, :3]  # in the axes that q has its position in
                q[joint.q.start : joint.q.start + 3] += max(depth, 0.0) * up
    return q


def base_of(model: Model, frame: str) -> int:
    """The first body on the way from the world to a frame, -1 for the world's own."""
    body = int(model.frames.body[model.frame(frame)])
    while body >= 0 and model.mechanism.parent[body] >= 0:
        body = int(model.mechanism.parent[body])
    return body


def contacts_of(texts: list[str], ground: float, friction: float) -> Contacts | None:
    """Points that may touch level ground."""
    from bough.app.arguments import placed
    from bough.simulate import ContactPoint, Contacts, Plane

    points = [ContactPoint(*placed(text)) for text in texts]
    return Contacts(points, Plane((0.0, 0.0, ground)), friction) if points else None


def spring(model: Model, start: FloatArray, kp: FloatArray, dt: float) -> Law:
    """Joint forces of springs to the start, as they are at the end of the step."""
    return lambda t, q, v: kp * (model.difference(q, start) - dt * v)


def damped(model: Model, dampers: FloatArray, alone: bool) -> Model:
    """With dampers in its joints, beside its own or alone: steps damp implicitly, so that none is too strong."""
    found = dampers if alone else model.damping + dampers
    return replace(model, passive=model.passive._replace(damping=found))
