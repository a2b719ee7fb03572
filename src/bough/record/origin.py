"""Where a result was made: the CPU, Python, versions of packages, and the commit of a checkout."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def machine(packages: Iterable[str]) -> dict[str, Any]:
    """All of it, without packages that are not installed, and without a commit outside a checkout."""
    from importlib.metadata import PackageNotFoundError, version  # takes long to import

    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"cpu": cpu_name(), "python": platform.python_version(), "versions": versions} | commit()


def cpu_name() -> str:
    """The model of the CPU as Linux tells it, or what Python knows."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def commit() -> dict[str, str]:
    """{"commit": ...} of the checkout that this file is in, with a plus where files are changed; or nothing."""
    folder = Path(__file__).parents[3]
    if not (folder / ".git").exists():
        return {}
    import subprocess  # takes long to import, too

    try:
        words = [
            subprocess.run(["git", "-C", str(folder), *command], capture_output=True, text=True, check=True).stdout
            for command in (("rev-parse", "--short=10", "HEAD"), ("status", "--porcelain", "--", "src"))
        ]
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": words[0].strip() + "+" * bool(words[1])}
