// The section on translations: choose arms, seed and order, filter, and follow an arm or a sentence.

const AT_ONCE = 20; // sentences that are drawn at a time
const FIRST_ARMS = 6; // arms that are shown before any are chosen

function startTranslations(data) {
  const section = document.getElementById("translations");
  const part = (name) => section.querySelector(`[name="${name}"]`);
  const list = section.querySelector(".sentences");
  const more = section.querySelector(".more");
  const shown = new Set([...data.arms.keys()].slice(0, FIRST_ARMS));
  if (data.reference !== null) shown.add(data.reference);
  let count = AT_ONCE;
  let pinned = null; // number of the sentence that is followed

  const set = () => data.sets[Number(part("set").value)];
  const seed = () => Number(part("seed").value);
  const followed = () => (part("follow").value === "" ? null : Number(part("follow").value));

  // What each shown arm made of a sentence with the chosen seed: its place, its text and its chrF.
  function translationsOf(sentence) {
    const found = [];
    for (const arm of shown) {
      const text = sentence.which[arm][seed()];
      if (text !== null) found.push({ arm, text: sentence.texts[text], chrf: sentence.chrf[text] });
    }
    return found;
  }

  // How far apart the shown arms are, as the page says above the sentences.
  function disagreement(sentence) {
    const scores = translationsOf(sentence).map((one) => one.chrf);
    if (scores.length < 2) return scores.length ? 100 - scores[0] : 0;
    return Math.max(...scores) - Math.min(...scores);
  }

  // Points of chrF by which the followed arm lies above the mean of the other shown ones.
  function lead(sentence) {
    const found = translationsOf(sentence);
    const own = found.find((one) => one.arm === followed());
    const others = found.filter((one) => one !== own);
    if (!own || !others.length) return null;
    return own.chrf - others.reduce((sum, one) => sum + one.chrf, 0) / others.length;
  }

  const wordCount = (sentence) => (sentence.source ?? sentence.reference).split(/\s+/).filter(Boolean).length;
  // What each order sorts sentences by, the smallest first.
  const orders = {
    different: (sentence) => -disagreement(sentence),
    behind: (sentence) => lead(sentence) ?? Infinity,
    ahead: (sentence) => -(lead(sentence) ?? -Infinity),
    short: wordCount,
    long: (sentence) => -wordCount(sentence),
    place: (sentence) => sentence.number,
  };

  function isWanted(sentence) {
    if (sentence.number === pinned) return true;
    const words = wordCount(sentence);
    if (words < (part("least").value || 0) || words > (part("most").value || Infinity)) return false;
    if (part("which").value !== "all" && sentence.atRandom !== (part("which").value === "random")) return false;
    const text = part("text").value.trim().toLowerCase();
    const lines = [sentence.source ?? "", sentence.reference, ...translationsOf(sentence).map((one) => one.text)];
    return !text || lines.some((line) => line.toLowerCase().includes(text));
  }

  function draw() {
    const keyOf = orders[part("order").value];
    const keys = new Map(set().sentences.map((one) => [one, one.number === pinned ? -Infinity : keyOf(one)]));
    const found = set().sentences.filter(isWanted).sort((one, two) => keys.get(one) - keys.get(two) || 0);
    list.replaceChildren(...found.slice(0, count).map((sentence) => drawSentence(sentence, context())));
    more.hidden = found.length <= count;
    const drawn = Math.min(count, found.length);
    section.querySelector("[role=status]").textContent =
      `${drawn} of ${found.length} sentence${found.length === 1 ? "" : "s"} shown; the page has ` +
      `${set().sentences.length} of the ${set().size.toLocaleString("en")} of ${set().name}.`;
    section.querySelector(".no-sources").hidden = set().hasSources;
    const apart = section.querySelector(".left-out");
    apart.hidden = !set().leftOut.length;
    apart.textContent = `Translations of other text are left out: ${set().leftOut.join(", ")}.`;
    section.querySelector("summary").textContent = `Arms shown: ${shown.size} of ${data.arms.length}`;
  }

  const context = () => ({ data, translationsOf, disagreement, wordCount, followed: followed(), pinned, pin });

  function pin(number) {
    pinned = pinned === number ? null : number;
    history.replaceState(null, "", pinned === null ? "#translations" : `#translations/${part("set").value}/${pinned}`);
    draw();
    (list.querySelector(".followed") ?? list.querySelector(`[data-number="${number}"]`) ?? list).focus();
  }

  function show(arms) {
    const chosen = [...arms].sort((one, two) => one - two);
    shown.clear();
    for (const arm of chosen) shown.add(arm);
    for (const box of section.querySelectorAll(".arms input")) box.checked = shown.has(Number(box.value));
    draw();
  }

  fillTranslationControls(section, data, part);
  section.querySelector(".arms").addEventListener("change", () =>
    show([...section.querySelectorAll(".arms input:checked")].map((box) => Number(box.value))),
  );
  section.querySelector(".all").addEventListener("click", () => show(data.arms.keys()));
  section.querySelector(".none").addEventListener("click", () => show([]));
  part("set").addEventListener("change", () => (fillSeeds(part("seed"), set().seeds), (pinned = null)));
  part("follow").addEventListener("change", () => followArm(data.arms[part("follow").value]?.label ?? null));
  followers.push((label) => {
    const arm = data.arms.findIndex((one) => one.label === label);
    part("follow").value = arm < 0 ? "" : arm;
    for (const order of ["behind", "ahead"]) part("order").querySelector(`[value=${order}]`).disabled = arm < 0;
    if (arm < 0 && ["behind", "ahead"].includes(part("order").value)) part("order").value = "different";
    show(arm < 0 ? shown : [...shown, arm]);
  });
  section.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  section.querySelector("form").addEventListener("input", () => ((count = AT_ONCE), draw()));
  more.addEventListener("click", () => {
    const before = count;
    count += AT_ONCE;
    draw();
    list.children[before]?.focus();
  });
  list.addEventListener("keydown", moveBetweenSentences);
  const [, linkedSet, linked] = location.hash.split("/");
  if (data.sets[linkedSet]) part("set").value = linkedSet;
  fillSeeds(part("seed"), set().seeds);
  pinned = linked ? Number(linked) : null;
  show(shown);
  list.querySelector(".followed")?.scrollIntoView({ block: "center" });
}

