"""Settings shared by all tests, and the selection of quick tests by their measured durations.

``pytest --measure`` stores the CPU time of each slow test, and stops very slow ones; ``pytest
--quick`` skips both, all but a few parameter sets of each test, and everything that starts torch,
Spark, a browser or a study. Both together measure only the tests in the light folders.
"""

import json
import os
import signal
from collections import Counter
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
    """Folder with the real data sets, set by NONEG_DATA."""
    folder = os.environ.get("NONEG_DATA")
    if not folder:
        pytest.skip("NONEG_DATA is not set: the real data sets are not available")
    return Path(folder)


DURATIONS = Path(__file__).with_name("durations.json")
# Seconds above which a test is not quick, and above which a measured test is stopped.
LONG, MOST = 0.05, 0.1
# Number of parameter sets of one test that the quick tests run.
SETS = 8
HEAVY = ("browser", "experiments", "fuzz", "golden", "lab", "learning", "mutation", "packaging")
HEAVY_FILES = (
    "test_code_blocks.py",
    "test_contributing.py",
    "test_interrupted.py",
    "test_moved.py",
    "test_spark.py",
    "test_torch.py",
)
_measured: dict[str, float] = {}


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


def _function(name):
    """Return the name of a test without its parameters."""
    return name.partition("[")[0]


def pytest_collection_modifyitems(config, items):
    if config.getoption("--measure"):
        # The first parameter set represents all parameter sets of a test.
        chosen = list({_function(item.nodeid): item for item in reversed(items)}.values())[::-1]
    elif config.getoption("--quick"):
        long = json.loads(DURATIONS.read_text("utf-8"))
        tried = Counter()
        chosen = []
        for item in items:
            name = _function(item.nodeid)
            tried[name] += 1
            if name not in long and tried[name] <= SETS:
                chosen.append(item)
    else:
        return
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


class TooLongError(BaseException):
    """The measured test took too long to be a quick one."""


def _stop(_, frame):
    while frame is not None:
        # A test that waits for another thread must not be interrupted.
        if frame.f_code.co_filename.endswith(("threading.py", "thread.py", "_base.py")):
            signal.setitimer(signal.ITIMER_PROF, MOST)
            return
        frame = frame.f_back
    raise TooLongError


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    item.began = _processor_time()
    return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item):
    if not item.config.getoption("--measure"):
        return (yield)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, MOST)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    report.processor_time = _processor_time() - item.began
    return report


def _processor_time():
    """Return the CPU time of this process and of the commands it has run."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_runtest_logreport(report):
    # If a test crashed its worker, its report has no times.
    if hasattr(report, "processor_time"):
        _measured[_function(report.nodeid)] = report.processor_time


def pytest_sessionfinish(session):
    if session.config.getoption("--measure") and not hasattr(session.config, "workerinput"):
        # Files that were not measured in this run keep their stored values.
        files = {name.partition("::")[0] for name in _measured}
        known = json.loads(DURATIONS.read_text("utf-8"))
        kept = {name: x for name, x in known.items() if name.partition("::")[0] not in files}
        long = {name: round(x, 2) for name, x in _measured.items() if x >= LONG}
        text = json.dumps(dict(sorted((kept | long).items())), indent=0)
        DURATIONS.write_text(text + "\n", encoding="utf-8")
