"""`Dynamics`: the functions of one model, compiled one by one when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.dynamics import functions as table
from bough.dynamics.bound import Library
from bough.dynamics.differentiable import Differentiable
from bough.dynamics.engine import device_of
from bough.dynamics.functions import REFERENCE
from bough.dynamics.given import Parameters
from bough.dynamics.gradient_calls import Gradients
from bough.dynamics.offered import Offered
from bough.dynamics.parameters import check_inputs
from bough.dynamics.together import check_wanted
from bough.dynamics.whole_body import Kinematics
from bough.errors import ModelError
from bough.model import Model
from bough.types import RealArray, Reference

OPTIONS = ("method", "frame", "reference", "forces")  # what a function may be asked for beside its arrays


class Dynamics(Offered, Differentiable):
    """The dynamics of a model: rigid bodies, joints, rotor inertias, gravity and external forces, and nothing else.

    It is frictionless: joint damping, dry friction, springs, limits, actuators and contacts of the model are left out
    (`bough.simulate` adds them; the two steps in time say which of them they take). It is of the tree alone:
    `model.closures` are left out, too (`bough.opspace.ConstrainedDynamics` and `bough.simulate` hold them). Forces and
    torques that joints feel besides belong in `tau`.

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

    With device="cuda" all of this runs on a GPU: arrays of PyTorch and CuPy stay there and results come in kind,
    on the caller's stream; numpy arrays are copied. With layout="columns" batches are (n, batch) there.

    `reference` of a frame's velocity and Jacobian: "local" (at the frame's origin, in its axes), "world" (at the
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
        if general and self.device.is_gpu:
            raise ModelError("there is no general code on a GPU: leave general=True out")
        self.inputs = check_inputs(model, inputs)
        self.check = check
        self._library = Library(model, general, self.device, Parameters(model, self.inputs, check))
        self._gradients = Gradients(self._library)

    def __repr__(self) -> str:
        kind = "general" if self.general else self.device.name if self.device.is_gpu else "specialised"
        inputs = f", inputs={self.inputs}" if self.inputs else ""
        return f"Dynamics({self.model.name!r}, {kind}{inputs})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.model, self.inputs, self.check, self.general, *self.device)

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

    def together(self, functions: Sequence[Any]) -> Callable[..., tuple[RealArray, ...]]:
        """Several functions as one, compiled together: what they share is computed once.

        Functions are named, or given with options, as in `export_c`. The result takes the arrays that any of them
        takes, in the order in which they first occur, and gives a tuple of their results.

        >>> both = dyn.together(["mass_matrix", "bias_force", ("jacobian", {"frame": "hand"})])
        >>> H, C, J = both(q, v)
        """
        return self._library.together(check_wanted(functions))

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


def _restore(
    model: Model, inputs: tuple[str, ...], check: bool | None, general: bool, device: str, layout: str
) -> Dynamics:
    return Dynamics(model, inputs=inputs, check=check, general=general, device=device, layout=layout)
