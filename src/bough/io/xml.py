"""XML from strangers: no entities, no external references, bounded size and depth; one sentence if it is broken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from bough.errors import FileFormatError

LARGEST_FILE = 64 << 20
DEEPEST = 200


class Document:
    """An XML file, or XML given as text: its bytes, its root element and what errors should call it."""

    def __init__(self, source: str | os.PathLike[str]) -> None:
        text = source if isinstance(source, str) and source.lstrip().startswith("<") else None
        self.path = None if text is not None else Path(source)
        self.name = "the XML text" if self.path is None else str(self.path)
        self.data = text.encode() if text is not None else self._read()
        if len(self.data) > LARGEST_FILE:
            raise FileFormatError(f"{self.name} has {len(self.data)} bytes; at most {LARGEST_FILE} are read")
        self.root = self._parse()

    def _read(self) -> bytes:
        assert self.path is not None
        try:
            with self.path.open("rb") as file:
                return file.read(LARGEST_FILE + 1)
        except FileNotFoundError:
            raise FileFormatError(f"there is no file {self.name}") from None
        except OSError as error:
            raise FileFormatError(f"{self.name} cannot be read: {error.strerror}") from None

    def _parse(self) -> Element:
        tree, depth = TreeBuilder(), 0

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > DEEPEST:
                raise FileFormatError(f"{self.name} nests elements more than {DEEPEST} deep")
            tree.start(tag, attributes)

        def end(tag: str) -> None:
            nonlocal depth
            depth -= 1
            tree.end(tag)

        def entity(name: str, *rest: Any) -> None:
            raise FileFormatError(f"{self.name} declares the XML entity {name!r}; entities are refused")

        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = tree.data
        parser.EntityDeclHandler = entity
        try:
            parser.Parse(self.data, True)
        except expat.ExpatError as error:
            raise FileFormatError(f"{self.name} is no well-formed XML: {error}") from None
        return tree.close()
