"""Bounds on performance without negatives, and proxy metrics, compared with the papers' claims.

Figures 2 to 5 and Tables 1 and 2 of Claesen et al. (2015), Propositions 1 and 2 and the internal
label shift of the PU benchmark paper, and the coverage of intervals. Figure 5 and the tables need
``covtype.npz``, the propositions ``usps.npz``, both in the folder named by NONEG_DATA; parts whose
data are not available are skipped with a message.
"""

from experiments.drawing import style
from experiments.pu_performance.cover import coverage
from experiments.pu_performance.covtype import covtype
from experiments.pu_performance.proxies import proxies
from experiments.pu_performance.ranks import figure2, figure3, figure4, latent
from experiments.study import Study

STUDY = Study(
    "pu_performance",
    parts=(figure2, figure3, figure4, latent, covtype, proxies, coverage),
    page="experiments.pu_performance.page",
    style=style(12, 12.5, 10.5),
    optional=("figure5", "tables", "propositions", "orders", "shift", "coverage"),
)
