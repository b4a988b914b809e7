"""Speaks the evaluation sentences before and after training, and lets Whisper base and small listen.

    python -m accents.evaluate FOLDER

Before: the layers that data/languages.toml names, or the accents that svc has (`--shipped`). The networks are those of
training (floats), not the service's int8 graphs. Base decodes with five beams, small greedily: bench/evaluator.py.
Writes heard.jsonl, a line for each piece of up to 29.5 s with what was said and heard, and clips.jsonl, a line for each
sentence with its naturalness and the voice's similarity to itself in English, or a clone's to its person.
bench.slow.grades makes grades of them.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from accents import whisper
from accents.accents import NATIVE, Accents, Start, load_shipped
from accents.guards import MOS_SAMPLES, SPEAKER_SAMPLES, recognise_voices
from accents.inputs import Inputs
from accents.train import load
from accents.windows import GAP, LENGTH, rewrite
from speaker_encoder.features import fbank

VOICES = ["af_heart", "am_michael", "bf_emma", "bm_george"]
MORE_VOICES = {"de": ["ef_dora", "ff_siwis", "if_sara", "pf_dora"]}
NATIVE_VOICES = {
    "en-us": "af_heart",
    "es": "ef_dora",
    "fr": "ff_siwis",
    "hi": "hf_alpha",
    "it": "if_sara",
    "ja": "jf_alpha",
    "pt-br": "pf_dora",
    "zh": "zf_xiaobei",
}
CLONES = 12
"""Clones that were not trained with, in the first language."""
LONGEST_PIECE = round(29.5 * 16_000)
MOST_TOKENS = 300
"""Of a piece, as it is spelled: Whisper writes at most 400."""
BEAMS = {"base": 5, "small": 1}


@dataclass
class Said:
    """A sentence, spoken."""

    system: str
    row: str
    voice: str
    number: int
    text: str
    wave: Tensor


def list_voices(start: Start, inputs: Inputs, first_language: str) -> dict[str, int]:
    """The voices that speak a row, by name."""
    keys, held_out = inputs.voices.keys, int(inputs.voices.held_out)
    more = MORE_VOICES.get(start.language, [])
    names = [NATIVE_VOICES[start.language]] if start.for_natives else [*VOICES, *more]
    chosen = {name: keys.index(name) for name in names}
    if start.row == first_language:
        last = min(held_out + CLONES, len(inputs.voices.timbre))
        chosen |= {f"clone-{clone - held_out}": clone for clone in range(held_out, last)}
    return chosen


@torch.no_grad()
def say(
    inputs: Inputs,
    system: str,
    accents: Accents,
    row: int,
    chosen: dict[str, int],
    texts: Sequence[tuple[str, list[str]]],
) -> list[Said]:
    """All the voices at once."""
    vocabulary, voices, device = inputs.texts.vocabulary, inputs.voices, inputs.device
    phrases = [[vocabulary[symbol] for symbol in phrase] for _, each in texts for phrase in each]
    count = len(phrases)
    speaker = torch.tensor(list(chosen.values()), device=device).repeat_interleave(count)
    phrases = phrases * len(chosen)
    rows = torch.full_like(speaker, row)
    style, timbre = accents(rows, speaker, torch.tensor([len(each) for each in phrases], device=device))
    clips = inputs.synthesis(phrases, style, timbre, voices, speaker)
    said, index = [], 0
    for name, voice in chosen.items():
        for number, (text, each) in enumerate(texts):
            wave = torch.cat([clips.cut(i) for i in range(index, index + len(each))]) * voices.gain[voice]
            index += len(each)
            said.append(Said(system, accents.starts[row].row, name, number, text, wave))
    return said


def join_pieces(said: Sequence[Said], inputs: Inputs) -> Iterator[list[Said]]:
    piece: list[Said] = []
    length = tokens = 0
    for each in said:
        count = len(inputs.texts.tokenizer.encode(each.text, add_special_tokens=False).ids)
        if piece and (length + len(each.wave) + GAP > LONGEST_PIECE or tokens + count > MOST_TOKENS):
            yield piece
            piece, length, tokens = [], 0, 0
        piece.append(each)
        length, tokens = length + len(each.wave) + GAP, tokens + count
    if piece:
        yield piece


def fill(piece: Sequence[Said]) -> Tensor:
    """The wave of a piece, 30 s."""
    parts = [part for each in piece for part in (each.wave, each.wave.new_zeros(GAP))]
    wave = torch.cat(parts)[:LENGTH]
    return F.pad(wave, (0, LENGTH - len(wave)))


def transcribe(
    inputs: Inputs, name: str, pieces: Sequence[Sequence[Said]], suppressed: list[int], batch: int
) -> list[str]:
    network = inputs.whisper if name == "base" else whisper.load(inputs.folder / f"{name}.pt", name)
    precise = torch.float16 if inputs.device.type == "cuda" else torch.float32
    network = network.to(inputs.device)
    network.encoder.to(precise)  # not the features
    network.decoder.to(precise)
    heard = []
    # Pieces of a language have about the same number of tokens.
    for first in range(0, len(pieces), batch):
        some = pieces[first : first + batch]
        wave = torch.stack([fill(piece) for piece in some])
        codes = [inputs.texts.find_language(piece[0].row.removesuffix(NATIVE)) for piece in some]
        found = network.transcribe(wave, torch.tensor(codes, device=inputs.device), BEAMS[name], suppressed)
        heard += [inputs.texts.tokenizer.decode(tokens, skip_special_tokens=True).strip() for tokens in found]
    return heard


@torch.no_grad()
def judge(inputs: Inputs, said: Sequence[Said], targets: Tensor, batch: int) -> Iterator[dict[str, object]]:
    keys, held_out = inputs.voices.keys, int(inputs.voices.held_out)
    for first in range(0, len(said), batch):
        some = said[first : first + batch]
        crops = [each.wave[:MOS_SAMPLES] for each in some]
        waves = torch.stack([F.pad(wave, (0, MOS_SAMPLES - len(wave))) for wave in crops])
        mos = inputs.guards.distillmos(waves).flatten().tolist()
        long = [i for i, each in enumerate(some) if len(each.wave) >= SPEAKER_SAMPLES]
        alike: dict[int, float] = {}
        if long:
            cut = torch.stack([some[i].wave[:SPEAKER_SAMPLES] for i in long])
            embeddings = F.normalize(inputs.guards.eres2net(fbank(cut)), dim=1)
            for i, embedding in zip(long, embeddings, strict=True):
                name = some[i].voice
                voice = held_out + int(name[6:]) if name.startswith("clone-") else keys.index(name)
                alike[i] = round(float(embedding @ targets[voice]), 4)
        for i, each in enumerate(some):
            yield {
                "system": each.system,
                "row": each.row,
                "voice": each.voice,
                "number": each.number,
                "seconds": round(len(each.wave) / 16_000, 2),
                "mos": round(mos[i], 3),
                "likeness": alike.get(i),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--languages", nargs="*", help="only these")
    parser.add_argument("--shipped", type=Path, help="accents.npz, to compare with")
    parser.add_argument("--rules", type=Path, help="what was trained with")
    parser.add_argument("--limit", type=int, help="sentences of each")
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--listeners", nargs="*", default=["base", "small"])
    parser.add_argument("--first-language", default="de")
    args = parser.parse_args()
    began = time.time()
    inputs = Inputs.load(args.folder)
    suppressed = json.loads((args.folder / "generation_config.json").read_text())["suppress_tokens"]
    targets = recognise_voices(inputs.guards, inputs.synthesis, inputs.voices, inputs.read_english(6))
    known, axis = inputs.texts.stored["articulation"], inputs.load_pitch_axis()
    before = [Start(code, native) for code, native in known.items()]
    before += [Start(code + NATIVE) for code in NATIVE_VOICES]
    after = load(args.folder / "accents.pt", inputs)
    systems = {
        "before": load_shipped(args.shipped, known, inputs.voices, axis)
        if args.shipped
        else Accents(before, inputs.voices, axis),
        "after": after,
    }
    symbols = args.folder / "symbols.json"
    rules = {"before": {}, "after": json.loads(args.rules.read_text()) if args.rules else {}}
    if symbols.exists() and not args.rules:
        systems["symbols"], rules["symbols"] = after, json.loads(symbols.read_text())
    said: list[Said] = []
    for system, accents in systems.items():
        for row, start in enumerate(accents.starts):
            table = rules[system].get(start.row, {})
            if (system == "symbols" and not table) or (args.languages and start.row not in args.languages):
                continue
            texts = inputs.texts.stored["evaluation"][start.language][: args.limit]
            texts = [(text, [rewrite(each, table) for each in phrases]) for text, phrases in texts]
            said += say(inputs, system, accents, row, list_voices(start, inputs, args.first_language), texts)
    print(f"{time.time() - began:.0f} s: {sum(len(each.wave) for each in said) / 16_000:.0f} s of speech", flush=True)
    with (args.folder / "clips.jsonl").open("w") as file:
        for line in judge(inputs, said, targets, args.batch):
            file.write(json.dumps(line) + "\n")
    print(f"{time.time() - began:.0f} s: judged", flush=True)
    groups: dict[tuple[str, str, str], list[Said]] = {}
    for each in said:
        groups.setdefault((each.system, each.row, each.voice), []).append(each)
    pieces = [piece for group in groups.values() for piece in join_pieces(group, inputs)]
    lines = [
        {"system": p[0].system, "row": p[0].row, "voice": p[0].voice, "texts": [each.text for each in p]}
        for p in pieces
    ]
    for name in args.listeners:
        for line, heard in zip(lines, transcribe(inputs, name, pieces, suppressed, args.batch), strict=True):
            line[name] = heard
        (args.folder / "heard.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        print(f"{time.time() - began:.0f} s: {name} heard {len(pieces)} pieces", flush=True)


if __name__ == "__main__":
    main()
