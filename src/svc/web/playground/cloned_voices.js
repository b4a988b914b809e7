// The list of cloned voices: their previews, their removal, and the progress of their refinement in the background.

import { ApiError } from "./api_client.js";
import { createPreviewButton, describeVoice } from "./voice_picker.js";
import { createButton, element } from "./widgets.js";

/** The list; events are "update" (of a voice that is refined) and "remove", both with the voice. */
export class ClonedVoices extends EventTarget {
  #api;
  #preview;
  #handlers;
  #voices = [];
  #refinement;

  /** `handlers` has `onChange` (the voices have changed), `onUse` (speak with a voice) and `onError`. */
  constructor(api, preview, handlers) {
    super();
    this.#api = api;
    this.#preview = preview;
    this.#handlers = handlers;
    this.#refinement = new RefinementPoller(api);
    this.#refinement.addEventListener("progress", ({ detail }) => this.#update(detail));
    this.#refinement.addEventListener("done", ({ detail }) => this.#finishRefinement(detail));
  }

  /** Shows the cloned ones of these voices. */
  show(voices) {
    this.#voices = voices.filter(({ category }) => category === "cloned");
    element("cloned-voices").replaceChildren(...this.#voices.map((voice) => this.#createRow(voice)));
    element("cloned-voices-empty").hidden = this.#voices.length > 0;
    this.#refinement.watch(this.#voices);
  }

  find(voiceId) {
    return this.#voices.find((voice) => voice.voice_id === voiceId);
  }

  createRemoveButton(voice) {
    return createButton("Remove", () => this.#confirmRemoval(voice), `Remove ${voice.name}`);
  }

  #createRow(voice) {
    const row = document.createElement("li");
    row.dataset.voice = voice.voice_id;
    const name = document.createElement("span");
    name.className = "voice-name";
    name.textContent = voice.name;
    const description = document.createElement("span");
    description.className = "voice-description";
    description.append(...describeClone(voice));
    const use = createButton("Speak", () => this.#handlers.onUse(voice.voice_id), `Speak with ${voice.name}`);
    row.append(createPreviewButton(voice, this.#preview), name, description, use, this.createRemoveButton(voice));
    return row;
  }

  /** Shows the new state of a voice; the buttons stay, because one of them may have the focus. */
  #update(voice) {
    const row = element("cloned-voices").querySelector(`[data-voice="${CSS.escape(voice.voice_id)}"]`);
    row?.querySelector(".voice-description").replaceChildren(...describeClone(voice));
    this.#dispatch("update", voice);
  }

  #finishRefinement(voice) {
    this.#update(voice);
    const { refined, similarity } = voice.cloning;
    element("cloned-voices-status").textContent = refined
      ? `${voice.name} is improved: similarity ${similarity.toFixed(2)}.`
      : `${voice.name} stays as it was: nothing better was found.`;
  }

  #confirmRemoval(voice) {
    const dialog = element("remove-dialog");
    element("remove-title").textContent = `Remove ${voice.name}?`;
    dialog.returnValue = "keep";
    dialog.addEventListener("close", () => dialog.returnValue === "remove" && this.#remove(voice), { once: true });
    dialog.showModal();
  }

  async #remove(voice) {
    try {
      await this.#api.removeVoice(voice.voice_id);
      this.#dispatch("remove", voice);
      await this.#handlers.onChange();
    } catch (error) {
      this.#handlers.onError(ApiError.fromError(error), () => this.#remove(voice));
    }
  }

  #dispatch(name, voice) {
    this.dispatchEvent(new CustomEvent(name, { detail: voice }));
  }
}

/** What a row says about a voice. */
function describeClone(voice) {
  if (isRefining(voice)) return [describeVoice(voice), createRefinementProgress(voice)];
  return [voice.cloning?.refined ? `${describeVoice(voice)} · improved` : describeVoice(voice)];
}

const POLL_MS = 3000;
const MAX_POLLED = 5; // voices are refined one after the other, so the others have not begun
const MAX_BACKOFF = 20; // times POLL_MS, while the server does not answer

