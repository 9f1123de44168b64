"""The ranking of models by prior: closed forms compared with brute force."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import samples

from noneg import PUScores, ece
from noneg.calibration.proper import log_loss
from noneg.metrics import METRICS, find_metric
from noneg.performance import thresholds
from noneg.performance.ordering import ordering, prior_range
from noneg.performance.ranking import average_precision
from noneg.performance.risk import risk
from noneg.rules import Curve

ORDERED = [*(name for name, metric in METRICS.items() if metric.has_curve), "f1"]
FUNCTIONS = {name: find_metric(name).function for name in ORDERED}
FIXED = ("auroc", "proxy_auc", "recall", "precision", "npv", "balanced_accuracy", "mcc")


def draw_models(seed, n_models=4, n_positive=60, n=300, setting="two-sample"):
    rng = np.random.default_rng(seed)
    out = {}
    for k in range(n_models):
        shift, scale = rng.normal(0.0, 1.0), rng.uniform(0.5, 2.0)
        x = rng.normal(size=n_positive + n)
        x[: n_positive + n // 3] += 1.0 + 0.2 * k
        s = 1.0 / (1.0 + np.exp(-(shift + scale * x)))
        out[f"m{k}"] = PUScores(s[:n_positive], s[n_positive:], prior=0.4, setting=setting)
    return out


def values_at(models, metric, prior, edges=None):
    out = []
    for scores in models.values():
        options = {"edges": edges[id(scores)]} if edges else {}
        out.append(FUNCTIONS[metric](scores.with_prior(prior), **options))
    return np.array(out)


def frozen_edges(models, metric):
    """Bins for the models' own prior."""
    from noneg.bins import bin_scores

    if metric != "ece":
        return None
    return {id(scores): bin_scores(scores).edges for scores in models.values()}


@pytest.mark.parametrize("metric", ORDERED)
def test_curves_are_the_metrics(metric):
    models = draw_models(0)
    edges = frozen_edges(models, metric)
    found = ordering(models, metric=metric, priors=(0.02, 0.98))
    for prior in (0.02, 0.1, 0.33, 0.5, 0.77, 0.98):
        expected = values_at(models, metric, prior, edges)
        np.testing.assert_allclose(list(found.values(prior).values()), expected, rtol=1e-9)


@pytest.mark.parametrize("metric", ORDERED)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_crossings_equal_brute_force(metric, seed):
    models = draw_models(seed)
    edges = frozen_edges(models, metric)
    sign = -1.0 if find_metric(metric).better == "higher" else 1.0
    found = ordering(models, metric=metric, priors=(0.05, 0.95))
    grid = np.linspace(0.05, 0.95, 61)
    for prior in grid[1:-1]:
        keys = sign * values_at(models, metric, prior, edges).round(12)
        assert found.at(prior) == tuple(f"m{k}" for k in np.argsort(keys, kind="stable"))
    for crossing in found.crossings:
        # Two models that swap ranks are equal there.
        gaps = np.diff(np.sort(values_at(models, metric, crossing, edges)))
        assert gaps.min() < 1e-9
    for one, other in zip(found.orders[:-1], found.orders[1:], strict=True):
        assert one != other


@pytest.mark.parametrize("metric", FIXED)
def test_some_orders_never_change(metric):
    for seed in range(20):
        assert ordering(draw_models(seed), metric=metric, priors=(0.01, 0.99)).crossings == ()


def test_others_do():
    for metric in set(ORDERED) - set(FIXED):
        changes = [
            len(ordering(draw_models(seed), metric=metric, priors=(0.01, 0.99)).crossings)
            for seed in range(40)
        ]
        assert sum(changes) > 0, (
            f"no prior changed the order by {metric} in 40 comparisons; "
            "if none can, add it to FIXED in this file"
        )


def test_accuracy_crosses_where_the_line_says():
    models = draw_models(1, 2)
    one, two = (thresholds.recall(s) for s in models.values())
    p, q = (float(np.mean(s.in_order()[0][0] >= 0.5)) for s in models.values())
    found = ordering(models, priors=(0.001, 0.999))
    expected = (p - q) / (2.0 * (one - two))
    assert found.crossings == pytest.approx([expected] if 0.001 < expected < 0.999 else [])


def test_options_arrive():
    models = draw_models(5)
    for metric, options, function in (
        ("f_beta", {"beta": 2.0, "threshold": 0.3}, thresholds.f_beta),
        ("risk", {"loss": "cost-sensitive", "cost": (1.0, 4.0)}, risk),
        ("log_loss", {"clip": 0.01}, log_loss),
        ("ece", {"bins": 5, "binning": "width"}, ece),
    ):
        found = ordering(models, metric=metric, priors=(0.1, 0.9), **options)
        for name, scores in models.items():
            expected = function(scores.with_prior(0.25), **options)
            assert found.values(0.25)[name] == pytest.approx(expected)
    with pytest.raises(ValueError, match="'beta' must be"):
        ordering(models, metric="f_beta", beta=-1.0)
    with pytest.raises(ValueError, match="'threshold' must be"):
        ordering(models, threshold="x")


