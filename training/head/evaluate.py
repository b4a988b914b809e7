"""Speaks held-out sentences with the teacher and with a head, and measures both.

    python evaluate.py teacher kokoro-fp32.onnx voices/ heldout.tsv said/    # slow, once
    python evaluate.py student head.pt said/                                 # fast, for every checkpoint
    python evaluate.py score said/ --whisper DIR --eres2net DIR              # naturalness, words, speaker

The teacher is the ONNX graph itself, run by ONNX Runtime, with its seam exposed; the head gets that seam.
Lines of the list are voice, language letter, text; a voice can be a mixture (`af_heart+am_adam`).
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


def teacher(args: argparse.Namespace) -> None:
    import onnx
    import onnxruntime

    import port
    from corpus import phonemizer, vocabulary

    model = onnx.load(args.onnx)
    names = ["waveform", port.FEATURES, port.F0]
    for name in names[1:]:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    symbols, phonemizers = vocabulary(), {}
    args.said.mkdir(parents=True, exist_ok=True)
    items = {}
    for name, voice, language, text in read_list(args.list, args.every):
        phonemize = phonemizers.setdefault(language, None) or phonemizer(language)
        phonemizers[language] = phonemize
        ids = [symbols[c] for c in phonemize(text).strip() if c in symbols]
        style = np.mean([read_style(args.voices / f"{v}.bin", len(ids)) for v in voice.split("+")], axis=0)
        feed = {"input_ids": np.array([[0, *ids, 0]]), "style": style, "speed": np.ones(1, np.float32)}
        wave, features, f0 = session.run(names, feed)
        soundfile.write(args.said / f"{name}.teacher.wav", wave.ravel(), 24000, subtype="FLOAT")
        seam = {"features": features, "f0": f0[:, 0], "style": style[:, :128]}
        torch.save({k: torch.tensor(v) for k, v in seam.items()}, args.said / f"{name}.seam.pt")
        items[name] = {"voice": voice, "language": language, "text": text}
    (args.said / "items.json").write_text(json.dumps(items, indent=1))


@torch.no_grad()
def student(args: argparse.Namespace) -> None:
    import head as heads

    head = heads.load(args.head)
    for name in json.loads((args.said / "items.json").read_text()):
        seam = torch.load(args.said / f"{name}.seam.pt")
        wave = head(
            **seam,
            phase=heads.cycles(seam["f0"]),
            stats=heads.statistics(seam["features"]),
            position=torch.zeros(1, dtype=torch.int64),
        )
        soundfile.write(args.said / f"{name}.student.wav", wave[0].numpy(), 24000, subtype="FLOAT")


def units(text: str, language: str) -> list[str]:
    """What errors are counted in: words in English, characters elsewhere."""
    if language not in "ab":
        return [c for c in text.lower() if c.isalnum()]
    from num2words import num2words

    text = re.sub(r"\d+", lambda match: f" {num2words(int(match.group()))} ", text.lower())
    return re.sub(r"[^a-z' ]+", " ", text.replace("’", "'")).split()


def edits(wanted: list[str], heard: list[str]) -> int:
    """Insertions, deletions and replacements between two sentences."""
    row = list(range(len(heard) + 1))
    for i, want in enumerate(wanted, 1):
        diagonal, row[0] = row[0], i
        for j, got in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (want != got))
    return row[-1]


class Measures:
    """DistillMOS always; word errors and the speaker's likeness where their models' folders are given."""

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

    def errors(self, audio: np.ndarray, text: str, language: str) -> int:
        segments, _ = self.whisper.transcribe(audio, language=WHISPER[language], beam_size=5)
        heard = " ".join(segment.text for segment in segments)
        return edits(units(text, language), units(heard, language))

    def likeness(self, one: np.ndarray, other: np.ndarray) -> float:
        import torchaudio.compliance.kaldi as kaldi

        embedded = []
        for audio in (one, other):
            clip = torch.from_numpy(audio)[None]
            bands = kaldi.fbank(clip, num_mel_bins=80, sample_frequency=16000, dither=0.0)
            with torch.no_grad():
                embedded.append(self.speaker((bands - bands.mean(0, keepdim=True))[None])[0])
        return float(torch.cosine_similarity(*embedded, dim=0))


def score(args: argparse.Namespace) -> None:
    measures = Measures(args.whisper, args.eres2net)
    cache = args.said / "teacher_scores.json"
    known = json.loads(cache.read_text()) if cache.exists() else {}
    rows = []
    items = json.loads((args.said / "items.json").read_text())
    for name, item in list(items.items())[:: args.every]:
        taught, made = (measures.load(args.said / f"{name}.{who}.wav") for who in ("teacher", "student"))
        text, language = item["text"], item["language"]
        row = {"voice": item["voice"], "units": len(units(text, language))}
        if name not in known:
            known[name] = {"mos": measures.naturalness(taught)}
            if measures.whisper:
                known[name]["errors"] = measures.errors(taught, text, language)
        row |= {"teacher": known[name]["mos"], "student": measures.naturalness(made)}
        if measures.speaker:
            row["likeness"] = measures.likeness(taught, made)
        if measures.whisper:
            row["teacher errors"] = known[name]["errors"]
            row["student errors"] = measures.errors(made, text, language)
        rows.append(row)
    cache.write_text(json.dumps(known))
    for voice in [*dict.fromkeys(row["voice"] for row in rows), "all"]:
        chosen = [row for row in rows if voice in (row["voice"], "all")]
        line = f"{voice:22s} {len(chosen):3d}"
        for key in ("teacher", "student", "likeness"):
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
    for name in ("onnx", "voices", "list", "said"):
        command.add_argument(name, type=Path)
    command.add_argument("--every", type=int, default=1, help="only every so many items")
    command.set_defaults(do=teacher)
    command = commands.add_parser("student")
    command.add_argument("head", type=Path)
    command.add_argument("said", type=Path)
    command.set_defaults(do=student)
    command = commands.add_parser("score")
    command.add_argument("said", type=Path)
    command.add_argument("--whisper", type=Path, help="a CTranslate2 Whisper model")
    command.add_argument("--eres2net", type=Path, help="a folder with `speakerlab` and the checkpoint")
    command.add_argument("--every", type=int, default=1)
    command.set_defaults(do=score)
    args = parser.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
