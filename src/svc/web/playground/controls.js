// The controls beside the voices: sliders, those of the voice settings, and the output format.

import { serverConfig } from "./api_client.js";
import { cloneTemplate } from "./widgets.js";

const [MIN_SPEED, MAX_SPEED] = serverConfig.speed_range;
const formatPercent = (value) => `${Math.round(value * 100)} %`;
const formatSpeed = (value) => `${value.toFixed(2)} ×`;

// `low` and `high` are the words at the two ends.
const SLIDERS = [
  { name: "speed", label: "Speed", low: "slower", high: "faster", min: MIN_SPEED, max: MAX_SPEED, format: formatSpeed },
  { name: "stability", label: "Stability", low: "lively", high: "calm" },
  { name: "similarity_boost", label: "Similarity", low: "average", high: "its own" },
  { name: "style", label: "Style", low: "plain", high: "exaggerated" },
];
const SPEAKER_BOOST = "use_speaker_boost";

/** The fields of `voice_settings`: four sliders and a checkbox. */
export class Sliders extends EventTarget {
  #inputs = {};
  #speakerBoost;

  constructor(container) {
    super();
    this.#speakerBoost = container.querySelector("[type=checkbox]");
    this.#speakerBoost.addEventListener("change", () => this.#dispatchChange());
    container.prepend(...SLIDERS.map((slider) => this.#createSlider(slider)));
  }

  get values() {
    const values = Object.fromEntries(SLIDERS.map(({ name }) => [name, Number(this.#inputs[name].input.value)]));
    return { ...values, [SPEAKER_BOOST]: this.#speakerBoost.checked };
  }

  set values(settings) {
    for (const { name } of SLIDERS) {
      this.#inputs[name].input.value = settings[name];
      this.#inputs[name].showValue();
    }
    this.#speakerBoost.checked = settings[SPEAKER_BOOST];
    this.#dispatchChange();
  }

  #createSlider(slider) {
    const { field, input, showValue } = createSlider(slider, () => this.#dispatchChange());
    this.#inputs[slider.name] = { input, showValue };
    return field;
  }

  #dispatchChange() {
    this.dispatchEvent(new Event("change"));
  }
}

/** A slider with its label, its value and the words at its ends; `showValue` is to be called when a script sets it. */
export function createSlider({ name, label, low, high, min = 0, max = 1, format = formatPercent }, onInput) {
  const field = cloneTemplate("slider-field");
  const [title, output, input, lowEnd, highEnd] = field.children;
  input.id = name;
  title.htmlFor = name;
  output.htmlFor = name;
  title.textContent = label;
  lowEnd.textContent = low;
  highEnd.textContent = high;
  Object.assign(input, { min, max });
  const showValue = () => {
    const value = Number(input.value);
    output.textContent = format(value);
    input.setAttribute("aria-valuetext", `${format(value)}, ${low} to ${high}`);
    input.style.setProperty("--filled", `${(100 * (value - min)) / (max - min)}%`);
  };
  input.addEventListener("input", () => {
    showValue();
    onInput();
  });
  return { field, input, showValue };
}

/** Fills a <select> with the server's output formats, in families. */
export function fillFormatSelect(select) {
  for (const family of new Set(serverConfig.formats.map(({ family }) => family))) {
    const group = document.createElement("optgroup");
    group.label = family;
    const formats = serverConfig.formats.filter((format) => format.family === family);
    group.append(...formats.map((format) => new Option(describeFormat(format), format.name)));
    select.append(group);
  }
  select.value = serverConfig.default_format;
}

function describeFormat({ codec, sample_rate: sampleRate, bit_rate: bitRate }) {
  const kilohertz = String(sampleRate / 1000).replace(/^(\d+\.\d).*$/, "$1");
  return `${codec} · ${kilohertz} kHz${bitRate ? ` · ${bitRate / 1000} kbit/s` : ""}`;
}

/** The file name extension of an output format. */
export function fileExtension(format) {
  return format.split("_")[0];
}
