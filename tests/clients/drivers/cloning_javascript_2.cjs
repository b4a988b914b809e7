// Clones with npm's @elevenlabs/elevenlabs-js 2.x.

const fs = require("node:fs");
const { ElevenLabsClient } = require("@elevenlabs/elevenlabs-js");
const { report, bytes } = require("./report.cjs");

const [baseUrl, , , apiKey, text, clip] = process.argv.slice(2);
const { voices, textToSpeech } = new ElevenLabsClient({ baseUrl, apiKey });
const names = async () => (await voices.getAll()).voices.map((voice) => voice.name);
const shown = ({ voiceId, name, description, category, labels }) => ({
    voice_id: voiceId,
    name,
    description,
    category,
    labels,
});
let id;

report({
    voice: async () => {
        const files = [fs.createReadStream(clip)];
        const labels = JSON.stringify({ accent: "irish" });
        id = (await voices.ivc.create({ name: "Anna", description: "Warm.", files, labels })).voiceId;
        return shown(await voices.get(id));
    },
    added: async () => {
        const files = [new Blob([fs.readFileSync(clip)])];
        const { voiceId, requiresVerification } = await voices.ivc.create({ name: "Second", files });
        return { voice_id: voiceId, requires_verification: requiresVerification };
    },
    edited: async () => {
        await voices.update(id, { name: "Berta", labels: JSON.stringify({ accent: "welsh" }) });
        return shown(await voices.get(id));
    },
    spoken: async () => bytes(await textToSpeech.convert(id, { text, outputFormat: "pcm_24000" })),
    listed: async () => (await voices.search({ category: "cloned" })).voices.map((voice) => voice.name),
    removed: () => voices.delete(id),
    listed_after: names,
    removed_again: () => voices.delete(id),
    built_in: () => voices.delete("svcAfHeart0000000000"),
    not_audio: () => voices.ivc.create({ name: "X", files: [fs.createReadStream(__filename)] }),
});
