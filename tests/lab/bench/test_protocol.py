"""Names of runs, records, what a criterion chooses, tables and ranks."""

import io
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import friedmanchisquare

from noneg.cli import main
from noneg.cli.bench import _progress
from noneg.lab.bench import (
    Cell,
    RunConfig,
    against_paper,
    load_records,
    paper_numbers,
    render,
    select,
    summarise,
    sweep,
)
from noneg.lab.bench.measures import on_test, on_validation
from noneg.lab.bench.ranks import rank_methods
from noneg.lab.bench.records import open_runs, record_path, write_record
from noneg.lab.bench.summaries import paper_name
from noneg.recalibration import Platt
from noneg.scores import PUScores

RUN = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")


def record(run=RUN, status="done", **columns):
    steps = len(next(iter(columns.values()), []))
    return {
        "run": run.to_dict(),
        "status": status,
        "checkpoints": {"step": [100 * (k + 1) for k in range(steps)], **columns},
    }


# Names and records -----------------------------------------------------------------------------


def test_a_name_changes_with_every_field():
    others = [
        {"dataset": "breast_cancer"}, {"setting": "two-sample"}, {"case": 2}, {"rate": 0.2},
        {"algorithm": "upu"}, {"variant": "bench"}, {"correction": "none"}, {"configuration": 1},
        {"split": 1}, {"steps": 7}, {"every": 7}, {"given_prior": 0.4},
        {"augmented": False},
    ]  # fmt: skip
    assert len({RUN.key, *(replace(RUN, **other).key for other in others)}) == 14


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("dataset", "iris", "'dataset' must be one of cifar10"),
        ("setting", "labelled", "'setting' must be 'one-sample' or 'two-sample'"),
        ("case", 3, "'case' must be a whole number from 1 to 2"),
        ("rate", 1.0, r"'rate' must be a share in \(0, 1\)"),
        ("steps", 0, "'steps' must be at least 1"),
        ("given_prior", 1.5, "'given_prior' must"),
    ],
)
def test_a_wrong_field_is_refused_by_name(field, value, words):
    with pytest.raises(ValueError, match=words):
        replace(RUN, **{field: value})


def test_a_sweep_is_the_product_of_its_axes():
    axes = {"dataset": ["digits"], "setting": ["one-sample"], "algorithm": ["upu", "nnpu"]}
    runs = sweep(**axes, split=range(3), rate=[0.1, 0.3])
    assert len({run.key for run in runs}) == 12


def test_records_come_back_and_are_not_done_again(tmp_path):
    runs = [replace(RUN, split=k) for k in range(3)]
    write_record(tmp_path, runs[0], {"status": "done", "checkpoints": {}})
    write_record(tmp_path, runs[1], {"status": "failed", "error": "x"})
    assert [r["run"]["split"] for r in load_records(tmp_path)] in ([0, 1], [1, 0])
    assert open_runs(tmp_path, [*runs, runs[2]]) == [runs[2]]
    assert open_runs(tmp_path, runs, retry_failed=True) == runs[1:]


def test_records_of_an_older_format_are_refused(tmp_path):
    write_record(tmp_path, RUN, {"status": "done", "checkpoints": {}})
    path = record_path(tmp_path, RUN)
    path.write_text(path.read_text().replace("noneg.bench/2", "noneg.bench/1"))
    with pytest.raises(ValueError, match=r"runs are now of the format 'noneg\.bench/2'"):
        load_records(tmp_path)


@pytest.mark.parametrize("damage", ["other run", "no json", "no run"])
def test_a_foreign_file_is_refused(tmp_path, damage):
    write_record(tmp_path, RUN, {"status": "done", "checkpoints": {}})
    path = record_path(tmp_path, RUN)
    content = json.loads(path.read_text())
    if damage == "other run":
        content["run"]["split"] = 5
    if damage == "no run":
        content = {"a": 1}
    path.write_text("{" if damage == "no json" else json.dumps(content))
    with pytest.raises(ValueError, match=rf"'folder' holds {path.name}"):
        load_records(tmp_path)


# Measures --------------------------------------------------------------------------------------


