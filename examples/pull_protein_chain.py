"""A protein-like chain is pulled from a coil towards a hairpin by restraints; joints that move are coloured.

The backbone has two torsions a residue, with a cosine potential each, and every few residues a side chain. Restraints
are springs between residues that lie side by side in the hairpin. About half of the joints are open at a time. Energies
of all steps are compared: none rises.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bough import adaptive
from bough.adaptive import QuasiStatics
from bough.model import Model
from bough.zoo.elastic import Rods, frames_along, rod_model

BOND, TILT = 0.15, 1.23  # nm, and the angle by which a bond turns from the one before, rad


def backbone(residues: int, seed: int) -> tuple[Model, np.ndarray]:
    """A chain whose bonds are the axes of its joints, and the torsions at which it is a random coil."""
    n = 2 * residues
    turn = np.array([[np.cos(TILT), -np.sin(TILT), 0.0], [np.sin(TILT), np.cos(TILT), 0.0], [0.0, 0.0, 1.0]])
    R, p = [np.eye(3)], [np.zeros(3)]
    for k in range(1, n):
        p.append(p[-1] + BOND * R[-1][:, 0])
        R.append(R[-1] @ (turn if k % 2 else turn.T))
    side = np.arange(1, n, 6)
    out = np.cross(np.array(R)[side][:, :, 0], np.array(R)[side][:, :, 2])
    parent = np.concatenate([np.arange(-1, n - 1), side])
    frames = np.concatenate([np.array(R), frames_along(out, np.zeros(len(side)))])
    at = np.concatenate([np.array(p), np.array(p)[side]])
    size = np.full(len(parent), BOND)
    rods = Rods(parent, ("x",) * len(parent), frames, at, size, np.full(len(parent), 1.0), 0.3 * size)
    model = rod_model("protein", rods, np.zeros(len(parent)), np.zeros(len(parent)))
    coil = np.random.default_rng(seed).normal(0.0, 0.5, len(parent))
    return model.with_gravity((0.0, 0.0, 0.0)), coil


class Pull:
    """Springs between pairs of bodies, and the energy after every step."""

    def __init__(self, sim: QuasiStatics, pairs: np.ndarray) -> None:
        first, second = pairs.T.tolist()
        self.sim, self.springs = sim, sim.restraints(first, stiffness=0.5, others=second, length=0.4)
        self.springs(sim)
        self.energies = [self.energy()]

    def energy(self) -> float:
        """Of springs and torsions."""
        return self.springs.energy + self.sim.inputs.potentials.energy()

    def run(self, steps: int) -> None:
        """Take steps, one by one, to see the energy after each."""
        for _ in range(steps):
            self.sim.run(1, h=5e-3, load=self.springs)
            self.energies.append(self.energy())


def draw(frames: list[tuple[str, np.ndarray, np.ndarray]], parent: np.ndarray, where: Path) -> None:
    """The chain seen along z; joints that were open are red."""
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    figure, axes = plt.subplots(1, len(frames), figsize=(4.5 * len(frames), 4.5))
    bonds = np.flatnonzero(parent >= 0)
    for panel, (title, at, open_) in zip(axes, frames, strict=True):
        lines = np.stack([at[parent[bonds]], at[bonds]], axis=1)[:, :, :2]
        panel.add_collection(LineCollection(lines, colors=np.where(open_[bonds], "tab:red", "0.6"), linewidths=1.5))
        panel.autoscale()
        panel.set_aspect("equal")
        panel.set_title(title, fontsize=10)
        panel.set_axis_off()
    figure.tight_layout()
    figure.savefig(where, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--residues", type=int, default=60)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--eps", type=float, default=0.3)
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    model, coil = backbone(options.residues, 3)
    sim = QuasiStatics(model, adaptive.energy(options.eps), "adaptive")
    sim.configuration = coil
    sim.set_potential(range(len(model.joints)), adaptive.dihedral([0.05], [3]))
    first, last = options.residues, 2 * options.residues - 1
    pairs = np.array([(first + k, last - k) for k in range(0, (last - first) // 2 - 2, 2)])
    pull, frames, parent = Pull(sim, pairs), [], np.asarray(model.parent)
    for _ in range(3):
        pull.run(max(options.steps // 3 - 1, 1))
        before = sim.configuration
        pull.run(1)
        moved = sim.configuration != before
        gap = np.linalg.norm(np.diff(sim.positions(pairs.ravel().tolist()).reshape(-1, 2, 3), axis=1)[:, 0], axis=1)
        title = (
            f"step {sim.steps}: energy {pull.energies[-1]:.3f}, {sim.stats.active} of {len(model.joints)} joints open"
        )
        print(f"{title}, pairs {gap.mean():.2f} nm apart")
        frames.append((title, sim.positions(), moved))
    rises = int((np.diff(pull.energies) > 1e-12).sum())
    print(f"energy {pull.energies[0]:.3f} -> {pull.energies[-1]:.3f}, rose in {rises} of {sim.steps} steps")
    path = options.out / "pull_protein_chain.png"
    draw(frames, parent, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
