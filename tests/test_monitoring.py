"""Changes over time: estimates in known populations, levels of alarms, and the command."""

import json
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit, ndtr, ndtri
from scipy.stats import chi2_contingency, ranksums

from noneg import PUScores, Sketch
from noneg.cli import main
from noneg.errors import InputError
from noneg.monitoring import (
    TESTS,
    alarms,
    label_shift,
    monitor,
    name_moved,
    spent,
    window_tests,
)
from noneg.prior.shift import (
    Counts,
    compare_positives,
    fit_shift,
    odds_of_everyone,
    odds_of_negatives,
    shared_edges,
)
from noneg.report.monitoring import verdict


def draw(prior, n=4000, n_positive=400, *, seed, slope=1.0, labeled=0.0, negatives=1.0):
    """Return two samples with calibrated scores at prior .2, unless something changes."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prior
    everyone = np.where(y, 2.0 + rng.normal(size=n), negatives * rng.normal(size=n))
    positive = 2.0 + labeled + rng.normal(size=n_positive)
    scores = (expit(slope * (logit(0.2) + 2.0 * x - 2.0)) for x in (positive, everyone))
    return PUScores(*scores, prior=0.2, setting="two-sample")


def counts(positive, marginal, pooled=False):
    positive, marginal = np.asarray(positive, float), np.asarray(marginal, float)
    squares = np.stack([positive.sum(-1), marginal.sum(-1)], axis=-1)
    return Counts(positive, marginal, squares, pooled)


REFERENCE = draw(0.2, 10_000, 1000, seed=0)


@pytest.mark.parametrize(
    ("named", "moved"),
    [
        ((), {}),
        (("prior",), {"prior": 0.3}),
        (("shape",), {"negatives": 1.4}),
        (("labeling",), {"labeled": 0.6}),
        (("scores",), {"slope": 0.7}),
    ],
)
def test_a_drift_of_one_component_is_named(named, moved):
    periods = [
        (f"day {k}", draw(seed=10 + k, **{"prior": 0.2} | (moved if k >= 3 else {})))
        for k in range(6)
    ]
    found = monitor(periods, REFERENCE)
    assert found.moved == named
    assert found.since == ("day 3" if named else None)
    assert (found.calibrator is not None) == (named == ("prior",))
    columns = found.columns()
    if named in ((), ("prior",)):
        truth = np.array([0.2] * 4 + [moved.get("prior", 0.2)] * 3)
        assert np.all((columns["prior_low"] <= truth) & (truth <= columns["prior_high"]))


def test_the_offered_repair_is_the_change_of_the_odds():
    found = monitor({"now": draw(0.3, 20_000, seed=5)}, REFERENCE)
    new = found.now.prior
    assert found.calibrator.shift_ == pytest.approx(logit(new.value) - logit(0.2))
    assert new.low < 0.3 < new.high
    mapped = found.calibrator.transform([0.2, 0.9])
    assert logit(mapped) - logit([0.2, 0.9]) == pytest.approx(found.calibrator.shift_)


def test_the_shift_solves_its_normal_equations():
    """Least squares by hand, with the covariance of the last step written out."""
    a, b, h = [5, 20, 60], [50, 60, 40], [30, 45, 45]
    fit = fit_shift(counts(a, b), counts([0, 0, 0], h))
    p, q, r = (np.array(x) / np.sum(x) for x in (a, b, h))
    d = float(fit.moved)
    noise = (1 - d) ** 2 / 150 + d**2 / 85
    fitted = (1 - d) * q + d * p
    fitted = fitted + noise / (noise + 1 / 120) * (r - fitted)

    def covariance(x):
        return (np.diag(x) - np.outer(x, x))[:2, :2]

    v = covariance(fitted) / 120 + (1 - d) ** 2 * covariance(q) / 150 + d**2 * covariance(p) / 85
    y, u = (r - q)[:2], (p - q)[:2]
    score = u @ np.linalg.solve(v, y - d * u)
    # Three rounds of weights come close to the self-consistent solution.
    assert abs(score) < 0.02 * u @ np.linalg.solve(v, u) * float(fit.error)
    assert fit.freedom == 1


def test_without_positives_that_move_it_is_pearsons_test():
    """At d = 0, prior and misfit together are the two-sample chi-square test."""
    b, h = [400, 300, 300], [410, 310, 280]
    fit = fit_shift(counts([100, 400, 1500], b), counts([0, 0, 0], h))
    pearson = chi2_contingency([b, h], correction=False).statistic
    total = float(fit.misfit) + (float(fit.moved) / float(fit.error)) ** 2
    assert total == pytest.approx(pearson, rel=0.05)


def test_positives_are_compared_by_rank():
    """With only a change of location, it is close to Wilcoxon's test; two bins have one degree of
    freedom."""
    rng = np.random.default_rng(0)
    old, new = rng.integers(0, 2, 300), rng.integers(0, 2, 100)
    two = compare_positives(*(counts(np.bincount(x, minlength=2), [1, 1]) for x in (old, new)))
    assert float(two) == pytest.approx(ranksums_with_ties(old, new), rel=1e-6)
    empty = compare_positives(counts([3, 4], [1, 1]), counts([0, 0], [1, 1]))
    assert np.isnan(empty)
    assert compare_positives(counts([3, 0], [1, 1]), counts([5, 0], [1, 1])) == 1.0


def ranksums_with_ties(x, y):
    """SciPy's test without ties, corrected for them; for two values, it is the test of two
    shares."""
    assert np.isfinite(ranksums(x, y).pvalue)
    table = [np.bincount(values, minlength=2) for values in (x, y)]
    return chi2_contingency(table, correction=False).pvalue


@pytest.mark.parametrize("pooled", [False, True])
def test_levels_and_coverage_in_one_look(pooled):
    """Counts from known distributions: 4,000 draws, so 0.05 has a standard error of 0.0034."""
    rng = np.random.default_rng(1 + pooled)
    f, g = np.array([0.02, 0.05, 0.13, 0.3, 0.5]), np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    old, new, share = 0.2, 0.3, 0.4
    mixed = [prior * f + (1 - prior) * g for prior in (old, new)]
    draws, n = (4000,), 3000
    if pooled:
        known = share * old * f
        both = rng.multinomial(n, np.concatenate([known, mixed[0] - known]), draws)
        reference = counts(both[:, :5], both[:, :5] + both[:, 5:], pooled=True)
    else:
        reference = counts(rng.multinomial(500, f, draws), rng.multinomial(n, mixed[0], draws))
    fresh = counts(rng.multinomial(200, f, draws), rng.multinomial(2000, mixed[1], draws))
    fit = fit_shift(reference, fresh)
    prior = old + (1 - old) * fit.moved
    assert abs(prior.mean() - new) < 4 * prior.std() / np.sqrt(4000) + 0.002
    covered = np.abs(prior - new) <= 1.96 * (1 - old) * fit.error
    assert covered.mean() == pytest.approx(0.95, abs=4 * 0.0034)
    assert (fit.shape_p <= 0.05).mean() == pytest.approx(0.05, abs=4 * 0.0034)
    assert (compare_positives(reference, fresh) <= 0.05).mean() == pytest.approx(0.05, abs=0.0138)


def test_false_alarms_over_many_looks_stay_below_the_level():
    """300 draws of 40 looks without a change: 5% has a standard error of 1.3%."""
    rng = np.random.default_rng(3)
    f, g = np.array([0.05, 0.15, 0.3, 0.5]), np.array([0.4, 0.3, 0.2, 0.1])
    law, size = 0.2 * f + 0.8 * g, (300, 40)
    old = counts(rng.multinomial(500, f, (300, 1)), rng.multinomial(5000, law, (300, 1)))
    new = counts(rng.multinomial(60, f, size), rng.multinomial(800, law, size))
    p_values, windows = window_tests(REFERENCE, old, new)
    assert windows.max() <= 32
    assert windows[:, 0].max() == 1
    ever = alarms(p_values, 0.95).any(axis=(1, 2)).mean()
    assert ever <= 0.05 + 3 * 0.013


def test_alarms_spend_no_more_than_the_level():
    looks = np.arange(1.0, 10_000.0)
    assert spent(looks, 0.95).sum() == pytest.approx(0.05, abs=1e-5)
    limits = spent(looks[:3], 0.95)[:, None] / 3
    assert alarms(np.broadcast_to(limits, (3, 3)), 0.95).all()
    assert not alarms(np.broadcast_to(limits * 1.001, (3, 3)), 0.95).any()


def test_names_need_an_alarm():
    assert name_moved([0.001, 0.001, 0.001], [False] * 3) == ()
    assert name_moved([0.001, 0.2, 0.001], [True, False, False]) == ("prior", "labeling")
    assert name_moved([0.001, 0.001, 0.2], [True, True, False]) == ("shape",)
    assert name_moved([0.001, 0.001, 0.2], [True, True, False], everyone=3.0) == ("scores",)
    prior = [0.001, 0.2, 0.2], [True, False, False]
    assert name_moved(*prior, negatives=-3.0) == ("prior",)
    assert name_moved(*prior, negatives=-1.0) == ("shape",)


def test_odds_compare_explanations_by_their_distance():
    """Exact laws: the right explanation fits without error, the other at the distance by hand."""
    f, g, sizes = expit(np.linspace(-1, 2, 9)), expit(np.linspace(1, -2, 9)), (1e4, 2e4)
    f, g = f / f.sum(), g / g.sum()

    def law(prior, by=0.0):
        below = ndtr(ndtri(np.cumsum(g)[:-1]) - by)
        return prior * f + (1 - prior) * np.diff(np.concatenate([[0], below, [1]]))

    def distance(new, predicted):
        pooled = np.average([law(0.2), new], axis=0, weights=sizes)
        return np.sum((new - predicted) ** 2 / pooled) / (1 / sizes[0] + 1 / sizes[1])

    reference = counts(1e3 * f, sizes[0] * law(0.2))
    more, other = (counts(100 * f, sizes[1] * x) for x in (law(0.25), law(0.2, 0.25)))
    by_prior = minimize_scalar(lambda x: distance(law(0.2, 0.25), law(x)))
    by_negatives = minimize_scalar(lambda x: distance(law(0.25), law(0.2, x)))
    found = [odds_of_negatives(reference, one, 0.2) for one in (other, more)]
    assert found == pytest.approx([by_prior.fun / 2, -by_negatives.fun / 2], rel=0.02)
    # Positives keep their ranks if nothing moved; here they did not follow the negatives.
    assert odds_of_everyone(reference, reference) == pytest.approx(0.0, abs=1e-6)
    assert odds_of_everyone(reference, other) < 0.0


def test_sketches_tell_the_same():
    rows = {str(k): draw(0.25, seed=30 + k) for k in range(2)}
    sketched = {name: Sketch.from_scores(one) for name, one in rows.items()}
    exact = monitor(rows, REFERENCE)
    rough = monitor(sketched, Sketch.from_scores(REFERENCE))
    assert rough.moved == exact.moved
    for one, other in zip(exact.looks, rough.looks, strict=True):
        # A bucket is 2^-17 wide, so hardly any row changes its bin.
        assert other.prior.value == pytest.approx(one.prior.value, abs=0.002)
        assert other.metrics["auroc"].value == pytest.approx(one.metrics["auroc"].value, abs=0.01)


def test_labeled_rows_tell_their_prior_themselves():
    rng = np.random.default_rng(0)

    def period(prior):
        y = rng.random(3000) < prior
        return PUScores.from_labels(y, expit(2.0 * y - 1 + rng.normal(size=y.size)))

    found = monitor({"old": period(0.2), "same": period(0.2), "more": period(0.3)})
    assert found.reference.name == "old"
    assert found.moved == ("prior",)
    for look, truth in zip(found.looks, (0.2, 0.3), strict=True):
        assert look.prior.low < truth < look.prior.high
        assert look.prior.method == "share of positives"


def test_bins_hold_enough_rows():
    for scores in (draw(0.2, 100, 10, seed=1), draw(0.2, 100_000, 1000, seed=1)):
        edges = shared_edges(scores)
        held = Counts.of(scores, edges).marginal
        assert edges[0] == 0.0
        assert edges[-1] == 1.0
        assert held.min() >= 20
    assert 8 <= edges.size - 1 <= 10
    constant = PUScores([0.5] * 9, [0.5] * 99, prior=0.2, setting="two-sample")
    with pytest.raises(InputError, match="must have distinct scores and at least 40 rows"):
        label_shift(constant, constant)
    halves = PUScores([0.9] * 9, [0.5, 0.9] * 50, prior=0.2, setting="two-sample")
    assert np.isnan(label_shift(halves, halves).shape_p)


@pytest.mark.parametrize(
    ("periods", "reference", "message"),
    [
        ({}, None, "'periods' must not be empty"),
        ({"a": REFERENCE}, None, "must contain at least one period besides the reference"),
        ({"a": REFERENCE}, PUScores([0.5], [0.5, 0.2], setting="two-sample"), "must have a prior"),
        (
            {"a": PUScores.from_labels([0, 1], [0.2, 0.4])},
            REFERENCE,
            "must have the same setting as the reference, 'two-sample', got 'labeled'",
        ),
    ],
)
def test_what_cannot_be_compared_is_rejected(periods, reference, message):
    with pytest.raises(InputError, match=re.escape(message)):
        monitor(periods, reference)


def test_it_shows_itself():
    found = monitor({"one": draw(0.35, seed=8)}, REFERENCE)
    assert "prior" in repr(found).splitlines()[0]
    assert repr(found).splitlines()[2].endswith("prior")
    shown = found._repr_html_()
    assert "The share of positives changed" in shown
    assert shown.count("<svg") == 4
    assert list(found.frame("pyarrow").column("moved").to_pylist()) == ["", "prior"]
    assert json.loads(json.dumps(found.to_dict()))["looks"][0]["alarms"] == ["prior"]


def test_a_close_call_is_not_told_as_certain():
    found = monitor({"now": draw(0.2, seed=8, negatives=1.4)}, REFERENCE)
    (look,) = found.looks
    assert look.moved == ("shape",)
    close = replace(look, p_values=look.p_values | {"shape": 0.3})
    doubt = "explain this about as well as a different share of positives"
    assert doubt not in verdict(found)[0]
    assert doubt in verdict(replace(found, looks=(close,)))[0]


def rows(prior, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(2000) < prior
    score = expit(logit(0.2) + 2.0 * (2.0 * y + rng.normal(size=y.size)) - 2.0)
    return score, y & (rng.random(y.size) < 0.5)


ASKED = ["--score", "p", "--label", "y", "--setting", "one-sample", "--prior", "0.2"]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def write(path, score, flags, when=None):
    extra = [""] * len(score) if when is None else [f",{day}" for day in when]
    lines = [f"{s:.6f},{int(f)}{e}" for s, f, e in zip(score, flags, extra, strict=True)]
    header = "p,y" if when is None else "p,y,when"
    Path(path).write_text("\n".join([header, *lines]) + "\n")


def _by_day(path):
    """Return the result of the query of a warehouse, grouped by date."""
    pytest.importorskip("sqlglot")
    asked = ["sketch", "--sql", "duckdb", "--table", f"'{path}'", *ASKED[:4], "--by", "when"]
    query = run(*asked).stdout.rstrip().rstrip(";")
    duckdb.sql(query).write_parquet("result.parquet")
    return "result.parquet"


def test_files_sketches_and_a_time_column_agree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weeks = [rows(0.2, 1), rows(0.2, 2), rows(0.33, 3)]
    days = ["2026-03-02 08:00", "2026-03-09", "2026-03-22T23:59:59"]
    everything = [np.concatenate(column) for column in zip(*weeks, strict=True)]
    write("all.csv", *everything, np.repeat(days, 2000))
    for number, (score, flags) in enumerate(weeks):
        write(f"w{number}.csv", score, flags)
        Sketch().update(flags, score.round(6)).save(f"s{number}.parquet")
    names = ["w0.csv", "w1.csv", "w2.csv"]
    plain = run("monitor", *names, *ASKED, "--json")
    assert plain.exit_code == 3
    found = json.loads(plain.stdout)
    assert found["schema"] == "noneg.monitoring/1"
    assert (found["moved"], found["since"]) == (["prior"], "w2")
    cut = json.loads(run("monitor", "all.csv", *ASKED, "--time", "when", "--json").stdout)
    assert [look["name"] for look in cut["looks"]] == ["2026-03-09", "2026-03-16"]
    assert cut["looks"][1]["prior"] == found["looks"][1]["prior"]
    apart = run("monitor", *names[1:], "--reference", "w0.csv", *ASKED, "--json")
    assert json.loads(apart.stdout)["looks"] == found["looks"]
    sketched = run("monitor", "s0.parquet", "s1.parquet", "--from-sketch", *ASKED[4:], "--json")
    assert sketched.exit_code == 0, sketched.output
    same = json.loads(sketched.stdout)["looks"][0]["prior"]["value"]
    assert same == pytest.approx(found["looks"][0]["prior"]["value"], abs=0.003)
    page = run("monitor", *names, *ASKED, "-o", "m.html", "--save", "c.json")
    assert page.exit_code == 3
    assert "Now recalibrate new rows: noneg apply c.json FILE --score p --out NEW" in page.stdout
    applied = run("apply", "c.json", "w2.csv", "--score", "p", "--out", "better.csv")
    assert applied.exit_code == 0
    assert "The share of positives changed" in Path("m.html").read_text()


def test_a_query_grouped_by_date_has_the_periods_of_a_time_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weeks = [rows(0.2, 1), rows(0.2, 2), rows(0.33, 3)]
    days = np.repeat(["2026-03-02", "2026-03-09", "2026-03-21"], 2000)
    days[::2] = np.repeat(["2026-03-08", "2026-03-10", "2026-03-16"], 1000)
    write("all.csv", *map(np.concatenate, zip(*weeks, strict=True)), days)
    ways = (["--from-sql", _by_day("all.csv"), *ASKED[4:]], ["all.csv", *ASKED])
    found = [json.loads(run("monitor", *way, "--time", "when", "--json").stdout) for way in ways]
    assert found[0]["moved"] == found[1]["moved"] == ["prior"]
    for one, other in zip(*(x["looks"] for x in found), strict=True):
        assert (one["name"], one["alarms"]) == (other["name"], other["alarms"])
        assert one["prior"]["value"] == pytest.approx(other["prior"]["value"], abs=0.003)


@pytest.mark.parametrize("written", ["2026-03-{} 08:00", "202603{}", "202603{}T080000"])
def test_dates_are_read_with_and_without_dashes(tmp_path, monkeypatch, written):
    monkeypatch.chdir(tmp_path)
    columns = map(np.concatenate, zip(rows(0.2, 1), rows(0.2, 2), strict=True))
    write("all.csv", *columns, np.repeat([written.format("02"), written.format("31")], 2000))
    found = json.loads(run("monitor", "all.csv", *ASKED, "--time", "when", "--json").stdout)
    assert (found["reference"]["name"], found["looks"][0]["name"]) == ("2026-03-02", "2026-03-30")


@pytest.mark.parametrize("written", ["1774224000", "2026-3-2", "202603", " ", "20261301", "now"])
def test_what_is_not_a_date_is_named(tmp_path, monkeypatch, written):
    monkeypatch.chdir(tmp_path)
    write("a.csv", *rows(0.2, 1), [written] * 2000)
    result = run("monitor", "a.csv", *ASKED, "--time", "when")
    assert result.exit_code == 2
    assert "--time must contain dates such as 2026-03-31 in column 'when'" in result.stderr


def test_the_repair_of_sketches_applies_to_any_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, (score, flags) in enumerate([rows(0.2, 1), rows(0.33, 3)]):
        Sketch().update(flags, score).save(f"s{number}.json")
    write("new.csv", score, flags)
    asked = ["s0.json", "s1.json", "--from-sketch", *ASKED[4:], "--save", "c.json"]
    assert "noneg apply c.json FILE --score COLUMN --out NEW" in run("monitor", *asked).stdout
    assert run("apply", "c.json", "new.csv", "--score", "p", "--out", "out.csv").exit_code == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--time", "when"], "--time must contain dates such as 2026-03-31 in column 'when'"),
        (["--fail-below", "precision@0.3=0.5"], "--fail-below must not include a threshold"),
        (["--metrics", "auroc,nonsense"], "--metrics must be a registered metric"),
        (["--from-sketch"], "--from-sketch must not be combined with columns"),
    ],
)
def test_the_command_rejects(tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    write("a.csv", *rows(0.2, 1), ["yesterday"] * 2000)
    result = run("monitor", "a.csv", *ASKED, *more)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_row_without_a_date_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.csv", *rows(0.2, 1), ["2026-03-02"] * 1999 + [""])
    result = run("monitor", "a.csv", *ASKED, "--time", "when")
    assert "line 2001 of 'a.csv' has none. Write the date into such rows" in result.stderr


def test_a_period_without_labels_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    score, flags = rows(0.2, 1)
    write("a.csv", score, flags)
    write("b.csv", score, flags & False)
    result = run("monitor", "a.csv", "b.csv", *ASKED)
    assert result.exit_code == 2
    assert (
        "FILE must be a period, but in 'b.csv', column 'y' must contain at least" in result.stderr
    )


@pytest.mark.parametrize("way", [["a.csv", "b.csv"], ["all.csv", "--time", "when"]])
def test_selection_widens_the_bands_of_files_and_of_a_time_column(tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    weeks, days = [rows(0.2, 1), rows(0.2, 2)], np.repeat(["2026-03-02", "2026-03-09"], 2000)
    write(
        "all.csv",
        *map(np.concatenate, zip(*weeks, strict=True)),
        days,
    )
    for name, week in zip("ab", weeks, strict=True):
        write(f"{name}.csv", *week)
    plain, wide = (
        json.loads(run("monitor", *way, *ASKED, "--json", *more).stdout)["looks"][0]["metrics"]
        for more in ([], ["--selection", "1.5"])
    )
    width = [one["auroc"]["high"] - one["auroc"]["low"] for one in (plain, wide)]
    assert width[1] > 1.2 * width[0]


def test_a_gate_is_judged_at_the_last_look(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.csv", *rows(0.2, 1))
    write("b.csv", *rows(0.2, 2))
    result = run("monitor", "a.csv", "b.csv", *ASKED, "--fail-below", "auroc=0.99", "--json")
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert found["moved"] == []
    assert found["gates"]["outcomes"][0]["state"] == "failed"
    assert found["gates"]["outcomes"][0]["found"] == found["looks"][-1]["metrics"]["auroc"]
    assert TESTS == ("prior", "shape", "labeling")


def test_labels_determine_the_prior_of_periods_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    score, flags = rows(0.2, 1)
    write("all.csv", score, flags, np.repeat(["2026-03-02", "2026-03-09"], 1000))
    asked = ["monitor", "all.csv", *ASKED[:4], "--setting", "labeled", "--time", "when"]
    assert run(*asked).exit_code in {0, 3}
    refused = run(*asked, "--prior", "0.2")
    assert refused.exit_code == 2
    assert "--prior" in refused.stderr
    assert "labeled" in refused.stderr
