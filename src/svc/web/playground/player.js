// Plays a sound while it grows. Pieces are scheduled to the sample, so that nobody hears where they meet; where the
// sound runs out it fades, and when more comes it fades in again.

const HORIZON = 5; // seconds scheduled ahead: enough for a page in the background, little enough to forget
const PIECE = 0.5;
const LEAD = 0.04; // between a piece's arrival and its being heard, when nothing plays
const LATE = 0.02; // with less than this to go, a planned fade cannot be taken back any more
const FADE = 0.006;
const TICK_MS = 200;

export class Player extends EventTarget {
  #context;
  #sound = null;
  #run = null;
  #next = 0; // the first sample that is not scheduled
  #timer = null;

  constructor(context) {
    super();
    this.#context = context;
  }

  get playing() {
    return this.#run !== null;
  }

  /** Where in the sound the listener is, in seconds. */
  get position() {
    if (!this.#sound) return 0;
    if (!this.#run) return this.#next / this.#sound.rate;
    const now = this.#context.currentTime - (this.#context.outputLatency || 0);
    const segment = this.#run.segments.findLast(({ at }) => at <= now) ?? this.#run.segments[0];
    if (!segment) return this.#next / this.#sound.rate;
    return segment.from + Math.min(Math.max(now - segment.at, 0), segment.seconds);
  }

  /** Plays a sound from a time on, now and as it grows: call `grown` when it has. */
  play(sound, from = 0) {
    this.#silence();
    this.#sound = sound;
    this.#next = Math.round(from * sound.rate);
    const gain = this.#context.createGain();
    gain.gain.value = 0;
    gain.connect(this.#context.destination);
    this.#run = { gain, sources: [], segments: [], end: 0, full: 0, fadesFrom: 0 };
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.grown();
  }

  /** There is more of the sound. */
  grown() {
    const { rate, length } = this.#sound;
    while (this.#run && this.#next < length && this.#run.end - this.#context.currentTime < HORIZON) {
      const to = Math.min(this.#next + PIECE * rate, length);
      this.#schedule(this.#sound.slice(this.#next, to));
      this.#next = to;
    }
  }

  /** Moves to another place of the sound. */
  seek(seconds) {
    if (!this.#sound) return;
    if (this.#run) this.play(this.#sound, seconds);
    else this.#next = Math.round(seconds * this.#sound.rate);
  }

  /** Stops, and forgets the sound. */
  clear() {
    this.stop();
    this.#sound = null;
  }

  stop() {
    const position = this.position;
    if (!this.#silence()) return;
    this.#next = Math.round(position * this.#sound.rate);
    this.dispatchEvent(new Event("stopped"));
  }

  #schedule(samples) {
    const { rate } = this.#sound;
    const run = this.#run;
    const { gain } = run.gain;
    const now = this.#context.currentTime;
    let start = run.end;
    if (start < now + LATE) {
      start = Math.ceil((now + LEAD) * rate) / rate;
      gain.setValueAtTime(0, start);
      gain.linearRampToValueAtTime(1, start + FADE);
      run.full = start + FADE;
    } else {
      gain.cancelScheduledValues(run.fadesFrom);
    }
    const buffer = this.#context.createBuffer(1, samples.length, rate);
    buffer.copyToChannel(samples, 0);
    const source = this.#context.createBufferSource();
    source.buffer = buffer;
    source.connect(run.gain);
    source.start(start);
    source.addEventListener("ended", () => run.sources.splice(run.sources.indexOf(source), 1));
    run.sources.push(source);
    run.segments.push({ at: start, from: this.#next / rate, seconds: samples.length / rate });
    run.end = Math.round(start * rate + samples.length) / rate;
    run.fadesFrom = Math.max(run.end - FADE, run.full + 0.001);
    if (run.fadesFrom > run.end) return; // shorter than its fading in: hardly anything is heard of it yet
    gain.setValueAtTime(1, run.fadesFrom);
    gain.linearRampToValueAtTime(0, run.end);
  }

  #tick() {
    this.grown();
    const { complete, length } = this.#sound;
    const latency = this.#context.outputLatency || 0;
    if (complete && this.#next >= length && this.#context.currentTime - latency >= this.#run.end) {
      this.#silence();
      this.#next = 0;
      this.dispatchEvent(new Event("ended"));
    }
  }

  /** Fades out whatever is heard, and tells whether something was. */
  #silence() {
    clearInterval(this.#timer);
    const run = this.#run;
    this.#run = null;
    if (!run) return false;
    const now = this.#context.currentTime;
    run.gain.gain.cancelScheduledValues(now);
    run.gain.gain.setTargetAtTime(0, now, FADE / 2);
    for (const source of run.sources) source.stop(now + 10 * FADE);
    setTimeout(() => run.gain.disconnect(), 1000);
    return true;
  }
}
