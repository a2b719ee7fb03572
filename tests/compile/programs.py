"""Programs to test the compiler with: random ones, and synthetic ones of the shape that robots give."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from bough.compile.graph.expr import ATAN, COS, SIN, SQRT, STEP, Expr, Graph
from bough.compile.graph.program import Array, Program


def program(function, inputs, outputs):
    """Trace `function(*arrays of Expr) -> arrays` over inputs and outputs given as {name: shape}."""
    graph = Graph()
    specs = tuple(Array(name, shape) for name, shape in inputs.items())
    symbols = [
        np.array([graph.input(k, i) for i in range(spec.size)], dtype=object).reshape(spec.shape)
        for k, spec in enumerate(specs)
    ]
    results = function(*symbols)
    roots = tuple(tuple(graph.operand(x) for x in np.asarray(r, dtype=object).ravel()) for r in results)
    return Program(graph, specs, tuple(Array(n, s) for n, s in outputs.items()), roots)


def rotate(angle, x, y):
    c, s = angle.unary(COS), angle.unary(SIN)
    return c * x - s * y, s * x + c * y


def arm(joints=30):
    """A chain of rotations and shifts of 3-vectors, there and back: angles in, forces out."""

    def function(q, v):
        p, w, out = [0.1, 0.2, 0.3], [0.0, 0.0, 0.0], []
        frames = []
        for i in range(joints):
            p[0], p[1] = rotate(q[i] + 0.1 * i, p[0], p[1])
            w[1], w[2] = rotate(q[i], w[1], w[2])
            w[0] = w[0] + v[i]
            p = [p[0] + w[1] * p[2] - w[2] * p[1], p[1] + w[2] * 0.3, p[2] - w[0] * p[0]]
            p[2], p[0] = p[0] * 0.5, p[2]
            frames.append(list(p))
        f = [0.0, 0.0, 0.0]
        for i in reversed(range(joints)):
            f = [a + b * w[k] for k, (a, b) in enumerate(zip(f, frames[i], strict=True))]
            f[0], f[2] = rotate(-q[i], f[0], f[2])
            out.append(f[0] / (2.0 + w[0] * w[0]))
        return out[::-1], [x for frame in frames for x in frame]

    return program(function, {"q": (joints,), "v": (joints,)}, {"tau": (joints,), "points": (joints, 3)})


def cholesky_solve(n=12):
    """x = H^-1 b by a dense Cholesky factorization of H = A A' + n I."""

    def function(A, b):
        H = [[sum(A[i, k] * A[j, k] for k in range(n)) + (n if i == j else 0) for j in range(n)] for i in range(n)]
        L = [[0.0] * n for _ in range(n)]
        for j in range(n):
            d = (H[j][j] - sum(L[j][k] * L[j][k] for k in range(j))).unary(SQRT)
            L[j][j] = d
            for i in range(j + 1, n):
                L[i][j] = (H[i][j] - sum(L[i][k] * L[j][k] for k in range(j))) / d
        y = []
        for i in range(n):
            y.append((b[i] - sum(L[i][k] * y[k] for k in range(i))) / L[i][i])
        x = [0.0] * n
        for i in reversed(range(n)):
            x[i] = (y[i] - sum(L[k][i] * x[k] for k in range(i + 1, n))) / L[i][i]
        return x, L

    return program(function, {"A": (n, n), "b": (n,)}, {"x": (n,), "L": (n, n)})


@st.composite
def random_programs(draw, max_operations=60):
    """Straight-line programs of every operation, safe on inputs in [-2, 2]; some outputs are constants or inputs."""
    sizes = draw(st.lists(st.integers(1, 11), min_size=1, max_size=3))
    graph = Graph()
    values = [graph.input(k, i) for k, size in enumerate(sizes) for i in range(size)]
    values += [Expr(graph, graph.const(c)) for c in (0.0, 1.0, -2.5)]
    pick = st.integers(0, 10**6)
    for _ in range(draw(st.integers(0, max_operations))):
        x, y = values[draw(pick) % len(values)], values[draw(pick) % len(values)]
        kind = draw(st.integers(0, 9))
        bounded = y.unary(SIN) if kind in (2, 3) else y
        values.append(
            [
                lambda x, y: x + y,
                lambda x, y: x - y,
                lambda x, y: x * y,
                lambda x, y: x / (y * y + 1.0),
                lambda x, y: -x,
                lambda x, y: (x * x + 0.5).unary(SQRT),
                lambda x, y: x.unary(SIN),
                lambda x, y: x.unary(COS),
                lambda x, y: x.unary(ATAN),
                lambda x, y: x * (y - 0.3).unary(STEP),
            ][kind](x, bounded)
        )
    shapes = draw(st.lists(st.sampled_from([(1,), (5,), (9,), (3, 3), (17,)]), min_size=1, max_size=2))
    roots = tuple(tuple(values[draw(pick) % len(values)].id for _ in range(int(np.prod(shape)))) for shape in shapes)
    inputs = tuple(Array(f"x{k}", (size,)) for k, size in enumerate(sizes))
    outputs = tuple(Array(f"y{k}", shape) for k, shape in enumerate(shapes))
    return Program(graph, inputs, outputs, roots)


def random_inputs(program, batch=None, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    lead = () if batch is None else (batch,)
    return [rng.uniform(-scale, scale, size=(*lead, *spec.shape)) for spec in program.inputs]
