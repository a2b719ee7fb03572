"""`bough simulate`: a motion under forces and a controller, recorded."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.app.shell import Json, say, show_json, watched
from bough.app.source import Source, of_model

if TYPE_CHECKING:
    from bough.dynamics import Dynamics
    from bough.types import FloatArray

    Law = Callable[[float, FloatArray, FloatArray], FloatArray]


class Controller(str, Enum):  # noqa: UP042  (typer reads the values of both)
    """What drives the joints."""

    none = "none"
    pd = "pd"


class Scheme(str, Enum):  # noqa: UP042
    """How time is advanced."""

    semi_implicit_euler = "semi_implicit_euler"
    runge_kutta_4 = "runge_kutta_4"
    lie_midpoint = "lie_midpoint"


Forces = Annotated[
    list[str], typer.Option("--force", help="FRAME:fx,fy,fz or with a moment, in the world's axes. May be repeated.")
]
Record = Annotated[Path | None, typer.Option(help="Write the motion to this .npz or .parquet file.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Start at a random configuration, not at the neutral one.")]


@of_model()
def simulate(
    source: Source,
    duration: Annotated[float, typer.Option(help="Seconds.")] = 1.0,
    dt: Annotated[float, typer.Option(help="Seconds a step.")] = 1e-3,
    force: Forces = [],  # noqa: B006
    controller: Annotated[Controller, typer.Option(help="pd holds the start by the motors that there are.")]
    = Controller.none,
    kp: Annotated[float, typer.Option(min=0.0, help="Gain of pd: N m / rad, N / m.")] = 100.0,
    kd: Annotated[float, typer.Option(min=0.0, help="Gain of pd: N m s / rad, N s / m.")] = 10.0,
    seed: Seed = None,
    integrator: Annotated[Scheme, typer.Option(help="How time is advanced.")] = Scheme.semi_implicit_euler,
    every: Annotated[int, typer.Option(min=1, help="Record every so many steps.")] = 1,
    record: Record = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Move a robot through time under gravity, forces and a controller; damping, springs and limits act."""
    import numpy as np

    from bough.app.files import check_recording
    from bough.app.numbers import placed_force
    from bough.dynamics import Dynamics
    from bough.simulate import rollout

    check_recording(record)
    model, forces = source.model(), [placed_force(text) for text in force]
    q = model.neutral if seed is None else model.random_configuration(np.random.default_rng(seed))
    dynamics = Dynamics(model)
    gains = (kp, kd) if controller is Controller.pd else None
    motion = rollout(
        model, q, np.zeros(model.nv), duration=duration, dt=dt, torque=law(dynamics, q, forces, gains),
        integrator=integrator.value, every=every, progress=watched(), dynamics=dynamics,
    )  # fmt: skip
    if record:
        motion.save(record, source.text())
    energy = motion.energy()
    report = {
        "model": model.name, "samples": len(motion.time), "duration": float(motion.time[-1]),
        "energy": {"start": energy[0], "end": energy[-1]}, "speed": np.abs(motion.v[-1]).max(initial=0.0),
        "q": motion.q[-1], "v": motion.v[-1], "file": record,
    }  # fmt: skip
    if json:
        show_json(report)
        return
    say(f"{motion!r}")
    say(f"energy {energy[0]:.6g} J at the start, {energy[-1]:.6g} J at the end; fastest joint {report['speed']:.4g}")
    say(f"q at the end: {np.array2string(motion.q[-1], precision=5, threshold=40)}")
    if record:
        say(f"wrote {record}")


def law(dynamics: Dynamics, start: Any, forces: list[tuple[str, list[float]]], gains: Any) -> Law | None:
    """Joint forces of the frames' forces, J' f, and of a controller that holds the start."""
    import numpy as np

    model, zero = dynamics.model, np.zeros(3)
    wrenches = [(model.frame_names[model.frame(name)], np.concatenate((f, zero))[:6]) for name, f in forces]
    if not wrenches and gains is None:
        return None

    def torque(t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        tau = np.zeros(model.nv)
        for frame, wrench in wrenches:
            tau += dynamics.jacobian(q, frame, "local_world_aligned").T @ wrench
        if gains is not None:
            tau += model.actuated * (gains[0] * model.difference(q, start) - gains[1] * v)
        return tau

    return torque
