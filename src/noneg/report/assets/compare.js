/* A page without sliders: draws the charts from the rows embedded in it. */
"use strict";

(async () => {
  const data = JSON.parse(document.getElementById("noneg-data").textContent);
  for (const place of document.querySelectorAll("[data-chart]")) {
    const name = place.dataset.chart;
    const chart = data.charts[name];
    const used = data.chart_data[name].filter((one) => one in data.still);
    const rows = Object.fromEntries(used.map((one) => [one, data.still[one]]));
    const spec = { ...chart, datasets: { ...chart.datasets, ...rows } };
    await vegaEmbed(place, spec, { renderer: "svg", actions: false, ast: true, defaultStyle: false });
  }
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
  document.body.dataset.ready = "true";
})();
