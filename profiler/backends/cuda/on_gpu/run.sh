#!/bin/sh
# Runs on a machine with a GPU what `./dev gpu-pack` packed: the contract suite, a sweep by NCCL, profiles of models, and
# PyTorch's own step times beside them. Needs this folder, NVIDIA's driver, cuDNN 9, cuBLASLt and NCCL (CUDA's, or those that
# came with PyTorch), and for the last part a python3 with PyTorch. Each part writes files of its own, and goes on after one
# that failed.
set -u

usage() {
  cat <<'END'
usage: run.sh RESULTS

  RESULTS  folder for profiles, step times, logs and summary.csv; what is there and complete is not measured again

Environment:
  MODELS      resnet50 vgg16 mobilenet_v2 densenet121 vit_b_16 bert-large gpt2 cosmoflow-128
  PRECISIONS  bf16 fp32 tf32
  BATCHES     1,4,16: samples of a micro-batch
  BACKEND     cuda; simulated tries the script out without a GPU
  OPTIMIZER   momentum
  LIMIT       0.1: seconds of samples of one problem
  SECONDS_ALL 0: no part is begun after so many seconds; 0 for no limit
  PARTS       contract profile pytorch sweep
  PYTHON      python3
END
}

case ${1-} in
  '' | -h | --help)
    usage
    exit 2
    ;;
esac
models=${MODELS-resnet50 vgg16 mobilenet_v2 densenet121 vit_b_16 bert-large gpt2 cosmoflow-128}
precisions=${PRECISIONS-bf16 fp32 tf32}
batches=${BATCHES-1,4,16}
backend=${BACKEND-cuda}
optimizer=${OPTIMIZER-momentum}
limit=${LIMIT-0.1}
most=${SECONDS_ALL-0}
parts=${PARTS-contract profile pytorch sweep}
python=${PYTHON-python3}

here=$(dirname -- "$(readlink -f -- "$0")")
mkdir -p "$1" || exit 2
results=$(readlink -f -- "$1")
program=$here/bin/ddl-oracle
began=$(date +%s)

# Libraries of the toolkit are found by the system; those that came with PyTorch lie in its packages. Ours come last but for
# those that the machine has none of.
folders=$here/lib
found=$("$python" - 2>/dev/null <<'END'
import glob, importlib.util, os
for base in (importlib.util.find_spec("nvidia") or type("none", (), {"submodule_search_locations": []})).submodule_search_locations:
    for folder in sorted(glob.glob(os.path.join(base, "*", "lib")) + glob.glob(os.path.join(base, "lib"))):
        print(folder)
END
)
for folder in $found; do folders=$folders:$folder; done
ldconfig -p 2>/dev/null | grep -q libstdc++.so.6 || folders=$folders:$here/lib/base
LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

say() { printf '%s s: %s\n' "$(($(date +%s) - began))" "$*" | tee -a "$results/log"; }
in_time() { [ "$most" -eq 0 ] || [ "$(($(date +%s) - began))" -lt "$most" ]; }
wants() { case " $parts " in *" $1 "*) true ;; *) false ;; esac; }

# part NAME FILE COMMAND...: runs the command unless FILE is there; its output is FILE.log, and a line of the summary says
# what came of it and how long it took.
part() {
  name=$1
  file=$results/$2
  shift 2
  [ ! -s "$file" ] || return 0
  if ! in_time; then
    printf '%s,not begun,\n' "$name" >>"$results/summary.csv"
    return 0
  fi
  start=$(date +%s)
  if "$@" >"$file.log" 2>&1; then outcome='done'; else outcome="failed ($?)"; fi
  took=$(($(date +%s) - start))
  say "$name: $outcome in $took s"
  printf '%s,%s,%s\n' "$name" "$outcome" "$took" >>"$results/summary.csv"
}

# The program's output is the file itself.
into() {
  target=$1
  shift
  "$@" >"$target.part" && mv "$target.part" "$target"
}

[ -s "$results/summary.csv" ] || echo 'part,outcome,seconds' >"$results/summary.csv"
uname -a >"$results/machine.txt"
nvidia-smi >>"$results/machine.txt" 2>&1
nvidia-smi -q -d CLOCK,POWER,PERFORMANCE >>"$results/machine.txt" 2>&1
"$program" backends >"$results/backends.txt" 2>&1
cat "$results/backends.txt"

if wants contract; then part contract contract.txt into "$results/contract.txt" "$here/bin/contract_cuda"; fi
# NCCL with one rank, which copies from device to device, alone and under a convolution.
if wants sweep && [ "$backend" = cuda ]; then
  part sweep sweep.txt into "$results/sweep.txt" \
    "$program" calibrate --nccl --backend "$backend" --limit "$limit" --largest '256 MiB' --osu "$results/sweep.osu"
fi
for precision in $precisions; do
  for model in $models; do
    if wants profile; then
      # One that was broken off goes on.
      resume=
      [ ! -s "$results/$model-$precision.profile.begun" ] || resume=--resume
      # shellcheck disable=SC2086 # an option or nothing
      if [ ! -s "$results/$model-$precision.profile" ]; then
        part "profile $model $precision" "$model-$precision.profile" \
          "$program" profile "$model" --backend "$backend" --precision "$precision" --batch "$batches" --splits none \
          --optimizer "$optimizer" --time-limit "$limit" --output "$results/$model-$precision.profile.begun" $resume
        if [ "${outcome-}" = 'done' ] && [ -s "$results/$model-$precision.profile.begun" ]; then
          mv "$results/$model-$precision.profile.begun" "$results/$model-$precision.profile"
        fi
      fi
    fi
    if wants pytorch; then
      for batch in $(echo "$batches" | tr , ' '); do
        part "pytorch $model $precision $batch" "$model-$precision-$batch.pytorch.json" \
          into "$results/$model-$precision-$batch.pytorch.json" \
          "$python" "$here/step_time.py" "$here/models/$model.json" --batch "$batch" --precision "$precision" \
          --optimizer "$optimizer" --device cuda --channels-last --benchmark --phases --json
      done
    fi
  done
done
say "results in $results"
! grep -q ',failed' "$results/summary.csv"
