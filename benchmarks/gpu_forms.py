"""On a GPU: the form that the rule chooses for a kernel beside all forms worth timing, and whole derivatives.

`python -m benchmarks.gpu_forms [FILE.json]` prints a line for each kernel and keeps the times of every form. The
numbers of the rule (`bough.compile.run.cuda.forms`) are fitted to such times: gpu_forms.json has those of one H200.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cuda import LAYOUTS, TOLERANCE, Case, cases, launches_of, models, on_gpu, states, tiled, timed
from bough.compile.emit.cuda import Layout
from bough.compile.run.cuda.gpu import the_gpu
from bough.dynamics import Dynamics

BATCH = 262_144


def kernel(case: Case, dtype: np.dtype, layout: Layout) -> dict[str, Any]:
    """Rates of the rule's form, in M/s, and of all forms in all blocks."""
    f = on_gpu(case, layout)
    turns = [[tiled(np.roll(x, by, axis=0), BATCH, layout) for x in states(case, f, dtype)] for by in (0, 1)]
    seconds, inputs = timed(f, turns), turns[0]
    chosen, about = launches_of(f).choice(dtype, BATCH)
    out = f(*inputs)
    addresses = [x.data_ptr() for x in (*inputs, *(out if isinstance(out, tuple) else (out,)))]
    arguments = [*addresses, 0, BATCH, *(spec.size for spec in f.inputs)]
    times = launches_of(f).trial(the_gpu(), dtype, BATCH, arguments, 0)
    best = min(times, key=lambda choice: times[choice])
    rate = {"rule": 1e-6 * BATCH / seconds, "best": 1e-6 * BATCH / times[best]}
    taken = {"registers": about.registers, "spilled": about.local_bytes}
    forms = [[*choice.form, choice.block, 1e-6 * BATCH / x] for choice, x in times.items()]
    name = {"model": case.model.name, "function": case.name, "dtype": dtype.name, "layout": layout}
    return {
        **name,
        **rate,
        "form": [*chosen.form, chosen.block],
        "best form": [*best.form, best.block],
        **taken,
        "all": forms,
    }


def derivatives() -> Iterator[dict[str, Any]]:
    """Rates of whole derivatives of forward dynamics, in M/s."""
    torch: Any = import_module("torch")
    for model in models():
        dynamics, rng = Dynamics(model, device="cuda"), np.random.default_rng(1)
        for dtype in TOLERANCE:
            given = [model.random_configuration(rng, 1024), *rng.normal(size=(2, 1024, model.nv))]
            x = [tiled(a.astype(dtype), BATCH // 4, "rows") for a in given]
            for name in ("forward_dynamics_derivatives", "inverse_dynamics_derivatives", "inverse_mass_matrix"):
                call, arrays = getattr(dynamics, name), x[:1] if name == "inverse_mass_matrix" else x
                call(*arrays)
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                for _ in range(5):
                    call(*arrays)
                end.record()
                end.synchronize()
                rate = 5e-6 * (BATCH // 4) / (begin.elapsed_time(end) / 1000.0)
                yield {"model": model.name, "function": name, "dtype": dtype.name, "rule": rate}


def main() -> None:
    """Print a line for each kernel, and write all."""
    found = []
    for row in derivatives():
        print(f"{row['model']:18} {row['function']:32} {row['dtype']:8} {row['rule']:8.1f} M/s", flush=True)
        found.append(row)
    for case in cases():
        for dtype in TOLERANCE:
            for layout in LAYOUTS:
                row = kernel(case, dtype, layout)
                rates = f"rule {row['rule']:8.1f} M/s {row['form']}, best {row['best']:8.1f} M/s {row['best form']}"
                print(f"{case.model.name:18} {case.name:32} {dtype.name:8} {layout:8} {rates}", flush=True)
                found.append(row)
                if len(sys.argv) > 1:
                    Path(sys.argv[1]).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
