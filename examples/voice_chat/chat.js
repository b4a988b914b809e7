// The browser's part: gives the words of the model to svc as they come, and plays what comes back.
//
// One socket serves the whole conversation. Each answer is a context on it, with an id of its own.

const SAMPLE_RATE = 24000;
const element = (id) => document.getElementById(id);

let socket = null; // to svc; opened with a token that is good for one socket
let speaker = null; // the AudioContext; browsers allow one only after a click or a key
let answer = null; // the answer that is being spoken
let count = 0;

// --- the socket ------------------------------------------------------------------------------------------------------

async function connect() {
  if (socket?.readyState === WebSocket.OPEN) return;
  const response = await fetch("socket", { method: "POST" });
  const address = await response.text();
  if (!response.ok) throw new Error(address);
  socket = new WebSocket(address);
  socket.onmessage = (event) => receive(JSON.parse(event.data));
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("The socket to svc could not be opened."));
  });
}

const send = (message) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

function receive(message) {
  if (message.error) element("problem").textContent = message.message;
  // What still comes of an answer that was interrupted is not played.
  if (message.contextId !== answer?.id || !message.audio) return;
  play(message.audio);
  if (message.alignment) noteTimes(message.alignment);
}

// --- an answer -------------------------------------------------------------------------------------------------------

async function ask(question) {
  interrupt();
  element("problem").textContent = "";
  speaker ??= new AudioContext({ sampleRate: SAMPLE_RATE });
  await speaker.resume();
  const mine = { id: `answer-${++count}`, text: "", times: [], sources: [], begin: null, end: 0, cancel: new AbortController() };
  answer = mine;
  await connect();
  if (answer !== mine) return; // interrupted before it began
  const response = await fetch("ask", { method: "POST", body: question, signal: mine.cancel.signal });
  const words = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await words.read(); !part.done; part = await words.read()) {
    if (answer !== mine) return;
    mine.text += part.value;
    send({ context_id: mine.id, text: part.value }); // svc begins to speak as soon as it can
  }
  send({ context_id: mine.id, flush: true }); // no more words: speak the rest,
  send({ context_id: mine.id, close_context: true }); // and that was all
}

// Barge-in: silence at once, and neither the model nor svc works on for nothing.
function interrupt() {
  if (!answer) return;
  const interrupted = answer;
  answer = null;
  for (const source of interrupted.sources) source.stop();
  interrupted.cancel.abort();
  // The first one closes the context, and what was flushed would still be spoken. The second one cancels that too.
  send({ context_id: interrupted.id, close_context: true });
  send({ context_id: interrupted.id, close_context: true });
  // `heard` is what belongs into the conversation that the model sees: the user knows nothing of the rest.
  show(interrupted);
}

// --- playback --------------------------------------------------------------------------------------------------------

function play(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const pcm = new Int16Array(bytes.buffer, 0, bytes.length >> 1);
  if (!pcm.length) return;
  const buffer = speaker.createBuffer(1, pcm.length, SAMPLE_RATE);
  buffer.getChannelData(0).set(Float32Array.from(pcm, (sample) => sample / 32768));
  const source = speaker.createBufferSource();
  source.buffer = buffer;
  source.connect(speaker.destination);
  answer.begin ??= speaker.currentTime + 0.05; // a little reserve, so that a late piece leaves no gap
  const start = Math.max(answer.begin + answer.end, speaker.currentTime);
  source.start(start);
  answer.end = start - answer.begin + buffer.duration;
  answer.sources.push(source);
}

// With `sync_alignment`, times count from the beginning of the answer.
function noteTimes({ chars, charStartTimesMs }) {
  chars.forEach((character, index) => answer.times.push([charStartTimesMs[index] / 1000, character]));
}

function show({ text, times, begin }) {
  const now = begin === null ? 0 : speaker.currentTime - begin;
  const heard = times.filter(([start]) => start < now).map(([, character]) => character).join("");
  element("heard").textContent = heard;
  element("unheard").textContent = text.slice(heard.length);
}

setInterval(() => answer && show(answer), 50);

// --- the page --------------------------------------------------------------------------------------------------------

document.querySelector("form").onsubmit = (event) => {
  event.preventDefault();
  const question = element("question").value.trim();
  element("question").value = "";
  if (!question) return;
  ask(question).catch((error) => {
    if (error.name !== "AbortError") element("problem").textContent = error.message;
  });
};
element("question").oninput = interrupt; // who begins to type has heard enough
element("stop").onclick = interrupt;
