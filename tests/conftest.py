"""Settings that all tests share."""

import pytest
from hypothesis import HealthCheck, settings

from robots import URDF
from sizes import size

# Compiling on first use would break any deadline; examples are the same in every run.
settings.register_profile(
    "bough", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=size(100, 15)
)
settings.load_profile("bough")


@pytest.fixture
def urdf(tmp_path):
    """A file with one arm on a hinge."""
    path = tmp_path / "twolink.urdf"
    path.write_text(URDF)
    return path


@pytest.fixture
def gpu():
    """The GPU, or a stand-in for one."""
    from gpu import a_gpu

    if size(False, True):
        pytest.skip("native: compiles kernels")
    with a_gpu() as found:
        yield found


@pytest.fixture
def cupy(gpu):
    """A library of arrays on that GPU."""
    return pytest.importorskip("cupy")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without the JIT, tests marked `native` are left out, each with the reason it gives."""
    for item in items:
        for mark in item.iter_markers("native"):
            (reason,) = mark.args
            item.add_marker(pytest.mark.skipif(size(False, True), reason=f"native: {reason}"))
