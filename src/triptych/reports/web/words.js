// Words of a line, and which of them two lines have in common.

// A word is a run of letters and digits, or a single other sign. Case counts.
function wordsOf(text) {
  return [...text.matchAll(/[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu)];
}

// Positions of a longest common subsequence of two lists of words: [in the first, in the second].
function commonWords(first, second) {
  const lengths = Array.from({ length: first.length + 1 }, () => new Uint16Array(second.length + 1));
  for (let i = first.length - 1; i >= 0; i--)
    for (let j = second.length - 1; j >= 0; j--)
      lengths[i][j] =
        first[i] === second[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const inFirst = new Set();
  const inSecond = new Set();
  for (let i = 0, j = 0; i < first.length && j < second.length; ) {
    if (first[i] === second[j]) {
      inFirst.add(i++);
      inSecond.add(j++);
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) i++;
    else j++;
  }
  return [inFirst, inSecond];
}

// Put a line into an element, its words outside `kept` (positions) in elements of their own.
function showWords(element, text, kept, tag = "mark", className = "") {
  let end = 0;
  wordsOf(text).forEach((word, place) => {
    if (kept.has(place)) return;
    const marked = document.createElement(tag);
    marked.className = className;
    marked.textContent = word[0];
    element.append(text.slice(end, word.index), marked);
    end = word.index + word[0].length;
  });
  element.append(text.slice(end));
  return element;
}

// Put a translation into an element with the words marked that differ from the reference.
function showDifference(element, translation, reference) {
  const [kept] = commonWords(...[translation, reference].map((text) => wordsOf(text).map((word) => word[0])));
  return showWords(element, translation, kept);
}

// Put a reference into an element, with the words underlined that no translation has.
function showReference(element, reference, translations) {
  const words = wordsOf(reference).map((word) => word[0]);
  const found = new Set(translations.length ? [] : words.keys());
  for (const text of translations)
    for (const place of commonWords(wordsOf(text).map((word) => word[0]), words)[1]) found.add(place);
  return showWords(element, reference, found, "span", "missed");
}
