"""The Whisper loss: Whisper base's cross-entropy of a known text, with a gradient to the speech.

    python -m speaker_encoder.whisper_loss WHISPER_FOLDER whisper.pt --texts 2500

takes CTranslate2's model.bin and tokenizer.json, and writes the weights with a vocabulary of the tokens that are
needed, and new texts as phonemes and as tokens. Frozen, and no part of the product.
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

from speaker_encoder.features import RATE
from speaker_encoder.frozen_losses import mixed_precision

LANGUAGES = {"e": "<|es|>", "f": "<|fr|>", "p": "<|pt|>"}
"""Its languages: Kokoro's letters, and Whisper's tokens."""
START, TRANSCRIBE, NO_TIMES, END = "<|startoftranscript|>", "<|transcribe|>", "<|notimestamps|>", "<|endoftext|>"
LAYERS, WIDTH, HEADS = 6, 512, 8
AUDIO_POSITIONS, TOKEN_POSITIONS = 1500, 448
"""Of the encoder and of the decoder."""
WINDOW, HOP, BANDS = 400, 160, 80
LENGTH = 30 * RATE
"""Samples of Whisper's input. With less silence after the speech the gradient differs: 1.5 s of input gave one with a
cosine of 0.4 to that of the whole length, 5 s one of 0.7."""


SHORTEST = 24
"""Phonemes in a text."""


@dataclass(frozen=True)
class SpelledText:
    """A text with Whisper's transcript, as ids of the reduced vocabulary."""

    language: str
    ids: list[int]
    tokens: list[int]


class Attention(nn.Module):
    """Self-attention, with queries, keys and values from one layer, or cross-attention to the encoded audio."""

    def __init__(self, across: bool = False) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(WIDTH)
        sizes = (1, 2, 1) if across else (3, 1)
        self.linears = nn.ModuleList(nn.Linear(WIDTH, size * WIDTH) for size in sizes)

    def forward(self, x: Tensor, audio: Tensor | None = None, causal: bool = False) -> Tensor:
        joined = self.linears[0](self.layer_norm(x))
        if audio is not None:
            query, (key, value) = joined, self.linears[1](audio).chunk(2, dim=2)
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

    def forward(self, x: Tensor, audio: Tensor) -> Tensor:
        return self.ffn(self.attention(self.self_attention(x, causal=True), audio))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(BANDS, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.positions = nn.Parameter(torch.zeros(AUDIO_POSITIONS, WIDTH))
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
        self.positions = nn.Parameter(torch.zeros(TOKEN_POSITIONS, WIDTH))
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.layer_norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor, audio: Tensor, first: int) -> Tensor:
        """Logits of the token after each one from `first` on. [n], [B, T, 512] → [B, n - first, vocabulary]"""
        x = (self.embeddings(tokens) + self.positions[: len(tokens)]).expand(len(audio), -1, -1)
        for layer in self.layers:
            x = layer(x, audio)
        return F.linear(self.layer_norm(x[:, first:]), self.embeddings.weight)


class WhisperLoss(nn.Module):
    """`specials` are the ids of Whisper's special tokens in the reduced vocabulary."""

    def __init__(self, vocabulary: int, specials: dict[str, int]) -> None:
        super().__init__()
        self.encoder, self.decoder, self.specials = Encoder(), Decoder(vocabulary), specials
        filters = torchaudio.functional.melscale_fbanks(
            WINDOW // 2 + 1, 0.0, RATE / 2, BANDS, RATE, norm="slaney", mel_scale="slaney"
        )
        self.register_buffer("filters", filters, persistent=False)
        self.register_buffer("window", torch.hann_window(WINDOW), persistent=False)

    def forward(self, wave: Tensor, tokens: Tensor, language: str) -> tuple[Tensor, Tensor]:
        """Cross-entropy and token accuracy of each voice. 16 kHz [B, samples], [n] → [B], [B]"""
        signs = (START, LANGUAGES[language], TRANSCRIBE, NO_TIMES)
        prompt = tokens.new_tensor([self.specials[sign] for sign in signs])
        mel = self.log_mel(F.pad(wave, (0, LENGTH - wave.shape[1])))
        with mixed_precision(wave):
            logits = self.decoder(torch.cat([prompt, tokens]), self.encoder(mel), len(prompt) - 1)
        logits = logits.float().transpose(1, 2)
        target = F.pad(tokens, (0, 1), value=self.specials[END]).expand(len(wave), -1)
        loss = F.cross_entropy(logits, target, reduction="none").mean(dim=1)
        return loss, (logits.argmax(dim=1) == target).float().mean(dim=1)

    def log_mel(self, wave: Tensor) -> Tensor:
        """Whisper's features, down to 80 dB below the peak. [B, samples] → [B, 80, frames]"""
        with torch.autocast(wave.device.type, enabled=False):  # a logarithm of bf16 would be noise
            bins = torch.stft(wave.float(), WINDOW, HOP, WINDOW, self.window, return_complex=True)[..., :-1]
            power = (bins.real.square() + bins.imag.square()).transpose(1, 2)
            mel = torch.log10((power @ self.filters).clamp(min=1e-10)).transpose(1, 2)
            return (torch.maximum(mel, mel.amax(dim=(1, 2), keepdim=True) - 8) + 4) / 4


