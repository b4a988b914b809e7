// The service behind this page, spoken to like any client of its API does.

import { Problem, unreachable } from "./problem.js";

const WARMING_UP_MS = 500;

export class Service {
  #credentials;

  constructor(credentials, base = new URL(".", document.baseURI)) {
    this.#credentials = credentials;
    this.base = base;
  }

  async voices() {
    const { voices } = await this.#json("v1/voices", { credential: await this.speaking() });
    return voices;
  }

  /** Who speaks for ids that nobody has; null where the server is strict about them. */
  async defaultVoiceId() {
    try {
      return (await this.#json("v1/voices/default", { credential: await this.speaking() })).voice_id;
    } catch (error) {
      if (error.status === "voice_not_found") return null;
      throw error;
    }
  }

  async settings(voiceId) {
    return this.#json(`v1/voices/${encodeURIComponent(voiceId)}/settings`, { credential: await this.speaking() });
  }

  async defaultSettings() {
    return this.#json("v1/voices/settings/default", { credential: await this.speaking() });
  }

  /** The response of one of the paths that speak: `""`, `"/stream"` or `"/stream/with-timestamps"`. */
  async speech(path, { voiceId, text, settings, format }, signal) {
    const address = `v1/text-to-speech/${encodeURIComponent(voiceId)}${path}?output_format=${format}`;
    const body = JSON.stringify({ text, voice_settings: settings });
    return this.#answer(address, { method: "POST", body, credential: await this.speaking(), signal });
  }

  socketAddress({ voiceId, format }) {
    const address = new URL(`v1/text-to-speech/${encodeURIComponent(voiceId)}/stream-input`, this.base);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    address.search = new URLSearchParams({ output_format: format, sync_alignment: "true" });
    return address;
  }

  /** Where the voice introduces itself. The server names its own address, which may differ from the one seen here. */
  previewAddress(voice) {
    const { search } = new URL(voice.preview_url, this.base);
    return new URL(`previews/${encodeURIComponent(voice.voice_id)}.mp3${search}`, this.base);
  }

  /** The voices with these ids, as far as they are still there. */
  async someVoices(ids) {
    const query = new URLSearchParams([["page_size", ids.length], ...ids.map((id) => ["voice_ids", id])]);
    return (await this.#json(`v2/voices?${query}`, { credential: await this.speaking() })).voices;
  }

  async removeVoice(voiceId) {
    return this.#json(`voices/${encodeURIComponent(voiceId)}`, { method: "DELETE", credential: this.#credentials.key });
  }

  /** Sends a recording; `onProgress` gets the share that has been sent. Only the older interface tells that. */
  cloneVoice({ file, name, language, consent, refine }, onProgress) {
    const form = new FormData();
    form.append("files", file, file.name ?? "recording");
    for (const [field, value] of Object.entries({ name, language, consent, refine })) form.append(field, String(value));
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", new URL("voices", this.base));
      if (this.#credentials.present) request.setRequestHeader("authorization", `Bearer ${this.#credentials.key}`);
      request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total ? loaded / total : 0));
      request.upload.addEventListener("load", () => onProgress(1));
      request.addEventListener("error", () => reject(unreachable()));
      request.addEventListener("load", () => {
        const response = new Response(request.responseText, { status: request.status, statusText: request.statusText });
        resolve(response.ok ? response.json() : Problem.from(response).then((problem) => Promise.reject(problem)));
      });
      request.send(form);
    });
  }

  /** Waits while the engine is warming up, telling `onWait` so. */
  async ready(onWait, signal) {
    for (;;) {
      const response = await this.#fetch("health", { signal });
      if (response.ok) return;
      const { status, message } = await response.json();
      if (status !== "model_loading") throw new Problem(status, message);
      onWait();
      await new Promise((resolve) => setTimeout(resolve, WARMING_UP_MS));
    }
  }

  /** What to speak with; null on an open server. */
  async speaking() {
    return this.#credentials.speaking((seconds) => this.#mint(seconds));
  }

  /** A token that may speak and see the voices, or null: this server makes none, or the key may itself only speak. */
  async #mint(seconds) {
    const body = JSON.stringify({ ttl_seconds: seconds });
    try {
      return (await this.#json("v1/tokens/ephemeral", { method: "POST", body, credential: this.#credentials.key }))
        .token;
    } catch (error) {
      if (error.status === "not_supported" || error.status === "insufficient_scope") return null;
      throw error;
    }
  }

  async #json(path, options) {
    return (await this.#answer(path, options)).json();
  }

  async #answer(path, options) {
    const response = await this.#fetch(path, options);
    if (!response.ok) throw await Problem.from(response);
    return response;
  }

  async #fetch(path, { method = "GET", body, credential, signal } = {}) {
    const headers = {};
    if (credential) headers.authorization = `Bearer ${credential}`;
    if (body) headers["content-type"] = "application/json";
    try {
      return await fetch(new URL(path, this.base), { method, body, headers, signal, credentials: "omit" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw unreachable();
    }
  }
}
