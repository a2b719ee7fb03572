"""Bars and code of the page, as markup that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

COPY = """document.querySelectorAll('.code button').forEach((b) => b.addEventListener('click', () => {
  navigator.clipboard.writeText(b.nextElementSibling.textContent);
  b.textContent = 'copied';
}));"""


def bars(seconds: Mapping[str, float]) -> str:
    """One bar for each time, as long as it is large; those of Bough stand out."""
    most = max(seconds.values())
    return "".join(
        f"<div class='bar{' own' * name.startswith('Bough')}'><span>{escape(name)}</span>"
        f"<i style='width:{100 * value / most:.1f}%'></i><b>{time(value)}</b></div>"
        for name, value in seconds.items()
    )


def code(text: str) -> str:
    """Code with a button that copies it."""
    return f"<div class='code'><button>copy</button><pre>{escape(text.strip())}</pre></div>"


def time(seconds: float) -> str:
    """A time in three digits."""
    unit, size = next((x for x in (("us", 1e-6), ("ms", 1e-3)) if seconds < 1000 * x[1]), ("s", 1.0))
    return f"{float(f'{seconds / size:.3g}'):g} {unit}"
