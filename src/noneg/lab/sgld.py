r"""Stochastic gradient Langevin dynamics: gradient steps with Gaussian noise of a given variance.

.. math:: w_{t+1} = w_t - \eta_t \nabla \hat L(w_t) + \sqrt{2\eta_t/\beta_t}\;\xi_t,
    \qquad \xi_t \sim \mathcal N(0, I)

with rate :math:`\eta` and inverse temperature :math:`\beta` (Raginsky, Rakhlin & Telgarsky 2017;
Welling & Teh 2011 write :math:`\epsilon = 2\eta` and use the total loss over all rows instead of
:math:`\beta \hat L`). For small steps and full gradients, the stationary distribution has density
proportional to :math:`e^{-\beta \hat L(w)}`, so a mean loss over n rows with :math:`\beta = n`
gives the posterior.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.errors import InputError
from noneg.extras import optional

with optional("noneg.lab.sgld"):
    import torch
    from torch.optim import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["SGLD", "Annealing"]


class SGLD(Optimizer):
    r"""Gradient descent with injected noise of variance :math:`2\eta/\beta`.

    The noise in a step depends only on the seed and the step number. No global random state is read
    or changed, and an optimizer restored from ``state_dict()`` continues exactly where it stopped.

    Parameters
    ----------
    params : iterable
        Parameters or parameter groups, as for any torch optimizer.
    lr : float
        The rate :math:`\eta`, 0 or above.
    inverse_temperature : float
        The inverse temperature :math:`\beta`, above 0. With ``math.inf``, there is no noise, and
        steps are the same as with ``torch.optim.SGD``.
    seed : int
        Seed for the noise, 0 or above.

    Notes
    -----
    Parameter groups store ``lr`` and ``inverse_temperature``, so schedulers can change them between
    steps; `Annealing` changes both.

    Examples
    --------
    >>> import torch
    >>> w = torch.zeros(1000, requires_grad=True)
    >>> optimizer = SGLD([w], lr=0.02, inverse_temperature=4.0, seed=0)
    >>> w.grad = torch.ones(1000)
    >>> optimizer.step()
    >>> round(float(w.detach().mean()), 2), round(float(w.detach().std()), 2)  # sqrt(.04 / 4) = .1
    (-0.02, 0.1)
    """

    def __init__(self, params: Any, lr: float, *, inverse_temperature: float, seed: int) -> None:  # noqa: ANN401
        if not 0.0 <= lr < math.inf:
            msg = f"must be a finite number of at least 0, got {lr!r}. Pass a rate such as 0.004."
            raise InputError("lr", msg)
        if not inverse_temperature > 0.0:
            rule = "must be above 0"
            remedy = "Pass math.inf for steps without noise."
            raise InputError("inverse_temperature", rule, value=inverse_temperature, remedy=remedy)
        if seed < 0:
            raise InputError("seed", "must be an integer of at least 0", value=seed)
        super().__init__(
            params,
            {"lr": lr, "inverse_temperature": inverse_temperature, "seed": seed, "steps": 0},
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # noqa: ANN401
        """Take one step; if there is a closure, it computes the loss, which is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for number, group in enumerate(self.param_groups):
            sources: dict[torch.device, torch.Generator] = {}
            sd = math.sqrt(2.0 * group["lr"] / group["inverse_temperature"])
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.add_(p.grad, alpha=-group["lr"])
                if sd > 0.0:
                    if p.device not in sources:
                        sources[p.device] = _source(p.device, group, number)
                    p.add_(_noise(p, sources[p.device]), alpha=sd)
            group["steps"] += 1
        return loss


def _source(device: torch.device, group: dict[str, Any], number: int) -> torch.Generator:
    """Return the random generator for one step."""
    words = np.random.SeedSequence([group["seed"], number, group["steps"]]).generate_state(2)
    return torch.Generator(device).manual_seed(int(words[0]) << 31 ^ int(words[1]))


def _noise(p: Tensor, source: torch.Generator) -> Tensor:
    return torch.randn(p.shape, dtype=p.dtype, device=p.device, generator=source)


class Annealing:
    r"""Schedule with a stepwise decreasing rate and an increasing inverse temperature.

    .. math:: \eta_t = \eta_0\, r^{\lfloor t/k \rfloor}, \qquad
        \beta_t = \min\{\beta_{high}, \max\{\beta_{low}, \beta_0 e^{t/k}\}\}

    This is the schedule in the code of Harutyunyan et al. (2021, *Information-theoretic
    generalization bounds for black-box learning algorithms*), with r = 0.9, :math:`\beta_0 = 10`,
    :math:`\beta_{low} = 100`, and k = 100, :math:`\beta_{high} = 4000` for MNIST and k = 300,
    :math:`\beta_{high} = 16000` for CIFAR-10; in their code, the very first step has
    :math:`\beta = 10`. Call `step` after each optimizer step.

    Parameters
    ----------
    optimizer : SGLD
        The learning rates of its groups are :math:`\eta_0`; their inverse temperatures are
        replaced.
    decay : float
        The factor r, in (0, 1].
    every : int
        The number of steps k.
    start, low, high : float
        :math:`\beta_0`, :math:`\beta_{low}` and :math:`\beta_{high}`.

    Examples
    --------
    >>> import torch
    >>> w = torch.zeros(2, requires_grad=True)
    >>> optimizer = SGLD([w], lr=0.004, inverse_temperature=100.0, seed=0)
    >>> annealing = Annealing(optimizer, every=100, high=4000.0)
    >>> for _ in range(300):
    ...     annealing.step()
    >>> group = optimizer.param_groups[0]
    >>> round(group["lr"], 6), round(group["inverse_temperature"], 1)
    (0.002916, 200.9)
    """

    def __init__(
        self,
        optimizer: SGLD,
        *,
        every: int,
        high: float,
        decay: float = 0.9,
        start: float = 10.0,
        low: float = 100.0,
    ) -> None:
        if every < 1 or not 0.0 < decay <= 1.0 or not 0.0 < low <= high or not start > 0.0:
            msg = (
                "must be at least 1, 'decay' in (0, 1], 'start' above 0 and 0 < 'low' <= "
                f"'high', got {every!r}, {decay!r}, {start!r}, {low!r} and {high!r}."
            )
            raise InputError("every", msg)
        self.optimizer, self.every, self.decay = optimizer, every, decay
        self.start, self.low, self.high = start, low, high
        self.rates = [float(group["lr"]) for group in optimizer.param_groups]
        self.steps = 0
        self._apply()

    def step(self) -> None:
        """Advance to the next step's rate and inverse temperature."""
        self.steps += 1
        self._apply()

    def inverse_temperature(self) -> float:
        """Return the inverse temperature for the next step."""
        # Past the log of the ratio, the exponential might overflow, and 'high' applies anyway.
        exponent = min(self.steps / self.every, math.log(self.high / self.start))
        return min(self.high, max(self.low, self.start * math.exp(exponent)))

    def state_dict(self) -> dict[str, Any]:
        """Return the state needed by `load_state_dict`."""
        return {"rates": list(self.rates), "steps": self.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.rates, self.steps = list(state["rates"]), int(state["steps"])
        self._apply()

    def _apply(self) -> None:
        factor = self.decay ** (self.steps // self.every)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
            group["inverse_temperature"] = self.inverse_temperature()
