"""The robots of the papers: Tree 1, humanoid, chain, ASIMO and its variants, a two-handed stand-in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bough.errors import unknown_option
from bough.model import Builder, Model
from bough.model.bodies import Piece
from bough.spatial import inertia_matrix
from bough.tree import Tree
from bough.zoo.figures import DARK, Part, figure, limb
from bough.zoo.geometry import Naming, generator, model_of, random_geometry, shifted, sized

SIDES = (("left", 1.0), ("right", -1.0))
TREE1 = shifted([0, 1, 1, 2, 2, 3, 3])
SHIMANOVSKIJ = shifted([0, 1, 2, 2, 3, 4, 4])

# Featherstone 2010, Table 3 and the crossover in its text: joints of an arm, of each digit, of a leg; pairs of
# arms and legs; tasks
_ASIMO = {
    "HF": (7, (1, 1), 6, 1, "HF"),
    "HFH": (7, (1, 1), 6, 1, "HFH"),
    "+6 HF": (13, (1, 1), 12, 1, "HF"),
    "+12 HF": (19, (1, 1), 18, 1, "HF"),
    "8 limbs HF": (7, (1, 1), 6, 2, "HF"),
    "hands HF": (7, (3, 3, 3, 3), 6, 1, "HF"),
    "hands FTF": (7, (3, 3, 3, 3), 6, 1, "FTF"),
    "+14 HF": (21, (1, 1), 20, 1, "HF"),
    "+15 HF": (22, (1, 1), 21, 1, "HF"),
}
ASIMO_VARIANTS = tuple(_ASIMO)


def tree1(seed: int = 0) -> Model:
    """Tree 1 of Featherstone 2005 and 2010 (Fig. 1 of both): seven bodies, revolute joints."""
    return model_of("tree1", TREE1, random_geometry(Tree(TREE1), generator("tree1", seed)))


def tree1_expanded(seed: int = 0) -> Model:
    """Tree 1 with joints of 2, 2, 1, 1, 1, 3, 1 DoF (Featherstone 2005, Fig. 2): 11 DoF."""
    joints = ("universal", "cylindrical", "revolute", "revolute", "revolute", "spherical", "revolute")
    return _of_types("tree1_expanded", TREE1.tolist(), joints, seed)


def shimanovskij(seed: int = 0) -> Model:
    """The tree of Shimanovskij (Figs. 1 and 2): seven bodies, joints 3 and 6 of two DoF, 9 DoF in all."""
    joints = ("revolute", "revolute", "universal", "revolute", "revolute", "cylindrical", "revolute")
    return _of_types("shimanovskij", SHIMANOVSKIJ.tolist(), joints, seed)


def _of_types(name: str, parent: list[int], joints: tuple[str, ...], seed: int) -> Model:
    """A small tree with joints of several types."""
    geometry = random_geometry(Tree(parent), generator(name, seed))
    builder = Builder(name)
    for i, joint in enumerate(joints):
        I = geometry.inertia[i]
        com, J = I[6:9] / I[9], inertia_matrix(I)
        about_com = J - I[9] * (com @ com * np.eye(3) - np.outer(com, com))
        up = f"link{parent[i]}" if parent[i] >= 0 else "world"
        builder.add_body(
            f"link{i}", up, joint, (geometry.R[i], geometry.p[i]), mass=I[9], com=com, inertia=about_com,
            joint_name=f"joint{i}", axis=np.eye(3)[[2, 1]] if joint == "universal" else (0.0, 0.0, 1.0),
        )  # fmt: skip
    return builder.build()


class _Limbs:
    """Collects named bodies limb by limb."""

    def __init__(self, root: str) -> None:
        self.names = [root]
        self.parent = [-1]
        self.frames: dict[str, str] = {}
        self.parts: list[Part] = []  # how they look, if they do

    def add(self, on: str, limb: str, joints: int, tip: str | None = None, parts: Sequence[Part] = ()) -> str:
        """A limb of revolute joints on body `on`; `tip` names a frame on its last body, whose name is returned."""
        self.parts += parts
        for k in range(1, joints + 1):
            self.parent.append(self.names.index(on))
            on = f"{limb}{k}" if joints > 1 else limb
            self.names.append(on)
        if tip:
            self.frames[tip] = on
        return on

    def model(self, name: str, seed: int, floating: bool = True) -> Model:
        tree, names = Tree(self.parent), tuple(self.names)
        naming, rng = Naming(names, tuple(f"{x}_joint" for x in names), self.frames), generator(name, seed)
        if not self.parts:
            return model_of(name, tree.parent, random_geometry(tree, rng, floating=floating), naming, floating)
        geometry, visuals = figure(tree, names, self.parts, rng)
        return replace(model_of(name, tree.parent, geometry, naming, floating), visuals=visuals)


def _end(parts: list[Part], *solids: Piece) -> list[Part]:
    """A limb whose last body has these solids: a hand, a foot or a head."""
    return [*parts[:-1], parts[-1]._replace(solids=[*solids, *parts[-1].solids])]


def _leg(joints: int, x: float, y: float, hip: float) -> list[Part]:
    """A leg that stands; one of more than six joints is as much longer."""
    ground = hip - 0.82 * max(joints / 6, 1.0)
    foot = Piece("", "box", (0.24, 0.105, 0.06), (x + 0.045, y, ground - 0.03))
    return _end(limb((x, y, hip), (x, y, ground), joints, 0.115), foot)


def _arm(joints: int, y: float, shoulder: float) -> list[Part]:
    """An arm that hangs; one of more than seven joints is as much longer."""
    wrist = shoulder - 0.58 * max(joints / 7, 1.0)
    palm = Piece("", "sphere", (0.09, 0.055, 0.13), (0.0, 1.25 * y, wrist - 0.05))
    return _end(limb((0.0, y, shoulder), (0.0, 1.25 * y, wrist), joints, 0.08), palm)


def _torso(*more: Piece) -> Part:
    """A chest with shoulders at 1.4 m."""
    chest = Piece("", "sphere", (0.26, 0.40, 0.42), (0.012, 0.0, 1.27))
    shoulders = Piece("", "cylinder", (0.13, 0.13, 0.40), (0.0, 0.0, 1.38), np.eye(3)[[0, 2, 1]], DARK)
    return Part(np.array(chest.p), [chest, shoulders, *more])


def _head(*neck: Piece) -> list[Piece]:
    """A head with a dark visor, and its neck."""
    head = Piece("", "sphere", (0.19, 0.17, 0.23), (0.015, 0.0, 1.63))
    visor = Piece("", "sphere", (0.10, 0.145, 0.09), (0.07, 0.0, 1.645), colour=DARK)
    return [head, visor, *neck]


def humanoid(seed: int = 0) -> Model:
    """A floating torso with four limbs of six joints, 30 DoF (Featherstone 2005, section 6 and Fig. 6).

    It stands upright at q = 0; joint axes are in general position. The frame of the torso is at the left shoulder.
    """
    limbs = _Limbs("torso")
    neck = Piece("", "cylinder", (0.09, 0.09, 0.16), (0.0, 0.0, 1.48), colour=DARK)
    pelvis = Piece("", "sphere", (0.21, 0.30, 0.24), (0.0, 0.0, 0.97))
    belly = Piece("", "cylinder", (0.17, 0.22, 0.24), (0.0, 0.0, 1.08), colour=DARK)
    limbs.parts.append(_torso(*_head(neck), pelvis, belly))
    for side, y in SIDES:
        limbs.add("torso", f"{side}_arm", 6, f"{side}_hand", _arm(6, 0.24 * y, 1.38))
    for side, y in SIDES:
        limbs.add("torso", f"{side}_leg", 6, f"{side}_foot", _leg(6, 0.0, 0.1 * y, 0.9))
    return limbs.model("humanoid", seed)


def floating_chain(seed: int = 0, bodies: int = 25) -> Model:
    """An unbranched chain on a floating base, 25 bodies and 30 DoF (Featherstone 2005, section 6)."""
    sized("floating_chain", "bodies", bodies)
    limbs = _Limbs("base")
    limbs.add("base", "link", bodies - 1, "tip")
    return limbs.model("floating_chain", seed)


def arm(n: int = 7, seed: int = 0) -> Model:
    """A manipulator with n revolute joints of general geometry on a fixed base, and a frame `hand`."""
    sized("arm", "n", n)
    limbs = _Limbs("link1")
    limbs.frames["hand"] = "link1"
    for k in range(2, n + 1):
        limbs.frames["hand"] = limbs.add(f"link{k - 1}", f"link{k}", 1)
    return limbs.model("arm", seed, floating=False)


def asimo(variant: str = "HF", seed: int = 0) -> Model:
    """ASIMO as in Featherstone 2010, Fig. 11 (40 DoF), and the variants of its Table 3.

    A floating torso carries a head of 3 joints, two arms of 7 that end in palms with two digits of one joint each,
    and a one-joint waist with two legs of 6. "+6 HF" and "+12 HF" (also "+14 HF", "+15 HF") lengthen every limb,
    "8 limbs HF" has four arms and four legs, "hands HF" and "hands FTF" have four fingers of three joints on each
    hand. The letters after them name the tasks (see `asimo_tasks`) and do not change the mechanism. Frames: head,
    left_hand (the palm), left_foot, left_thumb, left_finger and so on.
    """
    arm_joints, digits, leg_joints, pairs, _ = _variant(variant)
    sides = _sides(pairs)
    limbs = _Limbs("torso")
    pack = Piece("", "box", (0.12, 0.30, 0.34), (-0.16, 0.0, 1.28), colour=DARK)
    limbs.parts.append(_torso(pack))
    limbs.add("torso", "head_link", 3, "head", _end(limb((0, 0, 1.44), (0, 0, 1.53), 3, 0.08), *_head()))
    for number, side in enumerate(sides):
        y, shoulder = 0.24 * SIDES[number % 2][1], 1.38 - 0.16 * (number // 2)
        parts = _arm(arm_joints, y, shoulder)
        palm = limbs.add("torso", f"{side}_arm", arm_joints, f"{side}_hand", parts)
        at = np.asarray(parts[-1].solids[0].p)
        for k, joints in enumerate(digits):
            tip = f"{side}_{('thumb', 'finger')[k]}" if k < 2 else None
            start = at + [0.045 - 0.09 * k / max(len(digits) - 1, 1), 0.0, -0.045]
            finger = limb(start, start + [0.0, 0.0, -0.07], joints, 0.022)
            limbs.add(palm, f"{side}_digit{k + 1}" + ("_" if joints > 1 else ""), joints, tip, finger)
    pelvis = Piece("", "sphere", (0.21, 0.30, 0.24), (0.012, 0.0, 0.97))
    belly = Piece("", "cylinder", (0.17, 0.22, 0.24), (0.0, 0.0, 1.08), colour=DARK)
    limbs.add("torso", "waist", 1, parts=[Part(np.array([0.0, 0.0, 1.05]), [pelvis, belly])])
    for number, side in enumerate(sides):
        leg = _leg(leg_joints, -0.3 * (number // 2), 0.1 * SIDES[number % 2][1], 0.9)
        limbs.add("waist", f"{side}_leg", leg_joints, f"{side}_foot", leg)
    return limbs.model(f"asimo {variant}", seed)


def asimo_tasks(variant: str = "HF") -> tuple[str, ...]:
    """The frames of the six-row tasks of a row of Featherstone 2010, Table 3: hands and feet (HF), the head too
    (HFH), or the tips of finger and thumb on each hand and the feet (FTF)."""
    *_, pairs, tasks = _variant(variant)
    sides = _sides(pairs)
    ends = {"FTF": ("thumb", "finger")}.get(tasks, ("hand",))
    hands = [f"{side}_{tip}" for side in sides for tip in ends]
    return (*hands, *(f"{side}_foot" for side in sides), *(("head",) if tasks == "HFH" else ()))


def _sides(pairs: int) -> list[str]:
    """left, right, left2, right2, ..."""
    return [f"{side}{k}" for k in ("", *range(2, pairs + 1)) for side in ("left", "right")]


def _variant(variant: str) -> tuple[int, tuple[int, ...], int, int, str]:
    if variant not in _ASIMO:
        raise unknown_option(f"there is no ASIMO variant {variant!r}", variant, _ASIMO)
    return _ASIMO[variant]


def ck_standin(seed: int = 0) -> Model:
    """24 links and two hands, standing in for the robot of Chang & Khatib 2001, whose figure is not in the text.

    A trunk of 9 revolute joints on a fixed base carries two arms of 7 and a one-joint head.
    """
    limbs = _Limbs("trunk1")
    top = "trunk1"
    for k in range(2, 10):
        top = limbs.add(top, f"trunk{k}", 1)
    limbs.add(top, "left_arm", 7, "left_hand")
    limbs.add(top, "right_arm", 7, "right_hand")
    limbs.add(top, "head_link", 1, "head")
    return limbs.model("ck_standin", seed, floating=False)


LEGS = (("lf", 0.2, 0.1), ("rf", 0.2, -0.1), ("lh", -0.2, 0.1), ("rh", -0.2, -0.1))


def quadruped(stiffness: float = 0.0, damping: float = 0.5) -> Model:
    """A trunk of 8 kg on four legs of 0.4 m with three motors each; frames lf_foot, rf_foot, lh_foot and rh_foot.

    Springs of `stiffness` (N m / rad) about bent knees let it stand without a controller.
    """
    builder = Builder("quadruped")
    builder.add_body("trunk", joint="floating", mass=8.0, inertia=np.diag([0.1, 0.3, 0.35]))
    law: dict[str, Any] = {"stiffness": stiffness, "damping": damping, "effort": 40.0, "velocity": 30.0}
    for leg, x, y in LEGS:
        side = 0.05 if y > 0 else -0.05
        builder.add_body(
            f"{leg}_hip", "trunk", placement=(x, y, 0), axis=(1, 0, 0), mass=0.5, inertia=0.001 * np.eye(3),
            lower=-0.9, upper=0.9, **law,
        )  # fmt: skip
        builder.add_body(
            f"{leg}_thigh", f"{leg}_hip", placement=(0, side, 0), axis=(0, 1, 0), mass=0.8, com=(0, 0, -0.1),
            inertia=np.diag([0.003, 0.003, 0.001]), rest=0.6, lower=-1.5, upper=2.5, **law,
        )  # fmt: skip
        builder.add_body(
            f"{leg}_shank", f"{leg}_thigh", placement=(0, 0, -0.2), axis=(0, 1, 0), mass=0.3, com=(0, 0, -0.1),
            inertia=np.diag([0.001, 0.001, 0.0003]), rest=-1.2, lower=-2.6, upper=-0.2, **law,
        )  # fmt: skip
        builder.add_frame(f"{leg}_foot", f"{leg}_shank", (0, 0, -0.2))
    return replace(builder.build(), visuals=tuple(_quadruped_visuals()))


def _quadruped_visuals() -> Iterator[Piece]:
    yield Piece("trunk", "box", (0.46, 0.16, 0.11))
    yield Piece("trunk", "box", (0.10, 0.12, 0.08), (0.26, 0.0, 0.02), colour=DARK)
    for leg, _, _ in LEGS:
        yield Piece(f"{leg}_hip", "sphere", (0.09, 0.09, 0.09), colour=DARK)
        yield Piece(f"{leg}_thigh", "sphere", (0.075, 0.075, 0.075), colour=DARK)
        yield Piece(f"{leg}_thigh", "cylinder", (0.055, 0.04, 0.2), (0.0, 0.0, -0.1))
        yield Piece(f"{leg}_shank", "sphere", (0.05, 0.045, 0.05), colour=DARK)
        yield Piece(f"{leg}_shank", "cylinder", (0.035, 0.03, 0.19), (0.0, 0.0, -0.095))
        yield Piece(f"{leg}_shank", "sphere", (0.04, 0.04, 0.04), (0.0, 0.0, -0.18), colour=DARK)
