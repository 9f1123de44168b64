"""The sections behind the numbers: the prior, theory, settings and terms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noneg.report import words
from noneg.report.document import Number, Section, Sentence, Table
from noneg.report.glossary import GLOSSARY
from noneg.theory import plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.evaluation import Evaluation
    from noneg.report.about import About

EPS = 0.01  # the precision that the theory box plans for


def prior_section(evaluation: Evaluation) -> Iterator[Section]:
    """Yield the error over the prior; nothing for labelled data."""
    if evaluation.setting == "labelled":
        return
    curve, prior = evaluation.prior_curve, evaluation.prior.value
    text = (
        f"The calibration error over the same {evaluation.bins} bins if the prior were another. A "
        "prior that is wrong by some amount moves the error by at most as much. The error is "
        f"smallest at a prior of {curve.best:.3f}, which says what the scores expect, not what is "
        "true."
    )
    fits = f"Priors up to {evaluation.sums.largest_prior:.3f} are compatible with the scores."
    least = evaluation.sums.least_prior
    grid = sorted({*(round(x / 10, 1) for x in range(1, 10) if x / 10 > least), round(prior, 6)})
    rows = tuple((Number(x, 3), Number(float(curve(x)))) for x in grid)
    header = ("prior", "calibration error")
    table = Table(caption="Error over the prior", header=header, rows=rows, folded=True)
    yield Section(
        name="prior",
        title="And if the prior were another?",
        sentences=(Sentence(text=text), Sentence(text=fits)),
        charts=("prior_curve",),
        tables=(table,),
    )


def theory_section(evaluation: Evaluation) -> Section:
    """Return what theory promises, and how many more positives would help."""
    sentences = [
        Sentence(
            text=f"{evaluation.bins} bins of equal mass balance the error of coarse bins against "
            "the noise of fine ones for samples of this size."
        )
    ]
    if evaluation.bounds:
        expected, probable = (evaluation.bounds[key].value for key in ("expected", "probable"))
        text = words.bound_sentence(expected, probable, evaluation.level, evaluation.bins)
        sentences.append(Sentence(text=text, key="bound"))
    if evaluation.setting != "labelled" and math.isfinite(evaluation.n_positive):
        floor = evaluation.sums.noise_floor * evaluation.prior.value
        text = words.floor_sentence(evaluation.sums.effective_positive, floor)
        sentences.append(Sentence(text=text, key="floor"))
        needed = positives_needed(evaluation)
        text = words.plan_sentence(needed, evaluation.n_positive, EPS)
        sentences.append(Sentence(text=text, key="plan"))
    return Section(
        name="theory", title="How sure can these rows make us?", sentences=tuple(sentences)
    )


def positives_needed(evaluation: Evaluation) -> int | None:
    """Return the positives that bring the half-width of the interval to `EPS`, None if none do."""
    sums, n = evaluation.sums, evaluation.n_marginal
    mean = sums.mean_score
    if not mean > 0.0 or sums.z**2 * mean / n >= EPS**2:
        return None
    return plan(
        EPS,
        evaluation.prior.value,
        n_unlabeled=None if math.isinf(n) else int(n),
        method="normal",
        delta=1.0 - evaluation.level,
        mean_score=min(mean, 1.0),
    ).n_positive


def computed_section(evaluation: Evaluation, about: About) -> Section:
    """Return settings, files, versions and the command."""
    settings = (
        ("Setting", evaluation.setting),
        ("Prior", f"{evaluation.prior.value!r} ({evaluation.prior.method})"),
        ("Level of intervals", f"{100 * evaluation.level:.6g} %"),
        ("Interval of the calibration error", evaluation.ece.method),
        ("Reliability intervals", f"{evaluation.reliability.band}"),
    )
    held = (
        "The page moves in your browser, from sums inside this file; nothing is sent anywhere. "
        "Bins stay those of the given prior, so each number equals what noneg gives for these bins "
        "at the prior of the slider. Numbers in grey are only known at the given prior."
    )
    sentences = () if evaluation.setting == "labelled" else (Sentence(text=held),)
    table = Table(caption="Settings", header=("", ""), rows=(*settings, *about.rows()))
    return Section(
        name="computed",
        title="How was this computed?",
        sentences=sentences,
        tables=(table,),
        code=about.command,
    )


def glossary_section() -> Section:
    """Return one sentence and one citation a term."""
    table = Table(caption="Terms", header=("term", "meaning", "read more"), rows=GLOSSARY)
    return Section(name="glossary", title="Glossary", tables=(table,))
