"""The model of a command: a file with the options of `load`, a mechanism of the zoo, or a published robot."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.app.shell import note, working
from bough.errors import ModelError, short

if TYPE_CHECKING:
    from bough.io import Finding
    from bough.model import Model
    from bough.molecules import Molecule

STRUCTURES = (".pdb", ".ent", ".cif", ".mmcif")
HELP = (
    "A URDF, MJCF, PDB or mmCIF file, zoo:NAME?n=30&seed=1 (also zoo:NAME:30:1), peptide:SEQUENCE, or robot:NAME of "
    "robot_descriptions."
)


@dataclass(frozen=True)
class Source:
    """The model argument of a command, with the options of `load` that were given."""

    file: str
    options: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, list[str]] = field(default_factory=dict)  # forces and contacts of a recording, as they were given

    def model(self) -> Model:
        """Made, or read."""
        from bough.io import load

        if self.file.startswith("robot:"):
            note(f"{short(self.file)} comes from robot_descriptions, which fetches it if it is not here yet")
        with working("reading the model"):
            if self.is_structure:
                return self.molecule().model
            return load(self.file if self.is_named else model_file(self.file), **self.options)

    @property
    def is_structure(self) -> bool:
        """Whether it is a molecule: a PDB or mmCIF file, or a peptide."""
        return self.file.startswith("peptide:") or self.file.lower().removesuffix(".gz").endswith(STRUCTURES)

    def molecule(self) -> Molecule:
        """The atoms, too."""
        return molecule_of(self.file, **self.options)

    @property
    def is_named(self) -> bool:
        return self.file.startswith(("zoo:", "robot:"))

    def path(self) -> str | None:
        """The file that a model is read from, if it is."""
        from bough.io.named import robot_file

        if self.file.startswith("zoo:"):
            return None
        return robot_file(self.file) if self.file.startswith("robot:") else self.file

    def text(self, **shown: list[str]) -> str:
        """For a recording, so that it can be played without naming the model again; files by their whole path."""
        file = self.file if self.is_named else os.path.abspath(self.file)
        return json.dumps({"model": file, "options": self.options, "shown": shown})

    @classmethod
    def of_text(cls, text: str, packages: Sequence[str] = ()) -> Source:
        """The source in `text`, or a model named as on the command line; files are read below `packages`, not its."""
        if text and not text.startswith("{"):
            return cls(text)
        try:
            found = json.loads(text)
            options = dict(found["options"]) | {"package_paths": packages}
            return cls(str(found["model"]), options, dict(found.get("shown", {})))
        except (ValueError, KeyError, TypeError):
            raise ModelError("the recording does not say which model it is of: give it with --of") from None

    def findings(self) -> list[Finding]:
        """The findings of the doctor."""
        from bough.io import doctor

        path = self.path()
        return doctor(self.model()) if path is None else doctor(model_file(path), **self.options)


def molecule_of(structure: str, ph: float | None = None, **options: Any) -> Molecule:
    """A peptide by its sequence, or a structure that is read, with the hydrogens that it lacks at a pH."""
    from bough import molecules

    if structure.startswith(("zoo:", "robot:")):
        raise ModelError(f"{short(structure)} is no molecule: expected a PDB or mmCIF file, or peptide:SEQUENCE")
    unknown = options.keys() - {"rotatable", "fixed", "omit"}
    if unknown:
        raise ModelError(f"{short(structure)}: a structure takes none of the options of robots, got {min(unknown)}")
    if structure.startswith("peptide:"):
        return molecules.peptide(structure.removeprefix("peptide:"), rotatable=options.get("rotatable", "all"))
    return molecules.from_file(existing(structure), add_hydrogens=ph, **options)


def model_file(file: str) -> str:
    """The path of an existing file that is no recording."""
    from bough.record import RECORDINGS

    if file.lower().endswith(RECORDINGS):
        raise ModelError(f"{short(file, 300)} is a recording, and no model: `bough view` shows it")
    return existing(file)


def existing(file: str) -> str:
    """The path of an existing file."""
    if not os.path.exists(file):
        raise ModelError(f"there is no file {short(file, 300)}")
    return file


def welds(given: list[str]) -> dict[str, Any]:
    """Options --weld NAME, NAME=POSITION or NAME=NUMBER,NUMBER,...: the joints to fix, with their positions if any."""
    pairs = (text.rpartition("=") if "=" in text else (text, "", "") for text in given)
    return {name: value.split(",") if mark else None for name, mark, value in pairs}


def load_options(
    floating: bool, free: bool, weld: list[str], drop: bool, check: bool, packages: Sequence[str] = ()
) -> dict[str, Any]:
    """Switches that were given, as options of `load`."""
    options = {
        "floating_base": floating, "mimic": "independent" if free else "", "weld": welds(weld),
        "equality": "drop" if drop else "", "check": check, "package_paths": list(packages),
    }  # fmt: skip
    return {name: value for name, value in options.items() if value}


def complete_model(incomplete: str) -> list[str]:
    """Completions of a model."""
    from bough.io.named import complete

    return complete(incomplete)


def _parameters() -> list[inspect.Parameter]:
    option = typer.Option
    annotations: dict[str, tuple[Any, Any, Any]] = {
        "floating_base": (bool, option("--floating-base", "-f", help="Let the root link float."), False),
        "free_mimics": (bool, option("--free-mimics", help="Let mimic joints move independently."), False),
        "weld": (list[str], option(metavar="JOINT", help="Fix a joint: NAME, or NAME=POSITION. May be repeated."), []),
        "drop_equalities": (bool, option("--drop-equalities", help="Ignore the loops of MJCF files."), False),
        "check": (bool, option("--check", help="Refuse what is not physical, even where it is harmless."), False),
        "package_path": (list[str], option(metavar="DIR", help="Read meshes and other files below this folder, too."),
                         []),
    }  # fmt: skip
    return [_keyword(name, Annotated[kind, what], default) for name, (kind, what, default) in annotations.items()]


def _keyword(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


OPTIONS = _parameters()


def of_model(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter is a `Source`: it takes the argument MODEL and the options of `load`."""
    argument = typer.Argument(help=HELP, autocompletion=complete_model, metavar="MODEL")
    model = _keyword("model", Annotated[str, argument])
    return _declared(command, [model], lambda options, model, **given: command(Source(model, options), **given))


def with_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter are the options of `load`, for a model that it takes itself."""
    return _declared(command, [], command)


def _declared(
    command: Callable[..., None], first: list[inspect.Parameter], call: Callable[..., None]
) -> Callable[..., None]:
    """`call(options of load, **given)` with the parameters of a command after its first, and those of `load`."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    parameters = [*first, *own, *OPTIONS]

    @wraps(command)
    def run(**given: Any) -> None:
        options = load_options(*[given.pop(parameter.name) for parameter in OPTIONS])
        call(options, **given)

    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__dict__.pop("__wrapped__")
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run
