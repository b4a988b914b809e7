"""Hindi by its consonants: Whisper base writes it now in Devanagari, now in Urdu letters, which leave vowels out."""

# Aspirates, retroflexes and borrowed sounds fall together with their plain neighbours, since spellings differ; what
# either script writes for vowels as well (य, व, ی, و) is left out with the vowels.
_LETTERS = {
    "k": "कखکكقخ",
    "g": "गघگغ",
    "c": "चछچ",
    "j": "जझجزذضظژ",
    "t": "टठतथتٹطة",
    "d": "डढदधدڈ",
    "r": "रرڑ",
    "n": "नणङञن",
    "p": "पफپف",
    "b": "बभب",
    "m": "मم",
    "l": "लل",
    "s": "सسصث",
    "š": "शषش",
    "h": "हہهحۃ",
    **{digit: digit + deva for digit, deva in zip("0123456789", "०१२३४५६७८९", strict=True)},
}
_NUKTA, _ANUSVARA = "़", "ं"
# A dot below makes another letter of these: ड़ is an r, ज़ stays with j.
_DOTTED = {"ड": "r", "ढ": "r"}
_SOUNDS = {letter: sound for sound, letters in _LETTERS.items() for letter in letters}


def consonants(text: str) -> str:
    """The consonants and digits of a text in either script; other letters stand for themselves."""
    sounds = []
    for place, letter in enumerate(text):
        following = text[place + 1 : place + 2]
        if letter in _DOTTED and following == _NUKTA:
            sounds.append(_DOTTED[letter])
        elif letter == _ANUSVARA:
            # Within a word Urdu writes it as an n, at the end hardly at all.
            sounds.append("n" if following in _SOUNDS else "")
        else:
            sounds.append(_SOUNDS.get(letter, letter if letter.isascii() and letter.isalpha() else ""))
    return "".join(sounds)
