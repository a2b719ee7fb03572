"""Models as URDF and MJCF. What a format has no word for is named in a comment of the file, or refused.

Both formats get the moving bodies, each with all that is welded to it, and the other named frames: in URDF as links on
fixed joints, in MJCF as sites. Joints come in the order of the model; readers go depth first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Comment, Element, SubElement, indent, tostring

import numpy as np

from bough.errors import ModelError, short
from bough.joints import JOINTS, PRIMITIVES
from bough.model.assemble import laid_inertia
from bough.model.bodies import planar_frame
from bough.model.contents import WORLD, Coupling
from bough.model.parameters import TO_USER, carriers, inverse, joint_frames, matrix, mimic_frames, standard, steps
from bough.record import check_folder, replacing
from bough.spatial import matrix_quaternion, matrix_rpy, quaternion_matrix
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.model.model import Model

UNLIMITED = "1e308"  # URDF demands an effort and a velocity
NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MOMENTS = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


class Part(NamedTuple):
    """A moving body, and the joint that moves it."""

    body: str
    parent: str  # the moving body that it hangs on, or the world
    joint: str
    type: str
    T: FloatArray  # (4, 4) the joint's frame at zero in the frame of the parent
    axes: FloatArray  # (1 or 2, 3) in the joint's frame
    mass: float
    com: FloatArray  # (3,)
    inertia: FloatArray  # (3, 3) about the centre of mass
    v: slice  # of the joint, or of the joint that it follows
    coupling: Coupling | None = None
    armature: float = 0.0  # of a joint that follows

    @property
    def has_inertia(self) -> bool:
        return bool(self.mass or self.inertia.any())


def moving_parts(model: Model) -> list[Part]:
    """Bodies in the order of `joint_names`, then those of mimic joints."""
    m, frames, at = model.mechanism, model.frames, joint_frames(model)
    number = np.concatenate([model.body_frames, mimic_frames(model)])
    body, R, p = frames.body[number], frames.R[number], frames.p[number]
    own = standard(laid_inertia(m.inertia[body], R, p)[:, TO_USER])
    up = [frames.names[k] for k in carriers(model).tolist()]
    parts = []
    for j, joint in enumerate(model.joints):
        axes = np.array([at.down[j][:3, 2], R[j][2]])[: len(JOINTS[joint.type])]
        parts.append(Part(joint.body, up[j], joint.name, joint.type, at.now[j], axes, *own[j], joint.v))
    if not model.couplings:
        return parts
    step, below = steps(model, model.neutral), carriers(model)
    leaders = {joint.name: joint.v for joint in model.joints}
    for j, coupling in enumerate(model.couplings, len(parts)):
        z, turns = R[j][2], m.axis[m.dof[body[j]]] == 2
        # at the leader's zero the follower is at its offset, from which it is moved back
        half = -0.5 * coupling.offset
        turn = quaternion_matrix(np.array([*(np.sin(half) * z), np.cos(half)])) if turns else np.eye(3)
        back = matrix(turn, np.zeros(3) if turns else -coupling.offset * z)
        T = inverse(matrix(frames.R[below[j]], frames.p[below[j]])) @ step[body[j]] @ matrix(R[j], p[j]) @ back
        kind = "revolute" if turns else "prismatic"
        name = frames.names[number[j]]
        leader, armature = leaders[coupling.leader], float(m.armature[m.dof[body[j]]])
        parts.append(Part(name, up[j], coupling.follower, kind, T, z[None], *own[j], leader, coupling, armature))
    return parts


class _Frame(NamedTuple):
    name: str
    body: str
    T: FloatArray  # (4, 4) in the frame of the body


def fixed_frames(model: Model, parts: Iterable[Part]) -> list[_Frame]:
    """Named frames but the world and the moving bodies."""
    f = model.frames
    names = {part.body: model.frame(part.body) for part in parts}
    carrier = {int(f.body[k]): (name, inverse(matrix(f.R[k], f.p[k]))) for name, k in names.items()}
    carrier[-1] = (WORLD, np.eye(4))
    found = []
    for k, name in enumerate(f.names):
        if name != WORLD and name not in names:
            body, back = carrier[int(f.body[k])]
            found.append(_Frame(name, body, back @ matrix(f.R[k], f.p[k])))
    return found


def fresh(name: str, taken: set[str]) -> str:
    """The name, or a longer one that is not taken; it is taken then."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def words(numbers: Any) -> str:
    """Numbers of a file, each with all its digits."""
    return " ".join(repr(float(x)) for x in np.ravel(numbers))


