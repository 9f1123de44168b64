"""The benchmark on a user's own table, in populations where the truth is known."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from noneg.cli import main
from noneg.errors import InputError
from noneg.lab.bench.own import RATES, Trainer, _scores, _split, _trainer, rank_on


def world(n=900, prior=0.4, seed=0, *, shift=2.5, rate=0.5):
    random = np.random.default_rng(seed)
    y = random.random(n) < prior
    x = random.normal(shift * y[:, None], 1.0, (n, 3)) * [1.0, 100.0, 0.01]
    return x, y & (random.random(n) < rate), y


def test_parts_are_disjoint_and_scaled_by_training_rows():
    x, labeled, _ = world()
    parts = _split(x, labeled, 0)
    sizes = (parts.training.n_pos, parts.validation.n_pos, int(parts.flags.sum()))
    assert sum(sizes) == labeled.sum()
    assert parts.training.n_unl + parts.validation.n_unl + (~parts.flags).sum() == (~labeled).sum()
    rows = np.concatenate([parts.training.pos.numpy(), parts.training.unl.numpy()])
    assert rows.mean(0) == pytest.approx(np.zeros(3), abs=1e-4)
    assert rows.std(0) == pytest.approx(np.ones(3), abs=1e-4)
    everything = np.concatenate([rows, parts.validation.pos, parts.validation.unl, parts.test])
    assert len(np.unique(everything.round(5), axis=0)) == len(x)


def test_a_good_method_beats_one_that_takes_unlabeled_rows_for_negative():
    x, labeled, _ = world(4000, shift=1.0, rate=0.3)
    found = rank_on(
        x, labeled, setting="one-sample", prior=0.4, algorithms=["nnpu", "naive"], steps=300
    )
    # P vs U estimates the probability of being labeled, at most 0.3, instead of being positive.
    criteria = found.comparison.criteria
    assert [criteria[name].winner for name in ("brier", "log_loss")] == ["nnpu", "nnpu"]
    assert criteria["proxy_accuracy"].reference == "nnpu"
    assert found.left_out == {}


def test_one_method_under_two_names_of_a_loss_does_not_win():
    """If all decisions are equal, there is no winner."""
    x, labeled, _ = world()
    found = rank_on(
        x, labeled, setting="one-sample", prior=0.4, algorithms=["nnpu", "pusb"], steps=60
    )
    assert found.winner is None


@pytest.mark.parametrize("diverging", [RATES[1:], RATES])
def test_rates_at_which_training_diverges_are_skipped(monkeypatch, diverging):
    x, labeled, _ = world()
    parts, trainers = _split(x, labeled, 0), [_trainer(rate, 20, 0, "cpu") for rate in RATES]
    alone = _scores("nnpu", trainers[:1], parts, "one-sample", 0.4)
    train = Trainer.fit

    def fit(self, *arguments, **options):
        if self.lr in diverging:
            raise FloatingPointError
        return train(self, *arguments, **options)

    monkeypatch.setattr(Trainer, "fit", fit)
    if diverging == RATES:
        with pytest.raises(FloatingPointError, match="diverged at every learning rate"):
            _scores("nnpu", trainers, parts, "one-sample", 0.4)
    else:
        np.testing.assert_array_equal(_scores("nnpu", trainers, parts, "one-sample", 0.4), alone)


def test_the_command_reports_the_winner_or_that_there_is_none(tmp_path):
    x, labeled, _ = world()
    lines = [
        "confirmed,a,b,c",
        *(f"{int(f)},{a},{b},{c}" for f, (a, b, c) in zip(labeled, x, strict=True)),
    ]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(lines))
    base = ["bench", "run", "--data", str(path), "--label", "confirmed", "--setting", "one-sample"]
    few = ["--algorithm", "nnpu", "--algorithm", "upu", "--steps", "40"]
    runner = CliRunner()
    done = runner.invoke(main, [*base, *few, "--prior", "estimate"])
    assert done.exit_code == 0, done.output
    assert "Estimated prior" in done.output
    assert "nnpu" in done.output
    refused = runner.invoke(main, [*base, *few, "--prior", "much"])
    assert "must be a number in (0, 1) or 'estimate'" in " ".join(refused.output.split())
    assert "--prior" in runner.invoke(main, [*base, *few]).output
    assert "--dataset" in runner.invoke(main, ["bench", "run", "--setting", "one-sample"]).output


def test_tables_may_contain_text_and_missing_values(tmp_path):
    """A column of text is the only one that separates the classes."""
    random = np.random.default_rng(0)
    y = random.random(1200) < 0.5
    x = random.normal(size=1200)
    x[::7] = np.nan
    town = np.where(y, "Oslo", random.choice(["Rome", "Bonn"], 1200)).astype(object)
    town[::11] = None
    flags = (y & (random.random(1200) < 0.5)).astype(int)
    table = pa.table({"x": x, "town": town, "confirmed": flags})
    path = tmp_path / "mine.parquet"
    pq.write_table(table, path)
    few = {"algorithms": ["nnpu", "naive"], "steps": 60}
    features = table.drop_columns("confirmed")
    found = rank_on(features, flags, setting="one-sample", prior=0.5, **few).comparison
    assert found.criteria["proxy_auc"].estimates["nnpu"].value > 0.7
    base = ["bench", "run", "--data", str(path), "--label", "confirmed", "--setting", "one-sample"]
    base += ["--prior", "0.5", "--steps", "60", "--algorithm", "nnpu", "--algorithm", "naive"]
    done = CliRunner().invoke(main, base)
    assert done.exit_code == 0, done.output
    assert "The level of 95% allows for the number of methods" in done.output
    missing = CliRunner().invoke(main, [*base, "--label", "town2"])
    assert "--label must be a column of x, town, confirmed, got 'town2'" in missing.stderr


def test_wrong_arguments_are_rejected_before_training():
    x, labeled, _ = world()
    with pytest.raises(InputError, match="'prior' must be the share of positives"):
        rank_on(x, labeled, setting="one-sample", prior=1.5)
    with pytest.raises(InputError, match="'labeled'"):
        rank_on(x, np.where(labeled, 2, 5), setting="one-sample", prior=0.4)


def test_labels_may_be_signs():
    x, labeled, _ = world()
    few = {"setting": "one-sample", "prior": 0.4, "algorithms": ["nnpu", "upu"], "steps": 2}
    found = rank_on(x, np.where(labeled, 1, -1), **few)
    assert found.comparison.n_positive == labeled.sum() // 3


def test_too_few_labels_are_rejected():
    x, labeled, _ = world(60, prior=0.2)
    with pytest.raises(InputError, match="'labeled' must mark at least 30"):
        rank_on(x, labeled, setting="one-sample", prior=0.2, algorithms=["nnpu", "upu"])
    with pytest.raises(InputError, match="'algorithms' must be at least two of"):
        rank_on(x, labeled, setting="one-sample", prior=0.2, algorithms=["nnpu"])
