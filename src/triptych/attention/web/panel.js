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

const blankToken = make("div", {}, make("span", { className: "text" })); // copying it is faster than making each
blankToken.setAttribute("role", "option");
blankToken.setAttribute("aria-selected", false);
blankToken.tabIndex = -1;

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
    for (const type of ["pointerover", "focusin"]) this.plot.addEventListener(type, (event) => this.lightToken(event));
    this.plot.addEventListener("keydown", (event) => this.move(event));
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

  // Reserve the room for tokens and canvas, for a width in pixels.
  measure(width) {
    const { queries, keys } = this.column.labels, heat = state.view === "heat";
    const most = Math.max(queries.length, keys.length), room = width * 0.4;
    const isTight = Math.max(widthOf(queries, 12), widthOf(keys, 12)) > room, size = this.large ? 14 : isTight ? 11 : 12;
    const side = Math.min(widthOf(queries, size), room);
    Object.assign(this, { canvas: null, labelSize: size, spans: { query: [], key: [] }, marked: [] });
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
    this.keySide = heat ? this.top : width - side - this.area.width;
    this.plot.replaceChildren();
    this.plot.className = `plot ${heat ? "heat" : "lines"}`;
    this.plot.style.height = `${this.area.top + this.area.height}px`;
  }

  // Fill the room with tokens and weights.
  build() {
    const { queries, keys } = this.column.labels;
    this.canvas = make("canvas");
    Object.assign(this.canvas.style, { left: `${this.area.left}px`, top: `${this.area.top}px` });
    this.plot.append(this.canvas);
    this.addTokens("query", queries, this.queryStep, this.area.left);
    this.addTokens("key", keys, this.keyStep, this.keySide);
    if (state.view === "heat") this.canvas.addEventListener("pointermove", (event) => this.lightCell(event));
    this.draw();
  }

  addTokens(side, labels, step, length) {
    const size = this.labelSize, across = side === "key" && state.view === "heat", small = step < LABEL_HEIGHT;
    const axis = make("div", { className: `axis ${across ? "across" : side}${small ? " tiny" : ""}` });
    axis.setAttribute("role", "listbox");
    axis.setAttribute("aria-label", side === "query" ? "Tokens that look" : "Tokens that are looked at");
    axis.style.setProperty("--step", `${step}px`);
    axis.style.fontSize = `${small ? size - 1 : Math.min(size, step * 0.86)}px`;
    Object.assign(axis.style, across ? { left: `${this.area.left}px`, height: `${length}px` }
      : { top: `${this.area.top}px`, width: `${length}px` });
    this.spans[side] = labels.map((label, i) => {
      const span = blankToken.cloneNode(true);
      span.className = `token ${side}${this.column.isSpecial(side, i) ? " special" : ""}`;
      span.firstChild.textContent = label;
      return span;
    });
    if (side === "query") this.spans.query[0].tabIndex = 0;
    axis.append(...this.spans[side]);
    this.plot.append(axis);
  }

  // The side and the index of the token that an event happened on, or null.
  tokenOf(event) {
    const span = event.target.closest(".token");
    if (!span) return null;
    const side = span.classList.contains("query") ? "query" : "key";
    return [side, this.spans[side].indexOf(span)];
  }

  lightToken(event) {
    const token = this.tokenOf(event);
    if (token) this.column.light(...token, this);
  }

  // Arrow keys go from token to token, and to the other side; one token of a panel is reached by Tab.
  move(event) {
    const token = this.tokenOf(event);
    if (!token) return;
    const [side, i] = token, other = side === "query" ? "key" : "query", own = this.spans[side], across = this.spans[other];
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

  // Draw the weights, and light what is lit; a panel that is not built yet has nothing to draw on.
  draw() {
    if (!this.canvas) return;
    const lit = this.column.lit;
    this.paint(lit);
    for (const span of this.marked) {
      span.classList.remove("lit", "shown");
      span.setAttribute("aria-selected", false);
      span.querySelector(".number")?.remove();
    }
    this.marked = lit ? [...this.markLit(lit), ...this.showNumbers(lit)] : [];
    if (!lit) this.facts.textContent = this.column.factsOf(this.head);
  }

  markLit(lit) {
    const spans = [this.spans[lit.side][lit.index]];
    if (lit.key !== undefined) spans.push(this.spans.key[lit.key]);
    for (const span of spans) {
      span.classList.add("lit");
      span.setAttribute("aria-selected", true);
    }
    return spans;
  }

  // Show the lit token's weights beside the tokens of the other side, the largest first, where there is room.
  showNumbers(lit) {
    const other = lit.side === "query" ? "key" : "query", step = other === "key" ? this.keyStep : this.queryStep;
    const found = weightsOf(this.matrix, lit.side, lit.index), labels = this.column.labels;
    const order = found.map((weight, i) => [weight, i]).filter(([weight]) => weight >= SHOWN).sort((a, b) => b[0] - a[0]);
    const places = [], spans = [], few = step < LABEL_HEIGHT ? order.slice(0, 12) : order;
    for (const [weight, i] of few) {
      if (step < LABEL_HEIGHT && places.some((place) => Math.abs(place - i) * step < 13)) continue;
      places.push(i);
      const span = this.spans[other][i];
      span.append(make("span", { className: "number", textContent: inWords(weight) }));
      span.classList.add("shown");
      spans.push(span);
    }
    const names = other === "key" ? labels.keys : labels.queries;
    const shown = lit.key === undefined ? order.slice(0, this.large ? 6 : 3) : [[found[lit.key], lit.key]];
    const digits = lit.key === undefined ? 2 : 4;
    this.facts.textContent = shown.map(([weight, i]) => `${names[i]} ${weight.toFixed(digits)}`).join(" · ") || "none";
    return spans;
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
