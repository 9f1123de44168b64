"""Integrals over panels: Gauss-Legendre, with panels halved until two resolutions agree.

The laws of this package are smooth on the logit line, so a panel of about one standard deviation
reaches rounding error at once; only panels that hold something narrower are halved.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integrand: TypeAlias = Callable[[Floats], Floats]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_BLOCK: Final = 20_000  # panels evaluated at once, to bound the memory
_MAX_HALVINGS: Final = 60


def panel_integrals(integrand: Integrand, left: Floats, right: Floats) -> Floats:
    """Integrate over every panel ``[left[i], right[i]]`` with 16 Gauss-Legendre nodes.

    Parameters
    ----------
    integrand : callable
        Maps an array of logits to an array of the same shape, or of that shape with more
        axes in front (several integrands at once).
    left, right : ndarray of shape (n_panels,)
        Ends of the panels.

    Returns
    -------
    ndarray of shape (..., n_panels)

    Examples
    --------
    >>> import numpy as np
    >>> panel_integrals(np.exp, np.array([0.0]), np.array([1.0])).round(6)
    array([1.718282])
    """
    blocks = [
        _block_integrals(integrand, left[i : i + _BLOCK], right[i : i + _BLOCK])
        for i in range(0, max(left.size, 1), _BLOCK)
    ]
    return np.concatenate(blocks, axis=-1)


def _block_integrals(integrand: Integrand, left: Floats, right: Floats) -> Floats:
    half = (right - left) / 2
    nodes = (right + left)[:, None] / 2 + half[:, None] * _NODES
    integrals: Floats = np.asarray(integrand(nodes) @ _WEIGHTS * half, dtype=np.float64)
    return integrals


def converged_breaks(
    integrand: Integrand, breaks: Floats, *, absolute: float = 1e-15, relative: float = 1e-13
) -> Floats:
    """Halve panels until each integral agrees with the sum over its two halves.

    Parameters
    ----------
    integrand : callable
        As in `panel_integrals`.
    breaks : ndarray of shape (n,)
        Sorted ends of the first panels.
    absolute, relative : float
        A panel is done when the two resolutions differ by at most
        ``absolute + relative * |integral|``.

    Returns
    -------
    ndarray
        Sorted breaks, the given ones among them.

    Examples
    --------
    >>> import numpy as np
    >>> kink = converged_breaks(lambda v: np.abs(v - 0.3), np.array([0.0, 1.0]))
    >>> float(panel_integrals(lambda v: np.abs(v - 0.3), kink[:-1], kink[1:]).sum().round(12))
    0.29
    """
    found = [breaks]
    left, right = breaks[:-1], breaks[1:]
    coarse = panel_integrals(integrand, left, right)
    for _ in range(_MAX_HALVINGS):
        middle = (left + right) / 2
        lower = panel_integrals(integrand, left, middle)
        upper = panel_integrals(integrand, middle, right)
        error = np.abs(lower + upper - coarse)
        unfinished = error > absolute + relative * np.abs(coarse)
        halve = unfinished.reshape(-1, left.size).any(axis=0)
        if not halve.any():
            break
        found.append(middle[halve])
        left = np.concatenate([left[halve], middle[halve]])
        right = np.concatenate([middle[halve], right[halve]])
        coarse = np.concatenate([lower[..., halve], upper[..., halve]], axis=-1)
    return np.unique(np.concatenate(found))


def sign_changes(function: Integrand, grid: Floats) -> Floats:
    """Locate by bisection the points where `function` changes sign between grid neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> sign_changes(np.cos, np.array([0.0, 3.0, 6.0])).round(6)
    array([1.570796, 4.712389])
    """
    signs = np.sign(function(grid))
    flips = np.flatnonzero(signs[:-1] * signs[1:] < 0)
    left, right, sign = grid[flips], grid[flips + 1], signs[flips]
    for _ in range(_MAX_HALVINGS):
        middle = (left + right) / 2
        same = np.sign(function(middle)) == sign
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return (left + right) / 2
