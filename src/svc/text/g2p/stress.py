"""Stress marks in English phonemes."""

PRIMARY, SECONDARY = "ˈ", "ˌ"
VOWELS = frozenset("AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻɐ")
_HEAVY = frozenset("AIOQWYʤʧ")


def is_stressed(phonemes: str) -> bool:
    return PRIMARY in phonemes or SECONDARY in phonemes


def lowered(phonemes: str) -> str:
    """Main stress made side stress; side stress gone."""
    if PRIMARY not in phonemes:
        return phonemes
    return phonemes.replace(SECONDARY, "").replace(PRIMARY, SECONDARY)


def raised(phonemes: str) -> str:
    """Side stress made main stress; a word without stress gets it on its first vowel."""
    if PRIMARY in phonemes:
        return phonemes
    if SECONDARY in phonemes:
        return phonemes.replace(SECONDARY, PRIMARY)
    return _on_first_vowel(phonemes, PRIMARY)


def lifted(phonemes: str) -> str:
    """A word without stress gets side stress on its first vowel, as a sentence's first word has."""
    return phonemes if is_stressed(phonemes) else _on_first_vowel(phonemes, SECONDARY)


def _on_first_vowel(phonemes: str, mark: str) -> str:
    for at, symbol in enumerate(phonemes):
        if symbol in VOWELS:
            return phonemes[:at] + mark + phonemes[at:]
    return phonemes


def compound(parts: list[str]) -> list[str]:
    """The parts of a compound word ("well-known"), the lighter half of them with less stress."""
    sounding = [at for at, part in enumerate(parts) if part]
    primaries = sum(PRIMARY in parts[at] for at in sounding)
    if len(sounding) < 2 or primaries <= (len(sounding) + 1) // 2:
        return parts
    lightest = sorted(sounding, key=lambda at: (PRIMARY in parts[at], _weight(parts[at]), at))
    demoted = set(lightest[: len(sounding) // 2])
    return [lowered(part) if at in demoted else part for at, part in enumerate(parts)]


def _weight(phonemes: str) -> int:
    return sum(2 if symbol in _HEAVY else 1 for symbol in phonemes)
