"""Settings shared by all tests, and the choice of the quick ones by their measured durations.

``pytest --measure`` stores how long each test took, if it was long; ``pytest --quick`` leaves those
out, and everything that starts torch, Spark, a browser or a study.
"""

import json
import os
from collections import defaultdict
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


DURATIONS = Path(__file__).with_name("durations.json")
# Seconds from which a test is not quick.
LONG = 0.15
HEAVY = ("browser", "experiments", "fuzz", "lab", "learning", "mutation", "packaging")
HEAVY_FILES = ("test_code_blocks.py", "test_interrupted.py", "test_spark.py", "test_torch.py")
_measured: dict[str, float] = defaultdict(float)


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="only tests that take no time")
    parser.addoption("--measure", action="store_true", help="store which tests take long")


def pytest_ignore_collect(collection_path, config):
    if not config.getoption("--quick"):
        return None
    inside = collection_path.is_relative_to(Path(__file__).parent)
    parts = collection_path.relative_to(Path(__file__).parent).parts if inside else ("src",)
    heavy = (
        not inside
        or parts[:1] in {(name,) for name in HEAVY}
        or parts[-1:] in {(name,) for name in HEAVY_FILES}
    )
    return True if heavy else None


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--quick"):
        return
    long = json.loads(DURATIONS.read_text("utf-8"))
    left_out = [item for item in items if item.nodeid in long]
    items[:] = [item for item in items if item.nodeid not in long]
    config.hook.pytest_deselected(items=left_out)


def pytest_runtest_logreport(report):
    _measured[report.nodeid] += report.duration


def pytest_sessionfinish(session):
    if session.config.getoption("--measure") and not hasattr(session.config, "workerinput"):
        long = {name: round(x, 2) for name, x in sorted(_measured.items()) if x >= LONG}
        DURATIONS.write_text(json.dumps(long, indent=0) + "\n", encoding="utf-8")