def text_of(root: Element, remarks: list[str]) -> str:
    """A file, with what its format cannot say; a character that XML does not have is refused."""
    for text in (name for element in root.iter() for name in element.attrib.values()):
        if odd := NOT_IN_XML.search(text):
            raise ModelError(f"the name {short(text)!r} has the character {odd[0]!r}, which no XML file can hold")
    for k, remark in enumerate(remarks):
        root.insert(k, Comment(f" {re.sub('-(?=-)', '- ', remark)} "))
    indent(root)
    return '<?xml version="1.0"?>\n' + tostring(root, "unicode") + "\n"


def save(text: str, path: str | Path | None) -> str:
    """The text, written to a file if there is a path."""
    if path is not None:
        check_folder(path)
        with replacing(path) as file:
            file.write(text.encode())
    return text


def unsaid(model: Model, whole: Iterable[str], lost: dict[str, Any]) -> list[str]:
    """Quantities that a format has no word for, each with the degrees of freedom that have it.

    Joints of the types `whole` have no limits there, and one damping and friction, that of their first DoF;
    `lost` are (nv,) other quantities, true where they have no word.
    """
    first, limited, idle = np.arange(model.nv), np.zeros(model.nv, bool), ~model.actuated
    for joint in model.joints:
        if joint.type in whole:
            first[joint.v] = joint.v.start
            limited[joint.v] = np.isfinite(np.array([column[joint.v] for column in model.limits])).any(axis=0)
        if joint.type in ("floating", "spherical"):  # not actuated in files, either
            idle[joint.v] = False
    uneven = {"damping": model.damping != model.damping[first], "friction": model.friction != model.friction[first]}
    names = {
        what: [name for name, is_lost in zip(model.dof_names, those, strict=True) if is_lost]
        for what, those in {**lost, "limits": limited, **uneven, "actuated=False": idle}.items()
    }
    return [f"no word for the {what} of {', '.join(those)}" for what, those in names.items() if those]


def urdf(model: Model) -> str:
    """The text of a URDF file; loops are <constraint> elements, which `bough.load` reads."""
    parts = moving_parts(model)
    frames = fixed_frames(model, parts)
    root = Element("robot", name=model.name)
    SubElement(root, "link", name=WORLD)
    taken = {part.joint for part in parts}
    for part in parts:
        if part.type not in {word for name in JOINTS[part.type] for word in PRIMITIVES[name].urdf}:
            raise ModelError(f"to_urdf: joint {part.joint!r} is {part.type}, a type that URDF does not have")
        link = SubElement(root, "link", name=part.body)
        if part.has_inertia:
            put_inertial(link, part.mass, part.com, part.inertia)
        _urdf_joint(root, model, part)
    for frame in frames:
        joint = fresh(f"{frame.name}_fixed", taken)
        SubElement(root, "link", name=frame.name)
        _placed(SubElement(root, "joint", name=joint, type="fixed"), frame.body, frame.name, frame.T)
    for closure in model.closures:
        element = SubElement(root, "constraint", name=closure.name, type=closure.kind)
        if closure.length:
            element.set("length", words(closure.length))
        SubElement(element, "link1", link=closure.frame)
        SubElement(element, "link2", link=closure.other)
    remarks = unsaid(model, ("planar", "floating"), {"armature": model.armature, "stiffness": model.stiffness})
    if rotors := [part.joint for part in parts if part.armature]:
        remarks.append(f"no word for the armature of {', '.join(rotors)}")
    if model.gravity.tolist() != [0.0, 0.0, -9.81]:
        remarks.append(f"no word for gravity, which is {words(model.gravity)}")
    return text_of(root, remarks)


def put_inertial(link: Element, mass: float, com: FloatArray, inertia: FloatArray) -> None:
    """The first element of a link: its mass, and inertia (3, 3) about its centre of mass, in the link's axes."""
    inertial = Element("inertial")
    SubElement(inertial, "origin", xyz=words(com))
    SubElement(inertial, "mass", value=words(mass))
    SubElement(inertial, "inertia", {f"i{key}": words(inertia[at]) for key, at in MOMENTS.items()})
    link.insert(0, inertial)


