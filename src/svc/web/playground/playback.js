// How a text is being spoken: played, marked word by word, drawn and measured, from the first part on.

import { Player } from "./player.js";
import { Sound } from "./pcm_buffer.js";
import { RATE, spoken } from "./speech_stream.js";
import { Words } from "./words.js";

const REST_MS = 1000;
const CHARACTERS_A_SECOND = 15; // of speech, to guess how long a clip will be

export class Recital extends EventTarget {
  #service;
  #player = null;
  #abort = null;
  request = null;
  sound = null;
  words = null;

  constructor(service) {
    super();
    this.#service = service;
  }

  get playing() {
    return this.#abort !== null || this.#player?.playing === true;
  }

  get position() {
    return this.#player?.position ?? 0;
  }

  get expectedSeconds() {
    return this.request.text.length / CHARACTERS_A_SECOND / this.request.settings.speed;
  }

  /** Speaks a request; comes back when all of it has arrived, which is long before it has been heard. */
  async speak(request, onWait) {
    this.stop();
    this.#open();
    this.#player.clear();
    const abort = (this.#abort = new AbortController());
    this.request = request;
    this.sound = new Sound(RATE);
    this.words = new Words(request.text);
    this.#tell("begin");
    try {
      const began = performance.now();
      await this.#service.ready(onWait, abort.signal);
      for await (const { samples, characters } of spoken(this.#service, request, abort.signal)) {
        this.words.add(characters);
        this.sound.append(samples);
        if (this.#player.playing) this.#player.grown();
        else if (samples.length) {
          this.#player.play(this.sound);
          this.#tell("first", { seconds: (performance.now() - began) / 1000 });
        }
      }
      this.#arrived((performance.now() - began) / 1000);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#arrived();
      throw error;
    } finally {
      if (this.#abort === abort) this.#abort = null;
    }
  }

  /** Plays once more what was spoken. */
  again() {
    this.context.resume();
    this.#player.play(this.sound, this.#player.position < this.sound.seconds ? this.#player.position : 0);
    this.#tell("begin");
  }

  seek(seconds) {
    this.#player?.seek(seconds);
  }

  stop() {
    this.#abort?.abort();
    this.#abort = null;
    if (this.sound) this.sound.complete = true;
    this.#player?.stop();
  }

  /** All that will come is here; `seconds` is what it took, unless it broke off. */
  #arrived(seconds = null) {
    this.sound.complete = true;
    this.#tell("arrived", { seconds });
    if (!this.#player.playing) this.#tell("ended");
  }

  /** A browser lets a page make sound only from a click or a key, so the way to the speakers opens with the first. */
  #open() {
    if (!this.#player) {
      this.context = new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
      this.#player = new Player(this.context);
      for (const event of ["ended", "stopped"]) this.#player.addEventListener(event, () => this.#rest());
    }
    this.context.resume();
  }

  /** Lets the speakers sleep, once the last of the sound has faded. */
  #rest() {
    setTimeout(() => this.playing || this.context.suspend(), REST_MS);
    this.#tell("ended");
  }

  #tell(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
