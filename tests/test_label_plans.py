"""Label plans compared with what the estimators then achieve."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import expit, ndtr
from scipy.stats import expon

from noneg import PUScores, theory
from noneg.cli import main
from noneg.errors import InputError
from noneg.performance import precision_interval, proxy_auc, recall_threshold


def test_a_precision_is_known_as_well_as_planned():
    rng, prior, t = np.random.default_rng(0), 0.2, 1.0
    tpr, fpr = ndtr(2 - t), ndtr(-t)
    flagged = prior * tpr + (1 - prior) * fpr
    plan = theory.plan_precision(
        within=0.05, prior=prior, precision=prior * tpr / flagged, flagged=flagged
    )
    widths = []
    for _ in range(20):
        y = rng.random(plan.n_unlabeled) < prior
        unlabeled = expit(rng.normal(size=y.size) + 2 * y)
        positive = expit(rng.normal(2, 1, plan.n_positive))
        scores = PUScores(positive, unlabeled, prior=prior, setting="two-sample")
        found = precision_interval(scores, threshold=expit(t))
        widths.append((found.high - found.low) / 2)
    assert np.mean(widths) == pytest.approx(0.05, rel=0.05)
    assert plan.error <= 0.05


def test_fixed_rows_leave_the_others():
    fixed = theory.plan_precision(prior=0.2, precision=0.6, flagged=0.2, n_unlabeled=100_000)
    free = theory.plan_precision(prior=0.2, precision=0.6, flagged=0.2)
    assert fixed.n_unlabeled == 100_000
    assert fixed.n_positive < free.n_positive
    with pytest.raises(InputError, match="flagged"):
        theory.plan_precision(prior=0.1, precision=0.6, flagged=0.2)


def test_two_models_are_distinguished_as_often_as_planned():
    """The variance compared with simulated areas in a population with exponential scores."""
    rng, prior, a, draws = np.random.default_rng(1), 0.2, 0.8, 400
    rate = (1 - a) / a  # P(positive > negative) = 1 / (1 + rate)
    plan = theory.plan_comparison(0.05, prior, auroc=a, correlation=0.0, ratio=5)
    found = []
    for _ in range(draws):
        y = rng.random(plan.n_unlabeled) < prior
        unlabeled = rng.exponential(np.where(y, 1 / rate, 1.0))
        positive = rng.exponential(1 / rate, plan.n_positive)
        both = PUScores(expon.cdf(positive, 0, 3), expon.cdf(unlabeled, 0, 3), setting="two-sample")
        found.append(proxy_auc(both))
    spread = np.std(found) * np.sqrt(2) / (1 - prior)
    assert 2.80 * spread == pytest.approx(0.05, rel=0.12)


def test_the_prior_by_reviewed_rows():
    plan = theory.plan_prior(0.02, 0.1)
    assert plan.n_reviewed == int(np.ceil(1.959964**2 * 0.09 / 0.0004))
    assert plan.error <= 0.02
    assert "865 reviewed rows" in str(plan)


@pytest.mark.parametrize(("recall", "within"), [(0.9, 0.03), (0.95, 0.02), (0.8, 0.05)])
def test_a_guaranteed_recall_is_exceeded_by_at_most_the_planned_amount(recall, within):
    plan = theory.plan_recall(recall, within=within)
    n = plan.n_positive

    def expected(n):
        s = np.arange(1, n + 1) / (n + 1)
        found = recall_threshold(PUScores(s, [0.5], setting="two-sample"), recall=recall)
        return 1 - found.threshold

    assert recall <= expected(n) <= recall + within
    assert expected(n) - recall == pytest.approx(plan.error, abs=1e-9)
    assert max(expected(n - k) for k in range(1, 25)) > recall + within


def test_a_recall_is_not_guaranteed_by_flagging_every_row():
    plan = theory.plan_recall(0.99, within=0.03)
    assert plan.n_positive == 299  # 0.99^n is at most 0.05.

    def threshold(n):
        s = np.arange(1, n + 1) / (n + 1)
        return recall_threshold(PUScores(s, [0.5], setting="two-sample"), recall=0.99).threshold

    assert threshold(298) == 0.0 < threshold(299)


def run(*arguments):
    return CliRunner().invoke(main, ["plan", *map(str, arguments)])


def test_the_command_answers_each_question():
    said = run("--recall", 0.9).stdout
    assert "To guarantee a recall of 0.9, you need" in said
    assert "labeled positives" in said
    out = json.loads(run("--prior-within", 0.02, "--prior", 0.1, "--json").stdout)
    assert (out["schema"], out["n_reviewed"], out["prior_within"]) == ("noneg.plan/1", 865, 0.02)
    assert (
        "To detect an AUROC difference"
        in run("--difference", 0.02, "--auroc", 0.9, "--prior", 0.1).stdout
    )
    said = run("--precision", 0.8, "--flagged", 0.05, "--prior", 0.1, "--within", 0.05).stdout
    assert "To estimate a precision of 0.8 to within 0.05, you need" in said
    assert "This is an approximation" in run("--eps", 0.05, "--prior", 0.3).stdout


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ([], "exactly one of --eps"),
        (["--eps", 0.1, "--recall", 0.9], "exactly one of --eps"),
        (["--recall", 0.9, "--prior", 0.1], "--prior cannot be given with --recall"),
        (["--difference", 0.1, "--prior", 0.1], "Give --auroc with --difference"),
        (["--eps", 0.1], "Give --prior with --eps"),
        (["--recall", 90], "--recall must be a number in (0, 1)"),
    ],
)
def test_the_command_rejects(asked, words):
    result = run(*asked)
    assert result.exit_code == 2
    assert words in result.stderr
