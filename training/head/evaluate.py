"""Synthesises held-out sentences with the teacher and with a head, and scores both.

    python -m head.evaluate teacher kokoro-fp32.onnx voices/ head/heldout.tsv clips/    # slow, once
    python -m head.evaluate student head.pt clips/                                      # fast, for every checkpoint
    python -m head.evaluate score clips/ --whisper DIR --eres2net DIR                   # naturalness, words, speaker

The teacher is the ONNX graph itself, run by ONNX Runtime; the head gets the features at its generator's input. Lines of
the list are voice, language letter, text; a voice can be a mixture (`af_heart+am_adam`).
"""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np
import soundfile
import torch

WHISPER = {"a": "en", "b": "en", "e": "es", "f": "fr", "h": "hi", "i": "it", "j": "ja", "p": "pt", "z": "zh"}
"""Whisper's names of Kokoro's languages."""


def read_list(path: Path, every: int) -> list[tuple[str, str, str, str]]:
    """Name, voice, language and text of each item."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    named = [(f"{i:03d}", voice, language, text) for i, (voice, language, text) in enumerate(lines)]
    return named[::every]


def read_style(path: Path, tokens: int) -> np.ndarray:
    return np.fromfile(path, np.float32).reshape(510, 1, 256)[tokens]


def run_teacher(args: argparse.Namespace) -> None:
    import onnx
    import onnxruntime

    from teacher import port
    from teacher.corpus import create_phonemizer, read_vocabulary

    model = onnx.load(args.onnx)
    names = ["waveform", port.FEATURES, port.F0]
    for name in names[1:]:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    symbols, phonemizers = read_vocabulary(), {}
    args.clips.mkdir(parents=True, exist_ok=True)
    items = {}
    for name, voice, language, text in read_list(args.list, args.every):
        if language not in phonemizers:
            phonemizers[language] = create_phonemizer(language)
        phonemize = phonemizers[language]
        ids = [symbols[c] for c in phonemize(text).strip() if c in symbols]
        style = np.mean([read_style(args.voices / f"{v}.bin", len(ids)) for v in voice.split("+")], axis=0)
        feed = {"input_ids": np.array([[0, *ids, 0]]), "style": style, "speed": np.ones(1, np.float32)}
        wave, features, f0 = session.run(names, feed)
        soundfile.write(args.clips / f"{name}.teacher.wav", wave.ravel(), 24000, subtype="FLOAT")
        inputs = {"features": features, "f0": f0[:, 0], "style": style[:, :128]}
        torch.save({k: torch.tensor(v) for k, v in inputs.items()}, args.clips / f"{name}.features.pt")
        items[name] = {"voice": voice, "language": language, "text": text}
    (args.clips / "items.json").write_text(json.dumps(items, indent=1))


@torch.no_grad()
def run_student(args: argparse.Namespace) -> None:
    from head import model as heads

    head = heads.load(args.head)
    for name in json.loads((args.clips / "items.json").read_text()):
        inputs = torch.load(args.clips / f"{name}.features.pt")
        wave = head(
            **inputs,
            phase=heads.accumulate_phase(inputs["f0"]),
            statistics=heads.utterance_statistics(inputs["features"]),
            position=torch.zeros(1, dtype=torch.int64),
        )
        soundfile.write(args.clips / f"{name}.student.wav", wave[0].numpy(), 24000, subtype="FLOAT")


def split_units(text: str, language: str) -> list[str]:
    """The units that errors are counted in: words in English, characters elsewhere."""
    if language not in "ab":
        return [c for c in text.lower() if c.isalnum()]
    from num2words import num2words

    text = re.sub(r"\d+", lambda match: f" {num2words(int(match.group()))} ", text.lower())
    return re.sub(r"[^a-z' ]+", " ", text.replace("’", "'")).split()


def count_edits(reference: list[str], hypothesis: list[str]) -> int:
    """Insertions, deletions and replacements between two sentences."""
    row = list(range(len(hypothesis) + 1))
    for i, expected in enumerate(reference, 1):
        diagonal, row[0] = row[0], i
        for j, found in enumerate(hypothesis, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (expected != found))
    return row[-1]


class Scorer:
    """DistillMOS always; word errors and speaker similarity where their models' folders are given."""

    def __init__(self, whisper: Path | None, eres2net: Path | None) -> None:
        import distillmos

        self.mos = distillmos.ConvTransformerSQAModel().eval()
        self.whisper = self.speaker = None
        if whisper:
            from faster_whisper import WhisperModel

            self.whisper = WhisperModel(str(whisper), device="cpu", compute_type="int8")
        if eres2net:
            sys.path.insert(0, str(eres2net))
            from speakerlab.models.eres2net.ERes2Net import ERes2Net

            self.speaker = ERes2Net(feat_dim=80, embedding_size=192).eval()
            checkpoint = torch.load(eres2net / "pretrained_eres2net.ckpt", map_location="cpu")
            self.speaker.load_state_dict(checkpoint)

    @staticmethod
    def load(path: Path) -> np.ndarray:
        import librosa

        audio, rate = soundfile.read(path, dtype="float32")
        return librosa.resample(audio, orig_sr=rate, target_sr=16000)

    def naturalness(self, audio: np.ndarray) -> float:
        with torch.no_grad():
            return self.mos(torch.from_numpy(audio)[None]).item()

    def count_errors(self, audio: np.ndarray, text: str, language: str) -> int:
        segments, _ = self.whisper.transcribe(audio, language=WHISPER[language], beam_size=5)
        transcript = " ".join(segment.text for segment in segments)
        return count_edits(split_units(text, language), split_units(transcript, language))

    def similarity(self, one: np.ndarray, other: np.ndarray) -> float:
        import torchaudio.compliance.kaldi as kaldi

        embeddings = []
        for audio in (one, other):
            clip = torch.from_numpy(audio)[None]
            bands = kaldi.fbank(clip, num_mel_bins=80, sample_frequency=16000, dither=0.0)
            with torch.no_grad():
                embeddings.append(self.speaker((bands - bands.mean(0, keepdim=True))[None])[0])
        return float(torch.cosine_similarity(*embeddings, dim=0))