function option(value, text) {
  return new Option(text, value);
}

function fillSeeds(select, seeds) {
  select.replaceChildren(...seeds.map((seed, place) => option(place, seed)));
  select.parentElement.hidden = seeds.length < 2;
}

function fillTranslationControls(section, data, part) {
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
function drawSentence(sentence, { data, translationsOf, disagreement, wordCount, followed, pinned, pin }) {
  const found = translationsOf(sentence);
  const item = element("li", sentence.number === pinned ? "sentence followed" : "sentence");
  item.tabIndex = 0;
  item.dataset.number = sentence.number;
  const button = element("button", "", sentence.number === pinned ? "Unfollow" : "Follow");
  button.type = "button";
  button.ariaPressed = sentence.number === pinned;
  button.ariaLabel = `${button.textContent} sentence ${sentence.number}`;
  button.addEventListener("click", () => pin(sentence.number));
  const gap = `${disagreement(sentence).toFixed(1)} chrF ${found.length < 2 ? "from the reference" : "apart"}`;
  const facts = [`sentence ${sentence.number}`, gap, `${wordCount(sentence)} words`];
  if (sentence.atRandom) facts.push("drawn at random");
  item.append(element("header", "", ...facts.map((fact) => element("span", "", fact)), button));
  const lines = element("dl", "");
  if (sentence.source !== null) lines.append(element("dt", "", "source"), element("dd", "", sentence.source));
  lines.append(element("dt", "", "reference"), showReference(element("dd", ""), sentence.reference, found.map((one) => one.text)));
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
