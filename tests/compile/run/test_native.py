"""The host's compiler: a fork while another thread compiles."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bough.compile
from bough import Dynamics, zoo

SOURCE = Path(bough.compile.__file__).parents[2]
TESTS = Path(__file__).parents[2]

FORKS = """
import os, signal, sys, threading, time
import numpy as np
from bough.compile.run.specialised import specialise
from compile.programs import program

def compile_one(k):
    f = specialise("f", program(lambda x: ([x[0] * float(k) + x[1] * 0.5],), {"x": (2,)}, {"y": (1,)}))
    assert f(np.ones(2))[0] == k + 0.5
    assert (f(np.ones((3, 2)))[:, 0] == k + 0.5).all()

stop = threading.Event()

def keep_compiling():
    k = 1000
    while not stop.is_set():
        compile_one(k)
        k += 1

compile_one(1)
worker = threading.Thread(target=keep_compiling)
worker.start()
children = []
for k in range(12):
    child = os.fork()
    if child == 0:
        compile_one(10_000 + k)
        os._exit(0)
    children.append(child)
    time.sleep(0.01)
end, hung = time.monotonic() + 60, []
for child in children:
    while time.monotonic() < end and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.01)
    try:
        os.kill(child, signal.SIGKILL)
        hung.append(child)
    except ProcessLookupError:
        pass
stop.set()
worker.join()
sys.exit(len(hung))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_forked_while_another_thread_compiles_can_compile(tmp_path):
    path = os.pathsep.join([str(SOURCE), str(TESTS)])
    env = {**os.environ, "PYTHONPATH": path, "BOUGH_CACHE_DIR": str(tmp_path), "BOUGH_INTERPRET": "0"}
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], env=env, timeout=300).returncode == 0


CLEARS = """
import ctypes, sys
from bough.compile.run import native
from bough.compile.run.cache import fetch

declared = "declare ptr @memset(ptr, i32, i64)"
body = "%q = call ptr @memset(ptr %p, i32 0, i64 64)"
ir = declared + "\\ndefine i64 @clear(ptr %p) {\\n" + body + "\\n ret i64 7\\n}"
code = native.load(fetch("clear", lambda: native.compile_ir(ir)), "clear")
memory = ctypes.create_string_buffer(b"x" * 64)
assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code.address)(memory) == 7
assert bytes(memory)[:64] == bytes(64)
"""


def test_code_calls_what_the_process_that_loads_it_has(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "BOUGH_CACHE_DIR": str(tmp_path)}
    for _ in range(2):  # compiled, then from the cache
        subprocess.run([sys.executable, "-c", CLEARS], check=True, env=env)


def test_code_may_lie_anywhere(monkeypatch, tmp_path):
    """What is compiled for a process in which a card's driver takes the address space gives the same results."""
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    model = zoo.humanoid()
    q, v = model.random_configuration(np.random.default_rng(0)), np.ones(model.nv)
    near = Dynamics(model).forward_dynamics(q, v, v)
    monkeypatch.setattr("bough.compile.run.native.code_model", lambda: "large")
    np.testing.assert_array_equal(Dynamics(model).forward_dynamics(q, v, v), near)
    np.testing.assert_allclose(Dynamics(model, general=True).forward_dynamics(q, v, v), near, atol=1e-10)
