// Drives npm's elevenlabs 1.x.

const { ElevenLabsClient } = require("elevenlabs");
const { report, bytes, length, all } = require("./report.cjs");

const [address, strict, loading, key, text, voice] = process.argv.slice(2);
const pcm = "pcm_24000";

const client = (baseUrl = address, apiKey = key) => new ElevenLabsClient({ baseUrl, apiKey });
const eleven = client();
const tts = eleven.textToSpeech;
const spoken = async (voice_settings) => length(await tts.convert(voice, { text, output_format: pcm, voice_settings }));

report({
    voices: async () => (await eleven.voices.getAll()).voices,
    voice: () => eleven.voices.get(voice, { with_settings: true }),
    search: () =>
        eleven.voices.search({
            search: "british",
            page_size: 3,
            sort: "name",
            sort_direction: "asc",
            include_total_count: true,
        }),
    next_page: async () => {
        const { next_page_token } = await eleven.voices.search({ search: "british", page_size: 3 });
        return eleven.voices.search({ search: "british", page_size: 3, sort: "name", next_page_token });
    },
    default_settings: () => eleven.voices.getDefaultSettings(),
    models: () => eleven.models.getAll(),
    user: () => eleven.user.get(),
    subscription: () => eleven.user.getSubscription(),
    history: () => eleven.history.getAll({ page_size: 10 }),
    clip: async () => bytes(await tts.convert(voice, { text, model_id: "eleven_multilingual_v2" })),
    stream: async () => bytes(await tts.convertAsStream(voice, { text, output_format: pcm, enable_logging: false })),
    default_voice: async () => bytes(await eleven.generate({ text, output_format: "ulaw_8000" })),
    by_name: async () =>
        bytes(await eleven.generate({ text, voice: "Sarah", stream: true, output_format: "pcm_16000" })),
    looked_up: async () => bytes(await eleven.generate({ text, voice })),
    timestamps: () => tts.convertWithTimestamps(voice, { text, output_format: pcm }),
    stream_timestamps: async () => all(await tts.streamWithTimestamps(voice, { text, output_format: pcm })),
    lengths: async () => ({
        null: await spoken(null),
        empty: await spoken({}),
        partial: await spoken({ stability: 0.3 }),
        full: await spoken({
            stability: 0.71,
            similarity_boost: 0.5,
            style: 0,
            use_speaker_boost: true,
            speed: 1,
        }),
        slow: await spoken({ speed: 0.7 }),
        fast: await spoken({ speed: 1.2 }),
    }),
    everything: async () =>
        bytes(
            await tts.convert(voice, {
                text,
                output_format: pcm,
                language_code: "en",
                seed: 7,
                previous_text: "Before.",
                next_text: "After.",
                previous_request_ids: ["unknown"],
                next_request_ids: ["unknown"],
                use_pvc_as_ivc: true,
                apply_text_normalization: "auto",
                apply_language_text_normalization: true,
                optimize_streaming_latency: 0,
            }),
        ),
    edited: () =>
        eleven.voices.editSettings(voice, {
            stability: 0.25,
            similarity_boost: 0.5,
            style: 0.125,
            use_speaker_boost: false,
        }),
    settings: () => eleven.voices.getSettings(voice),
    retried: () => client(loading).textToSpeech.convertWithTimestamps(voice, { text, output_format: pcm }),
    wrong_key: () => client(address, "wrong").user.get(),
    no_key: () => client(address, "").voices.getAll(),
    // For calls that return audio, the errors of this client hold the body unread.
    unknown_format: () => tts.convertWithTimestamps(voice, { text, output_format: "mp3_1_1" }),
    blank_text: () => tts.convertWithTimestamps(voice, { text: " " }),
    unknown_voice: () => client(strict).textToSpeech.convertWithTimestamps("nobody", { text }),
});