def test_proxy_accuracy_is_accuracy_plus_prior_and_the_slip_is_not():
    """With every row of a finite population, the expectations are sums."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], 500)
    s = np.clip(rng.normal(0.5 + 0.2 * (2 * y - 1), 0.2), 0, 1)
    labelled = np.arange(1000) < 300  # 30 percent of one sample, all of them positives
    # The labelled positives have the scores of the unlabeled ones, so nothing is random.
    s[300:500] = s[:200]
    s[200:300] = s[:100]
    true_rate = (s[:300] >= 0.5).mean()
    found, _ = on_validation(
        s[labelled], s[~labelled], y[~labelled], prior=0.5, setting="one-sample"
    )
    accuracy = ((s >= 0.5) == y).mean()
    recall_of_all = (s[:500] >= 0.5).mean()
    assert found["oracle_accuracy"] == pytest.approx(accuracy)
    expected = accuracy + 0.5 + (true_rate - recall_of_all)
    assert found["proxy_accuracy"] == pytest.approx(expected, abs=1e-12)
    # The published code counts labelled positives above the threshold, not below: share 0.3.
    assert found["proxy_accuracy_slip"] - found["proxy_accuracy"] == pytest.approx(
        0.3 * (2 * true_rate - 1)
    )


def test_two_samples_have_no_slip():
    found, _ = on_validation(
        np.array([0.9, 0.4]), np.array([0.2, 0.7, 0.1]), np.array([0, 1, 0]), prior=0.4,
        setting="two-sample",
    )  # fmt: skip
    assert found["proxy_accuracy_slip"] == found["proxy_accuracy"]
    assert found["oracle_accuracy"] == 1.0


def test_probabilities_are_judged_at_the_true_prior():
    labels, scores = np.array([1, 1, 1, 0]), np.array([0.5, 0.5, 0.5, 0.5])
    weight = np.where(labels == 1, 0.5 / 0.75, 0.5 / 0.25)
    identity = Platt().fit(PUScores.from_labels([0, 0, 0, 1, 0, 1, 1, 1], [0.25] * 4 + [0.75] * 4))
    found = on_test(scores, labels, weight, identity)
    assert found["ece"] == pytest.approx(0.0, abs=1e-12)
    assert found["log_loss"] == pytest.approx(math.log(2))
    assert found["accuracy"] == 0.75


# Selection -------------------------------------------------------------------------------------


def test_the_best_checkpoint_is_the_first_of_the_best():
    one = record(proxy_auc=[0.7, 0.9, 0.9, None], accuracy=[0.1, 0.2, 0.3, 0.4])
    (found,) = select([one], by="proxy_auc")
    assert (found.step, found.value, found.metrics["accuracy"]) == (200, 0.9, 0.2)


def test_losses_are_better_when_lower():
    one = record(pu_log_loss=[0.7, 0.2, 0.5], accuracy=[0.1, 0.2, 0.3])
    (found,) = select([one], by="pu_log_loss")
    assert (found.step, found.value) == (200, 0.2)


def test_the_best_configuration_of_a_split_is_taken_whatever_the_order():
    runs = [replace(RUN, configuration=k) for k in range(3)]
    columns = ([0.7], [0.9], [0.9])
    records = [
        record(run, proxy_auc=x, accuracy=[0.5]) for run, x in zip(runs, columns, strict=True)
    ]
    for order in (records, records[::-1]):
        (found,) = select(order, by="proxy_auc")
        assert found.run.configuration == 1


def test_failed_runs_and_runs_without_the_criterion_are_left_out():
    records = [record(status="failed"), record(replace(RUN, split=1), proxy_auc=[None])]
    assert select(records, by="proxy_auc") == []


def test_an_unknown_criterion_is_refused():
    with pytest.raises(ValueError, match="'by' must be one of proxy_accuracy"):
        select([], by="luck")


# Tables ----------------------------------------------------------------------------------------


def three_splits():
    runs = [replace(RUN, dataset="usps", split=k) for k in range(3)]
    return [
        record(run, proxy_auc=[0.5], accuracy=[x])
        for run, x in zip(runs, (0.90, 0.92, 0.97), strict=True)
    ]


def test_spreads_have_their_right_names():
    (cell,) = summarise(three_splits(), metrics=["accuracy"], criteria=["proxy_auc"])
    values = np.array([0.90, 0.92, 0.97])
    assert cell.mean == pytest.approx(values.mean())
    assert cell.std == pytest.approx(values.std(ddof=1))
    assert cell.error == pytest.approx(values.std(ddof=1) / math.sqrt(3))
    assert cell.splits == 3


def test_one_split_has_no_spread():
    (cell,) = summarise(three_splits()[:1], metrics=["accuracy"], criteria=["proxy_auc"])
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
    cells = summarise(three_splits(), metrics=["accuracy"], criteria=["proxy_auc"])
    assert words in render(cells, form)


def test_the_papers_numbers_are_complete_and_consistent():
    numbers = paper_numbers()
    # 16 tables of 23 methods; half have nine columns, half six; one row of nine is left out.
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


def test_ours_stand_beside_the_papers():
    runs = [
        replace(RUN, dataset="usps", variant="bench", correction="none", split=k) for k in range(2)
    ]
    records = [record(run, proxy_auc=[0.5], accuracy=[0.8]) for run in runs]
    cells = summarise(records, metrics=["accuracy"], criteria=["proxy_auc"])
    (row,) = against_paper(cells)
    assert (row["table"], row["paper"], row["ours"]) == (15, 87.49, pytest.approx(80.0))
    assert row["difference"] == pytest.approx(80.0 - 87.49)


# Ranks -----------------------------------------------------------------------------------------


def cells_of(values, metric="accuracy"):
    return [
        Cell(
            world=(w,), method=f"m{k}", metric=metric, criterion="c", mean=x, std=0.0, error=0.0,
            splits=1,
        )
        for w, row in enumerate(values)
        for k, x in enumerate(row)
    ]  # fmt: skip


def test_ranks_are_friedmans_and_nemenyis():
    values = np.random.default_rng(0).random((14, 5)) + np.linspace(0, 0.5, 5)
    found = rank_methods(cells_of(values), metric="accuracy", criterion="c")
    assert found.p_value == friedmanchisquare(*values.T).pvalue
    assert sum(found.mean_ranks) == pytest.approx(15.0)
    assert found.methods[0] == "m4"
    # Demsar (2006), Table 5(a): q is 2.728 for five classifiers at 5 percent.
    assert found.critical_difference == pytest.approx(2.728 * math.sqrt(30 / (6 * 14)), abs=1e-3)


def test_losses_rank_the_other_way():
    values = np.tile([0.1, 0.2, 0.3], (4, 1))
    assert rank_methods(cells_of(values, "ece"), metric="ece", criterion="c").methods[0] == "m0"
    assert rank_methods(cells_of(values), metric="accuracy", criterion="c").methods[0] == "m2"


def test_groups_join_what_does_not_differ():
    values = np.tile([0.9, 0.8, 0.7, 0.1], (40, 1))
    found = rank_methods(cells_of(values), metric="accuracy", criterion="c")
    assert found.critical_difference < 1.0
    assert found.groups == ()
    few = rank_methods(cells_of(values[:2]), metric="accuracy", criterion="c")
    assert few.groups == (("m0", "m1", "m2", "m3"),)


def test_too_few_methods_are_refused():
    with pytest.raises(ValueError, match="at least three methods in at least two worlds"):
        rank_methods(cells_of(np.ones((3, 2))), metric="accuracy", criterion="c")


def test_what_is_no_run_or_no_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'values' must hold fields of a run, got \['colour'\]"):
        RunConfig.from_dict(RUN.to_dict() | {"colour": "red"})
    with pytest.raises(FileNotFoundError, match=r"'folder' must be a folder of records.*nowhere"):
        load_records(tmp_path / "nowhere")


def test_cells_without_a_number_say_so():
    (cell,) = summarise(three_splits()[:1], metrics=["accuracy"], criteria=["proxy_auc"])
    assert "| nnpu | n/a |" in render([replace(cell, mean=math.nan)])


# Commands --------------------------------------------------------------------------------------


@pytest.fixture
def records(tmp_path):
    """Three splits of a world and a method of the paper, stored."""
    for one in three_splits():
        run = RunConfig.from_dict(one.pop("run") | {"algorithm": "lbe"})
        write_record(tmp_path, run, one)
    return str(tmp_path)


COLUMNS = ("table", "method", "metric", "criterion", "ours", "paper", "difference")


def test_the_command_sets_our_numbers_beside_the_papers(records):
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
        (["--like", "paper-1", "--plot", "x.png"], "must hold records of the methods to rank"),
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
        assert ("a minute" in screen.getvalue()) == bool(shown)
