"""Reads the weights of a CTranslate2 model of Whisper."""

import re
import struct
from pathlib import Path
from typing import BinaryIO

import torch
from torch import Tensor


def read_ctranslate2(path: Path) -> dict[str, Tensor]:
    """The weights of CTranslate2's model.bin, with the names of `accents.whisper`."""
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
