"""The frozen networks of losses and validation: ERes2Net, CAM++, VoiceFilter's d-vector, DistillMOS, Resemblyzer.

    python -m speaker_encoder.frozen_losses ERES2NET_FOLDER campplus.pt embedder.int8.onnx RESEMBLYZER_FOLDER \
        SITE_PACKAGES frozen/

collects their code and weights (fp16) in one folder. None of them is part of the product. Resemblyzer is used for
validation only, never in a loss.
"""

import argparse
import shutil
import sys
from pathlib import Path

import onnx
import torch
import torch.nn.functional as F
import torchaudio
from onnx import numpy_helper
from torch import Tensor, nn

from speaker_encoder.encoder import DVECTOR, Embeddings
from speaker_encoder.features import RATE, fbank, normalize_level

MOS_SAMPLES = 122_880
"""Samples (7.68 s) of DistillMOS's input."""


def mixed_precision(wave: Tensor) -> torch.autocast:
    """bf16 on a GPU where a gradient is needed or the caller uses it, which is twice as fast; fp32 for measurements."""
    enabled = torch.is_autocast_enabled() or (torch.is_grad_enabled() and wave.requires_grad)
    return torch.autocast(wave.device.type, torch.bfloat16, enabled=enabled and wave.device.type == "cuda")


class SpeakerNetwork(nn.Module):
    """A speaker network, with access to the feature maps of some of its modules."""

    def __init__(self, network: nn.Module, mapped: list[nn.Module]) -> None:
        super().__init__()
        self.network = network
        self._maps: list[Tensor] = []
        for module in mapped:
            module.register_forward_hook(self._keep)

    def _keep(self, _module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        self._maps.append(output)

    def forward(self, wave: Tensor) -> Tensor:
        """16 kHz [B, samples] → unit embeddings [B, 192]"""
        return self.with_maps(wave)[0]

    def with_maps(self, wave: Tensor) -> tuple[Tensor, list[Tensor]]:
        self._maps = []
        with mixed_precision(wave):
            embedding = self.network(fbank(wave)).flatten(1)
        maps, self._maps = self._maps, []
        return F.normalize(embedding.float(), dim=1), maps


class Resemblyzer(nn.Module):
    """GE2E's LSTM; an utterance's embedding is the mean over windows of 1.6 s."""

    WINDOW, STEP = 160, 77

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(40, 256, 3, batch_first=True)
        self.linear = nn.Linear(256, 256)
        self.register_buffer("filters", torch.zeros(40, 201))

    @torch.no_grad()
    def forward(self, wave: Tensor) -> Tensor:
        wave = wave * (10 ** (-30 / 20) / (wave.square().mean(dim=1, keepdim=True).sqrt() + 1e-9))
        window = torch.hann_window(400, device=wave.device)
        power = torch.stft(wave, 400, 160, 400, window, pad_mode="constant", return_complex=True).abs().square()
        mel = (self.filters @ power).transpose(1, 2)
        mel = F.pad(mel, (0, 0, 0, max(0, self.WINDOW - mel.shape[1])))
        windows = mel.unfold(1, self.WINDOW, self.STEP).transpose(2, 3)
        hidden = self.lstm(windows.flatten(0, 1))[1][0][-1]
        embeddings = F.normalize(F.relu(self.linear(hidden)), dim=1)
        return F.normalize(embeddings.unflatten(0, windows.shape[:2]).mean(dim=1), dim=1)


class DVector(nn.Module):
    """VoiceFilter's LSTM; the mean over windows of 0.8 s. Unlike the others it keeps the mean spectrum."""

    N_FFT, WINDOW, HOP, FRAMES, STEP = 512, 400, 160, 80, 40

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(40, 768, 3, batch_first=True)
        self.linear = nn.Linear(768, DVECTOR)
        filters = torchaudio.functional.melscale_fbanks(
            self.N_FFT // 2 + 1, 0.0, RATE / 2, 40, RATE, norm="slaney", mel_scale="slaney"
        )
        self.register_buffer("filters", filters, persistent=False)
        self.register_buffer("window", torch.hann_window(self.WINDOW), persistent=False)

    def forward(self, wave: Tensor) -> Tensor:
        """16 kHz [B, samples] → unit embeddings [B, 256]"""
        with torch.autocast(wave.device.type, enabled=False):
            return self.embed(self.log_mel(normalize_level(wave)))

    def log_mel(self, wave: Tensor) -> Tensor:
        """[B, samples] → [B, frames, 40]"""
        bins = torch.stft(wave, self.N_FFT, self.HOP, self.WINDOW, self.window, return_complex=True)
        power = (bins.real.square() + bins.imag.square()).transpose(1, 2)
        return torch.log10(power @ self.filters + 1e-6)

    def embed(self, mel: Tensor) -> Tensor:
        """[B, frames, 40] → [B, 256]"""
        return self.pool(self.run(self.cut_windows(mel)), len(mel))

    def pool(self, states: Tensor, count: int) -> Tensor:
        """The embeddings of that many clips, from the hidden states in their windows."""
        embeddings = F.normalize(self.linear(states[:, -1]), dim=1)
        return F.normalize(embeddings.unflatten(0, (count, -1)).mean(dim=1), dim=1)

    def cut_windows(self, mel: Tensor) -> Tensor:
        """[B, frames, 40] → [B × windows, 80, 40]"""
        return mel.unfold(1, self.FRAMES, self.STEP).transpose(2, 3).flatten(0, 1)

    def run(self, windows: Tensor) -> Tensor:
        """The last layer's hidden states. [B, 80, 768]"""
        return self.lstm(windows)[0]

    @staticmethod
    def read_weights(path: Path) -> dict[str, Tensor]:
        """From its package's ONNX file, which is quantized to int8."""
        graph = onnx.load(path).graph
        stored = {tensor.name: torch.tensor(numpy_helper.to_array(tensor)) for tensor in graph.initializer}

        def dequantize(quantized: str) -> Tensor:
            name = quantized.removesuffix("_quantized")
            return (stored[quantized].float() - stored[f"{name}_zero_point"].float()) * stored[f"{name}_scale"]

        def reorder(gates: Tensor) -> Tensor:
            """From ONNX's input, output, forget, cell to torch's input, forget, cell, output."""
            entry, output, forget, cell = gates.chunk(4)
            return torch.cat([entry, forget, cell, output])

        weights = {
            "linear.weight": dequantize("proj.linear_layer.weight_quantized").T,
            "linear.bias": stored["proj.linear_layer.bias"],
        }
        for i, node in enumerate(node for node in graph.node if node.op_type == "DynamicQuantizeLSTM"):
            input_weights, recurrent_weights, biases = node.input[1:4]
            weights[f"lstm.weight_ih_l{i}"] = reorder(dequantize(input_weights)[0].T)
            weights[f"lstm.weight_hh_l{i}"] = reorder(dequantize(recurrent_weights)[0].T)
            both = stored[biases][0].chunk(2)
            weights[f"lstm.bias_ih_l{i}"], weights[f"lstm.bias_hh_l{i}"] = map(reorder, both)
        return weights


class SpeakerNetworks(nn.Module):
    """The speaker networks that the encoder is trained to predict."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        sys.path.insert(0, str(folder))
        from speakerlab.models.campplus.DTDNN import CAMPPlus
        from speakerlab.models.eres2net.ERes2Net import ERes2Net

        eres2net = _load_weights(ERes2Net(feat_dim=80, embedding_size=192), folder / "eres2net.pt")
        campplus = _load_weights(CAMPPlus(feat_dim=80, embedding_size=192), folder / "campplus.pt")
        layers = campplus.xvector
        self.eres2net = SpeakerNetwork(eres2net, [])
        self.campplus = SpeakerNetwork(
            campplus, [campplus.head, layers.transit1, layers.transit2, layers.out_nonlinear]
        )
        self.dvector = load_dvector(folder)
        self.eval().requires_grad_(False)

    def embed(self, wave: Tensor) -> Embeddings:
        """The embeddings that the encoder should predict. [B, samples]"""
        return Embeddings(self.eres2net(wave), self.campplus(wave), self.dvector(wave))


class FrozenNetworks(SpeakerNetworks):
    """Also Resemblyzer and DistillMOS."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from distillmos.sqa import ConvTransformerSQAModel

        self.resemblyzer = _load_weights(Resemblyzer(), folder / "resemblyzer.pt")
        self.distillmos = _load_weights(ConvTransformerSQAModel(load_weights=False), folder / "distillmos.pt")
        self.eval().requires_grad_(False)
        self.dvector.train()  # cuDNN's LSTM has no backward pass in eval mode; it has no dropout

    def naturalness(self, wave: Tensor) -> Tensor:
        """DistillMOS of the first 7.68 s of each clip. [B, samples] → [B]

        Faint noise keeps its square roots away from zero, where they have no gradient.
        """
        wave = wave[:, :MOS_SAMPLES]
        wave = F.pad(wave, (0, MOS_SAMPLES - wave.shape[1]))
        with mixed_precision(wave):
            return self.distillmos(wave + 1e-5 * torch.randn_like(wave)).flatten().float()


def load_dvector(folder: Path) -> DVector:
    return _load_weights(DVector(), folder / "dvector.pt")


def _load_weights(network: nn.Module, path: Path) -> nn.Module:
    weights = torch.load(path, map_location="cpu")
    network.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in weights.items()})
    return network


