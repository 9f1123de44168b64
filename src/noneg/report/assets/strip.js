/* The strip under the headline: at which priors the verdict is fine, off or impossible.
 *
 * Its scale is that of the prior's slider, which moves on it.
 */
"use strict";

(() => {
  const TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
  const GAP = 60; // steps between two labels
  const NAMES = { fine: "no evidence of miscalibration", off: "off", impossible: "contradicts the rows" };
  let page = null;
  let data = null;

  const byId = (id) => document.getElementById(id);
  const clipped = (step) => Math.min(Math.max(step, 0), page.steps);
  const percent = (step) => `${(100 * clipped(step)) / page.steps}%`;
  const place = (prior) => (prior <= 0 ? 0 : prior >= 1 ? page.steps : page.position(prior));

  /** Where the verdict changes, as pairs of ends with what holds between them. */
  function segments() {
    const { least_prior: least, largest_prior: largest } = data.sums;
    const ends = [0, least, ...(data.consistent ?? []), largest, 1].sort((x, y) => x - y);
    return ends.slice(1).map((right, k) => [ends[k], right]).filter(([left, right]) => right > left).map(
      ([left, right]) => ({ left, right, state: noneg.stateAt(data, (left + right) / 2) }),
    );
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
    made.title = `${noneg.general(left, 3)} to ${noneg.general(right, 3)}: ${NAMES[state]}`;
    return made;
  }

  function ticks() {
    let last = -GAP;
    return TICKS.filter((prior) => {
      const step = place(prior);
      const shown = step >= 0 && step <= page.steps && step - last >= GAP;
      if (shown) last = step;
      return shown;
    }).map((prior) => element("tick", { left: percent(place(prior)) }, String(prior)));
  }

  function estimate() {
    const [low, high] = data.prior_ends;
    const set = low < high ? [element("known", { left: percent(place(low)), width: `calc(${percent(place(high))} - ${percent(place(low))})` })] : [];
    return [...set, element("given", { left: percent(place(data.prior)) })];
  }

  function show(prior) {
    const slider = byId("strip-slider");
    if (!slider) return;
    slider.value = page.position(prior);
    slider.setAttribute("aria-valuetext", `class prior ${noneg.general(prior, 4)}: ${NAMES[noneg.stateAt(data, prior)]}`);
  }

  function build(sums, slider) {
    const strip = byId("strip");
    if (!strip) return;
    [data, page] = [sums, slider];
    byId("strip-bars").replaceChildren(...segments().map(bar), ...estimate());
    byId("strip-ticks").replaceChildren(...ticks());
    byId("strip-slider").addEventListener("input", (event) => page.setPrior(page.priorAt(Number(event.target.value))));
    strip.hidden = false;
    show(data.prior);
  }

  noneg.strip = { build, show, segments };
})();
