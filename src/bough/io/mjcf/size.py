"""The size of MJCF when it is compiled, and the files that it opens then, before it is compiled.

A line of XML may stand for a billion bodies, or name any file of the machine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from bough.errors import FileFormatError, short
from bough.io.trusted import OUTSIDE, TrustedFolders
from bough.io.xml import Document

MOST_EXPANDED = 20_000  # elements after replication; MuJoCo's compiler needs a minute for as many bodies
MOST_FILES = 100  # included or attached
# Attributes whose product is allocated, and the most that is let through
SIZES = {
    "hfield": (("nrow", "ncol"), 10**7),
    "texture": (("width", "height"), 2**25),
    "numeric": (("size",), 10**6),
    "user": (("dim",), 10**6),
    "camera": (("resolution",), 2**25),
}
MOST_USER, MOST_KEYS = 1000, 1000  # numbers for users on each element, keyframes announced
MOST_PARAMETERS = 300  # of a mesh that MuJoCo makes itself: resolutions
MANY = {"replicate": ("count",), "composite": ("count",), "flexcomp": ("count", "cellcount")}


def check_size_and_files(document: Document, package_paths: Sequence[str | os.PathLike[str]] = ()) -> None:
    """Refuse a file that expands beyond the limits, or names files outside of trusted folders.

    Files that it includes or attaches are counted, and searched for names, with it.
    """
    counter = _Counter(document, package_paths)
    counter.count(document.root, document.path)
    counter.check_files()


class _Counter:
    """Counts the elements of a file and of those it refers to, each file read once."""

    def __init__(self, document: Document, package_paths: Sequence[str | os.PathLike[str]]) -> None:
        self.name = document.name
        self.folder = document.path.parent if document.path is not None else Path()
        self.trusted = TrustedFolders(self.folder, package_paths)
        self.open: list[Path] = []
        self.known: dict[Path, int] = {}
        self.files: set[str] = set()  # named in any of them
        self.folders = {""}  # of meshes and textures, as compilers name them

    def count(self, root: Element, path: Path | None) -> int:
        """Elements after expansion; raises as soon as there are too many."""
        models = {m.get("name") or Path(m.get("file", "")).stem: m.get("file", "") for m in root.iter("model")}
        total, waiting = 0, [(root, 1)]
        while waiting:
            element, times = waiting.pop()
            self._check(element)
            self.files.update(value for key, value in element.attrib.items() if key.startswith("file"))
            if element.tag == "compiler":
                self.folders.update(value for key, value in element.attrib.items() if key.endswith("dir"))
            own = self._referred(element, models, path)
            total += times * (1 + own)
            copies = times * math.prod(_integers(element, MANY.get(element.tag, ())))
            if element.tag in ("composite", "flexcomp"):
                total += copies
            if total > MOST_EXPANDED:
                raise FileFormatError(
                    f"{self.name} expands to more than {MOST_EXPANDED} elements, the most that are read from MJCF; "
                    f"build larger mechanisms with bough.Builder"
                )
            waiting += [(child, max(copies, 1)) for child in element]
        return total

    def _check(self, element: Element) -> None:
        for key, value in element.attrib.items():
            if key != "name" and "nan" in value[:1000].lower().replace("+", " ").replace("-", " ").split():
                raise FileFormatError(f"{self.name}: <{element.tag}> has {key}={short(value)!r}; expected numbers")
        attributes, most = SIZES.get(element.tag, ((), 0))
        size = math.prod(_integers(element, attributes))
        if attributes and size > most:
            self._refuse(element, f"{' x '.join(attributes)} is {size}", most)
        if element.tag == "size":
            for key, value in element.attrib.items():
                most = MOST_KEYS if key == "nkey" else MOST_USER if key.startswith("nuser_") else 10**7
                if key != "memory" and max(_integers(element, (key,)), default=0) > most:
                    self._refuse(element, f"{key} is {value[:20]}", most)
        if element.tag == "mesh" and "builtin" in element.attrib:
            largest = max(_integers(element, ("params",)), default=0)
            if largest > MOST_PARAMETERS:
                self._refuse(element, f"a parameter is {largest}", MOST_PARAMETERS)

    def check_files(self) -> None:
        """Refuse names of files outside, in all folders where MuJoCo may look for them (with strippath, too)."""
        beside = {self.folder, *(path.parent for path in self.known)}
        for file in self.files:
            for name in {file, file.replace("\\", "/").rpartition("/")[2]}:
                for path in (above / folder / name for above in beside for folder in self.folders):
                    if _exists(path):
                        self._trust(path, file)

    def _trust(self, path: Path, file: str) -> None:
        if path not in self.trusted:
            raise FileFormatError(f"{self.name} names the file {short(file)!r}, {OUTSIDE}")

    def _refuse(self, element: Element, what: str, most: int) -> None:
        raise FileFormatError(f"{self.name}: <{element.tag}>: {what[:100]}, but at most {most} is read")

    def _referred(self, element: Element, models: dict[str, str], path: Path | None) -> int:
        """The size of the file that an element includes or attaches; what is missing is left for MuJoCo to name."""
        file = element.get("file") if element.tag == "include" else models.get(element.get("model", ""))
        if not file or element.tag not in ("include", "attach"):
            return 0
        folders = [self.folder, path.parent if path is not None else self.folder]
        found = next((p for p in (folder / file for folder in folders) if _exists(p)), None)
        if found is None:
            return 0
        self._trust(found, file)
        if found in self.open or len(self.known) + len(self.open) > MOST_FILES:
            raise FileFormatError(f"{self.name}: {found.name} refers to itself, or there are over {MOST_FILES} files")
        if found not in self.known:
            self.open.append(found)
            self.known[found] = self.count(Document(found).root, found)
            self.open.pop()
        return self.known[found]


def _exists(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def _integers(element: Element, attributes: tuple[str, ...]) -> Iterator[int]:
    """The whole numbers above one in some attributes; MuJoCo refuses what is no number."""
    for attribute in attributes:
        for word in element.get(attribute, "").split()[:10]:
            digits = word.lstrip("+")
            if digits.isascii() and digits.isdigit():
                yield max(int(digits[:20]), 1)
