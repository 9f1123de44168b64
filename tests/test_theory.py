import json
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize_scalar

from noneg import theory
from noneg.bins import labeled_order_rule, order_rule

LOG2 = math.log(2.0)

sizes = st.integers(1, 10**7)
large = st.integers(1000, 10**7)
priors = st.decimals("0.001", "0.999", places=3).map(float)
lipschitz = st.floats(0, 5)
deltas = st.floats(1e-6, 0.5)
informations = st.floats(0, 1e4)
binnings = st.sampled_from(["width", "mass"])


def rate(n_positive, n_unlabeled, prior):
    return prior**2 / n_positive + 1 / n_unlabeled


def theorem_1(n_positive, n_unlabeled, prior, bins, binning, slope, tail=0.0):
    """Theorem 1, one line each, as printed in the paper."""
    if binning == "width":
        spread = 2 * rate(n_positive, n_unlabeled, prior) * (bins * LOG2 + tail)
        return (1 + slope) / bins + math.sqrt(spread)
    rest = n_unlabeled - bins
    spread = (1 + slope) / math.sqrt(rest) + math.sqrt(prior**2 / n_positive + 1 / rest)
    edges = (3 + 2 * slope) * bins / rest
    return (1 + slope) / bins + edges + math.sqrt(2 * (bins * LOG2 + tail)) * spread


def pu_ece(positive, unlabeled, prior, edges):
    share = np.histogram(positive, edges, (0, 1))[0] / len(positive)
    score = np.histogram(unlabeled, edges, (0, 1), weights=unlabeled)[0] / len(unlabeled)
    return np.abs(prior * share - score).sum()


class TestOrderRule:
    @given(sizes, sizes, priors)
    def test_is_the_smallest_whole_number_above_the_real_one(self, n_positive, n_marginal, prior):
        exact = Fraction(str(prior)) ** 2 / n_positive + Fraction(1, n_marginal)
        bins = order_rule(n_positive, n_marginal, prior)
        assert (bins - 1) ** 3 * exact < 1 <= bins**3 * exact

    @given(st.integers(1, 10**40))
    def test_labeled_is_the_largest_cube_root(self, n):
        bins = labeled_order_rule(n)
        assert bins**3 <= n < (bins + 1) ** 3

    @pytest.mark.parametrize("root", [2, 10, 26, 123, 10**7, 3**40])
    def test_perfect_cubes(self, root):
        assert labeled_order_rule(root**3) == root
        assert labeled_order_rule(root**3 - 1) == root - 1
        assert order_rule(math.inf, root**3, 0.5) == root
        assert order_rule(math.inf, root**3 + 1, 0.5) == root + 1

    def test_doubles_would_give_another_number(self):
        assert order_rule(8788, 35_152, 0.5) == 26
        assert math.ceil(1 / math.cbrt(rate(8788, 35_152, 0.5))) == 27
        # The double closest to 0.3 is smaller, which is enough to require an eleventh bin.
        assert order_rule(90, math.inf, 0.3) == 10
        assert 10**3 * Fraction(0.3) ** 2 / 90 < 1

    @pytest.mark.parametrize("cast", [int, float, np.int64, np.float64])
    def test_number_types(self, cast):
        assert order_rule(cast(8788), cast(35_152), np.float64(0.5)) == 26
        assert labeled_order_rule(cast(1000)) == 10

    def test_weighted_sizes_need_not_be_whole(self):
        assert labeled_order_rule(1000.5) == 10
        assert order_rule(math.inf, 1000.5, 0.5) == 11

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ((0, 10, 0.5), "n_positive"),
            ((10, math.nan, 0.5), "n_marginal"),
            ((10, 10, 1.0), "prior"),
            ((math.inf, math.inf, 0.5), "both be infinite"),
        ],
    )
    def test_refusals(self, arguments, name):
        with pytest.raises(ValueError, match=name):
            order_rule(*arguments)

    @pytest.mark.parametrize("n", [0, -1, math.inf, math.nan])
    def test_labeled_refusals(self, n):
        with pytest.raises(ValueError, match="'n' must be"):
            labeled_order_rule(n)


