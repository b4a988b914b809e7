// The sliders that shape how a text is spoken, seeded with a voice's own settings.

import { copyOf } from "./template.js";

const SLIDERS = [
  {
    name: "speed",
    label: "Speed",
    min: 0.5,
    max: 2,
    low: "slower",
    high: "faster",
    shown: (value) => `${value.toFixed(2)} ×`,
  },
  { name: "stability", label: "Stability", min: 0, max: 1, low: "lively", high: "calm" },
  { name: "similarity_boost", label: "Similarity", min: 0, max: 1, low: "average", high: "its own" },
  { name: "style", label: "Style", min: 0, max: 1, low: "plain", high: "exaggerated" },
];
const BOOST = "use_speaker_boost";
const percent = (value) => `${Math.round(value * 100)} %`;

export class Sliders extends EventTarget {
  #inputs = {};
  #boost;

  constructor(place) {
    super();
    this.#boost = place.querySelector("[type=checkbox]");
    this.#boost.addEventListener("change", () => this.#changed());
    place.prepend(...SLIDERS.map((slider) => this.#slider(slider)));
  }

  get values() {
    const values = Object.fromEntries(SLIDERS.map(({ name }) => [name, Number(this.#inputs[name].input.value)]));
    return { ...values, [BOOST]: this.#boost.checked };
  }

  set values(settings) {
    for (const { name } of SLIDERS) {
      this.#inputs[name].input.value = settings[name];
      this.#inputs[name].show();
    }
    this.#boost.checked = settings[BOOST];
    this.#changed();
  }

  #slider({ name, label, min, max, low, high, shown = percent }) {
    const field = copyOf("slider-field");
    const [title, output, input, left, right] = field.children;
    input.id = name;
    title.htmlFor = name;
    output.htmlFor = name;
    title.textContent = label;
    left.textContent = low;
    right.textContent = high;
    Object.assign(input, { min, max });
    const show = () => {
      const value = Number(input.value);
      output.textContent = shown(value);
      input.setAttribute("aria-valuetext", `${shown(value)}, ${low} to ${high}`);
      input.style.setProperty("--filled", `${(100 * (value - min)) / (max - min)}%`);
    };
    input.addEventListener("input", () => {
      show();
      this.#changed();
    });
    this.#inputs[name] = { input, show };
    return field;
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}
