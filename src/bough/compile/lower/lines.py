"""The lines of an LLVM function, block after block."""

from __future__ import annotations

import itertools

from bough.compile.lower.values import Num


class Lines:
    """Lines of LLVM, block after block; `head` comes first, in the block that all others follow."""

    def __init__(self) -> None:
        self.head: list[str] = []
        self.lines: list[str] = []
        self.line = 0  # of the text that is being read
        self.dead = False  # behind a jump: nothing can come here
        self._numbers = itertools.count()

    def fresh(self, stem: str = "v") -> str:
        """A new name, without its sign."""
        return f"{stem}{next(self._numbers)}"

    def give(self, text: str) -> str:
        """Append an instruction that has a result; returns its name."""
        name = f"%{self.fresh()}"
        self.lines.append(f" {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f" {text}")

    def jump(self, label: str) -> None:
        """Go to a block, unless nothing comes here."""
        if not self.dead:
            self.do(f"br label %{label}")
            self.dead = True

    def branch(self, condition: Num, yes: str, no: str) -> None:
        self.do(f"br i1 {condition.ref}, label %{yes}, label %{no}")
        self.dead = True

    def block(self, label: str) -> None:
        """Begin a block; what came before falls into it."""
        self.jump(label)
        self.lines.append(f"{label}:")
        self.dead = False
