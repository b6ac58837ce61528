#!/bin/sh
# Runs the contents of a pack from `./dev gpu-pack` on a machine with a GPU, the most informative
# parts first: a check of the machine, single kernels, the contract suite, whole models compared with
# PyTorch, memory, a sweep with NCCL. Needs this folder, NVIDIA's driver, cuDNN 9, cuBLASLt and NCCL
# (from CUDA, or from PyTorch). The PyTorch parts also need a python3 with PyTorch. Each part has its
# own files and time limit. If a part fails, the summary lists it, and the next part begins.
set -u

usage() {
  cat <<'END_OF_USAGE'
usage: run.sh [--rehearse] RESULTS

  RESULTS     folder for all files; a second call with this folder continues where the first call ended.
              RESULTS/summary.txt shows the results; RESULTS.tar.gz contains all files
  --rehearse  run all parts without a GPU: with simulated kernels and network, and PyTorch on the processor. It tests the
              pack and its scripts, and measures nothing

Environment:
  BUDGET      1800: seconds for this call; 0: no limit
  PART_LIMIT  600: maximum seconds for one part
  PARTS       kernels contract profile pytorch memory sweep: the parts that run after the check of the machine
  MODELS      resnet50 gpt2 vgg16 mobilenet_v2 densenet121 vit_b_16 bert-large convnext_tiny swin_t cosmoflow-128
  PRECISIONS  bf16 fp32 tf32
  BATCHES     samples of a step, in this order; default: a batch of the model's own, then 16, then 1
  OPTIMIZER   momentum
  LIMIT       0.05: seconds for which one problem is measured
  PYTORCH     additional options for step_time.py
  MACHINE     bundled machine for the predicted memory; default: by the GPU's name
  RETRY       yes: parts that failed or ran out of time run again
  PYTHON      python3
  MOST        15000000: maximum bytes of RESULTS.tar.gz

Exit code: 0: no part failed; 1: a part failed; 2: nothing can run, for the reasons in RESULTS/check.txt.
END_OF_USAGE
}

backend=cuda
device=cuda
if [ "${1-}" = --rehearse ]; then
  backend=simulated
  device=cpu
  shift
fi
case ${1-} in
  '' | -*)
    usage
    exit 2
    ;;
esac
whole() {
  case $2 in
    '' | *[!0-9]*)
      echo "error: $1 is a whole number, not '$2'" >&2
      exit 2
      ;;
  esac
}
budget=${BUDGET-1800}
part_limit=${PART_LIMIT-600}
most=${MOST-15000000}
whole BUDGET "$budget"
whole PART_LIMIT "$part_limit"
whole MOST "$most"
parts=${PARTS-kernels contract profile pytorch memory sweep}
for each in $parts; do
  case $each in
    kernels | contract | profile | pytorch | memory | sweep) ;;
    *)
      echo "error: there is no part '$each': the parts are kernels contract profile pytorch memory sweep" >&2
      exit 2
      ;;
  esac
done
words() {
  # words NAME VALUES KNOWN...: checks that each of VALUES is one of KNOWN.
  words_name=$1
  words_values=$2
  shift 2
  for each in $words_values; do
    case " $* " in
      *" $each "*) ;;
      *)
        echo "error: $words_name has no '$each': known are $*" >&2
        exit 2
        ;;
    esac
  done
}
words PRECISIONS "${PRECISIONS-bf16}" bf16 fp16 tf32 fp32
for each in $(echo "${BATCHES-1}" | tr , ' '); do
  case $each in
    0* | *[!0-9]*)
      echo "error: BATCHES are whole numbers from 1 on, not '$each'" >&2
      exit 2
      ;;
  esac
done
case ${LIMIT-0.05} in
  '' | *[!0-9.]* | *.*.*)
    echo "error: LIMIT is a number of seconds, not '${LIMIT-}'" >&2
    exit 2
    ;;
esac
models=${MODELS-resnet50 gpt2 vgg16 mobilenet_v2 densenet121 vit_b_16 bert-large convnext_tiny swin_t cosmoflow-128}
precisions=${PRECISIONS-bf16 fp32 tf32}
optimizer=${OPTIMIZER-momentum}
limit=${LIMIT-0.05}
python=${PYTHON-python3}

