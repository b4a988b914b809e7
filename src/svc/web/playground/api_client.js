// The client of the service's HTTP API, its errors, and the constants that the server embeds in the page.

/** What `playground_config` in svc/api/pages.py embeds: output formats, languages, ranges and thresholds. */
export const serverConfig = JSON.parse(document.getElementById("config").textContent);

const HEALTH_POLL_MS = 500;

export class ApiClient {
  #credentials;

  constructor(credentials, base = new URL(".", document.baseURI)) {
    this.#credentials = credentials;
    this.base = base;
  }

  async listVoices() {
    return (await this.#fetchJson("v1/voices", { credential: await this.getCredential() })).voices;
  }

  /** The voices with these ids, as far as they still exist. Tokens may ask for one at a time, not for a search. */
  async findVoices(ids) {
    const credential = await this.getCredential();
    const voices = await Promise.all(ids.map((id) => this.#findVoice(id, credential)));
    return voices.filter((voice) => voice !== null);
  }

  /** The voice with this id; null if it does not exist, when the server may answer with the default voice instead. */
  async #findVoice(id, credential) {
    try {
      const voice = await this.#fetchJson(`v1/voices/${encodeURIComponent(id)}`, { credential });
      return voice.voice_id === id ? voice : null;
    } catch (error) {
      if (error.status === "voice_not_found") return null;
      throw error;
    }
  }

  /** The voice that answers for unknown ids; null on a server with strict voices. */
  async getDefaultVoiceId() {
    try {
      return (await this.#fetchJson("v1/voices/default", { credential: await this.getCredential() })).voice_id;
    } catch (error) {
      if (error.status === "voice_not_found") return null;
      throw error;
    }
  }

  async getSettings(voiceId) {
    const path = `v1/voices/${encodeURIComponent(voiceId)}/settings`;
    return this.#fetchJson(path, { credential: await this.getCredential() });
  }

  async getDefaultSettings() {
    return this.#fetchJson("v1/voices/settings/default", { credential: await this.getCredential() });
  }

  /** The response of one of the speech endpoints: `""`, `"/stream"` or `"/stream/with-timestamps"`. */
  async requestSpeech(endpoint, request, signal) {
    const { voiceId, format } = request;
    const path = `v1/text-to-speech/${encodeURIComponent(voiceId)}${endpoint}?output_format=${format}`;
    const body = JSON.stringify(createSpeechBody(request));
    return this.#request(path, { method: "POST", body, credential: await this.getCredential(), signal });
  }

  socketAddress({ voiceId, format }) {
    const address = new URL(`v1/text-to-speech/${encodeURIComponent(voiceId)}/stream-input`, this.base);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    address.search = new URLSearchParams({ output_format: format, sync_alignment: "true" });
    return address;
  }

  /** The preview clip of a voice. `preview_url` has the server's own idea of its address, which a proxy may change. */
  previewAddress(voice) {
    const { search } = new URL(voice.preview_url, this.base);
    return new URL(`previews/${encodeURIComponent(voice.voice_id)}.mp3${search}`, this.base);
  }

  /** Keeps a mix; each part has a voice and its share in percent. */
  async mixVoices(name, parts) {
    const weights = parts.map(({ voice, percent }) => ({ voice_id: voice.voice_id, weight: percent }));
    const body = JSON.stringify({ name, parts: weights });
    return this.#fetchJson("v1/voices/mix", { method: "POST", body, credential: this.#credentials.key });
  }

  async removeVoice(voiceId) {
    const path = `voices/${encodeURIComponent(voiceId)}`;
    return this.#fetchJson(path, { method: "DELETE", credential: this.#credentials.key });
  }

  /** Uploads a recording; `onProgress` gets the share that was sent, which only XMLHttpRequest reports. */
  cloneVoice({ file, name, language, consent, refine }, onProgress) {
    const form = new FormData();
    form.append("files", file, file.name ?? "recording");
    for (const [field, value] of Object.entries({ name, language, consent, refine })) form.append(field, String(value));
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", new URL("voices", this.base));
      if (this.#credentials.hasKey) request.setRequestHeader("authorization", `Bearer ${this.#credentials.key}`);
      request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total ? loaded / total : 0));
      request.upload.addEventListener("load", () => onProgress(1));
      request.addEventListener("error", () => reject(createUnreachableError()));
      request.addEventListener("load", () => {
        const response = new Response(request.responseText, { status: request.status, statusText: request.statusText });
        resolve(response.ok ? response.json() : ApiError.fromResponse(response).then((error) => Promise.reject(error)));
      });
      request.send(form);
    });
  }

