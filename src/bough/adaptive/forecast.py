"""What an error would cost: active joints and the expected gain for the present posture and load, before a run."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from bough.errors import SettingError
from bough.record import replacing

WIDE, ROW, LEFT, RIGHT = 560, 22, 90, 170  # of the picture, in pixels


@dataclass(frozen=True)
class Forecast:
    """One row for each eps, the largest first; made by `sim.forecast`."""

    measure: str
    joints: int  # of the linkage
    eps: tuple[float, ...]
    active: tuple[int, ...]  # joints that would be computed
    gain: tuple[float, ...]  # cost of a full step by that of an adaptive one, as the cost model has it; at least 1

    def __str__(self) -> str:
        lines = [f"{self.measure}: {self.joints:,} joints", f"{'eps':>8}  {'active':>9}  {'gain':>7}"]
        for eps, active, gain in self.rows:
            lines.append(
                f"{eps:8.1e}  {active:9,}  {f'{gain:.3g}x':>7}  {'#' * round(40 * active / self.joints)}".rstrip()
            )
        return "\n".join(lines)

    @property
    def rows(self) -> list[tuple[float, int, float]]:
        """(eps, active joints, gain) of each."""
        return list(zip(self.eps, self.active, self.gain, strict=True))

    def save(self, path: str | Path) -> None:
        """Write a picture, an .svg file: a bar for each eps, as long as the share of the joints that is active."""
        if Path(path).suffix != ".svg":
            raise SettingError(f"a forecast is saved as .svg, got {str(path)!r}")
        drawn = [f"<text x='8' y='15'>{escape(self.measure)}: active ones of {self.joints:,} joints</text>"]
        for k, (eps, active, gain) in enumerate(self.rows, 1):
            y, size = ROW * k + 4, max(1.0, (WIDE - LEFT - RIGHT) * active / self.joints)
            drawn.append(f"<text x='8' y='{y + 14}'>{eps:.1e}</text>")
            drawn.append(f"<rect x='{LEFT}' y='{y}' width='{size:.1f}' height='{ROW - 6}' fill='#2a7fba'/>")
            drawn.append(f"<text x='{LEFT + size + 6:.1f}' y='{y + 14}'>{active:,} ({gain:.3g}x)</text>")
        high = ROW * (len(self.eps) + 1) + 8
        head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDE} {high}' width='{WIDE}' height='{high}'"
        with replacing(path) as file:
            file.write(f"{head} font-family='sans-serif' font-size='12'>{''.join(drawn)}</svg>\n".encode())
