"""A file is whole or not there, whatever happens while it is written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from bough.errors import OptionError, RecordingError
from bough.record import read_arrays, replacing, write_arrays

KILLED = """
import os, signal, sys
from bough.record import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_while_writing_keeps_the_old_file(tmp_path):
    path = tmp_path / "state.bin"
    path.write_bytes(b"whole")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"whole"


def test_an_error_leaves_nothing_behind(tmp_path):
    def fail():
        with replacing(tmp_path / "new.bin") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(tmp_path.iterdir())


def test_permissions_are_those_of_an_ordinary_file(tmp_path):
    mask = os.umask(0o022)
    try:
        with replacing(tmp_path / "new.bin") as file:
            file.write(b"x")
        assert (tmp_path / "new.bin").stat().st_mode & 0o777 == 0o644
        (tmp_path / "new.bin").chmod(0o600)
        with replacing(tmp_path / "new.bin") as file:
            file.write(b"y")
        assert (tmp_path / "new.bin").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(mask)


def test_arrays_return_as_they_were(tmp_path):
    path = write_arrays(tmp_path / "a.npz", {"x": np.arange(3), "names": ["a", "b"]})
    again = read_arrays(path)
    assert set(again) == {"x", "names"}
    np.testing.assert_array_equal(again["x"], np.arange(3))
    with pytest.raises(RecordingError, match="digest"):
        write_arrays(path, {"digest": np.zeros(1)})
    forged = read_arrays(path)
    np.savez(path, **forged, digest=np.array("0" * 64))
    with pytest.raises(RecordingError, match="does not match"):
        read_arrays(path)


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "target.bin").write_bytes(b"old")
    link = tmp_path / "link.bin"
    link.symlink_to("target.bin")
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "target.bin").read_bytes() == b"new"
    dangling = tmp_path / "dangling.bin"
    dangling.symlink_to("absent.bin")
    with replacing(dangling) as file:
        file.write(b"new")
    assert dangling.is_symlink()
    assert (tmp_path / "absent.bin").read_bytes() == b"new"
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("first")
    with pytest.raises(OptionError, match="leads nowhere"), replacing(tmp_path / "first"):
        pass
    assert (tmp_path / "first").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_written_to_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with replacing(pipe) as file:
        file.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    ours, theirs = os.openpty()
    with replacing(os.ttyname(theirs)) as file:
        file.write(b"device")
    assert os.read(ours, 100) == b"device"
    assert os.path.exists(os.ttyname(theirs))
    os.close(ours)
    os.close(theirs)
