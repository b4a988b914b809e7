// The view that speaks: the sheet, the buttons, the picture, and the figures.

import { clipFile, save } from "./download.js";
import { Problem } from "./problem.js";
import { Recital } from "./playback.js";
import { Sheet } from "./highlighted_text.js";
import { Waveform } from "./waveform.js";

const element = (id) => document.getElementById(id);
const seconds = (value) => `${value.toFixed(1)} s`;

export class Desk {
  #recital;
  #sheet = new Sheet(document.querySelector(".sheet"));
  #waveform = new Waveform(document.querySelector("#wave canvas"));
  #service;
  #notice;
  #request;
  #onProblem;

  /** `request` gives what the controls ask for; `onProblem` hears of what went wrong, and how to try again. */
  constructor(service, notice, request, onProblem) {
    this.#service = service;
    this.#notice = notice;
    this.#request = request;
    this.#onProblem = onProblem;
    this.#recital = new Recital(service);
    for (const event of ["begin", "first", "arrived", "ended"]) {
      this.#recital.addEventListener(event, ({ detail }) => this[event](detail));
    }
    element("say").addEventListener("click", () => (this.#recital.playing ? this.stop() : this.speak()));
    element("again").addEventListener("click", () => this.#recital.again());
    element("download").addEventListener("click", () => this.download());
    element("seek").addEventListener("input", ({ target }) => this.#seek(Number(target.value)));
    addEventListener("keydown", (event) => this.#key(event));
  }

  get text() {
    return this.#sheet.text;
  }

  async speak() {
    const request = this.#request();
    if (!request) return;
    this.#notice.clear();
    if (!request.text.trim()) {
      this.#status("Type something to speak first.");
      element("text").focus();
      return;
    }
    for (const fact of ["first-audio", "factor", "length"]) element(fact).textContent = "–";
    try {
      await this.#recital.speak(request, () => this.#status("The engine is warming up; speech begins by itself."));
    } catch (error) {
      this.#status("");
      this.#onProblem(Problem.of(error), () => this.speak());
    }
  }

  stop() {
    this.#recital.stop();
    this.ended();
  }

  async download() {
    const button = element("download");
    const { request, sound } = this.#recital;
    const { format } = this.#request();
    button.disabled = true;
    button.textContent = "Preparing…";
    try {
      save(
        await clipFile(this.#service, request, sound, format),
        `${request.voiceName} ${request.text.slice(0, 24)}`,
        format,
      );
    } catch (error) {
      this.#onProblem(Problem.of(error), () => this.download());
    } finally {
      button.disabled = false;
      button.textContent = "Download";
    }
  }

  begin() {
    const { sound } = this.#recital;
    this.#playing(true);
    if (!sound.length) {
      this.#sheet.clear();
      this.#status(`Speaking as ${this.#recital.request.voiceName}.`);
      this.#waveform.show(sound, this.#recital.expectedSeconds);
    }
    requestAnimationFrame(() => this.#frame());
  }

  first({ seconds: waited }) {
    element("first-audio").textContent = waited < 1 ? `${Math.round(1000 * waited)} ms` : `${waited.toFixed(2)} s`;
  }

  arrived({ seconds: took }) {
    const { sound } = this.#recital;
    if (!sound.length) return;
    element("length").textContent = seconds(sound.seconds);
    if (took !== null) element("factor").textContent = (took / sound.seconds).toFixed(2);
  }

  ended() {
    const { sound } = this.#recital;
    this.#playing(false);
    this.#sheet.clear();
    if (sound?.length) this.#status(`${seconds(sound.seconds)} of speech.`);
    else this.#status("");
    this.#draw();
  }

  #playing(playing) {
    const say = element("say");
    say.classList.toggle("speaking", playing);
    say.querySelector(".label").textContent = playing ? "Stop" : "Speak";
    const silent = playing || !this.#recital.sound?.length;
    element("again").disabled = silent;
    element("download").disabled = !this.#recital.sound?.complete || !this.#recital.sound.length;
    element("seek").disabled = !this.#recital.sound?.length;
  }

  #frame() {
    if (!this.#recital.playing) return;
    this.#draw();
    const { request, position, words } = this.#recital;
    if (request.text === this.text) this.#sheet.mark(words.at(position));
    requestAnimationFrame(() => this.#frame());
  }

  #draw() {
    const { sound, position } = this.#recital;
    this.#waveform.at(position);
    const seek = element("seek");
    seek.disabled = !sound?.length;
    seek.max = sound?.seconds ?? 0;
    seek.value = position;
    seek.setAttribute("aria-valuetext", `${seconds(position)} of ${seconds(sound?.seconds ?? 0)}`);
    element("download").disabled = !sound?.complete || !sound.length;
  }

  #seek(position) {
    this.#recital.seek(position);
    this.#draw();
  }

  #key(event) {
    if (document.querySelector("dialog[open]") || element("speak").hidden) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.speak();
    } else if (event.key === "Escape" && this.#recital.playing) {
      this.stop();
    }
  }

  #status(words) {
    element("status").textContent = words;
  }
}
