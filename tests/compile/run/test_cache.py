"""The disk cache: hits, damage, eviction, directories that cannot be written, and several processes."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import bough.compile
from bough.compile import settings
from bough.compile.run import cache, native
from compile.programs import arm


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path / "cache"))
    cache._warn_once.cache_clear()
    return tmp_path / "cache"


def only_entry():
    (path,) = settings.cache_directory().glob("*" + cache.SUFFIX)
    return path


def never():
    raise AssertionError("should have been found in the cache")


def test_second_fetch_is_a_hit():
    assert cache.fetch("a", lambda: b"code") == b"code"
    assert cache.fetch("a", never) == b"code"
    assert cache.fetch("b", lambda: b"other") == b"other"


def test_info_and_clear(place):
    assert cache.info() == cache.CacheInfo(place, 0, 0, settings.DEFAULT_LIMIT)
    cache.fetch("a", lambda: b"x" * 1000)
    assert cache.info().entries == 1
    assert cache.info().size > 1000
    assert cache.clear() == 1
    assert cache.info().entries == 0


KILLED = """
import os, signal
from bough.compile.run import cache
cache.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
cache.fetch("a", lambda: b"x" * 1000)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_what_a_killed_writer_leaves_is_seen_and_cleared(place):
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    (left,) = place.iterdir()
    assert cache.info().size == left.stat().st_size > 1000
    assert cache.clear() == 1
    assert not list(place.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:10],
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"X" + content[1:],
        lambda content: b"something else entirely",
    ],
)
def test_damaged_entry_is_rebuilt(damage):
    cache.fetch("a", lambda: b"code")
    path = only_entry()
    path.write_bytes(damage(path.read_bytes()))
    assert cache.fetch("a", lambda: b"code") == b"code"
    assert cache.fetch("a", never) == b"code"


def test_entry_of_another_key_is_not_trusted():
    cache.fetch("a", lambda: b"code of a")
    path_a = only_entry()
    cache.fetch("b", lambda: b"code of b")
    path_b = next(p for p in settings.cache_directory().glob("*" + cache.SUFFIX) if p != path_a)
    path_a.write_bytes(path_b.read_bytes())
    assert cache.fetch("a", lambda: b"code of a") == b"code of a"


def test_another_cpu_or_compiler_has_other_entries(monkeypatch):
    cache.fetch("a", lambda: b"mine")
    other = native.Host("triple", "another cpu", "", "1.0")
    monkeypatch.setattr(native, "host", lambda: other)
    assert cache.fetch("a", lambda: b"its") == b"its"
    monkeypatch.undo()


def test_entries_unused_longest_are_evicted(monkeypatch):
    monkeypatch.setenv("BOUGH_CACHE_LIMIT", "3500")
    names = "abc"
    for age, name in enumerate(names):
        before = set(settings.cache_directory().glob("*"))
        cache.fetch(name, lambda: b"x" * 1000)
        (new,) = set(settings.cache_directory().glob("*")) - before
        os.utime(new, (1000 + age, 1000 + age))
    cache.fetch("a", never)  # used just now, so b is the oldest
    cache.fetch("d", lambda: b"x" * 1000)
    cache.fetch("a", never)
    cache.fetch("c", never)
    assert cache.fetch("b", lambda: b"again") == b"again"


def test_an_entry_larger_than_the_limit_is_kept_alone(monkeypatch):
    monkeypatch.setenv("BOUGH_CACHE_LIMIT", "10")
    cache.fetch("a", lambda: b"x" * 1000)
    cache.fetch("b", lambda: b"x" * 1000)
    assert cache.info().entries == 1


def test_directory_that_cannot_be_written_warns_once(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="cannot write"):
        assert cache.fetch("a", lambda: b"code") == b"code"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.fetch("a", lambda: b"code") == b"code"
    assert cache.info().entries == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_directory_that_others_can_write_is_not_trusted(place, mode):
    place.mkdir()
    cache.fetch("a", lambda: b"code")
    place.chmod(mode)
    with pytest.warns(RuntimeWarning, match="others can write to .*cache; `chmod go-w` it"):
        assert cache.fetch("a", lambda: b"mine") == b"mine"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one warning is enough
        assert cache.fetch("a", lambda: b"mine again") == b"mine again"
        assert cache.fetch("b", lambda: b"new") == b"new"
    place.chmod(0o700)
    assert cache.fetch("a", never) == b"code"
    assert cache.info().entries == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_entries_and_directories_of_others_are_not_trusted(place, monkeypatch):
    cache.fetch("a", lambda: b"code")
    only_entry().chmod(0o666)
    assert cache.fetch("a", lambda: b"mine") == b"mine"  # replaced, and then trusted
    assert cache.fetch("a", never) == b"mine"
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.warns(RuntimeWarning, match="others can write"):
        assert cache.fetch("a", lambda: b"another's") == b"another's"


def test_a_new_directory_is_private(place):
    cache.fetch("a", lambda: b"code")
    if hasattr(os, "geteuid"):
        assert place.stat().st_mode & 0o077 == 0


def test_full_disk_leaves_no_debris(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert cache.fetch("a", lambda: b"code") == b"code"
    assert list(settings.cache_directory().iterdir()) == []


def test_processes_share_the_directory():
    script = (
        "from bough.compile.run import cache\nfor i in range(40): assert cache.fetch(str(i % 5), lambda: b'z' * 99999)"
    )
    source = str(Path(bough.compile.__file__).parents[2])
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", script], env={**os.environ, "PYTHONPATH": source})
        for _ in range(4)
    ]
    assert [p.wait() for p in processes] == [0] * 4
    assert cache.info().entries == 5


def test_fingerprint_depends_on_the_graph_but_not_on_names():
    assert cache.fingerprint(arm(3)) == cache.fingerprint(arm(3))
    assert cache.fingerprint(arm(3)) != cache.fingerprint(arm(4))
