// Makes, changes and speaks with pronunciation dictionaries, with npm's @elevenlabs/elevenlabs-js 2.x.

const { ElevenLabsClient } = require("@elevenlabs/elevenlabs-js");
const { report, bytes } = require("./report.cjs");

const [baseUrl, , , apiKey, text, voice] = process.argv.slice(2);
const { pronunciationDictionaries: dictionaries, textToSpeech } = new ElevenLabsClient({
    baseUrl,
    apiKey,
    timeoutInSeconds: 600,
});
const alias = { type: "alias", stringToReplace: "zzt", alias: "elephants", caseSensitive: false };
const phoneme = { type: "phoneme", stringToReplace: "Xq", phoneme: "bəˈnænə", alphabet: "ipa" };
const arpabet = { ...phoneme, phoneme: "B AH0 N AE1 N AH0", alphabet: "cmu-arpabet" };
const names = async (request) =>
    (await dictionaries.list(request)).pronunciationDictionaries.map((dictionary) => dictionary.name);
let id;
let first;
let content;

/** The same value with the names that its fields have on the wire. */
function wire(value) {
    if (Array.isArray(value)) return value.map(wire);
    if (value === null || typeof value !== "object") return value;
    const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [snake(name), wire(field)]));
}

async function speak(...versions) {
    const pronunciationDictionaryLocators = versions.map((versionId) => ({ pronunciationDictionaryId: id, versionId }));
    const request = { text, outputFormat: "pcm_24000", pronunciationDictionaryLocators };
    return bytes(await textToSpeech.convert(voice, request));
}

report({
    added: async () => {
        const added = await dictionaries.createFromRules({ name: "Animals", description: "Some.", rules: [alias] });
        id = added.id;
        first = added.versionId;
        return wire(added);
    },
    added_rules: async () => wire(await dictionaries.rules.add(id, { rules: [phoneme] })),
    got: async () => wire(await dictionaries.get(id)),
    spoken: async () => speak(undefined),
    spoken_first: async () => speak(first, "unknown"),
    downloaded: async () => {
        content = await bytes(await dictionaries.download(id, (await dictionaries.get(id)).latestVersionId));
        return content;
    },
    copied: async () => {
        const file = new Blob([Buffer.from(content, "base64")]);
        const added = await dictionaries.createFromFile({ name: "Copy", file, workspaceAccess: "viewer" });
        return wire(await dictionaries.get(added.id));
    },
    listed: async () => {
        const query = { pageSize: 1, sort: "name", sortDirection: "ascending" };
        const page = await dictionaries.list(query);
        const rest = await names({ ...query, cursor: page.nextCursor });
        return [...page.pronunciationDictionaries.map((dictionary) => dictionary.name), ...rest];
    },
    set: async () => wire(await dictionaries.rules.set(id, { rules: [arpabet] })),
    removed_rules: async () => wire(await dictionaries.rules.remove(id, { ruleStrings: ["Xq"] })),
    updated: async () => wire(await dictionaries.update(id, { name: "Beasts", archived: true })),
    archived: () => names({ includeArchived: true }),
    not_archived: () => names(),
    unknown: () => dictionaries.get("nobody"),
    invalid: () => dictionaries.rules.set(id, { rules: [{ ...phoneme, alphabet: "none" }] }),
    unknown_cursor: () => dictionaries.list({ cursor: "none" }),
});
