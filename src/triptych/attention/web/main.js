// What is chosen, and the controls that choose it.

const FRAME = 16; // milliseconds
const DATA = JSON.parse(document.getElementById("data").textContent);
const state = { pair: 0, kind: Object.keys(DATA.kinds)[0], view: "lines", level: "pieces", threshold: 0.1 };
const columns = DATA.columns.map((data) => new Column(data));
const dialog = document.getElementById("large");
let enlarged = null, waiting = []; // panels and tables to be built
document.getElementById("columns").append(...columns.map((column) => column.element));

function build() {
  document.getElementById("source").textContent = DATA.columns[0].pairs[state.pair].source;
  document.getElementById("limit").hidden = state.view === "heat";
  for (const column of columns) column.build();
  layOut();
}

// Fill panels and tables: those in sight at once, the others after the frame, so that no answer waits for what nobody sees.
function layOut() {
  const shown = columns.filter((column) => column.view);
  const widths = shown.map((column) => column.panels[0].plot.clientWidth); // all reads before all writes: a single layout
  for (const [i, column] of shown.entries()) for (const panel of column.panels) panel.measure(widths[i]);
  const parts = shown.flatMap((column) => [...column.panels, column.table]);
  const inSight = new Set(parts.filter((part) => {
    const { top, bottom } = part.element.getBoundingClientRect();
    return top < window.innerHeight && bottom > 0;
  }));
  for (const part of inSight) part.build();
  waiting = parts.filter((part) => !inSight.has(part));
  buildAfterFrame();
}

function buildAfterFrame() {
  requestAnimationFrame(() => setTimeout(() => {
    const end = performance.now() + FRAME / 2;
    while (waiting.length && performance.now() < end) waiting.shift().build();
    if (waiting.length) buildAfterFrame();
  }));
}

function openLarge(column, head) {
  const count = column.panels.length, panel = new Panel(column, (head + count) % count, true);
  const { layers } = column.view, name = `${column.title}, ${DATA.kinds[state.kind].toLowerCase()}`;
  const layer = layers > 1 ? `, layer ${column.layer + 1} of ${layers}` : "";
  document.getElementById("large-title").textContent = `${name}${layer}, head ${panel.head + 1} of ${count}`;
  document.getElementById("large-panel").replaceChildren(panel.element);
  for (const button of dialog.querySelectorAll("[data-step]")) button.disabled = count === 1;
  if (!dialog.open) dialog.showModal(); // takes the focus from the token that was lit
  panel.measure(panel.plot.clientWidth);
  panel.build();
  enlarged = panel;
}

for (const [kind, title] of Object.entries(DATA.kinds)) {
  const input = make("input", { type: "radio", name: "kind", value: kind, checked: kind === state.kind });
  document.getElementById("kinds").append(make("label", {}, input, make("span", { textContent: title })));
}
for (const pair of DATA.columns[0].pairs) document.getElementById("pair").append(make("option", { textContent: pair.source }));
document.getElementById("pairs").hidden = DATA.columns[0].pairs.length === 1;
for (const entry of document.querySelectorAll("dt")) entry.textContent = HEADINGS[entry.dataset.measure];

document.getElementById("controls").addEventListener("input", ({ target }) => {
  if (target.id === "threshold") {
    state.threshold = Number(target.value);
    document.getElementById("shown").textContent = state.threshold.toFixed(2);
    for (const column of columns) column.draw();
    return;
  }
  if (target.id === "pair") state.pair = target.selectedIndex;
  else state[target.name] = target.value;
  build();
});
document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());

dialog.addEventListener("click", (event) => {
  const step = event.target.closest("[data-step]")?.dataset.step;
  if (step) openLarge(enlarged.column, enlarged.head + Number(step));
  else if (event.target === dialog || event.target.closest(".close")) dialog.close();
});
dialog.addEventListener("close", () => {
  const { column, head } = enlarged;
  enlarged = null;
  column.light(null);
  column.panels[head].title.focus();
});
document.getElementById("large-panel").addEventListener("pointerleave", () => enlarged?.column.light(null));

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  for (const column of columns) column.draw();
});
let width = window.innerWidth;
addEventListener("resize", () => {
  if (window.innerWidth === width) return; // a phone's address bar changes the height alone
  width = window.innerWidth;
  requestAnimationFrame(() => {
    layOut();
    enlarged?.measure(enlarged.plot.clientWidth);
    enlarged?.build();
  });
});

const [kindOff, layerOff] = DATA.columns.flatMap((data) => data.off)[0]?.split(".") ?? [];
if (kindOff) { // begin where the first head is off
  state.kind = DATA.columns[0].pairs[0].views.find((view) => view.source === kindOff).kind;
  document.querySelector(`#kinds input[value="${state.kind}"]`).checked = true;
  for (const column of columns) column.layer = layerOff - 1;
}
readColours();
build();
