"""A moving picture of a scene: GIF (Pillow) or MP4 (imageio with its ffmpeg), without a browser or a display."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bough.arguments import explained
from bough.errors import OptionError, TooLargeError, required, unknown_option
from bough.record import check_folder, replacing
from bough.types import IntArray
from bough.view.picture import picture
from bough.view.scene import Scene, nearest

MOST = 10_000  # frames, which are kept in memory until they are written


def frame_samples(scene: Scene, fps: float) -> IntArray:
    """Samples of the motion that are nearest in time to the frames of a video, which plays in real time."""
    if scene.motion is None:
        raise OptionError("a video is of a motion; this scene stands still (`Scene.playing` gives it one)")
    time = scene.motion.time
    if (time[-1] - time[0]) * fps > MOST:
        seconds = f"{time[-1] - time[0]:g} s at {fps:g} frames per second"
        raise TooLargeError(f"a video has at most {MOST:,} frames, this motion takes {seconds}: play a part of it")
    return nearest(time, time[0] + np.arange(max(1, round((time[-1] - time[0]) * fps) + 1)) / fps)


@explained
def save_video(scene: Scene, path: str | Path, *, fps: float = 25.0, **options: Any) -> Path:
    """Write the motion of `scene` as .gif or .mp4; `options` are those of `picture` but for `sample`."""
    path = check_folder(path, ".gif", ".mp4")
    if not 1.0 <= fps <= 100.0:
        raise OptionError(f"fps must be from 1 to 100, got {fps!r}")
    if odd := options.keys() - {"size", "direction", "zoom"}:
        raise unknown_option(f"there is no option {min(odd)!r}", min(odd), ("fps", "size", "direction", "zoom"))
    frames = (picture(scene, sample=int(sample), **options) for sample in frame_samples(scene, fps))
    if path.suffix.lower() == ".gif":
        image = required("PIL.Image", "video", "a GIF")
        first, *rest = [image.fromarray(pixels).quantize(128) for pixels in frames]
        with replacing(path) as file:
            first.save(file, "GIF", save_all=True, append_images=rest, duration=1000.0 / fps, loop=0, optimize=True)
        return path
    required("imageio_ffmpeg", "video", "an MP4")
    imageio = required("imageio.v3", "video", "an MP4")
    with replacing(path) as file:
        content = imageio.imwrite("<bytes>", np.stack(list(frames)), extension=".mp4", fps=fps, macro_block_size=1)
        file.write(content)
    return path
