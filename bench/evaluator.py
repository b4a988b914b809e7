"""Evaluates recordings: naturalness, words, pitch and speaker. Runs in the evaluation environment.

Reads lines of JSON, {"path": …, "measures": ["mos", "words", "heard", "onsets", "melody", "speaker", "resemblyzer"],
"references": […], "language": …}, and answers each with a line of results. Its argument is the folder of setup.sh.
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

from bench import word_errors
from bench.resemblyzer import Resemblyzer
from bench.whisper_small import WhisperSmall

Audio = npt.NDArray[np.float32]
_RATE = 16_000  # of every model's input


class Evaluator:
    def __init__(self, home: Path) -> None:
        self._home = home

    def mos(self, audio: Audio, request: dict[str, Any]) -> dict[str, Any]:
        """Naturalness from 1 to 5 (DistillMOS)."""
        with torch.no_grad():
            return {"mos": self._distillmos(torch.from_numpy(audio)[None]).item()}

    def words(self, audio: Audio, request: dict[str, Any]) -> dict[str, Any]:
        """Whisper's transcript, and how many words (or characters) of it are wrong. `listener`: base or small"""
        language, references = request["language"], request["references"]
        transcript = self._transcribe(audio, language, request.get("listener", "base"))
        wrong, length = word_errors.count_errors(references, transcript, language)
        answer = {"heard": transcript, "wrong": wrong, "length": length}
        if language == "en":
            answer["plain_wer"] = word_errors.plain_rate(references[0], transcript)
        return answer

    def heard(self, audio: Audio, request: dict[str, Any]) -> dict[str, Any]:
        """The transcripts of two listeners: Whisper base, which trainings listen with, and Whisper small."""
        language = request["language"]
        return {"heard": {each: self._transcribe(audio, language, each) for each in request["listeners"]}}

    def _transcribe(self, audio: Audio, language: str, listener: str) -> str:
        if listener == "small":
            return self._whisper_small.transcribe(audio, language)
        segments, _ = self._whisper.transcribe(audio, language=language, beam_size=5)
        return " ".join(segment.text.strip() for segment in segments)

    def onsets(self, audio: Audio, request: dict[str, Any]) -> dict[str, Any]:
        """Onsets of the given words by a forced aligner, and by Whisper where its transcript has the same words."""
        from pocketsphinx import Decoder  # type: ignore[import-not-found]

        words = request["references"]
        decoder = Decoder(samprate=_RATE, bestpath=False, loglevel="FATAL")
        decoder.set_align_text(" ".join(words))
        decoder.start_utt()
        decoder.process_raw((audio * 32767).clip(-32768, 32767).astype(np.int16).tobytes(), full_utt=True)
        decoder.end_utt()
        aligned = [each.start_frame / 100 for each in decoder.seg() if each.word[0].isalpha()]
        segments, _ = self._whisper.transcribe(audio, language="en", beam_size=5, word_timestamps=True)
        transcribed = [word for segment in segments for word in segment.words]
        same = [word_errors.keep_ascii(word.word) for word in transcribed] == words
        return {"aligner": aligned, "whisper": [word.start for word in transcribed] if same else None}

    def melody(self, audio: Audio, request: dict[str, Any]) -> dict[str, Any]:
        """Pitch: its standard deviation over the voiced frames in semitones, and its median in Hz."""
        pitch, voiced, _ = librosa.pyin(audio, fmin=60, fmax=500, sr=_RATE, frame_length=1024)
        semitones = 12 * np.log2(pitch[voiced])
        return {"pitch_sd": float(semitones.std()), "pitch_median": float(np.median(pitch[voiced]))}

    def speaker(self, audio: Audio, request: dict[str, Any]) -> dict[str, Any]:
        """ERes2Net's speaker embedding, of length one."""
        import torchaudio.compliance.kaldi as kaldi  # type: ignore[import-not-found]

        features = kaldi.fbank(torch.from_numpy(audio)[None], num_mel_bins=80, sample_frequency=_RATE, dither=0.0)
        with torch.no_grad():
            embedding = self._eres2net((features - features.mean(0, keepdim=True))[None])[0].numpy()
        return {"speaker": (embedding / np.linalg.norm(embedding)).tolist()}

    def resemblyzer(self, audio: Audio, request: dict[str, Any]) -> dict[str, Any]:
        """Resemblyzer's speaker embedding; no network of svc was trained with it."""
        return {"resemblyzer": self._resemblyzer.embed(audio).tolist()}

    @cached_property
    def _resemblyzer(self) -> Resemblyzer:
        return Resemblyzer(self._home / "resemblyzer/pretrained.pt")

    @cached_property
    def _distillmos(self) -> Any:
        import distillmos  # type: ignore[import-not-found]

        return distillmos.ConvTransformerSQAModel().eval()

    @cached_property
    def _whisper(self) -> Any:
        from faster_whisper import WhisperModel

        return WhisperModel(str(self._home / "whisper-base"), device="cpu", compute_type="int8")

    @cached_property
    def _whisper_small(self) -> WhisperSmall:
        return WhisperSmall(self._home / "whisper-small")

    @cached_property
    def _eres2net(self) -> Any:
        sys.path.insert(0, str(self._home / "eres2net"))
        from speakerlab.models.eres2net.ERes2Net import ERes2Net  # type: ignore[import-not-found]

        net = ERes2Net(feat_dim=80, embedding_size=192)
        net.load_state_dict(torch.load(self._home / "eres2net/pretrained_eres2net.ckpt", map_location="cpu"))
        return net.eval()


def _read(path: str) -> Audio:
    samples: Audio = librosa.load(path, sr=_RATE)[0]
    return samples


def main() -> None:
    # Standard output is for answers only; what libraries print goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    evaluator = Evaluator(Path(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        audio = _read(request["path"])
        answer: dict[str, Any] = {}
        for measure in request["measures"]:
            answer |= getattr(evaluator, measure)(audio, request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
