"""The table of output formats."""

import pytest

from svc.audio import formats
from svc.audio.formats import OUTPUT_FORMATS, Codec
from svc.errors import InvalidOutputFormat

NAMES = [
    "mp3_22050_32",
    "mp3_24000_48",
    "mp3_44100",
    "mp3_44100_32",
    "mp3_44100_64",
    "mp3_44100_96",
    "mp3_44100_128",
    "mp3_44100_192",
    "pcm_8000",
    "pcm_16000",
    "pcm_22050",
    "pcm_24000",
    "pcm_32000",
    "pcm_44100",
    "pcm_48000",
    "ulaw_8000",
    "alaw_8000",
    "opus_48000_32",
    "opus_48000_64",
    "opus_48000_96",
    "opus_48000_128",
    "opus_48000_192",
    "wav_8000",
    "wav_16000",
    "wav_22050",
    "wav_24000",
    "wav_32000",
    "wav_44100",
    "wav_48000",
    "aac_24000_64",
    "aac_44100_128",
    "flac_16000",
    "flac_24000",
    "flac_44100",
    "flac_48000",
]


def test_table_holds_exactly_the_documented_formats() -> None:
    assert sorted(OUTPUT_FORMATS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_name_gives_codec_rate_and_bit_rate(name: str) -> None:
    found = formats.find(name)
    codec, rate, *kilobits = name.split("_")
    assert (found.name, found.codec, found.sample_rate) == (name, codec, int(rate))
    if kilobits:
        assert found.bit_rate == int(kilobits[0]) * 1000
    assert found.content_type.startswith("audio/")


def test_mp3_without_a_bit_rate_has_128_kilobits() -> None:
    assert formats.find("mp3_44100").bit_rate == 128_000


@pytest.mark.parametrize("name", ["MP3_44100_128", " mp3_44100_128"])
def test_case_and_space_around_a_name_do_not_matter(name: str) -> None:
    assert formats.find(name).name == "mp3_44100_128"


def test_the_default_is_in_the_table() -> None:
    assert formats.find(formats.DEFAULT).codec is Codec.MP3


def test_every_codec_has_an_ending_and_a_default_of_its_own() -> None:
    assert [formats.find(formats.ENDINGS[f".{codec}"]).codec for codec in Codec] == list(Codec)
    assert (formats.ENDINGS[".ogg"], formats.ENDINGS[".raw"]) == ("opus_48000_64", "pcm_24000")


@pytest.mark.parametrize("name", ["", "mp3", "mp3_44100_129", "mp3 44100_128", "flac_44101"])
def test_error_for_an_unknown_name_lists_all_valid_names(name: str) -> None:
    with pytest.raises(InvalidOutputFormat) as error:
        formats.find(name)
    assert all(valid in str(error.value) for valid in NAMES)
