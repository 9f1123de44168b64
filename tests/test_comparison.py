"""Models on the same rows: the gain from pairing, coverage, and what users see."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog
from scipy.special import expit, logit

from noneg import PUScores, ece, evaluate
from noneg.bins import bin_scores
from noneg.cli import main
from noneg.comparison import COMPARED, compare
from noneg.metrics import METRICS
from noneg.performance.ordering import CRITERIA, ordering, proxy_accuracy
from noneg.report import About
from noneg.report.comparing import comparison_document
from noneg.results import plain
from noneg.simulation import LogisticGaussian

SETTINGS = ("two-sample", "one-sample", "labeled")
PRIOR = 0.3
BASE = float(logit(PRIOR))


def features(rng, n, y):
    z = rng.normal(size=(n, 3))
    z[:, 0] += 1.2 * y
    z[:, 1] += 0.8 * y
    return z


def models_of(z):
    """A calibrated model, one that lacks half a feature and adds noise, and an overconfident
    one."""
    a = BASE + 1.2 * (z[:, 0] - 0.6) + 0.8 * (z[:, 1] - 0.4)
    b = BASE + 1.2 * (z[:, 0] - 0.6) + 0.5 * (z[:, 1] - 0.4) + 0.3 * z[:, 2]
    return {"full": expit(a), "half": expit(b), "bold": expit(2.0 * b + 0.5)}


def draw(setting, rng, n_positive=120, n=700):
    """Rows scored by three models: the models, the labels and the arguments of `compare`."""
    if setting == "two-sample":
        y = np.r_[np.ones(n_positive), rng.random(n) < PRIOR].astype(bool)
        label = np.arange(y.size) < n_positive
    else:
        y = rng.random(n_positive + n) < PRIOR
        label = y.copy()
    if setting == "one-sample":
        hidden = rng.choice(np.flatnonzero(y), y.sum() - n_positive, replace=False)
        label[hidden] = False
    options = {"setting": setting} | ({} if setting == "labeled" else {"prior": PRIOR})
    return models_of(features(rng, y.size, y)), label, options


def ends(estimate):
    return [estimate.value, estimate.low, estimate.high]


@pytest.fixture(scope="module", params=SETTINGS)
def drawn(request):
    return draw(request.param, np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(drawn):
    models, label, options = drawn
    return compare(models, label, reference="full", **options)


def test_values_and_differences_are_those_of_the_models(drawn, found):
    models, label, options = drawn
    for name, one in found.criteria.items():
        for model, s in models.items():
            if options["setting"] == "labeled":
                scores = PUScores.from_labels(label, s)
            else:
                scores = PUScores.from_pu_labels(label, s, **options)
            assert one.estimates[model] == CRITERIA[name].interval(scores, level=0.95)
        for model, gap in one.differences.items():
            expected = one.estimates[model].value - one.estimates["full"].value
            assert gap.value == pytest.approx(expected)
            assert gap.low <= gap.value <= gap.high
        assert one.differences.keys() == {"half", "bold"}


def test_a_difference_the_other_way_round_is_its_negative(drawn, found):
    models, label, options = drawn
    other = compare(models, label, reference="half", **options)
    for name, one in found.criteria.items():
        there, back = one.differences["half"], other.criteria[name].differences["full"]
        assert ends(there) == pytest.approx([-back.value, -back.high, -back.low], abs=1e-12)


def test_pairing_narrows_the_interval(found):
    for name in ("proxy_accuracy", "proxy_auc", "log_loss", "brier"):
        one = found.criteria[name]
        gap = one.differences["half"]
        a, b = one.estimates["full"], one.estimates["half"]
        assert gap.high - gap.low < 0.6 * np.hypot(a.high - a.low, b.high - b.low)


def test_the_order_of_rows_does_not_matter(drawn, found):
    models, label, options = drawn
    order = np.random.default_rng(1).permutation(label.size)
    shuffled = {name: s[order] for name, s in models.items()}
    again = compare(shuffled, label[order], reference="full", **options)
    for name, one in found.criteria.items():
        for model, gap in one.differences.items():
            assert ends(again.criteria[name].differences[model]) == pytest.approx(ends(gap))


def test_a_weight_counts_rows(drawn):
    models, label, options = drawn
    weight = np.arange(label.size) % 3
    repeat = np.repeat(np.arange(label.size), weight)
    counted = compare(models, label, sample_weight=weight, **options)
    written = compare({m: s[repeat] for m, s in models.items()}, label[repeat], **options)
    for name, one in counted.criteria.items():
        assert one.leaders == written.criteria[name].leaders
        for model, gap in one.differences.items():
            assert ends(gap) == pytest.approx(ends(written.criteria[name].differences[model]))


def test_the_scale_of_importance_does_not_matter(drawn):
    models, label, options = drawn
    weight = np.random.default_rng(3).uniform(0.5, 1.5, label.size)
    options = {**options, "weight_kind": "importance", "reference": "full"}
    one = compare(models, label, sample_weight=weight, **options)
    two = compare(models, label, sample_weight=8.0 * weight, **options)
    unit = compare(models, label, sample_weight=np.ones(label.size), **options)
    plainly = compare(models, label, **options)
    for name in COMPARED:
        for model in ("half", "bold"):
            a, b, c, d = (
                ends(x.criteria[name].differences[model]) for x in (one, two, unit, plainly)
            )
            assert a == pytest.approx(b)
            assert c == pytest.approx(d)


def test_labeled_rows_give_the_matched_pairs_of_mcnemar():
    models, y, options = draw("labeled", np.random.default_rng(4))
    gap = compare(models, y, reference="full", **options)
    gap = gap.criteria["proxy_accuracy"].differences["half"]
    right = {name: (s >= 0.5) == y for name, s in models.items()}
    won, lost = (right["half"] & ~right["full"]).sum(), (right["full"] & ~right["half"]).sum()
    n = y.size
    assert gap.value == pytest.approx((won - lost) / n)
    deviation = np.sqrt(won + lost - (won - lost) ** 2 / n) / n
    assert (gap.high - gap.low) / 2.0 == pytest.approx(1.959964 * deviation, rel=1e-6)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_area_has_delongs_covariance(setting):
    models, label, options = draw(setting, np.random.default_rng(5), 40, 150)
    gap = compare(models, label, reference="full", **options)
    gap = gap.criteria["proxy_auc"].differences["half"]
    wins = []
    for name in ("half", "full"):
        p, u = models[name][label][:, None], models[name][~label][None, :]
        wins.append((p > u) + (p == u) / 2.0)
    difference = wins[0] - wins[1]
    by_positive, by_other = difference.mean(axis=1), difference.mean(axis=0)
    variance = np.var(by_positive, ddof=1) / by_positive.size
    variance += np.var(by_other, ddof=1) / by_other.size
    assert gap.value == pytest.approx(difference.mean())
    assert (gap.high - gap.low) / 2.0 == pytest.approx(1.959964 * np.sqrt(variance), rel=1e-6)


def jackknifed(values, flags, setting):
    """Return the jackknife variance of a number, from its leave-one-out values."""
    groups = [flags, ~flags] if setting == "two-sample" else [np.ones_like(flags)]
    return sum((g.sum() - 1) ** 2 / g.sum() * np.var(values[g], ddof=1) for g in groups)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["mcc", "f_beta", "precision", "npv", "risk", "auroc"])
def test_any_rule_loss_or_area_has_the_spread_of_the_jackknife(name, setting):
    models, label, options = draw(setting, np.random.default_rng(11), 60, 300)
    models = {model: models[model] for model in ("full", "half")}

    found = compare(models, label, reference="full", criteria=[name], **options)
    shown = found.criteria[name].differences["half"]

    def gap(keep):
        build = PUScores.from_labels if setting == "labeled" else PUScores.from_pu_labels
        told = {} if setting == "labeled" else options
        half, full = (build(label[keep], models[m][keep], **told) for m in ("half", "full"))
        return METRICS[name].function(half) - METRICS[name].function(full)

    values = np.array([gap(np.arange(label.size) != i) for i in range(label.size)])
    spread = np.sqrt(jackknifed(values, label, setting))
    # Both are first-order; the neglected terms are of order one in sixty positives.
    assert (shown.high - shown.low) / 2.0 == pytest.approx(1.959964 * spread, rel=0.05)


def test_what_has_no_paired_interval_is_rejected_by_name():
    models, label, options = draw("two-sample", np.random.default_rng(12))
    for name in ("average_precision", "ks_error", "lift_at"):
        with pytest.raises(ValueError, match=rf"'criteria' must be .* got '{name}'"):
            compare(models, label, criteria=[name], **options)


def true_differences(setting, n=150_000):
    """Differences from "full" in the population, by criterion and model."""
    rng = np.random.default_rng(9)
    y = rng.random(n) < PRIOR
    models = models_of(features(rng, n, y))
    found = compare(
        models, y, setting="labeled", reference="full", criteria=list(CRITERIA)[:4]
    ).criteria
    out = {(c, m): g.value for c, one in found.items() for m, g in one.differences.items()}
    hidden = {"two-sample": PRIOR, "one-sample": (PRIOR * 820 - 120) / 700, "labeled": 0.0}
    for model in ("half", "bold"):
        # Positives among the unlabeled rows shrink the proxy AUC toward one half.
        out["proxy_auc", model] *= 1.0 - hidden[setting]
    return out, {name: PUScores.from_labels(y, s) for name, s in models.items()}


@pytest.mark.parametrize("setting", SETTINGS)
def test_paired_intervals_cover(setting):
    truth, population = true_differences(setting)
    rng = np.random.default_rng(6)
    runs = 40
    misses = dict.fromkeys([*truth, ("debiased_ece", "half"), ("debiased_ece", "bold")], 0)
    for _ in range(runs):
        models, label, options = draw(setting, rng)
        found = compare(models, label, reference="full", **options)
        binned = {
            name: ece(population[name], edges=bin_scores(scores).edges)
            for name, scores in (
                (m, PUScores.from_labels(label, s))
                if setting == "labeled"
                else (m, PUScores.from_pu_labels(label, s, **options))
                for m, s in models.items()
            )
        }
        for criterion, model in misses:
            gap = found.criteria[criterion].differences[model]
            target = truth.get((criterion, model), binned[model] - binned["full"])
            misses[criterion, model] += not gap.low <= target <= gap.high
    # 5% of 40 is 2 with a standard error of 1.4.
    assert max(misses.values()) <= 7
    smooth = sum(k for (criterion, _), k in misses.items() if criterion != "debiased_ece")
    assert smooth / (8 * runs) < 0.09


def test_errors_of_alike_models_are_told_apart_only_by_pairing():
    rng = np.random.default_rng(7)
    y = rng.random(20_000) < PRIOR
    bold = models_of(features(rng, y.size, y))["bold"]
    bolder = expit(1.05 * logit(bold) + 0.05)
    one = compare({"bold": bold, "bolder": bolder}, y, setting="labeled", criteria=["ece"])
    one = one.criteria["ece"]
    assert one.estimates["bolder"].low < one.estimates["bold"].high
    assert one.winner == "bold"
    assert one.differences["bolder"].low > 0.0


def test_winners_and_ties():
    rng = np.random.default_rng(8)
    models, label, options = draw("two-sample", rng, 1000, 8000)
    models["copy"] = models["full"]
    models["monotone"] = models["full"] ** 1.0001
    models["noise"] = rng.random(label.size)
    found = compare(models, label, **options)
    assert found.criteria["brier"].winner is None
    assert set(found.criteria["brier"].leaders) >= {"full", "copy"}
    assert "noise" not in found.criteria["brier"].leaders
    assert found.criteria["proxy_auc"].differences.keys() == set(models) - {"full"}
    for name in ("copy", "monotone"):
        assert ends(found.criteria["proxy_auc"].differences[name]) == [0.0, 0.0, 0.0]
    del models["copy"], models["monotone"]
    found = compare(models, label, **options)
    assert found.criteria["proxy_auc"].winner == "full"
    assert found.criteria["proxy_auc"].reference == "full"
    assert found.criteria["log_loss"].differences["noise"].low > 0.0


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_a_prior_interval_holds_for_every_prior(setting):
    models, label, options = draw(setting, np.random.default_rng(10))
    wide = compare(models, label, prior_interval=(0.25, 0.4), reference="full", **options)
    for prior in (0.25, 0.3, 0.36, 0.4):
        narrow = compare(models, label, reference="full", **{**options, "prior": prior})
        # The bins of the calibration error depend on the prior.
        for name in set(COMPARED) - ({"debiased_ece"} if prior != PRIOR else set()):
            for model in ("half", "bold"):
                a = wide.criteria[name].differences[model]
                b = narrow.criteria[name].differences[model]
                assert a.low <= b.low + 1e-12
                assert b.high - 1e-12 <= a.high
    assert "for every prior" in wide.criteria["debiased_ece"].differences["bold"].method
    assert "for every prior" not in wide.criteria["proxy_auc"].differences["bold"].method


def test_orders_by_prior_are_those_of_ordering():
    models, label, options = draw("two-sample", np.random.default_rng(11))
    found = compare(models, label, threshold=0.4, priors=(0.05, 0.9), **options)
    scores = {m: PUScores.from_pu_labels(label, s, **options) for m, s in models.items()}
    for name, one in found.criteria.items():
        extra = {"threshold": 0.4} if name == "proxy_accuracy" else {}
        if name == "debiased_ece":
            assert one.ordering is None
            continue
        expected = ordering(scores, metric=name, priors=(0.05, 0.9), **extra)
        assert one.ordering.to_dict() == expected.to_dict()
    assert any(one.ordering.crossings for one in found.criteria.values() if one.ordering)
    value = found.criteria["proxy_accuracy"].estimates["full"].value
    assert value == proxy_accuracy(scores["full"], threshold=0.4)


def test_few_rows_leave_a_difference_unknown():
    models = {"a": [0.9, 0.2, 0.4, 0.3], "b": [0.8, 0.3, 0.1, 0.6]}
    found = compare(models, [1, 0, 0, 0], setting="two-sample", prior=0.4)
    for one in found.criteria.values():
        assert one.winner is None
        assert one.differences or one.unranked
        for gap in one.differences.values():
            assert (gap.low, gap.high) == (-np.inf, np.inf)
    found = compare(models, [0, 0, 0, 0], setting="labeled")
    assert found.criteria["proxy_auc"].winner is None
    assert np.isnan(found.criteria["proxy_auc"].estimates["a"].value)


def test_the_table_and_the_dictionary(found):
    table = found.columns()
    assert len(table["model"]) == 3 * len(COMPARED)
    assert np.isnan(table["difference"][table["model"] == "full"]).all()
    for backend in ("pandas", "polars", "pyarrow"):
        assert len(found.frame(backend)) == 15
    out = json.loads(json.dumps(plain(found.to_dict()), allow_nan=False))
    assert out["models"] == ["full", "half", "bold"]
    assert tuple(out["criteria"]) == COMPARED
    one = out["criteria"]["brier"]
    assert one["better"] == "lower"
    assert one["leaders"][0] in out["models"]
    assert (one["ordering"] is None) == (out["setting"] == "labeled")


def test_wrong_arguments_are_explained():
    label, two = [1, 0, 0, 1], {"setting": "two-sample", "prior": 0.4}
    models = {"a": [0.9, 0.2, 0.4, 0.3], "b": [0.8, 0.3, 0.1, 0.6]}
    labeled = {"setting": "labeled"}
    for given, of, options, words in (
        ({"a": [0.1]}, [1], two, "'models' must contain at least two models to compare, got 1"),
        (models | {"c": [0.1]}, label, two, "'c' must score the same rows.*got 1 scores for 4"),
        (models | {"c": [0.1, 2, 0, 0]}, label, two, "'c' must contain scores in .*got 2.0"),
        (models, [0, 0, 0, 0], two, "'label' must contain at least one labeled positive"),
        (models, [1, 1, 1, 1], two, "'label' must contain at least one unlabeled row"),
        (models, label, {"setting": "one-sample"}, "'prior' must be given with setting='one-sam"),
        (
            models,
            label,
            {"setting": "two-sample", "prior": "estimate", "prior_interval": (0.1, 0.2)},
            "'prior_interval' must not be given with prior='estimate', which has its own",
        ),
        (models, label, labeled | {"prior": 0.4}, "'prior' must not be given"),
        (models, label, labeled | {"priors": (0.1, 0.2)}, "'priors' must not be given"),
        (models, label, two | {"criteria": ["auc"]}, "'criteria' must be a registered metric"),
        (models, label, two | {"reference": "c"}, "'reference' must be 'best' or a model"),
        (models, label, two | {"priors": (0.9, 0.2)}, "'priors' must be a pair"),
        (models, label, two | {"sample_weight": [1, 1, 1, -1]}, "'sample_weight' must be finite"),
        (models, label, two | {"level": 2}, "'level' must be"),
        (models, label, two | {"threshold": None}, "'threshold' must be"),
        (models, label, {"setting": "x"}, "'setting' must specify"),
    ):
        with pytest.raises(ValueError, match=words):
            compare(given, of, **options)


def test_an_impossible_value_is_not_ranked():
    """Unbiased PU losses with few positives may be negative, which is impossible for a model."""
    rng = np.random.default_rng(2)
    label = np.arange(1110) < 110
    unlabeled = rng.uniform(0.0, 0.2, 1000)
    models = {
        "sure": np.r_[np.full(110, 0.999), unlabeled * 0.01],
        "plain": np.r_[np.full(110, 0.6), unlabeled],
        "third": np.r_[np.full(110, 0.55), unlabeled],
    }
    models["sure"][110:500] = 0.95
    found = compare(models, label, setting="two-sample", prior=0.8)
    one = found.criteria["log_loss"]
    assert one.estimates["sure"].raw < 0.0
    assert one.unranked.keys() >= {"sure"}
    assert "prior 0.8 is too large" in one.unranked["sure"]
    assert one.winner is None
    assert "sure" not in (*one.leaders, *one.differences)
    assert one.place("sure") == "impossible"
    assert one.ordering is None or "sure" not in one.ordering.models
    models["sure"][110:540] = 0.999  # 43% of the rows, which is consistent with 45%
    noisy = compare(models, label, setting="two-sample", prior=0.45).criteria["log_loss"]
    assert "too few positives (110)" in noisy.unranked["sure"]
    assert noisy.winner is None
    page = comparison_document(found, About(title="x"), ())
    assert any("impossible" in str(text) for text in page.verdict)
    assert "sure" not in str(page.verdict[0])


def test_it_quotes_the_calibration_error_of_the_report(drawn, found):
    models, label, options = drawn
    labeled = options["setting"] == "labeled"
    for name, s in models.items():
        scores = (
            PUScores.from_labels(label, s)
            if labeled
            else PUScores.from_pu_labels(label, s, **options)
        )
        assert found.criteria["debiased_ece"].estimates[name] == evaluate(scores).headline
    assert found.criteria["debiased_ece"].title == "Calibration error"


def test_a_tie_reports_the_undetectable_difference():
    """500 positives cannot distinguish two models that differ by 0.03; many more rows can."""
    world, seen, told = LogisticGaussian.calibrated(PRIOR), [], []
    for seed in range(5):
        scores = world.draw(500, 5000, setting="two-sample", seed=seed)
        unlabeled, positive = (np.asarray(group[0]) for group in scores.in_order())
        s = np.r_[positive, unlabeled]
        models = {"good": s, "off": expit(logit(s) + 0.3)}
        found = compare(
            models,
            np.arange(s.size) < 500,
            setting="two-sample",
            prior=PRIOR,
            criteria=["debiased_ece", "brier"],
        )
        one = found.criteria["debiased_ece"]
        seen.append(one.winner)
        told.append(one.visible)
        (gap,) = one.differences.values()
        assert one.visible == pytest.approx(max(gap.value - gap.low, 0.0))
    assert seen == [None] * 5
    assert min(told) > 0.03  # the true difference is below the detectable one
    text = str(comparison_document(found, About(title="x"), ()).sections[1].sentences[0])
    assert "these rows cannot show differences below" in text


# The command line.

ARGUMENTS = ["--label", "y", "--setting", "two-sample", "--prior", "0.3"]


def run(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def good(*arguments, **options):
    result = run(*arguments, **options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models, label, options = draw("two-sample", np.random.default_rng(12))
    weight = 1 + np.arange(label.size) % 2
    for name, s in models.items():
        table = np.column_stack([s, label, weight])
        np.savetxt(f"{name}.csv", table, "%.17g", ",", header="p,y,w", comments="")
    table = np.column_stack([*models.values(), label])
    np.savetxt("all.csv", table, "%.17g", ",", header="full,half,bold,y", comments="")
    return models, label, options


def test_the_json_of_a_comparison_is_that_of_the_library(files):
    models, label, options = files
    expected = plain(compare(models, label, **options).to_dict())
    out = json.loads(
        good("compare", "full.csv", "half.csv", "bold.csv", "--score", "p", *ARGUMENTS, "--json")
    )
    assert out["schema"] == "noneg.comparison/1"
    assert out["source"] == {
        "files": ["full.csv", "half.csv", "bold.csv"],
        "score": ["p"],
        "label": "y",
        "positive_label": None,
        "weight": None,
    }
    assert {key: out[key] for key in expected} == expected
    columns = [x for name in models for x in ("--score", name)]
    out = json.loads(good("compare", "all.csv", *columns, *ARGUMENTS, "--json"))
    assert {key: out[key] for key in expected} == expected


def test_the_table_of_a_comparison(files):
    models, label, options = files
    found = compare(models, label, **options)
    columns = [x for name in models for x in ("--score", name)]
    lines = good("compare", "all.csv", *columns, *ARGUMENTS)
    assert "3 models on the same rows: 120 labeled positives and 700 unlabeled rows" in lines
    for one in found.criteria.values():
        assert f"{one.title} ({one.better} is better), difference from {one.reference}" in lines
        for estimate in (*one.estimates.values(), *one.differences.values()):
            assert f"[{estimate.low:.4f}, {estimate.high:.4f}]" in lines
    assert lines.count("wins") == sum(one.winner is not None for one in found.criteria.values())
    assert "for all priors from 0.1765 to 0.4615: Proxy AUC" in lines or "best first" in lines


def test_options_of_a_comparison_arrive(files):
    models, label, options = files
    weight = 1 + np.arange(label.size) % 2
    expected = compare(
        {"old": models["full"], "new": models["bold"]},
        label,
        sample_weight=weight,
        prior_interval=(0.2, 0.35),
        threshold=0.3,
        reference="new",
        priors=(0.1, 0.5),
        level=0.9,
        **options,
    )
    out = good(
        *["compare", "full.csv", "bold.csv", "--score", "p", "--weight", "w", "--names", "old,new"],
        *["--prior-interval", "0.2", "0.35", "--threshold", "0.3", "--reference", "new"],
        *["--priors", "0.1", "0.5", "--level", "0.9", *ARGUMENTS, "--json"],
    )
    expected = plain(expected.to_dict())
    out = json.loads(out)
    assert {key: out[key] for key in expected} == expected
    text = good(
        "compare", "full.csv", "bold.csv", "--score", "p", "--reference", "bold", *ARGUMENTS
    )
    assert text.count("difference from bold") == len(COMPARED)
    text = good(
        *["compare", "full.csv", "bold.csv", "--score", "p", "--label", "y"],
        *["--setting", "labeled"],
    )
    assert "820 labeled rows, 120 positive; prior 0.146341" in text
    assert "prior 0.3 in [0.2, 0.35]" in good(
        *["compare", "full.csv", "bold.csv", "--score", "p", *ARGUMENTS],
        *["--prior-interval", "0.2", "0.35"],
    )


def test_criteria_of_a_comparison_are_any_comparable_metrics(files):
    models, label, options = files
    given = {name: models[name] for name in ("full", "bold")}
    expected = compare(given, label, criteria=["precision", "auroc"], **options)
    asked = ["compare", "full.csv", "bold.csv", "--score", "p", *ARGUMENTS]
    out = json.loads(good(*asked, "--criteria", "precision,auroc", "--json"))
    assert list(out["criteria"]) == ["precision", "auroc"]
    assert out["criteria"] == plain(expected.to_dict())["criteria"]
    # The help text shows the default without importing it.
    assert f"[default:{','.join(COMPARED)}]" in "".join(good("compare", "--help").split())


@pytest.mark.usefixtures("files")
def test_models_get_the_shortest_distinct_names():
    Path("x").mkdir()
    Path("x/full.csv").write_bytes(Path("half.csv").read_bytes())
    out = json.loads(
        good("compare", "full.csv", "x/full.csv", "--score", "p", *ARGUMENTS, "--json")
    )
    assert out["models"] == ["full.csv", "x/full.csv"]
    given = Path("full.csv").read_bytes()
    out = json.loads(
        good("compare", "-", "half.csv", *ARGUMENTS, "--score", "p", "--json", input=given)
    )
    assert out["models"] == ["standard input", "half"]
    Path("all2.csv").write_bytes(Path("all.csv").read_bytes())
    scores = ["--score", "full", "--score", "half"]
    out = json.loads(good("compare", "all.csv", "all2.csv", *scores, *ARGUMENTS, "--json"))
    assert out["models"] == ["all:full", "all:half", "all2:full", "all2:half"]


@pytest.mark.usefixtures("files")
def test_a_wrong_comparison_is_explained_in_one_paragraph():
    header, *rows = Path("full.csv").read_text().splitlines(keepends=True)
    Path("short.csv").write_text(header + "".join(rows[:-1]))
    Path("mixed.csv").write_text(header + "".join(rows[::-1]))
    Path("heavy.csv").write_text(header + "".join(rows).replace(",2\n", ",3\n"))
    score = ["--score", "p"]
    for arguments, words in (
        (["full.csv", *score], ["FILE must name at least two models", "several --score"]),
        (["full.csv", "short.csv", *score], ["same rows in the same order", "820", "819"]),
        (["full.csv", "mixed.csv", *score], ["same rows", "'y'", "'mixed.csv'", "row 0"]),
        (["full.csv", "heavy.csv", *score, "--weight", "w"], ["same rows", "'w'", "row 1"]),
        (
            ["full.csv", "half.csv", *score, "--names", "a"],
            ["--names must contain one name", "1 for 2"],
        ),
        (["full.csv", "half.csv", *score, "--names", "a,a"], ["--names", "'a' 2 times"]),
        (["full.csv", "half.csv", *score, "--names", "a,"], ["--names", "an empty one"]),
        (["full.csv", "full.csv", *score], ["--names", "'full.csv' 2 times"]),
        (["full.csv", "half.csv", *score, "--reference", "q"], ["--reference", "'full', 'half'"]),
        (["full.csv", "half.csv", "--score", "q"], ["--score must name a column", "'q'"]),
        (["full.csv", "no.csv", *score], ["FILE", "'no.csv'"]),
        (["full.csv", "half.csv", *score, "--priors", "0.5", "0.2"], ["--priors must be a pair"]),
        (["-", *score, "--score", "w"], ["standard input", "only once"]),
        (["full.csv", "half.csv", *score, "--criteria", "brier,"], ["--criteria must be a", "''"]),
        (["full.csv", "half.csv", *score, "--criteria", "ks_error"], ["--criteria", "ks_error"]),
    ):
        result = run("compare", *arguments, *ARGUMENTS)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        for word in words:
            assert word in result.stderr, result.stderr
    result = run(
        "compare", "full.csv", "half.csv", *score, "--label", "y", "--setting", "one-sample"
    )
    assert "--prior must be given with --setting one-sample" in result.stderr


def test_the_page_reports_the_winner_and_the_criterion():
    rng = np.random.default_rng(0)
    truth = rng.beta(1, 1, 20_000)
    label = rng.random(truth.size) < truth
    # One model is right on average but does not rank rows; the other ranks them but is far too
    # high.
    blunt, high = rng.uniform(0.49, 0.51, truth.size), truth**0.2

    def verdict(**models):
        found = compare(models, label, setting="labeled")
        return [
            str(sentence) for sentence in comparison_document(found, About(title="x"), ()).verdict
        ]

    assert verdict(right=truth, reversed=1 - truth) == ["right is best by every metric."]
    first, *others = verdict(blunt=blunt, high=high)
    assert first == "The best model depends on the metric."
    assert any(x.startswith("blunt is best by ") and "calibration error" in x for x in others)
    same = verdict(one=truth, two=truth)
    assert same[0] == "No model is significantly better than the others."


def two_models(seed, setting="two-sample", n=400):
    """Rows of two models, one better than the other."""
    random = np.random.default_rng(seed)
    y = random.random(n) < 0.4
    labeled = y & (random.random(n) < 0.5)
    x = np.where(y, 1.5, 0.0) + random.normal(size=n)
    models = {"a": 1 / (1 + np.exp(-x)), "b": 1 / (1 + np.exp(-x - 1.2 * random.normal(size=n)))}
    return models, labeled, {"setting": setting, "prior": 0.4}


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("name", ["auroc", "proxy_auc", "brier", "precision", "f_beta", "mcc"])
def test_differences_are_bounded_jointly(name, setting):
    """One distribution of the positives for both models: a linear program over rows gives the same
    range."""
    for seed in range(8):
        models, labeled, known = two_models(seed, setting, n=60)
        factor = 1.0 + seed / 3
        found = compare(models, labeled, **known, selection=factor, criteria=[name], reference="b")
        if found.criteria[name].unranked:  # few rows: an area above 1
            continue
        gap = found.criteria[name].differences["a"]
        if factor == 1.0:
            assert gap.identified is None
            continue
        rows = labeled if setting == "two-sample" else np.ones(60, bool)
        everyone = ~labeled if setting == "two-sample" else rows
        share = 0.0 if setting == "two-sample" else labeled.mean() / known["prior"]
        low, high = (share + (1 - share) * g for g in (1 / factor, factor))
        f = values(name, models, labeled, everyone, known["prior"])
        n = labeled.sum()
        ends = [
            sign
            * linprog(
                sign * f[0], A_eq=np.ones((1, n)), b_eq=[1.0], bounds=[(low / n, high / n)] * n
            ).fun
            for sign in (1, -1)
        ]
        wanted = np.array(ends) + f[1]
        np.testing.assert_allclose(gap.identified, wanted, atol=1e-9)
        assert gap.low <= gap.identified[0] <= gap.value <= gap.identified[1] <= gap.high


def values(name, models, labeled, everyone, prior):
    """Return the contribution of each labeled positive to the difference, and the remainder."""
    total, rest = 0.0, 0.0
    for sign, s in zip((1, -1), models.values(), strict=True):
        if name in ("auroc", "proxy_auc"):
            group = s[everyone] if name == "auroc" else s[~labeled]
            place = np.array([((group < x).mean() + (group <= x).mean()) / 2 for x in s[labeled]])
            unit, shift = (1 - prior, prior / 2 / (1 - prior)) if name == "auroc" else (1.0, 0.0)
            total, rest = total + sign * place / unit, rest - sign * shift
        elif name == "brier":
            total = total + sign * prior * (1 - 2 * s[labeled])
            rest += sign * (s[everyone] ** 2).mean()
        else:
            rule, ppr = METRICS[name].rule(), np.array((s[everyone] >= 0.5).mean())
            none, all_ = (float(rule(np.array(t), ppr, prior)) for t in (0.0, 1.0))
            total, rest = total + sign * (all_ - none) * (s[labeled] >= 0.5), rest + sign * none
    return total, rest


def test_a_lead_tips_at_its_selection():
    models, labeled, known = two_models(0, n=3000)
    found = compare(models, labeled, **known, criteria=["auroc", "debiased_ece"])
    factor = found.criteria["auroc"].tipping["b"]
    assert 1.0 < factor < 3.0
    assert found.criteria["debiased_ece"].tipping == {}
    for moved, holds in ((0.99, False), (1.01, True)):
        other = compare(models, labeled, **known, criteria=["auroc"], selection=factor * moved)
        gap = other.criteria["auroc"].differences["b"]
        assert (gap.low <= 0.0 <= gap.high) == holds
    page = comparison_document(found, About(title="two models"), ())
    said = [one.text for part in page.sections for one in part.sentences]
    assert any(f"by more than a factor of {factor:.2f}." in text for text in said)
