"""Synthesises held-out sentences with the teacher, the head and the exported networks, and scores them.

    python -m acoustic.evaluate references clips --teacher kokoro.pt --head head.onnx \\
        --voices build/teacher/voices --clones clones-validation.npz    # slow, once
    python -m acoustic.evaluate student exported clips                  # for every export
    python -m acoustic.evaluate score clips --whisper DIR --eres2net DIR

Teacher is the port in torch. Head is the vocoder head that training starts from, on the teacher's features: the first
svc-turbo. Student is the exported graphs, and "taught" the exported decoder and head on the teacher's prosody. The
teacher cannot speak with vocoder embeddings, so clones are compared with the head. Lines of the lists are voice,
language letter, text; a voice can be a mixture (`af_heart+am_adam`). Scores of clips that have not changed are kept.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile
import torch
from torch import Tensor

from acoustic import model
from acoustic.exported import ExportedNetworks
from acoustic.scoring import CachedScorer, Scorer, split_units
from acoustic.voice_sampler import PARAMETERS
from head.export import restore
from head.model import accumulate_phase, utterance_statistics
from teacher import port
from teacher.corpus import create_phonemizer, read_vocabulary
from teacher.kokoro import STYLE, Kokoro

LISTS = Path(__file__).parent
SHORT = Path(__file__).parents[2] / "bench/sentences/short.txt"
SHORT_VOICES = 3
"""Of the English list's ten, in which each short text is spoken; others for the next text."""
KINDS = ("english", "languages", "clones", "short")
SHORT_ROW = 60
"""Least row of the style tables that the timbre of a short text is taken from; its prosody keeps its own."""
SPEAKERS = ("teacher", "head", "student", "taught")


def read_list(path: Path, every: int) -> list[tuple[str, str, str]]:
    """Voice, language and text of each item."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [(voice, language, text) for voice, language, text in lines][::every]


def read_style(path: Path, tokens: int) -> np.ndarray:
    return np.fromfile(path, np.float32).reshape(510, 1, 256)[tokens]


def list_items(every: int, clones: int, short_voices: int = SHORT_VOICES) -> Iterator[dict]:
    """The held-out lists, English sentences in cloned voices, and short texts."""
    english = read_list(LISTS / "heldout.tsv", every)
    others = read_list(LISTS / "heldout_languages.tsv", every)
    for kind, lines in (("english", english), ("languages", others)):
        for voice, language, text in lines:
            yield {"kind": kind, "voice": voice, "language": language, "text": text}
    for clone in range(0, clones, 3 * every):
        text = english[clone % len(english)][2]
        yield {"kind": "clones", "voice": f"clone {clone}", "clone": clone, "language": "a", "text": text}
    voices = list(dict.fromkeys(voice for voice, _, _ in english))
    for i, text in enumerate(SHORT.read_text().splitlines()[::every]):
        for j in range(short_voices):
            voice = voices[(SHORT_VOICES * i + j) % len(voices)]
            yield {"kind": "short", "voice": voice, "language": voice[0], "text": text}


def find_voice(item: dict, tokens: int, voices: Path, clones: dict) -> tuple[Tensor, Tensor, Tensor, float]:
    """Timbre [1, 11, 128], prosody [1, 128], vocoder embedding [1, 256] and pitch scale."""
    if "clone" not in item:
        rows = (max(tokens, SHORT_ROW) if item["kind"] == "short" else tokens, tokens)
        timbre, prosody = (
            torch.tensor(
                np.mean([read_style(voices / f"{name}.bin", row) for name in item["voice"].split("+")], axis=0)
            )
            for row in rows
        )
        timbre = timbre[:, None, :STYLE].expand(-1, model.LAYERS, -1).contiguous()
        return timbre, prosody[:, STYLE:], torch.zeros(1, model.VOCODER_EMBEDDING), 1.0
    voice = {name: torch.tensor(clones[name][item["clone"]].astype(np.float32)) for name in PARAMETERS}
    mean = torch.tensor(np.mean([read_style(path, tokens) for path in sorted(voices.glob("*.bin"))], axis=0))[0]
    # English is the first language of the file.
    timbre = (mean[:STYLE] + voice["timbre"])[None] + voice["layer_offsets"][0]
    prosody = mean[STYLE:] + voice["melody"][0]
    return timbre[None], prosody[None], voice["vocoder_embedding"][None], float(voice["pitch_scale"][0])


def run_teacher(
    teacher: Kokoro, ids: Tensor, timbre: Tensor, prosody: Tensor, pitch_scale: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Durations [1, N], F0, energy and features."""
    predictor = teacher.predictor
    encoded = predictor.text_encoder(teacher.bert_encoder(teacher.bert(ids)), prosody)
    durations = torch.round(predictor.durations(encoded)).clamp(min=1).long()
    index = torch.repeat_interleave(torch.arange(durations.shape[1]), durations[0])
    f0, energy = predictor.curves(encoded[:, index], prosody)
    f0 = f0 * pitch_scale
    features = teacher.decoder.features(teacher.text_encoder(ids)[:, :, index], f0, energy, timbre[:, :-1])
    return durations, f0, energy, features


