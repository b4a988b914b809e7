// The API key: the dialog that asks for it, and the credentials made from it, which stay in memory.

import { ApiError } from "./api_client.js";
import { element } from "./widgets.js";

const TOKEN_SECONDS = 600;
const RENEW_SECONDS = 60; // before a token expires

/** The key, and a short-lived token that is sent in its place where the server makes tokens. */
export class Credentials {
  #key = null;
  #token = null;
  #renewAt = 0;

  get hasKey() {
    return this.#key !== null;
  }

  /** The key itself, for what tokens are not allowed to do: cloning and removing voices. */
  get key() {
    return this.#key;
  }

  setKey(key) {
    this.#key = key;
    this.#token = null;
    this.#renewAt = 0;
  }

  clear() {
    this.setKey(null);
  }

  /** A token, which `createToken` gets from the server; the key if the server makes none; null without a key. */
  async getToken(createToken) {
    if (this.#key === null) return null;
    if (performance.now() >= this.#renewAt) {
      this.#token = await createToken(TOKEN_SECONDS);
      this.#renewAt = performance.now() + (TOKEN_SECONDS - RENEW_SECONDS) * 1000;
    }
    return this.#token ?? this.#key;
  }
}

export class KeyDialog {
  #dialog = element("key-dialog");
  #form = element("key-form");
  #field = element("key");
  #error = element("key-error");
  #credentials;

  constructor(credentials) {
    this.#credentials = credentials;
    this.#dialog.addEventListener("cancel", (event) => event.preventDefault()); // the page is useless without a key
  }

  /** Asks for a key until `attempt` succeeds with it; `error` is why one is asked for. */
  open(attempt, error = null) {
    this.#error.textContent = error?.status === "invalid_api_key" ? error.message : "";
    this.#field.value = "";
    if (!this.#dialog.open) this.#dialog.showModal();
    return new Promise((resolve) => {
      this.#form.onsubmit = async (event) => {
        event.preventDefault();
        if (await this.#try(attempt)) {
          this.#dialog.close();
          resolve();
        }
      };
    });
  }

  async #try(attempt) {
    const key = this.#field.value.trim();
    this.#error.textContent = key ? "" : "Type or paste the key.";
    if (!key) return false;
    this.#credentials.setKey(key);
    try {
      await attempt();
    } catch (thrown) {
      this.#credentials.clear();
      const error = ApiError.fromError(thrown);
      this.#error.textContent = `${error.title}. ${error.message}`;
      this.#field.select();
      return false;
    }
    this.#field.value = "";
    return true;
  }
}
