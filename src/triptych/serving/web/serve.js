// The page of `triptych serve`: send a sentence to each run, and show what comes back.

const form = document.getElementById("question");
const sentence = document.getElementById("sentence");
const count = document.getElementById("count");
const reference = document.getElementById("reference");
let question = 0; // the latest one; answers to earlier ones are not shown
let example = null; // the sentence of a test set that was clicked

// The content of an answer, or an error with the sentence that the server gave.
async function ask(path, body) {
  const sent = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, sent).catch(() => {
    throw new Error("The server does not answer; is it still running?");
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

async function translate() {
  const text = sentence.value.trim().replace(/\s+/g, " ");
  if (!text) return;
  const known = example?.source === text ? example.reference : null;
  const mine = ++question;
  reference.hidden = known === null;
  reference.firstElementChild.textContent = known;
  const runs = [...document.querySelectorAll(".run")];
  const best = await Promise.all(runs.map((run) => translateWith(run, text, known, mine)));
  if (mine === question && known !== null) {
    reference.firstElementChild.replaceChildren();
    showReference(reference.firstElementChild, known, best.filter((one) => one !== undefined));
  }
}

// Show the answer of a run, and return its best translation, if there is one.
async function translateWith(run, text, known, mine) {
  const list = run.querySelector("ol");
  const status = run.querySelector(".time");
  const wanted = Math.min(Number(count.value), Number(run.dataset.most));
  let answer;
  run.classList.add("waiting");
  try {
    answer = await ask("/api/translate", { sentence: text, run: run.dataset.run, n_best: wanted });
    if (mine !== question) return undefined;
    list.replaceChildren(...answer.translations.map((one) => drawTranslation(one, known, linkOf(run, text, one.text))));
    const others = answer.batch - 1;
    status.textContent =
      `${answer.seconds.toFixed(3)} s` + (others ? `, together with ${others} other sentence${others > 1 ? "s" : ""}` : "");
  } catch (error) {
    if (mine !== question) return undefined;
    list.replaceChildren();
    status.textContent = error.message;
  }
  run.classList.remove("waiting");
  return answer?.translations[0]?.text;
}

// A link to the attention of a translation; nothing for a model that has none.
function linkOf(run, text, translation) {
  if (!("attention" in run.dataset)) return "";
  const query = new URLSearchParams({ run: run.dataset.run, sentence: text, translation });
  const link = Object.assign(document.createElement("a"), { href: `/api/attention?${query}`, target: "_blank" });
  link.textContent = "attention";
  link.title = `Where the model looks as it writes “${translation}” (opens a tab)`;
  return link;
}

// A translation with its score; where there is a reference, with the words marked that differ from it.
function drawTranslation({ text, score }, known, link) {
  const line = document.createElement("li");
  const shownScore = Object.assign(document.createElement("span"), { textContent: score.toFixed(3).replace("-", "−") });
  shownScore.title = "log-probability in nats, divided by the length penalty";
  const shown = document.createElement("span");
  if (known === null) shown.textContent = text;
  else showDifference(shown, text, known);
  line.append(shownScore, shown, link);
  return line;
}

function startExamples(section) {
  const part = (name) => section.querySelector(`[name="${name}"]`);
  const list = section.querySelector("ol");
  const more = section.querySelector(".more");
  const status = section.querySelector("[role=status]");
  let request = 0;

  async function load(isNew) {
    const mine = ++request;
    const start = isNew ? 0 : list.children.length;
    const query = new URLSearchParams({ contains: part("text").value, start });
    try {
      const answer = await ask(`/api/sentences/${encodeURIComponent(part("set").value)}?${query}`);
      if (mine !== request) return;
      if (isNew) list.replaceChildren();
      list.append(...answer.sentences.map(drawExample));
      status.textContent = `${list.children.length} of ${answer.found} sentences`;
      more.hidden = list.children.length >= answer.found;
    } catch (error) {
      status.textContent = error.message;
    }
  }

  section.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  section.querySelector("form").addEventListener("input", () => load(true));
  more.addEventListener("click", () => load(false));
  load(true);
}

function drawExample(found) {
  const line = document.createElement("li");
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: found.source });
  button.addEventListener("click", () => {
    example = { ...found, source: found.source.trim().replace(/\s+/g, " ") };
    sentence.value = found.source;
    sentence.scrollIntoView({ block: "nearest" });
    translate();
  });
  line.append(button);
  return line;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  translate();
});
count.addEventListener("change", translate);
sentence.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    form.requestSubmit();
  }
});
const examples = document.getElementById("examples");
if (examples) startExamples(examples);
