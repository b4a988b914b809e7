"""The output formats."""

from dataclasses import dataclass
from enum import StrEnum

from svc.errors import InvalidOutputFormat

DEFAULT = "mp3_44100_128"


class Codec(StrEnum):
    """How samples are encoded; the value is the first part of the format's name."""

    MP3 = "mp3"
    PCM = "pcm"
    ULAW = "ulaw"
    ALAW = "alaw"
    OPUS = "opus"
    WAV = "wav"
    AAC = "aac"
    FLAC = "flac"


CONTENT_TYPES = {
    Codec.MP3: "audio/mpeg",
    Codec.PCM: "audio/pcm",
    Codec.ULAW: "audio/basic",
    Codec.ALAW: "audio/x-alaw-basic",
    Codec.OPUS: "audio/ogg",
    Codec.WAV: "audio/wav",
    Codec.AAC: "audio/aac",
    Codec.FLAC: "audio/flac",
}


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """A value of `output_format`. Always mono; `bit_rate` is in bit/s, None without lossy compression."""

    name: str
    codec: Codec
    sample_rate: int
    bit_rate: int | None = None

    @property
    def content_type(self) -> str:
        """The media type; clients check that it begins with `audio/`."""
        return CONTENT_TYPES[self.codec]

    @property
    def constant_bit_rate(self) -> int | None:
        """The bits of each second of audio, if they are always as many: then the bytes so far tell the time."""
        if self.codec in (Codec.PCM, Codec.WAV):
            return 16 * self.sample_rate
        if self.codec in (Codec.ULAW, Codec.ALAW):
            return 8 * self.sample_rate
        return self.bit_rate if self.codec is Codec.MP3 else None


OUTPUT_FORMATS: dict[str, OutputFormat] = {
    output_format.name: output_format
    for output_format in (
        OutputFormat("mp3_22050_32", Codec.MP3, 22_050, 32_000),
        OutputFormat("mp3_24000_48", Codec.MP3, 24_000, 48_000),
        OutputFormat("mp3_44100", Codec.MP3, 44_100, 128_000),
        OutputFormat("mp3_44100_32", Codec.MP3, 44_100, 32_000),
        OutputFormat("mp3_44100_64", Codec.MP3, 44_100, 64_000),
        OutputFormat("mp3_44100_96", Codec.MP3, 44_100, 96_000),
        OutputFormat("mp3_44100_128", Codec.MP3, 44_100, 128_000),
        OutputFormat("mp3_44100_192", Codec.MP3, 44_100, 192_000),
        OutputFormat("pcm_8000", Codec.PCM, 8_000),
        OutputFormat("pcm_16000", Codec.PCM, 16_000),
        OutputFormat("pcm_22050", Codec.PCM, 22_050),
        OutputFormat("pcm_24000", Codec.PCM, 24_000),
        OutputFormat("pcm_32000", Codec.PCM, 32_000),
        OutputFormat("pcm_44100", Codec.PCM, 44_100),
        OutputFormat("pcm_48000", Codec.PCM, 48_000),
        OutputFormat("ulaw_8000", Codec.ULAW, 8_000),
        OutputFormat("alaw_8000", Codec.ALAW, 8_000),
        OutputFormat("opus_48000_32", Codec.OPUS, 48_000, 32_000),
        OutputFormat("opus_48000_64", Codec.OPUS, 48_000, 64_000),
        OutputFormat("opus_48000_96", Codec.OPUS, 48_000, 96_000),
        OutputFormat("opus_48000_128", Codec.OPUS, 48_000, 128_000),
        OutputFormat("opus_48000_192", Codec.OPUS, 48_000, 192_000),
        OutputFormat("wav_8000", Codec.WAV, 8_000),
        OutputFormat("wav_16000", Codec.WAV, 16_000),
        OutputFormat("wav_22050", Codec.WAV, 22_050),
        OutputFormat("wav_24000", Codec.WAV, 24_000),
        OutputFormat("wav_32000", Codec.WAV, 32_000),
        OutputFormat("wav_44100", Codec.WAV, 44_100),
        OutputFormat("wav_48000", Codec.WAV, 48_000),
        OutputFormat("aac_24000_64", Codec.AAC, 24_000, 64_000),
        OutputFormat("aac_44100_128", Codec.AAC, 44_100, 128_000),
        OutputFormat("flac_16000", Codec.FLAC, 16_000),
        OutputFormat("flac_24000", Codec.FLAC, 24_000),
        OutputFormat("flac_44100", Codec.FLAC, 44_100),
        OutputFormat("flac_48000", Codec.FLAC, 48_000),
    )
}


def find(name: str) -> OutputFormat:
    """The format of that name, in whatever case; raises `InvalidOutputFormat`."""
    try:
        return OUTPUT_FORMATS[name.strip().lower()]
    except KeyError:
        raise InvalidOutputFormat(name, OUTPUT_FORMATS) from None
