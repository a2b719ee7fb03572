"""The robots of the example-robot-data package, by folder and name."""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path

# One arm on a hinge, and an element that is not read
URDF = """<robot name="twolink"><link name="base"/><link name="arm">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link><gazebo/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
<limit lower="-1" upper="1" effort="5" velocity="6"/></joint></robot>"""


def urdfs() -> dict[str, Path]:
    """All URDFs of the wheel by name; some names occur twice, in different packages."""
    found = [Path(str(f.locate())) for f in files("example-robot-data") or [] if f.suffix == ".urdf"]
    return {f"{p.relative_to(p.parents[2]).parts[0]}/{p.name}": p for p in sorted(found)}
