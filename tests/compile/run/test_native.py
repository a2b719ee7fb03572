"""The host's compiler: forks, exits, interrupts, and an address space with little room."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import bough.compile
from bough.compile.run import native

SOURCE = Path(bough.compile.__file__).parents[2]
TESTS = Path(__file__).parents[2]

FORKS = """
import os, signal, sys, threading, time
import numpy as np
from graphs import specialise
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
end, hung = time.monotonic() + 200, []
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


def run_script(text, folder, **more):
    path = os.pathsep.join([str(SOURCE), str(TESTS)])
    env = {**os.environ, "PYTHONPATH": path, "BOUGH_CACHE_DIR": str(folder), "BOUGH_INTERPRET": "0"} | more
    return subprocess.run([sys.executable, "-W", "ignore", "-c", text], env=env, timeout=300, capture_output=True)


NARROW = """
import ctypes, sys
import numpy as np
from bough import Dynamics, zoo
from bough.compile.run import specialised

libc = ctypes.CDLL(None)
where = [ctypes.c_void_p, ctypes.c_size_t]
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [*where, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = where
PAGE, NOWHERE = 4096, 2**64 - 1

def take(size):
    return libc.mmap(None, size, 0, 0x4022, -1, 0)  # private, of no file, reserving nothing

model, rng = zoo.arm(6), np.random.default_rng(0)
q, v = rng.normal(size=(2, 200, 6))
far = take(8 << 30)
if far == NOWHERE:
    sys.exit(77)
filled, size = [], 1 << 30
while size >= PAGE:  # all holes above
    at = take(size)
    if NOWHERE > at > far:
        filled.append((at, size))
        continue
    libc.munmap(at, size)
    size //= 2
pages = [at + k for at, size in filled for k in range(0, min(size, 400 * PAGE), 2 * PAGE)]
for page in pages:
    libc.munmap(page, PAGE)  # holes of a page, more than 8 GB away from all larger ones
for how in range(3):
    if how == 1:
        specialised.LONG, specialised.LONG_CHUNK, specialised.LONG_PARTS = 1, 100, 3  # in parts that call one another
    dynamics = Dynamics(model, general=how == 2)
    want = np.array([dynamics.forward_dynamics(q[k], v[k], v[k]) for k in range(3)])
    assert np.allclose(dynamics.forward_dynamics(q, v, v, threads=2)[:3], want, atol=1e-10)
    assert np.allclose(dynamics.inverse_dynamics(q[:3], v[:3], want), v[:3], atol=1e-8)
"""


@pytest.mark.skipif(not native.IN_ONE_PIECE, reason="where memory is taken in one piece, and so that it can be told")
def test_code_runs_in_an_address_space_with_small_holes_far_away(tmp_path):
    """Such as that of a process with a card, or with a few gigabytes in large arrays."""
    done = run_script(NARROW, tmp_path)
    if done.returncode == 77:
        pytest.skip("no 8 GB of address space")
    assert done.returncode == 0


LONG = (
    "define double @long(double %x0) {\n"
    + "\n".join(f"  %x{k + 1} = fadd double %x{k}, {k}.5" for k in range(4000))
    + "\n  ret double %x4000\n}"
)
SHORT = "define i64 @entry(ptr %a, i64 %b, ptr %c) {\n ret i64 7\n}"


INTERRUPTED = f"""
import gc
from bough.compile.run import native

def interrupted(level):
    raise KeyboardInterrupt

native._target_machine = interrupted
for k in range(5):
    try:
        native.compile_parts([{SHORT!r}] * 3)
        raise SystemExit(1)
    except KeyboardInterrupt:
        pass
    gc.collect()  # finds modules and their contexts, in any order
"""


def test_an_interrupt_while_parts_compile_is_no_more_than_that(tmp_path):
    assert run_script(INTERRUPTED, tmp_path).returncode == 0


def test_nobody_is_at_work_after_an_interrupt():
    def parts():
        yield LONG
        yield LONG
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        native.compile_parts(parts())
    assert "bough compiler" not in [thread.name for thread in threading.enumerate()]


def test_parts_compile_where_no_thread_can_be_started(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    renamed = [LONG.replace("@long", f"@long{k}") for k in range(2)]
    assert native.load(native.compile_parts([*renamed, SHORT]), "entry").address


ENDS = """
import atexit, os, threading
busy = []
atexit.register(lambda: os.write(1, b"busy" if busy else b"idle"))  # the last to be called
from bough.compile.run import native
from compile.run.test_native import LONG

started = threading.Event()

def work():
    while True:
        with native.compiling:
            busy.append(True)
            started.set()
            native.compile_ir(LONG, optimise=True)
            busy.clear()

threading.Thread(target=work, daemon=True).start()
started.wait()
"""


def test_a_script_ends_when_nobody_compiles_any_more(tmp_path):
    """LLVM is taken down at exit; a daemon that is still compiling would crash, or crash the process."""
    done = run_script(ENDS, tmp_path)
    assert done.returncode == 0
    assert done.stdout == b"idle"


DROPS = f"""
import os, signal, threading, time
from bough.compile.run import native

native.compile_ir({SHORT!r})
lock, entered = native._lock_of_llvm(), threading.Event()

def drop():  # what who drops the last reference to some code does in llvmlite
    with lock:
        entered.set()
        time.sleep(0.3)

threading.Thread(target=drop).start()
entered.wait()
child = os.fork()
if child == 0:
    signal.alarm(100)
    native.compile_ir({SHORT!r})
    os._exit(0)
os._exit(0 if os.waitpid(child, 0)[1] == 0 else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_forked_while_another_thread_frees_code_can_compile(tmp_path):
    assert run_script(DROPS, tmp_path).returncode == 0


FIRST_USE = """
import os, signal, threading, time
import bough

def use(n):
    import numpy as np
    q = np.zeros(n)
    bough.Dynamics(bough.zoo.arm(n)).forward_dynamics(q, q, q)

worker = threading.Thread(target=use, args=(3,))
worker.start()
children = []
while worker.is_alive() and len(children) < 10:
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        use(2)
        os._exit(0)
    children.append(child)
    time.sleep(0.02)
os._exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


IMPORTS_LLVM = f"""
import os, signal, sys, threading, time
import bough
from bough.compile.run import native

entered = threading.Event()

class Slow:  # imports llvmlite, as a thread that uses it first, and then needs LLVM before the import ends
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "llvmlite.binding.targets":
            entered.set()
            time.sleep(0.3)
            with native.compiling:
                pass

signal.alarm(60)
sys.meta_path.insert(0, Slow)
threading.Thread(target=lambda: __import__("llvmlite.binding")).start()
entered.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    native.compile_ir({SHORT!r})
    os._exit(0)
os._exit(0 if os.waitpid(child, 0)[1] == 0 else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_holds_no_lock_that_an_import_needs_to_end(tmp_path):
    assert run_script(IMPORTS_LLVM, tmp_path).returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_forked_while_a_thread_uses_bough_for_the_first_time_can_use_it(tmp_path):
    """Modules that the thread was importing, and properties that it was computing, are not waited for."""
    run = run_script(FIRST_USE, tmp_path, BOUGH_INTERPRET="1")
    assert (run.returncode, run.stderr) == (0, b"")
