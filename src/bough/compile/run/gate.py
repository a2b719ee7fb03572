"""Gates: Python callables that pass arrays to compiled code, in about a tenth of a microsecond.

`gate(*inputs, *outputs)` returns a status: OK, or MISFIT when an argument is not exactly a C-contiguous array
of the right dtype and shape (nothing is computed then), BAD_INPUT or BAD_OUTPUT for a non-finite number (one of an
input that is `unchecked` shows in an output). The gate is native code (gate.ll) that reads numpy's arrays itself.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from bough.compile.graph.program import Array
from bough.compile.run import native, workers
from bough.compile.run.cache import fetch
from bough.compile.run.objects import object_layout
from bough.compile.settings import interpreted

Gate = Callable[..., int]
Maker = Callable[..., Any]  # an array, a tuple of them, or None

OK, MISFIT, BAD_INPUT, BAD_OUTPUT = range(4)
MAX_ARRAYS, MAX_NDIM = 64, 3
METH_FASTCALL, METH_KEYWORDS = 0x80, 0x02
ARRAY_NEW = 93  # place of PyArray_New in numpy's C API, fixed since numpy 1.0
PYTHON_API = (
    "PyLong_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef", "Py_DecRef", "PyDict_Size",
    "PyDict_Next", "PyTuple_New", "PyTuple_SetItem", "PyTuple_Size", "PyTuple_GetItem", "PyDict_GetItemWithError",
    "PyCFunction_GetFunction", "PyCFunction_GetSelf", "PyObject_GenericGetDict", "PyErr_Clear", "PyObject_Vectorcall",
    "PyUnicode_Compare",
)  # fmt: skip
_object = ctypes.py_object
_new_function = ctypes.PYFUNCTYPE(_object, ctypes.c_void_p, _object, _object)(("PyCFunction_NewEx", ctypes.pythonapi))
CACHED_BYTES, WIDEST, MOST_STEPS = 2**18, 16, 16  # 16 = rows of the widest step of lanes


@dataclass(frozen=True)
class Signature:
    """The arrays of a call: inputs, then outputs, of one dtype; with a leading batch axis or without."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    dtype: np.dtype
    batched: bool
    is_checked: bool = True  # a result that is not finite ends the run
    unchecked: frozenset[int] = frozenset()  # inputs that are seen in the results where they are not finite

    def __post_init__(self) -> None:
        arrays = self.inputs + self.outputs
        if len(arrays) > MAX_ARRAYS or any(len(x.shape) > MAX_NDIM for x in arrays):
            raise ValueError(f"compiled functions take at most {MAX_ARRAYS} arrays of at most {MAX_NDIM} dimensions")
        if self.dtype not in (np.float64, np.float32):
            raise ValueError(f"compiled functions work in float64 or float32, not in {self.dtype}")


class WorkQueue:
    """The rows of a batch, from which several threads take some at a time: the memory that gate.ll calls %WorkQueue."""

    def __init__(self) -> None:
        self._words = (ctypes.c_int64 * 4)()
        self.address = ctypes.addressof(self._words)
        self._lock = threading.Lock()
        self._table: Any = ()

    def fill(self, rows_at_once: int, helpers: int = 0) -> None:
        """All rows are there again, for whoever calls a gate, and for the first of the assigned workers."""
        words = self._words
        words[0], words[1], words[2] = 0, rows_at_once, helpers

    def assign(self, places: Sequence[tuple[int, int]]) -> None:
        """The workers that help from now on: addresses of their memory and of their records."""
        words = [word for pair in places for word in pair]
        self._table = (ctypes.c_int64 * len(words))(*words)
        self._words[3] = ctypes.addressof(self._table)

    def take(self) -> slice:
        """The same as an atomic addition of native code."""
        with self._lock:
            first, count = self._words[:2]
            self._words[0] = first + count
        return slice(first, first + count)


def make_gate(
    signature: Signature, entry: int, context: int = 0, queue: WorkQueue | None = None, keep: object = None
) -> Gate:
    """A gate to the code at `entry`, for rows that it takes from the queue if there is one; `keep` lives as long."""
    return _native_function("gate", _record(signature, entry, context, queue), keep)


def make_maker(signature: Signature, entry: int, context: int = 0, keep: object = None) -> Maker:
    """`maker(*inputs)`: the output, or a tuple of them, in new arrays; None where a gate would have a complaint."""
    name = "make" if len(signature.outputs) == 1 else "make_several"
    return _native_function(name, _record(signature, entry, context), keep)


def nothing(*_: Any) -> None:
    """Stands in for a maker where there is none, or not yet."""


