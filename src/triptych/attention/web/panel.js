// One head: its tokens, and its weights as lines or as a heat map.

const SHOWN = 0.005; // a smaller weight has no line and no number, which would be .00
const LABEL_HEIGHT = 11, FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const measuring = document.createElement("canvas").getContext("2d"), widths = new WeakMap();
function widthOf(labels, size) {
  if (!widths.has(labels)) {
    measuring.font = `10px ${FONT}`;
    widths.set(labels, Math.max(...labels.map((label) => measuring.measureText(label).width)) / 10);
  }
  return widths.get(labels) * size + 7;
}

const inWords = (weight) => weight.toFixed(2).replace(/^0/, "");

const colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["line", "lit", "raised"]) colours[name] = style.getPropertyValue(`--${name}`).trim();
}

class Panel {
  constructor(column, head, large) {
    Object.assign(this, { column, head, large, spans: { query: [], key: [] } });
    this.title = make("button", { type: "button", title: "Enlarge this head" });
    this.plot = make("div");
    this.facts = make("p", { className: "facts" });
    this.element = make("section", {}, this.title, this.plot, this.facts);
    this.mark();
    if (!large) this.element.addEventListener("click", (event) => event.target.closest(".token") || column.enlarge(head));
  }

  get matrix() { return this.column.matrix(this.head); }

  // Name the head, and whether it is off in the layer that is shown.
  mark() {
    const off = this.column.isOff(this.head);
    this.element.className = off ? "panel off" : "panel";
    const sign = make("i", { textContent: this.large ? "" : "⤢", ariaHidden: true });
    this.title.replaceChildren(`Head ${this.head + 1}${off ? ", off" : ""}`, sign);
  }

  // Lay out tokens and canvas for a width in pixels.
  build(width) {
    const { queries, keys } = this.column.labels, heat = state.view === "heat";
    const most = Math.max(queries.length, keys.length), room = width * 0.4;
    const isTight = Math.max(widthOf(queries, 12), widthOf(keys, 12)) > room, size = this.large ? 14 : isTight ? 11 : 12;
    const side = Math.min(widthOf(queries, size), room);
    if (heat) {
      this.top = Math.min(widthOf(keys, size) + (this.large ? 26 : 22), this.large ? 150 : 86);
      this.keyStep = Math.min((width - side) / keys.length, this.large ? 34 : 24);
      this.queryStep = Math.max(this.large ? 13 : 3, Math.min(this.keyStep, this.large ? 24 : 20));
      this.area = { left: side, top: this.top, width: this.keyStep * keys.length, height: this.queryStep * queries.length };
    } else {
      const right = Math.min(widthOf(keys, size), room);
      this.keyStep = this.queryStep = this.large ? 21 : Math.max(5, Math.min(19, 420 / most));
      this.area = { left: side, top: 0, width: width - side - right, height: this.queryStep * most };
    }
    this.plot.replaceChildren(); // what is added below is laid out once, after the last panel
    this.plot.className = `plot ${heat ? "heat" : "lines"}`;
    this.plot.style.height = `${this.area.top + this.area.height}px`;
    this.canvas = make("canvas");
    Object.assign(this.canvas.style, { left: `${this.area.left}px`, top: `${this.area.top}px` });
    this.plot.append(this.canvas);
    this.addTokens("query", queries, this.queryStep, size, side);
    this.addTokens("key", keys, this.keyStep, size, heat ? this.top : width - side - this.area.width);
    if (heat) this.canvas.addEventListener("pointermove", (event) => this.lightCell(event));
    this.draw();
  }

  addTokens(side, labels, step, size, length) {
    const across = side === "key" && state.view === "heat", small = step < LABEL_HEIGHT;
    const group = make("div", { className: small ? "tiny" : "" });
    group.setAttribute("role", "listbox");
    group.setAttribute("aria-label", side === "query" ? "Tokens that look" : "Tokens that are looked at");
    this.spans[side] = labels.map((label, i) => {
      const number = make("span", { className: "number" });
      const span = make("div", { className: `token ${side}` }, make("span", { className: "text", textContent: label }), number);
      span.setAttribute("role", "option");
      span.tabIndex = i === 0 && side === "query" ? 0 : -1;
      if (this.column.isSpecial(side, i)) span.classList.add("special");
      const start = across ? this.area.left + i * step : this.area.top + i * step;
      const box = small ? Math.max(step, 5) : step;
      Object.assign(span.style, across ? { left: `${start}px`, width: `${box}px`, height: `${length}px` }
        : { top: `${start}px`, height: `${box}px`, width: `${length}px` });
      span.style.fontSize = `${small ? size - 1 : Math.min(size, step * 0.86)}px`;
      span.addEventListener("pointerenter", () => this.column.light(side, i, this));
      span.addEventListener("focus", () => this.column.light(side, i, this));
      span.addEventListener("keydown", (event) => this.move(event, side, i));
      group.append(span);
      return span;
    });
    this.plot.append(group);
  }

