// The table of heads, which sorts by its headings.

const SHARES = ["end", "first", "diagonal", "previous", "next", "sum"];
const HEADINGS = {
  layer: "Layer", head: "Head", effect: "Δ off", entropy: "Entropy", end: "End", first: "First", diagonal: "Diag.",
  previous: "Prev.", next: "Next", sum: "Sum",
};

function signed(value, digits = 2) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
}

class HeadTable {
  constructor(column) {
    Object.assign(this, { column, sorted: "layer", ascending: true });
    this.element = make("div", { className: "table", tabIndex: 0 });
    this.element.setAttribute("role", "region");
    this.element.setAttribute("aria-label", `Heads of ${column.title}`);
  }

  rows() {
    const { view } = this.column, rows = [], figures = view.summaries[state.level];
    for (let layer = 0; layer < view.layers; layer++)
      for (let head = 0; head < view.heads; head++) {
        const row = { layer: layer + 1, head: head + 1 };
        for (const [name, values] of Object.entries(figures)) if (values) row[name] = values[layer][head];
        if (view.part_of === undefined) delete row.sum;
        if (view.effects) row.effect = view.effects[layer][head];
        rows.push(row);
      }
    return rows;
  }

  build() {
    const rows = this.rows(), names = Object.keys(HEADINGS).filter((name) => name in rows[0]);
    if (!names.includes(this.sorted)) Object.assign(this, { sorted: "layer", ascending: true });
    const sign = this.ascending ? 1 : -1;
    rows.sort((a, b) => sign * (a[this.sorted] - b[this.sorted]) || a.layer - b.layer || a.head - b.head);
    const head = make("tr", {}, ...names.map((name) => this.heading(name)));
    const body = make("tbody", {}, ...rows.map((row) => this.row(row, names)));
    this.element.replaceChildren(make("table", {}, make("thead", {}, head), body));
    this.mark();
  }

  heading(name) {
    const button = make("button", { type: "button", textContent: HEADINGS[name], title: meaningOf(name) });
    button.addEventListener("click", () => {
      const again = this.sorted === name;
      this.ascending = again ? !this.ascending : !SHARES.includes(name); // the largest share first
      this.sorted = name;
      this.build();
      this.element.querySelector("th[aria-sort] button").focus();
    });
    const cell = make("th", { scope: "col" }, button);
    if (this.sorted === name) cell.setAttribute("aria-sort", this.ascending ? "ascending" : "descending");
    return cell;
  }

  row(row, names) {
    const choose = () => this.column.choose(row.layer - 1, row.head - 1);
    const cells = names.map((name) => {
      const value = row[name], cell = make("td");
      if (name === "layer") cell.textContent = value;
      else if (name === "head") {
        cell.append(make("button", { type: "button", textContent: value, title: "Show this head" }));
      } else cell.textContent = name === "effect" ? signed(value) : value.toFixed(2);
      if (SHARES.includes(name)) {
        cell.className = "share";
        cell.style.setProperty("--share", Math.min(1, value));
      }
      return cell;
    });
    const line = make("tr", {}, ...cells);
    line.dataset.layer = row.layer;
    line.addEventListener("click", choose);
    return line;
  }

  mark() {
    for (const line of this.element.querySelectorAll("tbody tr"))
      line.classList.toggle("current", Number(line.dataset.layer) === this.column.layer + 1);
  }
}

function meaningOf(name) {
  return document.querySelector(`dt[data-measure="${name}"]`)?.nextElementSibling.textContent ?? "";
}
