// Words and n-grams of the references that one arm has and another misses.

const NGRAMS_AT_ONCE = 25;

function startNgrams(data) {
  const section = document.getElementById("ngrams");
  const part = (name) => section.querySelector(`[name="${name}"]`);
  const names = data.arms.map((arm) => arm.label);
  part("set").replaceChildren(...data.sets.map((set, place) => option(place, set.name)));
  part("set").parentElement.hidden = data.sets.length < 2;
  for (const [name, chosen] of [["one", data.reference ?? 0], ["other", data.reference === 0 ? 1 : data.reference ? 0 : 1]]) {
    const references = name === "other" ? [option("references", "the references")] : [];
    part(name).replaceChildren(...names.map((label, place) => option(place, label)), ...references);
    part(name).value = chosen < names.length ? chosen : "references";
  }

  // Matches of an arm, or the occurrences in the references, of one n-gram.
  const matches = ([, , count, byArm], arm) => (arm === "references" ? count : byArm[arm]);
  const nameOf = (arm) => (arm === "references" ? "the references" : names[arm]);

  function draw() {
    const [one, other] = [part("one").value, part("other").value];
    const text = part("text").value.trim().toLowerCase();
    const found = data.sets[Number(part("set").value)].ngrams.filter(
      ([order, ngram, count, byArm]) =>
        order === Number(part("length").value) &&
        count >= (part("least").value || 0) &&
        count <= (part("most").value || Infinity) &&
        ngram.includes(text) &&
        matches([order, ngram, count, byArm], one) !== null &&
        matches([order, ngram, count, byArm], other) !== null,
    );
    section.querySelector(".pair").replaceChildren(
      drawSide(found, one, other),
      ...(other === "references" ? [] : [drawSide(found, other, one)]),
    );
  }

  // The n-grams that one arm has more often than the other, the largest differences first.
  function drawSide(found, one, other) {
    const [more, less] = other === "references" ? [other, one] : [one, other];
    const gap = (line) => matches(line, more) - matches(line, less);
    const lines = found.filter((line) => gap(line) > 0).sort((a, b) => gap(b) - gap(a) || b[2] - a[2]);
    const table = element("table", "");
    const head = table.createTHead().insertRow();
    for (const name of ["n-gram", "difference", "in the references", "more", "less"])
      head.append(element("th", "", name));
    for (const [place, arm] of [[3, more], [4, less]]) head.cells[place].replaceWith(element("th", "name", nameOf(arm)));
    const body = table.createTBody();
    for (const line of lines.slice(0, NGRAMS_AT_ONCE)) {
      const row = body.insertRow();
      for (const cell of [line[1], gap(line).toFixed(1), line[2], matches(line, more), matches(line, less)])
        row.insertCell().textContent = cell;
    }
    const shown = Math.min(NGRAMS_AT_ONCE, lines.length);
    const side = element(
      "div",
      "",
      element("h3", "", `${nameOf(more)} has, ${nameOf(less)} misses: ${shown} of ${lines.length}`),
      element("div", "scroll", table),
    );
    if (lines.length > 1) makeSortable(table);
    return side;
  }

  section.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  section.querySelector("form").addEventListener("input", draw);
  followers.push((label) => {
    const arm = names.indexOf(label);
    if (arm < 0) return;
    if (part("other").value === String(arm)) part("other").value = part("one").value;
    part("one").value = arm;
    draw();
  });
  draw();
}