  // Arrow keys go from token to token, and to the other side; one token of a panel is reached by Tab.
  move(event, side, i) {
    const other = side === "query" ? "key" : "query", own = this.spans[side], across = this.spans[other];
    const targets = {
      ArrowUp: own[i - 1], ArrowDown: own[i + 1], Home: own[0], End: own.at(-1),
      ArrowRight: across[Math.min(i, across.length - 1)], ArrowLeft: across[Math.min(i, across.length - 1)],
    };
    if (event.key === "Enter" && !this.large) this.column.enlarge(this.head);
    else if (targets[event.key]) {
      for (const span of [...own, ...across]) span.tabIndex = -1;
      targets[event.key].tabIndex = 0;
      targets[event.key].focus();
    } else return;
    event.preventDefault();
  }

  lightCell(event) {
    const { queries, keys } = this.matrix;
    const q = Math.floor(event.offsetY / this.queryStep), k = Math.floor(event.offsetX / this.keyStep);
    if (q >= 0 && q < queries && k >= 0 && k < keys) this.column.light("query", q, this, k);
  }

  // Draw the weights, and light what is lit.
  draw() {
    const lit = this.column.lit;
    this.paint(lit);
    for (const side of ["query", "key"])
      for (const [i, span] of this.spans[side].entries()) {
        const isLit = lit?.side === side && lit.index === i || lit?.key === i && side === "key";
        span.classList.toggle("lit", Boolean(isLit));
        span.setAttribute("aria-selected", Boolean(isLit));
        span.classList.remove("shown");
      }
    if (lit) this.showNumbers(lit);
    else this.facts.textContent = this.column.factsOf(this.head);
  }

  // Show the lit token's weights beside the tokens of the other side, the largest first, where there is room.
  showNumbers(lit) {
    const other = lit.side === "query" ? "key" : "query", step = other === "key" ? this.keyStep : this.queryStep;
    const found = weightsOf(this.matrix, lit.side, lit.index), labels = this.column.labels;
    const order = found.map((weight, i) => [weight, i]).filter(([weight]) => weight >= SHOWN).sort((a, b) => b[0] - a[0]);
    const places = [], few = step < LABEL_HEIGHT ? order.slice(0, 12) : order;
    for (const [weight, i] of few) {
      if (step < LABEL_HEIGHT && places.some((place) => Math.abs(place - i) * step < 13)) continue;
      places.push(i);
      const span = this.spans[other][i];
      span.lastChild.textContent = inWords(weight);
      span.classList.add("shown");
    }
    const names = other === "key" ? labels.keys : labels.queries;
    const shown = lit.key === undefined ? order.slice(0, this.large ? 6 : 3) : [[found[lit.key], lit.key]];
    const digits = lit.key === undefined ? 2 : 4;
    this.facts.textContent = shown.map(([weight, i]) => `${names[i]} ${weight.toFixed(digits)}`).join(" · ") || "none";
  }

  paint(lit) {
    const { width, height } = this.area, ratio = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.max(1, width * ratio), height: Math.max(1, height * ratio) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    if (state.view === "heat") this.paintHeat(context, lit);
    else this.paintLines(context, lit);
  }

  paintLines(context, lit) {
    const { values, queries, keys } = this.matrix, { width } = this.area, step = this.queryStep;
    const widest = this.large ? 9 : Math.max(2.5, Math.min(7, step * 0.6));
    const { line: plain, lit: strong } = colours;
    const least = Math.max(state.threshold, SHOWN);
    for (let q = 0; q < queries; q++)
      for (let k = 0; k < keys; k++) {
        const weight = values[q * keys + k];
        if (weight < least) continue;
        const isLit = lit && (lit.side === "query" ? lit.index === q : lit.index === k);
        context.strokeStyle = isLit ? strong : plain;
        context.globalAlpha = lit && !isLit ? 0.1 : 0.35 + 0.6 * weight;
        context.lineWidth = Math.max(0.5, widest * weight);
        const from = (q + 0.5) * step, to = (k + 0.5) * step;
        context.beginPath();
        context.moveTo(0, from);
        context.bezierCurveTo(width * 0.45, from, width * 0.55, to, width, to);
        context.stroke();
      }
  }

  paintHeat(context, lit) {
    const { values, queries, keys } = this.matrix, { width, height } = this.area;
    context.fillStyle = colours.raised;
    context.fillRect(0, 0, width, height);
    const [r, g, b] = colours.line.match(/\w\w/g).map((part) => parseInt(part, 16));
    const image = new ImageData(keys, queries), pixels = image.data;
    for (let i = 0; i < values.length; i++) {
      pixels[4 * i] = r;
      pixels[4 * i + 1] = g;
      pixels[4 * i + 2] = b;
      pixels[4 * i + 3] = 255 * Math.sqrt(values[i]); // small weights stay visible
    }
    const small = make("canvas", { width: keys, height: queries });
    small.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, width, height);
    if (!lit) return;
    context.strokeStyle = colours.lit;
    context.lineWidth = 1.5;
    const row = [0, lit.index * this.queryStep, width, this.queryStep];
    const column = (k) => [k * this.keyStep, 0, this.keyStep, height];
    context.strokeRect(...(lit.side === "query" ? row : column(lit.index)));
    if (lit.key !== undefined) context.strokeRect(...column(lit.key));
  }
}
