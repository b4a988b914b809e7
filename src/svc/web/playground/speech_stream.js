// Speech as it is made: over a socket or, where none can be opened, in lines over HTTP.
//
// Both give parts: `samples` (16 bits at RATE) and `characters`, each `{character, start}` in seconds from the start.

import { Problem } from "./problem.js";

export const RATE = 24000;
const FORMAT = `pcm_${RATE}`;

/** Speaks a request; the parts come as they are made, until the end or until `signal` aborts. */
export async function* spoken(service, request, signal) {
  const asked = { ...request, format: FORMAT };
  const credential = await service.speaking();
  const socket = await opened(service.socketAddress(asked), signal);
  yield* socket ? overSocket(socket, asked, credential, signal) : overHttp(service, asked, signal);
}

/** An open socket, or null: a browser does not tell why a socket was refused, but the same over HTTP does. */
function opened(address, signal) {
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

async function* overSocket(socket, { text, settings }, credential, signal) {
  const waiting = [];
  let wake = () => {};
  const tell = (event) => {
    waiting.push(event);
    wake();
  };
  socket.addEventListener("message", ({ data }) => tell(JSON.parse(data)));
  socket.addEventListener("close", () => tell({ lost: true }));
  signal.addEventListener("abort", () => tell({ lost: true }));
  const authorization = credential ? { authorization: `Bearer ${credential}` } : {};
  socket.send(JSON.stringify({ text, voice_settings: settings, ...authorization }));
  socket.send(JSON.stringify({ text: "" }));
  try {
    for (;;) {
      while (!waiting.length) await new Promise((resolve) => (wake = resolve));
      const frame = waiting.shift();
      signal.throwIfAborted();
      if (frame.error) throw new Problem(frame.error, frame.message);
      if (frame.lost) throw new Problem("connection_lost", "What was heard is all that arrived.");
      if (frame.isFinal) return;
      const { chars = [], charStartTimesMs: starts = [] } = frame.alignment ?? {};
      yield {
        samples: decoded(frame.audio),
        characters: chars.map((character, at) => ({ character, start: starts[at] / 1000 })),
      };
    }
  } finally {
    socket.close();
  }
}

async function* overHttp(service, request, signal) {
  const response = await service.speech("/stream/with-timestamps", request, signal);
  for await (const line of lines(response.body)) {
    const part = JSON.parse(line);
    const { characters = [], character_start_times_seconds: starts = [] } = part.alignment ?? {};
    yield {
      samples: decoded(part.audio_base64),
      characters: characters.map((character, at) => ({ character, start: starts[at] })),
    };
  }
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      yield* parts.filter(Boolean);
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("connection_lost", "What was heard is all that arrived.");
  }
}

function decoded(base64) {
  const bytes = Uint8Array.from(atob(base64 ?? ""), (character) => character.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
