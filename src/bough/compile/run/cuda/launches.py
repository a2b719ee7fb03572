"""Launches of one program: the form of its kernel and how it is started.

The form (threads for each row, use of shared memory) follows by a rule from the kernel and the GPU. With
BOUGH_GPU_TIMED=1 all forms worth it are tried on the first batch that fills some of the GPU, and on the first that
fills it many times. Either choice is kept on disk.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.compile.emit import cuda, cuda_product
from bough.compile.emit.cuda import GROUP, Form, Layouts, arrangements, emit
from bough.compile.emit.cuda_product import ProductText
from bough.compile.emit.limits import Limits
from bough.compile.emit.llvm_product import SparseProduct
from bough.compile.graph.cut import BETWEEN, cut
from bough.compile.graph.program import Array, Program
from bough.compile.run.cache import fetch, fingerprint
from bough.compile.run.cuda.forms import BLOCKS, FormAndBlock, KernelNeeds, candidates, kernel_needs, rule
from bough.compile.run.cuda.gpu import Gpu, Kernel, Launch
from bough.compile.settings import forms_are_timed

CLASSES = (4096, 65_536)  # rows: from the first on forms are tried, from the second on once more
# Lines, by bytes of a number: longer kernels overflow the instruction cache, and are cut where memory can lie between
LONGEST = {4: 10_300, 8: 13_000}
FEW = 1.25  # times that length, where few rows are computed
AT_BEST = 2  # the factor by which loops and four threads a row shorten kernels of that length
MOST_KEPT = 256  # launches that are kept prepared

BoundLaunch: TypeAlias = Callable[..., None]  # on a stream; and of the rows of a list, by its address


class LoadedForm(NamedTuple):
    """A kernel, and the facts of its text that launches need."""

    kernel: Kernel
    row_bytes: int
    blocks: tuple[int, ...]


class Launches:
    """Kernels of a program, compiled on first use."""

    def __init__(
        self, program: Callable[[], Program], inputs: Sequence[Array], outputs: Sequence[Array], layouts: Layouts
    ) -> None:
        self.program, self.inputs, self.outputs, self.layouts = cache(program), inputs, outputs, layouts
        self._lock = threading.Lock()
        self._choices: dict[tuple[np.dtype, int], FormAndBlock] = {}  # by precision and class of batch
        self._loaded: dict[tuple[np.dtype, Form], LoadedForm] = {}
        self._prepared: dict[tuple[np.dtype, int], Launch] = {}  # by precision and batch
        self._arranged, self._kernels = arrangements(self.program), cache(self._find_kernels)
        self._count = 2 * len(inputs) + len(outputs) + 2 + int(layouts.listed)  # arguments of a launch

    @classmethod
    def of_program(cls, program: Program, layouts: Layouts) -> Launches:
        return cls(lambda: program, program.inputs, program.outputs, layouts)

    def launch(self, gpu: Gpu, dtype: np.dtype, batch: int, arguments: list[int], stream: Any) -> Launch | None:
        """Launch it; the launch itself is returned if it is the same for all calls with so many rows.

        Where the kernel takes the address of a list of rows, it is the last argument; without it, all rows are made.
        """
        if len(arguments) < self._count:
            arguments = [*arguments, 0]
        launch = self._prepared.get((dtype, batch))
        if launch is None:
            launch, final = self._chosen(gpu, dtype, batch, arguments, stream)
            if not final:
                launch(arguments, stream)
                return None
            room_in(self._prepared)[dtype, batch] = launch
        launch(arguments, stream)
        return None if self.layouts.listed else launch

    def bind(self, gpu: Gpu, dtype: np.dtype, batch: int, arguments: list[int]) -> BoundLaunch:
        """Launches on these arrays alone, which are handed to the driver once."""
        known: dict[int, tuple[Launch, list[int]]] = {}  # by the address of a list of rows

        def launch(stream: Any, chosen: int = 0) -> None:
            own = known.get(chosen)
            if own is None:
                given = [*arguments, chosen] if self.layouts.listed else arguments
                found, final = self._chosen(gpu, dtype, batch, given, stream)
                own = found, given
                if final:
                    known[chosen] = own
            own[0](own[1], stream)

        return launch

    def _chosen(self, gpu: Gpu, dtype: np.dtype, batch: int, arguments: list[int], stream: Any) -> tuple[Launch, bool]:
        """A launch of the form that was chosen, and whether that is final."""
        with self._lock:
            choice, final = self._choose(gpu, dtype, batch, arguments, stream)
        return self._ready(gpu, dtype, choice, batch), final

    def chain(self, gpu: Gpu, dtype: np.dtype) -> ChainedLaunches | None:
        """The same by several kernels, where one would be too long; they are compiled side by side."""
        parts, k, cuts = [Link(self, (), -1)], 0, 0
        while k < len(parts):
            launches, taken, made = parts[k]
            if launches._is_long(gpu, dtype):
                first, second = cut(launches.program())
                between = self.layouts._replace(results="groups")
                before = Link(Launches.of_program(first, between), taken, cuts)
                after = Link(Launches.of_program(second, launches.layouts), (*taken, cuts), made)
                parts[k : k + 1] = before, after
                cuts += 1
            else:
                k += 1
        if not cuts:
            return None
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(lambda x: x.launches._kernel(gpu, dtype, x.launches._by_rule(gpu, dtype).form), parts))
        return ChainedLaunches(parts)

    def suits_few(self, gpu: Gpu, dtype: np.dtype) -> bool:
        """Whether it is short enough to be one kernel for rows of lists, which are often empty."""
        return not self._is_long(gpu, dtype, FEW)

    def _is_long(self, gpu: Gpu, dtype: np.dtype, times: float = 1.0) -> bool:
        def lines() -> bytes:
            kernels = self._kernels(gpu.limits, dtype)
            return b"%d" % kernels.needs[rule(kernels, gpu.limits).form.lanes].lines

        longest = times * LONGEST[dtype.itemsize]
        if len(self.program().graph) > AT_BEST * longest:
            return True
        return int(fetch(f"lines {self._name(dtype)} {self.layouts} {gpu.limits}", lines)) > longest

    def _by_rule(self, gpu: Gpu, dtype: np.dtype) -> FormAndBlock:
        return self._kept(gpu, dtype, "", lambda: rule(self._kernels(gpu.limits, dtype), gpu.limits))

    def choice(self, dtype: np.dtype, batch: int) -> tuple[FormAndBlock, Kernel]:
        """The form chosen for batches of that class, and its kernel."""
        choice = self._choices[dtype, size_class(batch)]
        return choice, self._loaded[dtype, choice.form].kernel

    def trial(
        self, gpu: Gpu, dtype: np.dtype, batch: int, arguments: list[int], stream: Any
    ) -> dict[FormAndBlock, float]:
        """Seconds of a launch, of each form in each block."""
        forms = [*candidates(self._kernels(gpu.limits, dtype), gpu.limits)]
        with ThreadPoolExecutor(len(forms)) as pool:
            list(pool.map(lambda form: self._kernel(gpu, dtype, form), forms))
        times = {}
        for form in forms:
            code = self._kernel(gpu, dtype, form)
            for block in code.blocks:
                if code.row_bytes * block // form.lanes <= gpu.limits.tile and block <= code.kernel.most_threads:
                    launch = self._ready(gpu, dtype, FormAndBlock(form, block), batch)
                    times[FormAndBlock(form, block)] = gpu.seconds(partial(launch, arguments, stream), stream)
        return times

    def _ready(self, gpu: Gpu, dtype: np.dtype, choice: FormAndBlock, batch: int) -> Launch:
        code = self._kernel(gpu, dtype, choice.form)
        rows = choice.block // choice.form.lanes
        return gpu.prepared(code.kernel, -(-batch // rows), choice.block, code.row_bytes * rows, self._count)

    def _choose(
        self, gpu: Gpu, dtype: np.dtype, batch: int, arguments: list[int], stream: Any
    ) -> tuple[FormAndBlock, bool]:
        """The form and block, and whether that is final: not while a graph is recorded, when nothing can be timed."""
        size = size_class(batch)
        found = self._choices.get((dtype, size))
        if found:
            return found, True
        timed = forms_are_timed() and size > 0
        if timed and gpu.is_capturing(stream):
            return self._by_rule(gpu, dtype), False
        if timed:
            found = self._kept(gpu, dtype, f"timed {size}", lambda: self._fastest(gpu, dtype, batch, arguments, stream))
        else:
            found = self._by_rule(gpu, dtype)
        self._choices[dtype, size] = found
        return found, True

    def _kept(self, gpu: Gpu, dtype: np.dtype, how: str, choose: Callable[[], FormAndBlock]) -> FormAndBlock:
        """A choice, from the disk if it is there."""
        name = f"form {self._name(dtype)} {self.layouts} {gpu.name} {gpu.limits} {how}"
        form, block = json.loads(fetch(name, lambda: json.dumps(choose()).encode()))
        return FormAndBlock(Form(*form), block)

    def _fastest(self, gpu: Gpu, dtype: np.dtype, batch: int, arguments: list[int], stream: Any) -> FormAndBlock:
        times = self.trial(gpu, dtype, batch, arguments, stream)
        return min(times, key=lambda choice: times[choice])

    def _find_kernels(self, limits: Limits, dtype: np.dtype) -> KernelNeeds:
        return kernel_needs(self._arranged, dtype, self.layouts, limits, bool(self.program().marks))

    def _kernel(self, gpu: Gpu, dtype: np.dtype, form: Form) -> LoadedForm:
        found = self._loaded.get((dtype, form))
        if found is None:

            def build() -> bytes:
                source = emit(self._arranged(form.lanes), dtype, form, gpu.limits)
                launch = json.dumps([source.row_bytes, (source.block,) if source.block else BLOCKS])
                return launch.encode() + b"\n" + gpu.compile(source.text, fast=dtype == np.float32)

            name = f"cuda {self._name(dtype)} {form} {gpu.limits} {gpu.compiler}"
            launch, _, code = fetch(name, build, machine=gpu.architecture).partition(b"\n")
            found = self._loaded[dtype, form] = LoadedForm(gpu.load(code), *json.loads(launch))
        return found

    def _name(self, dtype: np.dtype) -> str:
        """Everything that its text depends on, beside the form and the GPU."""
        return f"{fingerprint(self.program())} {dtype.str} {[x.name == BETWEEN for x in self.inputs]}"


class Link(NamedTuple):
    """A kernel of a chain: by their numbers, the arrays between kernels that it takes, and the one that it makes."""

    launches: Launches
    taken: tuple[int, ...]
    made: int  # -1: the results


def padded(batch: int) -> int:
    """The rows of whole groups."""
    return -(-batch // GROUP) * GROUP


class ChainedLaunches:
    """Launches of a chain of kernels, with `size` numbers a row between them."""

    def __init__(self, parts: Sequence[Link]) -> None:
        self.parts, self.sizes = parts, {made: launches.outputs[0].size for launches, _, made in parts[:-1]}
        self.size = sum(self.sizes.values())

    def bind(self, gpu: Gpu, dtype: np.dtype, batch: int, arguments: list[int], between: int) -> BoundLaunch:
        """Launches of all on these arrays, with the address of memory for the numbers between them."""
        count = len(self.parts[0].launches.inputs)
        given, rest, strides = arguments[:count], arguments[count:], arguments[len(arguments) - count :]
        places: dict[int, int] = {}
        launches: list[BoundLaunch] = []
        for part, taken, made in self.parts:
            results = rest
            if made in self.sizes:
                places[made] = between
                results = [between, 0, batch, *strides]
                between += self.sizes[made] * padded(batch) * dtype.itemsize
            known, sizes = [places[k] for k in taken], [self.sizes[k] for k in taken]
            launches.append(part.bind(gpu, dtype, batch, [*given, *known, *results, *sizes]))

        def launch(stream: Any, chosen: int = 0) -> None:
            for one in launches:
                one(stream, chosen)

        return launch


def collector(gpu: Gpu, dtype: np.dtype, batch: int) -> Launch:
    """A launch of the kernel that lists rows to recompute."""
    return gpu.prepared(_loaded(gpu, cuda.collect(dtype), dtype), -(-batch // BLOCKS[-1]), BLOCKS[-1], 0, 8)


class ProductLaunches:
    """Launches of the kernel of a sparse product, which has one form: inputs in columns, results in rows."""

    layouts = Layouts(inputs="columns")

    def __init__(self, product: SparseProduct, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self.product, self.inputs, self.outputs = product, inputs, outputs
        self._kernels: dict[np.dtype, tuple[Kernel, ProductText]] = {}
        self._prepared: dict[tuple[np.dtype, int], Launch] = {}  # by precision and batch

    def launch(self, gpu: Gpu, dtype: np.dtype, batch: int, arguments: list[int], stream: Any) -> Launch:
        """Launch it, and return the launch."""
        launch = self._prepared.get((dtype, batch))
        if launch is None:
            if dtype not in self._kernels:
                source = cuda_product.emit(self.product, dtype, gpu.limits)
                self._kernels[dtype] = _loaded(gpu, source.text, dtype), source
            kernel, (_, rows, block, shared) = self._kernels[dtype]
            launch = gpu.prepared(kernel, -(-batch // rows), block, shared, len(arguments))
            room_in(self._prepared)[dtype, batch] = launch
        launch(arguments, stream)
        return launch


def _loaded(gpu: Gpu, text: str, dtype: np.dtype) -> Kernel:
    """The kernel of a short text."""
    name = f"cuda {gpu.compiler} {text}"
    return gpu.load(fetch(name, lambda: gpu.compile(text, dtype == np.float32), machine=gpu.architecture))


def room_in(kept: dict[Any, Any]) -> dict[Any, Any]:
    """The same, cleared if it is too large."""
    if len(kept) >= MOST_KEPT:
        kept.clear()
    return kept


def size_class(batch: int) -> int:
    return sum(batch >= first for first in CLASSES)
