// The figures: drawn by plotly once unpacked. Their keys and buttons are elements of the page, so that they wrap on a
// narrow screen, have its colours, and are reached by keyboard.

const MARKS = { circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", x: "✖" };
const DASHES = { dash: "6 3", dot: "2 2", dashdot: "6 2 2 2", longdash: "10 3", longdashdot: "10 2 2 2" }; // in pixels
const LINE_WIDTH = 26;

async function drawFigures() {
  const figures = JSON.parse(await unpack("figures"));
  const code = document.createElement("script");
  code.textContent = await unpack("plotly");
  document.head.append(code);
  for (const [place, { data, layout }] of figures.entries()) {
    const figure = document.getElementById(`figure-${place}`);
    const menus = layout.updatemenus ?? [];
    const own = { ...layout, showlegend: false, updatemenus: [], margin: { ...layout.margin, t: 16 } };
    await Plotly.newPlot(figure, data, own, { displayModeBar: false, responsive: true });
    for (const menu of menus) figure.before(drawButtons(figure, menu));
    figure.after(drawKey(figure));
  }
  repaint();
  emphasize();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
}

// The style sheet does not reach inside plotly's figures, so they are repainted when the colour scheme changes.
function repaint() {
  const style = getComputedStyle(document.documentElement);
  const [ink, ground] = ["--ink", "--raised"].map((name) => style.getPropertyValue(name).trim());
  for (const figure of document.querySelectorAll(".js-plotly-plot"))
    Plotly.relayout(figure, { "font.color": ink, "hoverlabel.bgcolor": ground, "hoverlabel.font.color": ink });
}

// The curves of the arm that is followed stand out.
followers.push(() => setTimeout(emphasize)); // plotly takes its time
function emphasize() {
  if (!window.Plotly) return;
  for (const figure of document.querySelectorAll(".js-plotly-plot")) {
    const labels = figure.data.map((trace) => trace.legendgroup || trace.name || "");
    const isHere = labels.includes(followedArm);
    Plotly.restyle(figure, { opacity: labels.map((label) => (isHere && label !== followedArm ? 0.2 : 1)) });
  }
}

// Buttons that change a figure, one of which is on.
function drawButtons(figure, { buttons }) {
  const group = document.createElement("p");
  group.className = "switch";
  const shown = buttons.map(({ label, args }, place) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
    button.ariaPressed = place === 0;
    button.addEventListener("click", () => {
      for (const other of shown) other.ariaPressed = other === button;
      Plotly.update(figure, ...args);
    });
    return button;
  });
  group.append(...shown);
  return group;
}

// What each colour, mark and dash stands for. A click hides what it names, or shows it again.
function drawKey(figure) {
  const list = document.createElement("ul");
  list.className = "key";
  figure.data.forEach((trace, place) => {
    if (trace.showlegend === false || !trace.name) return;
    const isPart = (other) => trace.legendgroup && other.legendgroup === trace.legendgroup;
    const places = [...figure.data.keys()].filter((other) => other === place || isPart(figure.data[other]));
    const button = Object.assign(document.createElement("button"), { type: "button", title: "Hide or show" });
    button.ariaPressed = true;
    button.append(drawSample(trace), trace.name);
    button.addEventListener("click", () => {
      const isShown = button.ariaPressed !== "true";
      button.ariaPressed = isShown;
      Plotly.restyle(figure, { visible: isShown }, places);
    });
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  });
  return list;
}

// A piece of a curve as the figure has it.
function drawSample({ mode, line, marker }) {
  const [width, height] = [LINE_WIDTH, 12];
  const draw = (name, attributes, text = "") => {
    const shape = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
    shape.textContent = text;
    return shape;
  };
  const sample = draw("svg", { width, height, "aria-hidden": true });
  const middle = height / 2;
  const stroke = { stroke: line?.color ?? "none", "stroke-width": 2, "stroke-dasharray": DASHES[line?.dash] ?? "none" };
  if (mode.includes("lines")) sample.append(draw("line", { x1: 0, x2: width, y1: middle, y2: middle, ...stroke }));
  const place = { x: width / 2, y: middle, "text-anchor": "middle", "dominant-baseline": "central", "font-size": 11 };
  if (mode.includes("markers"))
    sample.append(draw("text", { ...place, fill: marker?.color ?? line?.color }, MARKS[marker?.symbol ?? "circle"] ?? "●"));
  return sample;
}
