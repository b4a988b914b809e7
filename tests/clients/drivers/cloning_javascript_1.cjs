// Clones with npm's elevenlabs 1.x.

const fs = require("node:fs");
const { ElevenLabsClient } = require("elevenlabs");
const { report, bytes } = require("./report.cjs");

const [baseUrl, , , apiKey, text, clip] = process.argv.slice(2);
const { voices, textToSpeech } = new ElevenLabsClient({ baseUrl, apiKey });
const names = async () => (await voices.getAll()).voices.map((voice) => voice.name);
let id;

report({
    voice: async () => {
        const files = [fs.createReadStream(clip)];
        const labels = JSON.stringify({ accent: "irish" });
        id = (await voices.add({ name: "Anna", description: "Warm.", files, labels })).voice_id;
        return voices.get(id);
    },
    added: () => voices.add({ name: "Second", files: [fs.createReadStream(clip)] }),
    edited: async () => {
        await voices.edit(id, { name: "Berta", labels: JSON.stringify({ accent: "welsh" }) });
        return voices.get(id);
    },
    spoken: async () => bytes(await textToSpeech.convert(id, { text, output_format: "pcm_24000" })),
    listed: names,
    removed: () => voices.delete(id),
    listed_after: names,
    removed_again: () => voices.delete(id),
    built_in: () => voices.delete("svcAfHeart0000000000"),
    not_audio: () => voices.add({ name: "X", files: [fs.createReadStream(__filename)] }),
});
