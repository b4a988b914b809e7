#!/usr/bin/env bash
# Makes the n-grams of languages: ../src/svc/data/language-ngrams.npz. Minutes on one core.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
out=build/language_ngrams

[ -e $out/packages ] || $python -m language_ngrams.corpora $out/packages
$python -m language_ngrams.train $out/packages ../src/svc/data/language-ngrams.npz
