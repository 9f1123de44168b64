/* The choice of sentences at another prior; `words.py` makes the same choices.
 *
 * Sentences are templates that Python also fills in: names in braces with the formats `.3f`, `,.0f`
 * and `.4g`. They are stored with the sums, as are the limits that select them.
 */
"use strict";

(() => {
  let sentences = {};
  let limits = {};
  let codes = {};

  /** Sets the templates and limits of the page. */
  function learn(data) {
    ({ sentences, limits, verdict_codes: codes } = data);
  }

  const count = (x) => (Math.round(x) + 0).toLocaleString("en-US"); // Never "-0".

  /** A number with the given number of digits, without trailing zeros, like Python's format "g". */
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

  /** A share with two decimals, or two significant digits if it is small. */
  function short(x) {
    const places = x >= 0.1 || x <= 0 ? 2 : 1 - Math.floor(Math.log10(x));
    return x.toFixed(places);
  }

  /** An upper limit with four digits, rounded down, as in `results.at_most`. */
  function atMost(x) {
    if (x <= 0 || x >= 1) return general(x, 6);
    const unit = 10 ** (3 - Math.floor(Math.log10(x)));
    return general(Math.floor(x * unit + 1e-9) / unit, 4);
  }

  /** 1 if significantly more rows are positive than the score indicates, -1 if fewer. */
  const side = (point) => Number(point.low_all > point.score) - Number(point.high_all < point.score);

  /** The unit for the limits: the share of the rarer class, at most `common`. */
  const scale = (prior) => Math.min(limits.common, prior, 1 - prior);
  const decimals = (prior) => 2 - Math.floor(Math.log10(scale(prior)));

  /** The key of the verdict, as in `verdict.py`. */
  function verdictKey(error, prior, contradicted, rejected, deviates) {
    const unit = scale(prior);
    if (contradicted) return "verdict_contradicted";
    if (error.value === null || error.high === null) return "verdict_unknown";
    if (rejected) return off(error, unit);
    if (deviates || error.low > 0) return "verdict_mixed";
    if (error.high > limits.large * unit) return "verdict_unsure";
    return error.high <= limits.small * unit ? "verdict_probabilities" : "verdict_none";
  }

  /** The verdict on scores that the test rejects, by the size of the error. */
  function off(error, unit) {
    if (error.high <= limits.small * unit || (error.low > 0 && error.value < limits.small * unit)) {
      return "verdict_nearly";
    }
    if (error.low <= 0) return "verdict_off";
    return error.value < limits.large * unit ? "verdict_somewhat" : "verdict_no";
  }

  /** The verdict at a prior with its code: "ok", "check", "stop" or "unknown". */
  function verdict(error, prior, contradicted, rejected, diagram, cause) {
    const key = verdictKey(error, prior, contradicted, rejected, diagram.some(side));
    return { code: codes[key], key, sentence: say(key, { cause: say(cause) }) };
  }

  /** The verdict at a prior and a selection factor, with its inputs. */
  function judged(data, prior, factor) {
    const { sums } = data;
    const selected = factor > 1 && sums.selection;
    const diagram = selected
      ? noneg.selection.bands(data, sums.first_diagram, prior, factor)
      : noneg.reliability(sums.diagrams[sums.first_diagram], prior);
    const error = noneg.selection.error(data, prior, factor);
    const rejected = selected ? error.low > 0 : noneg.rejectedAt(data, prior);
    const contradicted = prior > noneg.largestPrior(data, factor);
    const cause = selected ? "cause_selection" : "cause_rows";
    const found = verdict(error.low === null ? data.headline : error, prior, contradicted, rejected, diagram, cause);
    const where = contradicted ? say("where_impossible") : verdictWhere(diagram, rejected);
    return { ...found, error, where };
  }

  /** The state of the strip at a prior: the code of the verdict, or that the prior is ruled out. */
  const stateAt = (data, prior, factor) =>
    (noneg.isPossible(data, prior, factor) ? judged(data, prior, factor).code : "impossible");

  function verdictSelection(stands, selection) {
    const assumed = selection > 1 ? [say("selected_labels", { factor: selection })] : stands === 1 ? [] : [say("random_labels")];
    const limit = stands === null ? [] : [stands > 1 ? say("stands_up_to", { factor: stands }) : say("stands_not")];
    return [...assumed, ...limit].join(" ");
  }

  function verdictError(error, prior, level) {
    if (error.low === null) return say("error_alone", { value: error.value.toFixed(3) });
    const [value, low, high] = [error.value, error.low, error.high].map((x) => x.toFixed(decimals(prior)));
    return say("error", { value, low, high, percent: 100 * level });
  }

  /** The next step and its command, as in `words.action`. */
  function action(data, key, prior, factor) {
    const name = data.actions[key];
    const chosen = factor > 1 ? say("known_selection", { factor }) : "";
    const known = data.setting === "labeled" ? "" : say("known_prior", { prior }) + chosen;
    const { budget } = data;
    return {
      action: say(`do_${name}`, { budget }),
      command: say(`run_${name}`, { rows: data.rows_options, known, prior, budget }),
    };
  }

  /** The assumptions behind the numbers, once a slider has moved. */
  function whatIf(data, prior, factor) {
    const [low, high] = data.prior_ends;
    const range = low < high ? say("what_if_range", { low, high }) : "";
    return say("what_if", { prior, range, factor: factor > 1 ? say("what_if_factor", { factor }) : "" });
  }

  /** A description of the rows, once a slider has moved. */
  function sample(data, prior, factor) {
    const [low, high] = data.prior_ends;
    const text = prior === data.prior && low === high
      ? say("sample", { ...data.counts, prior: data.plain_prior })
      : say("sample_moved", { ...data.counts, prior, given: data.plain_prior });
    return factor > 1 ? `${text} ${say("sample_factor", { factor })}` : text;
  }

  const gap = (point) => Math.abs(point.frequency - point.score);
  const weightOf = (point) => point.marginal * gap(point);
  const weight = (run) => run.reduce((total, point) => total + weightOf(point), 0);
  const direction = (run) => (run[0].frequency > run[0].score ? "low" : "high");
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

  const example = (point) => ({
    score: short(point.score), frequency: clipped(point.frequency), low: clipped(point.low), high: clipped(point.high),
  });
  const toHalf = (point) => Math.abs(point.score - 0.5);
  const nowhere = (diagram) => say("where_nowhere", example(diagram.reduce((x, y) => (toHalf(y) < toHalf(x) ? y : x))));

  function verdictWhere(diagram, rejected) {
    const found = runs(diagram).sort((x, y) => weight(y) - weight(x));
    if (!found.length) return rejected ? say("where_together") : nowhere(diagram);
    const [first, second] = found;
    const worst = first.filter(side).reduce((x, y) => (gap(y) > gap(x) ? y : x));
    const text = [say("where", { ...named(first, diagram), ...example(worst) })];
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

  /** Warns if the labels look complete although the setting implies hidden positives. */
  function labelCounts(data, prior) {
    const rows = data.n_positive + data.n_unlabeled;
    const share = data.n_positive / (rows * prior);
    const oneSample = data.setting === "one-sample";
    const suspect = oneSample ? share >= limits.nearly_all : Math.abs(share - 1) <= limits.same_share;
    if (!suspect) return [];
    const chance = oneSample && share > 1 ? say("all_labeled_chance") : "";
    return [say("all_labeled", { n_positive: data.n_positive, rows, percent: 100 * share, prior, chance })];
  }

  /** Lists the estimates that were outside their range. */
  function outsideNotice(data, prior) {
    const found = noneg.evaluate(data, prior);
    const left = Object.entries(data.titles).filter(([name]) => (found[name]?.raw ?? null) !== null);
    if (!left.length) return [];
    const told = left.map(([name, title]) => say("outside_number", { title, raw: found[name].raw }));
    const [numbers, more] = [told.slice(0, limits.named).join("; "), told.length - limits.named];
    return [say("outside", { numbers: more > 0 ? say("outside_more", { numbers, more }) : numbers })];
  }

  /** The warnings at a prior, as in `Evaluation.warnings`. */
  function warnings(data, prior, factor) {
    const { sums } = data;
    const found = noneg.assumptions(data, prior, factor);
    const mean = sums.mean_score;
    const out = [
      found.prior !== "holds" && say("prior", { prior, limit: atMost(noneg.largestPrior(data, factor)) }),
      found.n_above_one && say("negatives", { count: found.n_above_one, points: found.n_points }),
      sums.effective_positive < limits.few_positives &&
        say("positives", { n_positive: sums.effective_positive, floor: found.noise_floor }),
      found.mean_off && say("mean_score", { mean, prior, gap: Math.abs(mean - prior) }),
    ];
    return [...out.filter(Boolean), ...labelCounts(data, prior), ...outsideNotice(data, prior),
      ...data.other_warnings];
  }

  Object.assign(noneg, {
    action, boundSentence, count, floorSentence, general, judged, learn, planSentence, sample, say, short,
    stateAt, verdictError, verdictSelection, warnings, whatIf,
  });
})();
