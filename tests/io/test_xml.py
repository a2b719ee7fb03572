"""XML from strangers: encodings, byte order marks, blank lines; no document types; limits."""

from __future__ import annotations

import codecs

import pytest

from bough import doctor, load
from bough.errors import BoughError, FileFormatError
from bough.io import xml

SOLID = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
ROBOT = f"""<robot name="r"><link name="base"/><link name="{{0}}">{SOLID}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="{{0}}"/></joint></robot>"""


def declared(encoding: str, name: str = "arm") -> str:
    return f'<?xml version="1.0" encoding="{encoding}"?>' + ROBOT.format(name)


@pytest.mark.parametrize("before", ["\n", "\ufeff", "\ufeff \r\n\t", "  \n\n"])
def test_blanks_and_marks_before_the_declaration(tmp_path, before: str) -> None:
    """Other readers let them pass."""
    path = tmp_path / "r.urdf"
    path.write_bytes((before + declared("utf-8")).encode())
    assert load(path).body_names == ("arm",)
    assert load(before + declared("utf-8")).body_names == ("arm",)


NAMES = {
    "utf-8": "手", "utf-16": "手", "UTF-16LE": "手", "shift_jis": "手", "gbk": "手", "euc-kr": "손",
    "latin-1": "öl", "windows-1252": "öl", "us-ascii": "arm", "koi8-r": "рука",
}  # fmt: skip


@pytest.mark.parametrize("encoding", NAMES)
def test_encodings(tmp_path, encoding: str) -> None:
    path = tmp_path / "r.urdf"
    path.write_bytes(declared(encoding, NAMES[encoding]).encode(encoding))
    assert load(path).body_names == (NAMES[encoding],)


@pytest.mark.parametrize(
    "encoding", ["bogus", "utf-7", "rot13", "base64", "idna", "iso-2022-jp", "hz", "x" * 150, "\x01"]
)
def test_encodings_that_are_not_read(tmp_path, encoding: str) -> None:
    path = tmp_path / "r.urdf"
    path.write_bytes(declared(encoding).encode())
    with pytest.raises(FileFormatError, match="which is not read; save it as UTF-8"):
        load(path)
    assert [f.severity for f in doctor(path)] == ["error"]


@pytest.mark.parametrize("encoding", ["utf-16", "shift_jis", "cp1252", "utf-8"])
def test_not_what_it_declares(tmp_path, encoding: str) -> None:
    path = tmp_path / "r.urdf"
    path.write_bytes(declared(encoding, "X").encode().replace(b"X", b"\x81\xff\x8d"))
    with pytest.raises(FileFormatError):
        load(path)


def test_text_is_decoded_already() -> None:
    """The encoding that a string declares is that of the file it came from."""
    assert load(declared("utf-16", "手")).body_names == ("手",)
    with pytest.raises(FileFormatError, match="a character that is none"):
        load(ROBOT.format("\ud800"))


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE])
def test_nothing_but_a_mark(tmp_path, mark: bytes) -> None:
    path = tmp_path / "r.urdf"
    path.write_bytes(mark)
    with pytest.raises(FileFormatError, match="no well-formed XML"):
        load(path)


DOCTYPES = ("<!DOCTYPE robot>", '<!DOCTYPE robot SYSTEM "file:///etc/passwd">', '<!DOCTYPE r [<!ENTITY a "b">]>')


@pytest.mark.parametrize("doctype", DOCTYPES)
def test_document_types_are_refused(doctype: str) -> None:
    with pytest.raises(FileFormatError, match="document types and entities are refused"):
        load(doctype + ROBOT.format("arm"))


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        ("MOST_ELEMENTS", 5, "more than 5 elements"),
        ("MOST_ATTRIBUTES", 5, "more than 5 attributes"),
        ("LARGEST_FILE", 50, "more than 50 bytes"),
        ("DEEPEST", 2, "more than 2 deep"),
        ("LONGEST_NAME", 3, "more than 3 characters: 'base'"),
    ],
)
def test_limits(monkeypatch, limit: str, value: int, words: str) -> None:
    monkeypatch.setattr(xml, limit, value)
    with pytest.raises(FileFormatError, match=words):
        load(ROBOT.format("arm"))


@pytest.mark.parametrize("source", [None, 7, b"<robot/>", "a\0b", "x" * 10_000_000, ["r.urdf"]])
def test_what_is_no_path(source) -> None:
    with pytest.raises(BoughError) as caught:
        load(source)
    assert len(str(caught.value)) < 2500
    assert [f.severity for f in doctor(source)] == ["error"]


def test_long_names_are_not_printed_whole() -> None:
    long = "n" * 5_000_000
    texts = [ROBOT.format(long), ROBOT.format("arm").replace('child link="arm"', f'child link="{long}"')]
    texts += [ROBOT.format("arm").replace("revolute", long), f"<{long}/>", f'<robot name="{long}"/>']
    texts += ['<robot name="r">' + "".join(f'<link name="{k}"/>' for k in range(100_000)) + "</robot>"]
    for text in texts:
        with pytest.raises(BoughError) as caught:
            load(text)
        assert len(str(caught.value)) < 2500
        assert all(len(str(finding)) < 2500 for finding in doctor(text))
