"""Which reader a file needs: by its root element, not its suffix."""

from __future__ import annotations

import os

from bough.errors import FileFormatError, short
from bough.io import urdf
from bough.io.description import Description
from bough.io.xml import Document


def describe(source: str | os.PathLike[str]) -> Description:
    """What a URDF or MJCF file says, before anything is built."""
    document = Document(source)
    if document.root.tag == "robot":
        return urdf.read(document)
    if document.root.tag == "mujoco":
        from bough.io import mjcf

        return mjcf.read(document)
    tag = short(document.root.tag)
    raise FileFormatError(f"{document.name} begins with <{tag}>; expected <robot> (URDF) or <mujoco> (MJCF)")
