// Rules as people write them, one on each line:
//
//   UN = United Nations
//   tomato = /təˈmɑːtoʊ/              phonemes in IPA
//   tomato = {T AH0 M EY1 T OW0}      phonemes in the ARPAbet
//   k8s = Kubernetes (any case)
//   gpt = G P T (any case) (within words)

const ANY_CASE = "(any case)";
const WITHIN_WORDS = "(within words)";

export function writeRules(rules) {
  return rules.map(writeRule).join("\n");
}

function writeRule(rule) {
  const { string_to_replace: string, alias, phoneme, alphabet, case_sensitive: cased, word_boundaries: words } = rule;
  const spoken = rule.type === "alias" ? alias : alphabet === "ipa" ? `/${phoneme}/` : `{${phoneme}}`;
  return [`${string} = ${spoken}`, ...(cased ? [] : [ANY_CASE]), ...(words ? [] : [WITHIN_WORDS])].join(" ");
}

/** The `rules` in a text, or the `problem` with it. Lines that were not changed stay the rules that they were. */
export function readRules(text, known) {
  const unchanged = new Map(known.map((rule) => [writeRule(rule), rule]));
  const rules = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const rule = unchanged.get(line) ?? readRule(line);
    if (!rule) return { problem: `Line ${index + 1} is not a rule: write a word, "=", and how it is read.` };
    rules.push(rule);
  }
  return { rules };
}

function readRule(line) {
  const cut = line.includes(" = ") ? line.indexOf(" = ") + 1 : line.indexOf("=");
  const string = line.slice(0, cut).trim();
  let spoken = line.slice(cut + 1).trim();
  const flags = { case_sensitive: true, word_boundaries: true };
  for (let more = true; more; ) {
    more = false;
    for (const [mark, flag] of [[ANY_CASE, "case_sensitive"], [WITHIN_WORDS, "word_boundaries"]]) {
      if (!spoken.endsWith(mark)) continue;
      spoken = spoken.slice(0, -mark.length).trim();
      flags[flag] = false;
      more = true;
    }
  }
  if (cut <= 0 || !string || !spoken) return null;
  const rule = { string_to_replace: string, ...flags };
  const phonemes = spoken.slice(1, -1).trim();
  if (phonemes && /^\/.*\/$/.test(spoken)) return { type: "phoneme", ...rule, phoneme: phonemes, alphabet: "ipa" };
  if (phonemes && /^\{.*\}$/.test(spoken))
    return { type: "phoneme", ...rule, phoneme: phonemes, alphabet: "cmu-arpabet" };
  return { type: "alias", ...rule, alias: spoken };
}
