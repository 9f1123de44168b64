/* The strip below the headline: the code of the verdict at every prior.
 *
 * It has the same scale as the prior slider.
 */
"use strict";

(() => {
  // Labels, the most important first: later ones are shown only if there is room.
  const TICKS = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.02, 0.05, 0.002, 0.005, 0.95, 0.98, 0.15, 0.25, 0.35, 0.45, 0.03, 0.07];
  const ORDER = ["ok", "check", "stop", "unknown", "impossible"];
  const GAP = 42; // pixels between two labels
  const SAMPLED = 100; // positions on the strip at which the verdict is computed
  const HALVINGS = 20; // bisection steps between two positions with different verdicts
  const WAIT = 200; // milliseconds after which the strip follows the selection factor
  let page = null;
  let data = null;
  let waiting = 0;
  let drawn = []; // the segments shown

  const byId = (id) => document.getElementById(id);
  const clipped = (step) => Math.min(Math.max(step, 0), page.steps);
  const percent = (step) => `${(100 * clipped(step)) / page.steps}%`;
  const place = (prior) => (prior <= 0 ? 0 : prior >= 1 ? page.steps : page.position(prior));

  const nameOf = (state) => (state === "impossible" ? "Impossible with these rows" : noneg.say(`code_${state}`));

  /** The point between two priors where the verdict of the first one ends. */
  function change(left, right, state, factor) {
    let [low, high] = [left, right];
    for (let i = 0; i < HALVINGS; i += 1) {
      const middle = (low + high) / 2;
      if (noneg.stateAt(data, middle, factor) === state) low = middle;
      else high = middle;
    }
    return high;
  }

  /** The ranges of priors with the same verdict, as pairs of ends with the state in between. */
  function segments(factor = data.selection) {
    const [least, largest] = [data.sums.least_prior, noneg.largestPrior(data, factor)];
    const [from, to] = [page.priorAt(0), page.priorAt(page.steps)];
    const even = Array.from({ length: SAMPLED + 1 }, (_, k) => page.priorAt((page.steps * k) / SAMPLED));
    const turns = [least, ...(data.consistent ?? []), largest].flatMap((x) => [x, x * (1 + 1e-9)]);
    const places = [...even, ...turns.filter((x) => x > from && x < to)].sort((x, y) => x - y);
    const found = [];
    places.forEach((right, k) => {
      const state = noneg.stateAt(data, right, factor);
      const last = found[found.length - 1];
      if (last?.state === state) last.right = right;
      else {
        const left = last ? change(places[k - 1], right, last.state, factor) : from;
        if (last) last.right = left;
        found.push({ left, right, state });
      }
    });
    return found;
  }

  function element(kind, style, text = "") {
    const made = document.createElement("span");
    made.className = kind;
    Object.assign(made.style, style);
    made.textContent = text;
    return made;
  }

  function bar({ left, right, state }) {
    const [from, to] = [clipped(place(left)), clipped(place(right))];
    const made = element(`segment ${state}`, { left: percent(from), width: `${(100 * (to - from)) / page.steps}%` });
    return made;
  }

  /** The shares of positives between two ends, in words. */
  function between({ left, right }, found) {
    let digits = 3;
    while (digits < 6 && noneg.general(left, digits) === noneg.general(right, digits)) digits += 1;
    const [low, high] = [noneg.general(left, digits), noneg.general(right, digits)];
    if (found.length === 1) return "any share";
    if (left === found[0].left) return `below ${high}`;
    return right === found[found.length - 1].right ? `above ${low}` : `${low} to ${high}`;
  }

  /** Each verdict with the shares of positives that give it. */
  function ranges() {
    const least = data.sums.least_prior;
    const found = least > 0 ? [{ left: 0, right: least, state: "impossible" }, ...drawn] : drawn;
    return ORDER.filter((state) => found.some((one) => one.state === state)).map((state) => {
      const item = document.createElement("li");
      const where = found.filter((one) => one.state === state).map((one) => between(one, found)).join(", ");
      item.append(element(`key ${state}`, {}), element("", {}, `${nameOf(state)}: ${where}`));
      return item;
    });
  }

  /** The verdict at a share of positives, and the nearest shares that change it. */
  function told(prior) {
    const possible = drawn.filter((one) => one.state !== "impossible");
    const k = possible.findIndex((one) => one.left <= prior && prior <= one.right);
    if (k < 0) return "";
    const code = nameOf(possible[k].state);
    if (possible.length === 1) return noneg.say("strip_always", { code });
    const parts = [noneg.say("strip_at", { prior, code })];
    // A neighbor with another segment behind it has two ends.
    const tell = (neighbor, isLast, key, limit) => {
      const { left: low, right: high, state } = neighbor;
      parts.push(noneg.say(isLast ? key : "strip_between", { low, high, limit, code: nameOf(state) }));
    };
    if (k > 0) tell(possible[k - 1], k === 1, "strip_below", possible[k].left);
    if (k < possible.length - 1) tell(possible[k + 1], k === possible.length - 2, "strip_above", possible[k].right);
    return `${parts.join("; ")}.`;
  }

  function ticks() {
    const gap = (GAP * page.steps) / Math.max(byId("strip-ticks").clientWidth, GAP);
    const taken = [];
    return TICKS.filter((prior) => {
      const step = place(prior);
      const shown = step >= 0 && step <= page.steps && taken.every((other) => Math.abs(step - other) >= gap);
      if (shown) taken.push(step);
      return shown;
    }).sort((x, y) => x - y).map((prior) => element("tick", { left: percent(place(prior)) }, String(prior)));
  }

  function estimate() {
    const [low, high] = data.prior_ends;
    const set = low < high ? [element("known", { left: percent(place(low)), width: `calc(${percent(place(high))} - ${percent(place(low))})` })] : [];
    return [...set, element("mark", { left: percent(place(data.prior)) })];
  }

  function show(prior, factor) {
    const slider = byId("strip-slider");
    if (!slider) return;
    slider.value = page.position(prior);
    byId("strip-told").textContent = told(prior);
    slider.setAttribute("aria-valuetext", `share of positives ${noneg.general(prior, 4)}: ${nameOf(noneg.stateAt(data, prior, factor))}`);
  }

  function build(sums, slider) {
    const strip = byId("strip");
    if (!strip) return;
    [data, page] = [sums, slider];
    strip.hidden = false;
    draw(data.selection);
    byId("strip-ticks").replaceChildren(...ticks());
    byId("strip-slider").addEventListener("input", (event) => page.setPrior(page.priorAt(Number(event.target.value))));
    show(data.prior, data.selection);
  }

  function draw(factor) {
    drawn = segments(factor);
    byId("strip-bars").replaceChildren(...drawn.map(bar), ...estimate());
    byId("strip-ranges").replaceChildren(...ranges());
    byId("strip").removeAttribute("aria-busy");
  }

  /** Draws the strip for another selection factor, once its slider stops moving. */
  function follow(prior, factor) {
    clearTimeout(waiting);
    byId("strip")?.setAttribute("aria-busy", "true");
    waiting = setTimeout(() => {
      draw(factor);
      show(prior, factor);
    }, WAIT);
    show(prior, factor);
  }

  noneg.strip = { build, follow, show, segments };
})();
