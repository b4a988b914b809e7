// Drives npm's openai.

const { OpenAI } = require("openai");
const { report, bytes } = require("./report.cjs");

const [address, strict, key, text] = process.argv.slice(2);

const client = (base = address, apiKey = key) => new OpenAI({ baseURL: `${base}/openai/v1`, apiKey, maxRetries: 0 });
const openai = client();

const request = (fields) => openai.audio.speech.create({ model: "tts-1", voice: "alloy", input: text, ...fields });
const speak = async (fields) => Buffer.from(await (await request(fields)).arrayBuffer());

async function errorOf(call) {
    try {
        await call();
    } catch (error) {
        const { status, code, param, type, message } = error;
        return { class: error.constructor.name, status_code: status, code, param, type, message };
    }
    throw new Error("it raised nothing");
}

report({
    formats: async () => {
        const clips = {};
        for (const name of ["mp3", "opus", "aac", "flac", "wav", "pcm"]) {
            clips[name] = (await speak({ response_format: name })).toString("base64");
        }
        return clips;
    },
    speeds: async () => {
        const lengths = {};
        for (const speed of [0.25, 1, 4]) {
            lengths[speed.toFixed(2).replace(/0$/, "")] = (await speak({ response_format: "pcm", speed })).length;
        }
        return lengths;
    },
    stream: async () => {
        const response = await request({ model: "gpt-4o-mini-tts", voice: "coral", response_format: "pcm" });
        const headers = Object.fromEntries(response.headers);
        return { chunks: [await bytes(response.body)], headers };
    },
    events: async () => {
        const response = await request({ voice: "sage", response_format: "pcm", stream_format: "sse" });
        return (await response.text()).split("\n");
    },
    custom_voice: async () =>
        (await speak({ voice: { id: "af_bella(3)+af_nicole(1)" }, instructions: "Cheerful." })).toString("base64"),
    models: async () => {
        const ids = [];
        for await (const model of openai.models.list()) {
            ids.push(model.id);
        }
        return ids;
    },
    model: async () => (await openai.models.retrieve("tts-1")).id,
    errors: async () => ({
        wrong_key: await errorOf(() => client(address, "wrong").models.list()),
        bad_speed: await errorOf(() => speak({ speed: 9 })),
        bad_format: await errorOf(() => speak({ response_format: "ogg" })),
        blank: await errorOf(() => speak({ input: " " })),
        wrong_base: await errorOf(() =>
            new OpenAI({ baseURL: address, apiKey: key }).audio.speech.create({
                model: "tts-1",
                voice: "alloy",
                input: text,
            }),
        ),
        wrong_base_of_models: await errorOf(() => new OpenAI({ baseURL: `${address}/`, apiKey: key }).models.list()),
        unknown_model: await errorOf(() => openai.models.retrieve("whisper-1")),
        unknown_voice: await errorOf(() =>
            client(strict).audio.speech.create({ model: "tts-1", voice: "nobody", input: text }),
        ),
        too_much: await errorOf(async () => {
            for (let count = 0; count < 9; count += 1) {
                await client(strict).audio.speech.create({ model: "tts-1", voice: "alloy", input: text });
            }
        }),
    }),
});
