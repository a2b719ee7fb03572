"""Draws `robot.png` and `robot.gif`: the demonstration's humanoid, and the pattern of its mass matrix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from bough.app.story import box
from bough.view import Scene, Shapes, picture, write_png
from bough.view.pattern import pattern
from bough.view.video import frame_samples

HERE = Path(__file__).parent
MOMENTS, APART = (0.0, 1.2, 1.8, 2.6), 1.15  # s of the motion, and m between one and the next
SIZE, INSET, EDGE = (1400, 440), 290, 40  # pixels
AZIMUTH = -0.75
FILM, FPS = (640, 360), 10  # pixels of the moving picture, frames per second
ACROSS = np.array([-np.sin(AZIMUTH), np.cos(AZIMUTH), 0.0])


def side_by_side(scene: Scene) -> Scene:
    """One still scene with the robot at all moments."""
    motion, parts = scene.motion, []
    for place, moment in enumerate(MOMENTS):
        T = scene.placements(motion.q[min(np.searchsorted(motion.time, moment), len(motion.time) - 1)])
        shift = APART * place * ACROSS
        for part in scene.shapes:
            own = np.where((part.body >= 0)[:, None, None], T[np.maximum(part.body, 0)], np.eye(4))
            fixed = own[:, :3, :3] @ part.placement
            fixed[:, :, 3] += own[:, :3, 3] + shift
            parts.append(replace(part, body=np.full(len(part), -1), placement=fixed))
    # a speck keeps room for the matrix
    speck = np.concatenate([1e-6 * np.eye(3), (APART * (len(MOMENTS) + 0.15) * ACROSS)[:, None]], axis=1)[None]
    parts.append(Shapes("box", np.array([-1]), speck, np.ones((1, 3))))
    return replace(scene, shapes=parts, motion=None, arrows=None)


def matrix(scene: Scene) -> np.ndarray:
    """(INSET, INSET, 3) the pattern of H on white, in the colours of the branches."""
    found = pattern(scene)
    share = (found[..., 3:] > 0.0).astype(float)
    pixels = 1.0 - share + share * found[..., :3]
    place = np.arange(INSET) * len(found) // INSET
    return (255 * pixels[place][:, place]).astype(np.uint8)


def with_matrix(pixels: np.ndarray, H: np.ndarray, edge: int) -> np.ndarray:
    """The picture with the pattern of H at its right, `edge` pixels from the border."""
    size = len(H)
    top = (len(pixels) - size) // 2
    pixels[top - 1 : top + size + 1, -edge - size - 1 : -edge + 1] = 200
    pixels[top : top + size, -edge - size : -edge] = H
    return pixels


def film(scene: Scene, H: np.ndarray) -> list[Image.Image]:
    """Frames of the motion, the robot left of the matrix."""
    wide, high = FILM
    samples = frame_samples(scene, FPS)
    size = (wide + 220, high)  # the left of it is cut off, so that the robot stands left of the middle
    frames = [picture(scene, size, sample=int(k), direction=(AZIMUTH, 0.2), zoom=1.15)[:, 220:] for k in samples]
    return [Image.fromarray(with_matrix(f.copy(), H, 20)).quantize(160) for f in frames]


def main() -> None:
    scene = box.shown(box.carry())
    H = matrix(scene)
    pixels = picture(side_by_side(scene), SIZE, direction=(AZIMUTH, 0.2), zoom=2.45)
    write_png(HERE / "robot.png", with_matrix(pixels, H, EDGE))
    first, *rest = film(scene, H[::2, ::2])
    first.save(HERE / "robot.gif", save_all=True, append_images=rest, duration=1000 // FPS, loop=0, optimize=True)


if __name__ == "__main__":
    main()
