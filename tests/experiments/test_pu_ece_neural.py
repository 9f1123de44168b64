"""The mathematics of experiments/pu_ece_neural: stacked training, risks, storage, measures."""

import argparse
import copy

import numpy as np
import pytest

from noneg.simulation import LogitMixture

torch = pytest.importorskip("torch")

from experiments.pu_ece_neural import measures, networks, objectives  # noqa: E402
from experiments.study import Run  # noqa: E402


def test_an_ensemble_trains_each_network_as_if_it_were_alone():
    from noneg.learning.algorithms import NNPU
    from noneg.learning.networks import MLP

    torch.manual_seed(0)
    alike = [MLP(6, (5, 4), outputs=1) for _ in range(3)]
    alone = copy.deepcopy(alike[1])
    x = torch.randn(12, 3, 2 * objectives.BATCH, 6)
    loss = objectives.pu_loss(NNPU(loss_name="sigmoid"), 0.4)
    side_by_side = networks.Ensemble(alike, lr=0.05, device=torch.device("cpu"))
    for step, batch in enumerate(x):
        side_by_side.step(batch, torch.func.vmap(loss), objectives.rate(step, len(x)))

    optimizer = torch.optim.AdamW(alone.parameters(), weight_decay=objectives.WEIGHT_DECAY)
    for step, batch in enumerate(x):
        optimizer.param_groups[0]["lr"] = 0.05 * objectives.rate(step, len(x))
        optimizer.zero_grad()
        loss(alone(batch[1])[:, 0]).backward()
        optimizer.step()
    for name, weight in alone.named_parameters():
        assert torch.allclose(side_by_side.weights[name][1], weight, atol=1e-5), name
        assert not torch.allclose(side_by_side.weights[name][0], weight, atol=1e-2), name


def test_the_best_weights_are_those_of_each_network_s_lowest_risk():
    best = networks.Best({"w": torch.zeros(2, 3)})
    risks = [[0.5, 0.4], [0.3, 0.4], [0.3, 0.1]]
    for epoch, risk in enumerate(risks):
        best.offer({"w": torch.full((2, 3), float(epoch))}, torch.tensor(risk), epoch)
    assert best.epoch.tolist() == [1, 2]
    assert best.weights["w"].tolist() == [[1.0] * 3, [2.0] * 3]


def test_an_interrupted_training_ends_where_an_uninterrupted_one_does(tmp_path):
    from noneg.learning.networks import MLP

    def fit():
        torch.manual_seed(1)
        made = networks.Ensemble([MLP(2, (3,), outputs=1)], lr=0.1, device=torch.device("cpu"))
        head = objectives.labeled_loss("logistic")

        def batches(epoch):
            x = torch.randn(2, 1, 8, 2, generator=torch.Generator().manual_seed(epoch))
            return ((part, part[..., 0] > 0) for part in x)

        def risk(weights):
            return weights["1.weight"].abs().sum((1, 2))

        return networks.Fit(made, 4, 2, batches, head, risk)

    class TwoEpochs(networks.Clock):
        def over(self):
            return len(cut.history) == 2

    whole, cut, rest = fit(), fit(), fit()
    whole.run(networks.Clock(np.inf, tmp_path), "whole")
    with pytest.raises(networks.OutOfTime):
        cut.run(TwoEpochs(np.inf, tmp_path), "cut")
    rest.run(networks.Clock(np.inf, tmp_path), "cut")
    assert torch.equal(torch.stack(whole.history), torch.stack(rest.history))
    for name, weight in whole.best.weights.items():
        assert torch.equal(weight, rest.best.weights[name])
    assert not list(tmp_path.glob("*.pt"))


@pytest.mark.parametrize("name", ["PU-sigmoid", "PN-logistic"])
def test_an_interrupted_network_with_batch_statistics_goes_on(tmp_path, name):
    from experiments.pu_ece_neural.networks import Plan, Residual

    random = np.random.default_rng(0)
    positive = random.random(900) < 0.4
    pixels = random.integers(0, 200, (900, 3, 8, 8)) + 50 * positive[:, None, None, None]
    data = objectives.Images(torch.from_numpy(pixels.astype(np.uint8)), positive, 800)
    plan = Plan((300,), 800, 3, 100, small=True)
    whole, cut, rest = (Residual(data, plan, name, 0) for _ in range(3))
    clock = networks.Clock(np.inf, tmp_path)
    (expected,) = whole.model(clock)
    stop = argparse.Namespace(folder=tmp_path, over=lambda: len(cut.fit.history) == 2)
    with pytest.raises(networks.OutOfTime):
        cut.model(stop)
    (found,) = rest.model(clock)
    assert (found.epoch, list(found.risks)) == (expected.epoch, list(expected.risks))
    for group, logits in expected.logits.items():
        assert np.array_equal(found.logits[group], logits)