here=$(dirname -- "$(readlink -f -- "$0")")
mkdir -p "$1" || exit 2
results=$(readlink -f -- "$1")
program=$here/bin/ddl-oracle
# Some containers have the driver's programs in this folder.
PATH=$PATH:/usr/local/nvidia/bin
began=$(date +%s)
# Seconds reserved for the summary and the archive at the end.
reserve=15

say() { printf '%s s: %s\n' "$(($(date +%s) - began))" "$*" | tee -a "$results/log"; }
wants() { case " $parts " in *" $1 "*) true ;; *) false ;; esac; }
can() { case " $runs " in *" $1 "*) true ;; *) false ;; esac; }

# ---- parts ----

# record NAME OUTCOME [SECONDS [FILE]]: adds a line to summary.csv; the last line of a part counts.
record() { printf '%s,%s,%s,%s\n' "$1" "$2" "${3-}" "${4-}" >>"$results/summary.csv"; }
# outcome_of NAME [log]: prints the last outcome of a part; with `log`, also the path of its log.
outcome_of() {
  answer=
  while IFS=, read -r each_name each_outcome _ each_file; do
    [ "$each_name" != "$1" ] || answer="$each_outcome${2:+: see $each_file.log}"
  done <"$results/summary.csv"
  echo "$answer"
}

# limited SECONDS COMMAND...: runs the command with a time limit, and sets `status`. The command
# runs in the background, so that Ctrl-C is handled at once.
limited() {
  timeout -k 20 "$@" 3>&- 4>&- &
  child=$!
  wait "$child"
  status=$?
  child=
}

# part NAME FILE MOST LEAST COMMAND...: runs the command unless FILE exists, and sets `outcome`. After
# success, the command's output is in FILE, and its stderr in FILE.log. The time limit is MOST seconds,
# or the remaining time if it is shorter. With less than LEAST seconds, the command is not started.
part() {
  outcome=
  name=$1
  file=$results/$2
  full=$3
  least=$4
  shift 4
  [ ! -e "$file" ] || return 0
  case $tried in *"|$name|"*) return 0 ;; esac
  before=$(outcome_of "$name")
  case $before in
    failed* | 'time is up')
      # A part that can resume gets another attempt.
      if [ "${RETRY-}" != yes ] && [ -z "$resume" ]; then return 0; fi
      ;;
  esac
  [ "$full" -le "$part_limit" ] || full=$part_limit
  allowed=$full
  if [ "$budget" -gt 0 ]; then
    left=$((budget - reserve - ($(date +%s) - began)))
    [ "$least" -le "$full" ] || least=$full
    if [ "$left" -lt "$least" ]; then
      [ -n "$before" ] || record "$name" 'not begun'
      return 0
    fi
    [ "$allowed" -le "$left" ] || allowed=$left
  fi
  tried="$tried|$name|"
  start=$(date +%s)
  running=$name
  limited "$allowed" "$@" >"$file.part" 2>"$file.log"
  running=
  took=$(($(date +%s) - start))
  case $status in
    0) outcome='done' ;;
    # The command was killed: because it did not end when requested, or by another process, for
    # example because it used too much memory.
    137) [ "$took" -ge "$allowed" ] && outcome='time is up' || outcome='failed (137)' ;;
    124) outcome='time is up' ;;
    *) outcome="failed ($status)" ;;
  esac
  [ "$outcome" != 'time is up' ] || [ "$allowed" -ge "$full" ] || outcome='cut short'
  # Without a GPU, the contract suite passes, but prints `not run`.
  if grep -qs '^not run,' "$file.part"; then outcome='not run'; fi
  [ "$outcome" != 'done' ] || mv "$file.part" "$file"
  say "$name: $outcome in $took s"
  record "$name" "$outcome" "$took" "${file##*/}"
}

