"""What training and measuring listen with, frozen and batched: ERes2Net, CAM++, VoiceFilter's d-vector, DistillMOS and
Resemblyzer.

    python -m cloning.judges pack ERES2NET_FOLDER campplus.pt embedder.int8.onnx RESEMBLYZER_FOLDER DISTILLMOS_FOLDER \
        judges/

collects their code and weights (fp16) in one folder. None of them is part of the product. Resemblyzer is never
trained on.
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

from cloning.ear import DVECTOR, Heard
from cloning.sound import RATE, fbank, level

MOS_SAMPLES = 122_880
"""DistillMOS hears this many samples (7.68 s) at once."""


def quick(wave: Tensor) -> torch.autocast:
    """bf16 where a gradient is wanted or the caller works in it: twice as fast; measures are taken in fp32."""
    wanted = torch.is_autocast_enabled() or (torch.is_grad_enabled() and wave.requires_grad)
    return torch.autocast(wave.device.type, torch.bfloat16, enabled=wanted and wave.device.type == "cuda")


class Speaker(nn.Module):
    """A speaker network, and the maps that some of its modules make."""

    def __init__(self, network: nn.Module, places: list[nn.Module]) -> None:
        super().__init__()
        self.network = network
        self._maps: list[Tensor] = []
        for module in places:
            module.register_forward_hook(self._keep)

    def _keep(self, _module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        self._maps.append(output)

    def forward(self, wave: Tensor) -> Tensor:
        """16 kHz [B, samples] → unit embeddings [B, 192]"""
        return self.with_maps(wave)[0]

    def with_maps(self, wave: Tensor) -> tuple[Tensor, list[Tensor]]:
        self._maps = []
        with quick(wave):
            embedding = self.network(fbank(wave)).flatten(1)
        maps, self._maps = self._maps, []
        return F.normalize(embedding.float(), dim=1), maps


class Resemblyzer(nn.Module):
    """GE2E's LSTM; an utterance is the mean of windows of 1.6 s."""

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
        embedded = F.normalize(F.relu(self.linear(hidden)), dim=1)
        return F.normalize(embedded.unflatten(0, windows.shape[:2]).mean(dim=1), dim=1)


class DVector(nn.Module):
    """VoiceFilter's LSTM. It is of another kind than the other two: it does not take the mean off the spectrum, and
    hears windows of 0.8 s, of which the mean is taken."""

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
            bins = torch.stft(level(wave), self.N_FFT, self.HOP, self.WINDOW, self.window, return_complex=True)
            power = (bins.real.square() + bins.imag.square()).transpose(1, 2)
            mel = torch.log10(power @ self.filters + 1e-6)
            windows = mel.unfold(1, self.FRAMES, self.STEP).transpose(2, 3)
            said = F.normalize(self.linear(self.lstm(windows.flatten(0, 1))[0][:, -1]), dim=1)
        return F.normalize(said.unflatten(0, windows.shape[:2]).mean(dim=1), dim=1)

    @staticmethod
    def restored(path: Path) -> dict[str, Tensor]:
        """The weights of its package's ONNX file, which has eight bits for each."""
        graph = onnx.load(path).graph
        stored = {tensor.name: torch.tensor(numpy_helper.to_array(tensor)) for tensor in graph.initializer}

        def real(quantized: str) -> Tensor:
            name = quantized.removesuffix("_quantized")
            return (stored[quantized].float() - stored[f"{name}_zero_point"].float()) * stored[f"{name}_scale"]

        def reordered(gates: Tensor) -> Tensor:
            """From ONNX's input, output, forget, cell to torch's input, forget, cell, output."""
            entry, output, forget, cell = gates.chunk(4)
            return torch.cat([entry, forget, cell, output])

        weights = {
            "linear.weight": real("proj.linear_layer.weight_quantized").T,
            "linear.bias": stored["proj.linear_layer.bias"],
        }
        for i, node in enumerate(node for node in graph.node if node.op_type == "DynamicQuantizeLSTM"):
            from_below, from_before, biases = node.input[1:4]
            weights[f"lstm.weight_ih_l{i}"] = reordered(real(from_below)[0].T)
            weights[f"lstm.weight_hh_l{i}"] = reordered(real(from_before)[0].T)
            both = stored[biases][0].chunk(2)
            weights[f"lstm.bias_ih_l{i}"], weights[f"lstm.bias_hh_l{i}"] = map(reordered, both)
        return weights


