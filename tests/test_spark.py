"""A real standalone Spark cluster on this machine, with a worker that dies during a job."""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noneg
from noneg.evaluation import evaluate
from noneg.kernels import FINE_GRID, bucket_of
from noneg.tables.batches import Wanted
from noneg.tables.engines import bucketed, labeled_rows

pyspark = pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here"),
    # pyspark leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

HOME = Path(pyspark.__file__).parent
PARTS = 24
RARE = 5e-324
MEMORY = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
}
SETTING = {"score": "score", "label": "label", "setting": "one-sample", "prior": 0.4}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Cluster:
    """A master and two workers, each in its own process."""

    def __init__(self, folder):
        self.folder, self.processes = folder, {}
        self.port = free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        # Otherwise Spark creates a folder for tables in the working directory.
        self.settings = MEMORY | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_NO_DAEMONIZE": "1",
            "PYSPARK_PYTHON": sys.executable,
        }

    def start(self):
        self.launch("master", "master.Master", "--port", self.port, "--webui-port", free_port())
        self.wait("master", "I have been elected leader")
        for name in ("one", "two"):
            options = ("--cores", 1, "--memory", "600m", "--webui-port", free_port())
            options += ("--work-dir", self.folder / f"work-{name}")
            self.launch(name, "worker.Worker", *options, self.master)
            self.wait(name, "Successfully registered with master")

    def launch(self, name, main, *options):
        log = (self.folder / f"{name}.log").open("wb")
        command = [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{main}"]
        self.processes[name] = subprocess.Popen(
            [str(word) for word in (*command, "--host", "127.0.0.1", *options)],
            stdout=log,
            stderr=log,
            env=self.environment,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - no other thread runs yet
        )
        log.close()

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def wait(self, name, words, patience=120.0):
        end = time.monotonic() + patience
        while words not in self.log(name):
            assert self.processes[name].poll() is None, self.log(name)
            assert time.monotonic() < end, self.log(name)
            time.sleep(0.1)

    def kill(self, name):
        """Kill a process and its children, such as the executor of a worker, with -9."""
        process = self.processes.pop(name)
        for child in _children(process.pid):
            _kill(child)
        _kill(process.pid)
        process.wait(30)

    def stop(self):
        for name in list(self.processes):
            self.kill(name)


def _die_with_parent():
    """Have the kernel end this process if the tests are killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _children(pid):
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += [*_children(int(path.parent.name)), int(path.parent.name)]
    return found


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def files(tmp_path):
    """Parquet files with all kinds of scores, so that a job has many tasks."""
    folder = tmp_path / "rows"
    folder.mkdir()
    rng = np.random.default_rng(7)
    p = 2.0 ** -np.arange(1.0, 80.0)
    hard = [p, np.nextafter(p, 0), np.nextafter(p, 1), 1 - p, np.nextafter(1 - p, 0), [0.0, 1.0]]
    for part in range(PARTS):
        s = np.concatenate([*hard, [RARE, 1 - 2.0**-53], rng.random(5000), rng.random(500) ** 9])
        label = (rng.random(s.size) < 0.5 * s).astype(np.int32)
        pq.write_table(pa.table({"score": s, "label": label}), folder / f"{part:02}.parquet")
    return folder


@pytest.fixture
def expected(files):
    return noneg.read_sketch(str(files / "*.parquet"), score="score", label="label")


@contextmanager
def session_of(cluster):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(cluster.master).appName("noneg-test")
    # One task per file.
    one_each = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    settings = dict.fromkeys(one_each, str(1 << 20)) | {"spark.ui.enabled": "false"}
    settings |= {"spark.sql.shuffle.partitions": "2", "spark.task.maxFailures": "8"}
    for name, value in (cluster.settings | settings).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        session.sparkContext.setLogLevel("OFF")
        yield session
    finally:
        session.stop()


def test_a_real_cluster(cluster, files, expected, subtests, monkeypatch):
    """One test, so that a single cluster serves all parts under any test runner."""
    for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, cluster.environment[name])
    with subtests.test("the command reads a table of the cluster"):
        check_command(cluster, files, expected)
    with session_of(cluster) as session:
        with subtests.test("every double lands in the same bucket"):
            check_buckets(session, files)
        with subtests.test("a frame of the cluster gives the same evaluation"):
            check_frame(session, files, expected)
        with subtests.test("wrong rows are counted"):
            check_wrong_rows(session)
        with subtests.test("a killed worker changes nothing"):
            check_killed_worker(session, cluster, files, expected)


def check_command(cluster, files, expected):
    conf = " ".join(f"--conf {name}={value}" for name, value in cluster.settings.items())
    environment = cluster.environment | {"PYSPARK_SUBMIT_ARGS": f"{conf} pyspark-shell"}
    command = [sys.executable, "-c", "from noneg.cli import main; main()", "evaluate"]
    command += ["--engine", "spark", "--master", cluster.master]
    command += ["--table", f"parquet.`{files}`", "--json"]
    for name, value in SETTING.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    counts = (found["n_positive"], found["n_unlabeled"])
    assert counts == (expected.n_positive, expected.n_unlabeled)
    want = noneg.ece(expected.scores(setting="one-sample", prior=0.4))
    assert found["ece"]["value"] == pytest.approx(want, abs=2e-5)


def check_buckets(session, files):
    import narwhals.stable.v2 as nw

    frame = nw.from_native(session.read.parquet(str(files / "00.parquet")))
    rows = bucketed(labeled_rows(frame, Wanted(score="score", label="label")), FINE_GRID)
    got = rows.select("score", "bucket").collect()
    score = got["score"].to_numpy()
    np.testing.assert_array_equal(got["bucket"].to_numpy(), bucket_of(score, FINE_GRID))
    assert score.size == pq.read_metadata(files / "00.parquet").num_rows


def check_frame(session, files, expected):
    frame = session.read.parquet(str(files))
    same_sketch(noneg.read_sketch(frame, score="score", label="label"), expected)
    found = evaluate(noneg.read(frame, **SETTING))
    here = evaluate(expected.scores(setting=SETTING["setting"], prior=SETTING["prior"]))
    for name, estimate in here.metrics.items():
        same = pytest.approx(estimate.value, abs=2e-5, nan_ok=True)
        assert found.metrics[name].value == same, name
    wanted = evaluate(noneg.read(str(files / "*.parquet"), **SETTING, exact=True))
    assert (found.n_positive, found.n_unlabeled) == (wanted.n_positive, wanted.n_unlabeled)
    assert found.ece_width_15.value == pytest.approx(wanted.ece_width_15.value, abs=2e-5)
    assert found.metrics["brier"].value == pytest.approx(wanted.metrics["brier"].value, abs=2e-5)


def check_wrong_rows(session):
    frame = session.createDataFrame([(0.5, 1), (1.5, 0), (None, 0)], "score double, label int")
    with pytest.raises(
        ValueError, match=r"'score' must contain scores in \[0, 1\], but 2 rows.*1.5"
    ):
        noneg.read(frame, **SETTING)
    frame = session.createDataFrame([(0.5, 1), (0.5, None)], "score double, label int")
    with pytest.raises(ValueError, match="'label' must contain a label in every row, but 1 row"):
        noneg.read(frame, **SETTING)


def check_killed_worker(session, cluster, files, expected):
    """Tasks wait long enough for the worker to die while the job is running."""
    from pyspark.sql import functions

    def slowly(score, rare=RARE):
        if score == rare:  # one row per file
            time.sleep(0.5)
        return score

    frame = session.read.parquet(str(files))
    frame = frame.withColumn("score", functions.udf(slowly, "double", useArrow=False)("score"))
    death = Timer(4.0, cluster.kill, ["two"])
    death.start()
    start = time.monotonic()
    try:
        found = noneg.read_sketch(frame, score="score", label="label")
    finally:
        death.join()
    assert time.monotonic() - start > 5.0, "the job was over before the worker died"
    assert "two" not in cluster.processes
    same_sketch(found, expected)


def same_sketch(one, other):
    first, second = one._table, other._table
    np.testing.assert_array_equal(first[:, [0, 2, 4, 5]], second[:, [0, 2, 4, 5]])
    np.testing.assert_allclose(first[:, [1, 3]], second[:, [1, 3]], rtol=1e-12)