products() {
  product='fully_connected features=4096 bias=no in=4096 samples=4096 pass=forward'
  part "$1" "$2" 120 20 "$program" profile --backend "$backend" --caches warm --format json \
    --problem "$product precision=bf16" --problem "$product precision=tf32" --problem "$product precision=fp32"
}

kernels() {
  part 'kernel floor' kernel-floor.json 120 20 "$program" profile --backend "$backend" --caches warm --format json \
    --problem 'activation kind=relu in=32 samples=1 pass=forward'
  products 'kernel products' kernel-products.json
  part 'kernel memory' kernel-memory.json 120 20 "$program" profile --backend "$backend" --caches cold --format json \
    --problem 'activation kind=relu in=1048576 samples=256 precision=fp32 pass=forward'
  part 'kernel convolution' kernel-convolution.json 120 20 "$program" profile --backend "$backend" --format json \
    --problem 'convolution filters=256 kernel=3x3 padding=1 bias=no in=256x14x14 samples=64 precision=bf16 pass=forward'
  attention='attention heads=16 causal=yes fused=yes in=3072x1024t samples=8 precision=bf16'
  part 'kernel attention' kernel-attention.json 120 20 "$program" profile --backend "$backend" --format json \
    --problem "$attention pass=forward" --problem "$attention pass=backward-data"
}

# contract SECONDS: runs each test case in a separate process, so that a hang or a crash affects no
# other case. No case is started later than SECONDS after the start of this script; 0: no limit.
contract() {
  timeout -k 5 60 "$here/bin/contract_cuda" --list-test-names-only >"$results/contract-cases" 2>"$results/contract-cases.log"
  if [ ! -s "$results/contract-cases" ]; then
    [ "$backend" = cuda ] && outcome='failed (no test cases)' || outcome='not run'
    record contract "$outcome" 0 contract-cases
    say "contract: $outcome: the suite does not start: $(head -n 1 "$results/contract-cases.log")"
    return
  fi
  number=0
  while read -r tested; do
    [ -n "$tested" ] || continue
    [ "$1" -eq 0 ] || [ "$(($(date +%s) - began))" -lt "$1" ] || return 0
    number=$((number + 1))
    slug=$(printf '%s' "$tested" | sed 's/[^A-Za-z0-9]\{1,\}/-/g' | cut -c 1-50)
    # Prints a Catch2 pattern for a test name, with special characters escaped.
    pattern=$(printf '%s' "$tested" | sed 's/[][\\,*"~]/\\&/g')
    part "contract $(printf '%s' "$tested" | tr , ' ')" "contract-$number-$slug.txt" 120 20 "$here/bin/contract_cuda" "$pattern"
  done <"$results/contract-cases"
}

# The input of a network for images or volumes has more than two numbers: channels and extents.
is_of_images() {
  shape=$(tr -d ' \n' <"$here/models/$1.json" | grep -o '"input":\[[^]]*\]' | head -n 1)
  case $shape in *,*,*) true ;; *) false ;; esac
}

# Prints a batch that keeps a data-center GPU busy and fits into 40 GB in bf16.
own_batch() {
  case $1 in
    resnet50 | mobilenet_v2) echo 128 ;;
    bert-large | gpt2) echo 8 ;;
    cosmoflow-128) echo 16 ;;
    *) echo 64 ;;
  esac
}
batches_of() {
  if [ -n "${BATCHES-}" ]; then echo "$BATCHES" | tr , ' '; else echo "$(own_batch "$1") 16 1"; fi
}

# steps NAME FILE MODEL PRECISION BATCH OPTION...: a part that runs step_time.py. Images are in
# channels-last, the fastest format of frameworks.
steps() {
  steps_name=$1
  steps_file=$2
  steps_model=$3
  steps_precision=$4
  steps_batch=$5
  shift 5
  ! is_of_images "$steps_model" || set -- --channels-last "$@"
  part "$steps_name" "$steps_file" 240 30 "$python" "$here/step_time.py" "$here/models/$steps_model.json" --batch "$steps_batch" \
    --precision "$steps_precision" --optimizer "$optimizer" --device "$device" --benchmark "$@"
}