def test_equal_models_keep_their_places():
    one = draw_models(7, 1)["m0"]
    (unlabeled, *_), (positive, *_) = one.in_order()
    same = PUScores(positive[::-1], unlabeled[::-1], prior=0.4, setting="two-sample")
    other = draw_models(8, 1)["m0"]
    for metric in ORDERED:
        found = ordering({"b": one, "x": other, "a": same}, metric=metric, priors=(0.01, 0.99))
        for order in found.orders:
            assert order.index("b") < order.index("a")
            assert abs(order.index("a") - order.index("b")) == 1


def test_an_undefined_metric_comes_last():
    never = PUScores([0.1, 0.2], [0.1, 0.3], prior=0.4, setting="two-sample")
    models = {"never": never, "some": draw_models(1, 1)["m0"]}
    assert ordering(models, metric="precision").orders == (("some", "never"),)
    assert np.isnan(ordering(models, metric="mcc").values(0.4)["never"])


def test_average_precision_of_positives_above_all_unlabeled_rows():
    top = PUScores([0.9, 0.95, 0.3], [0.1, 0.3, 0.5], prior=0.4, setting="two-sample")
    found = ordering({"top": top, "m": draw_models(1, 1)["m0"]}, metric="average_precision")
    for prior in (0.3, 0.4, 0.5):
        expected = average_precision(top.with_prior(prior))
        assert found.values(prior)["top"] == pytest.approx(expected)


def test_the_table():
    found = ordering(draw_models(1), priors=(0.1, 0.9))
    assert found.crossings
    table = found.columns()
    assert len(table["low"]) == len(found.models) * len(found.intervals)
    assert table["low"][0] == 0.1
    assert table["high"][-1] == 0.9
    assert tuple(table["model"][:4]) == found.orders[0]
    assert (np.diff(table["value_low"][:4]) <= 1e-12).all()
    for backend in ("pandas", "polars", "pyarrow"):
        frame = found.frame(backend)
        assert len(frame) == len(table["low"])
    out = found.to_dict()
    assert out["intervals"][0] == {
        "low": 0.1,
        "high": found.crossings[0],
        "order": list(found.orders[0]),
    }
    assert set(found.best) <= set(found.models)
    with pytest.raises(ValueError, match="'prior' must lie in the range"):
        found.at(0.95)


def test_the_default_range():
    scores = draw_models(0, 1)["m0"]
    low, high = prior_range(scores)
    assert low / (1 - low) == pytest.approx(0.5 * 0.4 / 0.6)
    assert high / (1 - high) == pytest.approx(2.0 * 0.4 / 0.6)
    assert prior_range(scores.with_prior(0.4, (0.3, 0.45))) == (0.3, 0.45)
    one = PUScores([0.9] * 3, [0.1] * 7, prior=0.32, setting="one-sample")
    least = max(one.prior / (2.0 - one.prior), one.least_prior)
    assert prior_range(one)[0] == ordering({"a": one, "b": one}).priors[0] == least


def test_wrong_models_are_explained():
    models = draw_models(0, 2)
    labeled = PUScores.from_labels([0, 1], [0.2, 0.7])
    one = PUScores([0.9] * 3, [0.1] * 7, prior=0.5, setting="one-sample")
    for wrong, options, words in (
        ({"a": labeled, "b": labeled}, {}, "same PU setting.*got 'labeled'"),
        ({"a": one, "b": models["m0"]}, {}, "got 'one-sample' and 'two-sample'"),
        ({"a": one}, {}, "at least two models.*got 1"),
        ({"a": one, "b": one}, {"priors": (0.01, 0.5)}, "must start at 0.0.*labeled share"),
        (models, {"priors": (0.5, 0.2)}, "low <= high"),
        (models, {"priors": (0.0, 0.2)}, "'priors' must be the share of positives"),
        (models, {"metric": "x"}, "'metric' must be a registered metric"),
    ):
        with pytest.raises(ValueError, match=words):
            ordering(wrong, **options)


lines = st.tuples(*[st.floats(-1.0, 1.0)] * 2, st.floats(0.1, 1.0), st.floats(0.0, 1.0))


@given(lines, lines)
def test_crossings_of_ratios_are_all_found(one, other):
    f, g = Curve.of(*one), Curve.of(*other)
    roots = f.crossings(g, 0.01, 0.99)
    grid = np.linspace(0.01, 0.99, 400)
    sign = np.sign(np.round(f(grid) - g(grid), 9))
    turns = np.flatnonzero(sign[1:] * sign[:-1] < 0)
    for k in turns:
        assert ((roots >= grid[k] - 1e-9) & (roots <= grid[k + 1] + 1e-9)).any()


@given(samples(settings=("two-sample", "one-sample")))
def test_any_two_models_can_be_put_in_order(sample):
    scores = sample.build()
    other = PUScores.from_pu_labels(
        sample.flags, sample.score[::-1], prior=sample.prior, setting=sample.setting
    )
    for metric in ORDERED:
        found = ordering({"a": scores, "b": other}, metric=metric)
        assert len(found.orders) == len(found.crossings) + 1
