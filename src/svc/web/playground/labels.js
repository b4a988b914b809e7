// What the labels of voices are called in words.

const LANGUAGES = new Intl.DisplayNames(["en"], { type: "language" });

export const CLONING_LANGUAGES = ["en-US", "en-GB", "es", "fr", "hi", "it", "ja", "pt-BR", "zh"];

export function languageName(code) {
  try {
    return LANGUAGES.of(code);
  } catch {
    return code;
  }
}

export function titled(word) {
  return word ? word[0].toUpperCase() + word.slice(1) : "";
}

/** "British · male", or what else is known. */
export function described(voice) {
  const { accent, gender, language } = voice.labels;
  if (voice.category === "cloned") return ["Cloned", languageName(language)].filter(Boolean).join(" · ");
  return [titled(accent), gender].filter(Boolean).join(" · ");
}
