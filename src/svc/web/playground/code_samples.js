// The request that the page would make, as code that can be copied and run.

import { extension } from "./formats.js";

const quoted = (text) => JSON.stringify(text);
const shellQuoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
const pythonValue = (value) =>
  value === true ? "True" : value === false ? "False" : typeof value === "string" ? quoted(value) : String(value);

function pythonDict(fields, indent) {
  const lines = Object.entries(fields).map(([name, value]) => {
    const literal =
      value !== null && typeof value === "object" ? pythonDict(value, `${indent}    `) : pythonValue(value);
    return `${indent}    ${quoted(name)}: ${literal},`;
  });
  return ["{", ...lines, `${indent}}`].join("\n");
}

function curl({ address, body, file, withKey }) {
  return [
    `curl -X POST ${shellQuoted(address)}`,
    ...(withKey ? [`-H "Authorization: Bearer $SVC_KEY"`] : []),
    `-H 'Content-Type: application/json'`,
    `-d ${shellQuoted(JSON.stringify(body))}`,
    `-o ${file}`,
  ].join(" \\\n  ");
}

function python({ address, body, file, withKey }) {
  const key = withKey ? `"Authorization": "Bearer " + os.environ["SVC_KEY"], ` : "";
  return [
    "import json",
    ...(withKey ? ["import os"] : []),
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${quoted(address)},`,
    `    data=json.dumps(${pythonDict(body, "    ")}).encode(),`,
    `    headers={${key}"Content-Type": "application/json"},`,
    ")",
    `with urllib.request.urlopen(request) as speech, open("${file}", "wb") as file:`,
    "    while chunk := speech.read1():",
    "        file.write(chunk)",
  ].join("\n");
}

function javascript({ address, body, file, withKey }) {
  const key = withKey ? "\n    Authorization: `Bearer ${process.env.SVC_KEY}`," : "";
  return [
    `import { writeFile } from "node:fs/promises";`,
    "",
    `const response = await fetch(${quoted(address)}, {`,
    `  method: "POST",`,
    `  headers: {${key}\n    "Content-Type": "application/json",\n  },`,
    `  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll("\n", "\n  ")}),`,
    "});",
    "if (!response.ok) throw new Error(await response.text());",
    `await writeFile("${file}", response.body);`,
  ].join("\n");
}

const LANGUAGES = { curl, python, javascript };

/** The request in one of the languages; a key is named, and never shown. */
export function asCode(language, { base, voiceId, text, settings, format, withKey }) {
  const address = new URL(`v1/text-to-speech/${encodeURIComponent(voiceId)}/stream?output_format=${format}`, base).href;
  const body = { text, voice_settings: settings };
  return LANGUAGES[language]({ address, body, file: `speech.${extension(format)}`, withKey });
}