def load(path: Path) -> tuple[WhisperLoss, dict[str, list[SpelledText]]]:
    """The frozen network, and its texts by language."""
    stored = torch.load(path, map_location="cpu")
    whisper = WhisperLoss(stored["vocabulary"], stored["specials"])
    whisper.load_state_dict({name: weight.float() for name, weight in stored["weights"].items()})
    texts = {
        language: [SpelledText(language, ids, tokens) for ids, tokens in pairs]
        for language, pairs in stored["texts"].items()
    }
    return whisper.eval().requires_grad_(False), texts


def read_ctranslate2(path: Path) -> dict[str, Tensor]:
    """The weights of CTranslate2's model.bin, with this module's names."""
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
            raise ValueError(f"{path} is not a known Whisper file: {spec} {revision}, format {version}")
        for _ in range(read(file, "I")):
            name = read_name(file)
            shape = [read(file, "I") for _ in range(read(file, "B"))]
            kind = kinds[read(file, "B")]
            content = bytearray(file.read(read(file, "I")))
            if shape:  # scalars are settings
                weights[_rename(name)] = torch.frombuffer(content, dtype=kind).view(shape).float()
    return weights


def _rename(name: str) -> str:
    name = re.sub(r"(layer|linear)_(\d)", r"\1s.\2", name).replace("position_encodings/encodings", "positions")
    return name.replace("gamma", "weight").replace("beta", "bias").replace("/", ".")


def spell(text: str, language: str) -> str:
    """As Whisper writes it: after a space, capitalised, with the language's punctuation."""
    text, mark = text[0].upper() + text[1:-1], text[-1]
    if mark != ".":
        if language == "e":
            text = {"?": "¿", "!": "¡"}[mark] + text
        if language == "f":
            mark = f" {mark}"
    return f" {text}{mark}"


def generate_texts(language: str, longest: int) -> Iterator[tuple[list[int], str]]:
    """Endless phoneme ids and spellings of texts that are not in the corpus."""
    from teacher import corpus

    symbols, phonemize = corpus.read_vocabulary(), corpus.create_phonemizer(language)
    for text in corpus.generate_sentences(language, random.Random(f"whisper{language}")):
        ids = [symbols[c] for c in phonemize(text).strip() if c in symbols]
        if SHORTEST <= len(ids) <= longest:
            yield ids, spell(text, language)


def pack(whisper: Path, output: Path, count: int, longest: int) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(whisper / "tokenizer.json"))
    texts: dict[str, list[tuple[list[int], list[int]]]] = {}
    for language in LANGUAGES:
        generated = generate_texts(language, longest)
        pairs = (next(generated) for _ in range(count))
        texts[language] = [(ids, tokenizer.encode(text, add_special_tokens=False).ids) for ids, text in pairs]
    specials = {sign: tokenizer.token_to_id(sign) for sign in (START, *LANGUAGES.values(), TRANSCRIBE, NO_TIMES, END)}
    occurring = {token for found in texts.values() for _, tokens in found for token in tokens}
    kept = sorted(occurring | set(specials.values()))
    number = {token: i for i, token in enumerate(kept)}
    weights = read_ctranslate2(whisper / "model.bin")
    weights["decoder.embeddings.weight"] = weights["decoder.embeddings.weight"][kept]
    stored = {
        "vocabulary": len(kept),
        "specials": {sign: number[token] for sign, token in specials.items()},
        "texts": {
            language: [(ids, [number[token] for token in tokens]) for ids, tokens in found]
            for language, found in texts.items()
        },
        "weights": {name: weight.half() for name, weight in weights.items()},
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
