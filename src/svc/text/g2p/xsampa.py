"""X-SAMPA, the IPA in ASCII, as some callers write it in `<phoneme>` tags."""

import re

# Letters that are not themselves in the IPA.
_SYMBOLS = {
    "A": "ɑ", "B": "β", "C": "ç", "D": "ð", "E": "ɛ", "F": "ɱ", "G": "ɣ", "H": "ɥ", "I": "ɪ", "J": "ɲ", "K": "ɬ",
    "L": "ʎ", "M": "ɯ", "N": "ŋ", "O": "ɔ", "P": "ʋ", "Q": "ɒ", "R": "ʁ", "S": "ʃ", "T": "θ", "U": "ʊ", "V": "ʌ",
    "W": "ʍ", "X": "χ", "Y": "ʏ", "Z": "ʒ", "g": "ɡ", "1": "ɨ", "2": "ø", "3": "ɜ", "4": "ɾ", "5": "ɫ", "6": "ɐ",
    "7": "ɤ", "8": "ɵ", "9": "œ", "@": "ə", "{": "æ", "}": "ʉ", "&": "ɶ", "?": "ʔ", '"': "ˈ", "'": "ʲ", "%": "ˌ",
    ":": "ː", "r\\": "ɹ", "r\\`": "ɻ", "R\\": "ʀ", "h\\": "ɦ", "j\\": "ʝ", "J\\": "ɟ", "l\\": "ɺ", "s\\": "ɕ",
    "x\\": "ɧ", "z\\": "ʑ", "v\\": "ʋ", "p\\": "ɸ", "B\\": "ʙ", "G\\": "ɢ", "H\\": "ʜ", "I\\": "ᵻ", "L\\": "ʟ",
    "N\\": "ɴ", "X\\": "ħ", "?\\": "ʕ", "@\\": "ɘ", "3\\": "ɞ", "@`": "ɚ", "3`": "ɝ", "d`": "ɖ", "l`": "ɭ", "n`": "ɳ",
    "r`": "ɽ", "s`": "ʂ", "t`": "ʈ", "z`": "ʐ",
    # diacritics: nasal, aspirated, palatalized, syllabic; ties, glides, separators and tones have no symbol
    "~": "\u0303", "_~": "\u0303", "_h": "ʰ", "_j": "ʲ", "_w": "ʷ", "=": "\u0329", "_=": "\u0329", "_^": "",
    "_": "", ".": "", "-": "", "|": "",
}  # fmt: skip

_SYMBOL = re.compile("|".join(re.escape(symbol) for symbol in sorted(_SYMBOLS, key=len, reverse=True)))


def xsampa_to_ipa(xsampa: str) -> str:
    """IPA for X-SAMPA such as `t@"meItoU`."""
    return _SYMBOL.sub(lambda found: _SYMBOLS[found[0]], xsampa)