# profile MODEL PRECISION BATCH: a part that profiles a model. A problem that makes the GPU unusable
# ends the program. The profile then continues without this problem, up to three times.
profile() {
  profiled="profile $1 $2 $3"
  stem=$1-$2-$3
  left_out=$results/$stem.left-out
  [ -e "$left_out" ] || : >"$left_out"
  set -- profile "$1" --backend "$backend" --precision "$2" --batch "$3" --splits none --optimizer "$optimizer" \
    --time-limit "$limit" --format json --output "$results/$stem.profile.begun"
  while read -r each; do set -- "$@" --leave-out "$each"; done <"$left_out"
  while :; do
    resume=
    [ ! -s "$results/$stem.profile.begun" ] || resume=--resume
    # shellcheck disable=SC2086 # $resume is an option or empty
    part "$profiled" "$stem.profile.json" 600 60 "$program" "$@" $resume
    resume=
    case $outcome in failed*) ;; *) break ;; esac
    each=$(sed -n "s/.*--leave-out '\([^']*\)'.*/\1/p" "$results/$stem.profile.json.log" | tail -n 1)
    if [ -z "$each" ] || [ "$(wc -l <"$left_out")" -ge 3 ]; then break; fi
    echo "$each" >>"$left_out"
    set -- "$@" --leave-out "$each"
    say "$profiled: again without $each"
    tried=$(printf '%s' "$tried" | sed "s/|$profiled|//")
  done
  [ -s "$left_out" ] || rm -f "$left_out"
  # The report exists only if the profile is complete.
  if [ -e "$results/$stem.profile.json" ] && [ -s "$results/$stem.profile.begun" ]; then
    mv "$results/$stem.profile.begun" "$results/$stem.profile"
  fi
}

# compared MODEL PRECISION BATCH: measures with PyTorch, and then with this program. PyTorch comes first,
# because it is fast and reliable.
compared() {
  if wants pytorch && can pytorch; then
    # shellcheck disable=SC2086 # $PYTORCH has several words
    steps "pytorch $1 $2 $3" "$1-$2-$3.pytorch.json" "$1" "$2" "$3" --seconds 20 --phases --json ${PYTORCH-}
  fi
  if wants profile && can kernels; then profile "$@"; fi
}

operators() {
  if wants pytorch && can pytorch; then
    steps "operators $1 $2 $3" "$1-$2-$3.operators.txt" "$1" "$2" "$3" --layers "$results/$1-$2-$3.trace.json"
  fi
}

memory() {
  machine=${MACHINE-}
  if [ -z "$machine" ]; then
    case $(grep '^ok  *GPU\|^note  *GPU' "$results/check.txt" | head -n 1) in
      *A100*) machine=dgx-a100 ;;
      *GH200*) machine=server-gh200 ;;
      *GB200*) machine=gb200-nvl72 ;;
      *H200*) machine=dgx-h200 ;;
      *B200*) machine=dgx-b200 ;;
      *V100*) machine=abci ;;
      *) machine=dgx-h100 ;;
    esac
  fi
  if [ "$backend" = simulated ]; then
    part 'memory of all models' memory-check.txt 300 45 "$python" "$here/step_memory.py" --program "$program" --check
    return
  fi
  for model in resnet50 gpt2 vit_b_16 densenet121 mobilenet_v2 vgg16 convnext_tiny efficientnet_b0 inception_v3 resnet18 swin_t; do
    part "memory $model" "memory-$model.csv" 300 45 \
      "$python" "$here/step_memory.py" --program "$program" --machine "$machine" --models "$model" --largest ''
  done
  for model in resnet50 vgg16; do
    part "largest batch $model" "memory-$model-largest.csv" 400 120 \
      "$python" "$here/step_memory.py" --program "$program" --machine "$machine" --models '' --largest "$model"
  done
}

