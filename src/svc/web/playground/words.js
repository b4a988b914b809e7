// Which word of a text is heard at which time.

const JOINT = /^[-–:.,'’/@]$/; // between the parts of one word

export class Words {
  #text;
  #words; // {start, end, at}: where in the text, and from which second on
  #read = 0; // how far in the text the times reach
  #timed = 0; // how many words have a time

  constructor(text) {
    this.#text = text;
    this.#words = [...split(text)];
  }

  /** Takes the times of the characters that come next. */
  add(characters) {
    for (const { character, start } of characters) {
      const at = this.#text.indexOf(character, this.#read);
      if (at < 0 || at > this.#read + 50) continue; // not of this text
      const word = this.#words[this.#timed];
      if (word && at >= word.start) {
        word.at = start;
        this.#timed += 1;
      }
      this.#read = at + character.length;
    }
  }

  /** The word that is heard at a time, until the next one begins; null before the first. */
  at(seconds) {
    let low = 0;
    let high = this.#timed;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#words[middle].at <= seconds) low = middle + 1;
      else high = middle;
    }
    return low ? this.#words[low - 1] : null;
  }
}

/** Words as they are read: "7:45" and "well-known" are one, and scripts without spaces are split by a dictionary. */
function* split(text) {
  let word = null;
  let joint = "";
  for (const { index, segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
    if (!isWordLike) {
      joint += segment;
      continue;
    }
    const end = index + segment.length;
    if (word && JOINT.test(joint)) word.end = end;
    else {
      if (word) yield word;
      word = { start: index, end, at: 0 };
    }
    joint = "";
  }
  if (word) yield word;
}
