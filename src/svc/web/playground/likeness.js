// What the server measured of a voice that it has made, in words.

const CLEARLY = 0.1;

function grade({ similarity, nearest_built_in_similarity: nearest }) {
  if (similarity >= nearest + CLEARLY) return "Clearly nearer to the recording than any built-in voice";
  if (similarity >= nearest) return "A little nearer to the recording than any built-in voice";
  return "A faint likeness: a built-in voice is nearer to the recording";
}

/** The elements that tell how like the recording a cloned voice is. */
export function likeness(cloning) {
  const words = document.createElement("p");
  words.textContent =
    `${grade(cloning)}. Similarity ${cloning.similarity.toFixed(2)} of 1; ` +
    `${cloning.nearest_built_in_voice}, the nearest, has ${cloning.nearest_built_in_similarity.toFixed(2)}. ` +
    `Made from ${cloning.used_seconds.toFixed(1)} s of speech.`;
  const meter = document.createElement("meter");
  Object.assign(meter, { min: 0, max: 1, value: Math.max(0, cloning.similarity) });
  meter.setAttribute("aria-label", "Similarity to the recording");
  const warnings = document.createElement("ul");
  warnings.className = "checks";
  for (const warning of cloning.warnings) {
    const item = document.createElement("li");
    item.className = "fair";
    item.textContent = warning;
    warnings.append(item);
  }
  return [meter, words, ...(cloning.warnings.length ? [warnings] : [])];
}
