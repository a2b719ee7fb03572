"""The reference: a page for each package with every public name, and one for the names of `bough` itself."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from pydoc import locate
from typing import Any

import bough

COLON = "\0"  # in first lines of properties, where napoleon takes what stands before a colon for a type
HEAD = "% Made by docs/_ext/public_names.py\n\n"
# Names that may change in a patch (docs/versions.md), and why; a package alone means all of it
EXPERIMENTAL = {
    "molecules": "its functions and their options are new in 0.2",
    "adaptive.Dynamics": "its options may change while it is joined with QuasiStatics",
    "sweep.RayCluster": "run on one machine only",
    "sweep.Slurm": "run on one node only",
}
INNER = ("arguments", "compile", "joints", "record", "spatial", "types")  # for authors of kernels and extensions
BRIDGES = {"casadi": "CasADi", "env": "Gymnasium", "jax": "JAX", "sympy": "SymPy", "torch": "PyTorch"}


def write(folder: Path) -> None:
    """All pages, left alone where nothing changed."""
    packages = sorted(bough._PACKAGES)
    pages = {f"{package}.md": page(package) for package in packages}
    pages |= {"bridges.md": bridges(), "index.md": front(packages)}
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def page(package: str) -> str:
    """The docstring of a package, then an entry for every name of its `__all__`, with all public members."""
    module = import_module(f"bough.{package}")
    lines = [f"{HEAD}# bough.{package}", "", "```{eval-rst}", *mark(package)]
    lines += [f".. automodule:: bough.{package}", "   :no-members:", ""]
    for name in module.__all__:
        found = getattr(module, name)
        lines += [*mark(f"{package}.{name}"), f".. {directive(found)}:: bough.{package}.{name}"]
        if directive(found) == "autoclass":
            lines += ["   :show-inheritance:"] if found.__bases__ not in ((object,), (tuple,)) else []
            lines += [f"   :members: {', '.join(members(found))}", "   :undoc-members:"]
        elif isinstance(found, dict):  # its names; what they stand for is long
            lines += ["   :no-value:", "", "   " + ", ".join(f"``{key}``" for key in found)]
        lines.append("")
    return "\n".join([*lines, "```", ""])


def mark(name: str) -> list[str]:
    """A note before an experimental name."""
    if name not in EXPERIMENTAL:
        return []
    return [
        ".. admonition:: Experimental",
        "",
        f"   `bough.{name}` may change in any release: {EXPERIMENTAL[name]}.",
        "",
    ]


def directive(found: Any) -> str:
    """How autodoc shows an object."""
    if inspect.isclass(found):
        return "autoexception" if issubclass(found, BaseException) else "autoclass"
    if inspect.ismodule(found):
        return "automodule"
    return "autofunction" if inspect.isroutine(found) else "autodata"


def members(found: type) -> list[str]:
    """Public attributes, methods and fields of a class that Bough defines, its own and inherited."""
    ours = [c for c in found.__mro__ if c.__module__.startswith("bough")]
    names = {name for c in ours for name in (*vars(c), *inspect.get_annotations(c))}
    return sorted(name for name in names if not name.startswith("_"))


def front(packages: list[str]) -> str:
    """What `bough.x` is, and where it lives."""
    lines = [
        HEAD,
        "# API reference",
        "",
        "Every public name, by package. What most users need is also an attribute of `bough`.",
        "",
    ]
    lines += [":::{container} names", "", "| name | what it is |", "| --- | --- |"]
    for name, home in sorted((*bough._HOMES.items(), *bough._INNER.items())):
        package = home.split(".")[1]
        link = f"{{py:obj}}`bough.{name} <bough.{package}.{name}>`"
        inner = f"[`bough.{name}`]({package}.md)"  # a module
        lines.append(f"| {inner if name in bough._INNER else link} | {first(name, home)} |")
    users = [package for package in packages if package not in INNER]
    for title, group in (("package", users), ("package for authors of kernels and joint types", INNER)):
        lines += ["", f"| {title} | what it is for |", "| --- | --- |"]
        lines += [f"| [bough.{package}]({package}.md) | {sentence(getattr(bough, package))} |" for package in group]
        lines += ["| [bridges](bridges.md) | CasADi, Gymnasium, JAX, PyTorch and SymPy |"] * (group is users)
    lines += ["", ":::", ""]
    lines += ["```{toctree}", ":hidden:", "", *packages, "bridges", "```", ""]
    return "\n".join(lines)


def first(name: str, home: str) -> str:
    """The first sentence about a name."""
    module = import_module(home)
    return sentence(getattr(module, name, module) if home not in bough._INNER.values() else module)


def sentence(found: Any) -> str:
    """The first sentence of a docstring, for a cell of a table."""
    return " ".join((found.__doc__ or "").split("\n\n")[0].split()).split(". ")[0].rstrip(".").replace("|", "\\|")


def bridges() -> str:
    """Bridges are read, not imported: their libraries need not be there."""
    import ast

    from bough.dynamics.functions import FUNCTIONS

    source = Path(bough.__file__).parent / "bridges"
    lines = [HEAD, "# Bridges to other libraries", "", "Each is an attribute of `bough` and an extra of its own.", ""]
    for name, title in BRIDGES.items():
        tree = ast.parse((source / f"{name}.py").read_text())
        lines += [f"## bough.{name}: {title}", "", ast.get_docstring(tree) or "", ""]
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_":
                words = (ast.get_docstring(node) or "").replace("\n", " ")
                signature = f"({ast.unparse(node.args)})" if isinstance(node, ast.FunctionDef) else ""
                lines += [f"`bough.{name}.{node.name}{signature}`", f": {words}", ""]
    lines += ["## Functions of the table", "", "`bough.torch` and `bough.jax` have each of these by name.", ""]
    lines += ["| function | arrays | what it gives |", "| --- | --- | --- |"]
    lines += [f"| `{f.name}` | {', '.join(f.arguments)} | {f.summary} |" for f in FUNCTIONS.values()]
    return "\n".join([*lines, ""])


def named(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Parameters are `name : what it is` in docstrings; for napoleon, to which that is a type, a name and a text."""
    if what in ("property", "attribute"):
        if not lines or lines[0].startswith("Alias for field"):
            lines[:] = comment(name)
        lines[:1] = [line.replace(":", COLON) for line in lines[:1]]
    if what == "class" and "Parameters" not in lines:
        described = [f"{x} : {text}" for x in own(found) for text in comment(f"{name}.{x}")]
        lines += ["", "Parameters", "----------", *described, ""] * bool(described)
    before, head, after = "\n".join(lines).partition("Parameters\n----------\n")
    listed, gap, rest = after.partition("\n\n")
    lines[:] = (before + head + re.sub(r"^(\w[\w, ]*) : ", r"\1\n    ", listed, flags=re.M) + gap + rest).split("\n")


