/* The page: reads the sums, draws the charts, and follows the two sliders.
 *
 * At the given prior, every number is the one that Python wrote into the page. When the prior changes,
 * elements are filled according to their attributes:
 *   data-number="ece.value"   a number      data-range="ece"   its interval
 *   data-text="verdict_title" a sentence    data-table="..."   the rows of a table
 */
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("noneg-data").textContent, (_, value) =>
    (value?.doubles === undefined ? value : [...unpack(value.doubles)]));
  const { sums } = data;
  noneg.learn(data);
  const movable = data.setting !== "labeled";
  const EPS = data.eps;
  const STEPS = 1000; // of the prior's slider
  const GRID = 60; // priors at which the error is drawn
  const MISSING = "–";

  const state = { prior: data.prior, factor: data.selection, threshold: nearest(0.5), diagram: sums.first_diagram, costs: [1, 1], section: "" };
  const views = {};
  const originals = new Map();

  const all = (selector) => [...document.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const isNumber = (x) => x !== null && x !== undefined && Number.isFinite(x);
  const fixed = (x, digits) => {
    if (!isNumber(x)) return MISSING;
    const text = x.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return /[1-9]/.test(text) ? text : text.replace("-", ""); // Rounding error makes some zeros negative.
  };
  const range = (low, high, digits) =>
    ![low, high].every(isNumber)
      ? MISSING
      : `[${fixed(low, digits)}, ${fixed(high, digits)}]`;
  const percent = (x) => `${(100 * x).toFixed(2)}%`;

  function nearest(threshold) {
    const gaps = sums.tails.threshold.map((t) => Math.abs(t - threshold));
    return gaps.indexOf(Math.min(...gaps));
  }

  // --- packed sums ------------------------------------------------------------------------------

  function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
  }

  for (const bins of Object.values(sums.bins)) {
    if (bins.noise) bins.noise = { slope: unpack(bins.noise.slope), level: unpack(bins.noise.level) };
  }

  // --- chart data -------------------------------------------------------------------------------

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
  const ruledOut = () => movable && !noneg.isPossible(data, state.prior, state.factor);
  const isSelected = () => state.factor > 1 && sums.selection;

  function shownDiagram() {
    if (isSelected()) return noneg.selection.bands(data, state.diagram, state.prior, state.factor);
    const ends = given() ? data.prior_ends : undefined;
    return noneg.reliability(sums.diagrams[state.diagram], state.prior, ends);
  }

  function smoothCurve() {
    const share = sums.selection ? sums.selection.box.share : 0;
    const priors = given() ? [data.prior, ...data.prior_ends] : [state.prior];
    const factor = isSelected() ? state.factor : 1;
    const ends = priors.map((prior) => [prior, ...noneg.selection.density(share, prior, factor)]);
    return noneg.smooth(sums.smooth, state.prior || 1, ends);
  }

  function datasets() {
    const bounds = isSelected()
      ? noneg.selection.outlines(data, state.prior, state.factor)
      : noneg.rankBounds(data, state.prior);
    return {
      reliability: shownDiagram(),
      smooth: smoothCurve(),
      distribution: noneg.distribution(sums.histogram, state.prior),
      curves: noneg.curves(data, state.prior).map((row, i) => ({ ...row, promised: guaranteed(i) })),
      roc_bounds: outline(bounds, "fpr", "tpr"),
      pr_bounds: outline(bounds, "recall", "precision"),
      prior_curve: drawPriorCurve(),
      now: [
        {
          prior: state.prior,
          ece: noneg.ece(sums.bins.ece, state.prior),
          largest_prior: noneg.largestPrior(data, state.factor),
        },
      ],
      selected: selected(),
      ...(given() && !isSelected() ? data.given : {}),
      ...data.still,
    };
  }

  /** Width of an element, even inside a folded section. */
  function widthOf(place) {
    const closed = [];
    for (let e = place.closest("details"); e; e = e.parentElement.closest("details")) {
      if (!e.open) closed.push(e);
    }
    closed.forEach((e) => { e.open = true; });
    const width = place.clientWidth;
    closed.forEach((e) => { e.open = false; });
    return width;
  }

  async function draw() {
    const rows = datasets();
    for (const place of all("[data-chart]")) {
      const name = place.dataset.chart;
      const chart = data.charts[name];
      const autosize = { type: "fit-x", contains: "padding" };
      const spec = { ...chart, width: widthOf(place), autosize, datasets: { ...chart.datasets, ...rows } };
      const options = { renderer: "svg", actions: false, ast: true, defaultStyle: false };
      const { view } = await vegaEmbed(place, spec, options);
      views[name] = { view, place, uses: data.chart_data[name] };
    }
    addEventListener("resize", () => Object.values(views).forEach(({ view, place }) => {
      const width = widthOf(place);
      if (width && width !== view.width()) view.width(width).runAsync();
    }));
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

  function sentences() {
    const { prior, factor } = state;
    const checks = noneg.assumptions(data, prior, factor);
    const verdict = noneg.judged(data, prior, factor);
    return {
      code: verdict.code,
      given: "", // only known at the given prior
      what_if: noneg.whatIf(data, prior, factor),
      sample: noneg.sample(data, prior, factor),
      ...noneg.action(data, verdict.key, prior, factor),
      verdict_title: verdict.sentence,
      verdict_where: verdict.where,
      verdict_error: ruledOut() ? "" : noneg.verdictError(verdict.error, prior, data.level),
      verdict_selection: ruledOut() ? "" : noneg.verdictSelection(noneg.selection.stands(data, prior), factor),
      bound: noneg.boundSentence(
        noneg.biasBound(data, prior, null), noneg.biasBound(data, prior, 1 - data.level),
        data.level, data.bins,
      ),
      floor: noneg.floorSentence(sums.effective_positive, checks.noise_floor),
      plan: noneg.planSentence(noneg.positivesNeeded(data, prior, EPS), data.n_positive, EPS),
    };
  }

  function keepOriginals() {
    all("[data-number], [data-range], [data-text], .given").forEach((e) => originals.set(e, e.innerHTML));
    originals.set(document.querySelector("[data-warnings]"), document.querySelector("[data-warnings]").innerHTML);
  }

  function restore() {
    for (const [element, content] of originals) element.innerHTML = content;
    byId("warnings").hidden = !data.warned;
    showCode(data.code);
  }

  function showCode(code) {
    const verdict = byId("verdict");
    verdict.className = `verdict ${code}`;
    document.body.classList.toggle("ruled-out", ruledOut());
    verdict.querySelector("[data-code]").textContent = noneg.say(`code_${code}`);
  }

  /** Shows the results available at the slider positions, and hides the others. */
  function write() {
    all(".given").forEach((element) => { element.textContent = MISSING; });
    const found = noneg.selection.evaluate(data, state.prior, state.factor);
    const texts = sentences();
    for (const element of all("[data-number]")) {
      const [name, part] = element.dataset.number.split(".");
      element.textContent = fixed(found[name]?.[part], Number(element.dataset.digits));
    }
    for (const element of all("[data-range]")) {
      const one = found[element.dataset.range];
      element.textContent = range(one?.low, one?.high, Number(element.dataset.digits));
    }
    for (const element of all("[data-text]")) element.textContent = texts[element.dataset.text];
    all("#next-code > span").forEach(keepWords);
    showCode(texts.code);
    writeWarnings(noneg.warnings(data, state.prior, state.factor));
  }

  /** Lets a command break before its options, not between an option and its value. */
  function keepWords(element) {
    const words = element.textContent.split(/ (?=--?[a-z])/).flatMap((text) => {
      const word = document.createElement("span");
      word.className = "word";
      word.textContent = text;
      return [word, " "];
    });
    element.replaceChildren(...words.slice(0, -1));
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
  // Twice the largest odds that the rows allow or the user gave.
  const most = Math.min(Math.max(noneg.largestPrior(data), data.prior, data.prior_ends[1]), 0.97);
  const highest = (2 * most) / (1 + most);
  const position = (prior) =>
    Math.round((STEPS * (logit(prior) - logit(lowest))) / (logit(highest) - logit(lowest)));

  function priorAt(step) {
    if (step === position(data.prior)) return data.prior;
    const x = logit(lowest) + (step / STEPS) * (logit(highest) - logit(lowest));
    return Math.max(lowest, Number((1 / (1 + Math.exp(-x))).toPrecision(4)));
  }

  function setPrior(prior) {
    state.prior = prior;
    follow();
    const slider = byId("prior-slider");
    slider.value = position(prior);
    slider.setAttribute("aria-valuetext", `share of positives ${noneg.general(prior, 4)}`);
    byId("prior-number").value = noneg.general(prior, 6);
    byId("prior-reset").disabled = prior === data.prior;
    noneg.strip?.show(prior, state.factor);
  }

  /** Updates all text and charts for the prior and selection factor of the sliders. */
  function follow() {
    document.body.classList.toggle("moved", !given());
    if (given()) restore();
    else write();
    all("[data-table]").forEach(fillTable);
    explore();
    answerPrecision();
    keepAddress();
    redraw(["reliability", "smooth", "distribution", "curves", "roc_bounds", "pr_bounds", "now", "selected"]);
  }

  const allowsPrior = (prior) => prior > 0 && prior < 1 && prior >= sums.least_prior;

  function listenToPrior() {
    byId("prior-slider").addEventListener("input", (event) => setPrior(priorAt(Number(event.target.value))));
    byId("prior-reset").addEventListener("click", () => setPrior(data.prior));
    byId("prior-number").addEventListener("change", (event) => {
      const prior = Number(event.target.value);
      setPrior(allowsPrior(prior) ? prior : state.prior);
      byId("prior-refused").textContent = allowsPrior(prior) ? "" : noneg.say("prior_refused", { value: prior, least: lowestText() });
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
    noneg.strip?.follow(state.prior, factor);
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
      setFactor(Math.min(Math.max(factor || 1, 1), LAST));
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
    show("flagged", `${noneg.count(tails.ppr[i] * rows)} (${percent(tails.ppr[i])})`);
    for (const name of data.explored) {
      const found = atThreshold(name, i);
      show(name, fixed(found.value, 3));
      show(`${name}_range`, range(found.low, found.high, 3));
    }
    show("promised", fixed(guaranteed(i), 3));
    show("cost", fixed(1000 * noneg.cost(tails, prior, i, state.costs), 1));
    const text = noneg.general(tails.threshold[i], 4);
    byId("threshold-number").value = text;
    byId("threshold-slider").value = Math.round(STEPS * tails.threshold[i]);
    byId("threshold-slider").setAttribute("aria-valuetext", `threshold ${text}`);
  }

  /** The guaranteed precision, at most the end of the interval; it is not known at another selection factor. */
  function guaranteed(i) {
    if (state.factor !== data.selection || ruledOut()) return null;
    const limit = noneg.promised(data, state.prior, i);
    const low = atThreshold("precision", i).low;
    return limit === null ? null : Math.min(limit, low ?? limit);
  }

  const atThreshold = (name, i) =>
    (isSelected() ? noneg.selection.ruleBounds(data, name, state.prior, state.factor, i) : noneg.atThreshold(data, name, state.prior, i));

  function setThreshold(i) {
    state.threshold = i;
    explore();
    keepAddress();
    redraw(["selected"]);
  }

  function best(measure) {
    let chosen = 0;
    sums.tails.threshold.forEach((_, i) => {
      if (!(measure(i) <= measure(chosen))) chosen = i;
    });
    return chosen;
  }

  /** The wanted precision as a share, or null; a percentage is accepted. */
  function wantedPrecision() {
    const value = Number(byId("precision-wanted").value);
    const wanted = value > 1 ? value / 100 : value;
    return wanted > 0 && wanted <= 1 ? wanted : null;
  }

  /** The smallest threshold that guarantees the wanted precision or, if none does, whose estimate reaches it. */
  function findPrecision() {
    const wanted = wantedPrecision();
    if (wanted === null) return { chosen: -1, text: noneg.say("precision_range") };
    if (ruledOut()) return { chosen: -1, text: noneg.say("precision_impossible") };
    const limits = sums.tails.threshold.map((_, i) => guaranteed(i) ?? -1);
    const sure = limits.findIndex((x) => x >= wanted);
    const rows = noneg.curves(data, state.prior);
    const likely = rows.findIndex((row) => row.enough && row.precision !== null && row.precision >= wanted);
    return { chosen: sure >= 0 ? sure : likely, text: foundText(wanted, limits, sure, likely) };
  }

  function answerPrecision() {
    byId("precision-found").textContent = findPrecision().text;
  }

  function usePrecision() {
    const { chosen } = findPrecision();
    if (chosen >= 0) setThreshold(chosen);
  }

  function foundText(wanted, limits, sure, likely) {
    const { threshold } = sums.tails;
    const estimate = likely < 0 ? noneg.say("precision_never", { wanted }) : noneg.say("precision_estimated", { wanted, threshold: threshold[likely] });
    return `${guaranteeText(wanted, limits, sure)} ${estimate}`;
  }

  function guaranteeText(wanted, limits, sure) {
    const { threshold } = sums.tails;
    if (sure >= 0) return noneg.say("precision_found", { wanted, threshold: threshold[sure], percent: 100 * data.level, known: knownPrior() });
    const top = Math.max(...limits);
    const best = (Math.floor(1000 * top) / 1000).toFixed(3);
    return top < 0 ? noneg.say("precision_open") : noneg.say("precision_best", { wanted, best, at: threshold[limits.indexOf(top)] });
  }

  /** The shares of positives for which a guarantee holds. */
  function knownPrior() {
    const [low, high] = data.prior_ends;
    if (!movable) return noneg.say("precision_labeled");
    return given() && low < high ? noneg.say("precision_for_all", { low, high }) : noneg.say("precision_if", { prior: state.prior });
  }

  /** The threshold nearest to the slider position; even a small step moves to another threshold. */
  function thresholdAt(step) {
    const wanted = step / STEPS - sums.tails.threshold[state.threshold];
    const found = nearest(step / STEPS);
    const next = state.threshold + Math.sign(wanted);
    return found === state.threshold && sums.tails.threshold[next] !== undefined ? next : found;
  }

  function listenToThreshold() {
    const slider = byId("threshold-slider");
    slider.max = STEPS;
    slider.addEventListener("input", () => setThreshold(thresholdAt(Number(slider.value))));
    byId("threshold-number").addEventListener("change", (event) => setThreshold(nearest(Number(event.target.value))));
    byId("threshold-half").addEventListener("click", () => setThreshold(nearest(0.5)));
    byId("threshold-f1").addEventListener("click", () =>
      setThreshold(best((i) => noneg.atThreshold(data, "f_beta", state.prior, i).value)));
    byId("threshold-cost").addEventListener("click", () =>
      setThreshold(best((i) => -noneg.cost(sums.tails, state.prior, i, state.costs))));
    byId("threshold-precision").addEventListener("click", usePrecision);
    byId("precision-wanted").addEventListener("input", answerPrecision);
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
        keepAddress();
        all('[data-table="reliability"]').forEach(fillTable);
        redraw(["reliability"]);
      });
    });
  }

  function listenToCopy() {
    all("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
      const text = byId(button.dataset.copy).textContent;
      const words = button.textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = words; }, 2000);
      } catch {
        getSelection().selectAllChildren(byId(button.dataset.copy));
        button.textContent = "Selected. Copy it with the keyboard.";
      }
    }));
  }

  // --- the state is stored in the URL, so that a view can be shared ----------------------------------

  const first = { ...state };

  function keepAddress() {
    const kept = new URLSearchParams();
    if (state.prior !== first.prior) kept.set("prior", String(state.prior));
    if (state.factor !== first.factor) kept.set("factor", String(state.factor));
    if (state.threshold !== first.threshold) kept.set("threshold", String(sums.tails.threshold[state.threshold]));
    if (state.diagram !== first.diagram) kept.set("diagram", state.diagram);
    const { section } = state;
    if (section && kept.size) kept.set("section", section);
    const [page] = location.href.split("#");
    const fragment = kept.size ? kept : section;
    history.replaceState(null, "", fragment ? `${page}#${fragment}` : page);
  }

  /** Sets the sliders from a URL, and ignores values that this page does not allow. */
  function readAddress() {
    if (!location.hash.includes("=")) {
      state.section = location.hash.slice(1);
      return;
    }
    const kept = new URLSearchParams(location.hash.slice(1));
    state.section = kept.get("section") ?? "";
    const number = (name) => (kept.has(name) ? Number(kept.get(name)) : NaN);
    const [prior, factor, threshold] = ["prior", "factor", "threshold"].map(number);
    if (movable && allowsPrior(prior)) setPrior(prior);
    if (movable && sums.selection && factor >= 1 && factor <= LAST) setFactor(factor);
    if (threshold >= 0 && threshold <= 1) setThreshold(nearest(threshold));
    const choice = all("[name=diagram]").find((one) => one.value === kept.get("diagram"));
    if (choice) choice.click();
  }

  // --- folded sections --------------------------------------------------------------------------

  function unfold(name) {
    const fold = document.getElementById(name)?.querySelector("details.fold");
    if (fold) fold.open = true;
  }

  function listenToLinks() {
    all("nav a").forEach((link) => link.addEventListener("click", () => unfold(link.hash.slice(1))));
    // A link to a section would replace the state in the URL, so both are kept.
    addEventListener("hashchange", () => {
      const isLink = !location.hash.includes("=");
      readAddress();
      if (isLink) keepAddress();
      unfold(state.section);
    });
    all("[data-reset]").forEach((button) => button.addEventListener("click", () => {
      if (sums.selection) setFactor(data.selection);
      setPrior(data.prior);
    }));
  }

  // All sections are open in print, and close again on the screen.
  const opened = [];
  addEventListener("beforeprint", () => all("details:not([open])").forEach((e) => { e.open = true; opened.push(e); }));
  addEventListener("afterprint", () => opened.splice(0).forEach((e) => { e.open = false; }));

  all("#next-code > span").forEach(keepWords);
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
  listenToLinks();
  explore();
  answerPrecision();
  readAddress();
  draw().then(() => {
    if (!state.section) return;
    unfold(state.section);
    byId(state.section)?.scrollIntoView();
  });
  noneg.data = data;
})();
