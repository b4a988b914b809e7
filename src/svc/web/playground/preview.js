// Hears a voice introduce itself: one at a time, by buttons that say which one plays.

import { Problem } from "./problem.js";
import { copyOf } from "./template.js";

export class Preview extends EventTarget {
  #audio = new Audio();
  #service;
  #button = null;

  constructor(service) {
    super();
    this.#service = service;
    for (const event of ["ended", "pause"]) this.#audio.addEventListener(event, () => this.#show("idle"));
    this.#audio.addEventListener("playing", () => this.#show("playing"));
  }

  /** Plays the voice, or stops it if it is the one that plays. */
  async toggle(voice, button) {
    const same = this.#button === button;
    const busy = same && button.dataset.state !== "idle";
    this.stop();
    if (busy) return;
    this.#button = button;
    this.#show("loading");
    this.dispatchEvent(new Event("start"));
    this.#audio.src = this.#service.previewAddress(voice);
    try {
      await this.#audio.play();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#show("idle");
      this.dispatchEvent(new CustomEvent("problem", { detail: await this.#why(voice) }));
    }
  }

  stop() {
    this.#audio.pause();
    this.#show("idle");
  }

  /** An audio element tells nothing about why it failed; asking once more does. */
  async #why(voice) {
    const response = await fetch(this.#service.previewAddress(voice)).catch(() => null);
    if (response && !response.ok) return Problem.from(response);
    return new Problem("playback", "This browser could not play the preview.");
  }

  #show(state) {
    if (this.#button) this.#button.dataset.state = state;
  }
}

/** A button that plays a voice. */
export function previewButton(voice, preview) {
  const button = copyOf("hear-button");
  button.setAttribute("aria-label", `Hear ${voice.name}`);
  button.addEventListener("click", () => preview.toggle(voice, button));
  return button;
}
