"""Robots with loops as MJCF, written from tables of their published numbers: Cassie, and the gripper 2F-85."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASSIE = json.loads((Path(__file__).parent / "data" / "cassie.json").read_text(encoding="utf-8"))
FREE = '<option timestep="0.0005"><flag contact="disable"/></option>'


def cassie(option: str = FREE) -> str:
    """Two legs of a ball-jointed achilles rod, two leaf springs and a plantar rod each, on a floating pelvis."""
    pelvis = CASSIE["pelvis"]
    body = f'<body name="pelvis" pos="{_text(pelvis["pos"])}"><freejoint name="root"/>{_inertial(pelvis)}'
    body += _limb("left", "pelvis") + _limb("right", "pelvis") + "</body>"
    loops = "".join(
        f'<connect name="{side}-{first}" body1="{side}-{first}" body2="{side}-{second}" anchor="{_text(at)}"/>'
        for side in ("left", "right")
        for first, second, at in CASSIE["loops"]
    )
    motors = "".join(
        f'<motor name="{side}-{name}" joint="{side}-{name}" gear="{gear}" ctrlrange="-{most} {most}"/>'
        for side in ("left", "right")
        for name, (gear, most) in CASSIE["motors"].items()
    )
    return (
        f'<mujoco model="cassie"><compiler autolimits="true"/>{option}<worldbody>{body}</worldbody>'
        f"<equality>{loops}</equality><actuator>{motors}</actuator></mujoco>"
    )


def cassie_home() -> dict[str, Any]:
    """The published stance: what MuJoCo's qpos holds, by joint."""
    home = CASSIE["home"]
    named = {f"{side}-{name}": x for side in ("left", "right") for name, x in home[side].items()}
    return {"root": home["base"], **named}


def _limb(side: str, parent: str) -> str:
    """The bodies on `parent`; the right leg is mirrored, hips across y, all below them across z, as axes are turned."""
    text = ""
    for row in CASSIE["leg"]:
        if row["parent"] != parent:
            continue
        flip = -1 if side == "right" else 1
        across = 1 if row["name"] in ("hip-roll", "hip-yaw") else 2
        above = 1 if parent in ("pelvis", "hip-roll", "hip-yaw") else 2
        axes = row["xyaxes"]
        turned = (
            ""
            if axes is None
            else f' xyaxes="{_text(_mirrored(axes[:3], above, flip) + _mirrored(axes[3:], above, flip))}"'
        )
        text += f'<body name="{side}-{row["name"]}" pos="{_text(_mirrored(row["pos"], above, flip))}"{turned}>'
        text += _inertial(row, across, flip) + _joint(side, row, flip) + _limb(side, row["name"]) + "</body>"
    return text


def _joint(side: str, row: dict[str, Any], flip: int) -> str:
    if row["joint"] is None:
        return ""
    given = dict(row["joint"])
    if "range" in given and flip < 0 and row["name"].startswith(("hip-roll", "hip-yaw")):
        given["range"] = [-x for x in reversed(given["range"])]
    said = " ".join(f'{key}="{_text(x) if isinstance(x, list) else x}"' for key, x in given.items())
    return f'<joint name="{side}-{row["name"]}" {said}/>'


def _inertial(row: dict[str, Any], across: int = 1, flip: int = 1) -> str:
    xx, yy, zz, xy, xz, yz = row["inertia"]
    xy, xz, yz = (flip * xy, xz, flip * yz) if across == 1 else (xy, flip * xz, flip * yz)
    return (
        f'<inertial pos="{_text(_mirrored(row["com"], across, flip))}" mass="{row["mass"]}" '
        f'fullinertia="{_text([xx, yy, zz, xy, xz, yz])}"/>'
    )


def _mirrored(x: list[float], across: int, flip: int) -> list[float]:
    return [flip * a if k == across else a for k, a in enumerate(x)]


def _text(numbers: list[float]) -> str:
    return " ".join(repr(x) for x in numbers)


# Robotiq's 2F-85: masses, inertias, placements, springs and loops as published in
# google-deepmind/mujoco_menagerie, robotiq_2f85. Names, place, mass, centre, turn and moments of inertia, joint.
FINGER = {
    "driver": ("0 0.0306011 0.054904", 0.00899563, "0 0.0177547 0.00107314", "0.681301 0.732003 0 0",
               "1.72352e-06 1.60906e-06 3.22006e-07", 'range="0 0.8" armature="0.005" damping="0.1"'),
    "coupler": ("0 0.0315 -0.0041", 0.0140974, "0 0.00301209 0.0232175", "0.705636 -0.0455904 0.0455904 0.705636",
                "4.16206e-06 3.52216e-06 8.88131e-07", 'range="-1.57 0"'),
    "spring_link": ("0 0.0132 0.0609", 0.0221642, "-8.65005e-09 0.0181624 0.0212658",
                    "0.663403 -0.244737 0.244737 0.663403", "8.96853e-06 6.71733e-06 2.63931e-06",
                    'range="-0.29670597283 0.8" stiffness="0.05" springref="2.62" damping="0.00125"'),
    "follower": ("0 0.055 0.0375", 0.0125222, "0 -0.011046 0.0124786", "1 0.1664 0 0",
                 "2.67415e-06 2.4559e-06 6.02031e-07", 'range="-0.872664 0.872664" pos="0 -0.018 0.0065"'),
}  # fmt: skip
PAD = ('<body name="{side}_pad" pos="0 -0.0189 0.01352"><inertial mass="0.0035" pos="0 -0.0025 0.0185" '
       'quat="1 0 0 1" diaginertia="4.73958e-07 3.64583e-07 1.23958e-07"/></body>')  # fmt: skip


def gripper(tied: bool = True) -> str:
    """Two fingers, a four-bar linkage and a spring each; `tied`: both drivers turn alike, as one motor moves them."""
    fingers = ""
    for side, turn in (("right", "1 0 0 0"), ("left", "0 0 0 1")):
        driver, coupler, link, follower = (_bar(side, name) for name in FINGER)
        whole = f"{driver}{coupler}</body></body>{link}{follower}{PAD.format(side=side)}</body></body>"
        fingers += f'<body name="{side}" quat="{turn}">{whole}</body>'
    loops = "".join(
        f'<connect name="{side}" body1="{side}_follower" body2="{side}_coupler" anchor="0 0 0"/>'
        for side in ("right", "left")
    )
    if tied:
        loops += '<joint name="tie" joint1="right_driver" joint2="left_driver" polycoef="0 1 0 0 0"/>'
    return (
        f'<mujoco model="2f85"><compiler angle="radian" autolimits="true"/>{FREE}'
        f'<worldbody><body name="base" pos="0 0 0.0108">{fingers}</body></worldbody>'
        f"<equality>{loops}</equality></mujoco>"
    )


def _bar(side: str, name: str) -> str:
    place, mass, center, turn, moments, joint = FINGER[name]
    return (
        f'<body name="{side}_{name}" pos="{place}"><inertial mass="{mass}" pos="{center}" quat="{turn}" '
        f'diaginertia="{moments}"/><joint name="{side}_{name}" axis="1 0 0" {joint}/>'
    )
