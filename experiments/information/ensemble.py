"""Train many networks at once; they share no weights, batches or statistics."""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from experiments.information.analysis import SEED, Cell
from experiments.stacked import Stacked
from experiments.study import command
from experiments.tables import Row
from noneg.lab.sgld import SGLD, Annealing
from noneg.lab.supersample import PUSupersample, pick
from noneg.learning.networks import CNN, resnet18
from noneg.learning.task import find_loss, make_task, pu_risks, soft_cross_entropy

# Tables 3 and 4 of the paper; the inverse temperature is that of the code it is based on.
BATCH = {"adam": 128, "sgd": 64, "sgld": 100, "sgld-code": 100}
LANGEVIN = {
    "mnist": {"lr": 0.004, "every": 100, "high": 4000.0},
    "cifar10": {"lr": 0.01, "every": 300, "high": 16_000.0},
}
NETWORK = {"mnist": CNN, "cifar10": resnet18}
# The fastest way to convolve on an H200, in 37 of 40 cells.
WAYS = {"mnist": "patch", "cifar10": "group"}
# Mean and standard deviation of the pixels in all training images, as published.
MEAN = {"mnist": [0.1307], "cifar10": [0.4914, 0.4822, 0.4465]}
SPREAD = {"mnist": [0.3081], "cifar10": [0.2470, 0.2435, 0.2616]}


def way_on(device: str, data: str) -> str:
    return "loop" if device == "cpu" else WAYS[data]


