"""MJCF that expands without bound stops at a limit, before MuJoCo sees it."""

from __future__ import annotations

import pytest

from bough import doctor, load
from bough.errors import FileFormatError

mujoco = pytest.importorskip("mujoco")

BODY = '<body><joint/><geom size="0.1"/></body>'


def world(inside: str, asset: str = "", more: str = "") -> str:
    return f"<mujoco>{more}<asset>{asset}</asset><worldbody>{BODY}{inside}</worldbody></mujoco>"


def nested(times: int) -> str:
    return '<replicate count="10">' * times + BODY + "</replicate>" * times


HUGE = {
    "replicate": world(f'<replicate count="1000000000" offset="1 0 0">{BODY}</replicate>'),
    "digits": world(f'<replicate count="{"9" * 1000}">{BODY}</replicate>'),
    "nested": world(nested(9)),
    "composite": world('<composite type="cable" count="100000000 1 1" size="1"/>'),
    "flexible": world('<flexcomp name="f" type="grid" count="10000 10000 10000" spacing="1 1 1"/>'),
    "heights": world("", '<hfield name="h" nrow="1000000" ncol="1000000" size="1 1 1 1"/>'),
    "texture": world("", '<texture name="t" type="2d" builtin="flat" width="1000000" height="1000000"/>'),
    "mesh": world("", '<mesh name="m" builtin="supersphere" params="30000 1 1"/>'),
    "user": world("", more='<size nuser_body="1000000000"/>'),
    "keys": world("", more='<size nkey="1000000000"/>'),
    "custom": world("", more='<custom><numeric name="n" size="1000000000"/></custom>'),
    "sensor": world("", more='<sensor><user dim="1000000000"/></sensor>'),
}


@pytest.mark.parametrize("what", HUGE)
def test_refused_at_once(what: str) -> None:
    with pytest.raises(FileFormatError, match=r"expands to more than 20000 elements|at most \d+ is read"):
        load(HUGE[what])
    assert [f.severity for f in doctor(HUGE[what])] == ["error"]


def test_what_is_small_is_read() -> None:
    assert load(world(nested(2))).nv == 101
    flat = '<hfield name="h" nrow="100" ncol="100" size="1 1 1 1"/>'
    assert load(world('<geom type="hfield" hfield="h"/>', flat)).nv == 1


def test_included_and_attached_files_count(tmp_path) -> None:
    body = f'<body name="p"><joint/><geom size="1"/>{nested(2)}</body>'
    (tmp_path / "part.xml").write_text(f'<mujoco model="part"><worldbody>{body}</worldbody></mujoco>')
    main = tmp_path / "main.xml"
    attach = "".join(f'<attach model="part" body="p" prefix="{k}_"/>' for k in range(100))
    main.write_text(world(attach, '<model name="part" file="part.xml"/>'))
    with pytest.raises(FileFormatError, match="expands"):
        load(main)
    main.write_text(world('<attach model="part" body="p" prefix="1_"/>', '<model name="part" file="part.xml"/>'))
    assert load(main).nv == 102
    (tmp_path / "rest.xml").write_text(f"<mujoco><worldbody>{nested(5)}</worldbody></mujoco>")
    main.write_text(world("", more='<include file="rest.xml"/>'))
    with pytest.raises(FileFormatError, match="expands"):
        load(main)
    (tmp_path / "rest.xml").write_text(f"<mujoco><worldbody>{nested(1)}</worldbody></mujoco>")
    assert load(main).nv == 11
    main.write_text('<mujoco><include file="main.xml"/></mujoco>')
    with pytest.raises(FileFormatError):
        load(main)


def test_encodings_that_mujoco_does_not_read(tmp_path) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(('<?xml version="1.0" encoding="utf-16"?>' + world("")).encode("utf-16"))
    with pytest.raises(FileFormatError, match="save it as UTF-8"):
        load(path)
    path.write_bytes(("\ufeff\n" + world("")).encode())
    assert load(path).nv == 1
