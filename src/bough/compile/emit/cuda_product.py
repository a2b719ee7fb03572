"""The product with a sparse matrix that follows a program, as CUDA C: see `llvm_product` for the same on the CPU.

Inputs are the entries of the sparse matrix B and the lower triangle of a symmetric matrix Z, in columns; results are
the arrays of X = (Z B)', and Z itself, in rows. A thread has two rows of Z in its registers and computes two entries of
every row of X. A block has the entries of a few configurations in shared memory, where neighbouring threads read the
same numbers; results leave in long runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bough.compile.emit.cuda import ENTRY, HEAD
from bough.compile.emit.limits import Limits
from bough.compile.emit.llvm_product import TOGETHER, SparseProduct
from bough.errors import TooLargeError

SECTOR = 32  # bytes that are read at once: numbers of so many configurations lie side by side
MOST_THREADS = 1024


class ProductText(NamedTuple):
    """The text of a kernel; rows, threads and bytes of shared memory of a block."""

    text: str
    rows: int
    block: int
    shared: int


def emit(product: SparseProduct, dtype: np.dtype, limits: Limits) -> ProductText:
    """The kernel `entry(entries, triangle, arrays of X..., Z, bad, batch, strides)`: see `CudaText`."""
    n, entries, size = product.n, product.entries, np.dtype(dtype).itemsize
    numbers, half = entries + n * (n + 1) // 2, -(-n // 2)
    pitch = TOGETHER * (-(-numbers // TOGETHER) | 1)  # odd: configurations lie in different banks
    some = SECTOR // size
    while some > 1 and (some * pitch * size > limits.tile or some * half > MOST_THREADS):
        some //= 2
    if some * pitch * size > limits.tile or some * half > MOST_THREADS:
        raise TooLargeError(f"a product with {entries} entries and {n} columns is more than one GPU kernel takes")
    outputs = [f"Number *__restrict__ y{k}_" for k in range(product.arrays + 1)]
    inputs = ["const Number *__restrict__ x0_", "const Number *__restrict__ x1_"]
    parameters = ", ".join([*inputs, *outputs, "unsigned char *bad", "long long batch", "long long s0", "long long s1"])
    sums, block, shared = "\n    ".join(_sums(product)), -(-some * half // 32) * 32, some * pitch * size
    blocks = limits.shared // (shared + limits.reserved)  # that share a multiprocessor, so that some read, some compute
    text = f"""{head(dtype)}
struct alignas(16) Four {{ Number x0, x1, x2, x3; }};
#define FOUR(place) (*reinterpret_cast<const Four *>(own + (place)))
#define ENTRY(r, k) own[{entries} + ((r) > (k) ? (r) * ((r) + 1) / 2 + (k) : (k) * ((k) + 1) / 2 + (r))]
#define PUT(y, c, a, b) \\
    {{ \\
        fault += ((a) - (a)) + ((b) - (b)); \\
        if (inside) y[(row * {n} + (c)) * {n} + r] = a; \\
        if (inside && s < {n}) y[(row * {n} + (c)) * {n} + s] = b; \\
    }}
extern "C" __global__ BLOCK_OF({block}, {blocks}) void {ENTRY}({parameters})
{{
    extern __shared__ __align__(16) unsigned char tile_bytes[];
    Number *const tile = reinterpret_cast<Number *>(tile_bytes);
    const long long begin = (long long)blockIdx.x * {some};
    const int c = threadIdx.x % {some};
    const long long from = begin + c < batch ? begin + c : batch - 1;
    #pragma unroll 8
    for (int k = threadIdx.x / {some}; k < {entries}; k += blockDim.x / {some})
        tile[c * {pitch} + k] = __ldg(x0_ + k * batch + from);
    #pragma unroll 8
    for (int k = threadIdx.x / {some}; k < {numbers - entries}; k += blockDim.x / {some})
        tile[c * {pitch} + {entries} + k] = __ldg(x1_ + k * batch + from);
    __syncthreads();
    const int own_row = threadIdx.x / {half}, r = threadIdx.x % {half}, s = r + {half}, t = s < {n} ? s : r;
    const long long row = begin + own_row;
    const bool inside = own_row < {some} && row < batch;
    const Number *const own = tile + (own_row < {some} ? own_row : 0) * {pitch};
    Number z[{n}], u[{n}], fault = 0;
    #pragma unroll
    for (int k = 0; k < {n}; k++) {{
        z[k] = ENTRY(r, k);
        u[k] = ENTRY(t, k);
        PUT(y{product.arrays}_, k, z[k], u[k])
    }}
    {sums}
    if (bad && inside && !(fault == Number(0))) bad[row] = 1;
}}
"""
    return ProductText(text, some, block, shared)


def _sums(product: SparseProduct) -> Iterator[str]:
    """Statements for the columns of B, group by group: entries are read once for two rows of Z."""
    place = 0
    for group in product.groups:
        count = len(group.columns)
        yield f"{{ Number {', '.join(f'a{j} = 0, b{j} = 0' for j in range(count))};"
        for r in group.rows:
            if count == TOGETHER:
                yield f"{{ const Four e = FOUR({place});"
            else:
                yield f"{{ const Four e = {{{', '.join(f'own[{place + j}]' for j in range(count))}}};"
            yield " ".join(f"a{j} += z[{r}] * e.x{j}; b{j} += u[{r}] * e.x{j};" for j in range(count)) + " }"
            place += count
        for j, c in enumerate(group.columns):
            yield f"PUT(y{c // product.height}_, {c % product.height}, a{j}, b{j})"
        yield "}"


def head(dtype: np.dtype) -> str:
    """What kernels begin with, for one thread for a row."""
    real = {8: "double", 4: "float"}[np.dtype(dtype).itemsize]
    text = HEAD.replace("@REAL@", real).replace("@LANES@", "1").replace("@BLOCK@", "32")
    return text.replace("@ROWS@", "0").replace("@RESULT_ROWS@", "1")
