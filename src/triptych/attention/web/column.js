// One model: its translation, a panel for each head of a layer, and the table of all heads.

class Column {
  constructor(data) {
    Object.assign(this, { data, layer: undefined, lit: null, panels: [] });
    this.title = data.off.length ? `${data.name} without ${data.off.join(", ")}` : data.name;
    this.translation = make("div");
    this.readout = make("p", { className: "readout" });
    this.grid = make("div", { className: "panels" });
    this.slider = make("input", { type: "range", min: 1, step: 1 });
    this.slider.addEventListener("input", () => this.show(Number(this.slider.value) - 1));
    this.count = make("output");
    this.name = make("span", { className: "faint" });
    this.table = new HeadTable(this);
    const label = make("label", { className: "range" }, make("span", {}, "Layer ", this.count), this.slider);
    const head = make("div", { className: "head" }, label, this.name);
    this.heads = make("div", {}, head, this.readout, this.grid, this.table.element);
    this.none = make("p", { className: "none" });
    this.element = make("section", { className: "column" }, this.translation, this.heads, this.none);
    this.element.setAttribute("aria-label", this.title);
    this.grid.addEventListener("pointerleave", () => this.light(null));
    this.grid.addEventListener("focusout", (event) => this.grid.contains(event.relatedTarget) || this.light(null));
  }

  get pair() { return this.data.pairs[state.pair]; }
  get view() { return this.pair.views.find((view) => view.kind === state.kind); }
  get labels() { return { queries: this.view.queries[state.level], keys: this.view.keys[state.level] }; }

  matrix(head) { return matrix(this.pair, this.view, this.layer, head, state.level); }

  isOff(head) {
    const layer = `${this.view.source}.${this.layer + 1}`;
    return this.view.off.some((name) => name === layer || name === `${layer}.${head + 1}`);
  }

  isSpecial(side, index) {
    const axis = side === "query" ? this.view.queries : this.view.keys;
    const piece = state.level === "pieces" ? index : axis.starts[index];
    return /^<[^<>]+>$/.test(axis.pieces[piece]) && axis.words[axis.starts.indexOf(piece)] === axis.pieces[piece];
  }

  factsOf(head) {
    const entropy = this.view.summaries[state.level].entropy[this.layer][head];
    const effect = this.view.effects?.[this.layer][head];
    return `entropy ${entropy.toFixed(2)}${effect === undefined ? "" : ` · off ${signed(effect)}`}`;
  }

  // Build everything for another pair, kind, view or level, but for what is in panels and table.
  build() {
    const { pair, view } = this;
    Object.assign(this, { lit: null, panels: [] });
    const heading = make("h2", { textContent: this.title });
    const target = make("p", { className: "translation", textContent: pair.target || "(empty translation)", title: "Translation" });
    const score = make("p", { className: "faint", textContent: `log p ${pair.score.toFixed(2).replace("-", "−")} nats` });
    const parts = [heading, target, score];
    if (pair.ablation) parts.push(this.ablation(pair.ablation));
    this.translation.replaceChildren(...parts);
    this.heads.hidden = !view;
    this.none.hidden = Boolean(view);
    this.none.textContent = `This model has no attention “${DATA.kinds[state.kind]}”.`;
    this.grid.replaceChildren();
    if (!view) return;
    this.name.textContent = view.name;
    this.slider.max = view.layers;
    this.slider.disabled = view.layers === 1;
    this.show(Math.min(this.layer ?? this.mostFocused(), view.layers - 1));
  }

  // The layer whose heads have the lowest entropy, where the page begins.
  mostFocused() {
    const totals = this.view.summaries.pieces.entropy.map((heads) => heads.reduce((sum, one) => sum + one, 0));
    return totals.indexOf(Math.min(...totals));
  }

  show(layer) {
    this.layer = layer;
    this.lit = null;
    this.slider.value = layer + 1;
    this.count.textContent = `${layer + 1} of ${this.view.layers}`;
    if (this.panels.length) { // another layer has the same tokens
      for (const panel of this.panels) panel.mark();
      this.draw();
    } else {
      this.grid.className = `panels ${state.view}`;
      this.panels = Array.from({ length: this.view.heads }, (_, head) => new Panel(this, head, false));
      this.grid.replaceChildren(...this.panels.map((panel) => panel.element));
    }
    this.table.mark();
    this.read();
  }

  drawn() { return enlarged?.column === this ? [...this.panels, enlarged] : this.panels; }

  draw() { for (const panel of this.drawn()) panel.draw(); }

  // Light a token in all heads, or none. In a heat map, `key` is the key of the cell that is pointed at.
  light(side, index, panel, key) {
    const { lit } = this;
    if (!lit && !side || lit && lit.side === side && lit.index === index && lit.key === key) return;
    this.lit = side ? { side, index, key } : null;
    this.draw();
    this.read(panel);
  }

  read(panel) {
    if (!this.lit) {
      this.readout.textContent = "Point at a token to see its weights.";
      return;
    }
    const { side, index } = this.lit, names = side === "query" ? this.labels.queries : this.labels.keys;
    const does = side === "query" ? "looks at" : "is looked at by", place = `${index + 1} of ${names.length}`;
    const what = side === "query" ? "where it looks, in each head" : "what looks at it, in each head";
    this.readout.replaceChildren(make("b", { textContent: names[index] }), ` (${place}): ${what}`);
    if (panel) document.getElementById("spoken").textContent = `${names[index]} ${does} ${panel.facts.textContent}`;
  }

  choose(layer, head) {
    if (layer !== this.layer) this.show(layer);
    for (const panel of this.panels) panel.element.classList.toggle("chosen", panel.head === head);
    this.panels[head].element.scrollIntoView({ block: "nearest" });
  }

  enlarge(head) { openLarge(this, head); }

  ablation({ before, after, words, translations }) {
    const change = after - before, largest = Math.max(1e-9, ...words.map((word) => Math.abs(word[1])));
    const number = make("span", { className: `change ${change < 0 ? "down" : "up"}`, textContent: `${signed(change)} nats` });
    const log = `log p of this translation: ${before.toFixed(2)} → ${after.toFixed(2)} (`.replaceAll("-", "−");
    const list = make("ul", { className: "words" }, ...words.map(([word, by]) => {
      const item = make("li", { title: "change of the word’s log p in nats" }, word, make("small", { textContent: signed(by) }));
      item.style.setProperty("--share", Math.abs(by) / largest * Math.min(1, largest));
      item.style.setProperty("--tint", by < 0 ? "var(--off)" : "var(--gain)");
      return item;
    }));
    const marked = (name, text) => make("p", {}, `${name}: `, ...text.flatMap(([word, changed]) =>
      [changed ? make("mark", { textContent: word }) : word, " "]));
    const same = !translations[1].some((word) => word[1]) && translations[0].length === translations[1].length;
    const own = same ? [make("p", { textContent: "It translates the source as with all heads." })]
      : [marked("With all heads", translations[0]), marked(`Without ${this.data.off.join(", ")}`, translations[1])];
    return make("div", { className: "ablation" }, make("p", {}, log, number, ")"), list, ...own);
  }
}