  /** All dictionaries, by name. */
  async listDictionaries() {
    const found = [];
    for (let cursor = null, more = true; more; ) {
      const query = new URLSearchParams({ page_size: 100, sort: "name", sort_direction: "ascending" });
      if (cursor) query.set("cursor", cursor);
      const page = await this.#fetchDictionaries(`?${query}`);
      found.push(...page.pronunciation_dictionaries);
      ({ next_cursor: cursor, has_more: more } = page);
    }
    return found;
  }

  /** A dictionary, with the rules of its latest version. */
  async getDictionary(id) {
    return this.#fetchDictionaries(`/${id}`);
  }

  async addDictionary(name, rules) {
    return this.#fetchDictionaries("/add-from-rules", { method: "POST", body: JSON.stringify({ name, rules }) });
  }

  async addLexicon(name, file) {
    const form = new FormData();
    form.append("name", name);
    form.append("file", file);
    return this.#fetchDictionaries("/add-from-file", { method: "POST", body: form });
  }

  async changeDictionary(dictionary, name, rules) {
    if (name !== dictionary.name)
      await this.#fetchDictionaries(`/${dictionary.id}`, { method: "PATCH", body: JSON.stringify({ name }) });
    return this.#fetchDictionaries(`/${dictionary.id}/set-rules`, { method: "POST", body: JSON.stringify({ rules }) });
  }

  async removeDictionary(id) {
    return this.#fetchDictionaries(`/${id}`, { method: "DELETE" });
  }

  /** The latest version as a file. */
  async downloadDictionary({ id, latest_version_id: version }) {
    const path = `v1/pronunciation-dictionaries/${id}/${version}/download`;
    return (await this.#request(path, { credential: this.#credentials.key })).blob();
  }

  async #fetchDictionaries(path, options = {}) {
    return this.#fetchJson(`v1/pronunciation-dictionaries${path}`, { ...options, credential: this.#credentials.key });
  }

  /** Waits while the engine loads; calls `onWait` each time that it is not ready. */
  async waitUntilReady(onWait, signal) {
    for (;;) {
      const response = await this.#fetch("health", { signal });
      if (response.ok) return;
      const { status, message } = await response.json();
      if (status !== "model_loading") throw new ApiError(status, message);
      onWait();
      await new Promise((resolve) => setTimeout(resolve, HEALTH_POLL_MS));
    }
  }

  /** The credential for synthesis and for listing voices; null on an open server. */
  async getCredential() {
    return this.#credentials.getToken((seconds) => this.#createToken(seconds));
  }

  /** A token that can speak and list voices; null if this server makes none or the key itself can only speak. */
  async #createToken(seconds) {
    const body = JSON.stringify({ ttl_seconds: seconds });
    try {
      const options = { method: "POST", body, credential: this.#credentials.key };
      return (await this.#fetchJson("v1/tokens/ephemeral", options)).token;
    } catch (error) {
      if (error.status === "not_supported" || error.status === "insufficient_scope") return null;
      throw error;
    }
  }

  async #fetchJson(path, options) {
    return (await this.#request(path, options)).json();
  }

  async #request(path, options) {
    const response = await this.#fetch(path, options);
    if (!response.ok) throw await ApiError.fromResponse(response);
    return response;
  }

