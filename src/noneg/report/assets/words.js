/* Which sentences are said at another prior; `words.py` chooses in the same way.
 *
 * The words are templates that Python fills, too: names in braces with the formats `.3f`, `,.0f`
 * and `.4g`. They come with the sums, as do the limits that decide between them.
 */
"use strict";

(() => {
  let sentences = {};
  let limits = {};

  /** Takes the templates and limits of the page. */
  function learn(data) {
    ({ sentences, limits } = data);
  }

  const count = (x) => Math.round(x).toLocaleString("en-US");

  /** A number with so many digits, without trailing zeros, as Python's format "g" writes it. */
  function general(x, digits) {
    const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
    const power = Number(exponent);
    if (power >= -4 && power < digits) return String(Number(x.toPrecision(digits)));
    return `${Number(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }

  function formatted(x, format) {
    if (!format) return String(x);
    const [, comma, digits, kind] = format.match(/^(,?)\.(\d+)([fg])$/);
    if (kind === "g") return general(x, Number(digits));
    return comma ? count(x) : x.toFixed(Number(digits));
  }

  function say(key, values = {}) {
    return sentences[key].replace(/\{(\w+):?([^}]*)\}/g, (_, name, format) => formatted(values[name], format));
  }

  /** A share with two decimals, or two digits if it is small. */
  function short(x) {
    const places = x >= 0.1 || x <= 0 ? 2 : 1 - Math.floor(Math.log10(x));
    return x.toFixed(places);
  }

  /** 1 where more are positive than the score says, -1 where fewer are, beyond chance. */
  const side = (point) => Number(point.low_all > point.score) - Number(point.high_all < point.score);

  /** What errors are compared with: the share of the rarer class, at most `common`. */
  const scale = (prior) => Math.min(limits.common, prior, 1 - prior);
  const decimals = (prior) => 2 - Math.floor(Math.log10(scale(prior)));

  /** Which verdict holds: the test decides between fine and off, the error how far. */
  function verdictKey(error, prior, contradicted, rejected) {
    const unit = scale(prior);
    if (contradicted) return "verdict_contradicted";
    if (!rejected && error.high <= limits.small * unit) return "verdict_probabilities";
    if (!rejected) return error.high > limits.wide * unit ? "verdict_unsure" : "verdict_none";
    if (error.high <= limits.small * unit || (error.low > 0 && error.value < limits.small * unit)) {
      return "verdict_nearly";
    }
    if (error.low <= 0) return "verdict_off";
    return error.value < limits.large * unit ? "verdict_somewhat" : "verdict_no";
  }

  function verdictTitle(error, prior, contradicted, rejected) {
    return say(verdictKey(error, prior, contradicted, rejected), { cause: say("cause_rows") });
  }

  function verdictSelection(stands, selection) {
    const parts = selection > 1 ? [say("selected_labels", { factor: selection })] : [];
    if (stands === null) return parts.length ? parts[0] : say("random_labels");
    return [...parts, stands > 1 ? say("stands_up_to", { factor: stands }) : say("stands_not")].join(" ");
  }

  function verdictError(error, prior, level) {
    if (error.low === null) return say("error_alone", { value: error.value.toFixed(3) });
    const [value, low, high] = [error.value, error.low, error.high].map((x) => x.toFixed(decimals(prior)));
    return say("error", { value, low, high, percent: 100 * level });
  }

  const gap = (point) => Math.abs(point.frequency - point.score);
  const weightOf = (point) => point.marginal * gap(point);
  const weight = (run) => run.reduce((total, point) => total + weightOf(point), 0);
  const direction = (run) => (run[0].frequency > run[0].score ? "under" : "over");
  const clipped = (x) => short(Math.min(x, 1));

  function runs(diagram) {
    const found = [];
    let previous = 0;
    for (const point of diagram) {
      const here = point.frequency > point.score ? 1 : -1;
      if (here === previous) found[found.length - 1].push(point);
      else found.push([point]);
      previous = here;
    }
    return found.filter((run) => run.some(side)).map((run) => {
      const sure = run.map((point, i) => (side(point) ? i : -1)).filter((i) => i >= 0);
      return run.slice(sure[0], sure[sure.length - 1] + 1);
    });
  }

  function range(run, diagram) {
    const [first, last] = [run[0], run[run.length - 1]];
    const fromStart = first === diagram[0];
    const toEnd = last === diagram[diagram.length - 1];
    const kinds = fromStart ? ["up_to", "whole"] : ["between", "above"];
    return say(`range_${kinds[Number(toEnd)]}`, { left: short(first.left), right: short(last.right) });
  }

  const named = (run, diagram) => ({ range: range(run, diagram), direction: direction(run) });

  function verdictWhere(diagram, rejected) {
    const found = runs(diagram).sort((x, y) => weight(y) - weight(x));
    if (!found.length) return say("where_nowhere");
    const [first, second] = found;
    const worst = first.filter(side).reduce((x, y) => (gap(y) > gap(x) ? y : x));
    const [frequency, low, high] = [worst.frequency, worst.low, worst.high].map(clipped);
    const text = [say("where", { ...named(first, diagram), score: short(worst.score), frequency, low, high })];
    if (second && weight(second) >= limits.second * weight(first)) text.push(say("where_also", named(second, diagram)));
    if (!rejected) text.push(say("where_weak"));
    return text.join(" ");
  }

  const floorSentence = (n, floor) => say("floor", { n_positive: n, floor });

  function boundSentence(expected, probable, level, bins) {
    return say(expected > 1 ? "bound_vacuous" : "bound", { bins, expected, probable, percent: 100 * level });
  }

  function planSentence(needed, nPositive, eps) {
    if (needed === null) return say("plan_rows", { eps });
    return say(needed <= nPositive ? "plan_done" : "plan", { eps, more: needed - nPositive, needed });
  }

  /** Says when the labels look as if nothing were hidden, which the setting denies. */
  function labelCounts(data, prior) {
    const rows = data.n_positive + data.n_unlabeled;
    const share = data.n_positive / (rows * prior);
    const oneSample = data.setting === "one-sample";
    const suspect = oneSample ? share >= limits.nearly_all : Math.abs(share - 1) <= limits.same_share;
    if (!suspect) return [];
    const chance = oneSample && share > 1 ? say("all_labelled_chance") : "";
    return [say("all_labelled", { n_positive: data.n_positive, rows, percent: 100 * share, prior, chance })];
  }

  /** Names the estimates that lay outside of their range. */
  function outsideNotice(data, prior) {
    const found = noneg.evaluate(data, prior);
    const left = Object.entries(data.titles).filter(([name]) => (found[name]?.raw ?? null) !== null);
    if (!left.length) return [];
    const numbers = left.map(([name, title]) => say("outside_number", { title, raw: found[name].raw }));
    return [say("outside", { numbers: numbers.join("; ") })];
  }

  /** What needs attention at a prior, as `Evaluation.warnings` says it. */
  function warnings(data, prior) {
    const { sums } = data;
    const found = noneg.assumptions(data, prior);
    const mean = sums.mean_score;
    const out = [
      found.prior !== "holds" && say("prior", { prior, limit: sums.largest_prior }),
      found.n_above_one && say("negatives", { count: found.n_above_one, points: found.n_points }),
      sums.effective_positive < limits.few_positives &&
        say("positives", { n_positive: sums.effective_positive, floor: found.noise_floor }),
      found.mean_off && say("mean_score", { mean, prior, gap: Math.abs(mean - prior) }),
    ];
    return [...out.filter(Boolean), ...labelCounts(data, prior), ...outsideNotice(data, prior),
      ...data.other_warnings];
  }

  Object.assign(noneg, {
    boundSentence, count, floorSentence, general, learn, planSentence, short, verdictError, verdictKey,
    verdictSelection, verdictTitle,
    verdictWhere, warnings,
  });
})();
