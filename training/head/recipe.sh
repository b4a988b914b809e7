#!/usr/bin/env bash
# Makes the vocoder head from the start: build/head/head.onnx. A stage whose output exists is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
out=build/head

PYTHON=$python teacher/recipe.sh

train() { # train NAME OPTIONS…
  local folder=$out/$1
  shift
  [ -e "$folder/done" ] && return
  $python -m head.train --teacher build/teacher/kokoro.pt --voices build/teacher/voices.pt \
    --corpus build/teacher/corpus.json --out "$folder" "$@"
  touch "$folder/done"
}

# 1. Spectral loss, then the first third of the adversarial cosine.
train stage1 --spectral-steps 19000 --adversarial-steps 13000 --end 0.33 --hours 16 --seed 1
# 2. The rest of the cosine, on new data.
train stage2 --resume $out/stage1 --spectral-steps 0 --adversarial-steps 10000 --start 0.35 --hours 6.5 --seed 3

[ -e $out/head.onnx ] || $python -m head.export $out/stage2/head.pt $out/head.onnx
