"""Checks that batches, windows and exports give what one whole utterance in torch gives.

    python -m acoustic.exactness                                          # the networks, with random weights
    python -m acoustic.exactness --teacher kokoro.pt                      # and the teacher's batched prosody
    python -m acoustic.exactness --run run --floats floats --int8 int8    # and exports of a run
    python -m acoustic.exactness --run run --batches ../src/svc/data      # and those for a GPU

Prints the largest differences, relative to the peak; fails where they are more than rounding. Int8 is printed only:
it differs from floats by design, but its windows must equal its whole.
"""

import argparse
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import torch.nn.functional as F
from svc.engine.batches import BatchedNetworks
from svc.engine.phonemes import tokenize
from svc.engine.protocol import Utterance

from acoustic import model
from acoustic.batched_teacher import BatchedProsody, BatchedSpeech
from acoustic.batching import SpeechGraph
from acoustic.exported import ExportedNetworks
from acoustic.prosody_cache import pad_texts
from head.model import accumulate_phase
from teacher import port
from teacher.kokoro import FRAME

ROUNDING = 5e-4
NETWORKS = ("prosody", "decoder", "head")
SENTENCES = ("wˌɛn ðə stˈɔɹm kˈAm ˈɪn fɹʌm ðə wˈɛst, ðə hˈOl hˈɑɹbəɹ wɛnt kwˈIət.", "jˈɛs.", "nˈObˌɑdi spˈOk.")


def compare(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).abs().max() / (other.abs().max() + 1e-9))


@torch.no_grad()
def check_prosody() -> float:
    """A batch of two texts against each alone."""
    network = model.Prosody().eval()
    lengths = (23, 9)
    ids = torch.randint(1, model.SYMBOLS, (2, 23))
    mask = torch.arange(23)[None] < torch.tensor(lengths)[:, None]
    durations = torch.randint(1, 6, (2, 23)) * mask
    style = torch.randn(2, 128)
    frames = durations.sum(dim=1)
    frame_mask = torch.arange(int(frames.max()))[None] < frames[:, None]

    def run(ids, style, mask, durations, frame_mask):
        film = network.make_film(style)
        encoded = network.encode(ids, film, mask)
        token, place = model.expand_tokens(durations, int(durations.sum(dim=1).max()))
        curves = network.predict_curves(encoded, token, place, durations.gather(1, token), film, frame_mask)
        return network.predict_durations(encoded), *model.decode_curves(curves)

    batch = run(ids, style, mask, durations, frame_mask)
    worst = 0.0
    for i, length in enumerate(lengths):
        alone = run(ids[i : i + 1, :length], style[i : i + 1], None, durations[i : i + 1, :length], None)
        for one, other in zip(batch, alone, strict=True):
            worst = max(worst, compare(one[i : i + 1, : other.shape[1]], other))
    return worst


@torch.no_grad()
def check_speech() -> tuple[float, float]:
    """Decoder and head: a batch of two clips against each alone, a window against the whole clip."""
    decoder, head = model.Decoder().eval(), model.Head().eval()
    frames = (70, 40)
    mask = torch.arange(70)[None] < torch.tensor(frames)[:, None]
    text = torch.randn(2, 70, decoder.size.text_width) * mask[..., None]
    place, duration = torch.zeros(2, 70).long(), torch.ones(2, 70).long()
    f0 = (150 + 30 * torch.randn(2, 140)) * mask.repeat_interleave(2, 1)
    energy, phase = torch.randn(2, 140), torch.rand(2, 140)
    timbre, summary = torch.randn(2, model.LAYERS, 128), torch.randn(2, model.SUMMARY)
    mask_offset = 0.1 * torch.randn(2, model.MASKS)

    def run(items, left, right, mask):
        film, statistics = decoder.make_film(timbre[items], summary[items])
        w, h = slice(left, right), slice(2 * left, 2 * right)
        features = decoder(
            text[items, w], place[items, w], duration[items, w], f0[items, h], energy[items, h], film, mask
        )
        present = None if mask is None else mask.repeat_interleave(2, 1)[..., None].float()
        position = torch.full((len(features),), 2 * left)
        head_film = head.make_film(timbre[items, -1], statistics, None)
        return head(features, f0[items, h], phase[items, h], head_film, position, mask_offset[items], present)

    batch = run(slice(0, 2), 0, 70, mask)
    from_batch = 0.0
    for i, count in enumerate(frames):
        alone = run(slice(i, i + 1), 0, count, None)
        # The last frame overlaps what follows the clip, which is nothing alone and masked frames in a batch.
        end = (2 * count - 2) * FRAME
        from_batch = max(from_batch, compare(batch[i : i + 1, :end], alone[:, :end]))
    whole = run(slice(0, 1), 0, 70, None)
    context = decoder.context + (head.context + 1) // 2
    part = run(slice(0, 1), 30 - context, 40 + context, None)
    inside = part[:, 2 * context * FRAME : (2 * context + 20) * FRAME]
    return from_batch, compare(inside, whole[:, 60 * FRAME : 80 * FRAME])