@torch.no_grad()
def run_references(args: argparse.Namespace) -> None:
    """NUMBER.teacher.wav and NUMBER.head.wav, and in NUMBER.npz what the student is given and compared with."""
    args.clips.mkdir(parents=True, exist_ok=True)
    teacher, head = port.load(args.teacher), restore(args.head)
    clones = dict(np.load(args.clones)) if args.clones else {"pitch_scale": ()}
    symbols, phonemizers = read_vocabulary(), {}
    items = {}
    for number, item in enumerate(list_items(args.every, len(clones["pitch_scale"]), args.short_voices)):
        if item["kind"] not in args.kinds:
            continue
        language = item["language"]
        if language not in phonemizers:
            phonemizers[language] = create_phonemizer(language)
        tokens = [symbols[c] for c in phonemizers[language](item["text"]).strip() if c in symbols]
        timbre, prosody, embedding, scale = find_voice(item, len(tokens), args.voices, clones)
        ids = torch.tensor([[0, *tokens, 0]])
        durations, f0, energy, features = run_teacher(teacher, ids, timbre, prosody, scale)
        start = torch.zeros(1, dtype=torch.int64)
        phase, statistics = accumulate_phase(f0), utterance_statistics(features)
        waves = {"head": head(features, f0, phase, timbre[:, -1], statistics, start, embedding)}
        if "clone" not in item:
            waves["teacher"] = teacher.decoder.generator(features, f0, timbre[:, -1])
        for who, wave in waves.items():
            soundfile.write(args.clips / f"{number:03d}.{who}.wav", wave[0].numpy(), 24000, subtype="FLOAT")
        known = {"ids": ids, "timbre": timbre, "style": prosody, "vocoder_embedding": embedding}
        known |= {"durations": durations, "f0": f0, "energy": energy, "pitch_scale": torch.tensor(scale)}
        np.savez(args.clips / f"{number:03d}.npz", **{name: value.numpy() for name, value in known.items()})
        items[f"{number:03d}"] = item
        (args.clips / "items.json").write_text(json.dumps(items, indent=1))


def run_student(args: argparse.Namespace) -> None:
    """NUMBER.student.wav and NUMBER.taught.wav; errors of the prosody in prosody.json."""
    networks = ExportedNetworks(args.exported)
    compared = {}
    for number in json.loads((args.clips / "items.json").read_text()):
        known = dict(np.load(args.clips / f"{number}.npz"))
        ids, durations, scale = known["ids"], known["durations"], np.float32(known["pitch_scale"])
        own = networks.predict_prosody(ids, known["style"], pitch_scale=scale)
        taught = networks.predict_prosody(ids, known["style"], durations=durations, pitch_scale=scale)
        voiced = (taught.f0[0] > 50) & (known["f0"][0] > 50)
        compared[number] = {
            "durations": float(25 * np.abs(own.durations - durations).mean()),
            "length": float(own.durations.sum() / durations.sum()),
        }
        if voiced.sum() > 20:
            compared[number]["f0"] = float(np.corrcoef(taught.f0[0][voiced], known["f0"][0][voiced])[0, 1])
        taught.f0, taught.energy = known["f0"], known["energy"]
        taught.curve_summary = None
        for who, prosody in (("student", own), ("taught", taught)):
            _, wave = networks.synthesize(ids, prosody, known["timbre"], known["vocoder_embedding"])
            soundfile.write(args.clips / f"{number}.{who}.wav", wave[0], 24000, subtype="FLOAT")
    (args.clips / "prosody.json").write_text(json.dumps(compared, indent=1))