def fresh(data: str, count: int, *, way: str, device: str, seed: int) -> Stacked:
    """Return untrained networks."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Stacked([NETWORK[data]() for _ in range(count)], device=device, way=way)


@dataclass(frozen=True)
class Rows:
    """Training rows of each network, as image indices (networks, rows), on the device."""

    first: Tensor  # labeled: all rows; PU: the unlabeled ones
    positive: Tensor | None = None
    prior: float = 0.5


class Images:
    """All images in a data set and their labels, on the device."""

    def __init__(self, data: str, pixels: np.ndarray, labels: np.ndarray, device: str) -> None:
        self.pixels = torch.as_tensor(pixels, device=device)
        self.labels = torch.as_tensor(labels, device=device, dtype=torch.float32)
        shape = (-1, 1, 1)
        self.mean = 255.0 * torch.tensor(MEAN[data], device=device).reshape(shape)
        self.spread = 255.0 * torch.tensor(SPREAD[data], device=device).reshape(shape)

    def __call__(self, rows: Tensor) -> Tensor:
        return (self.pixels[rows].float() - self.mean) / self.spread


class Training:
    """The networks of one cell, their optimizer, and their batches."""

    def __init__(
        self, data: str, optimizer: str, rows: Rows, *, way: str, device: str, seed: int
    ) -> None:
        self.data, self.optimizer, self.rows = data, optimizer, rows
        self.networks = fresh(data, len(rows.first), way=way, device=device, seed=seed)
        self.update = make_optimizer(data, optimizer, self.networks.parameters, seed)
        self.source = torch.Generator(device).manual_seed(seed)
        self.batch = 64 if data == "cifar10" else BATCH[optimizer]

    @property
    def steps(self) -> int:
        """Number of steps per epoch."""
        return -(-self.rows.first.shape[1] // self.batch)

    def epoch(self, images: Images) -> float:
        """Make one pass over the rows and return the mean loss per step."""
        self.networks.base.train()
        total = torch.zeros((), device=images.pixels.device)
        for number in range(self.steps):
            if number == 0:
                first, positive = self._order(self.rows.first), self._order(self.rows.positive)
            loss = self.losses(images, first, positive, number)
            self.update(loss.sum())
            total += loss.detach().mean()
        return float(total) / self.steps

    def _order(self, rows: Tensor | None) -> Tensor | None:
        if rows is None:
            return None
        noise = torch.rand(rows.shape, generator=self.source, device=rows.device)
        return rows.gather(1, noise.argsort(dim=1))

    def losses(self, images: Images, first: Tensor, positive: Tensor | None, number: int) -> Tensor:
        """Return each network's loss on its batch."""
        chosen = first[:, number * self.batch : (number + 1) * self.batch]
        if positive is None:
            return soft_cross_entropy(self.networks(images(chosen)), images.labels[chosen]).mean(1)
        n = positive.shape[1]
        some = positive[:, number * n // self.steps : (number + 1) * n // self.steps]
        found = self.networks(images(torch.cat([some, chosen], dim=1)))
        return non_negative_risk(found[:, : some.shape[1]], found[:, some.shape[1] :], self.rows)

    @torch.no_grad()
    def margins(self, images: Images, rows: Tensor, part: int = 250) -> np.ndarray:
        """Return the margin of every row (networks, rows) for its network."""
        self.networks.base.eval()
        parts = [self.networks(images(some)).float().cpu() for some in rows.split(part, dim=1)]
        return torch.cat(parts, dim=1).numpy()


def non_negative_risk(positive: Tensor, unlabeled: Tensor, rows: Rows) -> Tensor:
    """Return the nnPU risk with the logistic loss (PU-ECE paper, Eq. 3) for each network."""
    sizes = (rows.positive.shape[1], rows.first.shape[1])
    task = make_task(*sizes, setting="two-sample", prior=rows.prior)
    loss = find_loss("logistic")
    on_positives, on_negatives = vmap(lambda p, u: pu_risks(p, u, task, loss))(positive, unlabeled)
    return on_positives + torch.relu(on_negatives)


def make_optimizer(
    data: str, name: str, parameters: dict[str, Tensor], seed: int
) -> Callable[[Tensor], None]:
    """Return a function that performs one optimization step."""
    tensors = list(parameters.values())
    schedule = None
    if name == "adam":
        update = torch.optim.Adam(tensors, lr=1e-3, betas=(0.9, 0.999))
    elif name == "sgd":
        update = torch.optim.SGD(tensors, lr=0.01, momentum=0.9)
    else:
        options = LANGEVIN[data]
        update = SGLD(tensors, options["lr"], inverse_temperature=10.0, seed=seed)
        schedule = Annealing(update, every=options["every"], high=options["high"])

    def step(loss: Tensor) -> None:
        update.zero_grad()
        loss.backward()
        if name == "sgld-code":
            # The published code draws noise with a standard deviation of 1/beta instead of 1 and
            # multiplies it by sqrt(2 lr / beta), so the variance is 2 lr / beta^3.
            for group in update.param_groups:
                group["inverse_temperature"] = schedule.inverse_temperature() ** 3
        update.step()
        if schedule is not None:
            schedule.step()

    return step


def rows_of(cell: Cell, device: str) -> tuple[Rows, Tensor]:
    """Return the training rows of all networks, and all rows in their supersamples."""
    first, positive, whole, prior = [], [], [], 0.5
    for number in range(cell.supersamples):
        pairs = cell.pairs(number)
        for coins in cell.membership(number):
            whole.append(pairs.rows())
            if isinstance(pairs, PUSupersample):
                p, u = pairs.training(coins)
                positive.append(p)
                first.append(u)
                prior = pairs.prior
            else:
                first.append(pick(pairs.X, coins))
    parts = (torch.as_tensor(np.array(x), device=device) for x in (first, positive, whole))
    first, positive, whole = parts
    return Rows(first, positive if positive.numel() else None, prior), whole


def trained(cell: Cell, images: Images, device: str) -> tuple[np.ndarray, Row]:
    """Return the margins for one cell, and how they were computed."""
    rows, whole = rows_of(cell, device)
    way = way_on(device, cell.data)
    training = Training(cell.data, cell.optimizer, rows, way=way, device=device, seed=SEED)
    start, loss = time.perf_counter(), float("nan")
    for _ in range(cell.epochs):
        loss = training.epoch(images)
    place = platform.processor() or "CPU"
    if device == "cuda":
        torch.cuda.synchronize()
        place = torch.cuda.get_device_name()
    found = training.margins(images, whole).reshape(cell.supersamples, cell.draws, -1, 2)
    return found, {
        "way": way,
        "seconds": round(time.perf_counter() - start, 1),
        "loss": loss,
        "command": command(),
        "seed": SEED,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "device": place,
    }
