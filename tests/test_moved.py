"""Every moved public name is found at its old path, with a warning that names the new one."""

import warnings
from importlib import import_module

import pytest

from noneg._moved import HOMES

pytest.importorskip("torch")

# As docs/api.rst listed them when they moved.
PUBLIC = {
    "noneg.bench": "PLANS Cell Draw Plan Ranks RunConfig Selected against_paper draw load_records "
    "pack_records paper_numbers rank_methods render select summarise summarize sweep",
    "noneg.datasets": "Dataset load",
    "noneg.information": "GapAndBound Information PUSupersample Runs Supersample bin_gaps "
    "binned_information covering_information draw_limit draw_membership ece_gaps entropy_bound "
    "generalization_bound knn_information label_gaps mass_gaps measure_information "
    "membership_noise plug_in_information printed_information reuse_bound run "
    "samplewise_information",
    "noneg.learning": "Annealing SGLD",
    "noneg.learning.sgld": "Annealing SGLD",
    "noneg.plots": "CriticalDifferenceDisplay",
    "noneg.prior": "PenalisedL1",
    "noneg.theory": "labelled_bias_bound labelled_generalization_bound labelled_optimal_bins",
}
NAMES = [(module, name) for module, names in PUBLIC.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_an_old_name_is_the_new_object_and_warns(module, name):
    home = HOMES.get(f"{module}.{name}") or HOMES[module]
    home, _, renamed = home.partition(":")
    now = renamed or name
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{name} has moved to {home}\.{now};"):
        found = getattr(import_module(module), name)
    assert found is getattr(import_module(home), now)


def test_everything_that_moved_is_tried():
    assert set(HOMES) <= {*PUBLIC, *(f"{module}.{name}" for module, name in NAMES)}


def test_a_star_import_finds_them_too():
    with pytest.warns(DeprecationWarning, match=r"noneg\.datasets\.\w+ has moved"):
        exec("from noneg.datasets import *", found := {})  # noqa: S102
    assert {"Dataset", "load"} <= set(found)


def test_importing_an_old_module_is_silent_and_the_warning_points_at_the_user():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import noneg.bench

        assert caught == []
        assert noneg.bench.RunConfig
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("module", ["noneg.bench", "noneg.learning", "noneg.plots"])
def test_an_unknown_name_is_rejected_as_by_any_module(module):
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = import_module(module).nothing
