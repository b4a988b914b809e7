// The entry point: creates the parts of the page and connects them.

import { ApiClient, ApiError } from "./api_client.js";
import { CloningView } from "./cloning_view.js";
import { writeCode } from "./code_samples.js";
import { Sliders, fillFormatSelect } from "./controls.js";
import { DictionariesView, chosenDictionaries } from "./dictionaries_view.js";
import { Credentials, KeyDialog } from "./key_dialog.js";
import { MixPanel } from "./mix_panel.js";
import { SpeakView } from "./speak_view.js";
import { VoicePicker, VoicePreview, describeVoice } from "./voice_picker.js";
import { Banner, Tabs, ViewSwitcher, element } from "./widgets.js";

const EXAMPLE_TEXT =
  "Good evening. The night train to Lisbon leaves at 7:45 from platform 3, and a ticket costs $19.50. " +
  "Change the voice, move a slider, or paste a page of your favourite book.";

const credentials = new Credentials();
const api = new ApiClient(credentials);
const keyDialog = new KeyDialog(credentials);
const banner = new Banner(element("banner"));
const preview = new VoicePreview(api);
const sliders = new Sliders(element("sliders"));
const picker = new VoicePicker(
  {
    list: element("voices"),
    search: element("voice-search"),
    language: element("voice-language"),
    gender: element("voice-gender"),
    accent: element("voice-accent"),
    count: element("voice-count"),
  },
  preview,
);
const mixPanel = new MixPanel(api, { onKeep: keepMix, onError: showError });
const tabs = new Tabs(document.querySelector(".tabs"));

element("text").value = EXAMPLE_TEXT;
fillFormatSelect(element("format"));

const speakView = new SpeakView(api, banner, getRequest, showError);
const cloningView = new CloningView(api, preview, {
  onChange: reloadVoices,
  onUse: speakWith,
  onError: showError,
});
const dictionariesView = new DictionariesView(api, showError);
const views = new ViewSwitcher();

/** The speech request that the controls describe; null until the voices are loaded. */
function getRequest() {
  if (!picker.selected) return null;
  const voice = mixPanel.mixWith(picker.selected);
  return {
    voiceId: voice.voice_id,
    voiceName: voice.name,
    text: element("text").value,
    settings: sliders.values,
    format: element("format").value,
    dictionaries: chosenDictionaries(),
  };
}

/** Shows an ApiError in the banner or, if a key is needed, asks for one; `retry` tries the same again. */
function showError(error, retry = null) {
  if (error.needsKey) askForKey(error).then(() => retry?.());
  else banner.show(error, retry);
}

async function askForKey(error) {
  credentials.clear();
  await keyDialog.open(loadVoices, error);
}

async function loadVoices() {
  const voices = await api.listVoices();
  const defaultId = await api.getDefaultVoiceId();
  picker.show(voices, defaultId);
  mixPanel.show(voices);
  cloningView.show(voices);
  element("key-forget").hidden = !credentials.hasKey;
  await dictionariesView.load();
}

/** Updates the lists after a voice was made or removed. */
async function reloadVoices() {
  const voices = await api.listVoices();
  picker.show(voices);
  mixPanel.show(voices);
  cloningView.show(voices);
}

async function keepMix(voiceId) {
  await reloadVoices();
  picker.select(voiceId);
}

function speakWith(voiceId) {
  picker.select(voiceId);
  views.show("speak");
}

async function setSliders(getSettings) {
  try {
    sliders.values = await getSettings();
  } catch (error) {
    showError(ApiError.fromError(error), () => setSliders(getSettings));
  }
}

function showCode() {
  const request = getRequest();
  if (!request) return;
  element("code").firstChild.textContent = writeCode(tabs.selected, {
    ...request,
    base: api.base,
    withKey: credentials.hasKey,
  });
}

function showCharacterCount() {
  const { length } = element("text").value;
  element("count").textContent = `${length.toLocaleString("en")} ${length === 1 ? "character" : "characters"}`;
}

/** Copies the code; without https, browsers have only the deprecated `execCommand`. */
async function copyCode() {
  if (navigator.clipboard) return navigator.clipboard.writeText(element("code").textContent);
  const range = document.createRange();
  range.selectNodeContents(element("code"));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  document.execCommand("copy");
}

function showSelectedVoice() {
  const voice = mixPanel.mixWith(picker.selected);
  element("selected-voice").textContent = voice.labels ? `${voice.name} · ${describeVoice(voice)}` : voice.name;
}

picker.addEventListener("change", () => {
  const { voice_id: voiceId } = picker.selected;
  showSelectedVoice();
  setSliders(() => api.getSettings(voiceId));
});
mixPanel.addEventListener("change", () => {
  if (!picker.selected) return;
  showSelectedVoice();
  showCode();
});
sliders.addEventListener("change", showCode);
tabs.addEventListener("change", showCode);
element("format").addEventListener("change", showCode);
element("dictionary-choice").addEventListener("change", showCode);
element("text").addEventListener("input", () => {
  showCharacterCount();
  showCode();
});
element("sliders-reset").addEventListener("click", () => setSliders(() => api.getDefaultSettings()));
element("copy").addEventListener("click", async ({ currentTarget }) => {
  await copyCode();
  currentTarget.textContent = "Copied";
  setTimeout(() => (currentTarget.textContent = "Copy"), 1500);
});
element("key-forget").addEventListener("click", () => {
  credentials.clear();
  location.reload();
});
preview.addEventListener("start", () => speakView.stop());
preview.addEventListener("error", ({ detail }) => showError(detail));
element("say").addEventListener("click", () => preview.stop(), { capture: true });
views.addEventListener("change", () => banner.clear());

async function start() {
  try {
    await loadVoices();
  } catch (error) {
    showError(ApiError.fromError(error), start);
  }
}

showCharacterCount();
start();
