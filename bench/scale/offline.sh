#!/usr/bin/env bash
# Measures svc-turbo 2 on a machine without internet.
#
#   bench/scale/offline.sh pack PARTS [cpu]   where there is internet: files of at most 56 MiB in the folder PARTS
#   bench/scale/offline.sh unpack PARTS KIT   on the machine: makes the folder KIT of the parts
#   bench/scale/offline.sh run KIT COMMAND    and runs a command there, such as `python3 -m bench.scale.gpu http`
#
# Packed are bench/, and svc with all that it needs for Python 3.12 on x86_64: Ray, and onnxruntime-gpu for CUDA 13, or
# with `cpu` a third of the size, for processors alone. A GPU needs CUDA 13 with cuDNN 9 on the machine: PyTorch's own
# (a build for cu130 has them) will do.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

pack() {
  parts=$(realpath -m "${1:?a folder for the parts}")
  kit=$(mktemp -d)
  trap 'rm -rf "$kit"' EXIT
  mkdir -p "$kit/svc" "$parts"
  git -C "$root" archive HEAD | tar -x -C "$kit/svc"
  # It speaks English: what cloning and Japanese need stays here.
  rm -f "$kit"/svc/src/svc/data/voice-{encoder,mapper}.onnx
  runtime=onnxruntime-gpu==1.31.1
  if [ "${2:-}" = cpu ]; then
    runtime=onnxruntime==1.31.1
  fi
  python3 -m pip wheel -q --no-deps -w "$kit" "$kit/svc"
  sed -n '/^dependencies = \[/,/^\]/s/^ *"\(.*\)",$/\1/p' "$root/pyproject.toml" |
    grep -v -e ^kokoro -e ^onnx -e ^haqumei > "$kit/needed"
  sed -n 's/^ *"\(ray\[.*\)",$/\1/p' "$root/pyproject.toml" >> "$kit/needed"
  install="python3 -m pip install -q --target $kit/site --python-version 3.12 --only-binary :all: --no-compile"
  for version in 1 2014 _2_5 _2_12 _2_17 _2_24 _2_26 _2_27 _2_28; do install+=" --platform manylinux${version}_x86_64"; done
  $install -r "$kit/needed" "$runtime"
  $install --no-deps "$kit"/svc-*.whl
  tar -cz -C "$kit" site -C "$root" bench | split -b 56M - "$parts/part-"
  ls -l "$parts"
}

unpack() {
  mkdir -p "${2:?a folder for the kit}"
  cat "$1"/part-* | tar -xz -C "$2"
}

run() {
  cd "$1"
  # CUDA's libraries as Python packages, where the loader does not look.
  libraries=$(python3 -c 'import sys, pathlib
print(*(p for each in sys.path for p in pathlib.Path(each).glob("nvidia/**/lib")), sep=":")')
  export LD_LIBRARY_PATH=$libraries:${LD_LIBRARY_PATH:-} PYTHONPATH=$PWD/site:$PWD
  export SVC_ENGINE=${SVC_ENGINE:-turbo} XDG_DATA_HOME=$PWD/data XDG_CACHE_HOME=$PWD/cache
  shift
  exec "$@"
}

case ${1:-} in
pack | unpack | run) "$@" ;;
*) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
