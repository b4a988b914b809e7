"""espeak-ng (GPL-3), called directly: text in, IPA out."""

import ctypes
import re
from functools import cache
from threading import Lock

import espeakng_loader

# The library keeps one voice and one dictionary for the whole process.
_LIBRARY_LOCK = Lock()

_NO_AUDIO = 2  # synchronous output; nothing is ever synthesised
_KEEP_SIGNALS = 0x8000
_UTF8 = 1
_IPA_WITH_TIES = 0x02 | 0x80 | ord("^") << 8
# espeak marks a word that it reads by another language's rules: "(en)computer(hi)".
_LANGUAGE_SWITCH = re.compile(r"\([^()]*\)")


class _Voice(ctypes.Structure):
    """The beginning of espeak-ng's own description of a voice."""

    _fields_ = (("name", ctypes.c_char_p), ("languages", ctypes.c_char_p), ("identifier", ctypes.c_char_p))


class Espeak:
    """The IPA of a clause, one string a word, with "^" between the letters of a diphthong or affricate."""

    def __init__(self) -> None:
        with _LIBRARY_LOCK:
            self._library = _start()
        self._identifiers: dict[str, bytes] = {}

    def __call__(self, clause: str, voice: str) -> list[str]:
        printable = "".join(character if character.isprintable() else " " for character in clause)
        rest = ctypes.c_char_p(printable.encode("utf-8", "ignore"))
        heard: list[bytes] = []
        with _LIBRARY_LOCK:
            if not self._set_voice(voice):
                return []
            while rest.value is not None:
                found = self._library.espeak_TextToPhonemes(ctypes.byref(rest), _UTF8, _IPA_WITH_TIES)
                heard.append(found or b"")
        ipa = b" ".join(heard).decode("utf-8", "ignore")
        return _LANGUAGE_SWITCH.sub("", ipa).split()

    def _set_voice(self, voice: str) -> bool:
        # Asked of the library, since any reader may have changed it; setting one loads its dictionary.
        if self._identifiers.get(voice) == self._current_voice():
            return True
        if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
            return False
        self._identifiers[voice] = self._current_voice()
        return True

    def _current_voice(self) -> bytes:
        current = self._library.espeak_GetCurrentVoice()
        return bytes(current.contents.identifier or b"") if current else b""


@cache
def _start() -> ctypes.CDLL:
    """The library, ready. Once a process: started again, it lets go of the voice that others are reading with."""
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    library.espeak_TextToPhonemes.restype = ctypes.c_char_p
    library.espeak_TextToPhonemes.argtypes = (ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int)
    library.espeak_GetCurrentVoice.restype = ctypes.POINTER(_Voice)
    data = espeakng_loader.get_data_path().encode()
    if library.espeak_Initialize(_NO_AUDIO, 0, data, _KEEP_SIGNALS) < 0:
        raise RuntimeError(f"espeak-ng could not be started with the data in {data!r}")
    return library
