// The page, put together.

import { asCode } from "./code_samples.js";
import { Credentials } from "./credentials.js";
import { Desk } from "./speak_view.js";
import { Door } from "./key_dialog.js";
import { offerFormats } from "./formats.js";
import { described } from "./labels.js";
import { Notice } from "./widgets.js";
import { Picker } from "./voice_picker.js";
import { Preview } from "./preview.js";
import { Problem } from "./problem.js";
import { Service } from "./api_client.js";
import { Sliders } from "./controls.js";
import { Studio } from "./cloning_view.js";
import { Tabs } from "./tabs.js";
import { Views } from "./views.js";

const element = (id) => document.getElementById(id);

const GREETING =
  "Good evening. The night train to Lisbon leaves at 7:45 from platform 3, and a ticket costs $19.50. " +
  "Change the voice, move a slider, or paste a page of your favourite book.";

const credentials = new Credentials();
const service = new Service(credentials);
const door = new Door(credentials);
const notice = new Notice(element("problem"));
const preview = new Preview(service);
const sliders = new Sliders(element("sliders"));
const picker = new Picker(
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
const tabs = new Tabs(document.querySelector(".tabs"));

element("text").value = GREETING;
offerFormats(element("format"));

const request = () =>
  picker.chosen && {
    voiceId: picker.chosen.voice_id,
    voiceName: picker.chosen.name,
    text: element("text").value,
    settings: sliders.values,
    format: element("format").value,
  };

const desk = new Desk(service, notice, request, tell);
const studio = new Studio(service, preview, { onChange: refresh, onUse: use, onProblem: tell });
const views = new Views();

/** Tells a problem; where the key is the problem, asks for one. */
function tell(problem, again = null) {
  if (problem.keyNeeded) enter(problem).then(() => again?.());
  else notice.tell(problem, again);
}

async function load() {
  const [voices, defaultId] = [await service.voices(), await service.defaultVoiceId()];
  picker.show(voices, defaultId);
  studio.show(voices);
  element("key-forget").hidden = !credentials.present;
}

/** The voices anew, after one was made or removed. */
async function refresh() {
  const voices = await service.voices();
  picker.show(voices);
  studio.show(voices);
}

async function enter(problem) {
  credentials.forget();
  await door.open(load, problem);
}

function use(voiceId) {
  picker.choose(voiceId);
  views.go("speak");
}

async function seed(settings) {
  try {
    sliders.values = await settings();
  } catch (error) {
    tell(Problem.of(error), () => seed(settings));
  }
}

function showCode() {
  const asked = request();
  if (!asked) return;
  element("code").firstChild.textContent = asCode(tabs.chosen, {
    ...asked,
    base: service.base,
    withKey: credentials.present,
  });
}

function count() {
  const { length } = element("text").value;
  element("count").textContent = `${length.toLocaleString("en")} ${length === 1 ? "character" : "characters"}`;
}

picker.addEventListener("change", () => {
  element("chosen").textContent = `${picker.chosen.name} · ${described(picker.chosen)}`;
  const { voice_id: voiceId } = picker.chosen;
  seed(() => service.settings(voiceId));
});
sliders.addEventListener("change", showCode);
tabs.addEventListener("change", showCode);
element("format").addEventListener("change", showCode);
element("text").addEventListener("input", () => {
  count();
  showCode();
});
element("sliders-reset").addEventListener("click", () => seed(() => service.defaultSettings()));
element("copy").addEventListener("click", async ({ currentTarget }) => {
  await copied(element("code").textContent);
  currentTarget.textContent = "Copied";
  setTimeout(() => (currentTarget.textContent = "Copy"), 1500);
});
element("key-forget").addEventListener("click", () => {
  credentials.forget();
  location.reload();
});
preview.addEventListener("start", () => desk.stop());
preview.addEventListener("problem", ({ detail }) => tell(detail));
element("say").addEventListener("click", () => preview.stop(), { capture: true });
views.addEventListener("change", () => notice.clear());

/** Puts a text on the clipboard; pages without https have only the old way. */
async function copied(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const range = document.createRange();
  range.selectNodeContents(element("code"));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  document.execCommand("copy");
}

async function begin() {
  try {
    await load();
  } catch (error) {
    tell(Problem.of(error), begin);
  }
}

count();
begin();
