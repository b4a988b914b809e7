// Cloned voices that are being improved in the background: how far each has come.

const ASK_EVERY_MS = 3000;
const MOST_ASKED_FOR = 20; // they are improved one after the other: the others have not begun
const SLOWEST = 20; // times as long, while the server does not answer

/** Asks for them now and then, while somebody can see it. Tells of "progress" and "done", both with the voice. */
export class Improvement extends EventTarget {
  #service;
  #voices = new Map();
  #timer = null;

  constructor(service) {
    super();
    this.#service = service;
    document.addEventListener("visibilitychange", () => this.#wait());
  }

  /** Watches those of these voices that are being improved, and keeps them up to date, whoever else shows them. */
  watch(voices) {
    this.#voices = new Map(voices.filter(improving).map((voice) => [voice.voice_id, voice]));
    this.#wait();
  }

  #wait(slower = 1) {
    clearTimeout(this.#timer);
    if (this.#voices.size && !document.hidden) this.#timer = setTimeout(() => this.#ask(slower), slower * ASK_EVERY_MS);
  }

  async #ask(slower) {
    const watched = this.#voices;
    const ids = [...watched.keys()].slice(0, MOST_ASKED_FOR);
    try {
      const found = new Map((await this.#service.someVoices(ids)).map((voice) => [voice.voice_id, voice]));
      if (watched !== this.#voices) return; // others are watched by now
      for (const id of ids) {
        if (found.has(id)) this.#tell(watched.get(id), found.get(id));
        else watched.delete(id); // somebody removed it
      }
      this.#wait();
    } catch {
      this.#wait(Math.min(2 * slower, SLOWEST)); // what is wrong is told to whoever asks for something
    }
  }

  #tell(voice, latest) {
    Object.assign(voice, latest);
    if (!improving(voice)) this.#voices.delete(voice.voice_id);
    this.dispatchEvent(new CustomEvent(improving(voice) ? "progress" : "done", { detail: voice }));
  }
}

export function improving({ cloning }) {
  return typeof cloning?.refinement_progress === "number";
}

/** How far a voice has come, as an element. */
export function progressOf(voice) {
  const shown = document.createElement("span");
  const bar = document.createElement("progress");
  const words = document.createElement("span");
  const share = voice.cloning.refinement_progress;
  shown.className = "improving";
  bar.max = 1;
  bar.value = share;
  bar.setAttribute("aria-label", `Improving ${voice.name}`);
  words.textContent = `Improving, ${Math.round(100 * share)} %`;
  words.setAttribute("aria-hidden", "true"); // the bar says it
  shown.append(bar, words);
  return shown;
}
