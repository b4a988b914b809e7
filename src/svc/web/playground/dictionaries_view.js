// The view of the pronunciation dictionaries, and the choice of those that a text is spoken with.

import { ApiError, serverConfig } from "./api_client.js";
import { readRules, writeRules } from "./dictionary_rules.js";
import { createButton, element } from "./widgets.js";

export class DictionariesView {
  #api;
  #onError;
  #edited = null; // the dictionary in the form, with its rules; null for a new one

  constructor(api, onError) {
    this.#api = api;
    this.#onError = onError;
    element("dictionary-name").maxLength = serverConfig.max_name_length;
    element("dictionary-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
    element("dictionary-cancel").addEventListener("click", () => this.#edit(null));
    element("dictionary-file").addEventListener("change", ({ target }) => {
      if (target.files[0]) this.#addFile(target.files[0]);
      target.value = "";
    });
  }

  /** Lists the dictionaries anew; a key that may only speak sees none. */
  async load() {
    let dictionaries = [];
    try {
      dictionaries = await this.#api.listDictionaries();
    } catch (error) {
      if (error.status !== "insufficient_scope") throw error;
      this.#showStatus("This key may only be used for speech.");
    }
    element("dictionaries-list").replaceChildren(...dictionaries.map((each) => this.#createRow(each)));
    element("dictionaries-empty").hidden = dictionaries.length > 0;
    showChoice(dictionaries);
  }

  #createRow(dictionary) {
    const row = document.createElement("li");
    const name = document.createElement("span");
    name.className = "voice-name";
    name.textContent = dictionary.name;
    const description = document.createElement("span");
    description.className = "voice-description";
    const count = dictionary.latest_version_rules_num;
    description.textContent = `${count} ${count === 1 ? "rule" : "rules"}`;
    row.append(
      name,
      description,
      createButton("Edit", () => this.#open(dictionary), `Edit ${dictionary.name}`),
      createButton("Download", () => this.#download(dictionary), `Download ${dictionary.name}`),
      createButton("Remove", () => this.#confirmRemoval(dictionary), `Remove ${dictionary.name}`),
    );
    return row;
  }

  #open(dictionary) {
    return this.#try(async () => {
      this.#edit(await this.#api.getDictionary(dictionary.id));
      element("dictionary-name").focus();
    });
  }

  /** Fills the form with a dictionary; with null it is empty again. */
  #edit(dictionary) {
    this.#edited = dictionary;
    element("dictionary-form-title").textContent = dictionary ? `Edit ${dictionary.name}` : "New dictionary";
    element("dictionary-save").textContent = dictionary ? "Save" : "Add";
    element("dictionary-cancel").hidden = !dictionary;
    element("dictionary-name").value = dictionary?.name ?? "";
    element("dictionary-rules").value = writeRules(dictionary?.rules ?? []);
    this.#showStatus("");
  }

  #save() {
    const name = element("dictionary-name").value.trim();
    const { rules, problem } = readRules(element("dictionary-rules").value, this.#edited?.rules ?? []);
    if (!name || problem) {
      this.#showStatus(problem ?? "Give the dictionary a name.");
      element(name ? "dictionary-rules" : "dictionary-name").focus();
      return undefined;
    }
    return this.#try(async () => {
      if (this.#edited) await this.#api.changeDictionary(this.#edited, name, rules);
      else await this.#api.addDictionary(name, rules);
      this.#edit(null);
      this.#showStatus(`${name} is saved.`);
      await this.load();
    });
  }

  #addFile(file) {
    return this.#try(async () => {
      const name = element("dictionary-name").value.trim() || file.name.replace(/\.\w+$/, "");
      await this.#api.addLexicon(name, file);
      this.#edit(null);
      this.#showStatus(`${name} is added.`);
      await this.load();
    });
  }

  #download(dictionary) {
    return this.#try(async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await this.#api.downloadDictionary(dictionary));
      link.download = `${dictionary.name}.pls`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
  }

  #confirmRemoval(dictionary) {
    const dialog = element("dictionary-dialog");
    element("dictionary-dialog-title").textContent = `Remove ${dictionary.name}?`;
    dialog.returnValue = "keep";
    dialog.addEventListener("close", () => dialog.returnValue === "remove" && this.#remove(dictionary), { once: true });
    dialog.showModal();
  }

  #remove(dictionary) {
    return this.#try(async () => {
      await this.#api.removeDictionary(dictionary.id);
      if (this.#edited?.id === dictionary.id) this.#edit(null);
      this.#showStatus(`${dictionary.name} is removed.`);
      await this.load();
    });
  }

  async #try(work) {
    try {
      await work();
    } catch (error) {
      this.#onError(ApiError.fromError(error), () => this.#try(work));
    }
  }

  #showStatus(text) {
    element("dictionary-status").textContent = text;
  }
}

/** The ids of the dictionaries that are chosen for speaking. */
export function chosenDictionaries() {
  return [...element("dictionary-choice").querySelectorAll(":checked")].map(({ value }) => value);
}

/** Shows a checkbox for each dictionary; those that were chosen stay chosen. */
function showChoice(dictionaries) {
  const chosen = new Set(chosenDictionaries());
  const list = element("dictionary-choice");
  list.replaceChildren(...dictionaries.map((each) => createCheckbox(each, chosen.has(each.id))));
  element("dictionary-card").hidden = dictionaries.length === 0;
  limitChoice();
  list.dispatchEvent(new Event("change"));
}

function createCheckbox(dictionary, isChosen) {
  const label = document.createElement("label");
  label.className = "check";
  const box = document.createElement("input");
  Object.assign(box, { type: "checkbox", value: dictionary.id, checked: isChosen });
  const name = document.createElement("span");
  name.textContent = dictionary.name;
  label.append(box, name);
  box.addEventListener("change", limitChoice);
  return label;
}

/** A request names at most so many; the others cannot be chosen then. */
function limitChoice() {
  const boxes = [...element("dictionary-choice").querySelectorAll("input")];
  const isFull = boxes.filter(({ checked }) => checked).length >= serverConfig.max_dictionary_locators;
  for (const box of boxes) box.disabled = isFull && !box.checked;
}
