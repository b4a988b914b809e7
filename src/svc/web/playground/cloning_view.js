// The view that makes voices: a recording, what is wrong with it, the voice's name, and the voices that were made.

import { Improvement, improving, progressOf } from "./cloned_voices.js";
import { CLONING_LANGUAGES, described, languageName } from "./labels.js";
import { likeness } from "./likeness.js";
import { Microphone } from "./microphone.js";
import { previewButton } from "./preview.js";
import { Problem } from "./problem.js";
import { judged, measured } from "./recording.js";

const element = (id) => document.getElementById(id);
const QUIETEST = -60;

export class Studio {
  #service;
  #preview;
  #on;
  #improvement;
  #cloned = [];
  #microphone = new Microphone();
  #file = null;
  #refused = false;

  /** `on` has `onChange` (the voices changed), `onUse` (speak with one) and `onProblem`. */
  constructor(service, preview, on) {
    this.#service = service;
    this.#preview = preview;
    this.#on = on;
    this.#improvement = new Improvement(service);
    this.#improvement.addEventListener("progress", ({ detail }) => this.#update(detail));
    this.#improvement.addEventListener("done", ({ detail }) => this.#improved(detail));
    element("clone-language").append(...CLONING_LANGUAGES.map((code) => new Option(languageName(code), code)));
    element("record").addEventListener("click", () => this.#record());
    element("file").addEventListener("change", ({ target }) => target.files[0] && this.#take(target.files[0]));
    element("clone-form").addEventListener("submit", (event) => this.#submit(event));
    this.#microphone.addEventListener("level", ({ detail }) => this.#level(detail));
    this.#microphone.addEventListener("take", ({ detail }) => {
      this.#recording(false);
      this.#take(detail);
    });
    this.#catchDrops(element("drop"));
  }

  /** The voices that were cloned, of all of these. */
  show(voices) {
    this.#cloned = voices.filter(({ category }) => category === "cloned");
    element("mine").replaceChildren(...this.#cloned.map((voice) => this.#row(voice)));
    element("mine-none").hidden = this.#cloned.length > 0;
    this.#improvement.watch(this.#cloned);
  }

  async #record() {
    if (this.#microphone.recording) {
      this.#microphone.stop();
      return;
    }
    this.#preview.stop();
    try {
      await this.#microphone.start();
      this.#recording(true);
    } catch (error) {
      this.#on.onProblem(Problem.of(error));
    }
  }

  #recording(on) {
    element("record").classList.toggle("recording", on);
    element("record").querySelector(".label").textContent = on ? "Stop" : "Record";
    element("live").hidden = !on;
    element("take-status").textContent = on ? "Recording. 10 to 20 seconds are best." : "";
  }

