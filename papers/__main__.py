"""`python -m papers [NAME ...]`: the same as `bough reproduce`."""

from __future__ import annotations

import sys

from bough.app.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "reproduce")
    main()