# sweep: measures NCCL on all GPUs of the machine. With one GPU, NCCL copies from the device to itself,
# alone and overlapped with a convolution. This tests NCCL, but no network.
sweep() {
  if [ "$backend" = simulated ]; then
    part 'simulated sweep' sweep-simulated.txt 300 60 "$program" calibrate live --simulated 'ranks=8 nodes=1' --limit "$limit" \
      --osu "$results/sweep-simulated.osu"
    return
  fi
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
  [ "$gpus" -ge 1 ] || gpus=1
  part "sweep on $gpus GPUs" "sweep-$gpus.txt" 300 60 "$here/ranks.sh" "$gpus" \
    "$program" calibrate live --nccl --backend "$backend" --limit "$limit" --largest '256 MiB' --osu "$results/sweep-$gpus.osu"
}

all_parts() {
  # shellcheck disable=SC2086 # $models is a list
  set -- $models
  first=${1-}
  best=${precisions%% *}
  if wants kernels && can kernels; then kernels; fi
  # Cases of the contract suite may take long, because they compile engines. They get at most a quarter
  # of the budget before the first model.
  if wants contract && can kernels; then contract $((budget / 4)); fi
  for model in "$@"; do
    own=$(batches_of "$model")
    compared "$model" "$best" "${own%% *}"
    [ "$model" = "$first" ] || continue
    # The same products are timed again, to see whether the device still runs at the same speed.
    if wants kernels && can kernels; then products 'kernel products again' kernel-products-again.json; fi
    if wants contract && can kernels; then contract 0; fi
  done
  if [ -n "$first" ]; then operators "$first" "$best" 16; fi
  if wants memory && can pytorch; then memory; fi
  if wants sweep && can nccl; then sweep; fi
  # The remaining time is for other precisions at each model's own batch, and then for other batches.
  for precision in $precisions; do
    for model in "$@"; do
      own=$(batches_of "$model")
      compared "$model" "$precision" "${own%% *}"
    done
  done
  for precision in $precisions; do
    for model in "$@"; do
      for batch in $(batches_of "$model"); do compared "$model" "$precision" "$batch"; done
    done
  done
}

# ---- beginning and end ----

clocks_fields=timestamp,index,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu
start_clocks() {
  command -v nvidia-smi >/dev/null 2>&1 || return 0
  # Older drivers have another name for the field of reasons.
  reasons=clocks_event_reasons.active
  nvidia-smi --query-gpu="$reasons" --format=csv >/dev/null 2>&1 || reasons=clocks_throttle_reasons.active
  nvidia-smi --query-gpu="$clocks_fields,$reasons" --format=csv,nounits -lms 500 >>"$results/clocks.csv" 2>/dev/null 3>&- 4>&- &
  clocks=$!
}

# Makes one archive of all results within a size limit. The largest files are dropped first.
archive() {
  if ! command -v tar >/dev/null 2>&1 || ! command -v gzip >/dev/null 2>&1; then
    say 'no archive: there is no tar or no gzip'
    return
  fi
  bound=$((most * 8))
  while :; do
    (
      cd "$results" || exit
      find . -type f -size "+${bound}c" >"$results.left"
      find . -type f ! -size "+${bound}c" >"$results.list"
      tar -cf - -T "$results.list"
    ) | gzip >"$results.tar.gz"
    size=$(wc -c <"$results.tar.gz")
    if [ "$size" -le "$most" ] || [ "$bound" -lt 1000 ]; then break; fi
    bound=$((bound / 2))
  done
  [ ! -s "$results.left" ] || say "too large for the archive, and only in $results: $(tr '\n' ' ' <"$results.left")"
  rm -f "$results.left" "$results.list"
}

# names OUTCOME: prints the parts with this outcome.
names() {
  sed -n '2,$s/^\([^,]*\),.*/\1/p' "$results/summary.csv" | sort -u | while read -r each; do
    case $(outcome_of "$each") in "$1"*) echo "$each" ;; esac
  done
}

# The summary without Python: the outcome of each part, and the paths of logs of failed parts.
short_summary() {
  printf '\nNo %s: this page lacks the times of models and kernels, memory and clocks; their files are in this folder\n' "$python"
  printf '\nParts\n'
  for ended in 'done' 'time is up' 'cut short' 'not run'; do
    names "$ended" | while read -r each; do echo "  $each: $ended"; done
  done
  names failed | while read -r each; do
    echo "  $each: $(outcome_of "$each" log)"
  done
}

