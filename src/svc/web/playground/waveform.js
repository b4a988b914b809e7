// The picture of a sound: a bar for each moment, those that were heard in the accent's colour.

const BAR = 3;
const GAP = 2;
const QUIETEST = 0.04; // of the height, so that silence is a line of dots
const LEAST_PEAK = 0.25; // a quiet clip is not drawn as if it were a loud one

export class Waveform {
  #canvas;
  #style;
  #sound = null;
  #position = 0;
  #expected = 0;
  #bars = { key: "", heights: [] };

  constructor(canvas) {
    this.#canvas = canvas;
    this.#style = getComputedStyle(canvas);
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Shows a sound that is expected to be so many seconds long. */
  show(sound, expected) {
    this.#sound = sound;
    this.#bars.key = "";
    this.#expected = expected;
    this.at(0);
  }

  at(position) {
    this.#position = position;
    this.draw();
  }

  draw() {
    const scale = devicePixelRatio || 1;
    const width = this.#canvas.clientWidth;
    const height = this.#canvas.clientHeight;
    if (this.#canvas.width !== Math.round(width * scale)) this.#canvas.width = Math.round(width * scale);
    if (this.#canvas.height !== Math.round(height * scale)) this.#canvas.height = Math.round(height * scale);
    const brush = this.#canvas.getContext("2d");
    brush.setTransform(scale, 0, 0, scale, 0, 0);
    brush.clearRect(0, 0, width, height);
    const heard = this.#style.getPropertyValue("--accent");
    const ahead = this.#style.getPropertyValue("--wave-ahead");
    const empty = this.#style.getPropertyValue("--line");
    const bars = Math.max(1, Math.floor(width / (BAR + GAP)));
    const total = this.#sound?.complete ? this.#sound.seconds : Math.max(this.#expected, this.#sound?.seconds ?? 0);
    const heights = this.#heights(bars, total);
    for (let bar = 0; bar < bars; bar++) {
      const from = (bar / bars) * total;
      const tall = Math.max(QUIETEST, heights[bar]) * height;
      const there = this.#sound && from < this.#sound.seconds;
      brush.fillStyle = !there ? empty : from < this.#position ? heard : ahead;
      brush.beginPath();
      brush.roundRect(bar * (BAR + GAP), (height - tall) / 2, BAR, tall, BAR / 2);
      brush.fill();
    }
  }

  /** How tall each bar is, from 0 to 1; they change only when there is more of the sound, or more room. */
  #heights(bars, total) {
    const key = `${bars} ${total} ${this.#sound?.length}`;
    if (this.#bars.key !== key) {
      const peaks = Array.from(
        { length: bars },
        (_, bar) => this.#sound?.peak((bar / bars) * total, ((bar + 1) / bars) * total) ?? 0,
      );
      const loudest = Math.max(LEAST_PEAK, ...peaks);
      this.#bars = { key, heights: peaks.map((peak) => (peak / loudest) ** 0.8) };
    }
    return this.#bars.heights;
  }
}
