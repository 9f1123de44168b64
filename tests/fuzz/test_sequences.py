"""Consecutive commands in one folder: files only appear, and only ``--force`` changes one."""

import os
import tempfile
from pathlib import Path

from fuzz.hostile import bounded
from fuzz.judge import check, contents
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

TABLES = st.sampled_from(["a.csv", "b.parquet", "c.tsv"])
MAPS = st.sampled_from(["m.json", "n.json"])
COLUMNS = ["--score", "score", "--label", "label", "--setting", "labeled"]


class Folder(RuleBasedStateMachine):
    """Simulate, recalibrate, apply, evaluate and report, in any order."""

    @initialize()
    def enter(self):
        self.home, self.place = Path.cwd(), tempfile.TemporaryDirectory()
        os.chdir(self.place.name)

    def run(self, expected, *arguments, out=(), force=False):
        """A command must succeed if and only if its input exists and its output does not."""
        before = contents()
        free = force or not any(Path(name).exists() for name in out)
        result = check([*arguments, *["--force"] * force])
        assert (result.exit_code == 0) == (expected and free), (arguments, result.output)
        if result.exit_code == 0:
            after = contents()
            assert set(after) == set(before) | set(out)
            assert all(after[name] == before[name] for name in set(before) - set(out))

    @rule(table=TABLES, force=st.booleans(), seed=st.integers(0, 3))
    def simulate(self, table, force, seed):
        size = ["--setting", "labeled", "--n", "60", "--seed", str(seed), "--out", table]
        self.run(True, "simulate", *size, out=[table], force=force)

    @rule(table=TABLES, out=MAPS, force=st.booleans())
    def recalibrate(self, table, out, force):
        there = Path(table).exists()
        options = [*COLUMNS, "--method", "platt", "--save", out]
        self.run(there, "recalibrate", table, *options, out=[out], force=force)

    @rule(table=TABLES, stored=MAPS, force=st.booleans())
    def apply(self, table, stored, force):
        there = Path(table).exists() and Path(stored).exists()
        options = ["--score", "score", "--out", "mapped.csv"]
        self.run(there, "apply", stored, table, *options, out=["mapped.csv"], force=force)

    @rule(table=TABLES)
    def evaluate(self, table):
        self.run(Path(table).exists(), "evaluate", table, *COLUMNS)

    def teardown(self):
        if hasattr(self, "place"):
            os.chdir(self.home)
            self.place.cleanup()


Folder.TestCase.settings = bounded(6)
TestSequences = Folder.TestCase
