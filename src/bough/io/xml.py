"""Untrusted XML: no document types, no entities, no external files, bounded size; one sentence if it is broken."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from bough.errors import FileFormatError, short

# Documented limits. The largest robots in use have about a hundredth of each.
LARGEST_FILE = 64 << 20  # bytes
DEEPEST = 1000  # elements inside each other
MOST_ELEMENTS = 1_000_000
MOST_ATTRIBUTES = 4_000_000
LONGEST_NAME = 1000  # characters of a name of a link, joint, body, ...

BLANK = " \t\r\n"
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
DECLARED = re.compile(rb"""^<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([^"']*)["']""")
# What text may be encoded in, by Python's names; shift states and escapes (utf-7, iso-2022) can hide markup
ENCODINGS = (
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "shift_jis", "euc_jp", "euc_kr", "big5"}
    | {"gb2312", "gbk", "gb18030", "koi8-r", "koi8-u", "cp932", "cp949"}
    | {f"iso8859-{k}" for k in (*range(1, 12), *range(13, 17))}
    | {f"cp{k}" for k in range(1250, 1259)}
)


class Document:
    """An XML file, or XML given as text: its bytes as UTF-8, its root element and what errors should call it."""

    def __init__(self, source: str | os.PathLike[str]) -> None:
        if not isinstance(source, str | os.PathLike):
            raise FileFormatError(f"expected the path of a file, or XML as a string; got {type(source).__name__}")
        text = source.lstrip("\ufeff" + BLANK) if isinstance(source, str) else ""
        self.path = None if text.startswith("<") else Path(source)
        self.name = "the XML text" if self.path is None else short(str(self.path), 300)
        self.data = self._read() if self.path is not None else self._encode(text)
        if len(self.data) > LARGEST_FILE:
            raise FileFormatError(f"{self.name} has more than {LARGEST_FILE} bytes, the most that are read")
        self.recoded = False  # whether the file is in another encoding than UTF-8
        if self.path is not None:
            self.data = self._decode(self.data)
        self.root = self._parse()

    def _read(self) -> bytes:
        assert self.path is not None
        try:
            with self.path.open("rb") as file:
                return file.read(LARGEST_FILE + 1)
        except FileNotFoundError:
            raise FileFormatError(f"there is no file {self.name}") from None
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{self.name!r} cannot be read: {getattr(error, 'strerror', error)}") from None

    def _encode(self, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise FileFormatError(f"{self.name} has a character that is none, at {error.start}") from None

    def _decode(self, data: bytes) -> bytes:
        """The same text as UTF-8, by its byte order mark or declaration; a mark or blanks in front are removed."""
        marked = next((name for mark, name in MARKS.items() if data.startswith(mark)), None)
        if marked is None and data[:4] in (b"<\0?\0", b"\0<\0?"):
            marked = "utf-16-le" if data[0] else "utf-16-be"
        if marked is None or marked == "utf-8":
            data = data.removeprefix(codecs.BOM_UTF8).lstrip(BLANK.encode())
            declared = DECLARED.match(data[:300])
            marked = declared[1].decode("ascii", "backslashreplace") if declared and not marked else "utf-8"
        name = self._known(marked)
        if name in ("utf-8", "ascii"):
            return data
        self.recoded = True
        try:
            return data.decode(name).lstrip("\ufeff" + BLANK).encode()
        except UnicodeError:
            raise FileFormatError(f"{self.name} is not the {short(marked)!r} that it declares to be") from None

    def _known(self, name: str) -> str:
        try:
            found = codecs.lookup(name).name
        except (LookupError, ValueError):
            found = ""
        if found not in ENCODINGS:
            raise FileFormatError(f"{self.name} is encoded in {short(name)!r}, which is not read; save it as UTF-8")
        return found

    def _parse(self) -> Element:
        if self.data.count(b"<") > 3 * MOST_ELEMENTS:  # two tags and a comment each
            raise FileFormatError(f"{self.name} has more than {MOST_ELEMENTS} elements, the most that are read")
        if self.data.count(b"=") > MOST_ATTRIBUTES:
            raise FileFormatError(f"{self.name} has more than {MOST_ATTRIBUTES} attributes, the most that are read")
        parser, tree = expat.ParserCreate("utf-8"), _Tree(self.name)
        parser.StartElementHandler, parser.EndElementHandler = tree.start, tree.end
        parser.StartDoctypeDeclHandler, parser.EntityDeclHandler = tree.doctype, tree.doctype
        try:
            parser.Parse(self.data, True)
        except expat.ExpatError as error:
            raise FileFormatError(f"{self.name} is no well-formed XML: {error}") from None
        return tree.builder.close()


class _Tree:
    """Elements as the parser meets them, counted."""

    def __init__(self, name: str) -> None:
        self.name, self.builder, self.depth, self.elements = name, TreeBuilder(), 0, 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth, self.elements = self.depth + 1, self.elements + 1
        if self.depth > DEEPEST:
            raise FileFormatError(f"{self.name} nests elements more than {DEEPEST} deep, the most that are read")
        if self.elements > MOST_ELEMENTS:
            raise FileFormatError(f"{self.name} has more than {MOST_ELEMENTS} elements, the most that are read")
        if len(attributes.get("name", "")) > LONGEST_NAME:
            name = short(attributes["name"])
            raise FileFormatError(f"{self.name}: a name has more than {LONGEST_NAME} characters: {name!r}")
        self.builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        self.depth -= 1
        self.builder.end(tag)

    def doctype(self, *_: object) -> NoReturn:
        raise FileFormatError(f"{self.name} has a <!DOCTYPE>; document types and entities are refused")
