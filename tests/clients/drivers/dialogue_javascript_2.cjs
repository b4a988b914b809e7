// Drives text-to-dialogue with npm's @elevenlabs/elevenlabs-js 2.x, which has schemas of the sockets' messages and no
// client for them.

const { ElevenLabsClient } = require("@elevenlabs/elevenlabs-js");
const schemas = require("@elevenlabs/elevenlabs-js/serialization");
const { report, bytes, all } = require("./report.cjs");

const [address, key, , script] = process.argv.slice(2);
const outputFormat = "pcm_24000";
const turns = JSON.parse(script);
const voices = [...new Set(turns.map((turn) => turn.voice_id))];
const inputs = turns.map(({ text, voice_id: voiceId }) => ({ text, voiceId }));
const dialogue = new ElevenLabsClient({ baseUrl: address, apiKey: key }).textToDialogue;

/** Sends messages as the SDK writes them, and checks the server's with its schemas. */
function socket(kind, messages, suffix) {
    const url = `${address.replace("http", "ws")}/v1/text-to-dialogue/${kind}?output_format=${outputFormat}`;
    const connection = new WebSocket(`${url}&sync_alignment=true&authorization=${encodeURIComponent(`Bearer ${key}`)}`);
    const received = [];
    connection.onopen = () => {
        for (const message of messages) {
            const schema = schemas[`TextToDialogueWebsocketClientMessage${suffix}`];
            connection.send(JSON.stringify(schema.jsonOrThrow(message)));
        }
    };
    connection.onmessage = ({ data }) => {
        const message = JSON.parse(data);
        const name =
            "audio" in message ? "AudioChunk" : "is_final" in message ? "Final" : "FinalAudioForTurn";
        schemas[`TextToDialogueWebsocket${name}${suffix}`].parseOrThrow(message);
        received.push(message);
    };
    return new Promise((resolve, reject) => {
        connection.onclose = ({ code }) =>
            code === 1000 ? resolve(received) : reject(new Error(`closed with ${code}: ${JSON.stringify(received)}`));
    });
}

report({
    clip: async () => bytes(await dialogue.convert({ inputs, outputFormat })),
    stream: async () =>
        bytes(await dialogue.stream({ inputs, outputFormat, modelId: "eleven_v3", settings: { stability: 0.5 } })),
    timestamps: async () => dialogue.convertWithTimestamps({ inputs, outputFormat }),
    stream_timestamps: async () => all(await dialogue.streamWithTimestamps({ inputs, outputFormat })),
    one_dialogue: async () =>
        socket(
            "stream-input",
            [{ voices }, ...inputs.map((input) => ({ inputs: [input] })), { closeSocket: true }],
            "",
        ),
    several_dialogues: async () => {
        const names = ["one", "two"];
        return socket(
            "multi-stream-input",
            [
                ...names.map((contextId) => ({ contextId, voices })),
                ...inputs.flatMap((input) => names.map((contextId) => ({ contextId, inputs: [input] }))),
                ...names.map((contextId) => ({ contextId, closeContext: true })),
                { closeSocket: true },
            ],
            "Multi",
        );
    },
    no_inputs: async () => bytes(await dialogue.convert({ inputs: [] })),
});
