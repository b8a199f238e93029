// The weights of a pair's views. They are stored as 16-bit integers, and unpacked for one head at a time.

const SCALE = 65535;

function unpacked(view) {
  if (!view.stored) {
    const bytes = Uint8Array.from(atob(view.weights), (sign) => sign.charCodeAt(0));
    const values = new DataView(bytes.buffer);
    view.stored = Uint16Array.from({ length: bytes.length / 2 }, (_, i) => values.getUint16(2 * i, true));
    view.starts = [0];
    for (const count of view.counts) view.starts.push(view.starts.at(-1) + count);
  }
  return view.stored;
}

// A matrix {values, queries, keys} of the weights between pieces, row by row.
function betweenPieces(pair, view, layer, head) {
  const queries = view.queries.pieces.length, keys = view.keys.pieces.length;
  const values = new Float32Array(queries * keys);
  const whole = view.part_of === undefined ? view : pair.views[view.part_of];
  const [firstQuery, firstKey] = view.first ?? [0, 0];
  const stored = unpacked(whole);
  const start = (layer * whole.heads + head) * whole.starts.at(-1);
  for (let q = 0; q < queries; q++) {
    const row = start + whole.starts[firstQuery + q], count = Math.min(keys, whole.counts[firstQuery + q] - firstKey);
    for (let k = 0; k < count; k++) values[q * keys + k] = stored[row + firstKey + k] / SCALE;
  }
  return { values, queries, keys };
}

// Sums over the pieces of a key's word, means over those of a query's.
function betweenWords(view, pieces) {
  const wordOf = (axis) => {
    const words = new Uint16Array(axis.pieces.length);
    axis.starts.forEach((start, word) => words.fill(word, start));
    return words;
  };
  const ofQuery = wordOf(view.queries), ofKey = wordOf(view.keys);
  const queries = view.queries.words.length, keys = view.keys.words.length;
  const values = new Float32Array(queries * keys), sizes = new Uint16Array(queries);
  for (const word of ofQuery) sizes[word]++;
  for (let q = 0; q < pieces.queries; q++)
    for (let k = 0; k < pieces.keys; k++)
      values[ofQuery[q] * keys + ofKey[k]] += pieces.values[q * pieces.keys + k] / sizes[ofQuery[q]];
  return { values, queries, keys };
}

function matrix(pair, view, layer, head, level) {
  view.cache ??= new Map();
  const name = `${level} ${layer} ${head}`;
  if (!view.cache.has(name)) {
    const pieces = betweenPieces(pair, view, layer, head);
    view.cache.set(name, level === "words" ? betweenWords(view, pieces) : pieces);
  }
  return view.cache.get(name);
}

// The weights of one token: of a query on each key, or of each query on a key.
function weightsOf(found, side, index) {
  const { values, queries, keys } = found;
  if (side === "query") return Array.from(values.subarray(index * keys, (index + 1) * keys));
  return Array.from({ length: queries }, (_, q) => values[q * keys + index]);
}
