"""Loops over triangles and pixels of a picture, compiled when a picture is first made."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

LIGHT = (0.421, -0.361, 0.832)  # of unit length
SHADE = (0.13, 0.15, 0.20, 0.16)  # colour of a shadow, and how much of it
INK = (0.46, 0.49, 0.54)  # of the grid
TOP, BOTTOM = (0.935, 0.945, 0.957), (0.945, 0.932, 0.902)  # of the background


def triangles(
    points: Any, normals: Any, colours: Any, uv: Any, image: Any, depth: Any, normal: Any, colour: Any
) -> None:
    """Corners (t, 3, 3) in pixels and one over their distance, into the buffers where they are nearest.

    Colours (t, 3) are multiplied by the image (h, w, 3), from its lowest row up, at uv (t, 3, 2), none negative.
    """
    high, wide = depth.shape
    rows, columns, _ = image.shape
    for t in range(len(points)):
        x0, y0, z0 = points[t, 0, 0], points[t, 0, 1], points[t, 0, 2]
        x1, y1, z1 = points[t, 1, 0], points[t, 1, 1], points[t, 1, 2]
        x2, y2, z2 = points[t, 2, 0], points[t, 2, 1], points[t, 2, 2]
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if z0 <= 0.0 or z1 <= 0.0 or z2 <= 0.0 or area == 0.0:
            continue
        left, right = max(0.0, min(x0, x1, x2) - 0.5), min(wide - 1.0, max(x0, x1, x2) + 0.5)
        top, bottom = max(0.0, min(y0, y1, y2) - 0.5), min(high - 1.0, max(y0, y1, y2) + 0.5)
        if left > right or top > bottom:
            continue
        for j in range(int(top), int(bottom) + 1):
            for i in range(int(left), int(right) + 1):
                x, y = i + 0.5, j + 0.5
                b = ((x - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area
                c = ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / area
                a = 1.0 - b - c
                if a < 0.0 or b < 0.0 or c < 0.0:
                    continue
                z = a * z0 + b * z1 + c * z2
                if z > depth[j, i]:
                    depth[j, i] = z
                    # textures are linear in space, and so over z in the picture
                    across = (a * z0 * uv[t, 0, 0] + b * z1 * uv[t, 1, 0] + c * z2 * uv[t, 2, 0]) / z
                    along = (a * z0 * uv[t, 0, 1] + b * z1 * uv[t, 1, 1] + c * z2 * uv[t, 2, 1]) / z
                    row, column = int(rows * along) % rows, int(columns * across) % columns
                    for k in range(3):
                        normal[j, i, k] = a * normals[t, 0, k] + b * normals[t, 1, k] + c * normals[t, 2, k]
                        colour[j, i, k] = colours[t, k] * image[row, column, k]


def light(camera: Any, view: Any, depth: Any, shade: Any, normal: Any, colour: Any) -> None:
    """Fill `colour` with what is seen. `camera` is eye, right, up, back, scale; `view` is x, y, floor, radius."""
    high, wide = depth.shape
    for j in range(high):
        for i in range(wide):
            right, up = (i + 0.5 - wide / 2) / camera[12], (high / 2 - j - 0.5) / camera[12]
            rx = right * camera[3] + up * camera[6] - camera[9]
            ry = right * camera[4] + up * camera[7] - camera[10]
            rz = right * camera[5] + up * camera[8] - camera[11]
            long = math.sqrt(rx * rx + ry * ry + rz * rz)
            ex, ey, ez = -rx / long, -ry / long, -rz / long
            if depth[j, i] > 0.0 and (shade[j, i] == 0.0 or depth[j, i] >= shade[j, i]):
                nx, ny, nz = normal[j, i, 0], normal[j, i, 1], normal[j, i, 2]
                size = math.sqrt(nx * nx + ny * ny + nz * nz) + 1e-30
                facing = (nx * ex + ny * ey + nz * ez) / size
                if facing < 0.0:
                    size, facing = -size, -facing
                nx, ny, nz = nx / size, ny / size, nz / size
                sun = max(nx * LIGHT[0] + ny * LIGHT[1] + nz * LIGHT[2], 0.0)
                hx, hy, hz = LIGHT[0] + ex, LIGHT[1] + ey, LIGHT[2] + ez
                shine = max((nx * hx + ny * hy + nz * hz) / (math.sqrt(hx * hx + hy * hy + hz * hz) + 1e-30), 0.0) ** 40
                more, sky = 0.14 * shine + 0.10 * (1.0 - min(facing, 1.0)) ** 3, 0.5 + 0.5 * nz
                colour[j, i, 0] = colour[j, i, 0] * (0.50 * (0.72 + 0.28 * sky) + 0.62 * sun) + more
                colour[j, i, 1] = colour[j, i, 1] * (0.50 * (0.70 + 0.32 * sky) + 0.62 * sun) + more
                colour[j, i, 2] = colour[j, i, 2] * (0.50 * (0.68 + 0.38 * sky) + 0.62 * sun) + more
                continue
            share, ink = (j + 0.5) / high, 0.0
            if (view[2] - camera[2]) * rz > 0.0:  # the ray meets the floor
                way = (view[2] - camera[2]) / rz
                ax, ay = camera[0] + way * rx, camera[1] + way * ry
                far = math.sqrt((ax - view[0]) ** 2 + (ay - view[1]) ** 2) / (5.0 * view[3])
                pixel = way / camera[12] / max(abs(rz), 0.05)  # how much floor it covers
                step = 10.0 ** round(math.log10(view[3] / 4.0))
                for fine in range(2):
                    own = step if fine == 0 else 5.0 * step
                    off = own * min(abs(ax / own - round(ax / own)), abs(ay / own - round(ay / own)))
                    line = min(max((0.8 if fine == 0 else 1.2) - off / pixel + 0.5, 0.0), 1.0) * min(
                        0.5 * own / pixel, 1.0
                    )
                    ink = max(ink, (0.20 if fine == 0 else 0.34) * line)
                ink *= min(max((1.0 - far) / 0.75, 0.0), 1.0)
            dark = SHADE[3] if shade[j, i] > 0.0 else 0.0
            for k in range(3):
                paper = TOP[k] + share * (BOTTOM[k] - TOP[k])
                paper = (1.0 - ink) * paper + ink * INK[k]
                colour[j, i, k] = (1.0 - dark) * paper + dark * SHADE[k]


@cache
def compiled() -> tuple[Any, Any]:
    """(triangles, light) as machine code."""
    from bough.compile.run import direct

    return partial(direct.call, triangles), partial(direct.call, light)
