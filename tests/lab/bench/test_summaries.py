"""Tables over splits, the paper's tables, and the commands that print them."""

import io
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from lab.bench.made import RUN, record, three_splits

from noneg.cli import main
from noneg.cli.bench import _progress
from noneg.lab.bench import RunConfig, against_paper, paper_numbers, render, summarize
from noneg.lab.bench.protocol import write_record
from noneg.lab.bench.summaries import paper_name


def test_spreads_have_their_right_names():
    (cell,) = summarize(three_splits(), metrics=["accuracy"], criteria=["proxy_auc"])
    values = np.array([0.90, 0.92, 0.97])
    assert cell.mean == pytest.approx(values.mean())
    assert cell.std == pytest.approx(values.std(ddof=1))
    assert cell.error == pytest.approx(values.std(ddof=1) / math.sqrt(3))
    assert cell.splits == 3


def test_one_split_has_no_spread():
    (cell,) = summarize(three_splits()[:1], metrics=["accuracy"], criteria=["proxy_auc"])
    assert math.isnan(cell.std)
    assert "±" not in render([cell])


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("markdown", "| usps 1, one-sample 30% | nnpu | 93.00 ± 2.08 |"),
        ("latex", r"usps 1, one-sample 30\% & nnpu & 93.00 $\pm$ 2.08 \\"),
        ("csv", "usps,one-sample,1,0.3,,nnpu,accuracy,proxy_auc,0.93"),
    ],
)
def test_tables_have_three_forms(form, words):
    cells = summarize(three_splits(), metrics=["accuracy"], criteria=["proxy_auc"])
    assert words in render(cells, form)


def test_the_papers_numbers_are_complete_and_consistent():
    numbers = paper_numbers()
    # 16 tables of 23 methods; half have nine columns and half have six; one row of nine is omitted.
    assert len(numbers) == 8 * 23 * 9 + 8 * 23 * 6 - 9
    by = {(n["dataset"], n["case"], n["method"], n["metric"], n["criterion"]): n for n in numbers}
    checked = 0
    for (dataset, case, method, metric, criterion), n in by.items():
        if metric != "f1" or n["spread"] > 0.5:
            continue
        p, r = (by[dataset, case, method, m, criterion] for m in ("precision", "recall"))
        if max(p["spread"], r["spread"]) > 1.0:
            continue
        harmonic = 2 * p["mean"] * r["mean"] / (p["mean"] + r["mean"])
        assert harmonic == pytest.approx(n["mean"], abs=0.1)
        checked += 1
    assert checked > 140


def test_a_table_of_the_paper_can_be_taken_alone():
    assert {n["dataset"] for n in paper_numbers(15)} == {"usps"}
    with pytest.raises(ValueError, match="'table' must be one of 1, 2, 5"):
        paper_numbers(3)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("upu/bench/batch", "upu+c"), ("upu/bench/none", "upu"), ("upu", None),
        ("upu/bench", None), ("pubn/bench", "pubn"), ("lbe/none", "lbe"), ("lbe/shift", None),
    ],
)  # fmt: skip
def test_methods_have_the_papers_names(method, name):
    assert paper_name(method) == name


def test_our_numbers_are_shown_with_the_papers():
    runs = [
        replace(RUN, dataset="usps", variant="bench", correction="none", split=k) for k in range(2)
    ]
    records = [record(run, proxy_auc=[0.5], accuracy=[0.8]) for run in runs]
    cells = summarize(records, metrics=["accuracy"], criteria=["proxy_auc"])
    (row,) = against_paper(cells)
    assert (row["table"], row["paper"], row["ours"]) == (15, 87.49, pytest.approx(80.0))
    assert row["difference"] == pytest.approx(80.0 - 87.49)


def test_cells_without_a_number_say_so():
    (cell,) = summarize(three_splits()[:1], metrics=["accuracy"], criteria=["proxy_auc"])
    assert "| nnpu | n/a |" in render([replace(cell, mean=math.nan)])


def test_an_unknown_metric_is_rejected():
    with pytest.raises(ValueError, match=r"'metrics' must be one of pu_ece, .*'luck'"):
        summarize(three_splits(), metrics=["luck"])


@pytest.fixture
def records(tmp_path):
    """Three stored splits of one problem and method from the paper."""
    for one in three_splits():
        run = RunConfig.from_dict(one.pop("run") | {"algorithm": "lbe"})
        write_record(tmp_path, run, one)
    return str(tmp_path)


COLUMNS = ("table", "method", "metric", "criterion", "ours", "paper", "difference")


def test_the_command_compares_our_numbers_with_the_papers(records):
    found = CliRunner().invoke(main, ["bench", "compare", records])
    assert found.exit_code == 0
    head, row = found.stdout.splitlines()
    assert head.split() == list(COLUMNS)
    (theirs,) = (
        n["mean"]
        for n in paper_numbers(15)
        if (n["method"], n["metric"], n["criterion"]) == ("lbe", "accuracy", "proxy_auc")
    )
    assert row.split()[:4] == ["15", "lbe", "accuracy", "proxy_auc"]
    assert [float(x) for x in row.split()[4:]] == pytest.approx([93, theirs, 93 - theirs], abs=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--like", "table-15"],
            "--like must be a table of the benchmark paper such as 'paper-15'",
        ),
        (["--like", "paper-4"], "--like must be a table of the benchmark paper such as"),
        (["--plot", "x.png"], "FOLDER must include at least three methods in at least two worlds"),
        (["--metric", "luck"], "--metric must be one of pu_ece, "),
        (["--like", "paper-1", "--plot", "x.png"], "must contain records of the methods to rank"),
    ],
)
def test_tables_that_cannot_be_made(records, options, words, monkeypatch):
    monkeypatch.chdir(records)
    found = CliRunner().invoke(main, ["bench", "table", records, *options])
    assert found.exit_code == 2
    assert words in found.stderr
    assert not Path("x.png").exists()


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    for screen, shown in ((Screen(), "2/4 runs, 1 failed, "), (io.StringIO(), "")):
        monkeypatch.setattr(sys, "stderr", screen)
        _progress()(1, 1, 4)
        assert screen.getvalue().startswith(shown)
        assert ("per minute" in screen.getvalue()) == bool(shown)
