// What went wrong, with words for a person.

const TITLES = {
  unreachable: "The server does not answer",
  connection_lost: "The connection was lost",
  missing_api_key: "This server asks for a key",
  invalid_api_key: "This key does not open the door",
  insufficient_scope: "This key may only speak",
  invalid_output_format: "The server does not know this format",
  max_character_limit_exceeded: "The text is too long",
  voice_not_found: "This voice is not there any more",
  voice_limit_reached: "There is no room for another voice",
  no_reference: "It cannot be improved",
  built_in_voice: "This voice came with the server",
  consent_required: "Consent is missing",
  not_audio: "This file holds no sound",
  clip_damaged: "The recording is damaged",
  clip_silent: "The recording is silent",
  no_speech: "Nobody speaks in this recording",
  clip_too_short: "The recording is too short",
  origin_not_allowed: "Pages from here may not use this server",
  request_timeout: "That took too long",
  input_timeout_exceeded: "That took too long",
  request_too_large: "This is too much at once",
  message_too_large: "This is too much at once",
  system_busy: "The server is busy",
  model_loading: "The engine is warming up",
  engine_unavailable: "The engine could not be started",
  keys_unavailable: "The server cannot check keys right now",
  storage_unavailable: "The server cannot keep the voice",
  shutting_down: "The server is restarting",
  not_supported: "This server cannot do that",
  internal_error: "Something went wrong on the server",
  microphone: "The microphone cannot be used",
  playback: "The sound cannot be played",
};

const PASSING = new Set([
  "unreachable",
  "connection_lost",
  "system_busy",
  "model_loading",
  "shutting_down",
  "keys_unavailable",
  "playback",
]);

export class Problem extends Error {
  constructor(status, message = "") {
    super(message);
    this.name = "Problem";
    this.status = status;
  }

  get title() {
    return TITLES[this.status] ?? "That did not work";
  }

  /** Whether the same may work in a moment. */
  get passing() {
    return PASSING.has(this.status);
  }

  get keyNeeded() {
    return this.status === "missing_api_key" || this.status === "invalid_api_key";
  }

  /** What the server says, in the form that it says everything in. */
  static async from(response) {
    let detail;
    try {
      detail = (await response.json()).detail;
    } catch {
      // Not this service: a proxy, perhaps.
    }
    if (Array.isArray(detail)) return new Problem("invalid", detail.map(inWords).join(" "));
    return new Problem(
      detail?.status ?? "internal_error",
      detail?.message ?? `The answer was ${response.status} ${response.statusText}.`,
    );
  }

  /** Any error as a problem; one that nobody foresaw keeps its own words. */
  static of(error) {
    if (error instanceof Problem) return error;
    if (error instanceof TypeError && /fetch|network|load failed/i.test(error.message)) return unreachable();
    return new Problem("unforeseen", String(error?.message ?? error));
  }
}

export function unreachable() {
  return new Problem("unreachable", "Is it still running, and is this machine connected?");
}

function inWords({ loc = [], msg = "" }) {
  const where = loc.filter((part) => part !== "body").join(", ");
  const what = msg.replace(/^Value error, /, "");
  return `${where ? `${where}: ` : ""}${what}.`.replace(/^./, (letter) => letter.toUpperCase());
}
