"use strict";
// What a page can do more with a script than without: sorting, filtering, tabs, unfolding for print.

function enhance(root) {
  root.querySelectorAll("table[data-sortable]").forEach(makeSortable);
  root.querySelectorAll("[data-filter]").forEach(makeFilter);
  root.querySelectorAll("[data-tabs]").forEach(makeTabs);
}

function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((one) => one.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      sortRows(table.tBodies[0], column, down);
    });
  });
}

function sortRows(body, column, down) {
  const valueOf = (row) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };
  const rows = [...body.rows].map((row) => [valueOf(row), row]);
  const numeric = rows.every(([value]) => value === "" || !Number.isNaN(Number(value)));
  rows.sort(([a], [b]) => {
    if (numeric && (a === "") !== (b === "")) return a === "" ? 1 : -1; // nothing comes last, whichever way
    const order = numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true });
    return down ? -order : order;
  });
  body.append(...rows.map(([, row]) => row));
}

function makeFilter(box) {
  const target = document.getElementById(box.dataset.filter);
  const input = box.querySelector("input");
  const output = box.querySelector("output");
  const items = [...(target.tBodies ? target.tBodies[0].rows : target.querySelectorAll("[data-item]"))];
  const texts = items.map((item) => (item.dataset.text ?? item.textContent).toLowerCase());
  box.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    items.forEach((item, i) => {
      item.hidden = !words.every((word) => texts[i].includes(word));
      shown += item.hidden ? 0 : 1;
    });
    output.value = words.length ? `${shown} of ${items.length}` : "";
    // headings of groups in which nothing is left
    target.querySelectorAll("[data-group]").forEach((group) => {
      group.hidden = !group.querySelector("[data-item]:not([hidden])");
    });
  });
}

let tabCount = 0;

function makeTabs(box) {
  const panels = [...box.children].filter((one) => one.dataset.tab !== undefined);
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", box.dataset.tabs);
  const tabs = panels.map((panel) => {
    const tab = document.createElement("button");
    tabCount += 1;
    tab.type = "button";
    tab.id = `tab-${tabCount}`;
    tab.textContent = panel.dataset.tab;
    panel.id = panel.id || `panel-${tabCount}`;
    panel.tabIndex = 0;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    list.append(tab);
    return tab;
  });
  const select = (chosen, focus) => {
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === chosen));
      tab.tabIndex = i === chosen ? 0 : -1;
      panels[i].hidden = i !== chosen;
    });
    if (focus) tabs[chosen].focus();
  };
  list.addEventListener("click", (event) => {
    const chosen = tabs.indexOf(event.target);
    if (chosen >= 0) select(chosen, false);
  });
  list.addEventListener("keydown", (event) => {
    const here = tabs.indexOf(event.target);
    const last = tabs.length - 1;
    const next = { ArrowRight: here === last ? 0 : here + 1, ArrowLeft: here === 0 ? last : here - 1, Home: 0, End: last };
    if (event.key in next) {
      event.preventDefault();
      select(next[event.key], true);
    }
  });
  box.classList.add("switched");
  box.prepend(list);
  select(0, false);
}

let unfolded = [];
window.addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open], [data-spoiler])")];
  unfolded.forEach((one) => { one.open = true; });
});
window.addEventListener("afterprint", () => {
  unfolded.forEach((one) => { one.open = false; });
});

enhance(document);
