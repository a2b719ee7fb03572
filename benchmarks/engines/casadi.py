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
from bough.app.bench.states import Compared, PeerState, layout
from bough.errors import MissingExtraError, ModelError, required
from bough.model import Model
from bough.types import FloatArray

LARGEST = 64
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


class CasadiEngine:
    """Compiled functions. Every state has buffers of its own, which costs nothing to fill."""

    def __init__(self, model: Model) -> None:
        casadi, compiler = required("casadi", "casadi", "this comparison"), shutil.which("cc")
        if model.nv > LARGEST:
            raise ModelError(
                f"C code without loops for {model.nv} DoF would take a compiler minutes: at most {LARGEST}"
            )
        if compiler is None:
            raise MissingExtraError("this comparison needs a C compiler (cc)")
        from bough.bridges.casadi import function

        names = {Compared.FORWARD: "forward_dynamics", Compared.INVERSE: "inverse_dynamics",
                 Compared.MASS: "mass_matrix", Compared.MASS_INVERSE: "inverse_mass_matrix"}  # fmt: skip
        functions = {case: function(model, name) for case, name in names.items()}
        functions[Compared.JACOBIAN] = function(model, "jacobian", frame=model.frame_names[layout(model).frame])
        self.own, self.loaded = np.eye(model.nv), dict[str, Any]()
        with tempfile.TemporaryDirectory() as folder:
            for case, f in functions.items():
                generator = casadi.CodeGenerator(f"{f.name()}.c")
                generator.add(f)
                generator.generate(f"{folder}/")
                text = Path(folder, f"{f.name()}.c")
                subprocess.run([compiler, *FLAGS, str(text), "-o", str(text.with_suffix(".so"))], check=True)
                self.loaded[case] = casadi.external(f.name(), str(text.with_suffix(".so")))

    def velocities(self, s: PeerState) -> FloatArray:
        """B with v = B v_casadi: the functions are ours."""
        return self.own

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        return {case: bound(f, {"q": s.q, "v": s.v, "tau": s.tau, "qdd": s.tau}) for case, f in self.loaded.items()}


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