def _urdf_joint(root: Element, model: Model, part: Part) -> None:
    v, follows = part.v.start, part.coupling is not None
    low, high, speed, effort = (float(column[v]) for column in model.limits)
    single = part.type in ("revolute", "continuous", "prismatic")
    limited = not follows and part.type != "continuous" and np.isfinite([low, high]).any()
    kind = "continuous" if part.type == "revolute" and not limited else part.type
    joint = _placed(SubElement(root, "joint", name=part.joint, type=kind), part.parent, part.body, part.T)
    if single or part.type == "planar":
        SubElement(joint, "axis", xyz=words(part.axes[0]))
    if single:
        if follows:  # the limits are those of the leader
            low, high, speed, effort = -np.inf, np.inf, np.inf, np.inf
        limit = {key: words(x) if np.isfinite(x) else UNLIMITED for key, x in (("effort", effort), ("velocity", speed))}
        if kind != "continuous":
            limit |= {key: words(x) if np.isfinite(x) else f"{sign}{UNLIMITED}"
                      for key, x, sign in (("lower", low, "-"), ("upper", high, ""))}  # fmt: skip
        if kind != "continuous" or np.isfinite([effort, speed]).any():
            SubElement(joint, "limit", limit)
    if not follows and (model.damping[v] or model.friction[v]):
        SubElement(joint, "dynamics", damping=words(model.damping[v]), friction=words(model.friction[v]))
    if part.coupling:
        c = part.coupling
        SubElement(joint, "mimic", joint=c.leader, multiplier=words(c.ratio), offset=words(c.offset))


def _placed(joint: Element, parent: str, child: str, T: FloatArray) -> Element:
    SubElement(joint, "parent", link=parent)
    SubElement(joint, "child", link=child)
    SubElement(joint, "origin", xyz=words(T[:3, 3]), rpy=words(matrix_rpy(T[:3, :3])))
    return joint


MJCF_JOINTS = {
    "revolute": ("hinge",), "continuous": ("hinge",), "prismatic": ("slide",), "spherical": ("ball",),
    "floating": ("free",), "universal": ("hinge", "hinge"),
    "cylindrical": ("hinge", "slide"), "planar": ("slide", "slide", "hinge"),
}  # fmt: skip
MJCF_DOFS = {"ball": 3, "free": 6}  # others have one
MOST_DOFS = 6  # of a body


def mjcf(model: Model) -> str:
    """The text of an MJCF file. A body without mass, which MuJoCo refuses, is joined with the one that it carries."""
    parts = moving_parts(model)
    root = Element("mujoco", model=model.name)
    SubElement(root, "compiler", angle="radian", autolimits="true")
    SubElement(root, "option", gravity=words(model.gravity))
    bodies = {WORLD: SubElement(root, "worldbody")}
    taken = {part.joint for part in parts}
    low, high, speed, effort = model.limits
    lost = {"velocity limits": np.isfinite(speed), "equal limits": low == high, "effort limits of zero": effort == 0.0}
    remarks = unsaid(model, ("spherical", "floating"), lost)
    carried = Counter(part.parent for part in parts)
    chains: dict[str, list[Part]] = {}  # that end in a body without mass, by the names of it and its frames
    # followers come last among the parts, and may carry others
    waiting = sorted(parts, key=lambda part: int(model.frames.body[model.frame(part.body)]))
    for part in waiting:
        if part.type not in MJCF_JOINTS:
            raise ModelError(f"to_mjcf: joint {part.joint!r} is {part.type}, a type that MJCF does not have")
        if part.type == "floating" and (part.parent != WORLD or np.abs(part.T - np.eye(4)).max() > 1e-12):
            raise ModelError(
                f"to_mjcf: joint {part.joint!r} is floating from a frame in {part.parent!r}; "
                f"MJCF has free joints from the world's frame only"
            )
        if part.type == "planar":
            remarks.append(
                f"{part.joint}: linear velocities are in the axes of the frame that it hangs on, not of the body"
            )
        chain = [*chains.get(part.parent, []), part]
        if not part.has_inertia:
            if carried[part.body] != 1 or part.type in ("floating", "spherical"):
                raise ModelError(
                    f"to_mjcf: body {part.body!r} has no mass, which MuJoCo refuses, and cannot be joined with what "
                    f"it carries: it moves on a {part.type} joint and carries {carried[part.body]} bodies"
                )
            chains[part.body] = chain
            remarks.append(f"no word for the frame of {part.body}, which has no mass")
        else:
            dofs = sum(MJCF_DOFS.get(kind, 1) for one in chain for kind in MJCF_JOINTS[one.type])
            if dofs > MOST_DOFS:
                raise ModelError(
                    f"to_mjcf: body {part.body!r} would have {dofs} degrees of freedom, of which MuJoCo has at most "
                    f"{MOST_DOFS}: bodies without mass are joined with it ({', '.join(p.body for p in chain[:-1])})"
                )
            bodies[part.body] = _mjcf_body(bodies[chain[0].parent], model, chain, taken)
    for frame in fixed_frames(model, parts):
        if frame.body in bodies:
            SubElement(bodies[frame.body], "site", {"name": frame.name, **_place(frame.T)})
        else:
            chains[frame.name] = chains[frame.body]
            remarks.append(f"no word for the frame {frame.name} on {frame.body}, which has no mass")
    _mjcf_equalities(root, model, bodies, chains)
    return text_of(root, remarks)


