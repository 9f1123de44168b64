/* Sentences that follow the prior; `words.py` says the same. */
"use strict";

(() => {
  const SMALL = 0.1;
  const LARGE = 0.25;
  const WIDE = 0.5;
  const COMMON = 0.2;
  const SECOND = 0.25;

  const count = (x) => Math.round(x).toLocaleString("en-US");

  /** A number with so many digits, without trailing zeros. */
  const general = (x, digits) => String(Number(x.toPrecision(digits)));

  /** A share with two decimals, or two digits if it is small. */
  function short(x) {
    const places = x >= 0.1 || x <= 0 ? 2 : 1 - Math.floor(Math.log10(x));
    return x.toFixed(places);
  }

  /** 1 where more are positive than the score says, -1 where fewer are, beyond chance. */
  const side = (point) => Number(point.low_all > point.score) - Number(point.high_all < point.score);

  /** What errors are compared with: the share of the rarer class, at most COMMON. */
  const scale = (prior) => Math.min(COMMON, prior, 1 - prior);
  const decimals = (prior) => 2 - Math.floor(Math.log10(scale(prior)));

  /** At a prior that was moved: the test is only known at the given one. */
  function verdictTitle(error, diagram, prior, contradicted) {
    const unit = scale(prior);
    if (contradicted) return "The prior and the scores contradict each other: settle that first.";
    if (error.high <= SMALL * unit) return "These scores are nearly probabilities.";
    if (error.low <= 0) {
      if (diagram.some(side)) {
        return "Some scores are off, but these rows are too few to say how much in all.";
      }
      const doubt = error.high > WIDE * unit ? ", but these rows are too few to rule it out." : ".";
      return `No miscalibration shows${doubt}`;
    }
    if (error.value < SMALL * unit) return "These scores are nearly probabilities.";
    if (error.value < LARGE * unit) {
      return "These scores are somewhat off: adjust them before you use them as probabilities.";
    }
    return "Do not read these scores as probabilities.";
  }

  function verdictError(error, prior, level) {
    const [value, low, high] = [error.value, error.low, error.high].map((x) => x.toFixed(decimals(prior)));
    return (
      `Calibration error ${value}, between ${low} and ${high} ` +
      `with ${general(100 * level, 6)} % confidence.`
    );
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
    if (fromStart && toEnd) return "Scores in the whole range";
    if (toEnd) return `Scores above ${short(first.left)}`;
    if (fromStart) return `Scores up to ${short(last.right)}`;
    return `Scores between ${short(first.left)} and ${short(last.right)}`;
  }

  function verdictWhere(diagram) {
    const found = runs(diagram).sort((x, y) => weight(y) - weight(x));
    if (!found.length) return "In no range of scores is the deviation beyond sampling error.";
    const [first, second] = found;
    const worst = first.filter(side).reduce((x, y) => (gap(y) > gap(x) ? y : x));
    const means = `a score of ${short(worst.score)} means about ${clipped(worst.frequency)}`;
    const ends = `[${clipped(worst.low)}, ${clipped(worst.high)}]`;
    let text = `${range(first, diagram)} are ${direction(first)}-confident: ${means} ${ends}.`;
    if (second && weight(second) >= SECOND * weight(first)) {
      text += ` ${range(second, diagram)} are ${direction(second)}-confident.`;
    }
    return text;
  }

  function floorSentence(nPositive, floor) {
    return (
      `${count(nPositive)} labelled positives alone produce an error of about ${floor.toFixed(3)} ` +
      "by noise, however many unlabeled rows there are."
    );
  }

  function boundSentence(expected, probable, level, bins) {
    const words = `Over ${bins} bins theory promises an error`;
    if (expected > 1) {
      return `${words} bound above 1, which says nothing: there are too few rows for it.`;
    }
    return (
      `${words} within ${expected.toFixed(3)} of the true one on average, and within ` +
      `${probable.toFixed(3)} with probability ${general(100 * level, 6)} %, whatever the ` +
      "classifier (calibration curves of slope up to 1)."
    );
  }

  function planSentence(needed, nPositive, eps) {
    if (needed === null) {
      return (
        `No number of positives brings the upper half of the interval to ${general(eps, 6)}: more ` +
        "unlabeled rows are needed first."
      );
    }
    if (needed <= nPositive) {
      return `The upper half of the interval is no wider than ${general(eps, 6)} already.`;
    }
    return (
      `For an interval that ends at most ${general(eps, 6)} above the error, about ` +
      `${count(needed - nPositive)} more labelled positives are needed (${count(needed)} in all).`
    );
  }

  /** Says when the labels look as if nothing were hidden, which the setting denies. */
  function labelCounts(data, prior) {
    const rows = data.n_positive + data.n_unlabeled;
    const share = data.n_positive / (rows * prior);
    const suspect = data.setting === "one-sample" ? share >= 0.9 : Math.abs(share - 1) <= 0.01;
    if (!suspect) return [];
    const chance = data.setting === "one-sample" && share > 1 ? ", which chance allows" : "";
    return [
      `${count(data.n_positive)} of ${count(rows)} rows are labelled, ${(100 * share).toFixed(0)} % of ` +
        `the positives that the prior ${general(prior, 4)} promises among them${chance}: if none is hidden, ` +
        "the setting is 'labelled', and otherwise the prior may be too small.",
    ];
  }

  /** What needs attention at a prior, as `Evaluation.warnings` says it. */
  function warnings(data, prior) {
    const found = noneg.assumptions(data, prior);
    const { sums } = data;
    const out = [];
    if (found.prior !== "holds") {
      out.push(
        `The prior ${general(prior, 4)} contradicts the scores: above some threshold there would be ` +
          `more positives than rows. The largest compatible prior is ` +
          `${general(sums.largest_prior, 4)}, unless the labelled positives are not a random sample ` +
          "of all positives.",
      );
    }
    if (found.n_above_one) {
      out.push(
        `In ${found.n_above_one} of ${found.n_points} score ranges more positives are expected than ` +
          "there are rows: no negatives would be left there.",
      );
    }
    if (found.positives !== "holds") {
      out.push(
        `${count(sums.effective_positive)} labelled positives alone produce a calibration error of ` +
          `about ${general(found.noise_floor, 2)} by noise: however many unlabeled rows there are, ` +
          "less cannot be told from zero.",
      );
    }
    if (found.mean_off) {
      out.push(
        `The mean score is ${general(sums.mean_score, 4)} but the prior is ${general(prior, 4)}: ` +
          `scores or prior are off by ${general(Math.abs(sums.mean_score - prior), 4)} on average, ` +
          "which no binning can hide.",
      );
    }
    return out.concat(labelCounts(data, prior), data.other_warnings);
  }

  Object.assign(noneg, {
    boundSentence, count, floorSentence, general, planSentence, short, verdictError, verdictTitle,
    verdictWhere, warnings,
  });
})();
