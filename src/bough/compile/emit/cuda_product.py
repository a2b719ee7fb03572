"""The product with a sparse matrix that follows a program, as CUDA C: see `llvm_product` for the same on the CPU.

Inputs are the entries of the sparse matrix B and the lower triangle of a symmetric matrix Z, in columns; results are
the arrays of X = (Z B)', and Z itself, in rows. A thread has one row of Z in its registers and computes one entry of
every row of X. A block has the entries of a few configurations in shared memory, where neighbouring threads read the
same numbers and from where results are written in long runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bough.compile.emit.cuda import ENTRY, head
from bough.compile.emit.limits import Limits
from bough.compile.emit.llvm_product import TOGETHER, SparseProduct
from bough.errors import TooLargeError

CONFIGURATIONS = (8, 4, 2, 1)  # of a block; numbers of eight lie side by side in memory, 32 bytes in float32
MOST_THREADS = 1024


class ProductText(NamedTuple):
    """The text of a kernel; rows, threads and bytes of shared memory of a block."""

    text: str
    rows: int
    block: int
    shared: int


def emit(product: SparseProduct, dtype: np.dtype, limits: Limits) -> ProductText:
    """The kernel `entry(entries, triangle, arrays of X..., Z, bad, batch, strides)`: see `CudaText`."""
    n, entries, triangle = product.n, product.entries, product.n * (product.n + 1) // 2
    pitch = TOGETHER * (-(-(entries + triangle) // TOGETHER) | 1)  # odd: configurations lie in different banks
    row_bytes = np.dtype(dtype).itemsize * pitch
    fitting = [c for c in CONFIGURATIONS if c * row_bytes <= limits.tile and c * n <= MOST_THREADS]
    if not fitting:
        raise TooLargeError(f"a product with {entries} entries and {n} columns is more than one GPU kernel takes")
    some = fitting[0]
    outputs = [f"Number *__restrict__ y{k}_" for k in range(product.arrays + 1)]
    inputs = ["const Number *__restrict__ x0_", "const Number *__restrict__ x1_"]
    parameters = ", ".join([*inputs, *outputs, "unsigned char *bad", "long long batch", "long long s0", "long long s1"])
    sums = "\n    ".join(_sums(product))
    text = f"""{head(dtype)}
struct alignas(4 * sizeof(Number) < 16 ? 4 * sizeof(Number) : 16) Four {{ Number x0, x1, x2, x3; }};
#define FOUR(place) (*reinterpret_cast<const Four *>(own + (place)))
#define PUT(y, c, x) if (inside) {{ fault += (x) - (x); y[(row * {n} + (c)) * {n} + r] = x; }}
extern "C" __global__ void {ENTRY}({parameters})
{{
    extern __shared__ __align__(16) unsigned char tile_bytes[];
    Number *const tile = reinterpret_cast<Number *>(tile_bytes);
    const long long begin = (long long)blockIdx.x * {some};
    for (int k = threadIdx.x; k < {some * (entries + triangle)}; k += blockDim.x) {{
        const int number = k / {some}, c = k % {some};
        const long long from = begin + c < batch ? begin + c : batch - 1;
        tile[c * {pitch} + number] =
            number < {entries} ? __ldg(x0_ + number * batch + from) : __ldg(x1_ + (number - {entries}) * batch + from);
    }}
    __syncthreads();
    const int c = threadIdx.x / {n}, r = threadIdx.x % {n};
    const long long row = begin + c;
    const bool inside = c < {some} && row < batch;
    const Number *const own = tile + (c < {some} ? c : 0) * {pitch};
    Number z[{n}], fault = 0;
    #pragma unroll
    for (int k = 0; k < {n}; k++) {{
        z[k] = own[{entries} + (r > k ? r * (r + 1) / 2 + k : k * (k + 1) / 2 + r)];
        PUT(y{product.arrays}_, k, z[k])
    }}
    {sums}
    if (bad && inside && !(fault == Number(0))) bad[row] = 1;
}}
"""
    return ProductText(text, some, -(-some * n // 32) * 32, some * row_bytes)


def _sums(product: SparseProduct) -> Iterator[str]:
    """Statements for the columns of B, group by group."""
    place = 0
    for group in product.groups:
        names = [f"s{j}" for j in range(len(group.columns))]
        yield f"{{ Number {', '.join(f'{name} = 0' for name in names)};"
        for r in group.rows:
            if len(names) == TOGETHER:
                yield f"{{ const Four e = FOUR({place});"
                yield " ".join(f"{name} += z[{r}] * e.x{j};" for j, name in enumerate(names)) + " }"
            else:
                yield " ".join(f"{name} += z[{r}] * own[{place + j}];" for j, name in enumerate(names))
            place += len(names)
        for name, c in zip(names, group.columns, strict=True):
            yield f"PUT(y{c // product.height}_, {c % product.height}, {name});"
        yield "}"
