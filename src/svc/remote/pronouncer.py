"""Sentences that are pronounced where the engine is."""

from collections.abc import Sequence

from svc.remote.replicas import LOST, Replicas
from svc.remote.wire import WordsRequest
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.text.markup.parsed_text import Replacement
from svc.text.sentences.phrases import Word, pronounce


class RemotePronouncer:
    """Asks a replica for the words of a sentence: to find them takes nearly half of what a server does for a text, and
    one server must suffice for all engines of a machine. Where none answers, they are found here."""

    def __init__(self, replicas: Replicas, phonemizer: Phonemizer) -> None:
        self._replicas = replicas
        self._phonemizer = phonemizer

    def __call__(self, text: str, language: Language, replacements: Sequence[Replacement]) -> list[Word]:
        try:
            with self._replicas.connect() as connection:
                return connection.pronounce(WordsRequest.of(text, language, replacements))
        except LOST:
            return pronounce(self._phonemizer, text, language, replacements)
