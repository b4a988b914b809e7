"""Stress marks in English phonemes."""

PRIMARY, SECONDARY = "ˈ", "ˌ"
VOWELS = frozenset("AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻɐ")
_HEAVY = frozenset("AIOQWYʤʧ")


def is_stressed(phonemes: str) -> bool:
    return PRIMARY in phonemes or SECONDARY in phonemes


def lower_stress(phonemes: str) -> str:
    """Primary stress becomes secondary; secondary stress is removed."""
    if PRIMARY not in phonemes:
        return phonemes
    return phonemes.replace(SECONDARY, "").replace(PRIMARY, SECONDARY)


def raise_stress(phonemes: str) -> str:
    """Secondary stress becomes primary; a word without stress gets it on its first vowel."""
    if PRIMARY in phonemes:
        return phonemes
    if SECONDARY in phonemes:
        return phonemes.replace(SECONDARY, PRIMARY)
    return _mark_first_vowel(phonemes, PRIMARY)


def add_stress(phonemes: str) -> str:
    """A word without stress gets secondary stress on its first vowel, as capitalised words have."""
    return phonemes if is_stressed(phonemes) else _mark_first_vowel(phonemes, SECONDARY)


def _mark_first_vowel(phonemes: str, mark: str) -> str:
    for at, symbol in enumerate(phonemes):
        if symbol in VOWELS:
            return phonemes[:at] + mark + phonemes[at:]
    return phonemes


def stress_compound(parts: list[str]) -> list[str]:
    """The parts of a compound word ("well-known"), with less stress on the lighter half of them."""
    voiced = [at for at, part in enumerate(parts) if part]
    primaries = sum(PRIMARY in parts[at] for at in voiced)
    if len(voiced) < 2 or primaries <= (len(voiced) + 1) // 2:
        return parts
    lightest = sorted(voiced, key=lambda at: (PRIMARY in parts[at], _weigh(parts[at]), at))
    lowered = set(lightest[: len(voiced) // 2])
    return [lower_stress(part) if at in lowered else part for at, part in enumerate(parts)]


def _weigh(phonemes: str) -> int:
    return sum(2 if symbol in _HEAVY else 1 for symbol in phonemes)
