// Asks for the key, where the server wants one.

import { Problem } from "./problem.js";

export class Door {
  #dialog = document.getElementById("key-dialog");
  #form = document.getElementById("key-form");
  #field = document.getElementById("key");
  #words = document.getElementById("key-problem");
  #credentials;

  constructor(credentials) {
    this.#credentials = credentials;
    this.#dialog.addEventListener("cancel", (event) => event.preventDefault()); // nothing works behind it
  }

  /** Asks until `attempt` succeeds with what was typed. */
  open(attempt, problem = null) {
    this.#words.textContent = problem?.status === "invalid_api_key" ? problem.message : "";
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
    this.#words.textContent = key ? "" : "Type or paste the key.";
    if (!key) return false;
    this.#credentials.use(key);
    try {
      await attempt();
    } catch (error) {
      this.#credentials.forget();
      const problem = Problem.of(error);
      this.#words.textContent = `${problem.title}. ${problem.message}`;
      this.#field.select();
      return false;
    }
    this.#field.value = "";
    return true;
  }
}
