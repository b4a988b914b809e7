"""Graphemes to phonemes, in the alphabet that Kokoro was trained on."""

from svc.text.phonemes.ipa import from_ipa
from svc.text.phonemes.phonemizer import Phonemizer

__all__ = ["Phonemizer", "from_ipa"]
