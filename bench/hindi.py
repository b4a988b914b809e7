"""Hindi reduced to consonants: Whisper base writes it in Devanagari, Urdu or Latin script, and Urdu omits vowels."""

import re

# Aspirates, retroflexes and borrowed sounds are merged with their plain neighbours, since spellings differ; letters
# that are also used for vowels (य, व, ی, و) are omitted with the vowels.
_LETTERS = {
    "k": "कखکكقخkq",
    "g": "गघگغg",
    "c": "चछچc",
    "j": "जझجزذضظژjz",
    "t": "टठतथتٹطةt",
    "d": "डढदधدڈd",
    "r": "रرڑr",
    "n": "नणङञنn",
    "p": "पफپفpf",
    "b": "बभبb",
    "m": "मمm",
    "l": "लلl",
    "s": "सسصثs",
    "š": "शषشš",
    "h": "हہهحۃh",
    **{digit: digit + deva for digit, deva in zip("0123456789", "०१२३४५६७८९", strict=True)},
}
_NUKTA, _ANUSVARA = "़", "ं"
# With a dot below these are another letter: ड़ is an r; ज़ stays with j.
_DOTTED = {"ड": "r", "ढ": "r"}
_SOUNDS = {letter: sound for sound, letters in _LETTERS.items() for letter in letters}


def extract_consonants(text: str) -> str:
    """The consonants and digits of a text in any of the three scripts."""
    text = re.sub(r"([kgcjtdbp])h", r"\1", text.replace("sh", "š"))
    sounds = []
    for place, letter in enumerate(text):
        following = text[place + 1 : place + 2]
        if letter in _DOTTED and following == _NUKTA:
            sounds.append(_DOTTED[letter])
        elif letter == _ANUSVARA:
            # Urdu writes it as an n within a word, and rarely at its end.
            sounds.append("n" if following in _SOUNDS else "")
        else:
            sounds.append(_SOUNDS.get(letter, ""))
    return "".join(sounds)
