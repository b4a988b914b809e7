// A clip that grows while it is heard: its samples, and the peaks that its picture is drawn from.

export const PEAKS_A_SECOND = 100;

export class Sound {
  #samples = new Int16Array(1 << 16);
  #peaks = [];
  length = 0;
  complete = false;

  constructor(rate) {
    this.rate = rate;
  }

  get seconds() {
    return this.length / this.rate;
  }

  append(samples) {
    const length = this.length + samples.length;
    if (length > this.#samples.length) {
      const larger = new Int16Array(Math.max(length, 2 * this.#samples.length));
      larger.set(this.#samples.subarray(0, this.length));
      this.#samples = larger;
    }
    this.#samples.set(samples, this.length);
    const step = this.rate / PEAKS_A_SECOND;
    for (let at = 0; at < samples.length; at += 4) {
      const slot = Math.floor((this.length + at) / step);
      this.#peaks[slot] = Math.max(this.#peaks[slot] ?? 0, Math.abs(samples[at]) / 32768);
    }
    this.length = length;
  }

  /** Samples from -1 to 1. */
  slice(from, to) {
    return Float32Array.from(this.#samples.subarray(from, Math.min(to, this.length)), (sample) => sample / 32768);
  }

  /** The loudest between two times, in seconds. */
  peak(from, to) {
    let loudest = 0;
    const last = Math.min(Math.ceil(to * PEAKS_A_SECOND), this.#peaks.length);
    for (let slot = Math.floor(from * PEAKS_A_SECOND); slot < last; slot++)
      loudest = Math.max(loudest, this.#peaks[slot] ?? 0);
    return loudest;
  }

  pcm() {
    return new Blob([this.#samples.slice(0, this.length)], { type: "audio/pcm" });
  }

  wav() {
    const header = new DataView(new ArrayBuffer(44));
    const write = (at, text) => [...text].forEach((letter, index) => header.setUint8(at + index, letter.charCodeAt(0)));
    const bytes = 2 * this.length;
    write(0, "RIFF");
    header.setUint32(4, 36 + bytes, true);
    write(8, "WAVEfmt ");
    header.setUint32(16, 16, true);
    header.setUint16(20, 1, true); // PCM
    header.setUint16(22, 1, true); // mono
    header.setUint32(24, this.rate, true);
    header.setUint32(28, 2 * this.rate, true);
    header.setUint16(32, 2, true);
    header.setUint16(34, 16, true);
    write(36, "data");
    header.setUint32(40, bytes, true);
    return new Blob([header, this.#samples.slice(0, this.length)], { type: "audio/wav" });
  }
}
