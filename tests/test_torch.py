"""Metrics on tensors: batches, processes and devices add up to the result for all rows."""

import json
import pickle
import socket
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from strategies import scores as hard_scores

import noneg
from noneg.kernels import FINE_GRID, bucket_of
from noneg.metrics import METRICS

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")
from noneg import torch as nt  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def rows(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.beta(2, 5, n)
    return s, (rng.random(n) < 0.5 * s).astype(np.int64)


def exact(name, s, y, **options):
    scores = noneg.PUScores.from_pu_labels(y, s, prior=0.3, setting="one-sample")
    return METRICS[name].function(scores, **options)


@pytest.mark.parametrize("device", DEVICES)
@given(score=hard_scores())
def test_buckets_are_those_of_the_kernels(device, score):
    got = nt.bucket_of(torch.tensor(score, device=device)).cpu().numpy()
    np.testing.assert_array_equal(got, bucket_of(score, FINE_GRID))


NAMED = [getattr(nt, name) for name in nt.__all__ if name not in ("PUMetric", "bucket_of")]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("metric", NAMED)
def test_batches_add_up_to_all_rows(metric, device):
    s, y = rows()
    made = metric(setting="one-sample", prior=0.3).to(device)
    for start in range(0, s.size, 3000):
        piece = slice(start, start + 3000)
        made.update(torch.tensor(s[piece], device=device), torch.tensor(y[piece], device=device))
    # With twenty thousand rows, buckets contain at most a few, so a cut between bins moves by one
    # row.
    assert made.compute().item() == pytest.approx(exact(metric.name, s, y), abs=3e-4)
    assert made.compute().device.type == device
    made.reset()
    assert made.count.sum() == 0


def test_options_reach_the_metric():
    s, y = rows()
    made = nt.PUCalibrationError(setting="one-sample", prior=0.3, bins=15, binning="width")
    made.update(torch.tensor(s), torch.tensor(y))
    want = exact("ece", s, y, bins=15, binning="width")
    assert made.compute().item() == pytest.approx(want, abs=1e-4)


def test_forward_returns_the_batch_and_keeps_the_total():
    s, y = rows(1000)
    made = nt.PUBrierScore(setting="labeled")
    one = made(torch.tensor(s[:500]), torch.tensor(y[:500]))
    made(torch.tensor(s[500:]), torch.tensor(y[500:]))
    assert one.item() == pytest.approx(np.mean((s[:500] - y[:500]) ** 2), abs=1e-8)
    assert made.compute().item() == pytest.approx(np.mean((s - y) ** 2), abs=1e-8)


def test_float32_scores_and_pickling():
    s, y = rows(1000)
    s = s.astype(np.float32)
    made = nt.PUAUROC(setting="one-sample", prior=0.3)
    made.update(torch.tensor(s), torch.tensor(y))
    again = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert again.compute() == made.compute()
    assert made.compute().item() == pytest.approx(exact("auroc", s, y), abs=1e-5)


@pytest.mark.parametrize(
    ("preds", "target", "words"),
    [
        ([0.5, 2.0], [0, 1], r"'preds' must contain scores in \[0, 1\], got 2.0"),
        ([0.5, float("nan")], [0, 1], "got nan"),
        ([0.5, 0.5], [0, 3], "'target' must contain 0 and 1, got 3"),
        ([0.5, 0.5], [0], "'target' must have one entry per score, got 1 for 2"),
    ],
)
def test_wrong_batches_are_rejected(preds, target, words):
    made = nt.PUAUROC(setting="labeled")
    with pytest.raises(ValueError, match=words):
        made.update(torch.tensor(preds), torch.tensor(target))


def test_setting_and_prior_are_never_guessed():
    with pytest.raises(TypeError, match="setting"):
        nt.PUAUROC()
    made = nt.PUAUROC(setting="two-sample")
    made.update(torch.tensor([0.5, 0.5]), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="'prior' must be known"):
        made.compute()


@pytest.mark.parametrize("metric", [*NAMED, partial(nt.PUMetric, "ece")])
def test_keywords_are_those_of_torchmetrics_and_of_the_metric(metric):
    made = metric(setting="labeled", dist_sync_on_step=True, compute_on_cpu=True)
    assert made.dist_sync_on_step
    assert made.compute_on_cpu
    for wrong in ("bin", "kwargs", "dist_sync"):
        with pytest.raises(
            ValueError, match=f"Unexpected keyword.*`{wrong}`. Valid options are setting"
        ):
            metric(setting="labeled", **{wrong: 15})
    with pytest.raises(ValueError, match="'bin' is not an option of"):
        metric(setting="labeled", options={"bin": 15})
    with pytest.raises(ValueError, match="Expected keyword argument `sync_on_compute`"):
        metric(setting="labeled", sync_on_compute=3)


def test_sums_stay_doubles_when_a_model_changes_its_type():
    made = nt.PUAUROC(setting="labeled")
    model = torch.nn.Sequential(torch.nn.Linear(1, 1), made).to(torch.bfloat16)
    model.half()
    assert made.set_dtype(torch.float64) is made
    made.update(torch.tensor([0.9, 0.2]), torch.tensor([1, 0]))
    assert (made.total.dtype, made.count.dtype) == (torch.float64, torch.int64)
    assert made.compute() == 1.0
    with pytest.raises(ValueError, match=r"'dst_type' must be torch.float64.*got torch.float16"):
        made.set_dtype(torch.float16)


def test_plot_draws_the_value():
    plt = pytest.importorskip("matplotlib.pyplot")
    made = nt.PUAUROC(setting="labeled")
    made.update(torch.tensor([0.9, 0.2]), torch.tensor([1, 0]))
    for value in (None, [made.compute()] * 3):
        figure, axes = made.plot(value)
        assert axes.get_ylabel() == "PUAUROC"
        assert axes.lines[0].get_ydata()[0] == 1.0
        plt.close(figure)


def in_process(rank, port):
    """Print the result of one of two processes, each with half of the rows."""
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    s, y = rows()
    made = nt.PUCalibrationError(setting="one-sample", prior=0.3)
    made.update(torch.tensor(s[rank::2]), torch.tensor(y[rank::2]))
    # After compute, the state is local to the process again.
    sys.stdout.write(json.dumps([made.compute().item(), int(made.count.sum())]))
    dist.destroy_process_group()


def test_two_processes_give_what_one_gives():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    processes = [
        subprocess.Popen([sys.executable, __file__, str(rank), str(port)], stdout=subprocess.PIPE)
        for rank in (0, 1)
    ]
    try:
        found = [json.loads(process.communicate(timeout=300)[0]) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    s, y = rows()
    alone = nt.PUCalibrationError(setting="one-sample", prior=0.3)
    alone.update(torch.tensor(s), torch.tensor(y))
    for value, own_rows in found:
        assert value == pytest.approx(alone.compute().item(), abs=1e-12)
        assert own_rows == s.size // 2


if __name__ == "__main__":
    in_process(*map(int, sys.argv[1:]))


@pytest.mark.parametrize("name", ["auroc", "precision", "recall", "ece"])
def test_bounds_are_those_of_all_rows(name):
    from noneg.metrics import estimate
    from noneg.simulation import LogisticGaussian
    from noneg.torch import PUMetric

    scores = LogisticGaussian.less_calibrated(0.3).draw(200, 1000, setting="two-sample", seed=0)
    (u, *_), (p, *_) = scores.in_order()
    metric = PUMetric(name, setting="two-sample", prior=scores.prior, selection=2.0)
    metric.update(torch.tensor(p), torch.ones(p.size))
    metric.update(torch.tensor(u), torch.zeros(u.size))
    expected = estimate(name, scores.with_selection(2.0)).identified
    assert metric.bounds().tolist() == pytest.approx(expected, abs=2e-3)
    assert metric.bounds()[0] < metric.compute() < metric.bounds()[1]
