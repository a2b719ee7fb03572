"""Arrays of numpy, PyTorch, CuPy and JAX: their devices, and new arrays on the same device.

None of these libraries is imported: an array comes from one that is.
"""

from __future__ import annotations

from sys import modules
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any  # of any library
CUDA = (2, 13)  # types of devices in DLPack: memory of a GPU, and managed memory


def is_on_gpu(x: Array) -> bool:
    """Whether an array of any library says that it is on a GPU."""
    device = getattr(x, "__dlpack_device__", None)
    if device is not None and not isinstance(x, np.ndarray):
        return device()[0] in CUDA
    return hasattr(x, "__cuda_array_interface__")


def library_of(x: Array) -> str:
    """The library of arrays like x: "torch", "cupy" or "jax" on a GPU, "numpy" for all on the host, "other" else."""
    if type(x) is np.ndarray:
        return "numpy"
    name = type(x).__module__.split(".")[0].removesuffix("lib")
    if name == "torch":
        return "torch" if x.is_cuda else "numpy"
    if not is_on_gpu(x):
        return "numpy"
    return name if name in ("cupy", "jax") else "other"


def full(shape: tuple[int, ...], value: float, like: Array, dtype: str | None = None) -> Array:
    """An array of one number in the library, the place and, without `dtype`, the precision of `like`."""
    library = library_of(like)
    if library == "torch":
        torch = modules["torch"]
        return torch.full(shape, value, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device)
    if library == "cupy":
        return modules["cupy"].full(shape, value, dtype or like.dtype)
    return asarray(np.full(shape, value, dtype or _precision(like)), like, dtype)


def asarray(x: Array, like: Array, dtype: str | None = None) -> Array:
    """Numbers as an array in the library, the place and, without `dtype`, the precision of `like`."""
    library = library_of(like)
    if library == "numpy":
        return np.asarray(x, dtype or _precision(like))
    if library == "torch":
        torch = modules["torch"]
        return torch.as_tensor(x, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device)
    if library == "cupy":
        return modules["cupy"].asarray(x, dtype or like.dtype)
    from bough.compile.run.cuda.arrays import uploaded

    return uploaded(np.asarray(x, dtype or _precision(like)), library)


class Copies:
    """An array of the host, and its copies in other libraries: each is made once, so that later calls copy nothing."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self._made: dict[Any, Array] = {}

    def like(self, x: Array, dtype: str | None = None) -> Array:
        """The one in the library, the place and, without `dtype`, the precision of x."""
        key = library_of(x), str(getattr(x, "device", "")), dtype or str(x.dtype)
        if key not in self._made:
            self._made[key] = asarray(self.array, x, dtype)
        return self._made[key]


def as_index(x: Array) -> Array:
    """Integers as an array that can be an index, 0 where they are NaN: a GPU does not survive an index beyond it."""
    library = library_of(x)
    x = (np if library == "numpy" else modules[library]).where(x == x, x, 0.0)
    return x.long() if library == "torch" else x.astype(np.int64)


def chosen(mask: Array, x: Array, y: Array) -> Array:
    """x where the mask (rows,) is true, else y, without a copy to the host."""
    mask = mask.reshape((-1,) + (1,) * (y.ndim - 1))
    library = library_of(y)
    return (np if library == "numpy" else modules[library]).where(mask, x, y)


def on_host(x: Array) -> np.ndarray:
    """The numbers of an array as float64 on the host."""
    library = library_of(x)
    if library == "cupy":
        x = x.get()
    elif library == "torch":
        x = x.detach().cpu()
    elif library == "other":
        from bough.compile.run.cuda.arrays import downloaded

        x = downloaded(x)
    return np.asarray(x, float)


def moveaxis(x: Array, source: int, target: int) -> Array:
    """The array with one axis at another place."""
    if isinstance(x, np.ndarray):
        return np.moveaxis(x, source, target)
    return x.movedim(source, target) if library_of(x) == "torch" else modules[library_of(x)].moveaxis(x, source, target)


def _precision(x: Array) -> np.dtype:
    """float32 where x has it, else float64."""
    found = getattr(x, "dtype", np.float64)
    if isinstance(found, np.dtype):
        return found if found == np.float32 else np.dtype(np.float64)
    return np.dtype(np.float32 if str(found).endswith("float32") else np.float64)
