"""Settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "noneg",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("noneg")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with the real data sets, named by NONEG_DATA."""
    folder = os.environ.get("NONEG_DATA")
    if not folder:
        pytest.skip("NONEG_DATA is not set: the real data sets are not at hand")
    return Path(folder)
