(() => {
  "use strict";
  // The page is whole without this: it only sorts and filters tables, and opens all lists before printing.
  const value = (row, column) => {
    const cell = row.cells[column];
    return "value" in cell.dataset ? Number(cell.dataset.value.replace("inf", "Infinity")) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
    return Number.isNaN(a) - Number.isNaN(b) || a - b;
  };
  const sort = (table, head, column) => {
    const numbers = typeof value(table.tBodies[0].rows[0], column) === "number";
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numbers;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [row, value(row, column)]);
    const missing = ([, found]) => Number.isNaN(found);
    rows.sort((a, b) => missing(a) - missing(b) || (down ? -1 : 1) * compare(a[1], b[1]));
    table.tBodies[0].append(...rows.map(([row]) => row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head, column));
      head.append(button);
    });
  }
  for (const table of document.querySelectorAll("table.searchable")) {
    const search = document.createElement("label"), input = document.createElement("input"), found = document.createElement("span");
    const rows = [...table.tBodies[0].rows];
    input.type = "search";
    search.className = "search";
    search.append("Find", input, found);
    found.className = "note";
    found.setAttribute("role", "status");
    input.addEventListener("input", () => {
      const text = input.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.querySelector("th").textContent.toLowerCase().includes(text);
      found.textContent = text && `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
    });
    table.parentElement.before(search);
  }
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const list of closed) list.open = true;
  });
  addEventListener("afterprint", () => { for (const list of closed) list.open = false; });
})();
