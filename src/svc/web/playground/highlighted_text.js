// The text field with the spoken word highlighted, and the word timings that say which word that is.

/** The text field. The highlight lies behind it, in a copy of the text with the same font and the same lines. */
export class HighlightedText {
  #field;
  #backdrop;
  #before;
  #mark;
  #after;
  #current = null;

  constructor(container) {
    this.#field = container.querySelector("textarea");
    this.#backdrop = container.querySelector(".backdrop");
    this.#before = container.querySelector(".before");
    this.#mark = container.querySelector("mark");
    this.#after = container.querySelector(".after");
    this.#field.addEventListener("scroll", () => (this.#backdrop.scrollTop = this.#field.scrollTop), { passive: true });
    this.#field.addEventListener("input", () => this.clear());
  }

  get text() {
    return this.#field.value;
  }

  /** Highlights a word `{start, end}`; null keeps the current one. */
  highlight(word) {
    if (!word || word === this.#current) return;
    this.#current = word;
    const { text } = this;
    this.#before.textContent = text.slice(0, word.start);
    this.#mark.textContent = text.slice(word.start, word.end);
    this.#after.textContent = `${text.slice(word.end)}\n`; // a textarea gives an empty last line a height, so must this
    this.#scrollIntoView();
  }

  clear() {
    this.#current = null;
    for (const part of [this.#before, this.#mark, this.#after]) part.textContent = "";
  }

  #scrollIntoView() {
    const { offsetTop, offsetHeight } = this.#mark;
    const { scrollTop, clientHeight } = this.#field;
    if (offsetTop < scrollTop || offsetTop + offsetHeight > scrollTop + clientHeight) {
      this.#field.scrollTop = offsetTop - clientHeight / 3;
    }
    this.#backdrop.scrollTop = this.#field.scrollTop;
  }
}

const JOINER = /^[-–:.,'’/@]$/; // between the parts of one word, as in "7:45"
const MAX_SKIP = 50; // characters of the text that the alignment may leave out

/** Which word of a text is spoken at which time. */
export class WordTimings {
  #text;
  #words; // {start, end, seconds}: its place in the text, and when it begins
  #aligned = 0; // how far in the text the timings reach
  #timed = 0; // how many words have a time

  constructor(text) {
    this.#text = text;
    this.#words = [...splitWords(text)];
  }

  /** Adds the start times of the characters that follow. */
  add(characters) {
    for (const { character, start } of characters) {
      const index = this.#text.indexOf(character, this.#aligned);
      if (index < 0 || index > this.#aligned + MAX_SKIP) continue; // not in this text
      const word = this.#words[this.#timed];
      if (word && index >= word.start) {
        word.seconds = start;
        this.#timed += 1;
      }
      this.#aligned = index + character.length;
    }
  }

  /** The word that is spoken at a time; it lasts until the next one begins. Null before the first. */
  findWord(seconds) {
    let low = 0;
    let high = this.#timed;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#words[middle].seconds <= seconds) low = middle + 1;
      else high = middle;
    }
    return low ? this.#words[low - 1] : null;
  }
}

/** Words as they are read: "7:45" and "well-known" are one; Intl.Segmenter splits scripts without spaces. */
function* splitWords(text) {
  let word = null;
  let between = "";
  for (const { index, segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
    if (!isWordLike) {
      between += segment;
      continue;
    }
    const end = index + segment.length;
    if (word && JOINER.test(between)) word.end = end;
    else {
      if (word) yield word;
      word = { start: index, end, seconds: 0 };
    }
    between = "";
  }
  if (word) yield word;
}