def score_item(scorer: CachedScorer, clips: Path, name: str, item: dict, who: tuple[str, ...]) -> dict[str, float]:
    text, language = item["text"], item["language"]
    reference = clips / f"{name}.{'head' if 'clone' in item else 'teacher'}.wav"
    row = {"units": len(split_units(text, language))}
    for speaker in who:
        wave = clips / f"{name}.{speaker}.wav"
        if wave.exists():
            scores = scorer.score(wave, reference if wave != reference else None, text, language)
            row |= {f"{measure} {speaker}": value for measure, value in scores.items()}
    return row


def print_table(rows: list[tuple[dict, dict]], who: tuple[str, ...]) -> None:
    """A line for each kind, then for each voice of the English list."""
    groups = dict.fromkeys(item["kind"] for item, _ in rows)
    groups |= dict.fromkeys(item["voice"] for item, _ in rows if item["kind"] == "english")
    means = [f"{measure} {speaker}" for measure in ("mos", "similarity") for speaker in who]
    for group in groups:
        chosen = [
            row for item, row in rows if group == item["kind"] or (group, "english") == (item["voice"], item["kind"])
        ]
        line = f"{group:12s} {len(chosen):3d}"
        for key in [*means, "durations", "length", "f0"]:
            values = [row[key] for row in chosen if key in row]
            if values:
                line += f"  {key} {np.mean(values):.3f}"
        for key in [f"errors {speaker}" for speaker in who]:
            counted = [row for row in chosen if key in row]
            if counted:
                line += f"  {key} {sum(row[key] for row in counted)}/{sum(row['units'] for row in counted)}"
        print(line)


def run_score(args: argparse.Namespace) -> None:
    scorer = CachedScorer(Scorer(args.whisper, args.eres2net))
    items = json.loads((args.clips / "items.json").read_text())
    items = dict(list(items.items())[:: args.every])
    compared = args.clips / "prosody.json"
    prosody = json.loads(compared.read_text()) if compared.exists() else {}
    who = tuple(args.who)
    rows = [(item, score_item(scorer, args.clips, n, item, who) | prosody.get(n, {})) for n, item in items.items()]
    print_table(rows, who)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("references")
    command.add_argument("clips", type=Path)
    for name in ("teacher", "head", "voices"):
        command.add_argument(f"--{name}", type=Path, required=True)
    command.add_argument("--clones", type=Path, help="of speakers that were not trained with")
    command.add_argument("--every", type=int, default=1, help="only every Nth item of each list")
    command.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    command.add_argument("--short-voices", type=int, default=SHORT_VOICES, help="for each short text")
    command.set_defaults(run=run_references)
    command = commands.add_parser("student")
    command.add_argument("exported", type=Path)
    command.add_argument("clips", type=Path)
    command.set_defaults(run=run_student)
    command = commands.add_parser("score")
    command.add_argument("clips", type=Path)
    command.add_argument("--whisper", type=Path, help="a CTranslate2 Whisper model")
    command.add_argument("--eres2net", type=Path, help="a folder with `speakerlab` and the checkpoint")
    command.add_argument("--every", type=int, default=1, help="only every Nth item")
    command.add_argument("--who", nargs="*", default=SPEAKERS, choices=SPEAKERS)
    command.set_defaults(run=run_score)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
