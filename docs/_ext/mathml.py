"""Equations as MathML, which browsers draw themselves: pages need neither scripts nor a network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

COLUMNS = r"\begin{aligned}"
PLUS_IS = "<mo><mrow><mo>&#x0002B;</mo></mrow></mo><mo>&#x0003D;</mo>"  # what becomes of \mathrel{+}=


def markup(latex: str, display: str) -> str:
    """One formula; lines of a display that are parted by \\\\ stand below each other."""
    if display == "block" and "\\\\" in latex and "\\begin" not in latex:
        latex = f"{COLUMNS}{latex}\\end{{aligned}}"
    found = convert(latex, display=display).replace(PLUS_IS, "<mo>+=</mo>")
    unknown = [word for word in found.split("<mtext>")[1:] if word.startswith("\\")]
    if unknown:
        raise ValueError(f"no MathML for {unknown[0].split('<')[0]} in {latex}")
    return found


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(markup(node.astext(), "inline"))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{markup(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
