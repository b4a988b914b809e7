"""espeak-ng (GPL-3) as a program of its own: reads clauses from standard input, writes phonemes to standard output.

Started by `espeak_process.py` by the path of this file, without svc and without installed packages: it begins in
milliseconds, and what espeak-ng could reach is this small process. A request is a line: a voice and clauses, with tabs
between. The answer is a line with the phonemes of each clause. It ends with its standard input.
"""

import ctypes
import resource
import signal
import sys

# It takes 26 MB when it has read every language, libraries included.
_MEMORY = 256 << 20
_LIMITS = {
    resource.RLIMIT_AS: _MEMORY,
    resource.RLIMIT_CORE: 0,  # would have the callers' texts in it
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_NOFILE: 16,
}

_NO_AUDIO = 2  # synchronous output; nothing is ever synthesised
_KEEP_SIGNALS = 0x8000
_UTF8 = 1
_IPA_WITH_TIES = 0x02 | 0x80 | ord("^") << 8
_SEPARATORS = bytes.maketrans(b"\t\n", b"  ")


def load_library(path: str, data: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.espeak_TextToPhonemes.restype = ctypes.c_char_p
    library.espeak_TextToPhonemes.argtypes = (ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int)
    if library.espeak_Initialize(_NO_AUDIO, 0, data.encode(), _KEEP_SIGNALS) < 0:
        raise OSError(f"no data in {data!r}")
    return library


def phonemize(library: ctypes.CDLL, clause: bytes) -> bytes:
    """The IPA of UTF-8 text, in the voice that is set."""
    rest = ctypes.c_char_p(clause)
    parts: list[bytes] = []
    while rest.value is not None:
        parts.append(library.espeak_TextToPhonemes(ctypes.byref(rest), _UTF8, _IPA_WITH_TIES) or b"")
    return b" ".join(parts).translate(_SEPARATORS)


def _limit_resources() -> None:
    for name, most in _LIMITS.items():
        try:
            resource.setrlimit(name, (most, most))
        except (OSError, ValueError):  # macOS does not limit the address space
            continue


def main(path: str, data: str, seconds: str) -> None:
    # What stops a service may be sent to all its processes; this one is needed until the server has finished.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    _limit_resources()
    library = load_library(path, data)
    answers = sys.stdout.buffer
    answers.write(b"\n")  # it has loaded
    answers.flush()
    current = None
    for line in sys.stdin.buffer:
        voice, *clauses = line.rstrip(b"\n").split(b"\t")
        # So much processor time for each question: kills a search without end, also when the server is gone.
        signal.setitimer(signal.ITIMER_PROF, float(seconds))
        if voice != current:
            current = voice if library.espeak_SetVoiceByName(voice) == 0 else None
        found = [phonemize(library, clause) if current else b"" for clause in clauses]
        answers.write(b"\t".join(found) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
