"""CasADi's C code of Bough's graphs: written out by CasADi and compiled with `cc -O3 -march=native`.

Pinocchio's own CasADi functions are not in its wheels, so that the graphs are ours and only the code differs.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bough.app.bench.engines import PeerCall
from bough.app.bench.states import Compared, PeerState, random_state, required
from bough.errors import MissingExtraError, ModelError
from bough.model import Model

LARGEST = 64
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


class CasadiEngine:
    """Compiled functions. Every state has buffers of its own, which costs nothing to fill."""

    def __init__(self, model: Model) -> None:
        casadi = required("casadi", "casadi")
        if model.nv > LARGEST:
            raise ModelError(
                f"C code without loops for {model.nv} DoF would take a compiler minutes: at most {LARGEST}"
            )
        from bough.bridges.casadi import function

        frame = model.frame_names[random_state(model).frame]
        functions = {
            Compared.FORWARD: function(model, "forward_dynamics"),
            Compared.INVERSE: function(model, "inverse_dynamics"),
            Compared.MASS: function(model, "mass_matrix"),
            Compared.MASS_INVERSE: function(model, "inverse_mass_matrix"),
            Compared.JACOBIAN: function(model, "jacobian", frame=frame),
        }
        with tempfile.TemporaryDirectory() as folder:
            self.loaded = {case: compiled(casadi, f, Path(folder)) for case, f in functions.items()}

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        return {case: bound(f, {"q": s.q, "v": s.v, "tau": s.tau, "qdd": s.tau}) for case, f in self.loaded.items()}


def compiled(casadi: Any, f: Any, folder: Path) -> Any:
    """A function as a library."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise MissingExtraError("this comparison needs a C compiler (cc)")
    generator = casadi.CodeGenerator(f"{f.name()}.c")
    generator.add(f)
    generator.generate(f"{folder}/")
    library = folder / f"{f.name()}.so"
    subprocess.run([compiler, *FLAGS, str(folder / f"{f.name()}.c"), "-o", str(library)], check=True)
    return casadi.external(f.name(), str(library))


def bound(loaded: Any, given: dict[str, Any]) -> PeerCall:
    """Its call on arrays that stay where they are."""
    buffer, run = loaded.buffer()
    arrays: list[Any] = [np.array(given[name], dtype=float) for name in loaded.name_in()]
    result = np.zeros(loaded.size_out(0), order="F")
    for k, array in enumerate(arrays):
        buffer.set_arg(k, memoryview(array))
    flat: Any = result.reshape(-1, order="F")
    buffer.set_res(0, memoryview(flat))
    run.kept = loaded, buffer, arrays, result  # of which it has only addresses
    return PeerCall(f"CasADi C code of our {loaded.name()}", run, lambda: result.squeeze())
