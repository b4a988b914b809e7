// The cloning view: a recording and its checks, the form with the name and the consent, and the voice that was made.

import { ApiError, serverConfig } from "./api_client.js";
import { ClonedVoices, createSimilarityReport } from "./cloned_voices.js";
import { MIN_LEVEL, Microphone, checkRecording } from "./recording.js";
import { createPreviewButton, nameLanguage } from "./voice_picker.js";
import { createButton, element } from "./widgets.js";

export class CloningView {
  #api;
  #preview;
  #handlers;
  #clonedVoices;
  #microphone = new Microphone();
  #file = null;
  #isRefused = false;

  /** `handlers` has `onChange` (the voices have changed), `onUse` (speak with a voice) and `onError`. */
  constructor(api, preview, handlers) {
    this.#api = api;
    this.#preview = preview;
    this.#handlers = handlers;
    this.#clonedVoices = new ClonedVoices(api, preview, handlers);
    this.#clonedVoices.addEventListener("update", ({ detail }) => this.#showSimilarity(detail));
    this.#clonedVoices.addEventListener("remove", ({ detail }) => this.#showRemoved(detail));
    element("clone-name").maxLength = serverConfig.max_name_length;
    element("clone-language").append(
      ...serverConfig.languages.map(({ code, grade }) => new Option(describeLanguage(code, grade), code)),
    );
    element("record").addEventListener("click", () => this.#toggleRecording());
    element("file").addEventListener("change", ({ target }) => target.files[0] && this.#check(target.files[0]));
    element("clone-form").addEventListener("submit", (event) => this.#submit(event));
    this.#microphone.addEventListener("level", ({ detail }) => this.#showLevel(detail));
    this.#microphone.addEventListener("recorded", ({ detail }) => {
      this.#showRecording(false);
      this.#check(detail);
    });
    this.#acceptDrops(element("drop"));
  }

  /** Shows the cloned ones of these voices. */
  show(voices) {
    this.#clonedVoices.show(voices);
  }

  async #toggleRecording() {
    if (this.#microphone.isRecording) {
      this.#microphone.stop();
      return;
    }
    this.#preview.stop();
    try {
      await this.#microphone.start();
      this.#showRecording(true);
    } catch (error) {
      this.#handlers.onError(ApiError.fromError(error));
    }
  }

  #showRecording(isRecording) {
    element("record").classList.toggle("recording", isRecording);
    element("record").querySelector(".label").textContent = isRecording ? "Stop" : "Record";
    element("live").hidden = !isRecording;
    element("recording-status").textContent = isRecording ? "Recording. 10 to 20 seconds are best." : "";
  }

  #showLevel({ decibels, seconds }) {
    const meter = element("live").querySelector("[role=meter]");
    meter.setAttribute("aria-valuenow", Math.round(decibels));
    meter.setAttribute("aria-valuetext", `${Math.round(decibels)} decibels`);
    meter.style.setProperty("--level", `${100 * (1 - decibels / MIN_LEVEL)}%`);
    element("clock").textContent = `${seconds.toFixed(1)} s`;
  }

  #acceptDrops(area) {
    const setOver = (isOver) => (event) => {
      event.preventDefault();
      area.classList.toggle("over", isOver);
    };
    area.addEventListener("dragover", setOver(true));
    area.addEventListener("dragleave", setOver(false));
    area.addEventListener("drop", (event) => {
      setOver(false)(event);
      const [file] = event.dataTransfer.files;
      if (file) this.#check(file);
    });
  }

  /** Checks a recording, and shows the result. */
  async #check(file) {
    this.#file = file;
    const audio = element("recording-audio");
    if (audio.src) URL.revokeObjectURL(audio.src);
    audio.src = URL.createObjectURL(file);
    this.#isRefused = false;
    element("result").hidden = true;
    element("clone-status").textContent = "";
    element("recording-status").textContent = "Checking…";
    const checks = await checkRecording(file);
    if (this.#file !== file) return; // another file was chosen meanwhile
    this.#isRefused = checks.some(({ grade }) => grade === "bad");
    element("checks").replaceChildren(...checks.map(createCheckItem));
    element("recording").hidden = false;
    element("recording-status").textContent = this.#isRefused
      ? "No voice can be made from this. Record it again."
      : `${file.name} is ready.`;
  }

  async #submit(event) {
    event.preventDefault();
    const missing = this.#findMissing();
    element("clone-status").textContent = missing ? missing.text : "";
    if (missing) {
      missing.field.focus();
      return;
    }
    await this.#clone({
      file: this.#file,
      name: element("clone-name").value.trim(),
      language: element("clone-language").value,
      consent: true,
      refine: element("refine").checked ? "" : "false", // without an answer the server does as it is set
    });
  }

  /** The first step that is still to be done; null if there is none. */
  #findMissing() {
    if (!this.#file) return { text: "Record something or choose a file first.", field: element("record") };
    if (this.#isRefused)
      return { text: "No voice can be made from this recording. Record it again.", field: element("record") };
    if (!element("clone-name").value.trim()) return { text: "Give the voice a name.", field: element("clone-name") };
    if (!element("consent").checked)
      return { text: "Confirm that the voice may be cloned.", field: element("consent") };
    return null;
  }

  async #clone(details) {
    const progress = element("clone-progress");
    const status = element("clone-status");
    element("make").disabled = true;
    element("result").hidden = true;
    progress.hidden = false;
    status.textContent = "Uploading the recording…";
    try {
      const { voice_id: voiceId } = await this.#api.cloneVoice(details, (share) => {
        if (share < 1) progress.value = share;
        else progress.removeAttribute("value"); // indeterminate from here: how long cloning takes is unknown
        if (share >= 1) status.textContent = "Making the voice and measuring it…";
      });
      status.textContent = "";
      await this.#handlers.onChange();
      this.#showResult(this.#clonedVoices.find(voiceId));
    } catch (error) {
      status.textContent = "";
      this.#handlers.onError(ApiError.fromError(error), () => this.#clone(details));
    } finally {
      element("make").disabled = false;
      progress.hidden = true;
    }
  }

  #showResult(voice) {
    const preview = createPreviewButton(voice, this.#preview);
    preview.classList.add("labelled");
    preview.append("Hear it");
    preview.removeAttribute("aria-label");
    const use = createButton("Speak with it", () => this.#handlers.onUse(voice.voice_id));
    const actions = document.createElement("div");
    actions.className = "row";
    actions.append(preview, use, this.#clonedVoices.createRemoveButton(voice));
    const similarity = document.createElement("div");
    similarity.className = "similarity";
    const result = element("result");
    result.dataset.voice = voice.voice_id;
    result.replaceChildren(similarity, actions);
    result.hidden = false;
    this.#showSimilarity(voice);
    element("clone-status").textContent = `${voice.name} can speak now.`;
  }

  #showSimilarity(voice) {
    const result = element("result");
    if (result.dataset.voice !== voice.voice_id) return;
    result.querySelector(".similarity").replaceChildren(...createSimilarityReport(voice));
  }

  #showRemoved(voice) {
    if (element("result").dataset.voice === voice.voice_id) element("result").hidden = true;
    element("clone-status").textContent = `${voice.name} is removed.`;
  }
}

function createCheckItem({ grade, title, text }) {
  const item = document.createElement("li");
  item.className = grade;
  const name = document.createElement("strong");
  name.textContent = title;
  item.append(name, ` ${text}`);
  return item;
}

/** A language as the menu names it; one that is not as good as the voices' own says so. */
function describeLanguage(code, grade) {
  return grade === "good" ? nameLanguage(code) : `${nameLanguage(code)} (${grade})`;
}
