"""A GPU: evaluations per second of large batches, everything included; then motion, control and peers.

Results are compared with the CPU's general code, or the interpreted kernel where there is no compiler, before timing.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from benchmarks import gpu_contacts, gpu_motion, gpu_peers, reaching
from benchmarks.absent import Requirements, robot_file
from benchmarks.dynamics import G1
from benchmarks.timing import Timing
from bough import zoo
from bough.compile.emit.cuda import Layout
from bough.compile.routine import Constants, Routine, interpret, operations
from bough.compile.run.cuda import CudaFunction, bind
from bough.compile.run.cuda.launches import Launches
from bough.dynamics.functions import Options, function
from bough.errors import NumericalError
from bough.io import load
from bough.model import Model, mark_limbs
from bough.opspace import TaskSet, pose
from bough.opspace.methods import prepare

REQUIRED = Requirements((G1, "panda.urdf"), ("mujoco.mjx", "mujoco_warp", "newton", "frax"))
BATCHES = (262_144, 1_048_576)
LAYOUTS: tuple[Layout, ...] = ("rows", "columns")
TOLERANCE: dict[np.dtype, float] = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
PEAK_PER_SM: dict[np.dtype, int] = {
    np.dtype(np.float32): 256,
    np.dtype(np.float64): 128,
}  # operations a cycle of a Hopper multiprocessor
CLOCK, BANDWIDTH = 1.98e9, 4.8e12  # of an H200, in Hz and bytes a second


class Case(NamedTuple):
    """A routine with its constants, traced and untraced."""

    model: Model
    name: str
    routine: Routine
    constants: tuple[Any, ...]
    folded: tuple[Any, ...]
    sizes: Any


def rows() -> list[Timing]:
    """What follows, motion and control, inverse kinematics, and other libraries."""
    return [row for part in PARTS.values() for row in part()]


def own() -> list[Timing]:
    """Forward and inverse dynamics, mass matrix and Lambda^-1, both precisions, in the better of the two layouts."""
    return [measured(case, dtype, batch) for case in cases() for dtype in TOLERANCE for batch in BATCHES]


PARTS = {
    "own": own,
    "motion": gpu_motion.rows,
    "reaching": reaching.on_gpu,
    "peers": gpu_peers.rows,
    "contacts": gpu_contacts.rows,
    "steps": gpu_contacts.alone,
}


def cases() -> Iterator[Case]:
    for model in models():
        for name, method in FUNCTIONS:
            row = function(name).method(model, method)
            more = row.constants(model, Options())
            label = f"{name}, {method}" if method else name
            yield Case(model, label, row.routine, (model.mechanism, *more), (model.grouped, *more), model.sizes)
    asimo = zoo.asimo()
    tips = [i for i in range(len(asimo.parent)) if i not in set(asimo.parent.tolist())]
    tasks = TaskSet(asimo, [pose(asimo.body_names[i]) for i in tips[:4]])
    prepared = prepare("pv", tasks)
    folded = (tasks.traced_mechanism, *prepared.constants[1:])
    yield Case(asimo, "inverse_inertia, pv, 24 rows", prepared[0], prepared[1], folded, prepared[2])


FUNCTIONS = (
    ("forward_dynamics", "aba"),
    ("forward_dynamics", "crba"),
    ("inverse_dynamics", None),
    ("packed_mass_matrix", None),
)


def models() -> list[Model]:
    g1 = robot_file(G1)
    return [zoo.humanoid(), *([load(g1, floating_base=True)] if g1 else [])]


def measured(case: Case, dtype: np.dtype, batch: int) -> Timing:
    """The time of one configuration, in the better layout."""
    best: tuple[float, str, CudaFunction] | None = None
    for layout in LAYOUTS:
        f = on_gpu(case, layout)
        inputs = states(case, f, dtype)
        check(case, f, [x[:4] for x in inputs], dtype, layout)
        turns = [[tiled(np.roll(x, by, axis=0), batch, layout) for x in inputs] for by in (0, 1)]
        seconds = timed(f, turns) / batch
        if best is None or seconds < best[0]:
            best = seconds, layout, f
    assert best is not None
    return Timing(
        "on a GPU, per configuration",
        case.model.name,
        title(case, dtype, batch),
        {"bough": best[0]},
        about(*best, dtype, batch),
    )


def on_gpu(case: Case, layout: Layout) -> CudaFunction:
    return bind(case.routine, Constants(case.constants, lambda: case.folded, mark_limbs), case.sizes, layout)


def launches_of(f: CudaFunction) -> Launches:
    """Of a function that is a program alone."""
    assert isinstance(f.launches, Launches)
    return f.launches


def title(case: Case, dtype: np.dtype, batch: int) -> str:
    return f"{case.name}, {dtype.name}, batch {batch:,}"


def states(case: Case, f: CudaFunction, dtype: np.dtype) -> list[Any]:
    rng = np.random.default_rng(1)
    return [
        (case.model.random_configuration(rng, 1024) if x.name == "q" else rng.normal(size=(1024, *x.shape))).astype(
            dtype
        )
        for x in f.inputs
    ]


def tiled(x: Any, batch: int, layout: str) -> Any:
    torch: Any = import_module("torch")
    whole = torch.asarray(x, device="cuda").repeat(batch // len(x), *[1] * (x.ndim - 1))
    return whole if layout == "rows" else whole.movedim(0, -1).contiguous()


def check(case: Case, f: CudaFunction, inputs: list[Any], dtype: np.dtype, layout: str) -> None:
    given = inputs if layout == "rows" else [np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in inputs]
    got = f(*given)
    got = got if layout == "rows" else np.moveaxis(got, -1, 0)
    for k in range(len(inputs[0])):
        wanted = interpret(case.routine, case.constants, case.sizes, *(x[k].astype(float) for x in inputs))[0]
        error = np.abs(got[k] - wanted).max() / np.abs(wanted).max()
        if not error <= TOLERANCE[dtype]:
            raise NumericalError(f"{case.name} of {case.model.name!r} differs from the CPU's by {error:.1e}")


def timed(f: CudaFunction, turns: list[list[Any]]) -> float:
    """Seconds of one call: the median of many bursts, after the best form was found. States change at every call."""
    torch: Any = import_module("torch")
    out = f(*turns[0])
    times = []
    for _ in range(9):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for k in range(10):
            f(*turns[k % 2], out=out)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 10_000)
    return float(np.median(times))


def about(seconds: float, layout: str, f: CudaFunction, dtype: np.dtype, batch: int) -> str:
    """Evaluations per second, the form that was chosen, and shares of the limits of the GPU."""
    torch: Any = import_module("torch")
    properties = torch.cuda.get_device_properties(0)
    launches = launches_of(f)
    (form, block), kernel = launches.choice(dtype, batch)
    peak = properties.multi_processor_count * PEAK_PER_SM[dtype] * CLOCK
    arithmetic = operations(launches.program()).total / seconds / peak
    moved = dtype.itemsize * sum(x.size for x in (*f.inputs, *f.outputs)) / seconds / BANDWIDTH
    ways = (", staged" if form.staged else "") + (", spilling to shared memory" if form.resident else "")
    how = f"{layout}, {form.lanes} threads a row{ways}, block {block}"
    takes = f"{kernel.registers} registers, {kernel.local_bytes} B spilled"
    return f"{1e-6 / seconds:,.0f} M/s; {how}, {takes}; {arithmetic:.0%} of arithmetic, {moved:.0%} of memory"
