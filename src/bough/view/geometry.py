"""Visual geometry of a robot, from its file: boxes, cylinders, spheres and meshes of URDF and MJCF.

Only files on this machine are read, and only below trusted folders (`Meshes`); what cannot be read is named.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from bough.errors import BoughError, short
from bough.io.mjcf import compiled
from bough.io.mjcf.names import Names
from bough.io.trusted import OUTSIDE, TrustedFolders
from bough.io.xml import Document
from bough.model import Model
from bough.model.bodies import Mesh, Piece
from bough.spatial import quaternion_matrix, rpy_matrix
from bough.types import FloatArray
from bough.view.shapes import Shapes, pieces_on

LARGEST_MESH = 64 << 20  # bytes of a file
MOST_FACES = 50_000  # of one mesh; larger ones are simplified
MOST_TEXELS = 1024  # along a side of a texture
MESH_FORMATS = ("stl", "obj", "dae", "ply", "off", "glb", "gltf")  # no archives: what they unpack to has no limit

Colour = tuple[float, float, float]
Coloured = tuple[Mesh, Colour | None]
NOT_HERE = "no such file here; package_paths, --package-path, names more folders"
WHITE = (1.0, 1.0, 1.0)  # a texture has its own colours


def shapes_of_file(
    model: Model, file: str | Path, colours: FloatArray, folders: Sequence[str | Path] = (), what: str = "visual"
) -> tuple[list[Shapes], list[str]]:
    """Shapes on the bodies of a model, and notes of what is omitted; `what` is "visual" or "collision".

    They have the colours of their materials; without any, those (N, 3) of bodies.
    Meshes are read below the folder of the description, its package, the package paths of ROS and `folders`.
    """
    try:
        document = Document(Path(file))
        pieces, notes = (_urdf if document.root.tag == "robot" else _mjcf)(document, folders, what)
    except (BoughError, OSError, ValueError) as error:
        return [], [f"no geometry is drawn: {short(str(error), 200)}"]
    known = set(model.frame_names)
    lost = [piece.frame for piece in pieces if piece.frame not in known]
    if lost:
        notes.append(f"no geometry is drawn of {len(lost)} links that the model does not have, such as {lost[0]!r}")
    return pieces_on(model, [x for x in pieces if x.frame in known], colours), notes


# URDF


def _urdf(document: Document, folders: Sequence[str | Path], what: str) -> tuple[list[Piece], list[str]]:
    found: list[Piece] = []
    missing: Counter[str] = Counter()
    meshes = Meshes(document.path.parent if document.path else Path(), folders)
    named = {x.get("name"): _rgb(x) for x in document.root.findall("material")}
    for link in document.root.findall("link"):
        for visual in link.findall(what):
            geometry, material = visual.find("geometry"), visual.find("material")
            own = None if material is None else _rgb(material) or named.get(material.get("name"))
            for shape in geometry if geometry is not None else ():
                R, p = _origin(visual)
                for kind, turn, shift, size, mesh, colour in _primitive(shape, meshes, missing):
                    mesh = mesh and mesh._replace(uv=None, image=None) if own else mesh
                    found.append(Piece(link.get("name", ""), kind, size, R @ shift + p, R @ turn, own or colour, mesh))
    return found, [f"{count} {what}" for what, count in missing.items()] + meshes.notes


def _rgb(material: Element) -> Colour | None:
    """The colour of a material, if it has one."""
    colour = material.find("color")
    if colour is None or len(colour.get("rgba", "").split()) != 4:
        return None
    r, g, b, _ = np.clip(_numbers(colour, "rgba", 4, 0.5), 0.0, 1.0).tolist()
    return r, g, b


def _primitive(shape: Element, meshes: Meshes, missing: Counter[str]) -> list[Any]:
    """(kind, R, p, size, mesh, colour) in the frame of the visual."""
    eye, zero = np.eye(3), np.zeros(3)
    if shape.tag == "box":
        return [("box", eye, zero, _numbers(shape, "size", 3, 0.1), None, None)]
    if shape.tag == "sphere":
        return [("sphere", eye, zero, np.full(3, 2 * _numbers(shape, "radius", 1, 0.05)[0]), None, None)]
    if shape.tag in ("cylinder", "capsule"):
        wide, long = 2 * _numbers(shape, "radius", 1, 0.05)[0], _numbers(shape, "length", 1, 0.1)[0]
        return rounded(wide, long)[: None if shape.tag == "capsule" else 1]
    if shape.tag == "mesh":
        size = _numbers(shape, "scale", 3, 1.0)
        return [("mesh", eye, zero, size, *coloured) for coloured in meshes.read(shape.get("filename", ""))]
    missing[f"geometries <{short(shape.tag)}> are not drawn"] += 1
    return []


def rounded(wide: float, long: float) -> list[Any]:
    """A capsule along z: a cylinder of this length, and the spheres at its ends."""
    ends = [("sphere", np.eye(3), np.array([0.0, 0.0, s * long / 2]), np.full(3, wide), None, None) for s in (-1, 1)]
    return [("cylinder", np.eye(3), np.zeros(3), np.array([wide, wide, long]), None, None), *ends]


def _numbers(element: Element, key: str, count: int, default: float) -> FloatArray:
    try:
        found = np.array([float(word) for word in element.get(key, "").split()])
    except ValueError:
        found = np.zeros(0)
    good = len(found) == count and np.isfinite(found).all() and np.abs(found).max(initial=0.0) < 1e6
    return found if good else np.full(count, default)


def _origin(visual: Element) -> tuple[FloatArray, FloatArray]:
    origin = visual.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    return rpy_matrix(_numbers(origin, "rpy", 3, 0.0)), _numbers(origin, "xyz", 3, 0.0)


class Meshes:
    """Mesh files below trusted folders, each read once; what could not be is in `notes`."""

    def __init__(self, folder: Path, folders: Sequence[str | Path] = ()) -> None:
        self.trusted, self.known = TrustedFolders(folder, folders), dict[str, list[Coloured]]()
        self.lost: dict[str, list[str]] = {}

    @property
    def notes(self) -> list[str]:
        """One line for each reason, with the first that it is about."""
        lost = ((why, len(names), names[0] + ", ..." * (len(names) > 1)) for why, names in self.lost.items())
        return [f"{n} mesh{'es are' if n > 1 else ' is'} not drawn ({why}): {first}" for why, n, first in lost]

    def read(self, name: str) -> list[Coloured]:
        """The meshes of a file that a description names, with their own colours."""
        if name not in self.known:
            self.known[name] = self._read(name)
        return self.known[name]

    def _read(self, name: str) -> list[Coloured]:
        if find_spec("trimesh") is None:
            return self.lose("trimesh is missing: pip install 'bough[viewer]'", name)
        found = [path for path in self.candidates(name) if path.is_file()]
        path = next((path for path in found if path in self.trusted), None)
        if path is None:
            return self.lose(OUTSIDE if found else NOT_HERE, name)
        try:
            return [(simplified(mesh), colour) for mesh, colour in read_mesh(path)]
        except Exception as error:  # readers of meshes raise anything
            return self.lose(f"cannot be read: {short(str(error), 100)}", name)

    def lose(self, why: str, name: str) -> list[Coloured]:
        """Note what is not drawn; nothing."""
        self.lost.setdefault(why, []).append(short(name))
        return []

    def candidates(self, name: str) -> list[Path]:
        """Where package://NAME/REST, file:///PATH or a path beside the description may be."""
        if name.startswith(("package://", "model://")):
            package, _, rest = name.split("://", 1)[1].partition("/")
            own, packages = self.trusted.own, self.trusted.packages
            inside = [up for up in (own[0], *own[0].parents) if up.name == package]
            own += [up for up in inside if up not in own]
            tried = [up / rest for up in inside]
            tried += [up / share / package / rest for up in (*packages, *own) for share in ("", "share")]
            return tried + [up / rest for up in (*own, *packages)]
        rest = name.removeprefix("file://")
        return [] if "://" in rest else [self.trusted.folder / rest]


