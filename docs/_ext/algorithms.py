"""Directives of the pages on theory: what a file says of itself, exact costs, pictures of patterns."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from bough import Dynamics, OperationalSpace, Tree, count, pose, sparsity, zoo
from bough.model import Model

CELL = 6
MODELS: dict[str, Callable[[], Model]] = {"humanoid": zoo.humanoid, "asimo": zoo.asimo, "chain": lambda: zoo.chain(12)}


class Algorithm(SphinxDirective):
    """`{algorithm} bough.dynamics.aba`: the docstring of the file, as it is, and where the file is."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        text = import_module(name).__doc__ or ""
        path = nodes.literal(text=f"src/{name.replace('.', '/')}.py")
        line = nodes.paragraph("", "", nodes.Text("In the code: "), path)
        words = nodes.literal_block(text.strip(), text.strip(), language="text", classes=["algorithm"])
        return [line, words]


class Operations(SphinxDirective):
    """`{operations} forward_dynamics aba`: exact operation counts on three mechanisms, counted while building."""

    required_arguments, optional_arguments = 1, 1

    def run(self) -> list[nodes.Node]:
        function, method = self.arguments[0], self.arguments[1] if len(self.arguments) > 1 else None
        rows = []
        for name, make in MODELS.items():
            model = make()
            found = count(model, function, method=method)
            rows.append((f"{name}, {model.nv} freedoms", *(f"{getattr(found, k):,}" for k in ("mul", "add", "div"))))
        return [table(("mechanism", "multiplications", "additions", "divisions"), rows)]


class LambdaOperations(SphinxDirective):
    """`{lambda-operations} rjk`: the same for a method for Lambda^-1, with poses of hands and feet as tasks."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        rows = []
        for name, make in {"asimo": zoo.asimo, "humanoid": zoo.humanoid}.items():
            model = make()
            leaves = [f for f in ("left_hand", "right_hand", "left_foot", "right_foot") if f in model.frame_names]
            plan = OperationalSpace(model, [pose(f) for f in leaves]).plan()
            found = plan.counts[self.arguments[0]]
            rows.append((f"{name}, {len(leaves)} poses", *(f"{getattr(found, k):,}" for k in ("mul", "add", "div"))))
        return [table(("mechanism", "multiplications", "additions", "divisions"), rows)]


class Pattern(SphinxDirective):
    """`{pattern} H`: nonzeros of a matrix of the humanoid, drawn while building."""

    required_arguments = 1
    option_spec = {"caption": directives.unchanged}  # noqa: RUF012  (docutils wants it so)

    def run(self) -> list[nodes.Node]:
        matrix = PATTERNS[self.arguments[0]]()
        caption = self.options.get("caption", f"Nonzeros of {self.arguments[0]}, the 30-DoF humanoid.")
        picture = nodes.raw("", svg(matrix), format="html")
        return [picture, nodes.paragraph("", caption)]


def humanoid() -> tuple[Tree, Any]:
    model = zoo.humanoid()
    return model.dof_tree, Dynamics(model, general=True).mass_matrix(model.neutral + 0.1)


def factor(kind: str) -> Any:
    tree, H = humanoid()
    found = getattr(sparsity, kind)(H, tree)
    return found.L


def rows_of_tasks() -> Any:
    model = zoo.humanoid()
    q = model.random_configuration(np.random.default_rng(0))
    frames = [model.body_names[k] for k in (6, 12, 18, 24)]
    return np.vstack([Dynamics(model, general=True).jacobian(q, frame) for frame in frames])


PATTERNS: dict[str, Callable[[], Any]] = {
    "H": lambda: humanoid()[1],
    "L": lambda: factor("ltdl"),
    "H^-1": lambda: np.linalg.inv(humanoid()[1]),
    "J": rows_of_tasks,
    "JL^-1": lambda: rows_of_tasks() @ np.linalg.inv(factor("ltdl")),
    "I": lambda: np.eye(30),
}


def svg(matrix: Any) -> str:
    """Squares where a number is not zero."""
    matrix = np.asarray(matrix)
    shown = np.abs(matrix) > 1e-12 * np.abs(matrix).max()
    height, width = (CELL * size for size in shown.shape)
    squares = [
        f'<rect x="{CELL * j}" y="{CELL * i}" width="{CELL - 1}" height="{CELL - 1}"/>' for i, j in np.argwhere(shown)
    ]
    frame = f'<rect x="-1" y="-1" width="{width + 1}" height="{height + 1}" fill="none" stroke="#888"/>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {width + 3} {height + 3}" width="{1.5 * width:.0f}">'
    )
    return f'{head}{frame}<g fill="#2f6f4f">{"".join(squares)}</g></svg>'


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> nodes.table:
    """A plain table."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *[_row(row) for row in rows])
    return nodes.table("", group)


def _row(cells: tuple[str, ...]) -> nodes.row:
    return nodes.row("", *[nodes.entry("", nodes.paragraph("", cell)) for cell in cells])


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("algorithm", Algorithm)
    app.add_directive("operations", Operations)
    app.add_directive("lambda-operations", LambdaOperations)
    app.add_directive("pattern", Pattern)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
