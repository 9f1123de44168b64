/* The page: reads the sums, draws the charts, and follows the two sliders.
 *
 * At the given prior every number is the one that Python wrote into the page. When the prior moves,
 * elements are filled by what they ask for:
 *   data-number="ece.value"   a number      data-range="ece"   its interval
 *   data-text="verdict_title" a sentence    data-table="..."   the rows of a table
 */
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("noneg-data").textContent);
  const { sums } = data;
  noneg.learn(data);
  const movable = data.setting !== "labelled";
  const EPS = data.eps;
  const STEPS = 1000; // of the prior's slider
  const GRID = 60; // priors at which the error is drawn
  const MISSING = "–";

  const state = { prior: data.prior, factor: data.selection, threshold: nearest(0.5), diagram: sums.first_diagram, costs: [1, 1] };
  const views = {};
  const originals = new Map();

  const all = (selector) => [...document.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const fixed = (x, digits) =>
    x === null || x === undefined || !Number.isFinite(x)
      ? MISSING
      : x.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const range = (low, high, digits) =>
    [low, high].some((x) => x === null || x === undefined || !Number.isFinite(x))
      ? MISSING
      : `[${fixed(low, digits)}, ${fixed(high, digits)}]`;
  const percent = (x) => `${(100 * x).toFixed(2)} %`;

  function nearest(threshold) {
    const gaps = sums.tails.threshold.map((t) => Math.abs(t - threshold));
    return gaps.indexOf(Math.min(...gaps));
  }

  // --- sums that come packed --------------------------------------------------------------------

  function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
  }

  for (const bins of Object.values(sums.bins)) {
    if (bins.noise) bins.noise = { slope: unpack(bins.noise.slope), level: unpack(bins.noise.level) };
  }

  // --- what the charts draw ---------------------------------------------------------------------

  function outline(sides, x, y) {
    if (!sides) return [];
    const [lower, upper] = sides;
    return [...upper, ...lower.slice().reverse()]
      .filter((point) => point[x] !== null && point[y] !== null)
      .map((point, order) => ({ order, x: point[x], y: point[y] }));
  }

  let priorCurve = null; // does not depend on the prior of the slider

  function drawPriorCurve() {
    if (!movable) return [];
    if (priorCurve) return priorCurve;
    const least = Math.max(sums.least_prior, 0.001);
    const grid = Array.from({ length: GRID + 1 }, (_, k) => least + ((0.999 - least) * k) / GRID);
    priorCurve = [...new Set([...grid, data.prior])].sort((x, y) => x - y).map((prior) => {
      const plain = noneg.eceInterval(sums, sums.bins.ece, prior);
      return {
        prior,
        ece: plain.value,
        low: plain.low,
        high: plain.high,
        debiased_ece: noneg.debiasedEce(sums.bins.ece, prior),
      };
    });
    return priorCurve;
  }

  function selected() {
    return [{ ...noneg.curves(data, state.prior)[state.threshold] }];
  }

  const given = () => state.prior === data.prior && state.factor === data.selection;
  const isSelected = () => state.factor > 1 && sums.selection;

  function shownDiagram() {
    if (isSelected()) return noneg.selection.bands(data, state.diagram, state.prior, state.factor);
    const ends = given() ? data.prior_ends : undefined;
    return noneg.reliability(sums.diagrams[state.diagram], state.prior, ends);
  }

  function datasets() {
    const bounds = isSelected()
      ? noneg.selection.outlines(data, state.prior, state.factor)
      : noneg.rankBounds(data, state.prior);
    return {
      reliability: shownDiagram(),
      distribution: noneg.distribution(sums.histogram, state.prior),
      curves: noneg.curves(data, state.prior),
      roc_bounds: outline(bounds, "fpr", "tpr"),
      pr_bounds: outline(bounds, "recall", "precision"),
      prior_curve: drawPriorCurve(),
      now: [
        {
          prior: state.prior,
          ece: noneg.ece(sums.bins.ece, state.prior),
          largest_prior: sums.largest_prior,
        },
      ],
      selected: selected(),
      ...(given() && !isSelected() ? data.given : {}),
      ...data.still,
    };
  }

  async function draw() {
    const rows = datasets();
    for (const place of all("[data-chart]")) {
      const name = place.dataset.chart;
      const chart = data.charts[name];
      const spec = { ...chart, datasets: { ...chart.datasets, ...rows } };
      const options = { renderer: "svg", actions: false, ast: true, defaultStyle: false };
      const { view } = await vegaEmbed(place, spec, options);
      views[name] = { view, uses: data.chart_data[name] };
    }
    document.body.dataset.ready = "true";
  }

  function redraw(names) {
    const rows = datasets();
    for (const { view, uses } of Object.values(views)) {
      const changed = uses.filter((name) => names.includes(name));
      if (!changed.length) continue;
      changed.forEach((name) => view.data(name, rows[name]));
      view.runAsync();
    }
  }

  // --- tables -----------------------------------------------------------------------------------

  const number = (key, digits) => (row) => fixed(row[key], digits);
  const TABLES = {
    reliability: {
      rows: () => shownDiagram(),
      cells: [
        number("left", 3), number("right", 3), number("score", 4), number("frequency", 4),
        (row) => range(row.low, row.high, 4), (row) => percent(row.marginal),
      ],
    },
    distribution: {
      rows: () =>
        noneg.distribution(sums.histogram, state.prior).filter((row) => row.marginal || row.positive),
      cells: ["left", "right", "positive", "marginal", "negative"].map((key) => number(key, 4)),
    },
    curves: {
      rows: () => noneg.curves(data, state.prior).filter(atTenth),
      cells: ["threshold", "fpr", "tpr", "precision"].map((key) => number(key, 4)),
    },
    thresholds: {
      rows: () => noneg.curves(data, state.prior).filter(atTenth),
      cells: ["threshold", "ppr", "precision", "tpr", "f_beta"].map((key) => number(key, 4)),
    },
  };

  function atTenth(row) {
    return data.tenths.includes(row.threshold);
  }

  function fillTable(body) {
    const { rows, cells } = TABLES[body.dataset.table];
    body.replaceChildren(
      ...rows().map((row) => {
        const line = document.createElement("tr");
        cells.forEach((write) => {
          const cell = document.createElement("td");
          cell.textContent = write(row);
          line.append(cell);
        });
        return line;
      }),
    );
  }

  // --- numbers and sentences --------------------------------------------------------------------

  function sentences(found) {
    const { prior } = state;
    const error = found.debiased_ece;
    const known = error.low !== null;
    const diagram = isSelected()
      ? noneg.selection.bands(data, sums.first_diagram, prior, state.factor)
      : noneg.reliability(sums.diagrams[sums.first_diagram], prior);
    const checks = noneg.assumptions(data, prior);
    const contradicted = checks.prior === "contradicted";
    const rejected = isSelected() ? error.low > 0 : noneg.rejectedAt(data, prior);
    return {
      verdict_title: noneg.verdictTitle(known ? error : data.headline, prior, contradicted, rejected),
      verdict_where: noneg.verdictWhere(diagram, rejected),
      verdict_error: noneg.verdictError(error, prior, data.level),
      verdict_selection: noneg.verdictSelection(noneg.selection.stands(data, prior), state.factor),
      bound: noneg.boundSentence(
        noneg.biasBound(data, prior, null), noneg.biasBound(data, prior, 1 - data.level),
        data.level, data.bins,
      ),
      floor: noneg.floorSentence(sums.effective_positive, checks.noise_floor),
      plan: noneg.planSentence(noneg.positivesNeeded(data, prior, EPS), data.n_positive, EPS),
    };
  }

  function keepOriginals() {
    all("[data-number], [data-range], [data-text]").forEach((e) => originals.set(e, e.textContent));
    all("[data-warnings]").forEach((e) => originals.set(e, [...e.childNodes].map((n) => n.cloneNode(true))));
  }

  function restore() {
    for (const [element, content] of originals) {
      if (Array.isArray(content)) element.replaceChildren(...content.map((n) => n.cloneNode(true)));
      else element.textContent = content;
    }
    byId("warnings").hidden = !data.warned;
  }

  function write() {
    const found = noneg.selection.evaluate(data, state.prior, state.factor);
    const texts = sentences(found);
    for (const element of all("[data-number]")) {
      const [name, part] = element.dataset.number.split(".");
      element.textContent = fixed(found[name]?.[part], Number(element.dataset.digits));
    }
    for (const element of all("[data-range]")) {
      const one = found[element.dataset.range];
      element.textContent = range(one?.low, one?.high, Number(element.dataset.digits));
    }
    for (const element of all("[data-text]")) element.textContent = texts[element.dataset.text];
    writeWarnings(noneg.warnings(data, state.prior));
  }

  function writeWarnings(list) {
    byId("warnings").hidden = !list.length;
    document.querySelector("[data-warnings]").replaceChildren(
      ...list.map((text) => {
        const item = document.createElement("li");
        item.textContent = text;
        return item;
      }),
    );
  }

  // --- the prior --------------------------------------------------------------------------------

  const logit = (p) => Math.log(p / (1 - p));
  const lowest = Math.max(sums.least_prior, Math.min(0.005, data.prior / 10));
  const highest = Math.max(0.95, 1 - (1 - data.prior) / 10);
  const position = (prior) =>
    Math.round((STEPS * (logit(prior) - logit(lowest))) / (logit(highest) - logit(lowest)));

  function priorAt(step) {
    if (step === position(data.prior)) return data.prior;
    const x = logit(lowest) + (step / STEPS) * (logit(highest) - logit(lowest));
    return Number((1 / (1 + Math.exp(-x))).toPrecision(6));
  }

  function setPrior(prior) {
    state.prior = prior;
    follow();
    const slider = byId("prior-slider");
    slider.value = position(prior);
    slider.setAttribute("aria-valuetext", `class prior ${noneg.general(prior, 4)}`);
    byId("prior-number").value = noneg.general(prior, 6);
    byId("prior-reset").disabled = prior === data.prior;
    noneg.strip?.show(prior);
  }

  /** Writes and draws everything at the prior and the selection factor of the sliders. */
  function follow() {
    document.body.classList.toggle("moved", !given());
    if (given()) restore();
    else write();
    all("[data-table]").forEach(fillTable);
    explore();
    redraw(["reliability", "distribution", "curves", "roc_bounds", "pr_bounds", "now", "selected"]);
  }

  function listenToPrior() {
    byId("prior-slider").addEventListener("input", (event) => setPrior(priorAt(Number(event.target.value))));
    byId("prior-reset").addEventListener("click", () => setPrior(data.prior));
    byId("prior-number").addEventListener("change", (event) => {
      const prior = Number(event.target.value);
      const allowed = prior > 0 && prior < 1 && prior >= sums.least_prior;
      event.target.setCustomValidity(allowed ? "" : `a number from ${lowestText()} to 1`);
      event.target.reportValidity();
      if (allowed) setPrior(prior);
    });
  }

  // --- the selection factor ---------------------------------------------------------------------

  const LAST = data.factors[data.factors.length - 1];
  const FACTOR_STEPS = 100;
  const factorAt = (step) => Number((LAST ** (step / FACTOR_STEPS)).toPrecision(3));
  const stepOf = (factor) => Math.round((FACTOR_STEPS * Math.log(factor)) / Math.log(LAST));

  function setFactor(factor) {
    state.factor = factor;
    follow();
    byId("factor-slider").value = stepOf(factor);
    byId("factor-slider").setAttribute("aria-valuetext", `selection factor ${noneg.general(factor, 4)}`);
    byId("factor-number").value = noneg.general(factor, 6);
    byId("factor-reset").disabled = factor === data.selection;
  }

  function listenToFactor() {
    const slider = byId("factor-slider");
    slider.value = stepOf(data.selection);
    slider.addEventListener("input", () => {
      const step = Number(slider.value);
      setFactor(step === stepOf(data.selection) ? data.selection : factorAt(step));
    });
    byId("factor-reset").addEventListener("click", () => setFactor(data.selection));
    byId("factor-number").addEventListener("change", (event) => {
      const factor = Number(event.target.value);
      const allowed = factor >= 1 && factor <= LAST;
      event.target.setCustomValidity(allowed ? "" : `a number from 1 to ${LAST}`);
      event.target.reportValidity();
      if (allowed) setFactor(factor);
    });
  }

  const lowestText = () => (sums.least_prior ? noneg.general(sums.least_prior, 4) : "0");

  // --- the threshold ----------------------------------------------------------------------------

  function explore() {
    const { prior, threshold: i } = state;
    const { tails } = sums;
    const rows = data.n_marginal;
    const shares = noneg.confusion(tails, prior, i);
    const show = (name, text) => all(`[data-explore="${name}"]`).forEach((e) => { e.textContent = text; });
    for (const [name, share] of Object.entries(shares)) {
      show(name, noneg.count(share * rows));
      show(`${name}_share`, percent(share));
    }
    show("flagged", `${noneg.count(tails.ppr[i] * rows)} of ${noneg.count(rows)}`);
    show("flagged_share", percent(tails.ppr[i]));
    for (const name of data.explored) {
      const found = isSelected()
        ? noneg.selection.ruleBounds(data, name, prior, state.factor, i)
        : noneg.atThreshold(data, name, prior, i);
      show(name, fixed(found.value, 3));
      show(`${name}_range`, range(found.low, found.high, 3));
    }
    show("promised", fixed(noneg.promised(data, prior, i), 3));
    show("cost", fixed(1000 * noneg.cost(tails, prior, i, state.costs), 1));
    const text = noneg.general(tails.threshold[i], 4);
    show("threshold", text);
    byId("threshold-slider").value = i;
    byId("threshold-slider").setAttribute("aria-valuetext", `threshold ${text}`);
  }

  function setThreshold(i) {
    state.threshold = i;
    explore();
    redraw(["selected"]);
  }

  function best(measure) {
    let chosen = 0;
    sums.tails.threshold.forEach((_, i) => {
      if (!(measure(i) <= measure(chosen))) chosen = i;
    });
    return chosen;
  }

  function listenToThreshold() {
    const slider = byId("threshold-slider");
    slider.max = sums.tails.threshold.length - 1;
    slider.addEventListener("input", () => setThreshold(Number(slider.value)));
    byId("threshold-half").addEventListener("click", () => setThreshold(nearest(0.5)));
    byId("threshold-f1").addEventListener("click", () =>
      setThreshold(best((i) => noneg.atThreshold(data, "f_beta", state.prior, i).value)));
    byId("threshold-cost").addEventListener("click", () =>
      setThreshold(best((i) => -noneg.cost(sums.tails, state.prior, i, state.costs))));
    ["cost-false", "cost-missed"].forEach((id, k) =>
      byId(id).addEventListener("input", (event) => {
        const value = Number(event.target.value);
        if (value >= 0) {
          state.costs[k] = value;
          explore();
        }
      }));
  }

  // --- the rest ---------------------------------------------------------------------------------

  function listenToDiagram() {
    all("[name=diagram]").forEach((choice) => {
      choice.checked = choice.value === state.diagram;
      choice.addEventListener("change", () => {
        state.diagram = choice.value;
        all('[data-table="reliability"]').forEach(fillTable);
        redraw(["reliability"]);
      });
    });
  }

  function listenToCopy() {
    all("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
      const text = byId(button.dataset.copy).textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(byId(button.dataset.copy));
        button.textContent = "Selected: copy it with the keyboard";
      }
    }));
  }

  // On paper everything is open; on the screen it closes again.
  const opened = [];
  addEventListener("beforeprint", () => all("details:not([open])").forEach((e) => { e.open = true; opened.push(e); }));
  addEventListener("afterprint", () => opened.splice(0).forEach((e) => { e.open = false; }));

  keepOriginals();
  if (movable) {
    listenToPrior();
    byId("prior-slider").value = position(data.prior);
    noneg.strip?.build(data, { position, priorAt, setPrior, steps: STEPS });
  }
  if (movable && sums.selection) listenToFactor();
  listenToThreshold();
  listenToDiagram();
  listenToCopy();
  explore();
  draw();
  noneg.data = data;
})();
