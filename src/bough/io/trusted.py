"""Folders that files named by a description (meshes, textures, included files) may be read from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

PACKAGE_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
PART_OF_PACKAGE = ("urdf", "urdfs", "robots", "mjcf", "xacro")  # usual folders of descriptions inside a package
OUTSIDE = "outside of the model's folder and package paths: allow it with package_paths= (--package-path)"


class TrustedFolders:
    """The folder of a description, its ROS package, the package paths of ROS, and `more`.

    The package is the nearest folder above with a package.xml, or the parent of a folder called urdf. Links and `..` do
    not lead out of them.
    """

    def __init__(self, folder: Path, more: Sequence[str | os.PathLike[str]] = ()) -> None:
        self.folder = folder.resolve()
        above = [self.folder, *self.folder.parents]
        package = next((up for up in above[:6] if (up / "package.xml").is_file()), None)
        if package is None and self.folder.name.lower() in PART_OF_PACKAGE:
            package = self.folder.parent
        words = [word for name in PACKAGE_PATHS for word in os.environ.get(name, "").split(os.pathsep) if word]
        self.packages = [Path(path).resolve() for path in (*more, *words)]
        self.own = [self.folder, *([package] if package else [])]

    def __contains__(self, path: Path) -> bool:
        return any(path.resolve().is_relative_to(up) for up in (*self.own, *self.packages))
