"""The mathematics of the benchmark study: its queue, its intervals, and planted findings."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments import template
from experiments.tables import Tables
from experiments.training import benchmark, findings, plan
from noneg.lab.bench import RunConfig, load_records
from noneg.lab.bench.criteria import CRITERIA
from noneg.lab.bench.measures import RECALIBRATED, TEST, criteria, find_sign
from noneg.lab.bench.protocol import write_record


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(findings, "DRAWS", 200)


def record(run, *, accuracy=(0.8, 0.9), ece=(0.1, 0.2), pu=None, best=None):
    """A run with two checkpoints; `best` defines which of them each criterion prefers."""
    columns = {name: [0.5, 0.5] for name in (*TEST, *RECALIBRATED, "pu_ece_recalibrated")}
    for name in CRITERIA:
        sign = find_sign(name, criteria(), "by")
        place = (best or {}).get(name, 0)
        columns[name] = [sign * (k == place) for k in range(2)]
    pu = [e + 0.01 for e in ece] if pu is None else pu
    columns |= {"step": [100, 200], "accuracy": list(accuracy), "ece": list(ece), "pu_ece": pu}
    return {
        "format": "noneg.bench/2", "key": run.key, "run": run.to_dict(), "status": "done",
        "checkpoints": columns, "seconds": 1.0, "cpu_seconds": 1.0, "device": "cpu",
        "precision": "float32", "diverged": False, "versions": {"python": "3", "torch": "2"},
    }  # fmt: skip


# The queue ---------------------------------------------------------------------------------------


def test_every_beginning_of_the_queue_is_a_result():
    runs = plan.tables()
    first = runs[:36]
    assert {(r.dataset, r.case, r.split, r.configuration) for r in first} == {("usps", 1, 0, 0)}
    assert len({r.method for r in first}) == 36
    whole = [r for r in dict.fromkeys(runs) if r.split == 0 and r.configuration == 0]
    assert {r.rate for r in whole} == {0.1, 0.2, 0.3, 0.4, 0.5}
    assert {r.setting for r in whole} == {"one-sample", "two-sample"}
    assert {(r.dataset, r.case) for r in whole} == set(plan.WORLDS)
    assert all(one.split <= two.split for one, two in pairwise(runs[:680]))


def test_a_part_of_the_queue_is_chosen_by_its_fields():
    runs = plan.tables()
    far = benchmark.kept(runs, ["given_prior=0.35,0.7"])
    assert len(far) == 36
    assert {r.given_prior for r in far} == set(plan.FAR_PRIORS)
    whole = benchmark.kept(runs, ["dataset=usps", "case=1", "rate=0.3", "setting=one-sample",
                                  "configuration=0", "given_prior=None"])  # fmt: skip
    methods = {r.method for r in whole}
    assert len(methods) == 41
    assert {(r.method, r.split) for r in whole} == {(m, k) for m in methods for k in range(3)}
    assert benchmark.kept(runs, []) == runs


def test_images_are_at_least_six_methods():
    first = [r for r in plan.images() if r.split == 0]
    assert len({r.method for r in first}) >= 6
    assert {r.dataset for r in first} == {"cifar10"}


# Intervals ---------------------------------------------------------------------------------------


def test_intervals_see_groups(monkeypatch):
    monkeypatch.setattr(findings, "DRAWS", 4000)
    random = np.random.default_rng(0)
    effects = random.normal(size=30)
    groups = np.repeat(np.arange(30), 20)
    values = np.repeat(effects, 20) + 0.01 * random.normal(size=600)
    found = findings.interval(groups, values)
    # The interval is as wide as for 30 group means, whatever the number of rows in a group.
    expected = 1.96 * effects.std() / np.sqrt(30)
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.1)
    assert found.n == 600


def test_correlations_are_known():
    pairs = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0]])
    assert findings.correlation(pairs) == pytest.approx(1.0)
    assert findings.rank_correlation(pairs * [1.0, -1.0]) == pytest.approx(-1.0)


# Thin records ------------------------------------------------------------------------------------


def test_thin_records_choose_as_whole_ones(tmp_path):
    run = RunConfig(dataset="usps", setting="one-sample", algorithm="vpu")
    whole = record(run, best={"proxy_auc": 1, "pu_ece": 1})
    kept = findings.thin(whole)
    assert kept["checkpoints"]["step"] == [100, 200]
    only = findings.thin(record(run))
    assert only["checkpoints"]["step"] == [100]
    write_record(tmp_path, run, {k: whole[k] for k in set(whole) - {"format", "key", "run"}})
    out = tmp_path / "out"
    out.mkdir()
    findings.collect(tmp_path, out)
    other = replace(run, split=1)
    write_record(
        tmp_path / "more",
        other,
        {**json.loads(json.dumps(whole)), "run": other.to_dict(), "key": other.key},
    )
    findings.collect(tmp_path / "more", out)
    assert len(load_records(out / "records.jsonl")) == 2


# Findings ----------------------------------------------------------------------------------------


def planted():
    """Runs in which -c adds 5 points, two samples 7, and weights 6; the choice by PAUC adds 10."""
    records = []
    gains = {"none": 0.0, "batch": 0.05, None: 0.06}
    for k, (name, variant, correction) in enumerate(plan.versions()):
        gain = gains[correction] if variant == "bench" else 0.06
        for dataset, case in plan.WORLDS:
            for split in range(2):
                run = plan.run((name, variant, correction), dataset, case, split)
                base = 0.6 + 0.001 * k * (name not in plan.CORRECTED) + gain
                records.append(
                    record(run, accuracy=(base, base + 0.1), ece=(0.01 * k, 0.01 * k + 0.1),
                           best={"proxy_auc": 1, "proxy_accuracy_slip": split})
                )  # fmt: skip
        if correction == "none":
            run = plan.run((name, variant, None), "usps", 1, 0, setting="two-sample")
            records.append(record(run, accuracy=(0.67, 0.77)))
    return records


def test_planted_findings_are_found():
    records = findings.all_runs(planted())
    rows = findings.choices(findings.fair(records))
    shift = findings.shift(records, "proxy_accuracy")
    assert shift["gaps"]["batch"].value == pytest.approx(0.05)
    assert shift["gaps"]["ref"].value == pytest.approx(0.06)
    assert shift["gaps"]["two"].value == pytest.approx(0.07)
    lost = findings.losses(records, "proxy_accuracy")
    # Among the corrected methods, VPU uses no prior, and PUSB is nnPU; originals have only one
    # sample.
    assert set(lost["told"]) == {f"{m}/bench" for m in ("dist-pu", "nnpu", "nnpu-ga", "upu")}
    assert lost["bench"].value == pytest.approx(0.07)
    assert (lost["original"], lost["beyond"]) == (None, None)
    gap = findings.against(rows, "proxy_auc", "proxy_accuracy", "accuracy")
    assert (gap.value, gap.clear) == (pytest.approx(0.1), True)
    assert findings.spread(rows) == pytest.approx(0.1)
    slip = findings.slip(records)
    assert slip["changed"] == slip["models_changed"] == pytest.approx(0.5)
    assert slip["accuracy"].value == pytest.approx(0.05)
    agree = findings.agreement(records)
    assert agree["pearson"].value == pytest.approx(1.0)
    assert agree["gap"].value == pytest.approx(0.01)
    same, total = findings.twins_agree(records)
    assert (same, total) == (32, 32)


def test_only_shared_configurations_are_compared():
    run = RunConfig(dataset="usps", setting="one-sample", algorithm="vpu")
    other = replace(run, algorithm="upu")
    records = [record(r) for r in (run, replace(run, configuration=1), other)]
    kept = findings.common(findings.all_runs(records))
    assert list(kept["configuration"]) == [0, 0]
    more = [*records, record(replace(other, configuration=1))]
    assert len(findings.common(findings.all_runs(more))) == 4


def test_a_method_with_fewer_tries_than_nearly_all_is_left_out():
    methods = [m for m in plan.versions() if m[1] == "ref"]
    runs = [plan.run(m, "usps", 1, 0) for m in methods]
    more = [replace(r, configuration=1) for r in runs[1:]]
    kept = findings.common(findings.all_runs(record(r) for r in (*runs, *more)))
    assert len(kept) == 2 * len(methods) - 2
    assert methods[0][0] not in set(kept["algorithm"])


def test_one_sample_is_judged_next_to_the_originals():
    """The paper's version loses 8 points and the original gains 1, so the difference is 9; 2 of 3
    splits."""
    records = []
    for split, extra in enumerate((0.0, 0.001)):
        for variant, one in (("bench", 0.8), ("ref", 0.89)):
            for setting, value in (("two-sample", 0.88), ("one-sample", one)):
                asked = "none" if (variant, setting) == ("bench", "one-sample") else None
                run = plan.run(("upu", variant, asked), "usps", 1, split, setting=setting)
                records.append(record(run, accuracy=(value + extra, 0.0)))
    lost = findings.losses(findings.all_runs(records), "proxy_accuracy")
    assert lost["clear"] == ["upu/bench"]
    values = [lost[name].value for name in ("bench", "original", "beyond")]
    assert values == pytest.approx([0.08, -0.01, 0.09])


def test_configurations_are_chosen_by_each_criterion():
    """A second configuration that PA prefers and OA does not; a problem without one is omitted."""
    records = []
    for name in ("upu", "nnpu"):
        for dataset, number in (("letter", 0), ("letter", 1), ("usps", 0)):
            run = plan.run((name, "ref", None), dataset, 1, 0, configuration=number)
            made = record(run, accuracy=(0.7 + 0.1 * number, 0.0))
            made["checkpoints"]["proxy_accuracy"][0] += number
            made["checkpoints"]["oracle_accuracy"][0] -= 0.5 * number
            records.append(made)
    runs = findings.all_runs(records)
    assert findings.shared(runs) == {("letter", 1): {0, 1}}
    gains = {row["criterion"]: row for row in findings.gains(runs)}
    assert gains["proxy_accuracy"]["gap"].value == pytest.approx(0.1)
    assert (gains["proxy_accuracy"]["other"], gains["oracle_accuracy"]["other"]) == (1.0, 0.0)
    assert gains["oracle_accuracy"]["best"] == pytest.approx(0.7)
    drawn = benchmark.settings(findings.shared(runs))
    assert drawn == ["rate 6.1e-05 with batches of 16 + 16"]


def test_late_and_stuck_runs_are_counted():
    """One of two runs is best at its end, and one predicts every row to be positive."""
    runs = [plan.run(("dist-pu", "bench", c), "letter", 1, 0) for c in ("none", "batch")]
    one, two = (record(r, accuracy=(0.4, 0.7), best={"oracle_accuracy": 1}) for r in runs)
    one["checkpoints"]["step"] = [100, runs[0].steps]
    one["checkpoints"] |= {"recall": [1.0, 0.7], "precision": [0.4, 0.8]}
    two["checkpoints"] |= {"recall": [0.5, 1.0], "precision": [0.4, 0.7]}
    found = findings.all_runs([one, two])
    assert findings.late(found, "letter") == 0.5
    assert findings.stuck(found, "dist-pu/bench/none")[:2] == (0, 1)
    assert findings.stuck(found, "dist-pu/bench/batch")[:2] == (1, 1)


def test_priors_used_by_only_one_method_are_omitted():
    told = {"nnpu": (None, 0.4, 0.35), "vpu": (None, 0.4)}
    records = [
        record(plan.run((name, "ref", None), "usps", 1, 0, given_prior=prior))
        for name, priors in told.items()
        for prior in priors
    ]
    found = findings.told_cells(findings.all_runs(records))
    assert {name: list(cells) for name, cells in found.items()} == {
        "nnpu": [0.4, 0.5],
        "vpu": [0.4, 0.5],
    }


def test_the_page_reports_the_planted_findings(tmp_path):
    for found in planted():
        run = RunConfig.from_dict(found["run"])
        write_record(tmp_path, run, {k: found[k] for k in set(found) - {"format", "key", "run"}})
    out = tmp_path / "out"
    out.mkdir()
    findings.collect(tmp_path, out)
    text = template.functions(benchmark)["text_README"](Tables(out))
    assert "**They do worse in one sample, on average: holds**" in text
    assert "**The correction fixes this: holds**: +5.00 [+5.00, +5.00] points" in text
    assert "2. The selection criterion matters: holds" in text
    assert "another\ncheckpoint in 50.0% of 296 runs" in text
