"""One map for each group: priors, shrinkage, held-out scores and files."""

import json

import numpy as np
import pytest
from scipy.special import expit, logit

from noneg.recalibration import ByGroup, PriorShift, grouped, held_out_by_group, load
from noneg.recalibration.base import checksum

ROWS, GROUPS, LABELED = 6000, 12, 0.4


def world(spread, seed=0, setting="one-sample"):
    """Return rows whose groups are off by shifts of the log odds, and their true probabilities."""
    random = np.random.default_rng(seed)
    group = random.choice(GROUPS, ROWS, p=random.dirichlet(np.full(GROUPS, 5.0)))
    z = random.normal(-1.0, 1.2, ROWS)
    truth = expit(z + spread * random.standard_normal(GROUPS)[group])
    labeled = (random.random(ROWS) < truth) & (random.random(ROWS) < LABELED)
    rows = {"s": expit(z), "labeled": labeled, "by": np.char.add("g", group.astype(str))}
    known = {"setting": setting, "prior": float(truth.mean())}
    if setting == "two-sample":
        positive = random.choice(ROWS, 900, p=truth / truth.sum())
        keep = np.concatenate([np.arange(ROWS), positive])
        rows = {name: x[keep] for name, x in rows.items()}
        truth, rows["labeled"] = truth[keep], np.arange(keep.size) >= ROWS
    elif setting == "labeled":
        rows["labeled"], known = np.random.default_rng(1).random(ROWS) < truth, {"setting": setting}
    return rows, known, truth


@pytest.mark.parametrize("setting", ["one-sample", "two-sample", "labeled"])
def test_groups_that_differ_are_mended(setting):
    rows, known, truth = world(0.7, setting=setting)
    made = ByGroup().fit(**rows, **known)
    one, own = made.overall_.transform(rows["s"]), made.transform(rows["s"], rows["by"])
    assert np.mean((own - truth) ** 2) < 0.4 * np.mean((one - truth) ** 2)


def test_the_prior_of_a_group_follows_from_its_labels():
    rows, known, _ = world(0.7)
    made = ByGroup(PriorShift()).fit(**rows, **known)
    for name, prior in made.groups_.items():
        here = rows["by"] == name
        share = rows["labeled"][here].sum() / rows["labeled"].sum()
        assert prior == pytest.approx(known["prior"] * share / here.mean())
        mapped = made.transform(rows["s"][here], rows["by"][here])
        assert mapped.mean() == pytest.approx(prior, abs=1e-6)


def test_frequencies_are_repeated_rows():
    rows, known, _ = world(0.7)
    times = np.random.default_rng(2).integers(0, 3, ROWS)
    counted = ByGroup("platt").fit(**rows, **known, sample_weight=times)
    listed = ByGroup("platt").fit(**{k: np.repeat(x, times) for k, x in rows.items()}, **known)
    both = [one.transform(rows["s"], rows["by"]) for one in (counted, listed)]
    assert both[0] == pytest.approx(both[1], abs=1e-6)


def test_small_and_new_groups():
    rows, known, _ = world(0.7)
    rows["by"] = np.where(np.arange(ROWS) % 400 == 0, "tiny", rows["by"])
    made = ByGroup().fit(**rows, **known)
    assert made.small_[-1] == "tiny"
    pool = list(made.groups_)[-1]
    assert pool.startswith("other (")
    assert made.transform([0.3], ["tiny"]) == made.transform([0.3], [pool])
    assert made.unknown(["tiny", "g1", "new"]).tolist() == ["new"]
    assert made.transform([0.3], ["new"]) == made.overall_.transform([0.3])


def test_held_out_scores_of_groups_add_up_to_those_of_all_rows():
    rows, known, _ = world(0.7)
    found = held_out_by_group(**rows, **known, method="platt", folds=3)
    share = found.before.rows / found.before.rows.sum()
    for values, model in zip(found.brier, found.values.values(), strict=True):
        assert share @ values == pytest.approx(model["brier"].value)
    assert share @ found.brier_change[0] == pytest.approx(found.change["brier"].value)
    assert found.helps is True
    assert "better than one map" in found.verdict
    assert (found.brier_change[1] < 0.0).any()
    assert list(found.columns()["map"]) == ["platt"] * GROUPS


def test_groups_that_do_not_differ_do_not_help():
    rows, known, _ = world(0.0)
    found = held_out_by_group(**rows, **known, folds=2)
    assert set(found.calibrator.shifts_.values()) == {0.0}
    assert found.calibrator.maps_ == {}
    assert found.helps is None
    assert "not significantly better than one map for all rows" in found.verdict
    noisy = held_out_by_group(**rows, **known, method="platt", folds=3)
    assert noisy.helps is not True


def test_changes_of_groups_are_covered():
    """The change of each group's Brier score under a fixed map, in all groups at once."""
    kept = []
    for seed in range(60):
        rows, known, truth = world(0.7, seed)
        here = grouped._Rows.checked(*rows.values(), **known)
        after = expit(1.5 * logit(rows["s"]) + 0.5)
        columns = {"before": rows["s"], "one map": rows["s"], "by group": after}
        table = grouped._measured(here, here.scores(), pool=False)
        _, (_, low, high) = grouped._briers(here, columns, table, (known["prior"],) * 2)
        gain = (truth - after) ** 2 - (truth - rows["s"]) ** 2
        true = [gain[rows["by"] == name].mean() for name in table.group]
        kept.append(bool((low <= true).all() and (true <= high).all()))
    assert np.mean(kept) >= 0.9


@pytest.fixture(scope="module")
def made():
    rows, known, _ = world(0.7)
    return ByGroup().fit(**rows, **known)


class TestFiles:
    """What is restored, and what is refused."""

    def test_restored(self, made):
        restored = ByGroup.from_json(made.to_json())
        assert restored.to_json() == made.to_json()
        s, by = np.linspace(0.0, 1.0, 24), ["g1", "g2", "new"] * 8
        assert np.array_equal(restored.transform(s, by), made.transform(s, by))

    def test_changed(self, made):
        content = json.loads(made.to_json())
        content["state"]["shifts"]["g1"] = 5.0
        with pytest.raises(ValueError, match="checksum"):
            ByGroup.from_json(json.dumps(content))

    @pytest.mark.parametrize("part", ["overall", "maps", "shifts", "small"])
    def test_no_calibrator(self, made, part):
        content = json.loads(made.to_json())
        content["state"][part] = 3
        del content["checksum"]
        text = json.dumps(content | {"checksum": checksum(content)})
        with pytest.raises(ValueError, match="not a valid 'by-group' calibrator"):
            ByGroup.from_json(text)

    def test_one_map_is_no_map_by_group(self, made):
        with pytest.raises(ValueError, match=r"ByGroup\.from_json reads"):
            load(made.to_json())
        with pytest.raises(ValueError, match="not 'by-group'"):
            ByGroup.from_json(made.overall_.to_json())


def test_refusals():
    rows, known, _ = world(0.0)
    with pytest.raises(ValueError, match="prior"):
        ByGroup().fit(**rows, setting="one-sample")
    with pytest.raises(ValueError, match="by"):
        ByGroup().fit(rows["s"], rows["labeled"], rows["by"][1:], **known)
    with pytest.raises(ValueError, match="not fitted"):
        ByGroup().transform([0.5], ["g1"])
