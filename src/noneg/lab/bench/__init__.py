"""Many training runs, compared fairly: the protocol of the PU benchmark paper, corrected.

A `RunConfig` contains everything a run depends on, and defines its name. `draw` gives every
algorithm the same rows. `perform` trains one run and measures it at checkpoints; `run_all` does so
for many runs, each once, on one machine or a cluster. Selection by a criterion happens afterward,
from the records alone (`select`), and `summarize` makes tables.
"""

from __future__ import annotations

from noneg.lab.bench.draws import Draw, draw
from noneg.lab.bench.measures import Selected, select
from noneg.lab.bench.protocol import PLANS, Plan, RunConfig, load_records, pack_records, sweep
from noneg.lab.bench.ranks import CriticalDifferenceDisplay, Ranks, rank_methods
from noneg.lab.bench.summaries import Cell, against_paper, paper_numbers, render, summarize

__all__ = [
    "PLANS",
    "Cell",
    "CriticalDifferenceDisplay",
    "Draw",
    "Plan",
    "Ranks",
    "RunConfig",
    "Selected",
    "against_paper",
    "draw",
    "load_records",
    "pack_records",
    "paper_numbers",
    "rank_methods",
    "render",
    "select",
    "summarize",
    "sweep",
]
