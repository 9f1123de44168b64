/* The results of noneg when hidden positives may differ from labeled ones, computed from sums.
 *
 * Pure functions of (data, prior, factor) that do not use the page. Names and formulas match
 * `noneg.selection` and `noneg.calibration.bounds`. A browser test checks agreement to 1e-9.
 */
"use strict";

(() => {
  const SLACK = 2; // standard errors added to what the rows allow
  const LADDER = [1, 1.25, 1.5, 2, 3, 6];
  const ROUNDING = 1e-12;
  const RANDOM = 0.5; // mean rank of positives that score like any other row

  const sum = (x) => x.reduce((total, one) => total + one, 0);
  const clip = (x, low, high) => Math.min(Math.max(x, low), high);
  const running = (x) => { let total = 0; return x.map((one) => (total += one)); };

  // --- distributions of the positives --------------------------------------------------------------------

  function density(share, prior, factor) {
    const labeled = Math.min(share / prior, 1);
    return [labeled + (1 - labeled) / factor, labeled + (1 - labeled) * factor];
  }

  /** Largest mass of positives in each cell, at least that of the labeled distribution. */
  function caps({ positive, marginal, variance }, prior, most, slack) {
    return positive.map((p, b) => {
      const noise = Math.sqrt(variance[1][b] / prior ** 2 + most ** 2 * variance[0][b]);
      return Math.max(p, marginal[b] / prior + slack * noise);
    });
  }

  /** Density `high` from the first cell on, as far as caps and total allow. */
  function filled(mass, limits, low, high) {
    const span = high - low;
    const room = mass.map((m, b) => Math.min(m, (limits[b] - low * m) / span));
    const reached = running(room).map((x) => Math.min(x, (1 - low) / span));
    const ends = running(mass);
    const knots = [0];
    ends.forEach((end, b) => {
      const raised = reached[b] - (b ? reached[b - 1] : 0);
      knots.push(clip(end - mass[b] + raised, 0, 1), clip(end, 0, 1));
    });
    knots[knots.length - 1] = 1;
    return { knots, slopes: knots.slice(1).map((_, k) => (k % 2 ? low : high)) };
  }

  /** In one sample, also the distributions one standard error of the labeled share away. */
  function law(box, prior, factor, top) {
    const made = lawGiven(box, prior, factor, top);
    if (!(box.error > 0 && box.share < 1)) return made;
    const shares = [Math.max(box.share - box.error, 0), box.share + box.error];
    const near = shares.map((share) => lawGiven({ ...box, share }, prior, factor, top));
    return { ...made, near, pull: box.error / (1 - box.share) };
  }

  function lawGiven(box, prior, factor, top) {
    const [low, high] = density(box.share, prior, factor);
    let made = { knots: [0, 1], slopes: [1] };
    if (low < high) {
      const limits = caps(box, prior, high, 0);
      made = top
        ? filled(box.positive, limits, low, high)
        : filled([...box.positive].reverse(), limits.reverse(), low, high);
      if (!top) {
        made = { knots: made.knots.map((x) => 1 - x).reverse(), slopes: made.slopes.reverse() };
      }
    }
    const steps = running(made.slopes.map((slope, k) => slope * (made.knots[k + 1] - made.knots[k])));
    const last = steps[steps.length - 1];
    return { ...made, heights: [0, ...steps.map((x) => x / last)] };
  }

  /** Linear interpolation for increasing x, like numpy.interp. */
  function interpolate(at, x, y) {
    if (at <= x[0]) return y[0];
    if (at >= x[x.length - 1]) return y[y.length - 1];
    let [low, high] = [0, x.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x[middle] <= at) low = middle;
      else high = middle;
    }
    return y[low] + ((y[high] - y[low]) / (x[high] - x[low])) * (at - x[low]);
  }

  const through = (one, tpr) => interpolate(tpr, one.knots, one.heights);

  function slope(one, tpr) {
    let at = 0;
    while (at < one.slopes.length - 1 && one.knots[at + 1] < tpr - ROUNDING) at += 1;
    return one.slopes[at];
  }

  /** A mean under a distribution, from running sums over the labeled positives. */
  function mean(one, tpr, sums) {
    const at = one.knots.map((x) => interpolate(x, tpr, sums));
    return one.slopes.reduce((total, x, k) => total + x * (at[k + 1] - at[k]), 0);
  }

  /** Effect of one standard error of the labeled share on a function of the distribution. */
  const drift = (one, value) => (one.near ? (value(one.near[1]) - value(one.near[0])) / 2 : 0);

  /** A variance that includes the noise of the labeled share; see `Law.drifted`. */
  const drifted = (one, variance, move, gap) =>
    Math.max(variance + move * (move + 2 * (one.pull ?? 0) * gap), 0);

  const widened = (value, [low, high], variance) => [
    value - Math.sqrt((low - value) ** 2 + variance),
    value + Math.sqrt((high - value) ** 2 + variance),
  ];

  /** Values and ends over both extreme distributions, combined and clipped to the metric's range. */
  function bounded(data, value, prior, factor, point, ends, [least, most]) {
    const { box } = data.sums.selection;
    const pair = [true, false];
    const points = pair.map((top) => clip(point(law(box, prior, factor, top)), least, most));
    // Intervals ignore the caps, as in Python.
    const free = { ...box, positive: [1], marginal: [1], variance: [[0], [0]] };
    const found = pair.map((top) => ends(law(free, prior, factor, top)));
    const low = clip(Math.min(...found.map(([x]) => x)), least, most);
    const high = clip(Math.max(...found.map(([, x]) => x)), least, most);
    return { value, low: Math.min(low, value, ...points), high: Math.max(high, value, ...points) };
  }

  // --- metrics ----------------------------------------------------------------------------------

  function ruleBounds(data, name, prior, factor, i) {
    const { tails } = data.sums;
    const one = data.rules[name];
    const of = (tpr, ppr) => noneg.rule(one, tpr, ppr, prior);
    const value = of(tails.tpr[i], tails.ppr[i]);
    if (!Number.isFinite(value)) return { value: null, low: null, high: null };
    const under = (x) => (tpr, ppr) => of(through(x, tpr), ppr);
    const [tpr, ppr] = [tails.tpr[i], tails.ppr[i]];
    const point = (x, shift = 0) => under(x)(tpr, ppr + shift * (tpr - ppr));
    const half = 0.5 / data.sums.effective_positive; // half a row: `Shares.continuous`
    const wide = {
      ...tails,
      tpr_low: { [i]: Math.max(tails.tpr_low[i] - half, 0) },
      tpr_high: { [i]: Math.min(tails.tpr_high[i] + half, 1) },
    };
    const ends = (x) => {
      const found = noneg.limits(wide, i, under(x));
      if (!x.near) return found;
      const gap = (point(x, x.pull) - point(x, -x.pull)) / (2 * x.pull);
      return widened(point(x), found, data.sums.z ** 2 * drifted(x, 0, drift(x, point), gap));
    };
    return bounded(data, value, prior, factor, point, ends, one.range);
  }

  const logit = (p) => Math.log(p / (1 - p));
  const expit = (x) => 1 / (1 + Math.exp(-x));

  function shareLimits(value, variance, rows, z) {
    const v = Math.abs(value - Math.round(value)) < ROUNDING ? Math.round(value) : value;
    const reach = z * Math.sqrt(variance);
    if (v < 0 || v > 1) return [v - reach, v + reach];
    const ratio = z ** 2 / (v * (1 - v) > ROUNDING ? (v * (1 - v)) / variance : rows);
    const center = (v + ratio / 2) / (1 + ratio);
    const half = Math.sqrt(ratio * v * (1 - v) + ratio ** 2 / 4) / (1 + ratio);
    return [Math.max(center - half, 0), Math.min(center + half, 1)];
  }

  function skewedLimits(value, variance, third, t) {
    if (!(variance > 0)) return [value, value];
    const sd = Math.sqrt(variance);
    const skew = third / sd ** 3;
    const end = (x) => (Math.abs(skew) > ROUNDING ? (3 / skew) * (Math.cbrt(1 + skew * (x - skew / 6)) - 1) : x);
    return [value - sd * end(t), value - sd * end(-t)];
  }

  /** Mean weight of a labeled row, from sums of weights and of their squares. */
  const weights = (mass, squares) => squares.map((x, k) => (mass[k] > 0 ? x / mass[k] : 0));
  const steps = (heights) => heights.slice(1).map((x, k) => x - heights[k]);

  function areaLimits(value, variance, { rows, student_area: t }, z) {
    const spread = value * (1 - value);
    if (!(spread > ROUNDING && variance > 0)) return shareLimits(value, variance, rows, z);
    const reach = (t * Math.sqrt(variance)) / spread;
    return [expit(logit(value) - reach), expit(logit(value) + reach)];
  }

  /** Variance and third cumulant of the mean rank, from the slopes of a trapezoid rule. */
  function areaMoments({ tpr: labeled, ppr, aa, aw, ww }, one) {
    const tpr = labeled.map((x) => through(one, x));
    const [byTpr, byPpr] = [tpr.map(() => 0), tpr.map(() => 0)];
    for (let k = 1; k < tpr.length; k += 1) {
      const [width, height] = [(ppr[k] - ppr[k - 1]) / 2, (tpr[k] + tpr[k - 1]) / 2];
      byTpr[k - 1] += width;
      byTpr[k] += width;
      byPpr[k - 1] -= height;
      byPpr[k] += height;
    }
    const positive = influence(byTpr.map((x, k) => x * slope(one, labeled[k])), labeled);
    const marginal = influence(byPpr, ppr);
    const given = sum(aa.map((x, k) =>
      x * positive[k] ** 2 + 2 * aw[k] * positive[k] * marginal[k] + ww[k] * marginal[k] ** 2));
    const gap = sum(byPpr.map((x, k) => x * (labeled[k] - ppr[k])));
    const move = drift(one, (near) => sum(byTpr.map((x, k) => x * through(near, labeled[k]))));
    const single = weights(steps(labeled), aa);
    const largest = Math.max(...single.map((x, k) => (x * positive[k]) ** 2));
    const third = sum(single.map((x, k) => x * aa[k] * positive[k] ** 3));
    return [drifted(one, given + largest, move, gap), third];
  }

  function influence(derivative, height) {
    const gradient = running([...derivative].reverse()).reverse().slice(1);
    const middle = sum(gradient.map((x, k) => x * (height[k + 1] - height[k])));
    return gradient.map((x) => x - middle);
  }

  function areaBounds(data, value, prior, factor) {
    const { atoms, area, ...sizes } = data.sums.selection;
    const of = (place) => (place - prior / 2) / (1 - prior);
    const place = (x) => mean(x, atoms.tpr, atoms.wins);
    return bounded(
      data, value, prior, factor,
      (x) => of(place(x)),
      (x) => {
        const [variance, third] = areaMoments(area, x);
        const one = areaLimits(place(x), variance, sizes, data.sums.z);
        const other = skewedLimits(place(x), variance, third, sizes.student_area);
        const reach = [Math.min(one[0], other[0]), Math.max(one[1], other[1])];
        return noneg.withUnseen(place(x), reach, sizes.unseen * (RANDOM - place(x))).map(of);
      },
      [0, 1],
    );
  }

  function topBounds(data, name, value, prior, factor) {
    const { tpr, place, limits, slope: steep, share, ...top } = data.sums.tops[name];
    const found = Math.min(top.found, 1);
    const scale = noneg.topScale(data, name, prior);
    const point = (x) => {
      const [above, there] = tpr.map((one) => through(x, one));
      return (above + place * (there - above)) * scale;
    };
    const ends = (x) => {
      const moved = limits.map((end) => point(x) + (through(x, end) - through(x, found)) * scale);
      if (!x.near) return moved;
      const gap = -slope(x, found) * steep * (found - share) * scale;
      return widened(point(x), moved, data.sums.z ** 2 * drifted(x, 0, drift(x, point), gap));
    };
    return bounded(data, value, prior, factor, point, ends, [0, Infinity]);
  }

  function lossBounds(data, name, value, prior, factor) {
    const { atoms, losses, student } = data.sums.selection;
    const { gain, negative, base, variance } = losses[name];
    const mass = steps(atoms.tpr);
    const share = gain.every((x) => x === gain[0] || x === gain[gain.length - 1]);
    const gap = sum(negative.map((x, j) => x * mass[j])) - base;
    const sums = [0, ...running(gain.map((x, j) => x * mass[j]))];
    const point = (x) => base + prior * mean(x, atoms.tpr, sums);
    const ends = (x) => {
      if (noneg.noSpread(data.sums)) return [-Infinity, Infinity];
      const h = moved(x, atoms.tpr, gain);
      const middle = sum(h.map((one, j) => one * mass[j]));
      const one = sum(h.map((y, j) => atoms.aa[j] * (y - middle) ** 2));
      const both = sum(h.map((y, j) => atoms.aw[j] * (y - middle) * (negative[j] - base)));
      // The mean of a loss with two values is a share: no skewness and no dominant row.
      const single = share ? mass.map(() => 0) : weights(mass, atoms.aa);
      const largest = Math.max(...single.map((w, j) => (w * (h[j] - middle)) ** 2));
      const third = prior ** 3 * sum(single.map((w, j) => w * atoms.aa[j] * (h[j] - middle) ** 3));
      const given = Math.max(0, prior ** 2 * one + 2 * prior * both + variance) + prior ** 2 * largest;
      return skewedLimits(point(x), drifted(x, given, drift(x, point), gap), third, student);
    };
    // The unbiased risk has no fixed range.
    const [least, most] = name === "risk" ? [null, null] : data.ranges[name];
    return bounded(data, value, prior, factor, point, ends, [least ?? -Infinity, most ?? Infinity]);
  }

  /** The function of the gain whose mean over the labeled positives has the noise of the bound. */
  function moved(one, tpr, gain) {
    const last = gain.length - 1;
    const x = one.knots.map((knot) => {
      const at = tpr.slice(1).findIndex((end) => end >= knot - ROUNDING);
      return gain[at < 0 ? last : Math.min(at, last)];
    });
    const y = [0, ...running(one.slopes.map((s, k) => s * (x[k + 1] - x[k])))];
    if (x[x.length - 1] < x[0]) [x, y].forEach((list) => list.reverse());
    return gain.map((g) => interpolate(g, x, y));
  }

  // --- calibration errors -----------------------------------------------------------------------

  /** Smallest and largest masses of positives in bins. */
  function ranges(sums, bins, prior, share, factor, slack) {
    const [least, most] = density(share, prior, factor);
    const rows = [sums.effective_positive, sums.effective_marginal];
    const variance = [bins.positive, bins.marginal].map((x, k) => x.map((p) => (p * (1 - p)) / rows[k]));
    const limits = caps({ ...bins, variance }, prior, most, slack);
    return {
      low: bins.positive.map((p) => prior * least * p),
      high: bins.positive.map((p, b) => prior * Math.min(most * p, limits[b])),
      most: bins.positive.map((p) => prior * most * p),
    };
  }

  function smallestError({ low, high }, bins, prior) {
    const nearest = bins.score.map((m, b) => clip(m, low[b], high[b]));
    return sum(bins.score.map((m, b) => Math.abs(m - nearest[b]))) + Math.abs(prior - sum(nearest));
  }

  /** The largest sum of chords, with its slopes in both masses and in the score. */
  function largestError({ low, high, most }, bins, prior, [least, largest]) {
    const width = high.map((x, b) => x - low[b]);
    const start = low.map((x, b) => Math.abs(x - bins.score[b]));
    const gain = high.map((x, b) =>
      (width[b] > 0 ? (Math.abs(x - bins.score[b]) - start[b]) / width[b] : 0));
    const rounded = gain.map((x) => Math.round(x * 1e9)); // Equal slopes keep their order.
    const order = gain.map((_, b) => b).sort((a, b) => rounded[b] - rounded[a] || a - b);
    let room = Math.max(prior - sum(low), 0);
    const taken = low.map(() => 0);
    for (const b of order) {
      taken[b] = Math.min(width[b], room);
      room = Math.max(room - width[b], 0);
    }
    const masses = low.map((x, b) => x + taken[b]);
    const used = gain.filter((_, b) => masses[b] > low[b] + ROUNDING);
    const price = used.length ? Math.min(...used) : 0;
    const sign = masses.map((x, b) => (x < bins.score[b] ? -1 : 1));
    const top = masses.map((x, b) => x > (low[b] + high[b]) / 2);
    const capped = top.map((is, b) => is && high[b] < most[b] - ROUNDING);
    const density = top.map((is, b) => (is ? (capped[b] ? 0 : largest) : least));
    return {
      value: sum(start.map((x, b) => x + gain[b] * taken[b])),
      positive: sign.map((s, b) => (s - price) * density[b] + price),
      marginal: sign.map((s, b) => (capped[b] ? s - price : 0)),
      score: sign.map((s) => -s),
    };
  }

  /** Variance of a linear function of the masses of positives and rows and of the scores. */
  function variance(bins, prior, v, w, g) {
    const dot = (x, y) => sum(x.map((one, b) => one * y[b]));
    const center = prior * dot(v, bins.positive);
    const middle = dot(w, bins.marginal) + dot(g, bins.score);
    const total = sum(bins.second.map(([aa, aw, as, ww, ws, ss], b) => {
      const [x, y, z] = [prior * v[b] - center, w[b] - middle, g[b]];
      return x * x * aa + y * y * ww + z * z * ss + 2 * (x * y * aw + x * z * as + y * z * ws);
    }));
    return Math.max(total, 0);
  }

  /** Slopes of the smallest error without caps. */
  function touching([least, most], positive, score) {
    const rest = sum(positive.map((p, b) => p - clip(score[b], least * p, most * p)));
    const sign = rest < 0 ? -1 : 1;
    const place = positive.map((p, b) => (score[b] < least * p ? -1 : score[b] > most * p ? 1 : 0));
    return {
      positive: place.map((at) =>
        (at < 0 ? least + sign * (1 - least) : at > 0 ? sign * (1 - most) - most : sign)),
      score: place.map((at) => (at < 0 ? -1 : at > 0 ? 1 : -sign)),
    };
  }

  function lowerEnd(sums, bins, prior, limits) {
    if (Math.min(sums.effective_positive, sums.effective_marginal) < 2) return 0;
    const n = bins.positive.length;
    const none = bins.positive.map(() => 0);
    const ends = [];
    for (let r = 0; r * n < bins.noise.level.length; r += 1) {
      const half = (way) => [
        bins.positive.map((p, b) => prior * (p + way * bins.noise.slope[r * n + b])),
        bins.score.map((m, b) => m - way * bins.noise.level[r * n + b]),
      ];
      let [value, spread] = [0, 0];
      for (const way of [1, -1]) {
        const f = touching(limits, ...half(-way));
        const [positive, score] = half(way);
        value += (sum(f.positive.map((x, b) => x * positive[b])) + sum(f.score.map((x, b) => x * score[b]))) / 2;
        spread += variance(bins, prior, f.positive, none, f.score) / 2;
      }
      ends.push(value - sums.z_split * Math.sqrt(spread));
    }
    ends.sort((x, y) => x - y);
    return Math.max(0, ends[(ends.length - 1) / 2]);
  }

  function eceBounds(sums, bins, prior, factor) {
    const value = noneg.ece(bins, prior);
    if (!bins.noise) return { value, low: null, high: null };
    const { share, error } = sums.selection.box;
    const fewer = Math.max(share - sums.z * error, 0);
    const factors = [...LADDER.filter((g) => g < factor), factor];
    const lows = factors.map((g) => lowerEnd(sums, bins, prior, density(fewer, prior, g)));
    const least = Math.min(smallestError(ranges(sums, bins, prior, share, factor, 0), bins, prior), value);
    const found = largestError(
      ranges(sums, bins, prior, fewer, factor, SLACK), bins, prior, density(fewer, prior, factor));
    const noise = sums.z * Math.sqrt(variance(bins, prior, found.positive, found.marginal, found.score));
    const high = clip(found.value + noise, 0, 1);
    return { value, least, low: Math.min(...lows, least), high: Math.max(high, value) };
  }

  function debiasedBounds(sums, bins, prior, factor) {
    const value = noneg.debiasedEce(bins, prior);
    const plain = eceBounds(sums, bins, prior, factor);
    if (plain.low === null) return { value, low: null, high: null };
    const least = Math.max(0, plain.least + value - plain.value);
    return { value, low: Math.min(plain.low, value, least), high: plain.high };
  }

  // --- the diagram ------------------------------------------------------------------------------

  function ratioLimits(top, [topLow, topHigh], bottom, [bottomLow, bottomHigh], rho) {
    if (!(top > 0)) return [0, topHigh / bottomLow];
    const reach = (a, b) => Math.sqrt(Math.max(a * a + b * b - 2 * rho * a * b, 0));
    const down = reach(Math.log(top / topLow), Math.log(bottomHigh / bottom));
    const up = reach(Math.log(topHigh / top), Math.log(bottom / bottomLow));
    return [(top / bottom) * Math.exp(-down), (top / bottom) * Math.exp(up)];
  }

  function bands(data, kind, prior, factor) {
    const parts = data.sums.selection.diagrams[kind];
    const { share: labeled, error } = data.sums.selection.box;
    const limits = ({ top, bottom, errors }, b) => {
      const [low, high] = density(Math.max(labeled - errors * error, 0), prior, factor);
      const shares = [
        (x) => Math.max(low * x, 1 - high * (1 - x)),
        (x) => Math.min(high * x, 1 - low * (1 - x)),
      ];
      const ends = shares.map((share) => ratioLimits(
        share(parts.positive[b]), [share(top[0][b]), share(top[1][b])],
        parts.marginal[b], [bottom[0][b], bottom[1][b]], parts.correlation[b],
      ));
      const frequency = (prior * parts.positive[b]) / parts.marginal[b];
      const found = [Math.min(...ends.map(([x]) => x)), Math.max(...ends.map(([, x]) => x))];
      return [
        Math.min(prior * found[0], frequency),
        Math.max(Math.min(prior * found[1], 1), frequency),
      ];
    };
    return noneg.reliability(data.sums.diagrams[kind], prior).map((row, b) => {
      const [[one, other], [lowAll, highAll]] = [parts.pointwise, parts.simultaneous].map((x) => limits(x, b));
      return { ...row, low: one, high: other, low_all: lowAll, high_all: highAll };
    });
  }

  /** ROC and PR curves of both extreme distributions: the outline that contains every curve. */
  function outlines(data, prior, factor) {
    const { tails, selection } = data.sums;
    return [false, true].map((top) => {
      const one = law(selection.box, prior, factor, top);
      return tails.threshold.map((_, i) => {
        const tpr = through(one, tails.tpr[i]);
        const precision = tails.ppr[i] > 0 ? (prior * tpr) / tails.ppr[i] : null;
        return { fpr: (tails.ppr[i] - prior * tpr) / (1 - prior), tpr, recall: tpr, precision };
      });
    });
  }

  // --- everything -------------------------------------------------------------------------------

  /** All estimates at a prior and a selection factor; unavailable intervals are null. */
  function evaluate(data, prior, factor) {
    const found = noneg.evaluate(data, prior);
    const { sums } = data;
    if (!(factor > 1) || !sums.selection) return found;
    const half = sums.tails.threshold.indexOf(0.5);
    for (const name of Object.keys(found)) {
      const value = found[name].raw ?? found[name].value; // as estimated, before clipping to its range
      if (name === "debiased_ece") found[name] = debiasedBounds(sums, sums.bins.ece, prior, factor);
      else if (sums.bins[name]) found[name] = eceBounds(sums, sums.bins[name], prior, factor);
      else if (sums.selection.losses[name]) found[name] = lossBounds(data, name, value, prior, factor);
      else if (data.rules[name]) found[name] = ruleBounds(data, name, prior, factor, half);
      else if (name === "auroc") found[name] = areaBounds(data, value, prior, factor);
      else if (sums.tops[name]) found[name] = topBounds(data, name, value, prior, factor);
      else found[name] = { value, low: null, high: null };
      const range = noneg.rangeAt(data, name, prior);
      if (range) found[name] = noneg.within(found[name], range);
    }
    return found;
  }

  /** The calibration error of the verdict at a prior and a selection factor. */
  function error(data, prior, factor) {
    const { sums } = data;
    const found = factor > 1 && sums.selection
      ? debiasedBounds(sums, sums.bins.ece, prior, factor)
      : noneg.debiasedEceInterval(sums, sums.bins.ece, prior);
    return noneg.within(found, data.ranges.debiased_ece);
  }

  /** The largest factor at which miscalibration is certain, or null if there is none. */
  function stands(data, prior) {
    const { bins } = data.sums;
    if (!data.sums.selection || !bins.ece.noise) return null;
    const certain = (factor) => debiasedBounds(data.sums, bins.ece, prior, factor).low > 0;
    if (!(noneg.evaluate(data, prior).debiased_ece.low > 0)) return null;
    let [low, high] = [0, data.factors.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (certain(data.factors[middle])) low = middle + 1;
      else high = middle;
    }
    return [1, ...data.factors][low];
  }

  noneg.selection = { bands, density, error, evaluate, outlines, ruleBounds, stands };
})();