def read_mesh(path: Path) -> list[Coloured]:
    """Triangles of a file, by trimesh: a mesh for each colour and each texture, at its place.

    What the file refers to is read from its own folder only (by trimesh). Archives are not unpacked.
    """
    import trimesh

    kind = path.suffix.lower().removeprefix(".")
    if kind not in MESH_FORMATS:
        raise ValueError(f"expected a file of format {', '.join(MESH_FORMATS)}")
    if path.stat().st_size > LARGEST_MESH:
        raise ValueError(f"it is larger than {LARGEST_MESH >> 20} MB")
    if kind in ("glb", "gltf"):
        check_accessors(path.read_bytes())
    meshes: list[Coloured] = []
    plain: dict[Colour | None, list[Any]] = {}
    for part in cast(list[Any], trimesh.load_scene(path).dump()):
        if not len(getattr(part, "faces", ())):
            continue
        if (image := _texture(part)) is not None:
            corners, faces = np.asarray(part.vertices, float), np.asarray(part.faces, np.int64)
            meshes.append((Mesh(corners, faces, np.asarray(part.visual.uv, float), image), WHITE))
        else:
            plain.setdefault(_colour_of(part), []).append(part)
    for colour, parts in plain.items():
        joined: Any = trimesh.util.concatenate(parts)
        joined.merge_vertices(merge_tex=True, merge_norm=True)
        meshes.append((Mesh(np.asarray(joined.vertices, float), np.asarray(joined.faces, np.int64)), colour))
    if not meshes or not all(np.isfinite(mesh.vertices).all() for mesh, _ in meshes):
        raise ValueError("it has no triangles, or no finite ones")
    return meshes


