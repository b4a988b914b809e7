#!/usr/bin/env bash
# Makes the acoustic networks from the start: build/acoustic/int8/*.onnx. A stage whose output exists is skipped.
#
#   SPEAKERS     folder with an index.tsv and recordings, as for the voice encoder
#   HEAD         exported head to start from; default: that of head/recipe.sh, which is then run first
#   DISCRIMINATORS  its discriminators; default: those of head/recipe.sh; with HEAD alone, new ones
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
teacher=build/teacher
out=build/acoustic
mkdir -p $out

PYTHON=$python teacher/recipe.sh
if [ -z "${HEAD:-}" ]; then
  PYTHON=$python head/recipe.sh
  HEAD=build/head/head.onnx DISCRIMINATORS=${DISCRIMINATORS:-build/head/stage2/discriminators.pt}
fi

# Inputs: text in 33 languages, clones of real people.
[ -e $out/corpus.npz ] || $python -m acoustic.corpus $out/texts $out/corpus.npz
[ -e $out/clones.npz ] || $python -m acoustic.clones "$SPEAKERS" $out/clones.npz
[ -e $out/clones-validation.npz ] || $python -m acoustic.clones "$SPEAKERS" $out/clones-validation.npz --validation
data="--teacher $teacher/kokoro.pt --voices $teacher/voices.pt --clones $out/clones.npz --corpus $out/corpus.npz"

# Each is trained twice: the second time with other data, from the first's weights, at a lower rate.
first=$out/first
second=$out/second
mkdir -p $first $second
# 1. Prosody.
[ -e $first/prosody.done ] || $python -m acoustic.train_prosody $data --out $first --steps 8750
touch $first/prosody.done
[ -e $second/prosody.done ] || $python -m acoustic.train_prosody $data --out $second --resume $first --seed 3 \
  --steps 3600 --start 0.4 --hours 220 --refreshes 1 --refresh-hours 220 --cache-batch 512
touch $second/prosody.done

# 2. Decoder and head: regression, then discriminators, which continue from the head's. New ones tell nothing apart for their
# first 3,000 steps, so they get that many more. The second time the regression is the decoder's alone, and the
# discriminators are the first's. What is exported is the mean of both trainings' weights.
critics=(--adversarial-steps 13000)
[ -z "${DISCRIMINATORS:-}" ] || critics=(--discriminators "$DISCRIMINATORS" --adversarial-steps 10000)
[ -e $first/speech.done ] || $python -m acoustic.train_speech $data --head "$HEAD" \
  --out $first --regression-steps 13000 "${critics[@]}"
touch $first/speech.done
[ -e $second/speech.done ] || $python -m acoustic.train_speech $data --head "$HEAD" --resume $first --seed 3 \
  --discriminators $first/discriminators.pt --out $second --texts 23500 --new-texts 0 --regression-steps 14400 \
  --regression-batch 96 --regression-rate 8e-4 --adversarial-steps 26700 --start 0.3 --least-share 0.3
touch $second/speech.done
[ -e $out/run/head.pt ] || $python -m acoustic.average $first $second $out/run

# 3. Export and checks.
[ -e $out/int8/head.onnx ] || $python -m acoustic.export $out/run $out/int8
[ -e $out/floats/head.onnx ] || $python -m acoustic.export $out/run $out/floats --floats
$python -m acoustic.exactness --teacher $teacher/kokoro.pt --run $out/run --floats $out/floats --int8 $out/int8
$python -m acoustic.cost $out/int8
[ -e $out/service/turbo.sha256 ] || $python -m acoustic.export_streams $out/run $out/service
