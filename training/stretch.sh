#!/bin/bash
# A stretch on a card that forgets everything: ear and mapper side by side, results copied out all the time.
#
#   stretch.sh hear SECONDS    takes what was carried along and trains the ear, which goes on after the call
#   stretch.sh take            takes more of what was carried
#   stretch.sh speak SECONDS   trains the mapper beside it; all ends so many seconds from now
#   stretch.sh end SECONDS     another end
#   stretch.sh watch SECONDS   copies results to $OUT every 20 s; prints the logs and, when all is done, the table
#
# Carried folders lie in .carry/; WORK is where the card keeps them. EAR and MAPPER hold further options. RUN names a
# training of the mapper: there may be several side by side, one of them seldom fills a card.
set -eu
cd "$(dirname "$0")"
WORK=${WORK:-$HOME/stretch}
PYTHON=${PYTHON:-python3}
export PYTHONPATH=$WORK/site PYTHONUNBUFFERED=1
RUN=${RUN:-run}
mkdir -p "$WORK/ear"

take() {
  for part in .carry/*; do cp -rn "$part"/. "$WORK/"; done
  [ ! -e "$WORK/site.tar.gz" ] || tar -C "$WORK" -xzf "$WORK/site.tar.gz"
  ls "$WORK"
}

hear() {
  setsid nohup $PYTHON -m cloning.hearing --judges "$WORK/judges" --speakers "$WORK/speakers.pt" \
    --spoken "$WORK/run-spoken.pt" --out "$WORK/ear" --seconds "$1" ${EAR:-} > "$WORK/ear.log" 2>&1 < /dev/null &
}

speak() {
  setsid nohup $PYTHON -m cloning.imitation --front "$WORK/front.pt" --head "$WORK/turbo-head.onnx" \
    --voices "$WORK/voices.pt" --corpus "$WORK/corpus.json" --judges "$WORK/judges" --reader "$WORK/reader.pt" \
    --speakers "$WORK/speakers.pt" --spoken "$WORK/$RUN-spoken.pt" --ear "$WORK/ear" --out "$WORK/$RUN" \
    --until "$WORK/until" --spare 60 ${MAPPER:-} > "$WORK/$RUN.log" 2>&1 < /dev/null &
}

keep() {
  # Files of more than 16 MB do not come back, nor do more than 64 MB in all: the mappers first. Here: cat kept-* | tar -x
  ( cd "$WORK"; rm -f kept-*
    for file in run*/mapper.pt ear/ear.pt run*/clones.pt; do [ ! -e "$file" ] || echo "$file"; done \
      | tar -c ./*.log -T - | split -b 15M - kept- )
  mv "$WORK"/kept-* "$OUT/"
}

over() {
  for log in "$WORK"/run*.log; do grep -qs "^phonemes understood\|^Traceback" "$log" || return 1; done
}

watch() {
  local until=$(( $(date +%s) + $1 ))
  while [ "$(date +%s)" -lt "$until" ] && ! over; do
    sleep 5
    [ $(( $(date +%s) % 20 )) -lt 5 ] && keep
  done
  keep
  nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv,noheader 2> /dev/null || true
  for log in "$WORK"/*.log; do tail -n 20 "$log" | cut -c1-240; done
}

end() { echo $(( $(date +%s) + $1 )) > "$WORK/until"; }

case $1 in
  hear) take; hear "$2" ;;
  take) take ;;
  speak) take; end "$2"; speak ;;
  end) end "$2" ;;
  watch) watch "$2" ;;
esac
