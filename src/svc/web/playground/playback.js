// Playback of speech while it arrives: Playback follows one request, AudioPlayer schedules its samples.

import { WordTimings } from "./highlighted_text.js";
import { PcmBuffer } from "./pcm_buffer.js";
import { SAMPLE_RATE, streamSpeech } from "./speech_stream.js";

const SUSPEND_AFTER_MS = 1000;
const CHARACTERS_PER_SECOND = 15; // of speech, to estimate the length of a clip

/** Streams, plays and times one request after the other; events are "start", "firstaudio", "complete" and "end". */
export class Playback extends EventTarget {
  #api;
  #context = null;
  #player = null;
  #abort = null;
  request = null;
  buffer = null;
  wordTimings = null;

  constructor(api) {
    super();
    this.#api = api;
  }

  get isPlaying() {
    return this.#abort !== null || this.#player?.isPlaying === true;
  }

  get position() {
    return this.#player?.position ?? 0;
  }

  get expectedSeconds() {
    return this.request.text.length / CHARACTERS_PER_SECOND / this.request.settings.speed;
  }

  /** Plays a request; returns when all of it has arrived, which is long before the playback ends. */
  async speak(request, onWait) {
    this.stop();
    this.#openAudio();
    this.#player.clear();
    const abort = (this.#abort = new AbortController());
    this.request = request;
    this.buffer = new PcmBuffer(SAMPLE_RATE);
    this.wordTimings = new WordTimings(request.text);
    this.#dispatch("start");
    try {
      const startedAt = performance.now();
      await this.#api.waitUntilReady(onWait, abort.signal);
      for await (const { samples, characters } of streamSpeech(this.#api, request, abort.signal)) {
        this.wordTimings.add(characters);
        this.buffer.append(samples);
        if (this.#player.isPlaying) this.#player.schedule();
        else if (samples.length) {
          this.#player.play(this.buffer);
          this.#dispatch("firstaudio", { seconds: (performance.now() - startedAt) / 1000 });
        }
      }
      this.#complete((performance.now() - startedAt) / 1000);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#complete();
      throw error;
    } finally {
      if (this.#abort === abort) this.#abort = null;
    }
  }

  /** Plays the clip again, from the position that was chosen. */
  replay() {
    this.#context.resume();
    this.#player.play(this.buffer, this.#player.position < this.buffer.seconds ? this.#player.position : 0);
    this.#dispatch("start");
  }

  seek(seconds) {
    this.#player?.seek(seconds);
  }

  stop() {
    this.#abort?.abort();
    this.#abort = null;
    if (this.buffer) this.buffer.isComplete = true;
    this.#player?.stop();
  }

  /** Nothing more will arrive; `seconds` is how long synthesis took, null if it failed. */
  #complete(seconds = null) {
    this.buffer.isComplete = true;
    this.#dispatch("complete", { seconds });
    if (!this.#player.isPlaying) this.#dispatch("end");
  }

  /** Browsers allow audio only after a click or a key press, so the context is made at the first one. */
  #openAudio() {
    if (!this.#player) {
      this.#context = new AudioContext({ sampleRate: SAMPLE_RATE, latencyHint: "interactive" });
      this.#player = new AudioPlayer(this.#context);
      this.#player.addEventListener("end", () => this.#end());
    }
    this.#context.resume();
  }

  /** Suspends the audio device once the fade-out is over. */
  #end() {
    setTimeout(() => this.isPlaying || this.#context.suspend(), SUSPEND_AFTER_MS);
    this.#dispatch("end");
  }

  #dispatch(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

const HORIZON_SECONDS = 5; // scheduled ahead: enough for timers of a page in the background, cheap to discard
const PIECE_SECONDS = 0.5;
const LEAD_SECONDS = 0.04; // from scheduling to playing, when nothing plays
const LATE_SECONDS = 0.02; // with less time left, a scheduled fade-out can no longer be cancelled
const FADE_SECONDS = 0.006;
const TICK_MS = 200;

/** Plays a PcmBuffer while it grows.
 *
 * Pieces are scheduled sample by sample, so that their joints are inaudible. Where the buffer runs empty the audio
 * fades out, and fades in again when more arrives.
 */
export class AudioPlayer extends EventTarget {
  #context;
  #buffer = null;
  #run = null;
  #next = 0; // the first sample that is not scheduled
  #timer = null;

  constructor(context) {
    super();
    this.#context = context;
  }

  get isPlaying() {
    return this.#run !== null;
  }

  /** The position that is heard, in seconds. */
  get position() {
    if (!this.#buffer) return 0;
    if (!this.#run) return this.#next / this.#buffer.sampleRate;
    const now = this.#context.currentTime - (this.#context.outputLatency || 0);
    const piece = this.#run.pieces.findLast(({ startTime }) => startTime <= now) ?? this.#run.pieces[0];
    if (!piece) return this.#next / this.#buffer.sampleRate;
    return piece.position + Math.min(Math.max(now - piece.startTime, 0), piece.seconds);
  }

  /** Plays a buffer from a position; call `schedule` when more samples were appended. */
  play(buffer, position = 0) {
    this.#silence();
    this.#buffer = buffer;
    this.#next = Math.round(position * buffer.sampleRate);
    const gain = this.#context.createGain();
    gain.gain.value = 0;
    gain.connect(this.#context.destination);
    this.#run = { gain, sources: [], pieces: [], endTime: 0, fadeInEnd: 0, fadeOutStart: 0 };
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.schedule();
  }

  /** Schedules what has arrived, up to the horizon. */
  schedule() {
    const { sampleRate, length } = this.#buffer;
    while (this.#run && this.#next < length && this.#run.endTime - this.#context.currentTime < HORIZON_SECONDS) {
      const end = Math.min(this.#next + PIECE_SECONDS * sampleRate, length);
      this.#schedulePiece(this.#buffer.slice(this.#next, end));
      this.#next = end;
    }
  }

  seek(seconds) {
    if (!this.#buffer) return;
    if (this.#run) this.play(this.#buffer, seconds);
    else this.#next = Math.round(seconds * this.#buffer.sampleRate);
  }

  /** Stops, and drops the buffer. */
  clear() {
    this.stop();
    this.#buffer = null;
  }

  stop() {
    const position = this.position;
    if (!this.#silence()) return;
    this.#next = Math.round(position * this.#buffer.sampleRate);
    this.dispatchEvent(new Event("end"));
  }

  #schedulePiece(samples) {
    const { sampleRate } = this.#buffer;
    const run = this.#run;
    const { gain } = run.gain;
    const now = this.#context.currentTime;
    let startTime = run.endTime;
    if (startTime < now + LATE_SECONDS) {
      startTime = Math.ceil((now + LEAD_SECONDS) * sampleRate) / sampleRate;
      gain.setValueAtTime(0, startTime);
      gain.linearRampToValueAtTime(1, startTime + FADE_SECONDS);
      run.fadeInEnd = startTime + FADE_SECONDS;
    } else {
      gain.cancelScheduledValues(run.fadeOutStart);
    }
    const audio = this.#context.createBuffer(1, samples.length, sampleRate);
    audio.copyToChannel(samples, 0);
    const source = this.#context.createBufferSource();
    source.buffer = audio;
    source.connect(run.gain);
    source.start(startTime);
    source.addEventListener("ended", () => run.sources.splice(run.sources.indexOf(source), 1));
    run.sources.push(source);
    run.pieces.push({ startTime, position: this.#next / sampleRate, seconds: samples.length / sampleRate });
    run.endTime = Math.round(startTime * sampleRate + samples.length) / sampleRate;
    run.fadeOutStart = Math.max(run.endTime - FADE_SECONDS, run.fadeInEnd + 0.001);
    if (run.fadeOutStart > run.endTime) return; // shorter than its fade-in: too quiet to need a fade-out
    gain.setValueAtTime(1, run.fadeOutStart);
    gain.linearRampToValueAtTime(0, run.endTime);
  }

  #tick() {
    this.schedule();
    const { isComplete, length } = this.#buffer;
    const latency = this.#context.outputLatency || 0;
    if (isComplete && this.#next >= length && this.#context.currentTime - latency >= this.#run.endTime) {
      this.#silence();
      this.#next = 0;
      this.dispatchEvent(new Event("end"));
    }
  }

  /** Fades out what is playing; returns whether anything was. */
  #silence() {
    clearInterval(this.#timer);
    const run = this.#run;
    this.#run = null;
    if (!run) return false;
    const now = this.#context.currentTime;
    run.gain.gain.cancelScheduledValues(now);
    run.gain.gain.setTargetAtTime(0, now, FADE_SECONDS / 2);
    for (const source of run.sources) source.stop(now + 10 * FADE_SECONDS);
    setTimeout(() => run.gain.disconnect(), 1000);
    return true;
  }
}
