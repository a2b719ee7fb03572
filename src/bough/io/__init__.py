"""Reading robot descriptions: URDF with the standard library, MJCF through the `mujoco` package.

Belongs here: reading untrusted files into a `Description`, what `load` does to it before it is built (weld,
float), and the doctor. Does not belong here: what a body or a joint is (`model`), other libraries' layouts of q and v
(`convert`), meshes and other geometry. `io` never reaches the algorithms.

Files have hard limits (`xml`, `numbers`, `mjcf.size`): 64 MiB, a million elements, a thousand levels, names of a
thousand characters, numbers up to 1e15 in SI units, and MJCF that expands to 20,000 elements.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from bough.arguments import explained
from bough.errors import ModelError, short
from bough.io.description import Description
from bough.io.doctor import doctor
from bough.io.examine import Finding
from bough.io.reading import Closures, Equality, LoadOptions, LoadSettings, PackagePaths, build, describe, prepare
from bough.io.weld import Weld
from bough.model import Mimic, Model

__all__ = ["Description", "Finding", "LoadOptions", "describe", "doctor", "load"]


@explained
def load(
    source: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    mimic: Mimic = "honour",
    gravity: Sequence[float] | None = None,
    weld: Weld = (),
    equality: Equality = "honour",
    check: bool = False,
    closures: Closures = (),
    package_paths: PackagePaths = (),
) -> Model:
    """Load the model of a URDF or MJCF file; `notes` of the model name what is not used.

    `doctor` takes the same options. Joints come in depth-first file order: a link, then the subtrees of its child
    joints as the file lists them; `model.joint(name)` maps from other orders. A URDF may have loops:
    <constraint name type="connect" or "weld"><link1 link xyz rpy/><link2 link xyz rpy/></constraint>.

    Parameters
    ----------
    source : a file, XML text, zoo:NAME?n=30&seed=1 (or zoo:NAME:30:1), or robot:NAME of the package robot_descriptions
    floating_base : the root link floats on a joint called "root_joint"; by default it is welded to the world. A root
        link called "world" is the world: the one link welded to it floats, or else it floats itself, as "world_link".
    mimic : "honour" ties mimic joints to their leaders, "independent" frees them
    gravity : m/s^2, (3,); by default the file's (MJCF), else (0, 0, -9.81)
    weld : joints to fix at zero, or a dictionary from joints to positions; joints that mimic them follow
    equality : "honour" makes joint equalities of MJCF mimic joints, and connects and welds rigid `closures`; other
        kinds are refused. "drop" keeps mimic joints only.
    check : refuse also what is harmless but not physical, as `Builder` does
    closures : more closures: dictionaries of arguments of `Builder.add_closure`, or a JSON file with a list of them
    package_paths : folders, beside that of the file, from which MJCF may name files
    """
    options = LoadSettings(floating_base, mimic, gravity, weld, equality, check, closures, package_paths)
    if isinstance(source, str) and source.startswith("zoo:"):
        return made(source, options)
    if isinstance(source, str) and source.startswith("robot:"):
        from bough.io.named import robot_file

        source = robot_file(source)
    return build(prepare(describe(source, package_paths), options), options)


def made(name: str, options: LoadSettings) -> Model:
    """A mechanism of the zoo, which takes no options of files."""
    from bough.io.named import zoo_model

    given = [word for word, default in vars(LoadSettings()).items() if getattr(options, word) != default]
    if given:
        words = ", ".join(given)
        raise ModelError(f"{short(name)} is made, not read: options of files ({words}) do not apply to it")
    return zoo_model(name)
