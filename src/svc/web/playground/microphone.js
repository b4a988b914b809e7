// Records from the microphone, and tells how loud it is while it does.

import { Problem } from "./problem.js";

const LONGEST_SECONDS = 60;
const TICK_MS = 50;
const QUIETEST = -60;

// As the voice is: what cleans up calls takes some of it away.
const UNTOUCHED = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

export class Microphone extends EventTarget {
  #recorder = null;

  get recording() {
    return this.#recorder !== null;
  }

  /** Starts; the events are "level" (decibels and seconds) and, at the end, "take" (the file). */
  async start() {
    if (!navigator.mediaDevices) {
      throw new Problem(
        "microphone",
        "Browsers allow it over https and on this machine only. A file works everywhere.",
      );
    }
    const stream = await navigator.mediaDevices.getUserMedia({ audio: UNTOUCHED }).catch((error) => {
      throw new Problem("microphone", REFUSALS[error.name] ?? error.message);
    });
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    context.createMediaStreamSource(stream).connect(analyser);
    const recorder = (this.#recorder = new MediaRecorder(stream));
    const parts = [];
    const began = performance.now();
    const timer = setInterval(() => {
      const seconds = (performance.now() - began) / 1000;
      this.dispatchEvent(new CustomEvent("level", { detail: { decibels: level(analyser), seconds } }));
      if (seconds >= LONGEST_SECONDS) this.stop();
    }, TICK_MS);
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    recorder.addEventListener("stop", () => {
      clearInterval(timer);
      for (const track of stream.getTracks()) track.stop();
      context.close();
      this.#recorder = null;
      const type = recorder.mimeType.split(";")[0] || "audio/webm";
      this.dispatchEvent(
        new CustomEvent("take", { detail: new File(parts, `recording.${type.split("/")[1]}`, { type }) }),
      );
    });
    recorder.start(1000);
  }

  stop() {
    if (this.#recorder?.state === "recording") this.#recorder.stop();
  }
}

const REFUSALS = {
  NotAllowedError: "This page was not allowed to use it. The address bar of the browser lets you change that.",
  NotFoundError: "None was found. Plug one in, or choose a file.",
  NotReadableError: "Another program is using it.",
};

function level(analyser) {
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
  return Math.max(QUIETEST, 10 * Math.log10(power + 1e-10));
}
