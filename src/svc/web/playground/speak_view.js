// The speak view: plays the text, highlights the words, draws the waveform, shows the timings, and saves the clip.

import { ApiError, serverConfig } from "./api_client.js";
import { fileExtension } from "./controls.js";
import { HighlightedText } from "./highlighted_text.js";
import { Waveform } from "./pcm_buffer.js";
import { Playback } from "./playback.js";
import { nameLanguage } from "./voice_picker.js";
import { element } from "./widgets.js";

const formatSeconds = (value) => `${value.toFixed(1)} s`;

export class SpeakView {
  #api;
  #banner;
  #getRequest;
  #onError;
  #playback;
  #text = new HighlightedText(document.querySelector(".text-editor"));
  #waveform = new Waveform(document.querySelector("#wave canvas"));

  /** `getRequest` returns what the controls ask for; `onError` gets an ApiError and a function that tries again. */
  constructor(api, banner, getRequest, onError) {
    this.#api = api;
    this.#banner = banner;
    this.#getRequest = getRequest;
    this.#onError = onError;
    this.#playback = new Playback(api);
    this.#playback.addEventListener("start", () => this.#showStart());
    this.#playback.addEventListener("firstaudio", ({ detail }) => this.#showFirstAudio(detail.seconds));
    this.#playback.addEventListener("complete", ({ detail }) => this.#showComplete(detail.seconds));
    this.#playback.addEventListener("end", () => this.#showEnd());
    element("say").addEventListener("click", () => (this.#playback.isPlaying ? this.stop() : this.#speak()));
    element("replay").addEventListener("click", () => this.#playback.replay());
    element("download").addEventListener("click", () => this.#download());
    element("seek").addEventListener("input", ({ target }) => this.#seek(Number(target.value)));
    addEventListener("keydown", (event) => this.#handleKey(event));
    element("spoken-languages").textContent = describeLanguages(serverConfig.languages);
  }

  stop() {
    this.#playback.stop();
    this.#showEnd();
  }

  async #speak() {
    const request = this.#getRequest();
    if (!request) return;
    this.#banner.clear();
    if (!request.text.trim()) {
      this.#showStatus("Type something to speak first.");
      element("text").focus();
      return;
    }
    for (const id of ["first-audio", "factor", "length"]) element(id).textContent = "–";
    try {
      await this.#playback.speak(request, () => this.#showStatus("The engine is loading; speech starts by itself."));
    } catch (error) {
      this.#showStatus("");
      this.#onError(ApiError.fromError(error), () => this.#speak());
    }
  }

  async #download() {
    const button = element("download");
    const { request, buffer } = this.#playback;
    const { format } = this.#getRequest();
    button.disabled = true;
    button.textContent = "Preparing…";
    try {
      const clip = await getClip(this.#api, request, buffer, format);
      saveFile(clip, `${request.voiceName} ${request.text.slice(0, 24)}`, format);
    } catch (error) {
      this.#onError(ApiError.fromError(error), () => this.#download());
    } finally {
      button.disabled = false;
      button.textContent = "Download";
    }
  }

  #showStart() {
    const { buffer, request, expectedSeconds } = this.#playback;
    this.#showPlaying(true);
    if (!buffer.length) {
      this.#text.clear();
      this.#showStatus(`Speaking as ${request.voiceName}.`);
      this.#waveform.show(buffer, expectedSeconds);
    }
    requestAnimationFrame(() => this.#animate());
  }

  #showFirstAudio(seconds) {
    element("first-audio").textContent =
      seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(2)} s`;
  }

  /** `synthesisSeconds` is null if synthesis failed. */
  #showComplete(synthesisSeconds) {
    const { buffer } = this.#playback;
    if (!buffer.length) return;
    element("length").textContent = formatSeconds(buffer.seconds);
    if (synthesisSeconds !== null) element("factor").textContent = (synthesisSeconds / buffer.seconds).toFixed(2);
  }

  #showEnd() {
    const { buffer } = this.#playback;
    this.#showPlaying(false);
    this.#text.clear();
    this.#showStatus(buffer?.length ? `${formatSeconds(buffer.seconds)} of speech.` : "");
    this.#drawPosition();
  }

  #showPlaying(isPlaying) {
    const { buffer } = this.#playback;
    const say = element("say");
    say.classList.toggle("speaking", isPlaying);
    say.querySelector(".label").textContent = isPlaying ? "Stop" : "Speak";
    element("replay").disabled = isPlaying || !buffer?.length;
    element("download").disabled = !buffer?.isComplete || !buffer.length;
    element("seek").disabled = !buffer?.length;
  }

  #animate() {
    if (!this.#playback.isPlaying) return;
    this.#drawPosition();
    const { request, position, wordTimings } = this.#playback;
    if (request.text === this.#text.text) this.#text.highlight(wordTimings.findWord(position));
    requestAnimationFrame(() => this.#animate());
  }

  #drawPosition() {
    const { buffer, position } = this.#playback;
    this.#waveform.setPosition(position);
    const seek = element("seek");
    seek.disabled = !buffer?.length;
    seek.max = buffer?.seconds ?? 0;
    seek.value = position;
    seek.setAttribute("aria-valuetext", `${formatSeconds(position)} of ${formatSeconds(buffer?.seconds ?? 0)}`);
    element("download").disabled = !buffer?.isComplete || !buffer.length;
  }

  #seek(position) {
    this.#playback.seek(position);
    this.#drawPosition();
  }

  #handleKey(event) {
    if (document.querySelector("dialog[open]") || element("speak").hidden) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#speak();
    } else if (event.key === "Escape" && this.#playback.isPlaying) {
      this.stop();
    }
  }

  #showStatus(text) {
    element("status").textContent = text;
  }
}

/** The clip in a format: from the samples that were played if they are in it, else synthesised again. */
async function getClip(api, request, buffer, format) {
  if (format === `wav_${buffer.sampleRate}`) return buffer.toWav();
  if (format === `pcm_${buffer.sampleRate}`) return buffer.toPcm();
  return (await api.requestSpeech("", { ...request, format })).blob();
}

function saveFile(file, title, format) {
  const name = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${name || "speech"}.${fileExtension(format)}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The languages that a text may be in, by grade. */
function describeLanguages(languages) {
  const list = (wanted) => languages.filter(({ grade }) => grade === wanted).map(({ code }) => nameLanguage(code));
  const [good, fair] = [list("good"), list("fair")];
  return `Reads ${good.join(", ")}${fair.length ? `; with an accent ${fair.join(", ")}` : ""}.`;
}
