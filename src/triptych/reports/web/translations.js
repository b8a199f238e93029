// The section on translations: choose arms, seed and order, filter, and follow an arm or a sentence.

const AT_ONCE = 20; // sentences that are drawn at a time
const FIRST_ARMS = 6; // arms that are shown before any are chosen

class TranslationView {
  constructor(data, section) {
    this.data = data;
    this.section = section;
    this.list = section.querySelector(".sentences");
    this.shown = new Set([...data.arms.keys()].slice(0, FIRST_ARMS)); // positions of the arms
    if (data.reference !== null) this.shown.add(data.reference);
    this.count = AT_ONCE;
    this.pinned = null; // number of the sentence that is followed
    // What each order sorts sentences by, the smallest first.
    this.orders = {
      different: (sentence) => -this.disagreement(sentence),
      behind: (sentence) => this.lead(sentence) ?? Infinity,
      ahead: (sentence) => -(this.lead(sentence) ?? -Infinity),
      short: wordCount,
      long: (sentence) => -wordCount(sentence),
      place: (sentence) => sentence.number,
    };
  }

  part(name) {
    return this.section.querySelector(`[name="${name}"]`);
  }

  get set() {
    return this.data.sets[Number(this.part("set").value)];
  }

  get followed() {
    return this.part("follow").value === "" ? null : Number(this.part("follow").value);
  }

  // What each shown arm made of a sentence with the chosen seed: its place, its text and its chrF.
  translationsOf(sentence) {
    const seed = Number(this.part("seed").value);
    const found = [];
    for (const arm of this.shown) {
      const text = sentence.which[arm][seed];
      if (text !== null) found.push({ arm, text: sentence.texts[text], chrf: sentence.chrf[text] });
    }
    return found;
  }

  // How far apart the shown arms are, as the page says above the sentences.
  disagreement(sentence) {
    const scores = this.translationsOf(sentence).map((one) => one.chrf);
    if (scores.length < 2) return scores.length ? 100 - scores[0] : 0;
    return Math.max(...scores) - Math.min(...scores);
  }

  // Points of chrF by which the followed arm lies above the mean of the other shown ones.
  lead(sentence) {
    const found = this.translationsOf(sentence);
    const own = found.find((one) => one.arm === this.followed);
    const others = found.filter((one) => one !== own);
    if (!own || !others.length) return null;
    return own.chrf - others.reduce((sum, one) => sum + one.chrf, 0) / others.length;
  }

  isWanted(sentence) {
    if (sentence.number === this.pinned) return true;
    const [least, most, which, text] = ["least", "most", "which", "text"].map((name) => this.part(name).value);
    const words = wordCount(sentence);
    if (words < (least || 0) || words > (most || Infinity)) return false;
    if (which !== "all" && sentence.atRandom !== (which === "random")) return false;
    const translations = this.translationsOf(sentence).map((one) => one.text);
    const lines = [sentence.source ?? "", sentence.reference, ...translations];
    return lines.some((line) => line.toLowerCase().includes(text.trim().toLowerCase()));
  }

  draw() {
    const keyOf = this.orders[this.part("order").value];
    const keys = new Map(
      this.set.sentences.map((one) => [one, one.number === this.pinned ? -Infinity : keyOf(one)]),
    );
    const found = this.set.sentences.filter((one) => this.isWanted(one));
    found.sort((one, two) => keys.get(one) - keys.get(two) || 0);
    this.list.replaceChildren(...found.slice(0, this.count).map((sentence) => drawSentence(sentence, this)));
    this.section.querySelector(".more").hidden = found.length <= this.count;
    this.describe(found.length);
  }

  // Say above the sentences how many there are, and what is missing.
  describe(found) {
    const { name, size, sentences, hasSources, leftOut } = this.set;
    this.section.querySelector("[role=status]").textContent =
      `${Math.min(this.count, found)} of ${found} sentence${found === 1 ? "" : "s"} shown; the page has ` +
      `${sentences.length} of the ${size.toLocaleString("en")} of ${name}.`;
    this.section.querySelector(".no-sources").hidden = hasSources;
    const apart = this.section.querySelector(".left-out");
    apart.hidden = !leftOut.length;
    apart.textContent = `Translations of other text are left out: ${leftOut.join(", ")}.`;
    this.section.querySelector("summary").textContent = `Arms shown: ${this.shown.size} of ${this.data.arms.length}`;
  }

  // Follow a sentence, or end following it. The page's address names it.
  pin(number) {
    this.pinned = this.pinned === number ? null : number;
    const place = this.pinned === null ? "" : `/${this.part("set").value}/${this.pinned}`;
    history.replaceState(null, "", `#translations${place}`);
    this.draw();
    this.list.querySelector(`[data-number="${number}"]`)?.focus();
  }

  show(arms) {
    this.shown = new Set([...arms].sort((one, two) => one - two));
    for (const box of this.section.querySelectorAll(".arms input")) box.checked = this.shown.has(Number(box.value));
    this.draw();
  }

  // Show the arm that is followed in the rest of the page; null for none.
  follow(label) {
    const arm = this.data.arms.findIndex((one) => one.label === label);
    const order = this.part("order");
    this.part("follow").value = arm < 0 ? "" : arm;
    for (const name of ["behind", "ahead"]) order.querySelector(`[value=${name}]`).disabled = arm < 0;
    if (order.selectedOptions[0].disabled) order.value = "different";
    this.show(arm < 0 ? this.shown : [...this.shown, arm]);
  }

