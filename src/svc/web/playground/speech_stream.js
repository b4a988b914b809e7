// Streams the speech of a request: over a WebSocket or, where none can be opened, as JSON lines over HTTP.
//
// Both yield chunks: `samples` (int16 at SAMPLE_RATE) and `characters`, each `{character, start}` in seconds.

import { ApiError, createSpeechBody } from "./api_client.js";

export const SAMPLE_RATE = 24000;
const FORMAT = `pcm_${SAMPLE_RATE}`;

/** Yields chunks as the server makes them, until the end or until `signal` aborts. */
export async function* streamSpeech(api, request, signal) {
  const pcmRequest = { ...request, format: FORMAT };
  const credential = await api.getCredential();
  const socket = await openSocket(api.socketAddress(pcmRequest), signal);
  yield* socket ? streamOverSocket(socket, pcmRequest, credential, signal) : streamOverHttp(api, pcmRequest, signal);
}

/** An open socket, or null: browsers do not say why a socket was refused, but the HTTP response will. */
function openSocket(address, signal) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address);
    signal.addEventListener("abort", () => {
      socket.close();
      reject(signal.reason);
    });
    socket.addEventListener("open", () => resolve(socket));
    socket.addEventListener("close", () => resolve(null));
  });
}

async function* streamOverSocket(socket, request, credential, signal) {
  const queue = [];
  let wake = () => {};
  const enqueue = (message) => {
    queue.push(message);
    wake();
  };
  socket.addEventListener("message", ({ data }) => enqueue(JSON.parse(data)));
  socket.addEventListener("close", () => enqueue({ closed: true }));
  signal.addEventListener("abort", () => enqueue({ closed: true }));
  const authorization = credential ? { authorization: `Bearer ${credential}` } : {};
  socket.send(JSON.stringify({ ...createSpeechBody(request), ...authorization }));
  socket.send(JSON.stringify({ text: "" }));
  try {
    for (;;) {
      while (!queue.length) await new Promise((resolve) => (wake = resolve));
      const message = queue.shift();
      signal.throwIfAborted();
      if (message.error) throw new ApiError(message.error, message.message);
      if (message.closed) throw createConnectionLostError();
      if (message.isFinal) return;
      const { chars = [], charStartTimesMs: starts = [] } = message.alignment ?? {};
      yield {
        samples: decodeSamples(message.audio),
        characters: chars.map((character, index) => ({ character, start: starts[index] / 1000 })),
      };
    }
  } finally {
    socket.close();
  }
}

async function* streamOverHttp(api, request, signal) {
  const response = await api.requestSpeech("/stream/with-timestamps", request, signal);
  for await (const line of readLines(response.body)) {
    const part = JSON.parse(line);
    const { characters = [], character_start_times_seconds: starts = [] } = part.alignment ?? {};
    yield {
      samples: decodeSamples(part.audio_base64),
      characters: characters.map((character, index) => ({ character, start: starts[index] })),
    };
  }
}

async function* readLines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      yield* lines.filter(Boolean);
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw createConnectionLostError();
  }
}

function createConnectionLostError() {
  return new ApiError("connection_lost", "Only what was played has arrived.");
}

function decodeSamples(base64) {
  const bytes = Uint8Array.from(atob(base64 ?? ""), (character) => character.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
