"""Stored results of benchmarks are those of whole runs."""

import subprocess
import sys

import pytest

from experiments.study import HERE


@pytest.mark.parametrize("part", [["--sizes", "10"], ["--cases", "noneg"]])
def test_a_partial_run_does_not_replace_the_stored_speeds(part):
    command = [sys.executable, "-m", "benchmarks.scale", *part]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "only a whole run replaces the stored results" in done.stderr