def _mjcf_body(above: Element, model: Model, chain: list[Part], taken: set[str]) -> Element:
    """The last body of a chain, with the joints of all."""
    places = [*accumulate((part.T for part in chain), np.matmul)]
    part, back = chain[-1], inverse(places[-1])
    body = SubElement(above, "body", {"name": part.body, **_place(places[-1])})
    if part.has_inertia:
        J = words([part.inertia[at] for at in MOMENTS.values()])
        SubElement(body, "inertial", pos=words(part.com), mass=words(part.mass), fullinertia=J)
    for one, place in zip(chain, places, strict=True):
        _mjcf_joints(body, model, one, None if one is part else back @ place, taken)
    return body


def _place(T: FloatArray) -> dict[str, str]:
    x, y, z, w = matrix_quaternion(T[:3, :3]).tolist()
    return {"pos": words(T[:3, 3]), "quat": words([w, x, y, z])}


def _mjcf_joints(body: Element, model: Model, part: Part, T: FloatArray | None, taken: set[str]) -> None:
    """The joints of a part, in the body's own frame or with theirs placed at T in it."""
    kinds, follows = MJCF_JOINTS[part.type], part.coupling is not None
    axes = part.axes if part.type != "planar" else planar_frame(part.axes[0]).T
    for k, kind in enumerate(kinds):
        v = part.v.start + k
        name = part.joint if len(kinds) == 1 else fresh(f"{part.joint}_{k + 1}", taken)
        joint = SubElement(body, "joint", name=name, type=kind)
        axis = axes[min(k, len(axes) - 1)]
        if T is not None:
            joint.set("pos", words(T[:3, 3]))
            axis = T[:3, :3] @ axis
        if kind in ("hinge", "slide"):
            joint.set("axis", words(axis))
        if follows:
            if part.armature:
                joint.set("armature", words(part.armature))
            continue
        said = {"damping": model.damping[v], "frictionloss": model.friction[v], "armature": model.armature[v],
                "stiffness": model.stiffness[v], "springref": model.rest[v]}  # fmt: skip
        for key, value in said.items():
            if value:
                joint.set(key, words(value))
        if kind in ("hinge", "slide"):
            low, high, effort = model.limits.lower[v], model.limits.upper[v], model.limits.effort[v]
            if np.isfinite([low, high]).any():
                joint.set("range", words(np.clip([low, high], -1e10, 1e10)))
            if np.isfinite(effort):
                joint.set("actuatorfrcrange", words([-effort, effort]))


def _mjcf_equalities(root: Element, model: Model, bodies: dict[str, Element], lost: Collection[str]) -> None:
    """Mimic joints and closures; one at a frame that is lost is refused."""
    equality = Element("equality")
    for c in model.couplings:
        SubElement(equality, "joint", joint1=c.follower, joint2=c.leader, polycoef=words([c.offset, c.ratio, 0, 0, 0]))
    taken = set(model.frames.names)
    for closure in model.closures:
        if closure.kind not in ("connect", "weld"):
            raise ModelError(f"to_mjcf: closure {closure.name!r} is a {closure.kind}; MJCF has connect and weld")
        ends = []
        for frame in (closure.frame, closure.other):
            if frame in lost:
                raise ModelError(f"to_mjcf: closure {closure.name!r} ends at {frame!r}, on a body without mass")
            ends.append(frame if frame not in bodies else fresh(f"{closure.name}/{frame}", taken))
            if frame in bodies:  # the frame of a body, or the world, needs a site at its origin
                SubElement(bodies[frame], "site", name=ends[-1])
        SubElement(equality, closure.kind, name=closure.name, site1=ends[0], site2=ends[1])
    if len(equality):
        root.append(equality)