def run_score(args: argparse.Namespace) -> None:
    scorer = Scorer(args.whisper, args.eres2net)
    cache = args.clips / "teacher_scores.json"
    known = json.loads(cache.read_text()) if cache.exists() else {}
    rows = []
    items = json.loads((args.clips / "items.json").read_text())
    for name, item in list(items.items())[:: args.every]:
        reference, student = (scorer.load(args.clips / f"{name}.{who}.wav") for who in ("teacher", "student"))
        text, language = item["text"], item["language"]
        row = {"voice": item["voice"], "units": len(split_units(text, language))}
        if name not in known:
            known[name] = {"mos": scorer.naturalness(reference)}
            if scorer.whisper:
                known[name]["errors"] = scorer.count_errors(reference, text, language)
        row |= {"teacher": known[name]["mos"], "student": scorer.naturalness(student)}
        if scorer.speaker:
            row["similarity"] = scorer.similarity(reference, student)
        if scorer.whisper:
            row["teacher errors"] = known[name]["errors"]
            row["student errors"] = scorer.count_errors(student, text, language)
        rows.append(row)
    cache.write_text(json.dumps(known))
    for voice in [*dict.fromkeys(row["voice"] for row in rows), "all"]:
        chosen = [row for row in rows if voice in (row["voice"], "all")]
        line = f"{voice:22s} {len(chosen):3d}"
        for key in ("teacher", "student", "similarity"):
            if key in chosen[0]:
                line += f"  {key} {np.mean([row[key] for row in chosen]):.3f}"
        for key in ("teacher errors", "student errors"):
            if key in chosen[0]:
                rate = sum(row[key] for row in chosen) / sum(row["units"] for row in chosen)
                line += f"  {key} {100 * rate:.2f} %"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("teacher")
    for name in ("onnx", "voices", "list", "clips"):
        command.add_argument(name, type=Path)
    command.add_argument("--every", type=int, default=1, help="only every Nth item")
    command.set_defaults(run=run_teacher)
    command = commands.add_parser("student")
    command.add_argument("head", type=Path)
    command.add_argument("clips", type=Path)
    command.set_defaults(run=run_student)
    command = commands.add_parser("score")
    command.add_argument("clips", type=Path)
    command.add_argument("--whisper", type=Path, help="a CTranslate2 Whisper model")
    command.add_argument("--eres2net", type=Path, help="a folder with `speakerlab` and the checkpoint")
    command.add_argument("--every", type=int, default=1)
    command.set_defaults(run=run_score)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
