"""CasADi's C code: Bough's graphs as CasADi functions (its bridge), written out by CasADi and compiled with
`cc -O3 -march=native`.

Pinocchio's own CasADi functions are not in its wheels, so that the graphs are ours and only the code differs.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bough.app.bench.engines.common import Compared, PeerCall, PeerState, required
from bough.errors import MissingExtraError, ModelError
from bough.model import Model

LARGEST = 64
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


def calls(model: Model, s: PeerState) -> dict[str, PeerCall]:
    casadi = required("casadi", "casadi")
    if model.nv > LARGEST:
        raise ModelError(f"C code without loops for {model.nv} DoF would take a compiler minutes: at most {LARGEST}")
    from bough.bridges.casadi import function

    frame, both = model.frame_names[s.frame], {"q": s.q, "v": s.v, "tau": s.tau, "qdd": s.tau}
    wanted: dict[str, tuple[str, dict[str, str]]] = {
        Compared.FORWARD: ("forward_dynamics", {}),
        Compared.INVERSE: ("inverse_dynamics", {}),
        Compared.MASS: ("mass_matrix", {}),
        Compared.MASS_INVERSE: ("inverse_mass_matrix", {}),
        Compared.JACOBIAN: ("jacobian", {"frame": frame}),
    }
    with tempfile.TemporaryDirectory() as folder:
        return {
            case: compiled(casadi, function(model, name, **options), both, Path(folder))
            for case, (name, options) in wanted.items()
        }


def compiled(casadi: Any, f: Any, given: dict[str, Any], folder: Path) -> PeerCall:
    """A function as a library, called on arrays that stay where they are."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise MissingExtraError("this comparison needs a C compiler (cc)")
    generator = casadi.CodeGenerator(f"{f.name()}.c")
    generator.add(f)
    generator.generate(f"{folder}/")
    library = folder / f"{f.name()}.so"
    subprocess.run([compiler, *FLAGS, str(folder / f"{f.name()}.c"), "-o", str(library)], check=True)
    loaded = casadi.external(f.name(), str(library))
    buffer, run = loaded.buffer()
    arrays: list[Any] = [np.array(given[name], dtype=float) for name in loaded.name_in()]
    result = np.zeros(loaded.size_out(0), order="F")
    for k, array in enumerate(arrays):
        buffer.set_arg(k, memoryview(array))
    flat: Any = result.reshape(-1, order="F")
    buffer.set_res(0, memoryview(flat))
    run.kept = loaded, buffer, arrays, result  # of which it has only addresses
    return PeerCall(f"CasADi C code of our {f.name()}", run, lambda: result.squeeze())
