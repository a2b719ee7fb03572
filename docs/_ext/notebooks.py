"""Notebooks as pages: cells of text and of code, each with what it prints (tests compare it with a run) and draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def as_markdown(path: Path) -> str:
    """The cells of a notebook, one after the other."""
    parts = ["% Made from the notebook of the same name", ""]
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        parts += [f"```python\n{text}\n```" if cell["cell_type"] == "code" else text, ""]
        outputs = cell.get("outputs", ())
        printed = "".join("".join(output.get("text", "")) for output in outputs)
        parts += [f"```text\n{printed.rstrip()}\n```", ""] * bool(printed)
        for picture in (output["data"]["image/png"] for output in outputs if "data" in output):
            parts += [
                f'```{{raw}} html\n<img alt="what the cell draws" src="data:image/png;base64,{picture}">\n```',
                "",
            ]
    parts.append(f"This page is a notebook: {{download}}`{path.name} <{path.name}>`.\n")
    return "\n".join(parts)


def setup(app: Any) -> dict[str, bool]:
    for path in sorted((Path(app.srcdir) / "notebooks").glob("*.ipynb")):
        page, text = path.with_suffix(".md"), as_markdown(path)
        if not page.exists() or page.read_text() != text:
            page.write_text(text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