class Networks(nn.Module):
    """The speaker networks that the ear learns from."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        sys.path.insert(0, str(folder))
        from speakerlab.models.campplus.DTDNN import CAMPPlus
        from speakerlab.models.eres2net.ERes2Net import ERes2Net

        eres2net = _filled(ERes2Net(feat_dim=80, embedding_size=192), folder / "eres2net.pt")
        campplus = _filled(CAMPPlus(feat_dim=80, embedding_size=192), folder / "campplus.pt")
        layers = campplus.xvector
        self.eres2net = Speaker(eres2net, [])
        self.campplus = Speaker(campplus, [campplus.head, layers.transit1, layers.transit2, layers.out_nonlinear])
        self.dvector = _filled(DVector(), folder / "dvector.pt")
        self.eval().requires_grad_(False)

    def hear(self, wave: Tensor) -> Heard:
        """As a perfect ear would. [B, samples]"""
        return Heard(self.eres2net(wave), self.campplus(wave), self.dvector(wave))


class Judges(Networks):
    """Also Resemblyzer and DistillMOS."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from distillmos.sqa import ConvTransformerSQAModel

        self.resemblyzer = _filled(Resemblyzer(), folder / "resemblyzer.pt")
        self.distillmos = _filled(ConvTransformerSQAModel(load_weights=False), folder / "distillmos.pt")
        self.eval().requires_grad_(False)
        self.dvector.train()  # cuDNN's LSTM gives no gradient otherwise; it has no dropout

    def naturalness(self, wave: Tensor) -> Tensor:
        """DistillMOS of the first 7.68 s of each clip. [B, samples] → [B]

        A trace of noise keeps its square roots away from zero, where they have no gradient.
        """
        wave = wave[:, :MOS_SAMPLES]
        wave = F.pad(wave, (0, MOS_SAMPLES - wave.shape[1]))
        with quick(wave):
            return self.distillmos(wave + 1e-5 * torch.randn_like(wave)).flatten().float()


def _filled(network: nn.Module, path: Path) -> nn.Module:
    weights = torch.load(path, map_location="cpu")
    network.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in weights.items()})
    return network


def _halved(weights: dict[str, Tensor]) -> dict[str, Tensor]:
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
    torch.save(_halved(torch.load(next(eres2net.glob("*.ckpt")), map_location="cpu")), folder / "eres2net.pt")
    torch.save(_halved(torch.load(campplus, map_location="cpu")), folder / "campplus.pt")
    torch.save(_halved(DVector.restored(dvector)), folder / "dvector.pt")
    weights = torch.load(resemblyzer / "pretrained.pt", map_location="cpu", weights_only=False)["model_state"]
    kept = {k: v for k, v in weights.items() if k.startswith(("lstm", "linear"))}
    kept["filters"] = torch.tensor(librosa.filters.mel(sr=16000, n_fft=400, n_mels=40))
    torch.save(_halved(kept), folder / "resemblyzer.pt")
    weights = torch.load(distillmos / "distillmos/weights/distill_mos_v7.pt", map_location="cpu")["model"]
    torch.save(_halved(weights), folder / "distillmos.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["pack"])
    for name in ("eres2net", "campplus", "dvector", "resemblyzer", "distillmos", "folder"):
        parser.add_argument(name, type=Path)
    args = vars(parser.parse_args())
    del args["command"]
    pack(**args)


if __name__ == "__main__":
    main()
