"""The output formats: one table, from which the APIs' names, the files' endings, the page's menu and the docs come."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from svc.errors import InvalidOutputFormat

TELEPHONY = "Telephony"


class Codec(StrEnum):
    """How samples are encoded; the value is the first part of the formats' names, and the ending of a file's name."""

    label: str
    family: str
    """The codecs under one heading of a menu."""
    content_type: str
    """The media type; clients check that it begins with `audio/`."""
    sample_bits: int
    """0 if the samples do not all take as many."""
    default: str
    """The format that is meant where only the codec is named."""
    rates: list[str]
    """In Hz and, with lossy compression, kbit/s, as in the formats' names."""

    def __new__(cls, value: str, label: str, family: str, content_type: str, sample_bits: int, rates: str) -> Self:
        codec = str.__new__(cls, value)
        codec._value_, codec.label, codec.family = value, label, family
        codec.content_type, codec.sample_bits = content_type, sample_bits
        codec.rates = rates.split()
        codec.default = f"{value}_{codec.rates[0]}"
        return codec

    # Of the rates, those of the default come first.
    MP3 = "mp3", "MP3", "MP3", "audio/mpeg", 0, "44100_128 22050_32 24000_48 44100_32 44100_64 44100_96 44100_192"
    OPUS = "opus", "Opus", "Opus (Ogg)", "audio/ogg", 0, "48000_64 48000_32 48000_96 48000_128 48000_192"
    AAC = "aac", "AAC", "AAC", "audio/aac", 0, "24000_64 44100_128"
    FLAC = "flac", "FLAC", "FLAC", "audio/flac", 0, "24000 16000 44100 48000"
    WAV = "wav", "WAV", "WAV", "audio/wav", 16, "24000 8000 16000 22050 32000 44100 48000"
    PCM = "pcm", "PCM", "PCM, 16 bits, no header", "audio/pcm", 16, "24000 8000 16000 22050 32000 44100 48000"
    ULAW = "ulaw", "µ-law", TELEPHONY, "audio/basic", 8, "8000"
    ALAW = "alaw", "A-law", TELEPHONY, "audio/x-alaw-basic", 8, "8000"


DEFAULT = Codec.MP3.default
ENDINGS = {f".{codec}": codec.default for codec in Codec} | {".ogg": Codec.OPUS.default, ".raw": Codec.PCM.default}
"""The format that the ending of a file's name means."""


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """A value of `output_format`. Always mono; `bit_rate` is in bit/s, None without lossy compression."""

    name: str
    codec: Codec
    sample_rate: int
    bit_rate: int | None = None

    @property
    def content_type(self) -> str:
        return self.codec.content_type

    @property
    def constant_bit_rate(self) -> int | None:
        """The bits of each second of audio, if they are always as many: then the bytes so far tell the time."""
        if self.codec.sample_bits:
            return self.codec.sample_bits * self.sample_rate
        return self.bit_rate if self.codec is Codec.MP3 else None


def _list_formats(codec: Codec) -> Iterator[OutputFormat]:
    for sample_rate, *kilobits in sorted([int(part) for part in rate.split("_")] for rate in codec.rates):
        name = "_".join(map(str, (codec, sample_rate, *kilobits)))
        yield OutputFormat(name, codec, sample_rate, 1000 * kilobits[0] if kilobits else None)


OUTPUT_FORMATS = {each.name: each for codec in Codec for each in _list_formats(codec)}
OUTPUT_FORMATS["mp3_44100"] = replace(OUTPUT_FORMATS[DEFAULT], name="mp3_44100")


def find(name: str) -> OutputFormat:
    """The format of that name, in whatever case; raises `InvalidOutputFormat`."""
    try:
        return OUTPUT_FORMATS[name.strip().lower()]
    except KeyError:
        raise InvalidOutputFormat(name, OUTPUT_FORMATS) from None
