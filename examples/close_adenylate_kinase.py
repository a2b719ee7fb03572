"""Adenylate kinase closes in torsion space, all of its atoms: a page of its way, with energy and RMSD beside it.

Entries 4AKE and 1AKE of the Protein Data Bank are its open and its closed form. Restraints lead alpha carbons to their
places in the closed form, and soft spheres keep atoms apart; bonds and angles stay as they are.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import bough
from bough import molecules as mol
from bough.molecules.hydrogens import with_hydrogens

sys.path.insert(0, str(Path(__file__).parents[1]))  # where `benchmarks` lies, which measures this, too
from benchmarks.molecules import adenylate_kinase, close


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    m = mol.Molecule(with_hydrogens(adenylate_kinase("open"), 7.0, []), name="4AKE to 1AKE")
    start = time.perf_counter()
    found, far, seconds, near = close(m)
    wall = time.perf_counter() - start
    print(f"{len(m.atoms):,} atoms, {m.model.nv} degrees of freedom: {found.reason}")
    print(f"energy {found.energies[0]:,.1f} -> {found.energy:.3f} kJ/mol in {found.calls} calls; RMSD of alpha carbons "
          f"{far[0]:.3f} -> {far[-1]:.4f} nm")  # fmt: skip
    print(f"{near}; {wall:.1f} s, {seconds:.1f} s of them on the CPU")
    tracks = {"RMSD of alpha carbons, nm": far}
    scene = bough.view.page(replace(found, tracks=tracks))
    facts = {**scene.facts, "RMSD of alpha carbons": f"{far[-1]:.4f} nm", "clashes": near, "wall time": f"{wall:.1f} s"}
    print("wrote", replace(scene, facts=facts).save_html(options.out / "close_adenylate_kinase.html"))


if __name__ == "__main__":
    main()
