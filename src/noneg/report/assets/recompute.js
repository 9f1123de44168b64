/* The results of noneg at another prior or threshold, computed from sums.
 *
 * Pure functions of (sums, prior, threshold) that do not use the page. Names and formulas match the
 * Python functions; a browser test checks agreement to 1e-9. Bins are those of the given prior, so
 * the results equal `evaluate(scores.with_prior(prior), edges=evaluation.edges)`.
 */
"use strict";

const noneg = {};

(() => {
  const ZERO = 1e-12; // residuals this small have no reliable sign
  const ONE_ROW = 1 - 1e-9; // Kish's size of a bin that counts as one row
  const ROUNDING = 1e-10; // a share of the variance this small is rounding error
  const GUARD = 1e-9; // ceil(0.3 * 10) is 3
  const NEAR = 1 - 2 / Math.PI; // variance of |Z|, Z standard normal
  const OUTSIDE = 1e-9; // a value this close to its range counts as inside

  const sum = (x) => x.reduce((total, one) => total + one, 0);
  const dot = (x, y) => x.reduce((total, one, i) => total + one * y[i], 0);

  // --- calibration errors over bins -------------------------------------------------------------

  /** Frequency minus score of each bin, times its mass: rho(I_b). */
  function residual(bins, prior) {
    return bins.positive.map((positive, b) => prior * positive - bins.score[b]);
  }

  function ece(bins, prior) {
    return sum(residual(bins, prior).map(Math.abs));
  }

  /** Signs of the residuals: the dual vector of their absolute sum. */
  function dual(d) {
    return d.map((one) => (Math.abs(one) > ZERO ? Math.sign(one) : 1));
  }

  /** Variance of sum_b v_b rho(I_b); `second` contains aa, aw, as, ww, ws, ss of each bin. */
  function variance(bins, v, prior) {
    const positive = dot(v, bins.positive);
    const middle = dot(v, bins.score);
    let total = 0;
    for (let b = 0; b < v.length; b += 1) {
      const first = prior * (v[b] - positive);
      const [aa, aw, as, ww, ws, ss] = bins.second[b];
      total +=
        first * first * aa + middle * middle * ww + v[b] * v[b] * ss +
        2 * (first * middle * aw - first * v[b] * as - middle * v[b] * ws);
    }
    return Math.max(total, 0);
  }

  /** The mean of |k + Z|, Z standard normal, and its variance. */
  function folded(k) {
    const mean = Math.sqrt(2 / Math.PI) * Math.exp(-k * k / 2) + k * (1 - erfc(k / Math.SQRT2));
    return [mean, Math.min(Math.max(1 + k * k - mean * mean, NEAR), 1)];
  }

  /** The upper end, by inverting the least favorable distribution of the error (AbsoluteSum.upper). */
  function upperEnd(bins, prior, z) {
    const d = residual(bins, prior);
    const v = dual(d);
    const value = dot(v, d);
    const deviation = Math.sqrt(variance(bins, v, prior));
    const own = d.map((_, b) => Math.sqrt(variance(bins, d.map((__, c) => Number(b === c)), prior)));
    const total = sum(own);
    if (total === 0) return value;
    const largest = Math.max(deviation, Math.sqrt(dot(own, own)));
    const excess = (k) => {
      const [mean, spread] = folded(k);
      const far = (spread - NEAR) / (1 - NEAR);
      return total * mean - z * Math.sqrt((1 - far) * NEAR * largest ** 2 + far * deviation ** 2) - value;
    };
    const k = excess(0) < 0 ? root(excess, 0, 1.01 * (value + z * largest) / total) : 0;
    return Math.min(total * k, value + z * deviation);
  }

  /** The point where a function changes from negative to positive, by bisection. */
  function root(f, low, high) {
    for (let i = 0; i < 100; i += 1) {
      const middle = (low + high) / 2;
      if (f(middle) < 0) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Signs of sums over three neighboring bins, or of single bins if there are few. */
  const smoothDual = (d) => dual(d.length < 6 ? d : d.map((one, b) => (d[b - 1] ?? 0) + one + (d[b + 1] ?? 0)));

  function lowerEnd(bins, prior, zSplit) {
    const d = residual(bins, prior);
    const n = d.length;
    const ends = [];
    for (let r = 0; r * n < bins.noise.level.length; r += 1) {
      const shift = d.map((_, b) => prior * bins.noise.slope[r * n + b] + bins.noise.level[r * n + b]);
      const halves = [d.map((x, b) => x + shift[b]), d.map((x, b) => x - shift[b])];
      let value = 0;
      let spread = 0;
      for (const [one, other] of [halves, [halves[1], halves[0]]]) {
        const v = smoothDual(other);
        value += dot(v, one) / 2;
        spread += (2 * variance(bins, v, prior)) / 4;
      }
      ends.push(value - zSplit * Math.sqrt(spread));
    }
    ends.sort((x, y) => x - y);
    return Math.max(0, ends[(ends.length - 1) / 2]);
  }

  /** Whether a sample is a single row, from which no spread can be estimated. */
  const noSpread = (sums) => Math.min(sums.effective_positive, sums.effective_marginal) < 2;

  /** The error over bins with its interval; the interval is null if it is available only at the given prior. */
  function eceInterval(sums, bins, prior) {
    const value = ece(bins, prior);
    if (!bins.noise) return { value, low: null, high: null };
    if (noSpread(sums)) return { value, low: 0, high: Math.max(1, value) };
    return { value, low: lowerEnd(bins, prior, sums.z_split), high: upperEnd(bins, prior, sums.z) };
  }

  /** 1 - erf for x >= 0, from the series of erf whose terms are all positive. */
  function erfc(x) {
    if (x > 6.5) return 0;
    let term = x;
    let total = x;
    for (let n = 1; term > 1e-18 * total; n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      total += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * total;
  }

  function frequencyVariance(bins, prior) {
    const [aa, aw, ww] = [0, 1, 3].map((column) => bins.second.map((row) => row[column]));
    const [sumAA, sumAW, sumWW] = [aa, aw, ww].map(sum);
    const covariance = (second, total, one, other) => second * (1 - one - other) + one * other * total;
    const unbiased = (oneOverN) => 1 / (oneOverN < ONE_ROW ? 1 - oneOverN : 1);
    return bins.positive.map((p, b) => {
      const m = bins.marginal[b];
      const y = m > 0 ? (prior * p) / m : 0;
      const noise =
        prior ** 2 * covariance(aa[b], sumAA, p, p) - 2 * prior * y * covariance(aw[b], sumAW, p, m);
      const total =
        noise * unbiased(sumAA) + y ** 2 * covariance(ww[b], sumWW, m, m) * unbiased(sumWW);
      return total > ROUNDING * (prior ** 2 * aa[b] + y ** 2 * ww[b]) ? total : 0;
    });
  }

  /** The error minus the average contribution of noise (folded normal), bin by bin. */
  function debiasedEce(bins, prior) {
    const noise = frequencyVariance(bins, prior);
    const terms = residual(bins, prior).map((one, b) => {
      const many = bins.second[b][3] < ONE_ROW * bins.marginal[b] ** 2;
      const d = Math.abs(one);
      const sd = many ? Math.sqrt(noise[b]) : 0;
      if (!(sd > 0)) return d;
      const z = d / sd;
      const excess = sd * Math.sqrt(2 / Math.PI) * Math.exp(-(z ** 2) / 2) - d * erfc(z / Math.SQRT2);
      return d - excess;
    });
    return Math.max(0, sum(terms));
  }

  function debiasedEceInterval(sums, bins, prior) {
    const value = debiasedEce(bins, prior);
    const plain = eceInterval(sums, bins, prior);
    const low = plain.low === null ? null : Math.min(plain.low, value);
    return { value, low, high: plain.high };
  }

  /** The largest cumulative residual, from the few scores at which it can occur. */
  function ksError(sums, prior) {
    if (!sums.envelope) return null;
    const { positive, score } = sums.envelope;
    return Math.max(...positive.map((p, i) => Math.abs(prior * p - score[i])));
  }

  // --- the diagram and the histogram ------------------------------------------------------------

  /** The diagram at a prior; intervals for every prior between two ends. */
  function reliability(diagram, prior, [least, most] = [prior, prior]) {
    return diagram.score.map((score, b) => ({
      left: diagram.left[b],
      right: diagram.right[b],
      score,
      frequency: prior * diagram.frequency[b],
      low: least * diagram.low[b],
      high: most * diagram.high[b],
      low_all: least * diagram.low_all[b],
      high_all: most * diagram.high_all[b],
      marginal: diagram.marginal[b],
    }));
  }

  /** The smooth curve at a prior; its band for every prior between two ends and their densities. */
  function smooth(curve, prior, ends = [[prior, 1, 1]]) {
    const least = Math.min(...ends.map(([at, low]) => at * low));
    const most = Math.max(...ends.map(([at, , high]) => at * high));
    return curve.score.map((score, k) => ({
      score,
      frequency: prior * curve.frequency[k],
      low: least * curve.low[k],
      high: most * curve.high[k],
    }));
  }

  /** Shares of positives, of all rows, and of the negatives that these two imply. */
  function distribution(histogram, prior) {
    return histogram.positive.map((positive, b) => ({
      left: histogram.edges[b],
      right: histogram.edges[b + 1],
      positive,
      marginal: histogram.marginal[b],
      negative: (histogram.marginal[b] - prior * positive) / (1 - prior),
    }));
  }

  // --- thresholds -------------------------------------------------------------------------------

  /** A metric of the confusion matrix, from the four coefficients in its registry entry. */
  function rule({ matrix, by_odds: byOdds }, tpr, ppr, prior) {
    const [a, b, c, d] = matrix.map(([one, byTpr, byPpr]) => one + byTpr * tpr + byPpr * ppr);
    const odds = byOdds ? Math.sqrt(prior / (1 - prior) / (ppr * (1 - ppr))) : 1;
    return ((a + b * prior) / (c + d * prior)) * odds;
  }

  const finite = (x) => (Number.isFinite(x) ? x : null);

  /** Limits of a function of TPR and PPR by recovered variances (MOVER). */
  function limits(tails, i, f) {
    const [tpr, ppr, rho] = [tails.tpr[i], tails.ppr[i], tails.correlation[i]];
    const value = f(tpr, ppr);
    const changes = [
      [f(tails.tpr_low[i], ppr) - value, f(tails.tpr_high[i], ppr) - value],
      [f(tpr, tails.ppr_low[i]) - value, f(tpr, tails.ppr_high[i]) - value],
    ];
    const side = changes.map(([low, high]) => (low < high ? -1 : 1));
    const loss = changes.map(([low, high], j) => Math.min(low, high, 0) * side[j]);
    const gain = changes.map(([low, high], j) => -Math.max(low, high, 0) * side[j]);
    const size = ([x, y]) => Math.sqrt(Math.max(x * x + y * y + 2 * rho * x * y, 0));
    return [value - size(loss), value + size(gain)];
  }

  /** An estimate clipped to a range (null means no limit), with its interval as in `Estimate.within`. */
  function within(found, [low, high]) {
    const clip = (x) => (x === null ? null : Math.min(Math.max(x, low ?? -Infinity), high ?? Infinity));
    const add = (x, by) => (x === null || x === undefined ? null : x + by);
    const value = clip(found.value);
    const move = value - found.value;
    const outside = Math.abs(move) > OUTSIDE;
    const farSide = move < 0 ? found.value - found.low : found.high - found.value;
    const noise = outside && farSide <= OUTSIDE ? Math.abs(move) : 0;
    const raw = outside ? found.value : (found.raw ?? null);
    return {
      value, low: clip(add(found.low, Math.min(move, 0) - noise)), high: clip(add(found.high, Math.max(move, 0) + noise)), raw,
    };
  }

  /** What turns the recall in the top of the list into a metric. */
  function topScale(data, name, prior) {
    if (name === "recall_at") return 1;
    return (name === "precision_at" ? prior : 1) / data.sums.tops[name].share;
  }

  /** The range of a metric at a prior: at the top of the list, neither recall nor precision exceeds 1. */
  function rangeAt(data, name, prior) {
    const top = data.sums.tops[name];
    if (!top || name === "precision_at") return data.rules[name]?.range ?? data.ranges[name];
    return [0, topScale(data, name, prior) * Math.min(1, top.share / prior)];
  }

  /** A metric of the confusion matrix at threshold number i, with its interval, clipped to its range. */
  function atThreshold(data, name, prior, i) {
    return within(unclipped(data, name, prior, i), data.rules[name].range);
  }

  function unclipped(data, name, prior, i) {
    const { tails } = data.sums;
    const of = (tpr, ppr) => rule(data.rules[name], tpr, ppr, prior);
    const value = finite(of(tails.tpr[i], tails.ppr[i]));
    if (value === null) return { value, low: null, high: null };
    // Computed by Python: for labeled data, and for every prior in the given interval.
    const known = prior === data.prior && tails.limits[name];
    if (known) return { value, low: known[0][i], high: known[1][i] };
    const [low, high] = limits(tails, i, of);
    return { value, low: finite(low), high: finite(high) };
  }

  /** Shares of the confusion matrix at threshold number i; none of them is negative. */
  function confusion(tails, prior, i) {
    const ppr = tails.ppr[i];
    const tp = Math.min(Math.max(prior * tails.tpr[i], ppr + prior - 1, 0), prior, ppr);
    return { tp, fp: ppr - tp, fn: prior - tp, tn: Math.max(1 - prior - (ppr - tp), 0) };
  }

  /** Expected cost per row of false positives and missed positives. */
  function cost(tails, prior, i, costs) {
    const { fp, fn } = confusion(tails, prior, i);
    return costs[0] * fp + costs[1] * fn;
  }

  /** Guaranteed precision at threshold number i, which is proportional to the prior. */
  function promised(data, prior, i) {
    const { promised: limits, promised_scales: scales } = data.sums.tails;
    const raw = limits[i];
    if (raw === null || (prior !== data.prior && !scales)) return null;
    return Math.min(1, prior === data.prior ? raw : (raw * prior) / data.prior_ends[0]);
  }

  function curves(data, prior) {
    const { tails } = data.sums;
    const drawn = (name, i) => within(
      { value: finite(rule(data.rules[name], tails.tpr[i], tails.ppr[i], prior)) }, data.rules[name].range,
    ).value;
    const enough = (share, rows) => share >= data.limits.fewest_flagged / (rows ?? Infinity);
    return tails.threshold.map((threshold, i) => ({
      threshold,
      tpr: tails.tpr[i],
      ppr: tails.ppr[i],
      fpr: drawn("false_positive_rate", i),
      precision: drawn("precision", i),
      f_beta: drawn("f_beta", i),
      promised: promised(data, prior, i),
      enough: Number(enough(tails.tpr[i], data.sums.effective_positive) && enough(tails.ppr[i], data.sums.effective_marginal)),
    }));
  }

  // --- bounds from ranks (Claesen et al. 2015) --------------------------------------------------

  /** Share of latent positives among the unlabeled rows. */
  function latentFraction(data, prior) {
    const known = data.setting === "one-sample" ? data.n_positive : 0;
    const count = prior * (data.n_unlabeled + known) - known;
    return Math.min(1, Math.max(0, count / data.n_unlabeled));
  }

  /** Smallest (side 0) or largest (side 1) number of latent positives at or above each threshold. */
  function latentAbove(bounds, latent, side) {
    const guard = Math.max(GUARD, 4e-16 * latent);
    return bounds.unlabeled.map((head, i) => {
      const wanted = (side ? bounds.high[i] : bounds.low[i]) * latent;
      const theta = side ? Math.ceil(wanted - guard) : Math.floor(wanted + guard);
      const least = Math.max(latent - bounds.n_unlabeled + head, 0);
      return Math.min(Math.max(theta, least), Math.min(head, latent));
    });
  }

  /** FPR, TPR and precision of the bounding tables, lower first, or null if there are none. */
  function rankBounds(data, prior) {
    const { bounds } = data.sums;
    if (!bounds) return null;
    const latent = roundHalfEven(latentFraction(data, prior) * bounds.n_unlabeled);
    return [0, 1].map((side) => {
      const above = latentAbove(bounds, latent, side);
      return above.map((theta, i) => {
        const tp = theta + bounds.known[i];
        const predicted = bounds.unlabeled[i] + bounds.known[i];
        const positives = latent + bounds.n_known;
        const total = bounds.n_unlabeled + bounds.n_known;
        const counted = bounds.counts_known;
        return {
          fpr: finite((predicted - tp) / (total - positives)),
          tpr: finite(tp / positives),
          recall: finite(counted ? tp / positives : theta / latent),
          precision: finite(counted ? tp / predicted : theta / bounds.unlabeled[i]),
        };
      });
    });
  }

  function roundHalfEven(x) {
    const low = Math.floor(x);
    if (x - low !== 0.5) return Math.round(x);
    return low % 2 === 0 ? low : low + 1;
  }

  // --- means of losses, areas -------------------------------------------------------------------

  /** Limits that allow for positives that the sample lacks, which would move the value. */
  const withUnseen = (value, [low, high], move) => [
    value - Math.hypot(low - value, Math.min(move, 0)),
    value + Math.hypot(high - value, Math.max(move, 0)),
  ];

  /** A mean loss prior * gain + base, with Student's interval corrected for skewness and for unseen positives. */
  function risk(sums, name, prior) {
    if (!sums.risks[name]) return null;
    const [gain, base, [vv, vb, bb], third, unseen] = sums.risks[name];
    const value = prior * gain + base;
    if (noSpread(sums)) return { value, low: -Infinity, high: Infinity };
    const sd = Math.sqrt(Math.max(0, prior ** 2 * vv + 2 * prior * vb + bb));
    if (sd === 0) return { value, low: value, high: value };
    const skew = sum(third.map((x, k) => x * prior ** k)) / sd ** 3;
    const end = (t) =>
      value - sd * (Math.abs(skew) > ZERO ? (3 / skew) * (Math.cbrt(1 + skew * (t - skew / 6)) - 1) : t);
    const move = prior < 1 ? (unseen * prior) / (1 - prior) : 0;
    const [low, high] = withUnseen(value, [end(sums.t), end(-sums.t)], move);
    return { value, low, high };
  }

  /** A piecewise ratio of linear functions of the prior. */
  function curve({ inner, pieces, by_odds: byOdds }, prior) {
    const [a, b, c, d] = pieces[inner.filter((x) => x < prior).length];
    return ((a + b * prior) / (c + d * prior)) * (byOdds ? Math.sqrt(prior / (1 - prior)) : 1);
  }

  function areas(data, prior) {
    const { areas: { auroc }, tops } = data.sums;
    const rows = auroc ? [["auroc", auroc.map((x) => 0.5 + x / (1 - prior))]] : [];
    for (const [name, { found, ends }] of Object.entries(tops)) {
      rows.push([name, [found, ...ends].map((x) => x * topScale(data, name, prior))]);
    }
    return Object.fromEntries(rows.map(([name, [value, low, high]]) => [name, { value, low, high }]));
  }

  // --- theory -----------------------------------------------------------------------------------

  /** Theorem 1 of the PU-ECE paper, for equal-mass bins and slopes of at most one. */
  function biasBound(data, prior, delta) {
    const [p, m] = [data.sums.effective_positive, data.sums.effective_marginal];
    const bins = data.bins;
    // Each of the two parts gets half of the failure probability.
    const logs = bins * Math.LN2 + (delta ? Math.log(2 / delta) : 0);
    const deviation = (v) => Math.sqrt(2 * v * logs);
    const binning = 2 * (1 / bins + deviation(1 / (m - bins)) + (2 * bins) / (m - bins));
    const statistical = deviation(prior ** 2 / p + 1 / (m - bins)) + bins / (m - bins);
    return binning + statistical;
  }

  /** Number of positives that makes the half-width at most eps; null if there are too few rows. */
  function positivesNeeded(data, prior, eps) {
    const { z, mean_score: mean } = data.sums;
    const width = (n) => z * Math.sqrt(prior ** 2 / n + mean / data.n_marginal);
    const room = eps ** 2 / z ** 2 - mean / data.n_marginal;
    if (!(room > 0)) return null;
    let n = Math.max(1, Math.floor(prior ** 2 / room) - 1);
    while (width(n) > eps) n += 1;
    return n;
  }

  // --- the test over priors ---------------------------------------------------------------------

  /** Whether the test rejects calibration at a prior; the range where it does not is known exactly. */
  function rejectedAt(data, prior) {
    const { consistent } = data;
    return !consistent || prior < consistent[0] || prior > consistent[1];
  }

  /** The largest prior that the rows allow, as in `PriorLimit.under`. */
  function largestPrior({ sums, selection }, factor = selection) {
    const { labeled, share } = sums.prior_limit;
    return labeled + (1 - labeled) * Math.min(1, factor * share);
  }

  /** Whether the rows allow a prior. */
  const isPossible = (data, prior, factor) => prior >= data.sums.least_prior && prior <= largestPrior(data, factor);

  // --- assumptions ------------------------------------------------------------------------------

  function assumptions(data, prior, factor) {
    const { sums } = data;
    const least = sums.least_frequency;
    return {
      prior: prior > largestPrior(data, factor) ? "contradicted" : "holds",
      n_above_one: least.filter((low) => prior * low > 1).length,
      n_points: least.length,
      noise_floor: sums.noise_floor * prior,
      mean_off: Math.abs(sums.mean_score - prior) > 3 * sums.mean_deviation + 1e-12,
    };
  }

  // --- everything -------------------------------------------------------------------------------

  /** All estimates that depend on the prior, by metric name. */
  function evaluate(data, prior) {
    const { sums } = data;
    const half = sums.tails.threshold.indexOf(0.5);
    const found = {
      debiased_ece: debiasedEceInterval(sums, sums.bins.ece, prior),
      ks_error: { value: ksError(sums, prior), low: null, high: null },
      ...areas(data, prior),
    };
    for (const name of Object.keys(sums.bins)) found[name] = eceInterval(sums, sums.bins[name], prior);
    for (const [name, one] of Object.entries(sums.curves)) {
      found[name] = { value: finite(curve(one, prior)), low: null, high: null };
    }
    for (const name of Object.keys(sums.risks)) found[name] = risk(sums, name, prior);
    for (const name of Object.keys(data.rules)) found[name] = atThreshold(data, name, prior, half);
    // Estimates from all labels do not change.
    if (data.setting === "labeled") return found;
    for (const name of Object.keys(data.ranges)) {
      if (found[name]) found[name] = within(found[name], rangeAt(data, name, prior));
    }
    return found;
  }

  Object.assign(noneg, {
    areas, assumptions, atThreshold, biasBound, confusion, cost, curves, debiasedEce, debiasedEceInterval,
    distribution, ece, eceInterval, evaluate, isPossible, ksError, largestPrior, limits, noSpread, positivesNeeded, promised, rangeAt, rankBounds, rejectedAt,
    reliability, risk, rule, smooth, topScale, within, withUnseen,
  });
})();