def test_the_rate_rises_then_falls_to_zero():
    rate = objectives.rate
    shares = [rate(step, 200) for step in range(200)]
    assert shares[9] == 1.0
    assert shares[0] == pytest.approx(0.1)
    assert (np.diff(shares[:10]) > 0).all()
    assert (np.diff(shares[10:]) < 0).all()
    assert shares[-1] < 1e-3


def test_pu_error_is_the_error_rate_when_all_positives_are_labeled():
    rng = np.random.default_rng(2)
    y = rng.random(500) < 0.3
    said = rng.random((4, 500)) < 0.5
    risk = objectives.pu_error(
        torch.tensor(said, dtype=torch.float64), torch.tensor(y, dtype=torch.float64), y.mean()
    )
    assert risk.numpy() == pytest.approx((said != y).mean(axis=1))


@pytest.mark.parametrize("loss", ["logistic", "sigmoid"])
@pytest.mark.parametrize("shift", [-1.0, 1.0])
def test_a_mixed_batch_has_the_loss_of_its_two_parts(loss, shift):
    from noneg.learning.algorithms import NNPUGA

    torch.manual_seed(2)
    labeled = torch.arange(2 * objectives.BATCH) < objectives.BATCH
    # Labeled rows far above or below the others: the risk on negatives is negative or positive.
    f = torch.randn(len(labeled)) + torch.where(labeled, shift, -shift)
    order = torch.randperm(len(labeled))
    mixed = objectives.mixed_loss(loss, 0.9)
    expected = objectives.pu_loss(NNPUGA(loss_name=loss), 0.9)(f)
    assert float(mixed(f[order], labeled[order])) == pytest.approx(float(expected), rel=1e-5)
    without = mixed(f, torch.zeros_like(labeled))
    assert float(without) == pytest.approx(float(objectives.find_loss(loss).negative(f).mean()))


def test_labeled_rows_of_a_trial_stay_on_their_side_of_the_split():
    positive = np.arange(1000) % 3 == 0
    drawn = objectives.draw_rows(positive, 5, "test")
    assert np.array_equal(np.sort(np.concatenate([drawn.train, drawn.held])), np.arange(1000))
    assert len(drawn.held) == 100
    assert positive[drawn.train_pos].all()
    assert set(drawn.held_pos) <= set(drawn.held)
    small, large = drawn.labeled(50), drawn.labeled(100)
    assert (small.sum(), large.sum()) == (5, 10)
    assert (large >= small).all()


def test_stored_logits_come_back_rounded_and_sorted(tmp_path):
    rng = np.random.default_rng(3)
    spreads = zip(measures.GROUPS, (1e-3, 1, 5, 50, 500), strict=True)
    logits = {group: rng.normal(0, sd, 200) for group, sd in spreads}
    model = measures.Model("d", "PU-x", 100, 7, 3, 0.4, np.arange(4.0), np.ones(4), logits)
    measures.save(tmp_path / "a.npz", [model] * 4, {"seed": 0})
    models, made = measures.load(tmp_path / "a.npz")
    assert made == {"seed": 0}
    assert len(models) == 4
    assert (models[3].name, models[3].n, models[3].trial, models[3].epoch) == ("PU-x", 100, 7, 3)
    assert models[3].prior == 0.4
    for group, values in logits.items():
        assert models[3].logits[group] == pytest.approx(np.sort(values), rel=4.5 / 1024, abs=1e-6)


@pytest.fixture
def model():
    rng = np.random.default_rng(4)
    sizes = {
        "test_neg": 1500,
        "test_pos": 1000,
        "held_neg": 60,
        "held_pos": 30,
        "held_labeled": 10,
    }
    means = {"test_neg": -2.0, "held_neg": -2.0}
    logits = {g: rng.normal(means.get(g, 2.0), 1.0, n) for g, n in sizes.items()}
    return measures.Model("d", "PU-x", 100, 0, 1, 0.4, np.ones(1), np.ones(1), logits)


def test_the_mixture_s_true_error_is_the_paper_s_integral(model):
    world = measures.mixture_world(model, components=2)
    v = np.linspace(-30.0, 30.0, 10_001)
    sigma = 1.0 / (1.0 + np.exp(-v))
    on_pos, marginal = world.positive_law().density(v), world.marginal_law().density(v)
    integral = np.trapezoid(np.abs(world.prior * on_pos - sigma * marginal), v)  # Lemma 7
    assert world.tce() == pytest.approx(integral, abs=1e-6)
    assert len(world.positive.weights) == len(world.negative.weights) == 1


def test_bic_finds_the_two_peaks_that_are_there():
    rng = np.random.default_rng(5)
    logits = np.concatenate([rng.normal(-4.0, 1.0, 1000), rng.normal(3.0, 0.5, 3000)])
    law = measures.fit_mixture(logits, components=4)
    assert sorted(law.means) == pytest.approx([-4.0, 3.0], abs=0.15)
    assert sorted(law.weights) == pytest.approx([0.25, 0.75], abs=0.02)