def own(found: Any) -> list[str]:
    """Arguments of a dataclass or a named tuple."""
    return [f.name for f in fields(found) if f.init] if is_dataclass(found) else list(getattr(found, "_fields", ()))


def comment(field: str) -> list[str]:
    """What stands beside a field in the source of its class."""
    owner, _, name = field.rpartition(".")
    try:
        source = inspect.getsource(locate(owner))  # type: ignore[arg-type]
    except (OSError, TypeError):
        return []
    found = re.search(rf"^    {name}: .*?  # (.*)$", source, re.MULTILINE)
    return [found[1]] if found and not found[1].startswith(("noqa", "type:")) else []


def as_it_is(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: signs that mean something elsewhere stay signs, indented lines stay as they are."""
    if what == "data":  # the docstring of its type says nothing of the value
        lines.clear()
    if what == "module":  # what belongs where is for contributors
        paragraphs = "\n".join(lines).split("\n\n")
        lines[:] = "\n\n".join(p for p in paragraphs if not p.startswith("Belongs here")).split("\n")
    out: list[str] = []
    block = False
    for line in (line.replace(COLON, ":") for line in lines):
        indented = line.startswith("    ") or line.startswith(">>>")
        if indented and not block and (not out or not out[-1].strip()):
            out += ["::", ""]
            block = True
        elif block and line.strip() and not indented:
            out.append("")
            block = False
        out.append(f"    {line}" if block and line.strip() else escaped(line))
    lines[:] = out


def escaped(line: str) -> str:
    """Outside of backquotes."""
    parts = line.split("`")
    if len(parts) % 2 == 0:  # a quote that does not close on this line
        return re.sub(r"([*|_`\\])", r"\\\1", line)
    return "`".join(part if k % 2 else re.sub(r"([*|\\]|_(?!\w))", r"\\\1", part) for k, part in enumerate(parts))


def setup(app: Any) -> dict[str, bool]:
    from sphinx.util.inspect import TypeAliasForwardRef

    TypeAliasForwardRef.__repr__ = lambda self: self.name  # unions show this, and not the class around it
    write(Path(app.srcdir) / "api")
    app.connect("autodoc-process-docstring", named, priority=100)
    app.connect("autodoc-process-docstring", as_it_is)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
