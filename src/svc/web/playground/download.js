// A clip as a file, in the format that was chosen.

import { extension } from "./formats.js";

/** What was heard, if the format is the one that it came in; else the server speaks the same request once more. */
export async function clipFile(service, request, sound, format) {
  const heard = { [`wav_${sound.rate}`]: () => sound.wav(), [`pcm_${sound.rate}`]: () => sound.pcm() }[format];
  if (heard) return heard();
  return (await service.speech("", { ...request, format })).blob();
}

export function save(file, name, format) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${
    name
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-|-$/g, "") || "speech"
  }.${extension(format)}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
