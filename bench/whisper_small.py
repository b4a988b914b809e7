"""Whisper small as ONNX graphs: a second listener. Runs in the evaluation environment; greedy decoding."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from faster_whisper.feature_extractor import FeatureExtractor
from tokenizers import Tokenizer

_RATE, _SECONDS = 16_000, 30
_MOST_TOKENS = 400


class WhisperSmall:
    def __init__(self, folder: Path) -> None:
        self._encoder = _load(folder / "onnx/encoder_model_quantized.onnx")
        self._decoder = _load(folder / "onnx/decoder_model_merged_quantized.onnx")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._features = FeatureExtractor()
        self._config = json.loads((folder / "generation_config.json").read_text())

    def transcribe(self, audio: npt.NDArray[np.float32], language: str) -> str:
        """The transcript of at most 30 seconds."""
        padded = np.zeros(_RATE * _SECONDS, dtype=np.float32)
        padded[: len(audio)] = audio[: len(padded)]
        mel = self._features(padded)[:, : 100 * _SECONDS].astype(np.float32)
        encoded = self._encoder.run(None, {"input_features": mel[None]})[0]
        tokens = self._decode(encoded, self._prompt(language))
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True)).strip()

    def _prompt(self, language: str) -> list[int]:
        names = ("<|startoftranscript|>", f"<|{language}|>", "<|transcribe|>", "<|notimestamps|>")
        return [self._tokenizer.token_to_id(name) or 0 for name in names]

    def _decode(self, encoded: npt.NDArray[np.float32], prompt: list[int]) -> list[int]:
        outputs = [each.name for each in self._decoder.get_outputs()]
        names = [name for name in outputs if name == "logits" or name.startswith("present")]
        feed: dict[str, Any] = {
            each.name: np.zeros((1, 12, 0, 64), dtype=np.float32)
            for each in self._decoder.get_inputs()
            if each.name.startswith("past_key_values")
        }
        feed |= {"encoder_hidden_states": encoded, "use_cache_branch": np.array([False])}
        inputs, tokens = prompt, list[int]()
        while len(tokens) < _MOST_TOKENS:
            found = dict(zip(names, self._decoder.run(names, {**feed, "input_ids": np.array([inputs])}), strict=True))
            logits = found.pop("logits")[0, -1]
            logits[self._config["suppress_tokens"]] = -np.inf
            if not tokens:
                logits[self._config["begin_suppress_tokens"]] = -np.inf
            token = int(logits.argmax())
            if token == self._config["eos_token_id"]:
                break
            tokens.append(token)
            for name, value in found.items():
                # With the cache, the keys and values of the encoder are not given again.
                if value.size:
                    feed[name.replace("present", "past_key_values")] = value
            feed["use_cache_branch"] = np.array([True])
            inputs = [token]
        return tokens


def _load(path: Path) -> ort.InferenceSession:
    return ort.InferenceSession(path, providers=["CPUExecutionProvider"])
