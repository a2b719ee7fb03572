"""The compiler's tests keep their own cache of compiled code."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOUGH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
