#!/bin/bash
# A stretch on a card that forgets everything: ear and mapper side by side, results copied out all the time.
#
#   stretch.sh hear SECONDS    takes what was carried along and trains the ear, which goes on after the call
#   stretch.sh take            takes more of what was carried
#   stretch.sh speak SECONDS   trains the mapper beside it; all ends so many seconds from now
#   stretch.sh end SECONDS     another end
#   stretch.sh watch SECONDS   copies results to $OUT every 20 s; prints the logs and, when all is done, the table
#
# Carried folders lie in .carry/; WORK is where the card keeps them. EAR and MAPPER hold further options.
set -eu
cd "$(dirname "$0")"
WORK=${WORK:-$HOME/stretch}
PYTHON=${PYTHON:-python3}
export PYTHONPATH=$WORK/site PYTHONUNBUFFERED=1
mkdir -p "$WORK/ear" "$WORK/run"

take() {
  for part in .carry/*; do cp -rn "$part"/. "$WORK/"; done
  [ ! -e "$WORK/site.tar.gz" ] || tar -C "$WORK" -xzf "$WORK/site.tar.gz"
  ls "$WORK"
}

hear() {
  setsid nohup $PYTHON -m cloning.hearing --judges "$WORK/judges" --speakers "$WORK/speakers.pt" \
    --spoken "$WORK/spoken.pt" --out "$WORK/ear" --seconds "$1" ${EAR:-} > "$WORK/ear.log" 2>&1 < /dev/null &
}

speak() {
  setsid nohup $PYTHON -m cloning.imitation --front "$WORK/front.pt" --head "$WORK/turbo-head.onnx" \
    --voices "$WORK/voices.pt" --corpus "$WORK/corpus.json" --judges "$WORK/judges" --speakers "$WORK/speakers.pt" \
    --spoken "$WORK/spoken.pt" --ear "$WORK/ear" --out "$WORK/run" --until "$WORK/until" --spare 60 ${MAPPER:-} \
    > "$WORK/run.log" 2>&1 < /dev/null &
}

keep() {
  for file in ear.log run.log ear/ear.pt run/mapper.pt run/best.pt run/validation.json run/clones.pt; do
    [ -e "$WORK/$file" ] && cp "$WORK/$file" "$OUT/.new" && mv "$OUT/.new" "$OUT/$(basename $file)"
  done
  true
}

over() { grep -qs "^phonemes understood\|^Traceback" "$WORK/run.log" || grep -qs "^Traceback" "$WORK/ear.log"; }

watch() {
  local until=$(( $(date +%s) + $1 ))
  while [ "$(date +%s)" -lt "$until" ] && ! over; do
    sleep 5
    [ $(( $(date +%s) % 20 )) -lt 5 ] && keep
  done
  keep
  nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv,noheader 2> /dev/null || true
  tail -n 12 "$WORK/ear.log" | cut -c1-240
  [ ! -e "$WORK/run.log" ] || tail -n 25 "$WORK/run.log" | cut -c1-240
}

end() { echo $(( $(date +%s) + $1 )) > "$WORK/until"; }

case $1 in
  hear) take; hear "$2" ;;
  take) take ;;
  speak) take; end "$2"; speak ;;
  end) end "$2" ;;
  watch) watch "$2" ;;
esac
