/* Clicking a header of a data-sortable table sorts by that column, first descending, then ascending.
 *
 * Each header contains a button for keyboard access; aria-sort states the order.
 */
"use strict";

(() => {
  // The first number in a cell, such as the lower end of an interval, or the text if there is none.
  function key(row, column) {
    const text = row.cells[column].textContent.trim();
    const number = column === 0 ? null : text.replaceAll(",", "").match(/-?\d+(\.\d+)?/);
    return number ? Number(number[0]) : text;
  }

  function order(a, b) {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
    return typeof a === "number" ? 1 : -1; // missing values come last in descending order
  }

  function sort(table, header) {
    const headers = [...table.tHead.rows[0].cells];
    const column = headers.indexOf(header);
    const falls = header.getAttribute("aria-sort") !== "descending";
    const rows = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
    rows.sort(([a], [b]) => (falls ? order(b, a) : order(a, b)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
    headers.forEach((one) => one.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", falls ? "descending" : "ascending");
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, header));
    }
  }
})();