  listen() {
    const { section, data } = this;
    const checked = () => [...section.querySelectorAll(".arms input:checked")].map((box) => Number(box.value));
    section.querySelector(".arms").addEventListener("change", () => this.show(checked()));
    section.querySelector(".all").addEventListener("click", () => this.show(data.arms.keys()));
    section.querySelector(".none").addEventListener("click", () => this.show([]));
    this.part("set").addEventListener("input", () => {
      this.pinned = null;
      fillSeeds(this.part("seed"), this.set.seeds);
    });
    this.part("follow").addEventListener("input", () => followArm(data.arms[this.part("follow").value]?.label ?? null));
    followers.push((label) => this.follow(label));
    section.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
    section.querySelector("form").addEventListener("input", () => {
      this.count = AT_ONCE;
      this.draw();
    });
    section.querySelector(".more").addEventListener("click", () => {
      const before = this.count;
      this.count += AT_ONCE;
      this.draw();
      this.list.children[before]?.focus();
    });
    this.list.addEventListener("keydown", moveBetweenSentences);
  }
}

function startTranslations(data) {
  const view = new TranslationView(data, document.getElementById("translations"));
  fillTranslationControls(view);
  view.listen();
  const [, set, sentence] = location.hash.split("/");
  if (data.sets[set]) view.part("set").value = set;
  fillSeeds(view.part("seed"), view.set.seeds);
  view.pinned = sentence ? Number(sentence) : null;
  view.show(view.shown);
  view.list.querySelector(".followed")?.scrollIntoView({ block: "center" });
}

// Words of the source, or of the reference where no source was stored.
function wordCount(sentence) {
  return (sentence.source ?? sentence.reference).split(/\s+/).filter(Boolean).length;
}

function option(value, text) {
  return new Option(text, value);
}

function fillSeeds(select, seeds) {
  select.replaceChildren(...seeds.map((seed, place) => option(place, seed)));
  select.parentElement.hidden = seeds.length < 2;
}

function fillTranslationControls(view) {
  const { data, section } = view;
  const part = (name) => view.part(name);
  part("set").replaceChildren(...data.sets.map((set, place) => option(place, set.name)));
  part("set").parentElement.hidden = data.sets.length < 2;
  part("follow").replaceChildren(option("", "no arm"), ...data.arms.map((arm, place) => option(place, arm.label)));
  section.querySelector(".boxes").append(
    ...data.arms.map((arm, place) => {
      const label = document.createElement("label");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", value: place });
      label.append(box, dot(arm.colour), arm.label);
      return label;
    }),
  );
}

function dot(colour) {
  const found = document.createElement("span");
  found.className = "dot";
  found.style.background = colour;
  return found;
}

function element(tag, className, ...children) {
  const found = document.createElement(tag);
  found.className = className;
  found.append(...children);
  return found;
}

// One sentence: its source, its reference, and the translations, best first, equal ones once.
function drawSentence(sentence, view) {
  const { data, followed, pinned } = view;
  const found = view.translationsOf(sentence);
  const item = element("li", sentence.number === pinned ? "sentence followed" : "sentence");
  item.tabIndex = 0;
  item.dataset.number = sentence.number;
  const button = element("button", "", sentence.number === pinned ? "Unfollow" : "Follow");
  button.type = "button";
  button.ariaPressed = sentence.number === pinned;
  button.ariaLabel = `${button.textContent} sentence ${sentence.number}`;
  button.addEventListener("click", () => view.pin(sentence.number));
  const gap = `${view.disagreement(sentence).toFixed(1)} chrF ${found.length < 2 ? "from the reference" : "apart"}`;
  const facts = [`sentence ${sentence.number}`, gap, `${wordCount(sentence)} words`];
  if (sentence.atRandom) facts.push("drawn at random");
  item.append(element("header", "", ...facts.map((fact) => element("span", "", fact)), button));
  const lines = element("dl", "");
  if (sentence.source !== null) lines.append(element("dt", "", "source"), element("dd", "", sentence.source));
  const texts = found.map((one) => one.text);
  lines.append(element("dt", "", "reference"), showReference(element("dd", ""), sentence.reference, texts));
  const groups = new Map();
  for (const one of found) groups.set(one.text, [...(groups.get(one.text) ?? []), one]);
  for (const group of [...groups.values()].sort((one, two) => two[0].chrf - one[0].chrf)) {
    const shown = showDifference(element("dd", ""), group[0].text, sentence.reference);
    const names = element("p", "names");
    for (const { arm } of group) {
      const { label, colour } = data.arms[arm];
      names.append(element("span", arm === followed ? "followed" : "", dot(colour), label));
    }
    shown.append(names);
    lines.append(element("dt", "", `${group[0].chrf.toFixed(1)} chrF`), shown);
  }
  item.append(lines);
  return item;
}

// Arrow keys go from sentence to sentence, and Enter follows one.
function moveBetweenSentences(event) {
  const item = event.target.closest(".sentence");
  if (event.target !== item) return;
  const next = { ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling }[event.key];
  if (next) {
    event.preventDefault();
    next.focus();
  } else if (event.key === "Enter") item.querySelector("button").click();
}