summarize() {
  {
    echo "ddl-oracle on a GPU, $(date -u +%Y-%m-%d\ %H:%M) UTC, $(($(date +%s) - began)) s of this run"
    printf '\nThe machine (check.txt)\n'
    sed 's/^/  /' "$results/check.txt" 2>/dev/null
    if [ "$can_summarize" = yes ]; then
      "$python" "$here/summary.py" "$results" 2>&1
    else
      short_summary
    fi
    printf '\nWhat to do next\n'
    sed -n 's/^STOP */  - /p' "$results/check.txt" 2>/dev/null
    count=$(names failed | wc -l)
    [ "$count" -eq 0 ] || echo "  - $count failed: see the last lines of their output above, and the .log files named there; RETRY=yes runs them again"
    count=$(names 'time is up' | wc -l)
    [ "$count" -eq 0 ] || echo "  - $count ran out of their time: call this script again; parts other than profiles also need a larger PART_LIMIT and RETRY=yes"
    count=$( (names 'not begun' && names 'cut short') | wc -l)
    [ "$count" -eq 0 ] || echo "  - $count are still to do: call this script again with the same folder"
    echo "  - copy $results.tar.gz to your own machine before you give this machine back"
  } >"$results/summary.part"
  mv "$results/summary.part" "$results/summary.txt"
  cat "$results/summary.txt"
}

# finish CODE: writes summary and archive, and exits with CODE. It is called on every exit.
finish() {
  trap '' INT TERM HUP
  trap - EXIT
  # A signal may have arrived while the output was redirected to a part's file.
  exec 1>&3 2>&4
  if [ -n "$clocks" ]; then kill "$clocks" 2>/dev/null && wait "$clocks" 2>/dev/null; fi
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null && wait "$child" 2>/dev/null
    [ -z "$running" ] || record "$running" 'cut short' "$(($(date +%s) - start))" "${file##*/}"
  fi
  summarize
  archive
  say "results in $results and $results.tar.gz"
  exit "$1"
}

exec 3>&1 4>&2
runs=
resume=
child=
clocks=
tried=
running=
can_summarize=no
[ -s "$results/summary.csv" ] || echo 'part,outcome,seconds,file' >"$results/summary.csv"
trap 'finish 130' INT
trap 'finish 143' TERM HUP
trap 'finish $?' EXIT

! "$python" -c 'import json' >/dev/null 2>&1 || can_summarize=yes
say 'checking the machine'
{
  date -u
  uname -a
  hostname
  sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
  nvidia-smi
  nvidia-smi -q -d CLOCK,POWER,PERFORMANCE
  cat "$here/pack.txt"
} >"$results/machine.txt" 2>&1
BACKEND=$backend limited 180 "$here/check.sh" >"$results/check.part" 2>"$results/check.log"
mv "$results/check.part" "$results/check.txt"
if [ "$status" -ge 124 ]; then
  echo 'STOP  the check of the machine did not end within 180 s: the driver or a library hangs' >>"$results/check.txt"
fi
if ! grep -q '^runs:' "$results/check.txt" && ! grep -q '^STOP' "$results/check.txt"; then
  echo "STOP  the check itself failed: $(tail -n 1 "$results/check.log")" >>"$results/check.txt"
fi
cat "$results/check.txt"
runs=$(sed -n 's/^runs: *//p' "$results/check.txt")
if [ -z "$runs" ]; then
  say 'nothing can run here; check.txt lists the reasons'
  finish 2
fi
if ! can kernels; then
  for each in kernels contract profile sweep; do
    if wants "$each"; then record "$each" 'not run'; fi
  done
fi
if ! can pytorch; then
  for each in pytorch memory; do
    if wants "$each"; then record "$each" 'not run'; fi
  done
fi
"$program" backends >"$results/backends.txt" 2>&1
start_clocks
all_parts
if ! can kernels || [ -n "$(names failed)" ]; then finish 1; fi
finish 0
