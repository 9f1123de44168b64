"""Ranks of methods over problems, and the diagram that shows them."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import friedmanchisquare

from noneg.cli import main
from noneg.lab.bench import Cell, CriticalDifferenceDisplay, RunConfig, rank_methods
from noneg.lab.bench.protocol import write_record


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


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


def test_a_metric_without_a_direction_is_rejected():
    with pytest.raises(ValueError, match=r"'metric' must be one of pu_ece, .*'luck'"):
        rank_methods(cells_of(np.ones((3, 3)), "luck"), metric="luck", criterion="c")


def test_too_few_methods_are_rejected():
    with pytest.raises(ValueError, match="at least three methods in at least two worlds"):
        rank_methods(cells_of(np.ones((3, 2))), metric="accuracy", criterion="c")


def test_points_bars_and_ruler_are_those_of_the_ranks():
    values = np.tile(np.linspace(0.9, 0.1, 6), (12, 1))
    cells = cells_of(values)
    ranks = rank_methods(cells, metric="accuracy", criterion="c")
    display = CriticalDifferenceDisplay.from_cells(cells, metric="accuracy", criterion="c")
    assert display.points_.get_xdata() == pytest.approx([1, 2, 3, 4, 5, 6])
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == list(ranks.methods)
    assert np.diff(display.ruler_.get_xdata())[0] == pytest.approx(ranks.critical_difference)
    spans = [tuple(np.rint(bar.get_ydata()).astype(int)) for bar in display.bars_]
    place = {m: k for k, m in enumerate(ranks.methods)}
    assert spans == [(place[group[0]], place[group[-1]]) for group in ranks.groups]
    assert len(spans) > 2
    # Bars in one column do not touch.
    for one in display.bars_:
        for two in display.bars_:
            if one is not two and one.get_xdata()[0] == two.get_xdata()[0]:
                (a, b), (c, d) = one.get_ydata(), two.get_ydata()
                assert b < c or d < a


def test_the_best_method_is_on_top_and_left():
    display = CriticalDifferenceDisplay.from_cells(
        cells_of(np.tile([0.2, 0.9, 0.5], (5, 1))), metric="accuracy", criterion="c"
    )
    assert display.ranks.methods == ("m1", "m2", "m0")
    assert display.ax_.yaxis_inverted()


def test_an_axes_of_the_user_is_used():
    _, ax = plt.subplots()
    cells = cells_of(np.random.default_rng(0).random((4, 3)))
    display = CriticalDifferenceDisplay.from_cells(cells, metric="accuracy", criterion="c", ax=ax)
    assert display.ax_ is ax
    assert len(display.frame()) == 3


def test_the_command_draws_it(tmp_path):
    folder = tmp_path / "records"
    for case in (1, 2):
        for name, accuracy in (("upu", 0.7), ("nnpu", 0.8), ("vpu", 0.9)):
            run = RunConfig(dataset="digits", setting="one-sample", algorithm=name, case=case)
            columns = {"step": [1], "proxy_accuracy": [1.0], "accuracy": [accuracy]}
            write_record(folder, run, {"status": "done", "checkpoints": columns})
    path = tmp_path / "cd.png"
    options = ["--metric", "accuracy", "--by", "proxy_accuracy", "--plot", str(path)]
    found = CliRunner().invoke(main, ["bench", "table", str(folder), *options])
    assert found.exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []
