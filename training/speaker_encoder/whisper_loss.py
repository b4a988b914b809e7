"""Whisper base as a judge of words: how surely it reads a known text in a sound, with a gradient to the sound.

    python -m cloning.reader WHISPER_FOLDER reader.pt --texts 2500

takes CTranslate2's model.bin and tokenizer.json, and packs the weights in eight bits, with a vocabulary of the tokens
that are needed, together with new texts in phonemes and in tokens. Frozen, and no part of the product.
"""

import argparse
import random
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import torch
import torch.nn.functional as F
import torchaudio
from torch import Tensor, nn

from cloning.eight_bits import packed, unpacked
from cloning.judges import quick
from cloning.sound import RATE
from cloning.texts import SHORTEST, Text

LANGUAGES = {"e": "<|es|>", "f": "<|fr|>", "p": "<|pt|>"}
"""Those it reads: Kokoro's letters, and Whisper's tokens."""
START, TRANSCRIBE, NO_TIMES, END = "<|startoftranscript|>", "<|transcribe|>", "<|notimestamps|>", "<|endoftext|>"
LAYERS, WIDTH, HEADS = 6, 512, 8
SOUNDS, WORDS = 1500, 448
"""The most positions that the encoder and the decoder have."""
WINDOW, HOP, BANDS = 400, 160, 80
LENGTH = 30 * RATE
"""Samples that Whisper knows sounds of. With less silence after the speech it is another judge: 1.5 s
gave a gradient with a cosine of 0.4 to that of the whole length, 5 s one of 0.7."""


@dataclass(frozen=True)
class Spelled(Text):
    """A text with what Whisper should write, in the numbers of the packed vocabulary."""

    tokens: list[int]


class Attention(nn.Module):
    """To oneself: queries, keys and values come from one layer; or to what was heard: the queries have their own."""

    def __init__(self, across: bool = False) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(WIDTH)
        sizes = (1, 2, 1) if across else (3, 1)
        self.linears = nn.ModuleList(nn.Linear(WIDTH, size * WIDTH) for size in sizes)

    def forward(self, x: Tensor, heard: Tensor | None = None, causal: bool = False) -> Tensor:
        joined = self.linears[0](self.layer_norm(x))
        if heard is not None:
            query, (key, value) = joined, self.linears[1](heard).chunk(2, dim=2)
        else:
            query, key, value = joined.chunk(3, dim=2)
        query, key, value = (y.unflatten(2, (HEADS, -1)).transpose(1, 2) for y in (query, key, value))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return x + self.linears[-1](mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(WIDTH)
        self.linears = nn.ModuleList([nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)])

    def forward(self, x: Tensor) -> Tensor:
        return x + self.linears[1](F.gelu(self.linears[0](self.layer_norm(x))))


class EncoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self_attention, self.ffn = Attention(), FeedForward()

    def forward(self, x: Tensor) -> Tensor:
        return self.ffn(self.self_attention(x))


class DecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self_attention, self.attention, self.ffn = Attention(), Attention(across=True), FeedForward()

    def forward(self, x: Tensor, heard: Tensor) -> Tensor:
        return self.ffn(self.attention(self.self_attention(x, causal=True), heard))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(BANDS, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.positions = nn.Parameter(torch.zeros(SOUNDS, WIDTH))
        self.layers = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))
        self.layer_norm = nn.LayerNorm(WIDTH)

    def forward(self, mel: Tensor) -> Tensor:
        """[B, 80, frames] → [B, frames / 2, 512]"""
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2)
        x = x + self.positions[: x.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.layer_norm(x)


class Decoder(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Parameter(torch.zeros(WORDS, WIDTH))
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.layer_norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor, heard: Tensor, first: int) -> Tensor:
        """What it expects after each token from the first that counts. [n], [B, T, 512] → [B, n - first, vocabulary]"""
        x = (self.embeddings(tokens) + self.positions[: len(tokens)]).expand(len(heard), -1, -1)
        for layer in self.layers:
            x = layer(x, heard)
        return F.linear(self.layer_norm(x[:, first:]), self.embeddings.weight)


class Reader(nn.Module):
    """`specials` are the numbers of Whisper's signs in the packed vocabulary."""

    def __init__(self, vocabulary: int, specials: dict[str, int]) -> None:
        super().__init__()
        self.encoder, self.decoder, self.specials = Encoder(), Decoder(vocabulary), specials
        filters = torchaudio.functional.melscale_fbanks(
            WINDOW // 2 + 1, 0.0, RATE / 2, BANDS, RATE, norm="slaney", mel_scale="slaney"
        )
        self.register_buffer("filters", filters, persistent=False)
        self.register_buffer("window", torch.hann_window(WINDOW), persistent=False)

    def forward(self, wave: Tensor, tokens: Tensor, language: str) -> tuple[Tensor, Tensor]:
        """Cross-entropy and the share of right tokens, for each voice. 16 kHz [B, samples], [n] → [B], [B]"""
        signs = (START, LANGUAGES[language], TRANSCRIBE, NO_TIMES)
        prompt = tokens.new_tensor([self.specials[sign] for sign in signs])
        mel = self.log_mel(F.pad(wave, (0, LENGTH - wave.shape[1])))
        with quick(wave):
            expected = self.decoder(torch.cat([prompt, tokens]), self.encoder(mel), len(prompt) - 1)
        expected = expected.float().transpose(1, 2)
        wanted = F.pad(tokens, (0, 1), value=self.specials[END]).expand(len(wave), -1)
        loss = F.cross_entropy(expected, wanted, reduction="none").mean(dim=1)
        return loss, (expected.argmax(dim=1) == wanted).float().mean(dim=1)

    def log_mel(self, wave: Tensor) -> Tensor:
        """As Whisper hears it, down to 80 dB below the loudest. [B, samples] → [B, 80, frames]"""
        with torch.autocast(wave.device.type, enabled=False):  # a logarithm of bf16 would be noise
            bins = torch.stft(wave.float(), WINDOW, HOP, WINDOW, self.window, return_complex=True)[..., :-1]
            power = (bins.real.square() + bins.imag.square()).transpose(1, 2)
            mel = torch.log10((power @ self.filters).clamp(min=1e-10)).transpose(1, 2)
            return (torch.maximum(mel, mel.amax(dim=(1, 2), keepdim=True) - 8) + 4) / 4


def load(path: Path) -> tuple[Reader, dict[str, list[Spelled]]]:
    """The frozen reader, and its texts by language."""
    stored = torch.load(path, map_location="cpu")
    reader = Reader(stored["vocabulary"], stored["specials"])
    reader.load_state_dict(unpacked(stored["weights"]))
    texts = {
        language: [Spelled(language, ids, tokens) for ids, tokens in found]
        for language, found in stored["texts"].items()
    }
    return reader.eval().requires_grad_(False), texts


def weights_of(path: Path) -> dict[str, Tensor]:
    """CTranslate2's model.bin, with this module's names."""
    kinds = (torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16)

    def read(file: BinaryIO, kind: str) -> int:
        (value,) = struct.unpack(f"<{kind}", file.read(struct.calcsize(f"<{kind}")))
        return int(value)

    def read_name(file: BinaryIO) -> str:
        return file.read(read(file, "H"))[:-1].decode()

    weights = {}
    with path.open("rb") as file:
        version, spec, revision = read(file, "I"), read_name(file), read(file, "I")
        if (version, spec, revision) != (6, "WhisperSpec", 3):
            raise ValueError(f"{path} is no Whisper that is known here: {spec} {revision}, format {version}")
        for _ in range(read(file, "I")):
            name = read_name(file)
            shape = [read(file, "I") for _ in range(read(file, "B"))]
            kind = kinds[read(file, "B")]
            content = bytearray(file.read(read(file, "I")))
            if shape:  # the others are settings
                weights[_renamed(name)] = torch.frombuffer(content, dtype=kind).view(shape).float()
    return weights


def _renamed(name: str) -> str:
    name = re.sub(r"(layer|linear)_(\d)", r"\1s.\2", name).replace("position_encodings/encodings", "positions")
    return name.replace("gamma", "weight").replace("beta", "bias").replace("/", ".")


def spelling(text: str, language: str) -> str:
    """As Whisper writes it: after a space, with a capital, and with the marks of the language."""
    text, mark = text[0].upper() + text[1:-1], text[-1]
    if mark != ".":
        if language == "e":
            text = {"?": "¿", "!": "¡"}[mark] + text
        if language == "f":
            mark = f" {mark}"
    return f" {text}{mark}"


def spoken_and_spelled(language: str, longest: int) -> Iterator[tuple[list[int], str]]:
    """Endless: other texts than the corpus has."""
    import corpus

    symbols, phonemize = corpus.vocabulary(), corpus.phonemizer(language)
    for text in corpus.sentences(language, random.Random(f"reader{language}")):
        ids = [symbols[c] for c in phonemize(text).strip() if c in symbols]
        if SHORTEST <= len(ids) <= longest:
            yield ids, spelling(text, language)


def pack(whisper: Path, output: Path, count: int, longest: int) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(whisper / "tokenizer.json"))
    texts: dict[str, list[tuple[list[int], list[int]]]] = {}
    for language in LANGUAGES:
        made = spoken_and_spelled(language, longest)
        pairs = (next(made) for _ in range(count))
        texts[language] = [(ids, tokenizer.encode(text, add_special_tokens=False).ids) for ids, text in pairs]
    specials = {sign: tokenizer.token_to_id(sign) for sign in (START, *LANGUAGES.values(), TRANSCRIBE, NO_TIMES, END)}
    occurring = {token for found in texts.values() for _, tokens in found for token in tokens}
    kept = sorted(occurring | set(specials.values()))
    number = {token: i for i, token in enumerate(kept)}
    weights = weights_of(whisper / "model.bin")
    weights["decoder.embeddings.weight"] = weights["decoder.embeddings.weight"][kept]
    stored = {
        "vocabulary": len(kept),
        "specials": {sign: number[token] for sign, token in specials.items()},
        "texts": {
            language: [(ids, [number[token] for token in tokens]) for ids, tokens in found]
            for language, found in texts.items()
        },
        "weights": packed(weights),
    }
    torch.save(stored, output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("whisper", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--texts", type=int, default=2500, help="per language")
    parser.add_argument("--longest", type=int, default=48, help="phonemes of a text")
    args = parser.parse_args()
    pack(args.whisper, args.output, args.texts, args.longest)
    print(f"{args.output.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
