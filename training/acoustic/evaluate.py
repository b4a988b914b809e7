"""Synthesises held-out sentences with the teacher, with today's svc-turbo and with the exported networks, and scores.

    python -m acoustic.evaluate speak exported clips --teacher kokoro.pt --head head.onnx \\
        --voices build/teacher/voices --clones clones-validation.npz
    python -m acoustic.evaluate score clips --whisper DIR --eres2net DIR

Teacher is the port in torch. Turbo is the teacher's features with the shipped head. Student is the exported graphs,
and "head" the exported decoder and head on the teacher's prosody. The teacher cannot speak with vocoder embeddings, so
clones are compared with turbo.
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
from acoustic.exported import ExportedNetworks, ProsodyOutput
from acoustic.voice_sampler import PARAMETERS
from head.evaluate import Scorer, read_list, read_style, split_units
from head.export import restore
from head.model import accumulate_phase, utterance_statistics
from teacher import port
from teacher.corpus import create_phonemizer, read_vocabulary
from teacher.kokoro import STYLE, Kokoro

LISTS = Path(__file__).parent.parent / "head"
SHORT = ("Yes.", "Thank you!", "Room twelve?", "Not today.", "Good morning, Anna.", "Wait!")
SPEAKERS = ("teacher", "turbo", "student", "head")


def list_items(every: int, clones: int) -> Iterator[dict]:
    """The held-out lists, short texts, and English sentences in cloned voices."""
    english = read_list(LISTS / "heldout.tsv", every)
    others = read_list(LISTS / "heldout_languages.tsv", every)
    for kind, lines in (("english", english), ("languages", others)):
        for _, voice, language, text in lines:
            yield {"kind": kind, "voice": voice, "language": language, "text": text}
    for i, text in enumerate(SHORT[::every]):
        voice = english[i % len(english)][1]
        yield {"kind": "short", "voice": voice, "language": "a", "text": text}
    for clone in range(0, clones, every):
        text = english[clone % len(english)][3]
        yield {"kind": "clones", "voice": f"clone {clone}", "clone": clone, "language": "a", "text": text}


def find_voice(item: dict, tokens: int, voices: Path, clones: dict) -> tuple[Tensor, Tensor, Tensor, float]:
    """Timbre [1, 11, 128], prosody [1, 128], vocoder embedding [1, 256] and pitch scale."""
    if "clone" not in item:
        tables = [read_style(voices / f"{name}.bin", tokens) for name in item["voice"].split("+")]
        style = torch.tensor(np.mean(tables, axis=0))
        timbre = style[:, None, :STYLE].expand(-1, model.LAYERS, -1).contiguous()
        return timbre, style[:, STYLE:], torch.zeros(1, model.VOCODER_EMBEDDING), 1.0
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
def run_speak(args: argparse.Namespace) -> None:
    args.clips.mkdir(parents=True, exist_ok=True)
    teacher, shipped_head = port.load(args.teacher), restore(args.head)
    student = ExportedNetworks(args.exported)
    clones = dict(np.load(args.clones)) if args.clones else {"pitch_scale": ()}
    symbols, phonemizers = read_vocabulary(), {}
    items = {}
    for number, item in enumerate(list_items(args.every, len(clones["pitch_scale"]))):
        language = item["language"]
        if language not in phonemizers:
            phonemizers[language] = create_phonemizer(language)
        tokens = [symbols[c] for c in phonemizers[language](item["text"]).strip() if c in symbols]
        timbre, prosody, embedding, scale = find_voice(item, len(tokens), args.voices, clones)
        ids = torch.tensor([[0, *tokens, 0]])
        durations, f0, energy, features = run_teacher(teacher, ids, timbre, prosody, scale)
        start = torch.zeros(1, dtype=torch.int64)
        phase, statistics = accumulate_phase(f0), utterance_statistics(features)
        waves = {"turbo": shipped_head(features, f0, phase, timbre[:, -1], statistics, start, embedding).numpy()}
        if "clone" not in item:
            waves["teacher"] = teacher.decoder.generator(features, f0, timbre[:, -1]).numpy()
        output = student.predict_prosody(ids.numpy(), prosody.numpy())
        output.f0 = output.f0 * np.float32(scale)
        _, waves["student"] = student.synthesize(ids.numpy(), output, timbre.numpy(), embedding.numpy())
        taught = ProsodyOutput(durations.numpy(), f0.numpy(), energy.numpy(), output.text)
        _, waves["head"] = student.synthesize(ids.numpy(), taught, timbre.numpy(), embedding.numpy())
        item["durations"] = float(25 * np.abs(output.durations - durations.numpy()).mean())
        item["length"] = float(output.durations.sum() / durations.sum())
        for who, wave in waves.items():
            soundfile.write(args.clips / f"{number:03d}.{who}.wav", wave[0], 24000, subtype="FLOAT")
        items[f"{number:03d}"] = item
    (args.clips / "items.json").write_text(json.dumps(items, indent=1))


def score_item(scorer: Scorer, clips: Path, name: str, item: dict) -> dict[str, float]:
    paths = {who: clips / f"{name}.{who}.wav" for who in SPEAKERS}
    audio = {who: scorer.load(path) for who, path in paths.items() if path.exists()}
    reference = "turbo" if "clone" in item else "teacher"
    text, language = item["text"], item["language"]
    row = {"durations": item["durations"], "length": item["length"], "units": len(split_units(text, language))}
    for who, clip in audio.items():
        row[f"mos {who}"] = scorer.naturalness(clip)
        # Less than a second says nothing about the speaker.
        if scorer.speaker and who != reference and len(clip) > 16000:
            row[f"similarity {who}"] = scorer.similarity(audio[reference], clip)
        if scorer.whisper:
            row[f"errors {who}"] = scorer.count_errors(clip, text, language)
    return row


def run_score(args: argparse.Namespace) -> None:
    scorer = Scorer(args.whisper, args.eres2net)
    items = json.loads((args.clips / "items.json").read_text())
    rows = [(item, score_item(scorer, args.clips, name, item)) for name, item in items.items()]
    means = [f"{measure} {who}" for measure in ("mos", "similarity") for who in SPEAKERS]
    for kind in [*dict.fromkeys(item["kind"] for item, _ in rows), "all"]:
        chosen = [row for item, row in rows if kind in (item["kind"], "all")]
        line = f"{kind:12s} {len(chosen):3d}"
        for key in [*means, "durations", "length"]:
            values = [row[key] for row in chosen if key in row]
            if values:
                line += f"  {key} {np.mean(values):.3f}"
        for key in [f"errors {who}" for who in SPEAKERS]:
            counted = [row for row in chosen if key in row]
            if counted:
                line += f"  {key} {sum(row[key] for row in counted)}/{sum(row['units'] for row in counted)}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("speak")
    command.add_argument("exported", type=Path)
    command.add_argument("clips", type=Path)
    for name in ("teacher", "head", "voices"):
        command.add_argument(f"--{name}", type=Path, required=True)
    command.add_argument("--clones", type=Path, help="of speakers that were not trained with")
    command.add_argument("--every", type=int, default=1, help="only every Nth item of each list")
    command.set_defaults(run=run_speak)
    command = commands.add_parser("score")
    command.add_argument("clips", type=Path)
    command.add_argument("--whisper", type=Path, help="a CTranslate2 Whisper model")
    command.add_argument("--eres2net", type=Path, help="a folder with `speakerlab` and the checkpoint")
    command.set_defaults(run=run_score)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
