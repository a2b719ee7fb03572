"""Adenylate kinase: the linkage lies where the file says, turns by its torsions, and weighs what the enzyme weighs."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

import bough
from bough import zoo
from bough.errors import OptionError

FORMS = {"open": 0, "closed": 3}


def atoms(form: str) -> dict[str, np.ndarray]:
    """Of the shipped text, named as bodies are (nm)."""
    found, kind, number = {}, "", 0
    for line in files("bough.zoo").joinpath("adenylate_kinase.txt").read_text().splitlines():
        words = line.split()
        if len(words) == 1:
            kind, number = words[0], number + 1
        elif words[0] != "#":
            numbers = [int(word) for word in words[1:]]
            found[f"{kind}{number}.{words[0]}"] = np.array(numbers[FORMS[form] :][:3]) / 10_000
    return found


def placed(model: bough.Model, q: np.ndarray) -> dict[str, np.ndarray]:
    T = bough.Dynamics(model).placements(q)
    return {name: T[model.frame(name), :3, 3] for name in model.frame_names[1:]}


def dihedral(*points: np.ndarray) -> float:
    a, b, c = np.diff(np.array(points), axis=0)
    return float(np.arctan2(np.linalg.norm(b) * (a @ np.cross(b, c)), np.cross(a, b) @ np.cross(b, c)))


@pytest.mark.parametrize("form", FORMS)
def test_all_origins_lie_at_their_atoms(form: str) -> None:
    model, there = zoo.adenylate_kinase(form), atoms(form)
    found = placed(model, np.array(model.neutral))
    assert (len(model.joints), model.nv, len(there)) == (983, 988, 1656)
    assert sum(name.endswith(".CA") for name in found) == 214
    for name, p in found.items():
        np.testing.assert_allclose(p, there[name], atol=1e-9)


def test_a_joint_turns_its_torsion_and_no_other() -> None:
    model = zoo.adenylate_kinase()
    q, names = np.array(model.neutral), ("LEU6.C", "GLY7.CA", "GLY7.C", "ALA8.CA", "ALA8.C")
    q[model.joint("GLY7.CA-C").q] = 0.4
    before, after = placed(model, np.array(model.neutral)), placed(model, q)
    around = [dihedral(*(at[n] for n in names[:4])) for at in (before, after)]
    assert (around[1] - around[0]) % (2 * np.pi) == pytest.approx(0.4)  # with the peptide's plane rigid
    for a, b in pairwise(names):
        assert np.linalg.norm(after[a] - after[b]) == pytest.approx(np.linalg.norm(before[a] - before[b]))


def test_it_weighs_what_is_printed_of_the_enzyme() -> None:
    """23,586 Da (UniProt P69441), neutral; here without the last oxygen, and charged as in water."""
    lacking = 15.999 + 1.008 * (
        35 - 18 - 13
    )  # 35 acids have lost a hydrogen, 18 lysines and 13 arginines have one more
    assert zoo.adenylate_kinase().total_mass + lacking == pytest.approx(23_586, abs=0.5)


def test_forms_are_as_far_apart_as_is_known() -> None:
    """About 7.1 A for alpha carbons at the best fit, 0.38 nm from one to the next but at the cis proline."""
    one, other = (np.array([p for n, p in atoms(form).items() if n.endswith(".CA")]) for form in FORMS)
    gap = np.linalg.norm(np.diff(one, axis=0), axis=1)
    assert np.flatnonzero(np.abs(gap - 0.38) > 0.02).tolist() == [85]  # PHE86 and PRO87
    a, b = one - one.mean(axis=0), other - other.mean(axis=0)
    fit = np.linalg.svd(a.T @ b, compute_uv=False)  # both have the same hand, so no sign is needed
    apart = np.sqrt(((a**2).sum() + (b**2).sum() - 2 * fit.sum()) / len(a))
    assert 0.70 < apart < 0.72


def test_other_forms_are_refused() -> None:
    with pytest.raises(OptionError, match="there is no form 'shut'; expected one of open, closed"):
        zoo.adenylate_kinase("shut")