@torch.no_grad()
def check_teacher(path: Path) -> tuple[float, float]:
    """The teacher's curves and its speech for two texts in a batch, against each alone."""
    teacher = port.load(path)
    ids, lengths = pad_texts([np.array(port.PROBE_IDS), np.array(port.PROBE_IDS[:17])], torch.device("cpu"))
    style, timbre = 0.1 * torch.randn(2, 128), 0.1 * torch.randn(2, model.LAYERS, 128)
    _, rounded, f0, energy = BatchedProsody(teacher).predict(ids, lengths, style)
    speech = BatchedSpeech(teacher)
    features = speech.make_features(ids, lengths, rounded, f0, energy, timbre[:, :-1])
    wave = speech.vocode(features, f0, timbre[:, -1], 2 * rounded.sum(dim=1))
    prosody_worst = speech_worst = 0.0
    for i, length in enumerate(lengths):
        one = slice(i, i + 1)
        words = teacher.bert_encoder(teacher.bert(ids[one, :length]))
        encoded = teacher.predictor.text_encoder(words, style[one])
        durations = torch.round(teacher.predictor.durations(encoded)[0]).clamp(min=1).long()
        if not torch.equal(durations, rounded[i, :length]):
            raise SystemExit("the batched teacher's durations differ")
        index = torch.repeat_interleave(torch.arange(int(length)), durations)
        curves = teacher.predictor.curves(encoded[:, index], style[one])
        for batched, alone in zip((f0, energy), curves, strict=True):
            prosody_worst = max(prosody_worst, compare(batched[one, : alone.shape[1]], alone))
        text = teacher.text_encoder(ids[one, :length])[:, :, index]
        # The batch's own curves: rounding in F0 would add up in the phase.
        count = curves[0].shape[1]
        alone = teacher.decoder.features(text, f0[one, :count], energy[one, :count], timbre[one, :-1])
        speech_worst = max(speech_worst, compare(features[one, :, :count], alone))
        alone = teacher.decoder.generator(alone, f0[one, :count], timbre[one, -1])
        end = (count - 6) * FRAME
        speech_worst = max(speech_worst, compare(wave[one, :end], alone[:, :end]))
    return prosody_worst, speech_worst


@torch.no_grad()
def speak(
    prosody: model.Prosody,
    decoder: model.Decoder,
    head: model.Head,
    ids: torch.Tensor,
    style: torch.Tensor,
    timbre: torch.Tensor,
    curves: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, ...]:
    """Durations, F0, energy, features and samples of one whole sentence, with torch.

    `curves`: F0 and energy to speak with. Rounding in F0 adds up in the phase.
    """
    film = prosody.make_film(style)
    encoded = prosody.encode(ids, film, None)
    durations = torch.round(prosody.predict_durations(encoded)).clamp(min=1).long()
    token, place = model.expand_tokens(durations, int(durations.sum()))
    duration = durations.gather(1, token)
    f0, energy = model.decode_curves(prosody.predict_curves(encoded, token, place, duration, film, None))
    summary = model.summarise(ids, durations, prosody.predict_summary(encoded, durations))
    film, statistics = decoder.make_film(timbre, summary)
    spoken_f0, spoken_energy = curves or (f0, energy)
    features = decoder(decoder.text(ids)[:, token[0]], place, duration, spoken_f0, spoken_energy, film, None)
    head_film = head.make_film(timbre[:, -1], statistics, None)
    wave = head(features, spoken_f0, accumulate_phase(spoken_f0), head_film, torch.zeros(1, dtype=torch.int64))
    return durations, f0, energy, features, wave


@torch.no_grad()
def check_batches(run: Path, folder: Path) -> tuple[float, float]:
    """Three sentences at once by the graph for a GPU, in torch, against each alone; and its export against torch.

    In doubles, since the rounding of F0 adds up in the phase; for the export that is what is left.
    """
    prosody, decoder, head = (model.load(name, run).double() for name in NETWORKS)
    style, timbre = prosody.style.mean, decoder.style.mean
    # Of 60 phonemes and more: the service has the same timbre for each.
    utterances = [Utterance(phonemes, torch.cat([timbre, style]).expand(510, -1).numpy()) for phonemes in SENTENCES]
    ids = [torch.from_numpy(tokenize(utterance)) for utterance in utterances]
    alone = [speak(prosody, decoder, head, each, style[None], timbre.expand(1, model.LAYERS, -1))[-1] for each in ids]
    exported = onnxruntime.InferenceSession(folder / "turbo-batch-speech.onnx")
    waves = [each.wave for each in BatchedNetworks(exported).speak(utterances)]

    graph = SpeechGraph(*(model.load(name, run, dense_transforms=True).double() for name in NETWORKS))
    count = max(each.shape[1] for each in ids)
    padded = torch.cat([F.pad(each, (0, count - each.shape[1])) for each in ids])
    present = torch.cat([F.pad(torch.ones_like(each), (0, count - each.shape[1])) for each in ids]).double()
    ones, zeros = torch.ones(len(ids)).double(), torch.zeros(len(ids), 1).double()
    _, batch = graph(
        padded,
        present,
        style.expand(len(ids), -1),
        timbre.expand(len(ids), model.LAYERS, -1),
        zeros.expand(-1, model.VOCODER_EMBEDDING),
        zeros.expand(-1, model.MASKS),
        ones,
        ones,
        ones,
    )
    torch_worst = export_worst = 0.0
    for one, wave, expected in zip(batch, waves, alone, strict=True):
        length = expected.shape[1]
        torch_worst = max(torch_worst, compare(one[None, :length], expected))
        export_worst = max(export_worst, compare(torch.from_numpy(wave)[None, :length], expected))
    return torch_worst, export_worst


