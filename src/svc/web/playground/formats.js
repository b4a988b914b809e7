// The formats that speech can be had in, in groups, with words for each.

const kilo = (number) => String(number / 1000).replace(/^(\d+\.\d).*$/, "$1");
const coded = (codec, rates) => rates.map(([rate, bits]) => [`${codec}_${rate}${bits ? `_${bits}` : ""}`, rate, bits]);
const plain = (codec, rates) =>
  coded(
    codec,
    rates.map((rate) => [rate]),
  );
const RATES = [8000, 16000, 22050, 24000, 32000, 44100, 48000];

export const DEFAULT_FORMAT = "mp3_44100_128";

const GROUPS = {
  MP3: coded("mp3", [
    [44100, 128],
    [44100, 192],
    [44100, 96],
    [44100, 64],
    [44100, 32],
    [24000, 48],
    [22050, 32],
  ]),
  WAV: plain("wav", RATES),
  "Opus (Ogg)": coded("opus", [
    [48000, 64],
    [48000, 32],
    [48000, 96],
    [48000, 128],
    [48000, 192],
  ]),
  "PCM, 16 bits, no header": plain("pcm", RATES),
  Telephony: [...plain("ulaw", [8000]), ...plain("alaw", [8000])],
};

const NAMES = { mp3: "MP3", wav: "WAV", opus: "Opus", pcm: "PCM", ulaw: "µ-law", alaw: "A-law" };

/** Fills a <select>. */
export function offerFormats(select) {
  for (const [label, formats] of Object.entries(GROUPS)) {
    const group = document.createElement("optgroup");
    group.label = label;
    for (const [value, rate, bits] of formats) {
      const name = NAMES[value.split("_")[0]];
      group.append(new Option(`${name} · ${kilo(rate)} kHz${bits ? ` · ${bits} kbit/s` : ""}`, value));
    }
    select.append(group);
  }
  select.value = DEFAULT_FORMAT;
}

/** What a file in that format is called at its end. */
export function extension(format) {
  return format.split("_")[0];
}