def _to_fp16(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k: v.half() if v.is_floating_point() else v for k, v in weights.items()}


def pack(eres2net: Path, campplus: Path, dvector: Path, resemblyzer: Path, distillmos: Path, folder: Path) -> None:
    import librosa

    folder.mkdir(parents=True, exist_ok=True)
    models = folder / "speakerlab" / "models"
    for part in ("eres2net", "campplus"):
        shutil.copytree(eres2net / "speakerlab/models" / part, models / part, dirs_exist_ok=True)
    for part in ("distillmos", "xls_r_sqa"):
        shutil.copytree(
            distillmos / part,
            folder / part,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("weights", "*.pt", "__pycache__", "models"),
        )
    torch.save(_to_fp16(torch.load(next(eres2net.glob("*.ckpt")), map_location="cpu")), folder / "eres2net.pt")
    torch.save(_to_fp16(torch.load(campplus, map_location="cpu")), folder / "campplus.pt")
    torch.save(_to_fp16(DVector.read_weights(dvector)), folder / "dvector.pt")
    weights = torch.load(resemblyzer / "pretrained.pt", map_location="cpu", weights_only=False)["model_state"]
    kept = {k: v for k, v in weights.items() if k.startswith(("lstm", "linear"))}
    kept["filters"] = torch.tensor(librosa.filters.mel(sr=16000, n_fft=400, n_mels=40))
    torch.save(_to_fp16(kept), folder / "resemblyzer.pt")
    weights = torch.load(distillmos / "distillmos/weights/distill_mos_v7.pt", map_location="cpu")["model"]
    torch.save(_to_fp16(weights), folder / "distillmos.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("eres2net", "campplus", "dvector", "resemblyzer", "distillmos", "folder"):
        parser.add_argument(name, type=Path)
    pack(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
