// The sheet of text: what is to be spoken, with the word that is heard marked in its place.
//
// The mark lies in a copy of the text behind the field, which has the same type and the same lines.

export class Sheet {
  #field;
  #backdrop;
  #heard;
  #mark;
  #rest;
  #shown = null;

  constructor(sheet) {
    this.#field = sheet.querySelector("textarea");
    this.#backdrop = sheet.querySelector(".backdrop");
    this.#heard = sheet.querySelector(".heard");
    this.#mark = sheet.querySelector("mark");
    this.#rest = sheet.querySelector("mark + span");
    this.#field.addEventListener("scroll", () => (this.#backdrop.scrollTop = this.#field.scrollTop), { passive: true });
    this.#field.addEventListener("input", () => this.clear());
  }

  get text() {
    return this.#field.value;
  }

  /** Marks a word `{start, end}`; null leaves the mark where it is. */
  mark(word) {
    if (!word || word === this.#shown) return;
    this.#shown = word;
    const { text } = this;
    this.#heard.textContent = text.slice(0, word.start);
    this.#mark.textContent = text.slice(word.start, word.end);
    this.#rest.textContent = `${text.slice(word.end)}\n`; // a last empty line counts in the field, so it must here
    this.#follow();
  }

  clear() {
    this.#shown = null;
    for (const part of [this.#heard, this.#mark, this.#rest]) part.textContent = "";
  }

  /** Keeps the marked word in sight, where the text is longer than the sheet. */
  #follow() {
    const { offsetTop, offsetHeight } = this.#mark;
    const { scrollTop, clientHeight } = this.#field;
    if (offsetTop < scrollTop || offsetTop + offsetHeight > scrollTop + clientHeight) {
      this.#field.scrollTop = offsetTop - clientHeight / 3;
    }
    this.#backdrop.scrollTop = this.#field.scrollTop;
  }
}
