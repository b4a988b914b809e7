// The samples of a clip that is still growing, and the waveform that is drawn from their peaks.

const PEAKS_PER_SECOND = 100;

export class PcmBuffer {
  #samples = new Int16Array(1 << 16);
  #peaks = [];
  length = 0;
  isComplete = false;

  constructor(sampleRate) {
    this.sampleRate = sampleRate;
  }

  get seconds() {
    return this.length / this.sampleRate;
  }

  append(samples) {
    const length = this.length + samples.length;
    if (length > this.#samples.length) {
      const larger = new Int16Array(Math.max(length, 2 * this.#samples.length));
      larger.set(this.#samples.subarray(0, this.length));
      this.#samples = larger;
    }
    this.#samples.set(samples, this.length);
    const step = this.sampleRate / PEAKS_PER_SECOND;
    for (let index = 0; index < samples.length; index += 4) {
      const slot = Math.floor((this.length + index) / step);
      this.#peaks[slot] = Math.max(this.#peaks[slot] ?? 0, Math.abs(samples[index]) / 32768);
    }
    this.length = length;
  }

  /** Samples from -1 to 1. */
  slice(start, end) {
    return Float32Array.from(this.#samples.subarray(start, Math.min(end, this.length)), (sample) => sample / 32768);
  }

  /** The highest peak between two times, in seconds. */
  findPeak(start, end) {
    let highest = 0;
    const last = Math.min(Math.ceil(end * PEAKS_PER_SECOND), this.#peaks.length);
    for (let slot = Math.floor(start * PEAKS_PER_SECOND); slot < last; slot++)
      highest = Math.max(highest, this.#peaks[slot] ?? 0);
    return highest;
  }

  toPcm() {
    return new Blob([this.#samples.slice(0, this.length)], { type: "audio/pcm" });
  }

  toWav() {
    const header = new DataView(new ArrayBuffer(44));
    const write = (at, text) => [...text].forEach((letter, index) => header.setUint8(at + index, letter.charCodeAt(0)));
    const bytes = 2 * this.length;
    write(0, "RIFF");
    header.setUint32(4, 36 + bytes, true);
    write(8, "WAVEfmt ");
    header.setUint32(16, 16, true);
    header.setUint16(20, 1, true); // PCM
    header.setUint16(22, 1, true); // mono
    header.setUint32(24, this.sampleRate, true);
    header.setUint32(28, 2 * this.sampleRate, true);
    header.setUint16(32, 2, true);
    header.setUint16(34, 16, true);
    write(36, "data");
    header.setUint32(40, bytes, true);
    return new Blob([header, this.#samples.slice(0, this.length)], { type: "audio/wav" });
  }
}

const BAR_WIDTH = 3;
const BAR_GAP = 2;
const MIN_BAR = 0.04; // of the height: silence is a line of dots
const MIN_PEAK = 0.25; // full height is at least this loud, so that a quiet clip looks quiet

/** A bar for each moment of a clip; bars that were played have the accent color. */
export class Waveform {
  #canvas;
  #style;
  #buffer = null;
  #position = 0;
  #expectedSeconds = 0;
  #bars = { key: "", heights: [] };

  constructor(canvas) {
    this.#canvas = canvas;
    this.#style = getComputedStyle(canvas);
    new ResizeObserver(() => this.#draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  /** Shows a clip; while it grows, the width stands for the expected length. */
  show(buffer, expectedSeconds) {
    this.#buffer = buffer;
    this.#bars.key = "";
    this.#expectedSeconds = expectedSeconds;
    this.setPosition(0);
  }

  setPosition(position) {
    this.#position = position;
    this.#draw();
  }

  #draw() {
    const scale = devicePixelRatio || 1;
    const width = this.#canvas.clientWidth;
    const height = this.#canvas.clientHeight;
    if (this.#canvas.width !== Math.round(width * scale)) this.#canvas.width = Math.round(width * scale);
    if (this.#canvas.height !== Math.round(height * scale)) this.#canvas.height = Math.round(height * scale);
    const context = this.#canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const played = this.#style.getPropertyValue("--accent");
    const ahead = this.#style.getPropertyValue("--wave-ahead");
    const missing = this.#style.getPropertyValue("--line");
    const available = this.#buffer?.seconds ?? 0;
    const total = this.#buffer?.isComplete ? available : Math.max(this.#expectedSeconds, available);
    const count = Math.max(1, Math.floor(width / (BAR_WIDTH + BAR_GAP)));
    const heights = this.#measureBars(count, total);
    for (let bar = 0; bar < count; bar++) {
      const start = (bar / count) * total;
      const barHeight = Math.max(MIN_BAR, heights[bar]) * height;
      context.fillStyle = start >= available ? missing : start < this.#position ? played : ahead;
      context.beginPath();
      context.roundRect(bar * (BAR_WIDTH + BAR_GAP), (height - barHeight) / 2, BAR_WIDTH, barHeight, BAR_WIDTH / 2);
      context.fill();
    }
  }

  /** The heights of the bars from 0 to 1; computed again only when the clip or the canvas has grown. */
  #measureBars(count, total) {
    const key = `${count} ${total} ${this.#buffer?.length}`;
    if (this.#bars.key !== key) {
      const peaks = Array.from(
        { length: count },
        (_, bar) => this.#buffer?.findPeak((bar / count) * total, ((bar + 1) / count) * total) ?? 0,
      );
      const highest = Math.max(MIN_PEAK, ...peaks);
      this.#bars = { key, heights: peaks.map((peak) => (peak / highest) ** 0.8) };
    }
    return this.#bars.heights;
  }
}