def make_unpacker(maker: Maker, other: Maker, plain: int, places: Mapping[str, int]) -> Maker | None:
    """`maker` with inputs after the first `plain` in a dict, each under the key that has its place in `places`.

    It returns None unless the keys are equal, in this order; what is no dict goes to `other`. None where `maker` is no
    native code.
    """
    record, second = (getattr(f, "__self__", None) for f in (maker, other))
    if type(record) is not bytes:
        return None
    words = [id(record), id(dict), id(None), plain, len(places), id(second) if type(second) is bytes else 0, id(str)]
    words += [word for key, place in places.items() for word in (id(key), place)]
    return _native_function("unpack", struct.pack(f"<{len(words)}Q", *words), (maker, other, *places))


class Default(NamedTuple):
    """A parameter: its name, what it is where it is not given, and an array of the numbers that were examined last.

    Without that, any numbers will do.
    """

    name: str
    value: np.ndarray
    examined: np.ndarray | None


class FrontRecord(bytes):
    """The words of %Front in gate.ll, with the objects that they are the addresses of."""

    keep: tuple[Any, ...]


def make_front(
    otherwise: Callable[..., Any],
    inputs: int,
    makers: dict[str, Any],
    key: str | None = "make",
    references: dict[str, dict[str, Any]] | None = None,
    holder: tuple[type, object, str] | None = None,
    longer: str | None = None,
    parameters: Sequence[Default] = (),
) -> Callable[..., Any]:
    """`otherwise(*inputs, option, reference, out=, **parameters)`, of which native code serves what fits.

    That is one configuration, in arrays. Makers are found in `makers` when they are called for: under `key`, or, where
    that is None, under the name of a frame, and for a reference in one of `references`. `longer` is the name of an
    option that is one more input: the maker that takes it is there under that name. `parameters` are the last inputs of
    all makers. `holder` is (type, tree, method) of objects whose `packed` is filled: `out` is one of them, and without
    it `otherwise` makes one.
    """
    if interpreted():
        return otherwise
    words_of = map(sys.intern, ("out", longer or "frame", "reference"))
    kept: list[object] = [None, type(len), str, otherwise, *words_of, makers, key, references]
    kind, tree, method = holder or (None, None, None)
    kept += [kind, sys.intern("tree"), tree, sys.intern("method"), method, sys.intern("packed"), longer]
    absent = [k for k, x in enumerate(kept) if x is None and k]
    words = [inputs, *(0 if k in absent else id(x) for k, x in enumerate(kept))]
    words += [*(_gate_code(maker).address for maker in ("make", "unpack")), len(parameters)]
    for name, default, examined in parameters:
        kept += [sys.intern(name), default, examined]
        words += [id(kept[-3]), id(default), 0 if examined is None else id(examined)]
    record = FrontRecord(struct.pack(f"<{len(words)}Q", *words))
    name = getattr(otherwise, "__name__", "call")
    description = _front_method(name, f"{name}{_text_signature(otherwise)}\n--\n\n{otherwise.__doc__ or ''}")
    record.keep = (*kept, description)
    made: Callable[..., Any] = _new_function(ctypes.addressof(description), record, otherwise.__module__)
    return made


def _text_signature(function: Callable[..., Any]) -> str:
    """For `inspect.signature` of a native function: names and defaults."""
    known = signature(function)
    parameters = [p.replace(annotation=p.empty) for p in known.parameters.values()]
    return str(known.replace(parameters=parameters, return_annotation=known.empty))


def record_of(gate: Gate) -> int | None:
    """The address of the record of a gate that is native code."""
    record = getattr(gate, "__self__", None)
    return None if type(record) is not bytes else id(record) + object_layout().bytes_data


@cache
def serve() -> Callable[[int, int], int] | None:
    """`serve(worker, looks)`: the loop of a worker thread, without the GIL; None where the system has no futex."""
    if not workers.are_possible():
        return None
    code = _gate_code("serve")
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(code.address)
    function.code = code  # type: ignore[attr-defined]  # kept in memory
    return function


def python_maker(signature: Signature, gate: Gate) -> Maker:
    """The same by a gate, for one configuration."""
    shapes = [x.shape for x in signature.outputs]

    def make(*inputs: np.ndarray) -> Any:
        outputs = tuple(np.empty(shape, signature.dtype) for shape in shapes)
        if gate(*inputs, *outputs) != OK:
            return None
        return outputs[0] if len(outputs) == 1 else outputs

    return make


def _native_function(name: str, record: bytes, keep: object) -> Callable[..., Any]:
    """A function of the gate's code as a Python function, with `record` for its self.

    In the place of its module it has what must live as long: Python reads its description even when it is freed.
    """
    method = _method(name)
    made: Callable[..., Any] = _new_function(ctypes.addressof(method), record, (method, keep))
    return made