  #level({ decibels, seconds }) {
    const meter = element("live").querySelector("[role=meter]");
    meter.setAttribute("aria-valuenow", Math.round(decibels));
    meter.setAttribute("aria-valuetext", `${Math.round(decibels)} decibels`);
    meter.style.setProperty("--level", `${100 * (1 - decibels / QUIETEST)}%`);
    element("clock").textContent = `${seconds.toFixed(1)} s`;
  }

  #catchDrops(place) {
    const mark = (on) => (event) => {
      event.preventDefault();
      place.classList.toggle("over", on);
    };
    place.addEventListener("dragover", mark(true));
    place.addEventListener("dragleave", mark(false));
    place.addEventListener("drop", (event) => {
      mark(false)(event);
      const [file] = event.dataTransfer.files;
      if (file) this.#take(file);
    });
  }

  /** Looks at a recording, and says what it sees. */
  async #take(file) {
    this.#file = file;
    const audio = element("take-audio");
    if (audio.src) URL.revokeObjectURL(audio.src);
    audio.src = URL.createObjectURL(file);
    this.#refused = false;
    element("result").hidden = true;
    element("clone-status").textContent = "";
    element("take-status").textContent = "Listening…";
    const checks = judged(await measured(file));
    if (this.#file !== file) return; // another was chosen in the meantime
    this.#refused = checks.some(({ grade }) => grade === "bad");
    element("checks").replaceChildren(...checks.map(checkItem));
    element("take").hidden = false;
    element("take-status").textContent = this.#refused
      ? "This will not make a voice. Record it again."
      : `${file.name} is ready.`;
  }

  async #submit(event) {
    event.preventDefault();
    const missing = this.#missing();
    element("clone-status").textContent = missing ? missing.words : "";
    if (missing) {
      missing.field.focus();
      return;
    }
    await this.#make({
      file: this.#file,
      name: element("clone-name").value.trim(),
      language: element("clone-language").value,
      consent: true,
      refine: element("refine").checked,
    });
  }

  /** The first thing that is still to do. */
  #missing() {
    if (!this.#file) return { words: "Record something or choose a file first.", field: element("record") };
    if (this.#refused)
      return { words: "This recording will not make a voice. Record it again.", field: element("record") };
    if (!element("clone-name").value.trim()) return { words: "Give the voice a name.", field: element("clone-name") };
    if (!element("consent").checked)
      return { words: "Confirm that the voice may be cloned.", field: element("consent") };
    return null;
  }

  async #make(details) {
    const progress = element("clone-progress");
    const status = element("clone-status");
    element("make").disabled = true;
    element("result").hidden = true;
    progress.hidden = false;
    status.textContent = "Sending the recording…";
    try {
      const { voice_id: voiceId } = await this.#service.cloneVoice(details, (share) => {
        if (share < 1) progress.value = share;
        else progress.removeAttribute("value"); // nobody knows how long it takes from here
        if (share >= 1) status.textContent = "Making the voice, and listening to it…";
      });
      status.textContent = "";
      await this.#on.onChange();
      this.#made(this.#cloned.find(({ voice_id: each }) => each === voiceId));
    } catch (error) {
      status.textContent = "";
      this.#on.onProblem(Problem.of(error), () => this.#make(details));
    } finally {
      element("make").disabled = false;
      progress.hidden = true;
    }
  }

  #made(voice) {
    const result = element("result");
    const actions = document.createElement("div");
    actions.className = "row";
    const hear = previewButton(voice, this.#preview);
    hear.classList.add("labelled");
    hear.append("Hear it");
    hear.removeAttribute("aria-label");
    actions.append(
      hear,
      button("Speak with it", "secondary", () => this.#on.onUse(voice.voice_id)),
      this.#removal(voice),
    );
    const measures = document.createElement("div");
    measures.className = "measures";
    result.dataset.voice = voice.voice_id;
    result.replaceChildren(measures, actions);
    result.hidden = false;
    this.#update(voice);
    element("clone-status").textContent = `${voice.name} can speak now.`;
  }

  #row(voice) {
    const row = document.createElement("li");
    row.dataset.voice = voice.voice_id;
    const name = document.createElement("span");
    name.className = "voice-name";
    name.textContent = voice.name;
    const kind = document.createElement("span");
    kind.className = "voice-kind";
    kind.append(...kindOf(voice));
    row.append(previewButton(voice, this.#preview), name, kind);
    row.append(button("Speak", "secondary", () => this.#on.onUse(voice.voice_id), `Speak with ${voice.name}`));
    row.append(this.#removal(voice));
    return row;
  }

  /** Shows anew what has become of a voice. What may have the focus stays in its place. */
  #update(voice) {
    const row = element("mine").querySelector(`[data-voice="${CSS.escape(voice.voice_id)}"] .voice-kind`);
    row?.replaceChildren(...kindOf(voice));
    const result = element("result");
    if (result.dataset.voice !== voice.voice_id) return;
    const progress = improving(voice) ? [progressOf(voice)] : [];
    result.querySelector(".measures").replaceChildren(...likeness(voice.cloning), ...progress);
  }

  #improved(voice) {
    this.#update(voice);
    const { refined, similarity } = voice.cloning;
    element("mine-status").textContent = refined
      ? `${voice.name} is improved: similarity ${similarity.toFixed(2)}.`
      : `${voice.name} stays as it was: nothing better was found.`;
  }

  #removal(voice) {
    return button("Remove", "secondary", () => this.#remove(voice), `Remove ${voice.name}`);
  }

  #remove(voice) {
    const dialog = element("remove-dialog");
    element("remove-title").textContent = `Remove ${voice.name}?`;
    dialog.returnValue = "keep";
    dialog.addEventListener("close", () => dialog.returnValue === "remove" && this.#removed(voice), { once: true });
    dialog.showModal();
  }

  async #removed(voice) {
    try {
      await this.#service.removeVoice(voice.voice_id);
      if (element("result").dataset.voice === voice.voice_id) element("result").hidden = true;
      await this.#on.onChange();
      element("clone-status").textContent = `${voice.name} is removed.`;
    } catch (error) {
      this.#on.onProblem(Problem.of(error), () => this.#removed(voice));
    }
  }
}

/** What a row says of a voice. */
function kindOf(voice) {
  if (improving(voice)) return [described(voice), progressOf(voice)];
  return [voice.cloning.refined ? `${described(voice)} · improved` : described(voice)];
}

function button(label, kind, action, spokenLabel = null) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = kind;
  made.textContent = label;
  if (spokenLabel) made.setAttribute("aria-label", spokenLabel);
  made.addEventListener("click", action);
  return made;
}

function checkItem({ grade, title, words }) {
  const item = document.createElement("li");
  item.className = grade;
  const name = document.createElement("strong");
  name.textContent = title;
  item.append(name, ` ${words}`);
  return item;
}
