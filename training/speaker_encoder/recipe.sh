#!/usr/bin/env bash
# Makes the voice encoder from the start: build/speaker_encoder/voice-encoder.onnx and accents.npz.
# A stage whose output exists is skipped. The README says where the inputs come from:
#
#   SPEAKERS     folder with an index.tsv and recordings
#   ERES2NET     folder with speakerlab/ and the checkpoint        CAMPPLUS   campplus_cn_en_common.pt
#   DVECTOR      embedder.int8.onnx                                RESEMBLYZER  folder with pretrained.pt
#   DISTILLMOS   site-packages folder with distillmos              WHISPER    CTranslate2 folder of Whisper base
#   HEAD         exported head; default: that of head/recipe.sh
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
head=${HEAD:-build/head/head.onnx}
teacher=build/teacher
out=build/speaker_encoder
mkdir -p $out

PYTHON=$python teacher/recipe.sh

# Inputs.
[ -e $out/speakers.pt ] || $python -m speaker_encoder.speakers "$SPEAKERS" $out/speakers.pt
[ -e $out/frozen ] || $python -m speaker_encoder.frozen_losses "$ERES2NET" "$CAMPPLUS" "$DVECTOR" "$RESEMBLYZER" \
  "$DISTILLMOS" $out/frozen
[ -e $out/whisper.pt ] || $python -m speaker_encoder.whisper_loss "$WHISPER" $out/whisper.pt
[ -e $out/random_voices.pt ] || $python -m speaker_encoder.random_voices --teacher $teacher/kokoro.pt --head "$head" \
  --voices $teacher/voices.pt --corpus $teacher/corpus.json $out/random_voices.pt

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
  $python -m speaker_encoder.train_mapper --teacher $teacher/kokoro.pt --head "$head" --voices $teacher/voices.pt \
    --corpus $teacher/corpus.json --frozen $out/frozen --whisper $out/whisper.pt --speakers $out/speakers.pt \
    --encoder "$encoder" --out "$folder" "$@"
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

# 1. Two mappers from random weights, without the d-vector and Whisper losses.
early="--dvector-weight 0 --whisper-weight 0"
mapper 1a encoder1 --steps 3300 --seed 1 $early
mapper 1b encoder1 --steps 3300 --seed 4 --recorded 0.5 --blended 0.7 --rate 1e-3 $early
merge 1.pt --concatenate $out/1a/mapper.pt $out/1b/mapper.pt

# 2. Both halves together, from there in two directions.
mapper 2a encoder1 --resume $out/1.pt --start 0.1 --steps 2550 --dropout 0.1 --decay 0.03 --blended 0.4 \
  --recorded 0.7 --rate 6e-4 $early
mapper 2b encoder1 --resume $out/1.pt --start 0.1 --steps 2550 --dropout 0.15 --blended 0.6 --recorded 0.5 $early
merge 2.pt $out/2a/mapper.pt $out/2b/mapper.pt

# 3. to 7. All continue from the mean of the stage before with these options; two runs each.
common="--start 0.1 --dropout 0.1 --blended 0.5 --recorded 0.65"
mapper 3a encoder1 --resume $out/2.pt --steps 3300 --seed 1 $common $early
mapper 3b encoder1 --resume $out/2.pt --steps 3300 --seed 2 $common $early
merge 3.pt $out/3a/mapper.pt $out/3b/mapper.pt

# 4. With the d-vector.
mapper 4a encoder1 --resume $out/3.pt --steps 3250 --seed 1 $common --dvector-weight 1.5 --whisper-weight 0
mapper 4b encoder1 --resume $out/3.pt --steps 3250 --seed 2 $common --dvector-weight 0.7 --whisper-weight 0
merge 4.pt $out/4a/mapper.pt $out/4b/mapper.pt

# 5. With Whisper. From here on the mean includes the mapper that the stage started from.
mapper 5a encoder1 --resume $out/4.pt --steps 1850 --seed 1 $common --dvector-weight 1.5 --whisper-weight 0.3
mapper 5b encoder1 --resume $out/4.pt --steps 1850 --seed 2 $common --dvector-weight 1.0 --whisper-weight 0.5 \
  --dropout 0.15 --blended 0.6
merge 5.pt $out/4.pt $out/5a/mapper.pt $out/5b/mapper.pt

# 6. and 7. With the better encoders.
previous=5
for stage in 6 7; do
  trained=encoder$((stage - 4))
  mapper ${stage}a $trained --resume $out/$previous.pt --steps 2330 --seed 1 $common --dvector-weight 2.0 \
    --whisper-weight 0.4
  mapper ${stage}b $trained --resume $out/$previous.pt --steps 2330 --seed 2 $common --dvector-weight 1.5 \
    --whisper-weight 0.6 --dropout 0.15
  merge $stage.pt $out/$previous.pt $out/${stage}a/mapper.pt $out/${stage}b/mapper.pt
  previous=$stage
done

$python -m speaker_encoder.export $out/encoder3/encoder.pt $out/7.pt $out/voice-encoder.onnx $out/accents.npz
