// The request of the page as code that can be copied and run.

import { createSpeechBody } from "./api_client.js";
import { fileExtension } from "./controls.js";

const quote = (text) => JSON.stringify(text);
const quoteForShell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
const formatPythonValue = (value) =>
  value === true ? "True" : value === false ? "False" : typeof value === "string" ? quote(value) : String(value);

function formatPythonDict(fields, indent) {
  const lines = Object.entries(fields).map(([name, value]) => {
    return `${indent}    ${quote(name)}: ${formatPython(value, `${indent}    `)},`;
  });
  return ["{", ...lines, `${indent}}`].join("\n");
}

function formatPython(value, indent) {
  if (Array.isArray(value)) return `[${value.map((each) => formatPython(each, indent)).join(", ")}]`;
  return value !== null && typeof value === "object" ? formatPythonDict(value, indent) : formatPythonValue(value);
}

function writeCurl({ address, body, file, withKey }) {
  return [
    `curl -X POST ${quoteForShell(address)}`,
    ...(withKey ? [`-H "Authorization: Bearer $SVC_KEY"`] : []),
    `-H 'Content-Type: application/json'`,
    `-d ${quoteForShell(JSON.stringify(body))}`,
    `-o ${file}`,
  ].join(" \\\n  ");
}

function writePython({ address, body, file, withKey }) {
  const key = withKey ? `"Authorization": "Bearer " + os.environ["SVC_KEY"], ` : "";
  return [
    "import json",
    ...(withKey ? ["import os"] : []),
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${quote(address)},`,
    `    data=json.dumps(${formatPythonDict(body, "    ")}).encode(),`,
    `    headers={${key}"Content-Type": "application/json"},`,
    ")",
    `with urllib.request.urlopen(request) as speech, open("${file}", "wb") as file:`,
    "    while chunk := speech.read1():",
    "        file.write(chunk)",
  ].join("\n");
}

function writeJavascript({ address, body, file, withKey }) {
  const key = withKey ? "\n    Authorization: `Bearer ${process.env.SVC_KEY}`," : "";
  return [
    `import { writeFile } from "node:fs/promises";`,
    "",
    `const response = await fetch(${quote(address)}, {`,
    `  method: "POST",`,
    `  headers: {${key}\n    "Content-Type": "application/json",\n  },`,
    `  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll("\n", "\n  ")}),`,
    "});",
    "if (!response.ok) throw new Error(await response.text());",
    `await writeFile("${file}", response.body);`,
  ].join("\n");
}

const WRITERS = { curl: writeCurl, python: writePython, javascript: writeJavascript };

/** The request in one of the languages. The code reads the key from the environment, so it never shows one. */
export function writeCode(language, { base, withKey, ...request }) {
  const { voiceId, format } = request;
  const address = new URL(`v1/text-to-speech/${encodeURIComponent(voiceId)}/stream?output_format=${format}`, base).href;
  const body = createSpeechBody(request);
  return WRITERS[language]({ address, body, file: `speech.${fileExtension(format)}`, withKey });
}
