#!/usr/bin/env bash
# Makes what all networks share, in build/teacher: Kokoro in torch, its voices and the training text.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
out=build/teacher

[ -e $out/kokoro-fp32.onnx ] || $python -m teacher.fetch $out
[ -e $out/kokoro.pt ] || $python -m teacher.port $out/kokoro-fp32.onnx $out/voices $out/kokoro.pt
[ -e $out/voices.pt ] || $python -m teacher.voices $out/voices $out/voices.pt
[ -e $out/corpus.json ] || $python -m teacher.corpus $out/corpus.json