@torch.no_grad()
def check_export(run: Path, exported: Path) -> dict[str, float]:
    """Exported graphs against torch, and a window of theirs against their whole."""
    prosody, decoder, head = (model.load(name, run) for name in ("prosody", "decoder", "head"))
    ids = torch.tensor([[0, *port.PROBE_IDS, *port.PROBE_IDS, 0]])
    style, timbre = prosody.style.mean[None], decoder.style.mean.expand(1, model.LAYERS, -1).contiguous()
    durations, f0, energy, features, wave = speak(prosody, decoder, head, ids, style, timbre)
    token, _ = model.expand_tokens(durations, int(durations.sum()))

    networks = ExportedNetworks(exported)
    output = networks.predict_prosody(ids.numpy(), style.numpy())
    moved = int(np.abs(output.durations - durations.numpy()).sum())
    output.durations, output.f0, output.energy = durations.numpy(), f0.numpy(), energy.numpy()
    embedding = np.zeros((1, model.VOCODER_EMBEDDING), np.float32)
    exported_features, whole = networks.synthesize(ids.numpy(), output, timbre.numpy(), embedding)
    context = decoder.context + (head.context + 1) // 2
    count, middle = token.shape[1], token.shape[1] // 2
    left, right = max(0, middle - 4 - context), min(count, middle + 4 + context)
    _, part = networks.synthesize(ids.numpy(), output, timbre.numpy(), embedding, slice(left, right))
    samples = 2 * FRAME
    inside = part[:, (middle - 4 - left) * samples : (middle + 4 - left) * samples]
    expected = whole[:, (middle - 4) * samples : (middle + 4) * samples]
    _, curve_text, curve_film, _ = networks.run(
        "prosody", ids=ids.numpy(), style=style.numpy(), speed=np.ones(1, np.float32)
    )
    whole_f0, _ = networks.predict_curves(durations.numpy(), curve_text, curve_film)
    context = prosody.frame_context
    left, right = max(0, middle - 4 - context), min(count, middle + 4 + context)
    part_f0, _ = networks.predict_curves(durations.numpy(), curve_text, curve_film, slice(left, right))
    inside_f0 = part_f0[:, 2 * (middle - 4 - left) : 2 * (middle + 4 - left)]
    curves_window = np.abs(inside_f0 - whole_f0[:, 2 * (middle - 4) : 2 * (middle + 4)]).max() / whole_f0.max()
    return {
        "frames of durations": moved,
        "f0": compare(torch.from_numpy(whole_f0), f0),
        "curves, window": float(curves_window),
        "features": compare(torch.from_numpy(exported_features), features),
        "wave": compare(torch.from_numpy(whole), wave),
        "window": float(np.abs(inside - expected).max() / np.abs(whole).max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "run", "floats", "int8", "batches"):
        parser.add_argument(f"--{name}", type=Path)
    args = parser.parse_args()
    torch.manual_seed(0)
    found = {"prosody, batch": check_prosody()}
    found["speech, batch"], found["speech, window"] = check_speech()
    shown = {}
    if args.teacher:
        # At a clip's end the teacher mirrors its source, in a batch it does not, and norms carry that everywhere.
        found["teacher's prosody, batch"], shown["teacher's speech, batch"] = check_teacher(args.teacher)
    if args.run and args.floats:
        found |= {f"floats, {name}": value for name, value in check_export(args.run, args.floats).items()}
    if args.run and args.batches:
        found["for a GPU, batch"], shown["for a GPU, export"] = check_batches(args.run, args.batches)
    if args.run and args.int8:
        shown |= {f"int8, {name}": value for name, value in check_export(args.run, args.int8).items()}
        for name in ("int8, window", "int8, curves, window"):
            found[name] = shown.pop(name)
    for name, value in (found | shown).items():
        print(f"{name:30s} {value:.1e}")
    if any(value > ROUNDING for value in found.values()):
        raise SystemExit("a difference is more than rounding")


if __name__ == "__main__":
    main()
