// Drives npm's @elevenlabs/elevenlabs-js 2.x, which checks every response against the schema that it was made from.

const { ElevenLabsClient } = require("@elevenlabs/elevenlabs-js");
const { report, bytes, length, all } = require("./report.cjs");

const [address, strict, loading, key, text, voice] = process.argv.slice(2);
const outputFormat = "pcm_24000";

const client = (baseUrl = address, apiKey = key) => new ElevenLabsClient({ baseUrl, apiKey });
const eleven = client();
const tts = eleven.textToSpeech;
const spoken = async (voiceSettings) => length(await tts.convert(voice, { text, outputFormat, voiceSettings }));

/** The same value with the names that its fields have on the wire. Labels are data and stay. */
function wire(value) {
    if (Array.isArray(value)) {
        return value.map(wire);
    }
    if (value === null || typeof value !== "object") {
        return value;
    }
    const named = Object.entries(value).map(([name, field]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        name === "labels" ? field : wire(field),
    ]);
    return Object.fromEntries(named);
}

report({
    voices: async () => wire((await eleven.voices.getAll()).voices),
    voice: async () => wire(await eleven.voices.get(voice)),
    search: async () =>
        wire(
            await eleven.voices.search({
                search: "british",
                pageSize: 3,
                sort: "name",
                sortDirection: "asc",
                includeTotalCount: true,
            }),
        ),
    next_page: async () => {
        const { nextPageToken } = await eleven.voices.search({ search: "british", pageSize: 3 });
        return wire(await eleven.voices.search({ search: "british", pageSize: 3, sort: "name", nextPageToken }));
    },
    filtered: async () =>
        wire(await eleven.voices.search({ language: ["fr", "it"], gender: "female", pageSize: 100 })),
    named: async () =>
        wire(await eleven.voices.search({ language: "en-GB", gender: "Female", category: "Premade", pageSize: 100 })),
    unnamed: async () => [
        (await eleven.voices.search({ collectionId: "x" })).totalCount,
        (await eleven.voices.search({ fineTuningState: "fine_tuned" })).totalCount,
    ],
    by_ids: async () => wire(await eleven.voices.search({ voiceIds: [voice] })),
    default_settings: async () => wire(await eleven.voices.settings.getDefault()),
    models: async () => wire(await eleven.models.list()),
    user: async () => wire(await eleven.user.get()),
    subscription: async () => wire(await eleven.user.subscription.get()),
    history: async () => wire(await eleven.history.list({ pageSize: 10, voiceId: voice })),
    clip: async () => bytes(await tts.convert(voice, { text })),
    headers: async () => {
        const { rawResponse, data } = await tts.convert(voice, { text, modelId: "eleven_v3" }).withRawResponse();
        await bytes(data);
        return Object.fromEntries(rawResponse.headers);
    },
    stream: async () => bytes(await tts.stream(voice, { text, outputFormat, enableLogging: false })),
    timestamps: async () => wire(await tts.convertWithTimestamps(voice, { text, outputFormat })),
    stream_timestamps: async () => wire(await all(await tts.streamWithTimestamps(voice, { text, outputFormat }))),
    lengths: async () => ({
        empty: await spoken({}),
        partial: await spoken({ stability: 0.3 }),
        full: await spoken({
            stability: 0.71,
            similarityBoost: 0.5,
            style: 0,
            useSpeakerBoost: true,
            speed: 1,
        }),
        slow: await spoken({ speed: 0.7 }),
        fast: await spoken({ speed: 1.2 }),
    }),
    everything: async () =>
        bytes(
            await tts.convert(voice, {
                text,
                outputFormat,
                languageCode: "en",
                seed: 7,
                previousText: "Before.",
                nextText: "After.",
                previousRequestIds: ["unknown"],
                nextRequestIds: ["unknown"],
                usePvcAsIvc: true,
                applyTextNormalization: "auto",
                applyLanguageTextNormalization: true,
                optimizeStreamingLatency: 0,
            }),
        ),
    edited: () =>
        eleven.voices.settings.update(voice, {
            stability: 0.25,
            similarityBoost: 0.5,
            style: 0.125,
            useSpeakerBoost: false,
        }),
    settings: async () => wire(await eleven.voices.settings.get(voice)),
    single_use_token: () => eleven.tokens.singleUse.create("tts_websocket"),
    retried: async () =>
        wire(await client(loading).textToSpeech.convertWithTimestamps(voice, { text, outputFormat })),
    wrong_key: () => client(address, "wrong").user.get(),
    no_key: () => client(address, "").voices.getAll(),
    blank_text: () => tts.convert(voice, { text: " " }),
    unknown_voice: () => client(strict).textToSpeech.convert("nobody", { text }),
});
