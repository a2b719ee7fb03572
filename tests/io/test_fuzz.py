"""Malformed files derived from real ones: each gives a model or one clear `BoughError`, and the doctor agrees.

Never a traceback (warnings are errors here); memory and messages are bounded. Files are broken as editors, generators
and strangers break them: cut off, numbers and names replaced, elements lost, doubled, moved and nested, entities,
encodings, huge values.
"""

from __future__ import annotations

import random
import resource
import warnings
from importlib.metadata import files
from pathlib import Path

import pytest

from bough import doctor, load
from bough.errors import BoughError

LONGEST = 2500
MEMORY = 1 << 30  # more that one file may take, in bytes
NUMBERS = (
    "nan", "inf", "-inf", "1e308", "-1e308", "1e200", "1e-320", "1e999", "0", "-1", "1_000", "0x10", "", "  ", "1 2",
    "abc", "1,5", "٣", "1e15", "--1", "1.2.3", "\u221e", "9" * 5000, "${pi/2}",
)  # fmt: skip
NAMES = ("", "world", " ", "a/b", "\u202e", "x" * 2000, "root_joint", "&#10;", "universe", "base_link", "'", "%s{0}")


def robots() -> list[str]:
    """A few real files, small enough to be broken many times."""
    wanted = ("panda.urdf", "solo.urdf", "ur5_robot.urdf", "double_pendulum.urdf", "hector.urdf")
    found = [Path(str(f.locate())) for f in files("example-robot-data") or [] if f.name in wanted]
    return [path.read_text(errors="replace") for path in sorted(found)]


MJCF = """<mujoco model="m"><option timestep="0.01"/><default><joint damping="0.1"/></default><worldbody>
<body name="a" pos="0 0 1"><joint name="j" axis="0 0 1" range="-1 1"/><geom type="box" size="0.1 0.1 0.1"/>
<body name="b" pos="0.3 0 0"><joint name="k" type="slide"/><geom size="0.1"/><site name="s"/></body>
<body name="c"><joint type="ball"/><geom size="0.1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
</body><body name="d"><freejoint/><geom size="0.2"/></body></worldbody>
<equality><joint joint1="k" joint2="j"/></equality><actuator><motor joint="j"/></actuator></mujoco>"""


def broken(text: str, rng: random.Random) -> str:
    """One or several things wrong with a file."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        text = rng.choice(WAYS)(text, rng)
    return text


def cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def attribute(text: str, rng: random.Random) -> str:
    """Another value for an attribute."""
    parts = text.split('"')
    if len(parts) < 4:
        return text
    k = rng.randrange(1, len(parts) - 1, 2)
    numeric = parts[k].strip()[:1].isdigit() or parts[k].strip()[:1] in "-."
    parts[k] = rng.choice(NUMBERS if numeric and rng.random() < 0.8 else NAMES)
    if numeric and rng.random() < 0.3:
        parts[k] = " ".join([parts[k]] * 3)
    return '"'.join(parts)


def swap(text: str, rng: random.Random) -> str:
    """Two attributes exchanged: cycles, two parents, names for numbers."""
    parts = text.split('"')
    if len(parts) < 6:
        return text
    i, j = (rng.randrange(1, len(parts) - 1, 2) for _ in range(2))
    parts[i], parts[j] = parts[j], parts[i]
    return '"'.join(parts)


def lose(text: str, rng: random.Random) -> str:
    """A few lines less."""
    lines = text.splitlines(keepends=True)
    k = rng.randrange(len(lines) or 1)
    return "".join(lines[:k] + lines[k + rng.randrange(1, 4) :])


def double(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    k = rng.randrange(len(lines) or 1)
    return "".join(lines[:k] + lines[k : k + 9] * rng.choice((2, 3)) + lines[k + 9 :])


def noise(text: str, rng: random.Random) -> str:
    k = rng.randrange(len(text) or 1)
    return (
        text[:k]
        + "".join(chr(rng.choice((0, 7, 60, 62, 34, 38, 65, 0x9B, 0xFFFF, 0x1F600))) for _ in range(3))
        + text[k:]
    )


def entity(text: str, rng: random.Random) -> str:
    head = rng.choice(
        ('<!DOCTYPE r [<!ENTITY a "b">]>', '<!DOCTYPE r SYSTEM "file:///etc/passwd">', "<?pi?>", "<!--", "&a;")
    )
    return head + text


def nest(text: str, rng: random.Random) -> str:
    deep = rng.choice((10, 900, 5000, 100_000))
    k = text.find(">") + 1
    return text[:k] + "<link>" * deep + "</link>" * deep + text[k:]


def grow(text: str, rng: random.Random) -> str:
    """A name, a comment or a number of megabytes."""
    many = 3_000_000
    what = rng.choice(
        (f'<link name="{"n" * many}"/>', f"<!--{'c' * many}-->", f'<joint name="j" type="{"t" * many}"/>')
    )
    k = text.find(">") + 1
    return text[:k] + what + text[k:]


WAYS = (cut, attribute, attribute, attribute, swap, swap, lose, double, noise, entity, nest, grow)


def check(source: str | Path, **options) -> str:
    """The sentence with which a source is refused, or nothing; in bounded memory, and as the doctor says."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sentence = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            load(source, **options)
        except BoughError as error:
            sentence = str(error)
            assert 0 < len(sentence) <= LONGEST
        findings = doctor(source, **options)
    assert any(f.severity == "error" for f in findings) == bool(sentence), (sentence, findings)
    assert all(len(str(finding)) < 2 * LONGEST for finding in findings)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * 1024 < MEMORY
    return sentence


@pytest.mark.parametrize("seed", range(8))
def test_broken_urdf(seed: int) -> None:
    rng, texts = random.Random(seed), robots()
    sentences = {check(broken(rng.choice(texts), rng), floating_base=rng.random() < 0.5) for _ in range(25)}
    assert len(sentences) > 5


@pytest.mark.parametrize("seed", range(4))
def test_broken_mjcf(seed: int, tmp_path, monkeypatch) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    sentences = {check(broken(MJCF, rng), equality=rng.choice(("honour", "drop"))) for _ in range(15)}
    assert len(sentences) > 3
    assert not list(tmp_path.iterdir())  # MuJoCo keeps a log of its warnings


def test_random_bytes(tmp_path) -> None:
    """Files that are not text at all, or lie about what they are."""
    rng, path = random.Random(0), tmp_path / "r.urdf"
    text = robots()[0]
    for encoding in ("utf-8", "utf-16", "utf-32", "utf-7", "shift_jis", "cp037", "latin-1"):
        for declared in ("utf-8", "utf-16", "bogus", "shift_jis", "ascii"):
            path.write_bytes(
                f'<?xml version="1.0" encoding="{declared}"?>'.encode(encoding) + text.encode(encoding, "replace")
            )
            check(path)
    for size in (0, 1, 2, 3, 1000):
        path.write_bytes(rng.randbytes(size))
        assert check(path)


def test_fifty_megabytes(tmp_path) -> None:
    path = tmp_path / "big.urdf"
    for inside in ('<link name="' + "n" * 50_000_000 + '"/>', "<a/>" * 12_500_000, '<a b="" c=""/>' * 3_500_000):
        path.write_text(f'<robot name="r">{inside}</robot>')
        assert check(path)
