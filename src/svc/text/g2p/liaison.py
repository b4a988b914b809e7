"""French liaison: which words are joined with a vowel after them."""

import re

# After these words the last consonant is heard before a vowel. espeak-ng joins every word: "les enfants-z ont".
_LIST = """
    les des ces mes tes ses nos vos leurs un mon ton son cet aux quels quelles quelques plusieurs certains certaines
    aucun deux trois six dix vingt cent cents nous vous ils elles on en y tout tous toutes dans sans sous chez dès
    très plus moins bien trop pas quand dont est sont ont suis es êtes sommes étais était étaient avait avaient avons
    avez fut furent soit soient serait seraient petit petits petites grand grands grandes bon bons bonnes gros
    premier premiers premières dernier derniers dernières autres mêmes nouveaux nouvelles vieux vieilles beaux belles
    jeunes longs longues mauvais anciens anciennes tels telles comment
"""
_LIAISON_WORDS = frozenset(_LIST.split())
LIAISON_CONSONANTS = "ztnpʁ"
_STRESS = str.maketrans("", "", "ˈˌ")


def has_false_liaison(word: str, phonemes: str, alone: str) -> bool:
    """Whether a French word has a last consonant in a clause that it lacks alone, and that nobody says."""
    if phonemes[-1:] not in LIAISON_CONSONANTS or re.split("['’-]", word.lower())[-1] in _LIAISON_WORDS:
        return False
    return phonemes[:-1].translate(_STRESS) == alone.translate(_STRESS)
