"""Many training runs, compared fairly: the protocol of the PU benchmark paper, corrected.

A `RunConfig` says all that a run depends on, and names it. `draw` gives every algorithm the same
rows. `perform` trains and measures at checkpoints, `run_all` does so for many, on one machine or a
cluster, each run once. What is selected, by which criterion, is decided afterwards from the
records alone (`select`), and `summarise` makes tables.
"""

from __future__ import annotations

from noneg.lab.bench.draws import Draw, draw
from noneg.lab.bench.measures import Selected, select
from noneg.lab.bench.protocol import PLANS, Plan, RunConfig, sweep
from noneg.lab.bench.ranks import CriticalDifferenceDisplay, Ranks, rank_methods
from noneg.lab.bench.records import load_records, pack_records
from noneg.lab.bench.summaries import Cell, against_paper, paper_numbers, render, summarise

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
    "summarise",
    "sweep",
]
