"""How Sphinx builds these pages: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE / "_ext")]

import bough  # noqa: E402

project = "Bough"
copyright = "the Bough authors"
version = release = bough.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "algorithms",
    "public_names",
    "notebooks",
    "mathml",
]
html_math_renderer = "mathml"
html_theme = "furo"
pygments_dark_style = "github-dark"  # without underlines
html_title = f"Bough {release}"
html_static_path = ["_static"]
html_css_files = ["pairs.css"]
exclude_patterns = ["_build", "reproduction"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "groupwise"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("FloatArray", "IntArray", "BoolArray", "RealArray", "ArrayLike")}
autodoc_type_aliases |= {f"npt.{name}": name for name in ("ArrayLike", "DTypeLike")} | {
    "Forces": "Mapping[str, ArrayLike] | ArrayLike",
    "Pushes": "Callable[[float, FloatArray, FloatArray], Mapping[str, ArrayLike]]",
    "Torque": "Callable[[float, FloatArray, FloatArray], ArrayLike]",
    "Target": "ArrayLike | Callable[[float, FloatArray, FloatArray], ArrayLike]",
    "Weld": "Collection[str] | Mapping[str, ArrayLike]",
    "Energy": "Callable[[FloatArray], tuple[float, ArrayLike]]",
}
default_role = "code"
suppress_warnings = ["ref.python"]  # a type named by its short name may be in two packages
