r"""Blurring masses on [0, 1] with kernels folded at both ends, by cosine transforms.

A folded kernel is diagonal in the cosine basis: it multiplies the coefficient number k of a measure
by its Fourier transform at the frequency :math:`\pi k`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct, idct, next_fast_len
from scipy.special import spherical_jn

from noneg.checks import check_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Blur = Callable[[NDArray[np.float64]], NDArray[np.float64]]

FEWEST_NODES, MOST_NODES = 2**14, 2**20
# Nodes in a kernel's standard deviation: gathering rows errs by less than 2e-6 of their total.
NODES_IN_WIDTH = 256
# A width that the finest line of nodes still resolves.
SMALLEST_WIDTH = 1e-5
# Bins in a kernel's standard deviation from which limits are computed, and their number.
BINS_IN_WIDTH = 8
FEWEST_BINS, MOST_BINS = 64, 4096


def check_width(value: object, name: str, smallest: float = SMALLEST_WIDTH) -> float:
    """Return the width of a kernel, large enough to be resolved."""
    rule = f"the width of a kernel, at least {smallest:g}"
    width = check_number(value, name, rule)
    if width < smallest:
        msg = f"'{name}' must be {rule}, got {value!r}."
        raise ValueError(msg)
    return width


def nodes_for(width: float) -> int:
    """Return the number of nodes that resolves a kernel."""
    n = FEWEST_NODES
    while n * width < NODES_IN_WIDTH and n < MOST_NODES:
        n *= 2
    return n


def bins_for(width: float) -> int:
    """Return a number of bins that is enough for the limits of an error."""
    wanted = np.clip(np.ceil(BINS_IN_WIDTH / width), FEWEST_BINS, MOST_BINS)
    return int(next_fast_len(int(wanted), real=True))


def gaussian(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Fourier transform of the standard normal density."""
    return np.exp(-(frequency**2) / 2.0)


def triweight(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the Fourier transform of the triweight kernel of unit variance.

    The kernel :math:`\tfrac{35}{32} (1 - u^2)^3` on [-1, 1] has variance 1/9 and the transform
    :math:`105\, j_3(\omega) / \omega^3` with the spherical Bessel function j_3.
    """
    w = 3.0 * frequency
    out = np.ones_like(w)
    return np.divide(105.0 * spherical_jn(3, w), w**3, out=out, where=w > 0.0)


def transfer(spectrum: Blur, width: float, n: int) -> NDArray[np.float64]:
    """Return the factors by which a kernel multiplies the first n cosine coefficients."""
    return spectrum(np.pi * width * np.arange(n, dtype=np.float64))


def moments(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the cosine coefficients :math:`\int \cos(\pi k x)` of masses gathered at nodes.

    Sharing a row between two nodes blurs it by a triangle, on average; that is undone.
    """
    n = masses.shape[-1]
    triangle = np.sinc(np.arange(n) / (2.0 * n)) ** 2
    coefficients: NDArray[np.float64] = dct(masses, type=2) / (2.0 * triangle)
    return coefficients


def density(coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density with these cosine coefficients, at the nodes."""
    values: NDArray[np.float64] = dct(coefficients, type=3)
    return values


def blurring(factors: NDArray[np.float64]) -> Blur:
    """Return the map that blurs masses in bins (the last axis); it is its own transpose."""

    def blur(masses: NDArray[np.float64]) -> NDArray[np.float64]:
        out: NDArray[np.float64] = idct(dct(masses, norm="ortho") * factors, norm="ortho")
        return out

    return blur


def mean_size(values: NDArray[np.float64]) -> float:
    """Return the integral of ``|f|`` over [0, 1] from values of a smooth f at the nodes.

    The rule of equal weights is exact but for the kinks of ``|f|`` at its zeros. Their first term
    in the Euler-Maclaurin formula, the second Bernoulli polynomial of the zero's place in its
    cell, is added.
    """
    size, sign = np.abs(values), values >= 0.0
    kink = np.flatnonzero(sign[1:] != sign[:-1])
    rise = size[kink] + size[kink + 1]
    part = size[kink] / rise
    return float((size.sum() + rise @ (part * part - part + 1.0 / 6.0)) / size.size)
