// The list of voices: search, filters, previews and the choice. The cloning view uses its labels and previews too.

import { ApiError } from "./api_client.js";
import { cloneTemplate } from "./widgets.js";

const LANGUAGE_NAMES = new Intl.DisplayNames(["en"], { type: "language" });
const FILTERS = {
  language: { title: "Language", describe: nameLanguage },
  gender: { title: "Gender", describe: capitalize },
  accent: { title: "Accent", describe: capitalize },
};

export class VoicePicker extends EventTarget {
  #list;
  #search;
  #selects;
  #count;
  #preview;
  #voices = [];
  #rows = new Map();
  #selected = null;

  constructor({ list, search, language, gender, accent, count }, preview) {
    super();
    this.#list = list;
    this.#search = search;
    this.#selects = { language, gender, accent };
    this.#count = count;
    this.#preview = preview;
    search.addEventListener("input", () => this.#filter());
    for (const select of Object.values(this.#selects)) select.addEventListener("change", () => this.#filter());
    list.addEventListener("change", ({ target }) => this.select(target.value));
  }

  get selected() {
    return this.#selected;
  }

  /** Shows these voices; the selected one stays selected if it is among them. */
  show(voices, defaultId = null) {
    this.#voices = voices.toSorted((one, other) => (other.category === "cloned") - (one.category === "cloned"));
    this.#rows = new Map(this.#voices.map((voice) => [voice.voice_id, this.#createRow(voice)]));
    this.#list.replaceChildren(...this.#rows.values());
    for (const name of Object.keys(FILTERS)) this.#fillFilter(name);
    this.#filter();
    const wanted = [this.#selected?.voice_id, defaultId].find((id) => this.#rows.has(id)) ?? this.#voices[0]?.voice_id;
    if (wanted) this.select(wanted);
  }

  select(voiceId) {
    const before = this.#selected;
    this.#selected = this.#voices.find((voice) => voice.voice_id === voiceId);
    for (const [id, row] of this.#rows) {
      row.querySelector("input").checked = id === voiceId;
      // Of all the preview buttons, only that of the selected voice can be reached with Tab.
      row.querySelector("button").tabIndex = id === voiceId ? 0 : -1;
    }
    this.#scrollTo(this.#rows.get(voiceId));
    if (before?.voice_id !== voiceId) this.dispatchEvent(new Event("change"));
  }

  #createRow(voice) {
    const row = cloneTemplate("voice-row");
    row.querySelector("input").value = voice.voice_id;
    row.querySelector(".voice-name").textContent = voice.name;
    row.querySelector(".voice-description").textContent = describeVoice(voice);
    row.append(createPreviewButton(voice, this.#preview));
    return row;
  }

  #fillFilter(name) {
    const { title, describe } = FILTERS[name];
    const select = this.#selects[name];
    const before = select.value;
    const values = new Set(this.#voices.map((voice) => voice.labels[name]).filter(Boolean));
    const options = [...values].map((value) => new Option(describe(value), value));
    options.sort((one, other) => one.text.localeCompare(other.text));
    select.replaceChildren(new Option(title, ""), ...options);
    select.value = values.has(before) ? before : "";
  }

  #filter() {
    const terms = this.#search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const voice of this.#voices) {
      const words = listSearchWords(voice);
      const matches =
        terms.every((term) => words.some((word) => word.startsWith(term))) &&
        Object.entries(this.#selects).every(([name, { value }]) => !value || voice.labels[name] === value);
      this.#rows.get(voice.voice_id).hidden = !matches;
      shown += matches;
    }
    this.#count.textContent = shown === 0 ? "No voice matches." : shown === 1 ? "1 voice" : `${shown} voices`;
  }

  /** Scrolls the list until the row is visible; `scrollIntoView` would scroll the page too. */
  #scrollTo(row) {
    if (!row || row.hidden) return;
    const top = row.offsetTop - this.#list.scrollTop;
    if (top < 0 || top + row.offsetHeight > this.#list.clientHeight) {
      this.#list.scrollTop = row.offsetTop - (this.#list.clientHeight - row.offsetHeight) / 2;
    }
  }
}

function listSearchWords({ voice_id: id, name, description, labels }) {
  return [id, name, description ?? "", nameLanguage(labels.language), ...Object.values(labels)]
    .join(" ")
    .toLowerCase()
    .split(/[^\p{L}\p{N}-]+/u);
}

/** Plays the previews of voices, one at a time; events are "start" and "error". */
export class VoicePreview extends EventTarget {
  #audio = new Audio();
  #api;
  #button = null;

  constructor(api) {
    super();
    this.#api = api;
    for (const event of ["ended", "pause"]) this.#audio.addEventListener(event, () => this.#setState("idle"));
    this.#audio.addEventListener("playing", () => this.#setState("playing"));
  }

  /** Plays the preview of a voice, or stops it if it is playing. */
  async toggle(voice, button) {
    const wasActive = this.#button === button && button.dataset.state !== "idle";
    this.stop();
    if (wasActive) return;
    this.#button = button;
    this.#setState("loading");
    this.dispatchEvent(new Event("start"));
    this.#audio.src = this.#api.previewAddress(voice);
    try {
      await this.#audio.play();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#setState("idle");
      this.dispatchEvent(new CustomEvent("error", { detail: await this.#findError(voice) }));
    }
  }

  stop() {
    this.#audio.pause();
    this.#setState("idle");
  }

  /** An audio element does not say why it failed; the same request with fetch does. */
  async #findError(voice) {
    const response = await fetch(this.#api.previewAddress(voice)).catch(() => null);
    if (response && !response.ok) return ApiError.fromResponse(response);
    return new ApiError("playback", "This browser could not play the preview.");
  }

  #setState(state) {
    if (this.#button) this.#button.dataset.state = state;
  }
}

/** A button that plays the preview of a voice. */
export function createPreviewButton(voice, preview) {
  const button = cloneTemplate("preview-button");
  button.setAttribute("aria-label", `Hear ${voice.name}`);
  button.addEventListener("click", () => preview.toggle(voice, button));
  return button;
}

/** "British · male", or what else is known of a voice. */
export function describeVoice(voice) {
  const { accent, gender, language } = voice.labels;
  if (voice.category === "cloned") {
    return [voice.is_mixed ? "Mixed" : "Cloned", nameLanguage(language)].filter(Boolean).join(" · ");
  }
  return [capitalize(accent), gender].filter(Boolean).join(" · ");
}

export function nameLanguage(code) {
  try {
    return LANGUAGE_NAMES.of(code);
  } catch {
    return code;
  }
}

function capitalize(word) {
  return word ? word[0].toUpperCase() + word.slice(1) : "";
}
