"""Tests on a GPU, the one that is there or a stand-in; only what truly needs hardware is marked `needs_gpu`."""

import sys
from contextlib import contextmanager

import numpy as np
import pytest

import bough
import stand_in
from bough.compile.run.cuda.gpu import find_gpu, using
from bough.model import Builder


def has_gpu() -> bool:
    try:
        find_gpu()
    except bough.BoughError:
        return False
    return True


def starfish():
    """A floating body with four legs of one joint, identical but for their places."""
    builder = Builder("starfish")
    builder.add_body("trunk", joint="floating", mass=3.0, com=(0.1, 0.0, 0.0), inertia=np.diag([0.1, 0.3, 0.35]))
    for k in range(4):
        law = {"damping": 0.3, "stiffness": 2.0, "lower": -2.0, "upper": 2.0, "armature": 0.01}
        place = (np.cos(1.5 * k), np.sin(1.5 * k), 0.1 * k)
        inertia = np.diag([0.03, 0.03, 0.01])
        builder.add_body(
            f"leg{k}", "trunk", "revolute", place, axis=(1, 0, 0), mass=0.5, com=(0, 0, -0.2), inertia=inertia, **law
        )
    return builder.build()


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no CUDA device")


def on_hardware(full, small):
    """A robot, a number of rows: on a GPU, and for the stand-in."""
    return full if has_gpu() else small


def to_gpu(x):
    """An array of PyTorch on the GPU, or on the stand-in one of what passes for CuPy."""
    if has_gpu():
        return pytest.importorskip("torch").asarray(x, device="cuda")
    return sys.modules["cupy"].asarray(x)


@contextmanager
def a_gpu(model="H200"):
    """The GPU, or a stand-in for one; and `cupy`, or a library that passes for it."""
    if has_gpu():
        yield find_gpu()
        return
    if stand_in.COMPILER is None:
        pytest.skip("needs a GPU, or a C++ compiler for its stand-in")
    kept = sys.modules.get("cupy")
    sys.modules["cupy"] = stand_in.arrays()
    try:
        with using(stand_in.StandInGpu(model)) as found:
            yield found
    finally:
        del sys.modules["cupy"]
        if kept is not None:
            sys.modules["cupy"] = kept
