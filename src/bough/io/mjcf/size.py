"""How large MJCF grows when it is compiled, found before it is: a line of XML may stand for a billion bodies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from bough.errors import FileFormatError, short
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


def check_size(document: Document) -> None:
    """Refuse a file that expands beyond the limits; files that it includes or attaches are counted with it."""
    _Counter(document).count(document.root, document.path)


class _Counter:
    """Counts the elements of a file and of those it refers to, each file read once."""

    def __init__(self, document: Document) -> None:
        self.name = document.name
        self.folder = document.path.parent if document.path is not None else Path()
        self.open: list[Path] = []
        self.known: dict[Path, int] = {}

    def count(self, root: Element, path: Path | None) -> int:
        """Elements after expansion; raises as soon as there are too many."""
        models = {m.get("name") or Path(m.get("file", "")).stem: m.get("file", "") for m in root.iter("model")}
        total, waiting = 0, [(root, 1)]
        while waiting:
            element, times = waiting.pop()
            self._check(element)
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

    def _refuse(self, element: Element, what: str, most: int) -> None:
        raise FileFormatError(f"{self.name}: <{element.tag}>: {what[:100]}, but at most {most} is read")

    def _referred(self, element: Element, models: dict[str, str], path: Path | None) -> int:
        """The size of the file that an element includes or attaches; what is missing is left for MuJoCo to name."""
        file = element.get("file") if element.tag == "include" else models.get(element.get("model", ""))
        if not file or element.tag not in ("include", "attach"):
            return 0
        folders = [self.folder, path.parent if path is not None else self.folder]
        found = next((p for p in (folder / file for folder in folders) if _is_file(p)), None)
        if found is None:
            return 0
        if found in self.open or len(self.known) + len(self.open) > MOST_FILES:
            raise FileFormatError(f"{self.name}: {found.name} refers to itself, or there are over {MOST_FILES} files")
        if found not in self.known:
            self.open.append(found)
            self.known[found] = self.count(Document(found).root, found)
            self.open.pop()
        return self.known[found]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _integers(element: Element, attributes: tuple[str, ...]) -> Iterator[int]:
    """The whole numbers above one in some attributes; MuJoCo refuses what is no number."""
    for attribute in attributes:
        for word in element.get(attribute, "").split()[:10]:
            digits = word.lstrip("+")
            if digits.isascii() and digits.isdigit():
                yield max(int(digits[:20]), 1)
