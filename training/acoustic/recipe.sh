#!/usr/bin/env bash
# Makes the acoustic networks from the start: build/acoustic/int8/*.onnx. A stage whose output exists is skipped.
#
#   SPEAKERS     folder with an index.tsv and recordings, as for the voice encoder
#   HEAD         exported head to start from; default: the one that ships
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
head=${HEAD:-../src/svc/data/turbo-head.onnx}
teacher=build/teacher
out=build/acoustic
mkdir -p $out

PYTHON=$python teacher/recipe.sh

# Inputs: text in 33 languages, clones of real people.
[ -e $out/corpus.npz ] || $python -m acoustic.corpus $out/texts $out/corpus.npz
[ -e $out/clones.npz ] || $python -m acoustic.clones "$SPEAKERS" $out/clones.npz
[ -e $out/clones-validation.npz ] || $python -m acoustic.clones "$SPEAKERS" $out/clones-validation.npz --validation
data="--teacher $teacher/kokoro.pt --voices $teacher/voices.pt --clones $out/clones.npz --corpus $out/corpus.npz"

# 1. Prosody.
[ -e $out/run/prosody.done ] || $python -m acoustic.train_prosody $data --out $out/run --steps 8750
touch $out/run/prosody.done

# 2. Decoder and head: regression, then discriminators, which continue from the shipped head's.
[ -e $out/run/speech.done ] || $python -m acoustic.train_speech $data --head "$head" \
  --discriminators head/checkpoints/discriminators.pt --out $out/run --regression-steps 13000 --adversarial-steps 10000
touch $out/run/speech.done

# 3. Export and checks.
[ -e $out/int8/head.onnx ] || $python -m acoustic.export $out/run $out/int8
[ -e $out/floats/head.onnx ] || $python -m acoustic.export $out/run $out/floats --floats
$python -m acoustic.exactness --teacher $teacher/kokoro.pt --run $out/run --floats $out/floats --int8 $out/int8
$python -m acoustic.cost $out/int8
[ -e $out/service/turbo2.sha256 ] || $python -m acoustic.export_streams $out/run $out/service
