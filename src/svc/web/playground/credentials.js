// The key, in memory only, and the short-lived token that speaks in its place.

const TOKEN_SECONDS = 600;
const RENEW_SECONDS = 60;

export class Credentials {
  #key = null;
  #token = null;
  #renewAt = 0;

  get present() {
    return this.#key !== null;
  }

  /** The key itself, for what a token may not do: cloning and removing voices. */
  get key() {
    return this.#key;
  }

  use(key) {
    this.#key = key;
    this.#token = null;
    this.#renewAt = 0;
  }

  forget() {
    this.use(null);
  }

  /** What to speak with: a token where the server makes them, which `mint` asks it for; else the key. */
  async speaking(mint) {
    if (this.#key === null) return null;
    if (performance.now() >= this.#renewAt) {
      this.#token = await mint(TOKEN_SECONDS);
      this.#renewAt = performance.now() + (TOKEN_SECONDS - RENEW_SECONDS) * 1000;
    }
    return this.#token ?? this.#key;
  }
}