def python_gate(
    signature: Signature, compute: Callable[[Sequence[np.ndarray]], None], queue: WorkQueue | None = None
) -> Gate:
    """A gate to `compute(arrays)`, which fills the outputs among arrays that fit."""
    specs = signature.inputs + signature.outputs
    n_inputs = len(signature.inputs)

    def fits(x: object, shape: tuple[int, ...], is_output: bool) -> bool:
        return (
            type(x) is np.ndarray
            and x.dtype == signature.dtype
            and x.flags.c_contiguous
            and x.flags.aligned
            and (x.flags.writeable or not is_output)
            and x.shape == shape
        )

    def gate(*arrays: np.ndarray) -> int:
        if len(arrays) != len(specs):
            return MISFIT
        lead = np.shape(arrays[0])[:1] if signature.batched else ()
        if not all(fits(x, lead + s.shape, k >= n_inputs) for k, (x, s) in enumerate(zip(arrays, specs, strict=True))):
            return MISFIT
        if any(np.may_share_memory(x, y) for k, y in enumerate(arrays) if k >= n_inputs for x in arrays[:k]):
            return MISFIT
        if queue is None:
            return run(arrays)
        status = OK
        while status == OK and (rows := queue.take()).start < lead[0]:
            status = run([x[rows] for x in arrays])
        return status

    def run(arrays: Sequence[np.ndarray]) -> int:
        if not all(np.isfinite(x).all() for x in arrays[:n_inputs]):
            return BAD_INPUT
        compute(arrays)
        good = not signature.is_checked or all(np.isfinite(x).all() for x in arrays[n_inputs:])
        return OK if good else BAD_OUTPUT

    return gate


class _PyMethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )
    code: native.LoadedCode


@cache
def _method(name: str) -> _PyMethodDef:
    """Python's description of a native function, which keeps its code."""
    code = _gate_code(name)
    made = _PyMethodDef(name.encode(), code.address, METH_FASTCALL, b"Pass arrays to compiled code.")
    made.code = code
    return made


@cache
def _front_method(name: str, text: str) -> _PyMethodDef:
    """The same of a front, for ever: Python reads it when it frees a function, after it may have cleared the record."""
    code = _gate_code("front")
    made = _PyMethodDef(name.encode(), code.address, METH_FASTCALL | METH_KEYWORDS, text.encode())
    made.code = code
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made


@cache
def _gate_code(name: str) -> native.LoadedCode:
    constants = [f"@{field} = internal constant i64 {offset}" for field, offset in asdict(object_layout()).items()]
    ir = "\n".join([*constants, workers.platform_ir(), (files("bough.compile.run") / "gate.ll").read_text()])
    for symbol in PYTHON_API:
        function = ctypes.cast(getattr(ctypes.pythonapi, symbol), ctypes.c_void_p)
        native.define_symbol(symbol, function.value or 0)
    native.define_symbol("PyArray_New", _array_new())
    return native.load(fetch(f"gate {ir}", lambda: native.compile_ir(ir, optimise=True)), name)


def _array_new() -> int:
    """The address of numpy's PyArray_New, from the table that numpy keeps for C extensions."""
    how = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    get_pointer = how(("PyCapsule_GetPointer", ctypes.pythonapi))
    core: Any = getattr(np, "_core", None) or np.core  # numpy 2, numpy 1
    table = get_pointer(core.multiarray._ARRAY_API, None)
    return ctypes.c_void_p.from_address(table + ARRAY_NEW * ctypes.sizeof(ctypes.c_void_p)).value or 0


def rows_at_once(signature: Signature) -> int:
    """Rows that fit the first levels of cache together, so that they are still there when they are checked."""
    row = sum(x.size for x in signature.inputs + signature.outputs) * signature.dtype.itemsize
    return max(1, min(CACHED_BYTES // max(1, row * WIDEST), MOST_STEPS)) * WIDEST


def _record(signature: Signature, entry: int, context: int, queue: WorkQueue | None = None) -> bytes:
    """The words of %Record in gate.ll."""
    arrays = signature.inputs + signature.outputs
    words = [entry, context, len(arrays), len(signature.inputs), int(signature.batched), signature.dtype.itemsize]
    words += [
        id(np.ndarray),
        id(signature.dtype),
        int(signature.is_checked),
        rows_at_once(signature),
        id(None),
        signature.dtype.num,
    ]
    unchecked = sum(1 << k for k in signature.unchecked) if signature.is_checked else 0
    words += [queue.address if queue else 0, unchecked]
    for x in arrays:
        words += [x.size, len(x.shape), *x.shape, *[0] * (MAX_NDIM - len(x.shape))]
    return struct.pack(f"<{len(words)}Q", *words)
