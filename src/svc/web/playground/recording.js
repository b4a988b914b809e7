// What can be told of a recording before it is sent, by the same measures that the server goes by.

const RATE = 24000;
const FRAMES_A_SECOND = 100;
const LEAST_SPEECH = 3;
const GOOD_SPEECH = 8;
const SILENT = -60; // dBFS of what is loudest
const QUIET = -38;
const NOISY = 15; // decibels of speech above the noise
const BANDS = 50; // of loudness, for finding where a recording was cut off
const CROWDED = 0.0005; // of all samples in one band
const PILED_UP = 1.6; // times as many as three bands below: speech has at most 0.9, and clipped speech 2 or more
const GAP = 0.3; // seconds between words that still belong to the speech

/** The measures of a file, or null: the browser cannot open it, though the server may. */
export async function measured(file) {
  let audio;
  try {
    audio = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(await file.arrayBuffer());
  } catch {
    return null;
  }
  const samples = mixed(audio);
  const levels = powers(samples).map(decibels);
  const sorted = levels.toSorted();
  const noise = percentile(sorted, 0.1);
  const loud = percentile(sorted, 0.95);
  const active = bridged(levels, noise + Math.max(6, 0.35 * (loud - noise)));
  const speech = levels.filter((_, frame) => active[frame]);
  return {
    seconds: samples.length / RATE,
    speechSeconds: loud < SILENT ? 0 : speech.length / FRAMES_A_SECOND,
    loud,
    level: decibels(speech.reduce((sum, each) => sum + 10 ** (each / 10), 0) / (speech.length || 1)),
    noise,
    clipped: clipped(samples),
  };
}

/** What is good and what is wrong, in words: `{grade, title, words}`, where a "bad" one will be refused. */
export function judged(take) {
  if (take === null) {
    return [
      {
        grade: "fair",
        title: "Not checked",
        words: "This browser cannot open the file; the server may, and will say so.",
      },
    ];
  }
  if (take.loud < SILENT)
    return [{ grade: "bad", title: "Silent", words: "Nothing can be heard. Is the right microphone chosen?" }];
  const above = take.level - take.noise;
  return [
    length(take),
    take.level < QUIET
      ? { grade: "fair", title: "Quiet", words: "Speak nearer to the microphone." }
      : { grade: "good", title: "Level", words: "Loud enough." },
    take.clipped
      ? {
          grade: "fair",
          title: "Clipped",
          words: "It was too loud for the microphone, and is distorted. Step back a little.",
        }
      : { grade: "good", title: "Clean", words: "Nothing is clipped." },
    above < NOISY
      ? {
          grade: "fair",
          title: "Noisy",
          words: `The voice is only ${Math.max(0, above).toFixed(0)} dB above the noise. Find a quieter room.`,
        }
      : { grade: "good", title: "Noise", words: `The voice is ${above.toFixed(0)} dB above the noise.` },
  ];
}

function length({ seconds, speechSeconds }) {
  const found = `${speechSeconds.toFixed(1)} s of speech in ${seconds.toFixed(1)} s.`;
  if (speechSeconds < LEAST_SPEECH) {
    return {
      grade: "bad",
      title: "Too short",
      words: `${found} At least ${LEAST_SPEECH} are needed, and 10 to 20 are best.`,
    };
  }
  if (speechSeconds < GOOD_SPEECH)
    return { grade: "fair", title: "Short", words: `${found} 10 to 20 make a better likeness.` };
  return { grade: "good", title: "Length", words: found };
}

/** Whether loud samples pile up somewhere, where speech has ever fewer: also when another rate rounded the edges. */
function clipped(samples) {
  const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 1e-9);
  const bands = new Float64Array(BANDS);
  for (const sample of samples)
    bands[Math.min(BANDS - 1, Math.floor((BANDS * Math.abs(sample)) / peak))] += 1 / samples.length;
  return bands.some((share, band) => band >= 0.3 * BANDS && share >= CROWDED && share > PILED_UP * bands[band - 3]);
}

function mixed(audio) {
  const samples = audio.getChannelData(0).slice();
  for (let channel = 1; channel < audio.numberOfChannels; channel++) {
    audio.getChannelData(channel).forEach((sample, at) => (samples[at] += sample));
  }
  return samples.map((sample) => sample / audio.numberOfChannels);
}

function powers(samples) {
  const step = RATE / FRAMES_A_SECOND;
  return Float64Array.from({ length: Math.floor(samples.length / step) }, (_, frame) => {
    let sum = 0;
    for (let at = frame * step; at < (frame + 1) * step; at++) sum += samples[at] * samples[at];
    return sum / step;
  });
}

/** Which frames are above the threshold, or in a short gap between such. */
function bridged(levels, threshold) {
  const active = Array.from(levels, (level) => level > threshold);
  let last = -Infinity;
  active.forEach((on, frame) => {
    if (!on) return;
    if (frame - last <= GAP * FRAMES_A_SECOND) active.fill(true, last, frame);
    last = frame;
  });
  return active;
}

function percentile(sorted, share) {
  return sorted.length ? sorted[Math.floor(share * (sorted.length - 1))] : -100;
}

function decibels(power) {
  return 10 * Math.log10(Math.max(power, 1e-10));
}