  async #fetch(path, { method = "GET", body, credential, signal } = {}) {
    const headers = {};
    if (credential) headers.authorization = `Bearer ${credential}`;
    if (typeof body === "string") headers["content-type"] = "application/json"; // the browser names that of a form
    try {
      return await fetch(new URL(path, this.base), { method, body, headers, signal, credentials: "omit" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw createUnreachableError();
    }
  }
}

/** The body of a speech request. */
export function createSpeechBody({ text, settings, dictionaries = [] }) {
  const locators = dictionaries.map((id) => ({ pronunciation_dictionary_id: id }));
  return {
    text,
    voice_settings: settings,
    ...(locators.length ? { pronunciation_dictionary_locators: locators } : {}),
  };
}

// A title for each `status` of the API's errors, and for those of the page itself.
const ERROR_TITLES = {
  unreachable: "The server does not answer",
  connection_lost: "The connection was lost",
  missing_api_key: "This server requires a key",
  invalid_api_key: "This key is not valid",
  insufficient_scope: "This key may only be used for speech",
  invalid_output_format: "The server does not know this format",
  max_character_limit_exceeded: "The text is too long",
  voice_not_found: "This voice no longer exists",
  voice_limit_reached: "There is no room for another voice",
  invalid_lexicon: "This file is not a lexicon",
  pronunciation_dictionary_not_found: "This dictionary no longer exists",
  pronunciation_dictionary_limit_reached: "There is no room for another dictionary",
  no_reference: "This voice cannot be improved",
  built_in_voice: "This voice is built in",
  mixed_voice: "This mix is not stored",
  model_not_found: "The server does not know this model",
  consent_required: "Consent is missing",
  not_audio: "This file contains no audio",
  clip_damaged: "The recording is damaged",
  clip_silent: "The recording is silent",
  no_speech: "There is no speech in this recording",
  clip_too_short: "The recording is too short",
  host_not_allowed: "The server does not answer to this name",
  max_audio_seconds_exceeded: "The text is too long",
  origin_not_allowed: "Pages from this address may not use the server",
  request_timeout: "The request took too long",
  input_timeout_exceeded: "The request took too long",
  request_too_large: "The request is too large",
  message_too_large: "The request is too large",
  rate_limit_exceeded: "Too much text for one minute",
  system_busy: "The server is busy",
  too_many_concurrent_requests: "The server is busy",
  model_loading: "The engine is loading",
  engine_unavailable: "The engine could not be started",
  keys_unavailable: "The server cannot check keys right now",
  storage_unavailable: "The server cannot store it",
  shutting_down: "The server is restarting",
  not_supported: "This server does not support that",
  internal_error: "Something went wrong on the server",
  microphone: "The microphone cannot be used",
  playback: "The audio cannot be played",
};

const TRANSIENT = new Set([
  "unreachable",
  "connection_lost",
  "rate_limit_exceeded",
  "system_busy",
  "too_many_concurrent_requests",
  "model_loading",
  "shutting_down",
  "keys_unavailable",
  "playback",
]);

/** An error with the `status` and `message` of the API, and a title for people. */
export class ApiError extends Error {
  constructor(status, message = "") {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }

  get title() {
    return ERROR_TITLES[this.status] ?? "Something went wrong";
  }

  /** Whether the same request may work in a moment. */
  get isTransient() {
    return TRANSIENT.has(this.status);
  }

  get needsKey() {
    return this.status === "missing_api_key" || this.status === "invalid_api_key";
  }

  static async fromResponse(response) {
    let detail;
    try {
      detail = (await response.json()).detail;
    } catch {
      // Not the service's own format: perhaps the response of a proxy.
    }
    if (Array.isArray(detail)) return new ApiError("invalid", detail.map(describeInvalidField).join(" "));
    return new ApiError(
      detail?.status ?? "internal_error",
      detail?.message ?? `The server answered ${response.status} ${response.statusText}.`,
    );
  }

  /** Any error as an ApiError; an unexpected one keeps its message. */
  static fromError(error) {
    if (error instanceof ApiError) return error;
    if (error instanceof TypeError && /fetch|network|load failed/i.test(error.message)) return createUnreachableError();
    return new ApiError("unexpected", String(error?.message ?? error));
  }
}

function createUnreachableError() {
  return new ApiError("unreachable", "Check that it is running and that this machine is connected.");
}

/** One entry of a 422's validation list, as a sentence. */
function describeInvalidField({ loc = [], msg = "" }) {
  const field = loc.filter((part) => part !== "body").join(", ");
  const reason = msg.replace(/^Value error, /, "");
  return `${field ? `${field}: ` : ""}${reason}.`.replace(/^./, (letter) => letter.toUpperCase());
}
