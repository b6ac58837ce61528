#!/bin/sh
# whole_pack_test.sh SOURCE BUILD SCRATCH: packs the build, moves it elsewhere, and starts everything in an empty
# environment, with GPUs hidden: each program starts, and reports that there is no GPU.
set -u
source=$1
build=$2
scratch=$3
fail() {
  echo "$*" >&2
  exit 1
}
has() { grep -qF -- "$2" "$1" || fail "$1 lacks '$2': $(cat "$1")"; }

command -v objdump >/dev/null || exit 77
rm -rf "$scratch"
mkdir -p "$scratch/stubs"
"$source/dev" gpu-pack "$scratch/packed" "$build" 2>"$scratch/log" || fail "not packed: $(cat "$scratch/log")"
mv "$scratch/packed" "$scratch/elsewhere"
pack=$scratch/elsewhere
for file in run.sh check.sh step_time.py step_memory.py bin/ddl-oracle bin/contract_cuda programs/ddl-oracle lib/ddl-oracle/backend-cuda.so \
  models/resnet50.json models/swin_t.json models/convnext_tiny.json models/gpt2.json models/cosmoflow-128.json licenses/ddl-oracle.txt licenses/libraries.txt; do
  [ -s "$pack/$file" ] || fail "the pack lacks $file"
done
# The license of a library in the pack is included, if its package has it.
for library in fmt yaml-cpp stdc++; do
  for text in /usr/share/doc/lib"$library"[0-9]*/copyright /usr/share/doc/lib"$library"-dev/copyright /usr/share/doc/lib"$library"[0-9]-dev/copyright; do
    [ ! -e "$text" ] || cat "$pack"/licenses/lib"$library"*.txt >/dev/null 2>&1 || fail "the pack lacks the license of lib$library"
  done
done
grep -q '^cuda 1[2-9]\.[0-9.]*$' "$pack/pack.txt" || fail "pack.txt: $(cat "$pack/pack.txt")"
grep -q '^architectures .*90' "$pack/pack.txt" || fail "pack.txt: $(cat "$pack/pack.txt")"
grep -q '^glibc 2\.[0-9]*$' "$pack/pack.txt" || fail "pack.txt: $(cat "$pack/pack.txt")"
grep -q '^glibcxx 3\.4\.[0-9]*$' "$pack/pack.txt" || fail "pack.txt: $(cat "$pack/pack.txt")"

# A machine of which only the path of its programs is known.
printf '#!/bin/sh\necho "NVIDIA-SMI has failed because it could not talk to the driver."\nexit 9\n' >"$scratch/stubs/nvidia-smi"
chmod +x "$scratch/stubs/nvidia-smi"
alone() { (cd / && env -i PATH="$scratch/stubs:/usr/bin:/bin" CUDA_VISIBLE_DEVICES= PYTHON=no-python "$@"); }

alone "$pack/bin/ddl-oracle" backends >"$scratch/backends" 2>&1 || fail "ddl-oracle does not start: $(cat "$scratch/backends")"
grep -q '^cuda  *no' "$scratch/backends" || fail "backends: $(cat "$scratch/backends")"
has "$scratch/backends" 'cudaError'
status=0
alone "$pack/bin/contract_cuda" 'the cuda back end steps*' >"$scratch/contract" 2>&1 || status=$?
[ "$status" -eq 77 ] || fail "contract_cuda without a GPU ends with $status: $(cat "$scratch/contract")"
has "$scratch/contract" 'not run, '
alone "$pack/bin/contract_cuda" --list-test-names-only >"$scratch/cases" 2>&1
has "$scratch/cases" 'the cuda back end steps optimizers'
# Each name that the suite lists is used as a single case, with any characters.
while read -r case; do
  pattern=$(printf '%s' "$case" | sed 's/[][\\,*"~]/\\&/g')
  [ -z "$case" ] || [ "$(alone "$pack/bin/contract_cuda" --list-test-names-only "$pattern" 2>/dev/null | grep -c .)" -eq 1 ] ||
    fail "the pattern '$pattern' is not one case"
done <"$scratch/cases"
code=0
alone "$pack/run.sh" "$scratch/results" >"$scratch/out" 2>&1 || code=$?
[ "$code" -eq 2 ] || fail "run.sh ended with $code: $(cat "$scratch/out")"
has "$scratch/results/check.txt" 'STOP  no GPU: nvidia-smi fails'
has "$scratch/results/summary.txt" 'no GPU'

# Without a GPU and its libraries, a rehearsal measures a simulated device.
code=0
alone BUDGET=120 PARTS='kernels profile sweep' MODELS=resnet50 PRECISIONS=bf16 BATCHES=1 "$pack/run.sh" --rehearse "$scratch/rehearsal" >"$scratch/out" 2>&1 ||
  code=$?
[ "$code" -eq 0 ] || fail "the rehearsal ended with $code: $(cat "$scratch/out")"
for file in kernel-products.json resnet50-bf16-1.profile sweep-simulated.txt; do
  [ -s "$scratch/rehearsal/$file" ] || fail "the rehearsal lacks $file: $(cat "$scratch/out")"
done
