// The voices to choose from: searched, filtered, heard and picked.

import { described, languageName, titled } from "./labels.js";
import { previewButton } from "./preview.js";
import { copyOf } from "./template.js";

const FILTERS = {
  language: { every: "Language", inWords: languageName },
  gender: { every: "Gender", inWords: titled },
  accent: { every: "Accent", inWords: titled },
};

export class Picker extends EventTarget {
  #list;
  #search;
  #selects;
  #count;
  #preview;
  #voices = [];
  #rows = new Map();
  #chosen = null;

  constructor({ list, search, language, gender, accent, count }, preview) {
    super();
    this.#list = list;
    this.#search = search;
    this.#selects = { language, gender, accent };
    this.#count = count;
    this.#preview = preview;
    search.addEventListener("input", () => this.#filter());
    for (const select of Object.values(this.#selects)) select.addEventListener("change", () => this.#filter());
    list.addEventListener("change", ({ target }) => this.choose(target.value));
  }

  get chosen() {
    return this.#chosen;
  }

  get voices() {
    return this.#voices;
  }

  /** Shows these voices; the one that was chosen stays so while it is there. */
  show(voices, defaultId = null) {
    this.#voices = voices.toSorted((one, other) => (other.category === "cloned") - (one.category === "cloned"));
    this.#rows = new Map(this.#voices.map((voice) => [voice.voice_id, this.#row(voice)]));
    this.#list.replaceChildren(...this.#rows.values());
    for (const [name, { every, inWords }] of Object.entries(FILTERS)) this.#offer(name, every, inWords);
    this.#filter();
    const wanted = [this.#chosen?.voice_id, defaultId].find((id) => this.#rows.has(id)) ?? this.#voices[0]?.voice_id;
    if (wanted) this.choose(wanted);
  }

  choose(voiceId) {
    const before = this.#chosen;
    this.#chosen = this.#voices.find((voice) => voice.voice_id === voiceId);
    for (const [id, row] of this.#rows) {
      row.querySelector("input").checked = id === voiceId;
      // One stop for the tabulator: the introduction of the voice that is chosen.
      row.querySelector("button").tabIndex = id === voiceId ? 0 : -1;
    }
    this.#reveal(this.#rows.get(voiceId));
    if (before?.voice_id !== voiceId) this.dispatchEvent(new Event("change"));
  }

  #row(voice) {
    const row = copyOf("voice-row");
    row.querySelector("input").value = voice.voice_id;
    row.querySelector(".voice-name").textContent = voice.name;
    row.querySelector(".voice-kind").textContent = described(voice);
    row.append(previewButton(voice, this.#preview));
    return row;
  }

  #offer(name, every, inWords) {
    const select = this.#selects[name];
    const before = select.value;
    const values = new Set(this.#voices.map((voice) => voice.labels[name]).filter(Boolean));
    const options = [...values].map((value) => new Option(inWords(value), value));
    options.sort((one, other) => one.text.localeCompare(other.text));
    select.replaceChildren(new Option(every, ""), ...options);
    select.value = values.has(before) ? before : "";
  }

  #filter() {
    const wanted = this.#search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const voice of this.#voices) {
      const words = searchable(voice);
      const fits =
        wanted.every((each) => words.some((word) => word.startsWith(each))) &&
        Object.entries(this.#selects).every(([name, { value }]) => !value || voice.labels[name] === value);
      this.#rows.get(voice.voice_id).hidden = !fits;
      shown += fits;
    }
    this.#count.textContent = shown === 0 ? "No voice fits." : shown === 1 ? "1 voice" : `${shown} voices`;
  }

  /** Scrolls the list, and nothing else, until a row can be seen. */
  #reveal(row) {
    if (!row || row.hidden) return;
    const above = row.offsetTop - this.#list.scrollTop;
    if (above < 0 || above + row.offsetHeight > this.#list.clientHeight) {
      this.#list.scrollTop = row.offsetTop - (this.#list.clientHeight - row.offsetHeight) / 2;
    }
  }
}

function searchable({ voice_id: id, name, description, labels }) {
  return [id, name, description ?? "", languageName(labels.language), ...Object.values(labels)]
    .join(" ")
    .toLowerCase()
    .split(/[^\p{L}\p{N}-]+/u);
}