/** Polls voices that are being refined while the page is visible; events are "progress" and "done", with the voice. */
class RefinementPoller extends EventTarget {
  #api;
  #voices = new Map();
  #timer = null;

  constructor(api) {
    super();
    this.#api = api;
    document.addEventListener("visibilitychange", () => this.#schedule());
  }

  /** Polls those of these voices that are being refined, and updates the voice objects in place. */
  watch(voices) {
    this.#voices = new Map(voices.filter(isRefining).map((voice) => [voice.voice_id, voice]));
    this.#schedule();
  }

  #schedule(backoff = 1) {
    clearTimeout(this.#timer);
    if (this.#voices.size && !document.hidden) this.#timer = setTimeout(() => this.#poll(backoff), backoff * POLL_MS);
  }

  async #poll(backoff) {
    const watched = this.#voices;
    const ids = [...watched.keys()].slice(0, MAX_POLLED);
    try {
      const found = new Map((await this.#api.findVoices(ids)).map((voice) => [voice.voice_id, voice]));
      if (watched !== this.#voices) return; // `watch` was called meanwhile
      for (const id of ids) {
        if (found.has(id)) this.#update(watched.get(id), found.get(id));
        else watched.delete(id); // it was removed
      }
      this.#schedule();
    } catch {
      this.#schedule(Math.min(2 * backoff, MAX_BACKOFF)); // errors are shown for what the user does, not for polling
    }
  }

  #update(voice, latest) {
    Object.assign(voice, latest);
    if (!isRefining(voice)) this.#voices.delete(voice.voice_id);
    this.dispatchEvent(new CustomEvent(isRefining(voice) ? "progress" : "done", { detail: voice }));
  }
}

function isRefining({ cloning }) {
  return typeof cloning?.refinement_progress === "number";
}

/** A progress bar for the refinement of a voice. */
function createRefinementProgress(voice) {
  const container = document.createElement("span");
  const bar = document.createElement("progress");
  const text = document.createElement("span");
  const share = voice.cloning.refinement_progress;
  container.className = "refinement-progress";
  bar.max = 1;
  bar.value = share;
  bar.setAttribute("aria-label", `Improving ${voice.name}`);
  text.textContent = `Improving, ${Math.round(100 * share)} %`;
  text.setAttribute("aria-hidden", "true"); // the bar's label says it
  container.append(bar, text);
  return container;
}

const CLEARLY_NEARER = 0.1; // of similarity

/** The elements that show how similar a cloned voice is to its recording, and how far its refinement is. */
export function createSimilarityReport(voice) {
  const { cloning } = voice;
  const meter = document.createElement("meter");
  Object.assign(meter, { min: 0, max: 1, value: Math.max(0, cloning.similarity) });
  meter.setAttribute("aria-label", "Similarity to the recording");
  const text = document.createElement("p");
  text.textContent =
    `${gradeSimilarity(cloning)}. Similarity ${cloning.similarity.toFixed(2)} of 1; ` +
    `${cloning.nearest_built_in_voice}, the nearest, has ${cloning.nearest_built_in_similarity.toFixed(2)}. ` +
    `Made from ${cloning.used_seconds.toFixed(1)} s of speech.`;
  const parts = [meter, text];
  if (cloning.warnings.length) parts.push(createWarningList(cloning.warnings));
  if (isRefining(voice)) parts.push(createRefinementProgress(voice));
  return parts;
}

function gradeSimilarity({ similarity, nearest_built_in_similarity: nearest }) {
  if (similarity >= nearest + CLEARLY_NEARER) return "Clearly nearer to the recording than any built-in voice";
  if (similarity >= nearest) return "A little nearer to the recording than any built-in voice";
  return "Low similarity: a built-in voice is nearer to the recording";
}

function createWarningList(warnings) {
  const list = document.createElement("ul");
  list.className = "checks";
  for (const warning of warnings) {
    const item = document.createElement("li");
    item.className = "fair";
    item.textContent = warning;
    list.append(item);
  }
  return list;
}
