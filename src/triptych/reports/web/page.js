// Tables that can be sorted, and an arm that can be followed through the page.

// The text that a page carries compressed: gzip, in base64.
async function unpack(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

// The first number of a cell; null for a cell without one.
function numberIn(text) {
  const found = text.replace(/,(?=\d{3})/g, "").replace("−", "-").match(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/i);
  return found && /^[~<>+\-−\d]/.test(text.trim()) ? Number(found[0]) : null;
}

// Sort the lines of a table by a column: first one way (numbers from the highest, text from A), then the other, then as
// they were.
function sortTable(table, column, header) {
  const body = table.tBodies[0];
  const lines = [...body.rows];
  lines.forEach((line, place) => (line.dataset.place ??= place));
  const text = (line) => line.cells[column].textContent.trim();
  const numbers = new Map(lines.map((line) => [line, numberIn(text(line))]));
  const isNumeric = lines.filter((line) => numbers.get(line) !== null).length * 2 > lines.length;
  const ways = isNumeric ? ["none", "descending", "ascending"] : ["none", "ascending", "descending"];
  const way = ways[(ways.indexOf(header.ariaSort) + 1) % ways.length];
  for (const other of table.querySelectorAll("th[aria-sort]")) other.ariaSort = "none";
  header.ariaSort = way;
  const order = way === "ascending" ? 1 : -1;
  lines.sort((one, two) => {
    if (way === "none") return one.dataset.place - two.dataset.place;
    if (!isNumeric) return order * text(one).localeCompare(text(two));
    const [a, b] = [numbers.get(one), numbers.get(two)];
    return a === null || b === null ? (a === null) - (b === null) : order * (a - b);
  });
  body.append(...lines);
  body.querySelector("tr.followed")?.scrollIntoView({ block: "nearest" });
}

function makeSortable(table) {
  const headers = [...table.tHead.rows].at(-1).cells;
  if (table.tBodies[0].rows.length < 2) return;
  [...headers].forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sortTable(table, column, header));
    header.append(button);
    header.ariaSort = "none";
  });
}

// The arm that is followed: its lines are marked in every table, and its curves stand out in every figure.
const followers = [];
let followedArm = null;
function followArm(label) {
  followedArm = label;
  for (const line of document.querySelectorAll("tr[data-arm]")) {
    const isFollowed = line.dataset.arm === label;
    line.classList.toggle("followed", isFollowed);
    line.querySelector("button.arm").ariaPressed = isFollowed;
  }
  for (const follow of followers) follow(label);
}

document.querySelectorAll(".scroll > table").forEach(makeSortable);
document.addEventListener("click", (event) => {
  const label = event.target.closest("button.arm")?.closest("tr").dataset.arm;
  if (label !== undefined) followArm(label === followedArm ? null : label);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && followedArm !== null) followArm(null);
});
