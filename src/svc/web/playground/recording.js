// A recording of a voice: made with the microphone, and checked before it is uploaded.

import { ApiError, serverConfig } from "./api_client.js";

export const MIN_LEVEL = -60; // dBFS, where the level meter begins
const MIN_DECIBELS = -120; // of a frame that is exactly silent
const MAX_SECONDS = 60;
const LEVEL_INTERVAL_MS = 50;

// The processing for calls is off: it removes parts of the voice.
const UNPROCESSED = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

const MICROPHONE_ERRORS = {
  NotAllowedError: "This page was not allowed to use it. The address bar of the browser lets you change that.",
  NotFoundError: "None was found. Plug one in, or choose a file.",
  NotReadableError: "Another program is using it.",
};

/** Records from the microphone; events are "level" (`decibels`, `seconds`) and, at the end, "recorded" (the file). */
export class Microphone extends EventTarget {
  #recorder = null;

  get isRecording() {
    return this.#recorder !== null;
  }

  async start() {
    if (!navigator.mediaDevices) {
      throw new ApiError("microphone", "Browsers allow it only over https or on localhost. A file works everywhere.");
    }
    const stream = await navigator.mediaDevices.getUserMedia({ audio: UNPROCESSED }).catch((error) => {
      throw new ApiError("microphone", MICROPHONE_ERRORS[error.name] ?? error.message);
    });
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    context.createMediaStreamSource(stream).connect(analyser);
    const recorder = (this.#recorder = new MediaRecorder(stream));
    const parts = [];
    const startedAt = performance.now();
    const timer = setInterval(() => {
      const seconds = (performance.now() - startedAt) / 1000;
      this.dispatchEvent(new CustomEvent("level", { detail: { decibels: measureLevel(analyser), seconds } }));
      if (seconds >= MAX_SECONDS) this.stop();
    }, LEVEL_INTERVAL_MS);
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    recorder.addEventListener("stop", () => {
      clearInterval(timer);
      for (const track of stream.getTracks()) track.stop();
      context.close();
      this.#recorder = null;
      const type = recorder.mimeType.split(";")[0] || "audio/webm";
      const file = new File(parts, `recording.${type.split("/")[1]}`, { type });
      this.dispatchEvent(new CustomEvent("recorded", { detail: file }));
    });
    recorder.start(1000);
  }

  stop() {
    if (this.#recorder?.state === "recording") this.#recorder.stop();
  }
}

function measureLevel(analyser) {
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
  return Math.max(MIN_LEVEL, toDecibels(power));
}

// The checks below repeat the server's (svc/cloning) in a simpler form, with the server's thresholds.
const CHECK = serverConfig.recording;

/** The checks of a file: a list of `{grade, title, text}`, where the server will refuse a "bad" one. */
export async function checkRecording(file) {
  const recording = await measureRecording(file);
  if (recording === null) {
    return [
      { grade: "fair", title: "Not checked", text: "This browser cannot open the file; the server will check it." },
    ];
  }
  if (recording.loud < CHECK.silent_dbfs)
    return [{ grade: "bad", title: "Silent", text: "There is no sound. Is the right microphone selected?" }];
  return [checkLength(recording), checkLevel(recording), checkClipping(recording), checkNoise(recording)];
}

function checkLength({ seconds, speechSeconds }) {
  const found = `${speechSeconds.toFixed(1)} s of speech in ${seconds.toFixed(1)} s.`;
  if (speechSeconds < CHECK.min_speech_seconds) {
    const needed = `At least ${CHECK.min_speech_seconds} are needed, and 10 to 20 are best.`;
    return { grade: "bad", title: "Too short", text: `${found} ${needed}` };
  }
  if (speechSeconds < CHECK.good_speech_seconds)
    return { grade: "fair", title: "Short", text: `${found} 10 to 20 give a more similar voice.` };
  return { grade: "good", title: "Length", text: found };
}

function checkLevel({ level }) {
  if (level < CHECK.quiet_dbfs) return { grade: "fair", title: "Quiet", text: "Speak nearer to the microphone." };
  return { grade: "good", title: "Level", text: "Loud enough." };
}

function checkClipping({ isClipped }) {
  if (!isClipped) return { grade: "good", title: "Clean", text: "Nothing is clipped." };
  const text = "It was too loud for the microphone, and is distorted. Step back a little.";
  return { grade: "fair", title: "Clipped", text };
}

function checkNoise({ level, noise }) {
  const ratio = Math.max(0, level - noise).toFixed(0);
  if (level - noise < CHECK.noisy_snr_db) {
    const text = `The voice is only ${ratio} dB above the noise. Find a quieter room.`;
    return { grade: "fair", title: "Noisy", text };
  }
  return { grade: "good", title: "Noise", text: `The voice is ${ratio} dB above the noise.` };
}

/** The measurements of a file; null if the browser cannot decode it, though the server may. */
async function measureRecording(file) {
  let audio;
  try {
    audio = await new OfflineAudioContext(1, 1, CHECK.sample_rate).decodeAudioData(await file.arrayBuffer());
  } catch {
    return null;
  }
  const samples = mixToMono(audio);
  const levels = computeFramePowers(samples).map(toDecibels);
  const sorted = selectRecorded(levels).toSorted();
  const noise = findPercentile(sorted, 0.1);
  const loud = findPercentile(sorted, 0.95);
  const isActive = detectActivity(levels, noise, loud);
  const speech = levels.filter((_, frame) => isActive[frame]);
  return {
    seconds: samples.length / CHECK.sample_rate,
    speechSeconds: loud < CHECK.silent_dbfs ? 0 : speech.length / CHECK.frames_per_second,
    loud,
    level: toDecibels(speech.reduce((sum, level) => sum + 10 ** (level / 10), 0) / (speech.length || 1)),
    noise,
    isClipped: detectClipping(samples),
  };
}

/** Whether loud samples pile up in a bin of the amplitude histogram; in unclipped speech each louder bin has fewer. */
function detectClipping(samples) {
  const { bins: count, min_share: minShare, min_ratio: minRatio } = CHECK.clipping;
  const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 1e-9);
  const bins = new Float64Array(count);
  for (const sample of samples)
    bins[Math.min(count - 1, Math.floor((count * Math.abs(sample)) / peak))] += 1 / samples.length;
  return bins.some((share, bin) => bin >= 0.3 * count && share >= minShare && share > minRatio * bins[bin - 3]);
}

function mixToMono(audio) {
  const samples = audio.getChannelData(0).slice();
  for (let channel = 1; channel < audio.numberOfChannels; channel++) {
    audio.getChannelData(channel).forEach((sample, index) => (samples[index] += sample));
  }
  return samples.map((sample) => sample / audio.numberOfChannels);
}

function computeFramePowers(samples) {
  const step = CHECK.sample_rate / CHECK.frames_per_second;
  return Float64Array.from({ length: Math.floor(samples.length / step) }, (_, frame) => {
    let sum = 0;
    for (let index = frame * step; index < (frame + 1) * step; index++) sum += samples[index] * samples[index];
    return sum / step;
  });
}

/** The levels without digital silence, which tells nothing of the noise. */
function selectRecorded(levels) {
  const loudest = levels.reduce((most, level) => Math.max(most, level), MIN_DECIBELS);
  return levels.filter((level) => level > Math.max(MIN_DECIBELS, loudest - CHECK.activity.digital_silence_db));
}

/** Which frames are above the noise, or in a short gap between such frames. */
function detectActivity(levels, noise, loud) {
  const { min_margin_db: minMargin, margin_share: share, max_gap_frames: maxGap } = CHECK.activity;
  const threshold = noise + Math.max(minMargin, share * (loud - noise));
  const isActive = Array.from(levels, (level) => level > threshold);
  let last = -Infinity;
  isActive.forEach((active, frame) => {
    if (!active) return;
    if (frame - last <= maxGap) isActive.fill(true, last, frame);
    last = frame;
  });
  return isActive;
}

function findPercentile(sorted, share) {
  return sorted.length ? sorted[Math.floor(share * (sorted.length - 1))] : MIN_DECIBELS;
}

function toDecibels(power) {
  return 10 * Math.log10(Math.max(power, 10 ** (MIN_DECIBELS / 10)));
}
