"""Displays show the numbers of their results and change only their own axes."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from noneg import PUScores, ece
from noneg.bins import bin_scores
from noneg.calibration import ece_by_prior, ece_interval, reliability
from noneg.metrics import estimate
from noneg.performance import auroc, largest_prior, pr, roc, roc_bounds
from noneg.plots import (
    PriorSensitivityDisplay,
    PromisedPrecisionDisplay,
    PUPrecisionRecallDisplay,
    PURocDisplay,
    ReliabilityDisplay,
    ScoreDistributionDisplay,
)
from noneg.plots.displays import FEWEST
from noneg.simulation import LogisticGaussian

WORLD = LogisticGaussian.less_calibrated()
SAMPLES = {
    "two-sample": WORLD.draw(100, 1000, setting="two-sample", seed=0),
    "one-sample": WORLD.draw(100, 1000, setting="one-sample", seed=0),
    "labeled": WORLD.draw(n=1000, setting="labeled", seed=0),
}
NOISY = SAMPLES["two-sample"].with_prior(0.87)
every_setting = pytest.mark.parametrize("scores", SAMPLES.values(), ids=SAMPLES)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def ends(display):
    """Return the ends of the interval bars, one row per point: x, low, x, high."""
    return np.array(display.bars_.get_segments()).reshape(-1, 4).T


def legend_texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def subtitle(display):
    return display.ax_.get_title(loc="left").split("\n")


def draw(display):
    """Render, and return the bounding box of every text and of the figure, in pixels."""
    display.figure_.canvas.draw()
    texts = [display.ax_.title, display.ax_._left_title, *display.legend_.get_texts()]
    texts += [ax.xaxis.label for ax in display.figure_.axes]
    texts += [ax.yaxis.label for ax in display.figure_.axes]
    return [t.get_window_extent() for t in texts if t.get_text()], display.figure_.bbox


# --- the numbers ---------------------------------------------------------------------------------


@every_setting
@pytest.mark.parametrize("band", ["pointwise", "simultaneous"])
def test_artists_hold_the_numbers_of_the_results(scores, band):
    options = {"bins": 7, "binning": "mass", "level": 0.9, "band": band}
    display = ReliabilityDisplay.from_scores(scores, **options, histogram_bins=12)
    expected = reliability(scores, **options)
    x, low, x_again, high = ends(display)

    np.testing.assert_array_equal(display.line_.get_xdata(), expected.score)
    np.testing.assert_array_equal(display.line_.get_ydata(), np.minimum(expected.frequency, 1))
    np.testing.assert_array_equal(x, expected.score)
    np.testing.assert_array_equal(x_again, expected.score)
    np.testing.assert_array_equal(low, np.minimum(expected.low, 1))
    np.testing.assert_array_equal(high, np.minimum(expected.high, 1))
    np.testing.assert_array_equal(display.diagonal_.get_xydata(), [[0, 0], [1, 1]])


@every_setting
def test_histograms_hold_shares_of_rows(scores):
    display = ReliabilityDisplay.from_scores(scores, histogram_bins=12)
    expected = bin_scores(scores, bins=12, binning="width")
    for patch, share in (
        (display.positive_, expected.positive),
        (display.marginal_, expected.marginal),
    ):
        np.testing.assert_array_equal(patch.get_data().values, share)
        np.testing.assert_array_equal(patch.get_data().edges, expected.edges)
        assert patch.get_data().values.sum() == pytest.approx(1.0)


def test_frame_is_the_table_of_the_diagram():
    display = ReliabilityDisplay.from_scores(NOISY, bins=15)
    frame = display.frame("pandas")
    assert list(frame) == list(display.reliability.columns())
    np.testing.assert_array_equal(frame["frequency"], reliability(NOISY).frequency)


def test_only_the_drawing_is_clipped():
    display = ReliabilityDisplay.from_scores(NOISY, bins=15)
    result, expected = display.reliability, reliability(NOISY)
    above = expected.frequency > 1
    assert above.any()
    assert (expected.low > 1).any()
    for name, column in expected.columns().items():
        np.testing.assert_array_equal(getattr(result, name), column)

    np.testing.assert_array_equal(display.above_one_.get_xdata(), expected.score[above])
    assert set(display.above_one_.get_ydata()) == {1.0}
    assert display.above_one_.get_marker() == "^"
    np.testing.assert_array_equal(display.line_.get_markevery(), ~above)
    assert display.line_.get_ydata().max() == 1.0
    assert ends(display)[[1, 3]].max() == 1.0
    assert "above 1, drawn at 1" in legend_texts(display.legend_)


@pytest.mark.parametrize("n", [3, 7, 49, 107])
def test_a_bin_full_of_positives_is_not_above_one(n):
    scores = PUScores.from_labels([0] * 10 + [1] * n, [0.1] * 10 + [0.9] * n)
    display = ReliabilityDisplay.from_scores(scores)
    assert display.above_one_.get_xdata().size == 0
    assert "above 1, drawn at 1" not in legend_texts(display.legend_)


# --- the words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "sample", "rows"),
    [
        ("two-sample", "two-sample: 100 positives, 1,000 unlabeled rows", "unlabeled rows"),
        ("one-sample", "one-sample: 100 positives, 1,000 unlabeled rows", "all rows"),
        ("labeled", "labeled: 1,000 rows, {:.0f} positives", "all rows"),
    ],
)
def test_subtitle_and_legends_say_what_is_shown(setting, sample, rows):
    scores = SAMPLES[setting]
    display = ReliabilityDisplay.from_scores(scores)
    assert subtitle(display) == [
        sample.format(scores.n_positive),
        f"prior {scores.prior:.3g}, 95% pointwise intervals",
        f"calibration error {ece_interval(scores)}",
    ]
    assert legend_texts(display.legend_)[:2] == ["estimate", "perfect calibration"]
    assert legend_texts(display.ax_histogram_.get_legend()) == ["positives", rows]


def test_axes_are_labeled():
    display = ReliabilityDisplay.from_scores(NOISY)
    assert display.ax_.get_ylabel() == "share of positives"
    assert display.ax_histogram_.get_xlabel() == "score"
    assert display.ax_histogram_.get_ylabel() == "share per bin"
    assert display.ax_histogram_.get_xlim() == display.ax_.get_xlim()


def test_subtitle_states_the_prior_of_the_bars():
    scores = NOISY.with_prior(0.5, (0.4, 0.6))
    display = ReliabilityDisplay.from_scores(scores, level=0.9, band="simultaneous")
    expected = "prior 0.5 in [0.4, 0.6], 90% simultaneous intervals at 0.5"
    assert subtitle(display)[1] == expected


def test_an_infinite_sample_is_named():
    scores = WORLD.draw(100, np.inf, setting="two-sample", seed=0)
    display = ReliabilityDisplay.from_scores(scores)
    expected = "two-sample: 100 positives, infinitely many unlabeled rows"
    assert subtitle(display)[0] == expected


def test_the_truth_needs_no_interval():
    world = PUScores(WORLD.positive_law(), WORLD.marginal_law(), prior=0.5, setting="two-sample")
    display = ReliabilityDisplay.from_scores(world)
    assert display.error is None
    np.testing.assert_array_equal(ends(display)[1], ends(display)[3])


def test_a_display_of_results_alone():
    display = ReliabilityDisplay(reliability=reliability(NOISY)).plot()
    assert display.ax_histogram_ is display.positive_ is display.marginal_ is None
    assert display.figure_.axes == [display.ax_]
    assert display.ax_.get_xlabel() == "score"
    assert subtitle(display) == ["95% pointwise intervals"]


def test_a_display_of_results_and_histogram():
    histogram = bin_scores(NOISY, bins=5, binning="width")
    display = ReliabilityDisplay(reliability=reliability(NOISY), histogram=histogram)
    assert display.plot(name="forest") is display
    assert display.positive_.get_data().values.size == 5
    assert legend_texts(display.legend_)[0] == "forest"


@every_setting
def test_no_text_leaves_the_figure(scores):
    first = ReliabilityDisplay.from_scores(scores, name="gradient boosting without any tuning")
    draw(first)
    second = ReliabilityDisplay.from_scores(NOISY, name="a model with a long name", ax=first.ax_)
    boxes, figure = draw(second)
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.x1
        assert box.y1 <= figure.y1


# --- the axes ------------------------------------------------------------------------------------


def test_settings_of_matplotlib_stay():
    before = dict(mpl.rcParams)
    draw(ReliabilityDisplay.from_scores(NOISY))
    assert dict(mpl.rcParams) == before


def test_an_axes_of_a_grid_keeps_its_place():
    figure, (left, right) = plt.subplots(1, 2)
    place, neighbor = left.get_position(), right.get_position()
    display = ReliabilityDisplay.from_scores(NOISY, ax=left)
    assert display.ax_ is left
    assert display.figure_ is figure
    assert plt.gca() is left
    assert len(figure.axes) == 3
    upper, lower = left.get_position(), display.ax_histogram_.get_position()
    np.testing.assert_allclose([lower.x0, lower.y0], [place.x0, place.y0])
    np.testing.assert_allclose([upper.x1, upper.y1], [place.x1, place.y1])
    assert lower.y1 < upper.y0
    np.testing.assert_array_equal(right.get_position(), neighbor)
    assert not right.has_data()


def test_a_pair_of_axes_holds_one_each():
    figure, axes = plt.subplots(2, 1)
    places = [ax.get_position() for ax in axes]
    display = ReliabilityDisplay.from_scores(NOISY, ax=axes)
    assert [display.ax_, display.ax_histogram_] == list(axes) == figure.axes
    np.testing.assert_array_equal([ax.get_position() for ax in axes], places)


def test_an_axes_outside_any_grid_shows_the_diagram_alone():
    ax = plt.figure().add_axes((0.2, 0.2, 0.5, 0.5))
    display = ReliabilityDisplay.from_scores(NOISY, ax=ax)
    assert display.ax_histogram_ is None
    assert display.figure_.axes == [ax]
    np.testing.assert_allclose(ax.get_position().bounds, (0.2, 0.2, 0.5, 0.5))


def test_three_axes_are_rejected():
    with pytest.raises(ValueError, match=r"'ax' must be an Axes, or a pair .* got 3"):
        ReliabilityDisplay.from_scores(NOISY, ax=plt.subplots(3, 1)[1])


def test_subfigures_serve_too():
    left, _ = plt.figure(layout="constrained").subfigures(1, 2)
    display = ReliabilityDisplay.from_scores(NOISY, ax=left.subplots())
    assert display.figure_ is left
    left.figure.canvas.draw()


def test_line_properties_in_either_spelling():
    display = ReliabilityDisplay.from_scores(NOISY, c="black", lw=3, ls="none", label="mine")
    assert display.line_.get_color() == "black"
    assert display.line_.get_linewidth() == 3
    assert to_hex(display.bars_.get_color()[0]) == "#000000"
    assert to_hex(display.marginal_.get_edgecolor()) == "#000000"
    assert display.marginal_.get_linestyle() not in {"none", "None"}
    assert legend_texts(display.legend_)[0] == "mine"


# --- two models ----------------------------------------------------------------------------------


def test_two_displays_share_axes():
    other = LogisticGaussian.better_calibrated().draw(100, 1000, setting="two-sample", seed=1)
    scores = SAMPLES["two-sample"]
    first = ReliabilityDisplay.from_scores(scores, name="one")
    second = ReliabilityDisplay.from_scores(other, name="two", ax=first.ax_)
    assert second.ax_histogram_ is first.ax_histogram_
    assert second.diagonal_ is first.diagonal_
    assert len(first.figure_.axes) == 2
    assert legend_texts(second.legend_)[:3] == ["one", "two", "perfect calibration"]
    assert legend_texts(second.ax_histogram_.get_legend()) == ["positives", "unlabeled rows"]
    assert subtitle(second) == [
        "two-sample: 100 positives, 1,000 unlabeled rows",
        "prior 0.5, 95% pointwise intervals",
        f"one: calibration error {ece_interval(scores)}",
        f"two: calibration error {ece_interval(other)}",
    ]


def test_two_displays_look_different_and_keep_their_numbers():
    first = ReliabilityDisplay.from_scores(SAMPLES["two-sample"])
    second = ReliabilityDisplay.from_scores(SAMPLES["labeled"], ax=first.ax_)
    for look in ("get_color", "get_marker"):
        assert getattr(first.line_, look)() != getattr(second.line_, look)()
    for look in ("get_color", "get_linestyle"):
        assert getattr(first.curve_, look)() != getattr(second.curve_, look)()
    assert first.positive_.get_hatch() != second.positive_.get_hatch()
    np.testing.assert_array_equal(second.line_.get_xdata(), second.reliability.score)
    np.testing.assert_array_equal(ends(second)[0], second.reliability.score)
    apart = second.line_.get_transform() - first.line_.get_transform()
    assert not np.allclose(apart.get_matrix()[0, 2], 0.0)
    tallest = max(
        second.positive_.get_data().values.max(), second.marginal_.get_data().values.max()
    )
    assert first.ax_histogram_.get_ylim()[1] > tallest
    assert first.ax_histogram_.get_ylim()[0] == 0.0


def test_differences_between_two_displays_are_shown_on_the_second():
    first = ReliabilityDisplay.from_scores(SAMPLES["two-sample"])
    second = ReliabilityDisplay.from_scores(SAMPLES["labeled"], ax=first.ax_)
    assert subtitle(second)[0].startswith("two-sample:")
    assert subtitle(second)[3].startswith("estimate 2: labeled: 1,000 rows")
    assert legend_texts(second.legend_)[:2] == ["estimate", "estimate 2"]
    legend = second.ax_histogram_.get_legend()
    assert legend_texts(legend) == ["positives", "unlabeled rows", "all rows"]


def test_histograms_join_a_diagram_without():
    first = ReliabilityDisplay.from_scores(NOISY, histogram_bins=None)
    second = ReliabilityDisplay.from_scores(NOISY, ax=first.ax_)
    assert first.ax_histogram_ is None
    assert second.ax_histogram_ is not None


def test_cleared_axes_start_afresh():
    first = ReliabilityDisplay.from_scores(NOISY, name="one")
    first.ax_.clear()
    second = ReliabilityDisplay.from_scores(NOISY, name="two", ax=first.ax_)
    assert len(second.figure_.axes) == 2
    assert len(second.ax_histogram_.patches) == 2
    assert legend_texts(second.legend_)[0] == "two"
    assert second.line_.get_color() == first.line_.get_color()


# --- the edge ------------------------------------------------------------------------------------

DEGENERATE = {
    "all equal": PUScores([0.3] * 50, [0.3] * 500, prior=0.4, setting="two-sample"),
    "one positive": PUScores([0.7], [0.1, 0.7, 0.9], prior=0.4, setting="two-sample"),
    "one row each": PUScores([0.5], [0.5], prior=0.5, setting="two-sample"),
    "ends only": PUScores([1.0, 1.0], [0.0, 1.0, 0.0], prior=0.9, setting="one-sample"),
    "no positive": PUScores.from_labels([0, 0, 0], [0.1, 0.2, 0.3]),
    "one labeled row": PUScores.from_labels([1], [1.0]),
    "positives elsewhere": PUScores([0.9] * 9, [0.1] * 90, prior=0.5, setting="two-sample"),
}


@pytest.mark.parametrize("scores", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_data_is_drawn(scores):
    display = ReliabilityDisplay.from_scores(scores, bins=15)
    draw(display)
    expected = reliability(scores)
    np.testing.assert_array_equal(display.line_.get_ydata(), np.minimum(expected.frequency, 1))
    assert np.isfinite(ends(display)).all()
    assert "(" not in subtitle(display)[0]


def test_one_is_singular():
    display = ReliabilityDisplay.from_scores(DEGENERATE["one row each"])
    assert subtitle(display)[0] == "two-sample: 1 positive, 1 unlabeled row"


def test_the_legend_hides_no_interval():
    for scores in (*SAMPLES.values(), *DEGENERATE.values(), NOISY):
        display = ReliabilityDisplay.from_scores(scores)
        draw(display)
        box = display.legend_.get_window_extent()
        for segment in display.bars_.get_segments():
            (x, low), (_, high) = display.bars_.get_transform().transform(segment)
            assert x < box.x0 or x > box.x1 or high < box.y0 or low > box.y1


def test_a_missing_matplotlib_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'noneg\[plot\]'"):
        ReliabilityDisplay.from_scores(NOISY)


# --- curves, prior, scores ------------------------------------------------------------------------


@every_setting
def test_roc_holds_the_curve_and_its_bounds(scores):
    display = PURocDisplay.from_scores(scores, name="model")
    expected = roc(scores, drop_intermediate=True)
    np.testing.assert_array_equal(display.line_.get_xdata(), expected.fpr)
    np.testing.assert_array_equal(display.line_.get_ydata(), expected.tpr)
    assert f"model: AUC {auroc(scores):.3f}" in legend_texts(display.ax_.get_legend())
    if scores.setting == "labeled":
        assert display.region_ is None
        return
    upper, lower = roc_bounds(scores).upper.envelope(), roc_bounds(scores).lower.envelope()
    corners = display.region_.get_xy()
    outline = np.concatenate([upper, np.array(lower)[:, ::-1]], axis=1).T
    np.testing.assert_array_equal(corners[: len(outline)], outline)


@every_setting
def test_precision_recall_holds_the_curve(scores):
    display = PUPrecisionRecallDisplay.from_scores(scores)
    expected = pr(scores)
    # A handful of positives above a threshold give a vertical line at recall zero, not a curve.
    shown = expected.recall * scores.n_positive >= FEWEST
    assert 0 < (~shown).sum() < 0.1 * shown.size
    np.testing.assert_array_equal(display.line_.get_xdata(), expected.recall[shown])
    np.testing.assert_array_equal(display.line_.get_ydata(), expected.precision[shown])
    assert display.chance_.get_ydata()[0] == scores.prior
    assert (display.region_ is None) == (scores.setting == "labeled")


def test_prior_sensitivity_marks_the_prior_and_its_limit():
    scores = SAMPLES["two-sample"]
    display = PriorSensitivityDisplay.from_scores(scores)
    curve = ece_by_prior(scores)
    np.testing.assert_array_equal(
        display.line_.get_xydata(), np.stack([curve.prior, curve.error]).T
    )
    np.testing.assert_allclose(display.point_.get_xydata(), [[scores.prior, ece(scores)]])
    assert display.limit_.get_xdata()[0] == largest_prior(scores)
    assert not display.ax_.patches
    known = PriorSensitivityDisplay.from_scores(scores.with_prior(scores.prior, (0.2, 0.6)))
    (span,) = known.ax_.patches
    assert (span.get_x(), span.get_x() + span.get_width()) == pytest.approx((0.2, 0.6))
    alone = PriorSensitivityDisplay(curve=curve, prior=scores.prior).plot()
    assert alone.limit_ is None
    with pytest.raises(ValueError, match="labeled"):
        PriorSensitivityDisplay.from_scores(SAMPLES["labeled"])


@every_setting
def test_distribution_holds_shares_and_negatives(scores):
    display = ScoreDistributionDisplay.from_scores(scores, bins=12)
    expected = bin_scores(scores, bins=12, binning="width")
    np.testing.assert_array_equal(display.positive_.get_data().values, expected.positive)
    np.testing.assert_array_equal(display.marginal_.get_data().values, expected.marginal)
    assert display.negative.sum() == pytest.approx(1.0)
    if scores.setting == "labeled":
        assert (display.negative >= -1e-12).all()


@pytest.mark.parametrize(
    "kind",
    [PURocDisplay, PUPrecisionRecallDisplay, PriorSensitivityDisplay, ScoreDistributionDisplay],
)
def test_displays_share_an_axes_and_give_a_frame(kind):
    scores = SAMPLES["two-sample"]
    before = dict(mpl.rcParams)
    first = kind.from_scores(scores, name="one")
    second = kind.from_scores(NOISY, name="two", ax=first.ax_)
    assert second.ax_ is first.ax_
    assert first.ax_.get_xlabel()
    assert first.ax_.get_ylabel()
    first.figure_.canvas.draw()
    assert len(first.frame("pandas")) > 2
    assert dict(mpl.rcParams) == before
    if hasattr(first, "line_"):
        colors = [to_hex(display.line_.get_color()) for display in (first, second)]
        assert colors[0] != colors[1]


def test_regions_show_what_selection_allows():
    """The curves of all distributions in the set lie between the two; at a factor of 1 they
    coincide."""
    scores = LogisticGaussian.less_calibrated(0.3).draw(200, 2000, setting="two-sample", seed=0)
    widths = []
    for factor in (1.001, 1.5, 2.0):
        given = scores.with_selection(factor)
        display = PURocDisplay.from_scores(given)
        bounds = display.bounds
        assert (bounds.lower.tpr <= bounds.upper.tpr + 1e-12).all()
        assert (bounds.lower.fpr >= bounds.upper.fpr - 1e-12).all()
        widths.append((bounds.upper.tpr - bounds.lower.tpr).max())
        for threshold in (0.3, 0.6):
            found = estimate("recall", given, threshold=threshold).identified
            at = np.flatnonzero(bounds.upper.thresholds >= threshold)[-1]
            assert found == pytest.approx((bounds.lower.tpr[at], bounds.upper.tpr[at]), abs=1e-9)
        plt.close(display.figure_)
        display = PUPrecisionRecallDisplay.from_scores(given)
        assert display.region_ is not None
        plt.close(display.figure_)
    assert widths[0] < 0.01 < widths[1] < widths[2]


def test_a_guarantee_takes_no_color_of_the_cycle():
    ax = plt.subplots()[1]
    shown = PromisedPrecisionDisplay.from_scores(SAMPLES["labeled"], ax=ax)
    assert shown.promise_.get_color() == shown.line_.get_color()
    (later,) = ax.plot([0, 1], [0, 1])
    assert to_hex(later.get_color()) == to_hex("C0")