def test_the_synthetic_experiment_takes_a_mixture_for_its_population(model, tmp_path):
    world = measures.mixture_world(model, components=2)
    run = Run(tmp_path, options=argparse.Namespace(processes=1))
    found = measures.measure_mixture(run, "a mixture", world, [100, 1000, 10_000], 2)
    assert {r["world"] for r in found["figure4"]} == {"a mixture"}
    assert all(0 <= r["bias"] < 0.5 for r in found["figure4"])
    assert [r["tce"] for r in found["worlds"]] == [world.tce()]


WORLD = LogitMixture(
    positive=([0.7, 0.3], [3.0, 0.0], [1.0, 2.0]), negative=([1.0], [-2.0], [1.5]), prior=0.3
)
SIZES = [(300.0, 700.0), (300.0, np.inf), (np.inf, 700.0), None]


@pytest.mark.parametrize("sizes", SIZES)
def test_noise_of_all_bins_together_is_that_of_the_mean(sizes):
    found = measures.residuals(WORLD, sizes, 500, bins=7)
    assert found.truth.sum() == pytest.approx(
        WORLD.prior - WORLD.marginal_law().moments([0, 1])[0, 1]
    )
    _, s, square = WORLD.marginal_law().moments([0, 1])[0]
    # Without noise, the frequencies of positives add up to 1; the mean score remains.
    expected = (square - s**2) / 700.0 if sizes and np.isfinite(sizes[1]) else 0.0
    if sizes is None:
        together = WORLD.positive_law().moments([0, 1])[0, 1]
        expected = (square + WORLD.prior * (1 - 2 * together) - (WORLD.prior - s) ** 2) / 500
    assert found.covariance.sum() == pytest.approx(expected, abs=1e-12)
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12


@pytest.mark.parametrize("sizes", SIZES)
def test_the_expected_bias_is_the_one_of_drawn_rows(sizes):
    from noneg.bins import bin_scores

    bias = []
    for seed in range(150):
        if sizes is None:
            scores = WORLD.draw(n=700, setting="labeled", seed=seed)
        else:
            scores = WORLD.draw(*sizes, setting="two-sample", seed=seed)
        found = np.abs(bin_scores(scores, bins=7, binning="mass").residual).sum()
        bias.append(abs(found - WORLD.tce()))
    expected = measures.residuals(WORLD, sizes, 700, bins=7).bias(WORLD.tce())
    assert abs(np.mean(bias) - expected) < 4 * np.std(bias) / 150**0.5


def test_pu_data_of_a_classifier_are_two_samples_of_its_rows(model):
    held, halves = measures.held_out_scores(model), measures.pu_scores(model)
    assert (held.n_positive, held.n_unlabeled) == (10, 100)
    assert halves.n_unlabeled == pytest.approx(1250, abs=75)
    assert halves.n_positive == pytest.approx(500, abs=50)
    assert measures.ece(halves) == pytest.approx(
        measures.ece(measures.labeled_scores(model)), abs=0.06
    )


def test_redrawn_labels_leave_only_the_noise_of_a_calibrated_classifier(model):
    # Mean of |N(0, p(1 - p) / n_b)| over bins is below .5 sqrt(2 / pi) sqrt(B / n).
    bound = 0.5 * (2 / np.pi) ** 0.5 * (13 / 2500) ** 0.5
    assert 0 < measures.ece(measures.redrawn_scores(model)) < bound
    assert measures.ece(measures.labeled_scores(model)) > bound


def test_the_ordering_is_decided_by_the_interval_of_paired_differences():
    names = ("PN-logistic", "PN-sigmoid")

    def decided(*errors):
        """The claim that the first error is smaller, given the errors of both by trial."""
        rows = [
            {"data": "mnist", "n": 100, "name": name, "trial": trial, "ece": error}
            | dict.fromkeys(("ece_platt", "ece_isotonic", "ece_auto"), "")
            for name, found in zip(names, errors, strict=True)
            for trial, error in enumerate(found)
        ]
        (row,) = measures.ordering_rows(rows)
        assert (row["smaller"], row["larger"], row["error"]) == (*names, "ece")
        return row

    low, high = (0.1, 0.2, 0.3), (0.2, 0.31, 0.39, 9.0)
    found = decided(low, high)
    assert found["difference"] == pytest.approx(0.1)
    # t quantile with 2 degrees of freedom, 4.3027, times .01 / sqrt(3)
    assert found["high"] - found["low"] == pytest.approx(2 * 4.3027 * 0.01 / 3**0.5, rel=1e-4)
    assert (found["verdict"], found["trials"]) == ("as in the paper", 3)
    assert decided(high, low)["verdict"] == "the other way"
    assert decided(low, (0.2, 0.1, 0.35))["verdict"] == "undecided"
