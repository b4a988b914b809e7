#!/usr/bin/env bash
# Measures svc-turbo 2 on a machine with an NVIDIA GPU and without internet.
#
#   bench/scale/offline.sh pack PARTS       where there is internet: files of at most 56 MiB in the folder PARTS
#   bench/scale/offline.sh run PARTS [...]  on the machine: `bench.scale.gpu` from the parts, with further arguments
#
# Packed are bench/, wheels of svc and of what it needs for Python 3.12 on x86_64, and onnxruntime-gpu for CUDA 13. The
# graphs of `acoustic.export_batches` must be in src/svc/data. The machine needs Python 3.12, and CUDA 13 with cuDNN 9:
# PyTorch's own (a build for cu130 has them) will do.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
parts=$(realpath -m "${2:?a folder for the parts}")

pack() {
  kit=$(mktemp -d)
  trap 'rm -rf "$kit"' EXIT
  mkdir -p "$kit/svc" "$kit/wheels" "$parts"
  git -C "$root" archive HEAD | tar -x -C "$kit/svc"
  cp -r "$root/bench" "$kit"
  # Only this engine, speaking English: what others, cloning and Japanese need stays here.
  rm -f "$kit"/svc/src/svc/data/{turbo-head,voice-encoder}.onnx
  cp "$root"/src/svc/data/turbo-batch* "$kit/svc/src/svc/data"
  python3 -m pip wheel -q --no-deps -w "$kit/wheels" "$kit/svc"
  sed -n '/^dependencies = \[/,/^\]/s/^ *"\(.*\)",$/\1/p' "$root/pyproject.toml" |
    grep -v -e ^kokoro -e ^onnx -e ^pyopenjtalk > "$kit/needed"
  platforms=$(printf -- '--platform manylinux_%s_x86_64 ' 2_5 2_12 2_17 2_24 2_26 2_27 2_28)
  # shellcheck disable=SC2086 # several options
  python3 -m pip download -q -d "$kit/wheels" --python-version 3.12 --only-binary :all: $platforms \
    --platform manylinux2014_x86_64 --platform manylinux1_x86_64 -r "$kit/needed" onnxruntime-gpu==1.31.1
  rm -f "$kit"/wheels/onnxruntime-[0-9]* # a package needs it, and onnxruntime-gpu has the same modules
  tar -c -C "$kit" bench wheels | split -b 56M - "$parts/part-"
  ls -l "$parts"
}

run() {
  kit=$parts/kit
  mkdir -p "$kit"
  cat "$parts"/part-* | tar -x -C "$kit"
  for wheel in "$kit"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$kit/site"; done # it may have no pip
  # CUDA's libraries as Python packages, where the loader does not look.
  libraries=$(python3 -c 'import sys, pathlib
print(*(p for each in sys.path for p in pathlib.Path(each).glob("nvidia/**/lib")), sep=":")')
  cd "$kit"
  export LD_LIBRARY_PATH=$libraries:${LD_LIBRARY_PATH:-} PYTHONPATH=$kit/site:$kit
  export SVC_ENGINE=turbo SVC_DEVICE=cuda XDG_DATA_HOME=$kit/data XDG_CACHE_HOME=$kit/cache
  python3 -m bench.scale.gpu --output "$parts/results" "$@"
}

case ${1:-} in
pack) pack ;;
run) shift 2 && run "$@" ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
