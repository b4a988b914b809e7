"""Draws spectrograms of recordings, one above the other: 0 to 12 kHz upwards, 80 dB from white to black."""

import struct
import wave
import zlib
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

Image = npt.NDArray[np.uint8]

_WINDOW, _HOP = 512, 160  # samples: 47 Hz and 6.7 ms a pixel
_RANGE = 80.0
_GAP = 8


def main(
    recordings: Annotated[list[Path], typer.Argument(help="WAV files with 16 bits, mono.")],
    picture: Annotated[Path, typer.Option("--output", "-o", help="The PNG file to write.")],
) -> None:
    """Draws spectrograms of recordings, one above the other."""
    images = [_spectrogram(path) for path in recordings]
    width = max(each.shape[1] for each in images)
    rows = [np.pad(each, ((0, _GAP), (0, width - each.shape[1])), constant_values=255) for each in images]
    picture.write_bytes(_encode_png(np.concatenate(rows)[:-_GAP]))


def _spectrogram(path: Path) -> Image:
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(samples, _WINDOW // 2), _WINDOW)[::_HOP]
    level = 20 * np.log10(np.abs(np.fft.rfft(frames * np.hanning(_WINDOW))) + 1e-6)
    dark = ((level - level.max()) / _RANGE + 1).clip(0, 1)
    image: Image = (255 * (1 - dark.T[::-1])).astype(np.uint8)
    return image


def _encode_png(image: Image) -> bytes:
    height, width = image.shape

    def make_chunk(kind: bytes, content: bytes) -> bytes:
        checked = kind + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    unfiltered = np.pad(image & 0xF0 | image >> 4, ((0, 0), (1, 0))).tobytes()  # sixteen greys are enough
    return (
        b"\x89PNG\r\n\x1a\n"
        + make_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + make_chunk(b"IDAT", zlib.compress(unfiltered, 9))
        + make_chunk(b"IEND", b"")
    )


if __name__ == "__main__":
    typer.run(main)
