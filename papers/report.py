"""Results as one self-contained HTML page, as Markdown for the docs, and as JSON."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bough.errors import MissingExtraError
from bough.record import replacing
from papers.catalogue import PAPERS, by_paper, title
from papers.result import DIFFERS, Result, Row
from papers.style import drawn

HEAD = ("what", "paper", "formula", "ours", "ratio or difference", "status", "note")
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 2px solid #0072B2; padding-bottom: .3rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 14px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; } .exact, .rounds { color: #00664a; } .corrected { color: #0072B2; }
.measured { color: #555; } .not { color: #9a5200; } .differs { color: #b00020; font-weight: bold; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; } figcaption { font-size: 14px; color: #444; }
nav { columns: 2; font-size: 14px; } nav ul { margin-top: 0; }
"""
Results = Mapping[str, Result]


def write(results: Results, folder: Path, docs: Path | None = None) -> list[Path]:
    """reproduction.html, .json and .md in `folder`, with PNG and SVG files; in `docs` the page and its PNG files."""
    folder.mkdir(parents=True, exist_ok=True)
    both = _pictures(results)
    pictures = {f"{name}.png": png for name, (png, _) in both.items()}
    files = {"reproduction.html": as_html(results, pictures), "reproduction.json": as_json(results),
             "reproduction.md": as_markdown(results, pictures)}  # fmt: skip
    written = [_put(folder / name, content.encode()) for name, content in files.items()]
    if docs is not None:
        written.append(_put(docs / "reproduction.md", files["reproduction.md"].encode()))
    for place in [folder, *([docs] if docs is not None else [])]:
        (place / "reproduction").mkdir(exist_ok=True)
        written += [_put(place / "reproduction" / name, picture) for name, picture in pictures.items()]
    return written + [_put(folder / "reproduction" / f"{name}.svg", svg) for name, (_, svg) in both.items()]


def _put(path: Path, content: bytes) -> Path:
    with replacing(path) as file:
        file.write(content)
    return path


def _pictures(results: Results) -> dict[str, tuple[bytes, bytes]]:
    """PNG and SVG files by name; none if matplotlib is missing."""
    try:
        return {f"{name}.{figure.name}": drawn(figure) for name, result in results.items() for figure in result.figures}
    except MissingExtraError:
        return {}


def summary(results: Results) -> dict[str, int]:
    """How many rows have each status, the reasons left out."""
    counts: dict[str, int] = {}
    for result in results.values():
        for row in result.rows:
            kind = row.status.partition(" (")[0]
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def deviations(results: Results) -> list[tuple[str, Row]]:
    """Rows in which the paper is corrected or not reached."""
    kinds = ("corrected", "not reproducible", DIFFERS)
    return [(name, row) for name, result in results.items() for row in result.rows if row.status.startswith(kinds)]


def as_json(results: Results) -> str:
    content = {
        name: {"title": title(name), "rows": [asdict(row) for row in result.rows], "remarks": result.remarks,
               "data": result.data}
        for name, result in results.items()
    }  # fmt: skip
    return json.dumps({"summary": summary(results), "results": content}, indent=1) + "\n"


# Markdown

MARKDOWN_HEAD = """# Reproduction of the papers

Every table and figure of five papers that can be made again, made by running the library: `bough reproduce` (or
`make reproduce`) writes this page. Operation counts are those of executed kernels. A row is *exact*, *rounds to
printed*, *corrected* (the printed figure is in error: see [errata](errata.md)), *not reproducible* (with the reason) or
*measured* (it depends on the machine, or on what the paper leaves open). The column *paper* holds what is printed; the
column *formula* holds printed formulas that were evaluated for a mechanism.
"""


def as_markdown(results: Results, pictures: Mapping[str, bytes]) -> str:
    parts = [MARKDOWN_HEAD, _counts(results), "", "## Deviations", ""]
    parts += [_markdown_table([("where", *HEAD)] + [(_where(n), *_cells(row)) for n, row in deviations(results)])]
    for paper, names in by_paper(results).items():
        parts += ["", f"## {PAPERS[paper]}"]
        for name in names:
            parts += ["", f"### {title(name)}", "", *_markdown_body(name, results[name], pictures)]
    return "\n".join(parts) + "\n"


def _markdown_body(name: str, result: Result, pictures: Mapping[str, bytes]) -> list[str]:
    lines = [_markdown_table([HEAD, *(_cells(row) for row in result.rows)])] if result.rows else []
    for figure in result.figures:
        file = f"{name}.{figure.name}.png"
        if file in pictures:
            lines += ["", f"![{figure.name}](reproduction/{file})", "", f"*{figure.caption}*"]
    return lines + [line for remark in result.remarks for line in ("", remark)]


def _authors(paper: str) -> str:
    """As in Redon & Lin, Featherstone 2005."""
    return re.sub(r"(\D)(\d)", r"\1 \2", paper.replace("_", " & "), count=1).title()


def _where(name: str) -> str:
    """The paper and the place, without what is told of it."""
    return f"{_authors(name.partition('.')[0])}, {title(name).partition(':')[0]}"


def _counts(results: Results) -> str:
    return "Rows: " + ", ".join(f"{number} {kind}" for kind, number in summary(results).items()) + "."


def _cells(row: Row) -> tuple[str, ...]:
    return row.what, row.paper, row.formula, row.ours, row.ratio, row.status, row.note


def _markdown_table(rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


# HTML


def as_html(results: Results, pictures: Mapping[str, bytes]) -> str:
    groups = by_paper(results)
    body = ["<h1>Reproduction of the papers</h1>", f"<p>{html.escape(_counts(results))}</p>", _contents(groups)]
    body += ["<h2>Deviations</h2>", _html_table(("where", *HEAD), deviations(results))]
    for paper, names in groups.items():
        body.append(f"<h2>{html.escape(PAPERS[paper])}</h2>")
        for name in names:
            body += [f'<h3 id="{name}">{html.escape(title(name))}</h3>', *_html_body(name, results[name], pictures)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Bough: reproduction of the papers</title>'
        f"<style>{STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _contents(groups: Mapping[str, list[str]]) -> str:
    items = [
        f'<li><a href="#{name}">{html.escape(_authors(paper))}: {html.escape(title(name))}</a></li>'
        for paper, names in groups.items()
        for name in names
    ]
    return "<nav><ul>" + "\n".join(items) + "</ul></nav>"


def _html_body(name: str, result: Result, pictures: Mapping[str, bytes]) -> list[str]:
    parts = [_html_table(HEAD, [("", row) for row in result.rows])] if result.rows else []
    for figure in result.figures:
        content = pictures.get(f"{name}.{figure.name}.png")
        if content is not None:
            source = "data:image/png;base64," + base64.b64encode(content).decode()
            caption = html.escape(figure.caption)
            parts.append(f'<figure><img src="{source}" alt="{caption}"><figcaption>{caption}</figcaption></figure>')
    return parts + [f"<p>{html.escape(remark)}</p>" for remark in result.remarks]


def _html_table(head: tuple[str, ...], rows: list[tuple[str, Row]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
    for name, row in rows:
        where = [f'<td><a href="#{name}">{html.escape(_where(name))}</a></td>'] if name else []
        cells = [f"<td>{html.escape(cell)}</td>" for cell in _cells(row)]
        cells[5] = f'<td class="{row.status.split()[0]}">{html.escape(row.status)}</td>'
        lines.append("<tr>" + "".join(where + cells) + "</tr>")
    return '<div class="wide"><table>' + "\n".join(lines) + "</table></div>"
