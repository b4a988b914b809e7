"""Graphemes to phonemes, in the phoneme vocabulary that Kokoro was trained on."""

from svc.text.g2p.ipa import from_ipa
from svc.text.g2p.phonemizer import Phonemizer

__all__ = ["Phonemizer", "from_ipa"]