def _texture(mesh: Any) -> npt.NDArray[np.uint8] | None:
    """The image of a mesh of trimesh, if it has one and places in it."""
    material, uv = getattr(mesh.visual, "material", None), getattr(mesh.visual, "uv", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if image is None or uv is None or len(uv) != len(mesh.vertices) or not np.isfinite(uv).all():
        return None
    image = image.convert("RGB")
    image.thumbnail((MOST_TEXELS, MOST_TEXELS))
    return np.asarray(image)


def _colour_of(mesh: Any) -> Colour | None:
    """The colour of a mesh of trimesh: that of its material, or of most of its faces."""
    visual = mesh.visual
    if not visual.defined:
        return None
    r, g, b, _ = np.asarray((getattr(visual, "material", None) or visual).main_color, float).tolist()
    return (r / 255, g / 255, b / 255) if r + g + b else None  # exporters write black for a texture they do not know


def check_accessors(content: bytes) -> None:
    """Refuse a glTF file whose accessors claim more than a mesh may have: they are allocated before they are read."""
    text = content[20 : 20 + int.from_bytes(content[12:16], "little")] if content[:4] == b"glTF" else content
    numbers = sum(int(accessor.get("count", 0)) for accessor in json.loads(text).get("accessors", ()))
    if numbers > LARGEST_MESH // 4:
        raise ValueError(f"it claims {numbers:,} numbers")


def simplified(mesh: Mesh, most: int = MOST_FACES) -> Mesh:
    """The mesh, or one of about `most` faces by quadric error metrics (Garland & Heckbert 1997).

    Meshes with a texture stay as they are; without the package fast-simplification all do.
    """
    if len(mesh.faces) <= most or mesh.image is not None or find_spec("fast_simplification") is None:
        return mesh
    from fast_simplification import simplify

    vertices, faces = simplify(mesh.vertices, mesh.faces.astype(np.int32), target_count=most)
    return Mesh(vertices.astype(float), faces.astype(np.int64))


# MJCF

SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(2, 8)  # mujoco.mjtGeom
RGB, FLAT = 1, 0  # mujoco.mjtTextureRole, mjtTexture
HIDDEN = 3  # groups from here on are not shown by MuJoCo's own viewer: they collide


def _mjcf(document: Document, folders: Sequence[str | Path], what: str) -> tuple[list[Piece], list[str]]:
    m = compiled(document, folders)
    names = Names(m)
    if what == "collision":
        shown = [g for g in range(m.ngeom) if m.geom_contype[g] or m.geom_conaffinity[g]]
    else:
        shown = [g for g in range(m.ngeom) if m.geom_group[g] < HIDDEN] or list(range(m.ngeom))
    found: list[Piece] = []
    for g in shown:
        R, p = quaternion_matrix(np.roll(m.geom_quat[g], -1)), m.geom_pos[g].copy()
        for kind, turn, shift, size, mesh, _ in _geom(m, g):
            colour = WHITE if mesh and mesh.image is not None else _geom_colour(m, g)
            found.append(Piece(names.bodies[m.geom_bodyid[g]], kind, size, R @ shift + p, R @ turn, colour, mesh))
    left = sum(int(m.geom_type[g]) not in range(SPHERE, MESH + 1) for g in shown)
    return found, [f"{left} planes, fields or other geometries are not drawn"] * bool(left)


def _geom_colour(m: Any, g: int) -> Colour | None:
    """Of its material, or its own; None where it has MuJoCo's grey, since the file says neither."""
    material = int(m.geom_matid[g])
    rgba = m.mat_rgba[material] if material >= 0 else m.geom_rgba[g]
    if material < 0 and np.allclose(rgba, [0.5, 0.5, 0.5, 1.0]):
        return None
    red, green, blue, _ = rgba.tolist()
    return red, green, blue


def _geom(m: Any, g: int) -> list[Any]:
    kind, size, eye, zero = int(m.geom_type[g]), m.geom_size[g], np.eye(3), np.zeros(3)
    if kind in (SPHERE, ELLIPSOID):
        return [("sphere", eye, zero, 2 * (size.copy() if kind == ELLIPSOID else np.full(3, size[0])), None, None)]
    if kind in (CAPSULE, CYLINDER):
        return rounded(2 * size[0], 2 * size[1])[: None if kind == CAPSULE else 1]
    if kind == BOX:
        return [("box", eye, zero, 2 * size, None, None)]
    if kind == MESH:
        return [("mesh", eye, zero, np.ones(3), simplified(_geom_mesh(m, g)), None)]
    return []


def _geom_mesh(m: Any, g: int) -> Mesh:
    """The mesh of a geometry, with the texture of its material; a vertex for each place in the image that it has."""
    k = int(m.geom_dataid[g])
    vertices = m.mesh_vert[m.mesh_vertadr[k] :][: m.mesh_vertnum[k]].astype(float)
    faces = m.mesh_face[m.mesh_faceadr[k] :][: m.mesh_facenum[k]].astype(np.int64)
    texture = int(m.mat_texid[m.geom_matid[g], RGB]) if m.geom_matid[g] >= 0 else -1
    if texture < 0 or m.mesh_texcoordadr[k] < 0 or m.tex_type[texture] != FLAT:
        return Mesh(vertices, faces)
    places = m.mesh_facetexcoord[m.mesh_faceadr[k] :][: m.mesh_facenum[k]].astype(np.int64)
    pairs, corner = np.unique(np.stack([faces, places], axis=-1).reshape(-1, 2), axis=0, return_inverse=True)
    high, wide, channels = (int(x[texture]) for x in (m.tex_height, m.tex_width, m.tex_nchannel))
    image = m.tex_data[m.tex_adr[texture] :][: high * wide * channels].reshape(high, wide, channels)
    uv = m.mesh_texcoord[m.mesh_texcoordadr[k] + pairs[:, 1]] * [1.0, -1.0] + [0.0, 1.0]  # from the upper left there
    coarse = max(1, -(-max(high, wide) // MOST_TEXELS))
    return Mesh(
        vertices[pairs[:, 0]],
        corner.reshape(-1, 3),
        uv,
        image[::coarse, ::coarse, [0, 1, 2] if channels > 2 else [0, 0, 0]],
    )
