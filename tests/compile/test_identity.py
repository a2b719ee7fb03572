"""Compiled code is never stale: whatever a kernel refers to, its identity changes with it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bough.compile
from bough.compile.identity import identity

SOURCE = str(Path(bough.compile.__file__).parents[2])

CONSTANTS = "FACTOR = {factor}\nUNUSED = {unused}\n"
HELPERS = "from numbers_only import FACTOR\nimport numbers_only as other\ndef helper(x):\n    return {expression}\n"
KERNELS = """
import numpy as np
import helpers
from bough.compile.kernel import loop_kernel
from bough.compile.run import direct
helper = loop_kernel(helpers.helper)

@loop_kernel
def scale(x, y):
    for k in range(len(x)):
        y[k] = helper(x[k])

def run():
    y = np.zeros(3)
    direct.call(scale, np.array([1.0, 2.0, 3.0]), y)
    return y[1]
print(run())
"""


def run(folder, expression="FACTOR * x", factor=2.0, unused=0.0):
    """The printed result of the kernel in a process of its own, with one cache for all."""
    (folder / "numbers_only.py").write_text(CONSTANTS.format(factor=factor, unused=unused))
    (folder / "helpers.py").write_text(HELPERS.format(expression=expression))
    (folder / "kernels.py").write_text(KERNELS)
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([SOURCE, str(folder)]),
        "BOUGH_CACHE_DIR": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "BOUGH_INTERPRET": "0",
    }
    done = subprocess.run([sys.executable, "-c", "import kernels"], env=env, check=True, capture_output=True, text=True)
    return float(done.stdout), len(list((folder / "cache").glob("*.code")))


def test_a_constant_in_a_module_of_constants_counts(tmp_path):
    assert run(tmp_path) == (4.0, 1)
    assert run(tmp_path) == (4.0, 1)  # found on disk
    assert run(tmp_path, unused=9.0) == (4.0, 1)  # not referred to
    assert run(tmp_path, factor=3.0) == (6.0, 2)
    assert run(tmp_path, expression="other.FACTOR * x", factor=5.0) == (10.0, 3)
    assert run(tmp_path, expression="other.FACTOR * x", factor=7.0) == (14.0, 4)


def made(scale=2.0, default=1.0, table=(1.0, 2.0), module=None):
    """A function that reads a closure, a default, and globals."""
    scope = {"TABLE": table, "CONSTANTS": module, "np": np}
    exec(
        "def outer(scale):\n def inner(x, y=DEFAULT):\n  return scale * x + y + TABLE[0] + CONSTANTS.G\n return inner",
        {**scope, "DEFAULT": default},
        scope,
    )
    function = scope["outer"](scale)
    function.__globals__.update(TABLE=table, CONSTANTS=module)
    return function


def constants(**values):
    module = type(sys)("constants")
    vars(module).update(values)
    return module


SAME = {"scale": 2.0, "default": 1.0, "table": (1.0, 2.0), "module": constants(G=9.81)}


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 3.0},
        {"default": 0.5},
        {"table": (1.0, 2.5)},
        {"table": np.array([1.0, 2.0])},
        {"module": constants(G=9.82)},
    ],
)
def test_closures_defaults_globals_and_attributes_count(change):
    assert identity(made(**SAME)) == identity(made(**{**SAME, "module": constants(G=9.81, H=3.0)}))
    assert identity(made(**SAME)) != identity(made(**{**SAME, **change}))


def test_signed_zeros_and_kinds_of_numbers_differ():
    found = {identity(made(**{**SAME, "scale": scale})) for scale in (0.0, -0.0, 0, False, np.float32(0.0), 0j)}
    assert len(found) == 6


def test_what_is_not_known_is_never_the_same():
    assert identity(made(**{**SAME, "scale": object()})) != identity(made(**{**SAME, "scale": object()}))


def test_functions_that_call_each_other_have_an_identity():
    scope = {}
    exec("def even(n):\n return n == 0 or odd(n - 1)\ndef odd(n):\n return n != 0 and even(n - 1)", scope)
    assert identity(scope["even"]) != identity(scope["odd"])


STABLE = """
import sys
from importlib import import_module
from pkgutil import walk_packages
import bough
from bough.compile.identity import identity
from bough.compile.kernel import _straight_line

for module in walk_packages(bough.__path__, "bough."):
    if module.name.split(".")[1] in ("adaptive", "dynamics", "joints", "opspace", "sparsity"):
        import_module(module.name)
print(*sorted(f"{f.__module__} {f.__qualname__} {identity(f)}" for f in _straight_line), sep="\\n")
"""


def test_kernels_are_the_same_in_every_process():
    """Otherwise each process would compile all of them again."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    one, other = (
        subprocess.run([sys.executable, "-c", STABLE], check=True, env=env, capture_output=True, text=True).stdout
        for _ in range(2)
    )
    assert one == other
    assert one.count("\n") > 300
