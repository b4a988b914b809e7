"""Listens to recordings: naturalness, words, melody and speaker. Runs in the listening environment.

Reads lines of JSON, {"path": …, "senses": ["mos", "words", "onsets", "melody", "speaker",
"resemblyzer"], "references": […],
"language": …}, and answers each with a line of what was asked for. Its argument is the folder that setup.sh made.
"""

import json
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import librosa  # type: ignore[import-not-found]
import numpy as np
import numpy.typing as npt
import torch  # type: ignore[import-not-found]

from bench import scoring
from bench.resemblyzer import Resemblyzer

Audio = npt.NDArray[np.float32]
_RATE = 16_000  # what every one of the models wants


class Ears:
    def __init__(self, home: Path) -> None:
        self._home = home

    def mos(self, audio: Audio, question: dict[str, Any]) -> dict[str, Any]:
        """How natural it sounds, from 1 to 5."""
        with torch.no_grad():
            return {"mos": self._judge(torch.from_numpy(audio)[None]).item()}

    def words(self, audio: Audio, question: dict[str, Any]) -> dict[str, Any]:
        """What Whisper hears, and how many words (or characters) of it are not in the text."""
        language, references = question["language"], question["references"]
        segments, _ = self._whisper.transcribe(audio, language=language, beam_size=5)
        heard = " ".join(segment.text.strip() for segment in segments)
        wrong, length = scoring.errors(references, heard, language)
        answer = {"heard": heard, "wrong": wrong, "length": length}
        if language == "en":
            answer["plain_wer"] = scoring.plain(references[0], heard)
        return answer

    def onsets(self, audio: Audio, question: dict[str, Any]) -> dict[str, Any]:
        """When each of the given words begins: by a forced aligner, and by Whisper where it hears the same words."""
        from pocketsphinx import Decoder  # type: ignore[import-not-found]

        words = question["references"]
        decoder = Decoder(samprate=_RATE, bestpath=False, loglevel="FATAL")
        decoder.set_align_text(" ".join(words))
        decoder.start_utt()
        decoder.process_raw((audio * 32767).clip(-32768, 32767).astype(np.int16).tobytes(), full_utt=True)
        decoder.end_utt()
        aligned = [each.start_frame / 100 for each in decoder.seg() if each.word[0].isalpha()]
        segments, _ = self._whisper.transcribe(audio, language="en", beam_size=5, word_timestamps=True)
        heard = [word for segment in segments for word in segment.words]
        same = [scoring.letters(word.word) for word in heard] == words
        return {"aligner": aligned, "whisper": [word.start for word in heard] if same else None}

    def melody(self, audio: Audio, question: dict[str, Any]) -> dict[str, Any]:
        """How far the pitch swings: its standard deviation over the voiced frames, in semitones."""
        pitch, voiced, _ = librosa.pyin(audio, fmin=60, fmax=500, sr=_RATE, frame_length=1024)
        semitones = 12 * np.log2(pitch[voiced])
        return {"pitch_sd": float(semitones.std()), "pitch_median": float(np.median(pitch[voiced]))}

    def speaker(self, audio: Audio, question: dict[str, Any]) -> dict[str, Any]:
        """A direction that stands for the speaker: the cosine between two tells whether they are the same."""
        import torchaudio.compliance.kaldi as kaldi  # type: ignore[import-not-found]

        features = kaldi.fbank(torch.from_numpy(audio)[None], num_mel_bins=80, sample_frequency=_RATE, dither=0.0)
        with torch.no_grad():
            embedding = self._recogniser((features - features.mean(0, keepdim=True))[None])[0].numpy()
        return {"speaker": (embedding / np.linalg.norm(embedding)).tolist()}

    def resemblyzer(self, audio: Audio, question: dict[str, Any]) -> dict[str, Any]:
        """The same by another network, which svc's own was never trained to please."""
        return {"resemblyzer": self._resemblyzer.embedding(audio).tolist()}

    @cached_property
    def _resemblyzer(self) -> Resemblyzer:
        return Resemblyzer(self._home / "resemblyzer/pretrained.pt")

    @cached_property
    def _judge(self) -> Any:
        import distillmos  # type: ignore[import-not-found]

        return distillmos.ConvTransformerSQAModel().eval()

    @cached_property
    def _whisper(self) -> Any:
        from faster_whisper import WhisperModel

        return WhisperModel(str(self._home / "whisper-base"), device="cpu", compute_type="int8")

    @cached_property
    def _recogniser(self) -> Any:
        sys.path.insert(0, str(self._home / "eres2net"))
        from speakerlab.models.eres2net.ERes2Net import ERes2Net  # type: ignore[import-not-found]

        net = ERes2Net(feat_dim=80, embedding_size=192)
        net.load_state_dict(torch.load(self._home / "eres2net/pretrained_eres2net.ckpt", map_location="cpu"))
        return net.eval()


def _audio(path: str) -> Audio:
    samples: Audio = librosa.load(path, sr=_RATE)[0]
    return samples


def main() -> None:
    # The answers own standard output; whatever a library prints goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    ears = Ears(Path(sys.argv[1]))
    for line in sys.stdin:
        question = json.loads(line)
        audio = _audio(question["path"])
        answer: dict[str, Any] = {}
        for sense in question["senses"]:
            answer |= getattr(ears, sense)(audio, question)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
