"""Langevin dynamics compared with closed forms for a Gaussian and with plain gradient descent."""

import io
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from noneg.lab.sgld import SGLD, Annealing  # noqa: E402

CHAINS = 20_000


def parameters(n=CHAINS, seed=0):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(n, dtype=torch.float64, generator=source).requires_grad_()


def descend(w, optimizer, steps, curvature=1.0, center=0.0):
    """Take gradient steps on the loss curvature (w - center)^2 / 2 for each chain."""
    for _ in range(steps):
        w.grad = curvature * (w.detach() - center)
        optimizer.step()


def test_the_noise_has_the_stated_variance():
    w = torch.zeros(CHAINS, dtype=torch.float64, requires_grad=True)
    optimizer = SGLD([w], lr=0.004, inverse_temperature=250.0, seed=3)
    w.grad = torch.full_like(w, 2.0)
    optimizer.step()
    noise = (w.detach() + 0.004 * 2.0).numpy()
    variance = 2 * 0.004 / 250.0
    # The sum of squares is chi-squared: relative standard error sqrt(2 / n).
    assert noise.var() == pytest.approx(variance, rel=4 * math.sqrt(2 / CHAINS))
    assert abs(noise.mean()) < 4 * math.sqrt(variance / CHAINS)


@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_the_stationary_distribution_is_the_posterior_of_a_gaussian(rate):
    """For n rows with variance s and a flat prior: the mean of the rows, with variance s / n."""
    n, variance, mean = 50, 2.0, 1.5
    w = parameters()
    # The mean loss is (w - mean)^2 / (2 s), and its inverse temperature is n.
    optimizer = SGLD([w], lr=rate * variance, inverse_temperature=n, seed=1)
    descend(w, optimizer, 400, curvature=1 / variance, center=mean)
    found = w.detach().numpy()
    # A finite step size widens the distribution by the factor 1 / (1 - rate / 2), exactly.
    expected = variance / n / (1 - rate / 2)
    assert found.var() == pytest.approx(expected, rel=4 * math.sqrt(2 / CHAINS))
    assert found.mean() == pytest.approx(mean, abs=4 * math.sqrt(expected / CHAINS))
    standard = (found - found.mean()) / found.std()
    # The fourth moment of a Gaussian is 3, and the standard error of its estimate is sqrt(96 / n).
    assert (standard**4).mean() == pytest.approx(3.0, abs=4 * math.sqrt(96 / CHAINS))


def test_without_temperature_it_is_gradient_descent():
    one, two = parameters(50), parameters(50)
    cold = SGLD([one], lr=0.1, inverse_temperature=math.inf, seed=0)
    plain = torch.optim.SGD([two], lr=0.1)
    descend(one, cold, 20, center=2.0)
    descend(two, plain, 20, center=2.0)
    assert torch.equal(one, two)


def test_the_seed_decides_and_nothing_global_is_touched():
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    before, words = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    found = []
    for seed in (0, 0, 1):
        w = parameters(100)
        descend(w, SGLD([w], lr=0.1, inverse_temperature=5.0, seed=seed), 3)
        found.append(w.detach())
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], words)  # noqa: NPY002


def test_steps_groups_and_parameters_have_noise_of_their_own():
    one, two, other = (torch.zeros(CHAINS, requires_grad=True) for _ in range(3))
    groups = [{"params": [one, two]}, {"params": [other]}]
    optimizer = SGLD(groups, lr=0.5, inverse_temperature=1.0, seed=0)
    rows = []
    for _ in range(2):
        for w in (one, two, other):
            w.data.zero_()
            w.grad = torch.zeros_like(w)
        optimizer.step()
        rows += [w.detach().numpy().copy() for w in (one, two, other)]
    correlation = np.corrcoef(rows) - np.eye(6)
    assert np.abs(correlation).max() < 4.5 / math.sqrt(CHAINS)


def test_a_restored_optimizer_goes_on_as_if_it_had_never_stopped():
    def make(w):
        optimizer = SGLD([w], lr=0.1, inverse_temperature=5.0, seed=0)
        return optimizer, Annealing(optimizer, every=3, high=400.0)

    def go(w, optimizer, annealing, steps):
        for _ in range(steps):
            descend(w, optimizer, 1)
            annealing.step()

    whole = parameters(30)
    go(whole, *make(whole), 10)
    first = parameters(30)
    optimizer, annealing = make(first)
    go(first, optimizer, annealing, 4)
    kept = io.BytesIO()
    torch.save([first.detach(), optimizer.state_dict(), annealing.state_dict()], kept)
    kept.seek(0)
    values, state, schedule = torch.load(kept, weights_only=True)
    second = values.requires_grad_()
    optimizer, annealing = make(second)
    optimizer.load_state_dict(state)
    annealing.load_state_dict(schedule)
    go(second, optimizer, annealing, 6)
    assert torch.equal(second, whole)


def test_a_closure_is_called_with_gradients():
    w = torch.ones(3, requires_grad=True)
    optimizer = SGLD([w], lr=0.5, inverse_temperature=math.inf, seed=0)

    def closure():
        optimizer.zero_grad()
        loss = (w**2).sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure).detach()) == 3.0
    assert w.tolist() == [0.0, 0.0, 0.0]


def test_parameters_without_a_gradient_stay():
    w, still = torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True)
    optimizer = SGLD([w, still], lr=0.5, inverse_temperature=1.0, seed=0)
    w.grad = torch.ones(3)
    optimizer.step()
    assert still.tolist() == [0.0, 0.0, 0.0]
    assert not (w == 0).any()


@pytest.mark.parametrize(("every", "high"), [(100, 4000.0), (300, 16_000.0)])
def test_the_schedule_is_that_of_the_published_code(every, high):
    """Origin: mnist_ld_schedule and cifar_resnet50_ld_schedule of github.com/hrayrhar/f-CMI."""
    w = parameters(2)
    optimizer = SGLD([w], lr=0.004, inverse_temperature=10.0, seed=0)
    annealing = Annealing(optimizer, every=every, high=high)
    rate = 0.004
    for step in range(1, 3000):
        annealing.step()
        if step % every == 0:
            rate *= 0.9
        group = optimizer.param_groups[0]
        assert math.isclose(group["lr"], rate, rel_tol=1e-12)
        beta = min(high, max(100, 10 * math.exp(step / every)))
        assert math.isclose(group["inverse_temperature"], beta, rel_tol=1e-12)


def test_it_is_an_optimizer_that_schedulers_of_torch_accept():
    w = parameters(2)
    optimizer = SGLD([w], lr=0.004, inverse_temperature=10.0, seed=0)
    stairs = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    for _ in range(4):
        descend(w, optimizer, 1)
        stairs.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lr": -1.0}, "'lr' must be a finite number of at least 0"),
        ({"inverse_temperature": 0.0}, "'inverse_temperature' must be above 0"),
        ({"inverse_temperature": math.nan}, "'inverse_temperature' must be above 0"),
        ({"seed": -1}, "'seed' must be an integer of at least 0"),
    ],
)
def test_bad_options_are_rejected_by_name(options, words):
    with pytest.raises(ValueError, match=words):
        SGLD([parameters(2)], **{"lr": 0.1, "inverse_temperature": 1.0, "seed": 0, **options})


def test_a_bad_schedule_is_rejected():
    optimizer = SGLD([parameters(2)], lr=0.1, inverse_temperature=1.0, seed=0)
    with pytest.raises(ValueError, match="'every' must be at least 1"):
        Annealing(optimizer, every=0, high=1000.0)
