// Mixing: the selected voice and another one, heard at once and kept as a custom voice.

import { ApiError } from "./api_client.js";
import { createSlider } from "./controls.js";
import { element } from "./widgets.js";

/** The panel below the voices; the event "change" tells that another voice speaks now. */
export class MixPanel extends EventTarget {
  #api;
  #handlers;
  #selected = null;
  #voices = [];
  #share;

  /** `handlers` has `onKeep` (with the id of the new voice) and `onError`. */
  constructor(api, handlers) {
    super();
    this.#api = api;
    this.#handlers = handlers;
    this.#share = createSlider({ name: "mix-share", label: "Share of the other voice", low: "none", high: "all" }, () =>
      this.#dispatchChange(),
    );
    element("mix-slider").replaceWith(this.#share.field);
    this.#share.input.value = 0.5;
    this.#share.showValue();
    element("mix").addEventListener("toggle", () => this.#dispatchChange());
    element("mix-voice").addEventListener("change", () => this.#dispatchChange());
    element("mix-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#keep();
    });
  }

  /** Offers these voices. */
  show(voices) {
    this.#voices = voices;
    const before = element("mix-voice").value;
    element("mix-voice").replaceChildren(...voices.map(({ name, voice_id: id }) => new Option(name, id)));
    const other = voices.find(({ voice_id: id }) => id === before) ?? voices.find((voice) => voice !== this.#selected);
    element("mix-voice").value = other?.voice_id ?? "";
  }

  /** The voice that speaks if this one is selected: itself, or its mix. */
  mixWith(voice) {
    this.#selected = voice;
    const parts = element("mix").open ? this.#listParts() : [];
    if (parts.length < 2) return parts[0]?.voice ?? voice;
    return {
      voice_id: parts.map(({ voice: { voice_id: id }, percent }) => `${id}(${percent})`).join("+"),
      name: parts.map(({ voice: { name }, percent }) => `${name} ${percent} %`).join(" + "),
    };
  }

  /** The voices that are heard, each with its share. */
  #listParts() {
    const percent = Math.round(100 * Number(this.#share.input.value));
    const other = this.#voices.find(({ voice_id: id }) => id === element("mix-voice").value);
    const parts = [
      { voice: this.#selected, percent: 100 - percent },
      { voice: other, percent },
    ];
    return parts.filter((part) => part.voice && part.percent);
  }

  async #keep() {
    const name = element("mix-name").value.trim();
    const parts = this.#listParts();
    const problem = this.#findProblem(name, parts);
    element("mix-status").textContent = problem ?? "Keeping it…";
    if (problem) return;
    try {
      const voice = await this.#api.mixVoices(name, parts);
      element("mix-name").value = "";
      element("mix").open = false;
      await this.#handlers.onKeep(voice.voice_id);
      element("mix-status").textContent = "";
    } catch (error) {
      element("mix-status").textContent = "";
      this.#handlers.onError(ApiError.fromError(error), () => this.#keep());
    }
  }

  #findProblem(name, parts) {
    if (parts.length < 2 || parts[0].voice === parts[1].voice) return "Choose two voices, and some of each.";
    return name ? null : "Give the voice a name.";
  }

  #dispatchChange() {
    this.dispatchEvent(new Event("change"));
  }
}
