#!/usr/bin/env bash
# Makes the voice encoder from the start: voice-encoder.onnx and voice-mapper.onnx in build/speaker_encoder.
# A stage whose output exists is skipped. The README says where the inputs come from:
#
#   SPEAKERS     folder with an index.tsv and recordings
#   ERES2NET     folder with speakerlab/ and the checkpoint        CAMPPLUS   campplus_cn_en_common.pt
#   DVECTOR      embedder.int8.onnx                                RESEMBLYZER  folder with pretrained.pt
#   DISTILLMOS   site-packages folder with distillmos
#   ACOUSTIC     folder with prosody.pt, decoder.pt and head.pt; default: what acoustic/recipe.sh makes
#   CORPUS       corpus.npz of acoustic.corpus; default: what acoustic/recipe.sh makes
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
acoustic=${ACOUSTIC:-build/acoustic/run}
corpus=${CORPUS:-build/acoustic/corpus.npz}
accents=../src/svc/data/accents.npz
teacher=build/teacher
out=build/speaker_encoder
mkdir -p $out

PYTHON=$python teacher/recipe.sh

# Inputs.
[ -e $out/speakers.pt ] || $python -m speaker_encoder.speakers "$SPEAKERS" $out/speakers.pt
[ -e $out/frozen ] || $python -m speaker_encoder.frozen_losses "$ERES2NET" "$CAMPPLUS" "$DVECTOR" "$RESEMBLYZER" \
  "$DISTILLMOS" $out/frozen
[ -e $out/random_voices.pt ] || $python -m speaker_encoder.random_voices --run "$acoustic" --accents $accents \
  --voices $teacher/voices.pt --corpus "$corpus" $out/random_voices.pt

encoder() { # encoder NAME OPTIONS…
  local folder=$out/$1
  shift
  [ -e "$folder/done" ] && return
  $python -m speaker_encoder.train_encoder --frozen $out/frozen --speakers $out/speakers.pt \
    --random-voices $out/random_voices.pt --out "$folder" "$@"
  touch "$folder/done"
}

mapper() { # mapper NAME ENCODER OPTIONS…
  local folder=$out/$1 encoder=$out/$2/encoder.pt
  shift 2
  [ -e "$folder/done" ] && return
  $python -m speaker_encoder.train_mapper --run "$acoustic" --voices $teacher/voices.pt --accents $accents \
    --corpus "$corpus" --frozen $out/frozen --speakers $out/speakers.pt --encoder "$encoder" --out "$folder" "$@"
  touch "$folder/done"
}

merge() { # merge OUTPUT [--concatenate] MAPPER…
  local output=$out/$1
  shift
  [ -e "$output" ] || $python -m speaker_encoder.merge "$@" "$output"
}

# The encoder: from CAM++, then twice with lower rates.
encoder encoder1 --steps 4400
encoder encoder2 --resume $out/encoder1/encoder.pt --steps 1450 --rate 3e-4 --dvector-rate 3e-4 --backbone-rate 1e-4
encoder encoder3 --resume $out/encoder2/encoder.pt --steps 1700 --rate 3e-4 --dvector-rate 3e-4 --backbone-rate 2e-4

# 1. Two mappers from random weights, without the d-vector and the masks.
early="--dvector-weight 0 --no-masks"
mapper 1a encoder1 --steps 3300 --seed 1 $early
mapper 1b encoder1 --steps 3300 --seed 4 --recorded 0.5 --blended 0.7 --rate 1e-3 $early
merge 1.pt --concatenate $out/1a/mapper.pt $out/1b/mapper.pt

# 2. Both halves together, from there in two directions.
mapper 2a encoder1 --resume $out/1.pt --start 0.1 --steps 2550 --dropout 0.1 --decay 0.03 --blended 0.4 \
  --recorded 0.7 --rate 6e-4 $early
mapper 2b encoder1 --resume $out/1.pt --start 0.1 --steps 2550 --dropout 0.15 --blended 0.6 --recorded 0.5 $early
merge 2.pt $out/2a/mapper.pt $out/2b/mapper.pt

# 3. to 7. All continue from the mean of the stage before with these options; two runs each. From stage 5 on the mean
# includes the mapper that the stage started from, and from stage 6 on the encoders are better.
common="--start 0.1 --dropout 0.1 --blended 0.5 --recorded 0.65 --no-masks"
previous=2
for stage in 3 4 5 6 7; do
  trained=encoder$((stage > 5 ? stage - 4 : 1))
  steps=$((stage > 4 ? 2000 : 3300))
  mapper ${stage}a $trained --resume $out/$previous.pt --steps $steps --seed 1 $common --dvector-weight 1.5
  mapper ${stage}b $trained --resume $out/$previous.pt --steps $steps --seed 2 $common --dvector-weight 1.0
  if [ $stage -gt 4 ]; then merge $stage.pt $out/$previous.pt $out/${stage}a/mapper.pt $out/${stage}b/mapper.pt
  else merge $stage.pt $out/${stage}a/mapper.pt $out/${stage}b/mapper.pt; fi
  previous=$stage
done

# 8. With masks: training speakers are refined first.
mapper 8 encoder3 --resume $out/7.pt --steps 350 --rate 5e-4 --dropout 0.1 --refined 220 --refinement-steps 40

# 9. Many more virtual speakers, then weaker guards. The mean with stage 8 has clearer words than the last training.
many="--dropout 0.2 --recorded 0.75 --blended 0.6 --dvector-weight 2.5"
mapper 9a encoder3 --resume $out/8/mapper.pt --steps 1750 --rate 8e-4 $many
mapper 9b encoder3 --resume $out/9a/mapper.pt --steps 4150 --rate 6e-4 $many --dropout 0.25 --natural-enough 4.5 \
  --phonemes-weight 0.4 --regularization 0.5
merge 9.pt --foreign-gain 0.83 $out/8/mapper.pt $out/9b/mapper.pt

# The copy of ERes2Net, in the place of the encoder's prediction of it.
[ -e $out/eres2net.pt ] || $python -m speaker_encoder.train_eres2net --frozen $out/frozen --speakers $out/speakers.pt \
  $out/eres2net.pt

# 10. With the copy's embeddings, and the shortfall of first answers as an input. Twice as many steps fit the training
# speakers better, and nobody else.
mapper 10 encoder3 --eres2net $out/eres2net.pt --resume $out/9.pt --start 0.05 --steps 1770 --rate 8e-4 --asked-again 0.75 \
  --recorded 0.75 --blended 0.65 --dvector-weight 2.5 --natural-enough 4.5 --phonemes-weight 0.45 --regularization 0.5
merge 10.pt --foreign-gain 0.7 $out/9.pt $out/10/mapper.pt

$python -m speaker_encoder.export $out/encoder3/encoder.pt $out/10.pt $out/eres2net.pt $out