class TestOptimalBins:
    @pytest.mark.parametrize("slope", [1.0, 1.2, 1.5])
    def test_published_example(self, slope):
        def best(**options):
            return theory.optimal_bins(1000, 10_000, 0.5, lipschitz=slope, **options)

        assert best() == best(binning="width") == 15
        assert best(rule="closed-form") == 7
        assert best(rule="bound") in (19, 20)
        assert 32 <= best(rule="bound", binning="width") <= 37

    @given(sizes, st.integers(2, 3000), priors, lipschitz, binnings)
    def test_bound_is_minimised_by_trying_all(self, n_positive, n_unlabeled, prior, slope, binning):
        def value(bins):
            return theorem_1(n_positive, n_unlabeled, prior, bins, binning, slope)

        found = theory.optimal_bins(
            n_positive, n_unlabeled, prior, binning=binning, lipschitz=slope, rule="bound"
        )
        least = min(map(value, range(1, n_unlabeled // 2 + 1)))
        assert 1 <= found <= n_unlabeled // 2
        assert value(found) == pytest.approx(least, rel=1e-12)

    @given(large, large, priors, lipschitz)
    def test_width_closed_form_is_the_minimum_of_theorem_1(self, n_p, n_u, prior, slope):
        a = rate(n_p, n_u, prior)
        fit = minimize_scalar(
            lambda x: theorem_1(n_p, n_u, prior, math.exp(x), "width", slope),
            bounds=(0.0, 25.0),
            method="bounded",
            options={"xatol": 1e-9},
        )
        bins = (2 * (1 + slope) ** 2 / LOG2 / a) ** (1 / 3)
        assert math.exp(fit.x) == pytest.approx(bins, rel=1e-5)
        assert fit.fun == pytest.approx(3 * ((1 + slope) * LOG2 / 2 * a) ** (1 / 3), rel=1e-12)
        options = {"binning": "width", "lipschitz": slope}
        closed = theory.optimal_bins(n_p, n_u, prior, **options, rule="closed-form")
        assert closed == min(math.floor(bins), n_u // 2)
        assert theory.optimal_bins(n_p, n_u, prior, **options, rule="bound") - closed in (0, 1)

    @given(large, large, priors, lipschitz)
    def test_mass_closed_form_is_the_minimum_of_a_looser_bound(self, n_p, n_u, prior, slope):
        a = rate(n_p, n_u, prior)

        def loosened(bins):
            return (2 + slope) * (1 / bins + 2 * (2 + math.sqrt(LOG2)) * math.sqrt(a * bins))

        fit = minimize_scalar(
            lambda x: loosened(math.exp(x)),
            bounds=(-2.0, 25.0),
            method="bounded",
            options={"xatol": 1e-9},
        )
        closed = theory.optimal_bins(n_p, n_u, prior, lipschitz=slope, rule="closed-form")
        assert math.exp(fit.x) == pytest.approx(
            (2 + math.sqrt(LOG2)) ** (-2 / 3) * a ** (-1 / 3), rel=1e-5
        )
        assert closed == pytest.approx(math.exp(fit.x), abs=1.001)
        assert theorem_1(n_p, n_u, prior, closed, "mass", slope) <= loosened(closed)

    @given(st.integers(4, 3000), lipschitz, binnings)
    def test_labeled_bound_is_minimised_by_trying_all(self, n, slope, binning):
        options = {"binning": binning, "lipschitz": slope}
        found = theory.labeled_optimal_bins(n, **options, rule="bound")
        tried = {
            bins: theory.labeled_bias_bound(n, bins=bins, **options).value
            for bins in range(1, n // 2 + 1)
        }
        assert tried[found] == pytest.approx(min(tried.values()), rel=1e-12)

    @given(large, lipschitz)
    def test_labeled_closed_form_is_next_to_the_minimum(self, n, slope):
        options = {"binning": "width", "lipschitz": slope}
        closed = theory.labeled_optimal_bins(n, **options, rule="closed-form")
        assert theory.labeled_optimal_bins(n, **options, rule="bound") - closed in (0, 1)

    def test_never_fewer_than_two_rows_a_bin(self):
        assert [theory.labeled_optimal_bins(n) for n in (1, 2, 3, 7, 8, 27)] == [1, 1, 1, 1, 2, 3]
        assert [theory.optimal_bins(10**6, n, 0.1) for n in (1, 2, 3, 4, 9)] == [1, 1, 1, 2, 3]
        assert theory.optimal_bins(10**9, 6, 0.1, binning="width", rule="closed-form") == 3

    @pytest.mark.parametrize("rule", ["rule", "closed-form", "bound"])
    @pytest.mark.parametrize("binning", ["width", "mass"])
    def test_an_infinite_sample_is_the_limit_of_large_ones(self, rule, binning):
        options = {"rule": rule, "binning": binning}
        for place in (0, 1):
            finite, infinite = [5000.0, 5000.0], [5000.0, 5000.0]
            finite[place], infinite[place] = 1e15, math.inf
            assert theory.optimal_bins(*finite, 0.3, **options) == theory.optimal_bins(
                *infinite, 0.3, **options
            )
        with pytest.raises(ValueError, match="both be infinite"):
            theory.optimal_bins(math.inf, math.inf, 0.3, **options)

    @pytest.mark.parametrize(
        ("options", "name"),
        [({"rule": "best"}, "rule"), ({"binning": "equal"}, "binning"), ({"lipschitz": -1}, "lip")],
    )
    def test_refusals(self, options, name):
        with pytest.raises(ValueError, match=f"'{name}"):
            theory.optimal_bins(100, 100, 0.5, **options)
        with pytest.raises(ValueError, match=f"'{name}"):
            theory.labeled_optimal_bins(100, **options)

    def test_no_closed_form_for_labeled_mass_bins(self):
        with pytest.raises(ValueError, match="none has been published"):
            theory.labeled_optimal_bins(100, binning="mass", rule="closed-form")


class TestBound:
    def test_the_value_is_the_sum_of_its_parts(self):
        bound = theory.Bound(
            binning=0.5, statistical=0.25, information=0.125, prior=0.0625, reference="none"
        )
        assert bound.value == float(bound) == 0.9375
        assert not bound.vacuous
        assert theory.Bound(binning=1.0, reference="none").vacuous is False
        assert theory.Bound(binning=1.001, reference="none").vacuous is True

    def test_is_frozen_and_plain(self):
        bound = theory.bias_bound(10, 100, 0.5, bins=2, binning="mass", lipschitz=1.0)
        with pytest.raises(FrozenInstanceError):
            bound.value = 0.0
        told = json.loads(json.dumps(bound.to_dict()))
        assert told.pop("vacuous") is True
        assert theory.Bound(**{k: v for k, v in told.items() if k != "value"}) == bound
        assert told["reference"] == "PU-ECE, Theorem 1"


class TestPUBounds:
    @given(large, large, priors, st.integers(1, 500), binnings, lipschitz, st.none() | deltas)
    def test_theorem_1(self, n_p, n_u, prior, bins, binning, slope, delta):
        bound = theory.bias_bound(
            n_p, n_u, prior, bins=bins, binning=binning, lipschitz=slope, delta=delta
        )
        events = 2 if binning == "mass" else 1
        tail = 0.0 if delta is None else math.log(events / delta)
        expected = theorem_1(n_p, n_u, prior, bins, binning, slope, tail)
        assert bound.value == pytest.approx(expected, rel=1e-12)
        assert (bound.binning > 1.0000001 * (1 + slope) / bins) is (binning == "mass")
        assert bound.information == bound.prior == 0

    @given(large, large, priors, st.integers(1, 500), lipschitz, deltas)
    def test_two_events_share_delta(self, n_p, n_u, prior, bins, slope, delta):
        def mass(delta, form):
            return theory.bias_bound(
                n_p, n_u, prior, bins=bins, binning="mass", lipschitz=slope, delta=delta, form=form
            ).value

        assert mass(delta, "corrected") == pytest.approx(mass(delta / 2, "printed"), rel=1e-12)
        assert mass(delta, "corrected") > mass(delta, "printed")
        assert mass(None, "corrected") == mass(None, "printed")

    @given(large, large, priors, st.integers(1, 400), binnings, lipschitz, deltas)
    def test_monotone_in_everything(self, n_p, n_u, prior, bins, binning, slope, delta):
        def value(n_p=n_p, n_u=n_u, prior=prior, slope=slope, delta=delta):
            return theory.bias_bound(
                n_p, n_u, prior, bins=bins, binning=binning, lipschitz=slope, delta=delta
            ).value

        start = value()
        assert value(n_p=2 * n_p) < start
        assert value(n_u=2 * n_u) < start
        assert value(prior=prior / 2) < start
        assert value(slope=slope + 1) > start
        assert value(delta=delta / 2) > start
        assert value(delta=None) < start

    @pytest.mark.parametrize("binning", ["width", "mass"])
    def test_infinite_samples_are_limits(self, binning):
        def value(n_p, n_u):
            return theory.bias_bound(n_p, n_u, 0.3, bins=10, binning=binning, lipschitz=1.0).value

        assert value(math.inf, 1000) == pytest.approx(value(1e18, 1000), rel=1e-12)
        assert value(1000, math.inf) == pytest.approx(value(1000, 1e18), rel=1e-6)
        assert value(1000, math.inf) == pytest.approx(0.2 + math.sqrt(0.18 * 10 * LOG2 / 1000))
        assert value(math.inf, math.inf) == 0.2

    @given(
        st.lists(st.floats(0, 1), min_size=1, max_size=20),
        st.lists(st.floats(0, 1), min_size=1, max_size=20),
        priors,
        priors,
        st.integers(1, 5),
    )
    def test_wrong_prior(self, positive, unlabeled, prior, assumed, bins):
        change = pu_ece(positive, unlabeled, prior, bins) - pu_ece(
            positive, unlabeled, assumed, bins
        )
        bound = theory.prior_error_bound(prior, assumed)
        assert abs(change) <= bound.value + 1e-12
        assert bound.value == bound.prior

    def test_wrong_prior_bound_is_reached(self):
        change = pu_ece([0.9], [0.1, 0.2], 0.5, 2) - pu_ece([0.9], [0.1, 0.2], 0.4, 2)
        assert change == pytest.approx(theory.prior_error_bound(0.5, 0.4).value)

    @given(large, large, priors, st.integers(1, 500), binnings, lipschitz, informations)
    def test_theorem_3(self, n_p, n_u, prior, bins, binning, slope, fcmi):
        options = {"bins": bins, "binning": binning, "lipschitz": slope}
        blind = theory.generalization_bound(n_p, n_u, prior, **options, fcmi=0.0)
        bound = theory.generalization_bound(n_p, n_u, prior, **options, fcmi=fcmi)
        expected = (1 + slope) / bins + math.sqrt(8 * rate(n_p, n_u, prior) * (fcmi + bins * LOG2))
        if binning == "mass":
            expected += (1 + slope) * math.sqrt(8 / n_u * (fcmi + bins * LOG2))
        assert bound.value == pytest.approx(expected, rel=1e-9)
        assert blind.information == 0
        assert bound.binning == blind.binning
        assert bound.statistical == blind.statistical

    def test_unlabeled_information_matters_for_mass_bins_only(self):
        def value(binning, fcmi_unlabeled):
            return theory.generalization_bound(
                1000,
                9000,
                0.5,
                bins=10,
                binning=binning,
                lipschitz=1.0,
                fcmi=50.0,
                fcmi_unlabeled=fcmi_unlabeled,
            ).value

        assert value("mass", 20.0) < value("mass", None) == value("mass", 50.0)
        assert value("width", 20.0) == value("width", None)

    def test_vc_information(self):
        assert theory.vc_information(1, 1, 0) == pytest.approx(math.log(2 * math.e))
        assert theory.vc_information(10, 400, 600) == pytest.approx(10 * math.log(200 * math.e))
        # Far more parameters than rows: the growth function no longer bounds anything.
        assert theory.vc_information(10**6, 1, 1) == pytest.approx((10**6 + 1) * LOG2)

    @pytest.mark.parametrize(
        ("changes", "name"),
        [
            ({"n_positive": 0}, "n_positive"),
            ({"n_unlabeled": math.nan}, "n_unlabeled"),
            ({"prior": 0.0}, "prior"),
            ({"prior": 1.5}, "prior"),
            ({"bins": 0}, "bins"),
            ({"bins": 2.5}, "bins"),
            ({"bins": 51}, "bins"),
            ({"binning": "quantile"}, "binning"),
            ({"lipschitz": -0.1}, "lipschitz"),
            ({"lipschitz": math.inf}, "lipschitz"),
            ({"delta": 0.0}, "delta"),
            ({"delta": 1.0}, "delta"),
            ({"form": "exact"}, "form"),
        ],
    )
    def test_refusals(self, changes, name):
        good = {"n_positive": 10, "n_unlabeled": 100, "prior": 0.5, "bins": 50}
        good |= {"binning": "mass", "lipschitz": 1.0}
        theory.bias_bound(**good)
        with pytest.raises(ValueError, match=f"'{name}' must"):
            theory.bias_bound(**good | changes)

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [((0, 5, 5), "dimension"), ((2, 0, 0), "n_unlabeled"), ((2, 5, math.inf), "n_unlabeled")],
    )
    def test_vc_refusals(self, arguments, name):
        with pytest.raises(ValueError, match=f"'{name}' must"):
            theory.vc_information(*arguments)

    @pytest.mark.parametrize("name", ["fcmi", "fcmi_unlabeled"])
    def test_information_refusals(self, name):
        options = {"bins": 5, "binning": "mass", "lipschitz": 1.0, "fcmi": 1.0}
        with pytest.raises(ValueError, match=f"'{name}' must"):
            theory.generalization_bound(100, 100, 0.5, **options | {name: -1.0})


class TestLabeledBounds:
    @pytest.mark.parametrize(("n", "bins", "printed"), [(4000, 15, 0.1442), (20_000, 27, 0.0865)])
    def test_published_reuse_bounds(self, n, bins, printed):
        assert theory.labeled_optimal_bins(n) == bins
        assert theory.reuse_bound(n, bins=bins, form="printed").value == pytest.approx(
            printed, abs=5e-5
        )
        assert theory.reuse_bound(n, bins=bins).value == pytest.approx(2 * printed, abs=1e-4)

    @pytest.mark.parametrize(("bins", "printed"), [(15, 0.8475), (27, 1.455)])
    def test_published_recalibration_bounds(self, bins, printed):
        bound = theory.recalibration_bound(100, bins=bins)
        # The paper truncates its decimals.
        assert printed <= bound.value < printed + 10.0 ** -(len(str(printed)) - 2)
        assert bound.vacuous is (printed > 1)

    @given(large, st.integers(1, 500), binnings, lipschitz, st.none() | deltas)
    def test_corollary_1_is_theorem_2_plus_theorem_3(self, n, bins, binning, slope, delta):
        options = {"bins": bins, "binning": binning}
        each = delta if binning == "width" or delta is None else delta / 2
        whole = theory.labeled_bias_bound(n, **options, lipschitz=slope, delta=delta)
        statistical = theory.statistical_bias_bound(n, **options, delta=each)
        edges = theory.binning_bias_bound(n, **options, lipschitz=slope, delta=each)
        assert whole.statistical == pytest.approx(statistical.value, rel=1e-12)
        assert whole.binning == pytest.approx(edges.value, rel=1e-12)

    @given(large, st.integers(1, 500), lipschitz)
    def test_corollary_1(self, n, bins, slope):
        def value(binning):
            return theory.labeled_bias_bound(n, bins=bins, binning=binning, lipschitz=slope).value

        width = (1 + slope) / bins + math.sqrt(2 * bins * LOG2 / n)
        edges = math.sqrt(2 * bins * LOG2 / (n - bins)) + 2 * bins / (n - bins)
        assert value("width") == pytest.approx(width, rel=1e-12)
        assert value("mass") == pytest.approx((1 + slope) / bins + (2 + slope) * edges, rel=1e-12)

    @given(large, st.integers(1, 500), deltas)
    def test_corollary_2(self, n, bins, delta):
        def value(binning, form):
            return theory.statistical_bias_bound(
                n, bins=bins, binning=binning, delta=delta, form=form
            ).value

        printed = math.sqrt(2 * (bins * LOG2 + math.log(1 / delta)) / n)
        assert value("width", "corrected") == pytest.approx(printed, rel=1e-12)
        assert value("mass", "printed") == value("width", "printed") == value("width", "corrected")
        assert value("mass", "corrected") > printed + 2 * bins / n

    @given(large, st.integers(1, 500), binnings, lipschitz, deltas)
    def test_printed_total_fails_no_less_often(self, n, bins, binning, slope, delta):
        options = {"bins": bins, "binning": binning, "lipschitz": slope}
        corrected, printed = (
            theory.labeled_bias_bound(n, **options, delta=delta, form=form)
            for form in ("corrected", "printed")
        )
        expected = theory.labeled_bias_bound(n, **options)
        assert printed.binning == expected.binning
        if binning == "width":
            assert corrected.value == printed.value
        else:
            assert corrected.binning > printed.binning
            assert corrected.statistical > printed.statistical

    @given(large, st.integers(1, 500), lipschitz, informations, informations)
    def test_theorem_5_is_theorem_4_plus_theorem_8(self, n, bins, slope, ecmi, fcmi):
        root = {"corrected": 8, "printed": 2}
        for form, factor in root.items():
            first = theory.training_statistical_bound(n, bins=bins, ecmi=ecmi, form=form)
            second = theory.training_binning_bound(
                n, bins=bins, lipschitz=slope, fcmi=fcmi, form=form
            )
            whole = theory.labeled_generalization_bound(
                n, bins=bins, binning="mass", lipschitz=slope, ecmi=ecmi, fcmi=fcmi, form=form
            )
            width = theory.labeled_generalization_bound(
                n, bins=bins, binning="width", lipschitz=slope, ecmi=ecmi, form=form
            )
            edges = math.sqrt(factor * (fcmi + bins * LOG2) / n)
            assert first.value == pytest.approx(math.sqrt(8 * (ecmi + bins * LOG2) / n), rel=1e-9)
            assert second.value == pytest.approx((1 + slope) * (1 / bins + edges), rel=1e-9)
            assert whole.value == pytest.approx(first.value + second.value, rel=1e-12)
            assert width.value == pytest.approx((1 + slope) / bins + first.value, rel=1e-12)
            assert {first.form, second.form, whole.form, width.form} == {form}

    @given(large, st.integers(1, 500), informations, informations)
    def test_corollary_4_refines_theorem_7(self, n, bins, one, two):
        theorem = theory.reuse_bound(n, bins=bins, fcmi=max(one, two))
        corollary = theory.reuse_bound(n, bins=bins, delta1_information=one, delta2_information=two)
        expected = sum(math.sqrt(8 * (i + bins * LOG2) / n) for i in (one, two))
        assert corollary.value == pytest.approx(expected, rel=1e-9)
        assert corollary.value <= theorem.value * (1 + 1e-12)
        assert corollary.reference.endswith("Corollary 4")
        assert theorem.reference.endswith("Theorem 7")
        assert corollary.statistical == theory.reuse_bound(n, bins=bins).value

    @given(large, st.integers(2, 500))
    def test_seen_rows_never_give_the_smaller_bound(self, n, bins):
        # With no information at all, seen rows are as good as unseen ones, at the cost of a factor
        # of two for a comparison with a second sample.
        unseen = theory.statistical_bias_bound(n, bins=bins, binning="width").value
        assert theory.training_statistical_bound(n, bins=bins, ecmi=0.0).value == pytest.approx(
            2 * unseen
        )

    @pytest.mark.parametrize(
        ("bound", "options", "name"),
        [
            ("recalibration_bound", {"n": 53, "bins": 27}, "bins"),
            ("recalibration_bound", {"n": 0, "bins": 1}, "n"),
            ("reuse_bound", {"bins": 51}, "bins"),
            ("reuse_bound", {"fcmi": -1.0}, "fcmi"),
            ("reuse_bound", {"delta2_information": math.nan}, "delta2_information"),
            ("reuse_bound", {"form": "Printed"}, "form"),
            ("training_statistical_bound", {"ecmi": -1.0}, "ecmi"),
            ("training_binning_bound", {"fcmi": 0.0, "lipschitz": -1.0}, "lipschitz"),
            (
                "labeled_generalization_bound",
                {"binning": "mass", "lipschitz": 1.0, "ecmi": 0.0},
                "fcmi",
            ),
        ],
    )
    def test_refusals(self, bound, options, name):
        with pytest.raises(ValueError, match=f"'{name}' must"):
            getattr(theory, bound)(**{"n": 100, "bins": 5} | options)


class TestTheSlipsAreReal:
    """Populations in which a printed bound fails."""

    @pytest.mark.parametrize("n", [50, 1000])
    def test_equation_108_needs_the_root_of_eight(self, n):
        # The classifier recognizes its training rows and puts all others into the other bin.
        rng = np.random.default_rng(0)
        seen = rng.integers(0, 2, n)
        bin_of = np.stack([np.where(seen == column, 0, 1) for column in (0, 1)], axis=1)
        counts = [
            np.bincount(bin_of[np.arange(n), column], minlength=2) for column in (seen, 1 - seen)
        ]
        left = np.abs(counts[0] - counts[1]).sum() / n
        right = {
            form: theory.training_binning_bound(
                n, bins=2, lipschitz=0.0, fcmi=n * LOG2, form=form
            ).value
            - 1 / 2
            for form in ("printed", "corrected")
        }
        assert right["printed"] < left <= right["corrected"]

    def test_one_number_carries_too_little_information(self):
        # All labels are 0, with score 0 on seen rows and 0.9 on others: |ECE - TCE| is 0.9 and
        # reveals nothing about which rows were seen, whereas the scores reveal everything: n bits.
        n, error = 10_000, 0.9
        assert theory.training_statistical_bound(n, bins=2, ecmi=0.0).value < error
        assert theory.training_statistical_bound(n, bins=2, ecmi=n * LOG2).value > error


class TestAgainstSimulation:
    """A calibrated population: uniform scores, positives with density 2s, prior one half."""

    REPEATS = 300

    def errors(self, n_positive, n_unlabeled, bins, binning):
        rng = np.random.default_rng(1)
        for _ in range(self.REPEATS):
            positive = np.sqrt(rng.random(n_positive))
            unlabeled = np.sort(rng.random(n_unlabeled))
            edges = np.arange(bins + 1) / bins
            if binning == "mass":
                edges[1:-1] = unlabeled[np.arange(1, bins) * n_unlabeled // bins - 1]
            yield pu_ece(positive, unlabeled, 0.5, edges)

    @pytest.mark.parametrize("binning", ["width", "mass"])
    @pytest.mark.parametrize("size", [(200, 2000), (2000, 500)])
    def test_statistical_part_holds_within_a_factor(self, size, binning):
        errors = np.fromiter(self.errors(*size, 10, binning), float)
        options = {"bins": 10, "binning": binning, "lipschitz": 1.0}
        expected = theory.bias_bound(*size, 0.5, **options).statistical
        high = theory.bias_bound(*size, 0.5, **options, delta=0.05).statistical
        assert errors.mean() < expected < 5 * errors.mean()
        assert np.quantile(errors, 0.95) < high < 5 * np.quantile(errors, 0.95)

    def test_normal_plan_covers_the_upper_end(self):
        # For fixed bins tau = 0 <= sum of signed terms + z sd; the sum's own spread obeys the plan.
        plan = theory.plan(0.1, 0.5, method="normal", ratio=2.0)
        rng = np.random.default_rng(2)
        signs = np.array([1.0, -1.0, 1.0, -1.0])
        gaps = []
        for _ in range(500):
            positive = np.sqrt(rng.random(plan.n_positive))
            unlabeled = rng.random(plan.n_unlabeled)
            share = np.histogram(positive, 4, (0, 1))[0] / len(positive)
            score = np.histogram(unlabeled, 4, (0, 1), weights=unlabeled)[0] / len(unlabeled)
            gaps.append(signs @ (share / 2 - score))
        assert np.mean(np.abs(gaps) <= plan.error) >= 0.95
        # The bound is not absurdly large: the worst case is within a factor of two of this
        # population.
        assert 1.96 * np.std(gaps) > plan.error / 2


class TestPlan:
    @pytest.mark.parametrize("method", ["bound", "normal"])
    @pytest.mark.parametrize("binning", ["width", "mass"])
    @pytest.mark.parametrize("delta", [None, 0.1])
    @pytest.mark.parametrize("fixed", [{}, {"n_positive": 4000}, {"n_unlabeled": 90_000}])
    def test_is_the_smallest_that_suffices(self, method, binning, delta, fixed):
        eps, prior = (0.25, 0.3) if method == "bound" else (0.02, 0.3)
        plan = theory.plan(eps, prior, method=method, binning=binning, delta=delta, **fixed)

        def error(n_positive, n_unlabeled):
            if method == "normal":
                z = NormalDist().inv_cdf(1 - (delta or 0.05) / 2)
                return z * math.sqrt(rate(n_positive, n_unlabeled, prior))
            events = 2 if binning == "mass" else 1
            tail = 0.0 if delta is None else math.log(events / delta)
            return min(
                theorem_1(n_positive, n_unlabeled, prior, bins, binning, 1.0, tail)
                for bins in range(1, 200)
            )

        assert error(plan.n_positive, plan.n_unlabeled) <= eps
        assert plan.error == pytest.approx(error(plan.n_positive, plan.n_unlabeled))
        if not fixed:
            assert plan.n_unlabeled == 10 * plan.n_positive
            fewer = plan.n_positive - 1, 10 * (plan.n_positive - 1)
        elif "n_positive" in fixed:
            assert plan.n_positive == 4000
            fewer = 4000, plan.n_unlabeled - 1
        else:
            assert plan.n_unlabeled == 90_000
            fewer = plan.n_positive - 1, 90_000
        assert error(*fewer) > eps

    @given(st.floats(0.001, 0.9), priors, st.floats(0.05, 1), st.integers(1, 50))
    def test_normal_closed_form(self, eps, prior, mean_score, ratio):
        plan = theory.plan(eps, prior, method="normal", mean_score=mean_score, ratio=ratio)
        z = NormalDist().inv_cdf(0.975)
        exact = z**2 * (prior**2 + mean_score / ratio) / eps**2
        assert exact * (1 - 1e-9) <= plan.n_positive < exact * (1 + 1e-9) + 1

    def test_bins_are_those_that_achieve_the_error(self):
        plan = theory.plan(0.3, 0.2, method="bound")
        sizes = plan.n_positive, plan.n_unlabeled
        assert plan.bins == theory.optimal_bins(*sizes, 0.2, rule="bound")
        bound = theory.bias_bound(*sizes, 0.2, bins=plan.bins, binning="mass", lipschitz=1.0)
        assert plan.error == bound.value

    def test_fractional_ratio_is_exact(self):
        plan = theory.plan(0.02, 0.5, method="normal", ratio=0.1)
        assert plan.n_unlabeled == -(-plan.n_positive // 10)

    def test_smaller_errors_take_more_rows(self):
        needed = [
            theory.plan(eps, 0.3, method="bound").n_positive for eps in (0.4, 0.2, 0.1, 0.05, 0.02)
        ]
        assert all(later > 7 * earlier for earlier, later in pairwise(needed))
        # The rate is the cube root: halving the error takes about eight times as many rows.
        assert needed[3] / needed[2] == pytest.approx(8, rel=0.05)

    @pytest.mark.parametrize("method", ["bound", "normal"])
    @pytest.mark.parametrize("name", ["n_positive", "n_unlabeled"])
    def test_an_unreachable_target_reports_the_floor(self, method, name):
        with pytest.raises(ValueError, match=f"with {name}=5000, got 0.001") as caught:
            theory.plan(0.001, 0.3, method=method, **{name: 5000})
        floor = float(str(caught.value).split("above ")[1].split()[0])
        assert floor > 0.001
        assert theory.plan(1.01 * floor, 0.3, method=method, **{name: 5000}).error <= 1.01 * floor
        with pytest.raises(ValueError, match="'eps' must be above"):
            theory.plan(0.99 * floor, 0.3, method=method, **{name: 5000})

    def test_is_plain_data(self):
        plan = theory.plan(0.3, 0.2, delta=0.1, method="bound")
        told = json.loads(json.dumps(plan.to_dict()))
        assert theory.Plan(**told) == plan
        assert "probability 0.9" in plan.assumes
        assert "expected" in theory.plan(0.3, 0.2, method="bound").assumes

    @pytest.mark.parametrize(
        ("changes", "name"),
        [
            ({"eps": 0.0}, "eps"),
            ({"eps": 1.0}, "eps"),
            ({"prior": 1.0}, "prior"),
            ({"ratio": 0.0}, "ratio"),
            ({"ratio": math.inf}, "ratio"),
            ({"method": "exact"}, "method"),
            ({"binning": "equal"}, "binning"),
            ({"lipschitz": -1.0}, "lipschitz"),
            ({"delta": 2.0}, "delta"),
            ({"mean_score": 0.0}, "mean_score"),
            ({"n_positive": 10, "n_unlabeled": 10}, "n_positive' and 'n_unlabeled"),
            ({"n_positive": 0}, "n_positive"),
            ({"n_unlabeled": 10.5}, "n_unlabeled"),
            ({"n_unlabeled": math.inf}, "n_unlabeled"),
        ],
    )
    def test_refusals(self, changes, name):
        with pytest.raises(ValueError, match=f"'{name}' must"):
            theory.plan(**{"eps": 0.2, "prior": 0.3} | changes)
