"""The ARPAbet of the CMU pronouncing dictionary, as IPA."""

CONSONANTS = {
    "B": "b", "CH": "tʃ", "D": "d", "DH": "ð", "F": "f", "G": "ɡ", "HH": "h", "JH": "dʒ",
    "K": "k", "L": "l", "M": "m", "N": "n", "NG": "ŋ", "P": "p", "R": "ɹ", "S": "s",
    "SH": "ʃ", "T": "t", "TH": "θ", "V": "v", "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip

VOWELS = {
    "AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "aʊ", "AY": "aɪ", "EH": "ɛ", "ER": "ɝ",
    "EY": "eɪ", "IH": "ɪ", "IY": "i", "OW": "oʊ", "OY": "ɔɪ", "UH": "ʊ", "UW": "u",
}  # fmt: skip

# Two vowels change their quality where no stress falls on them.
UNSTRESSED = VOWELS | {"AH": "ə", "ER": "ɚ"}

STRESS = {"0": "", "1": "ˈ", "2": "ˌ"}


def to_ipa(arpabet: str) -> str:
    """IPA for symbols such as `T AH0 M EY1 T OW0`; what is no ARPAbet symbol is left out."""
    return "".join(_symbol_to_ipa(symbol) for symbol in arpabet.upper().split())


def _symbol_to_ipa(symbol: str) -> str:
    if symbol in CONSONANTS:
        return CONSONANTS[symbol]
    vowel, stress = symbol.rstrip("012"), symbol[-1]
    if vowel not in VOWELS:
        return ""
    # The stress mark stands right before the vowel, as in the phonemes the engine was trained on.
    sound = (UNSTRESSED if stress == "0" else VOWELS)[vowel]
    return STRESS.get(stress, "") + sound
