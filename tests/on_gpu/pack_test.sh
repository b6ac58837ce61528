#!/bin/sh
# pack_test.sh CASE ON_GPU SCRATCH [PYTHON]: one case of the scripts of a pack (ON_GPU, their folder), in a pack of
# stand-ins: programs that record their arguments, an nvidia-smi, and a clock that only advances when a stand-in advances it.
# Without PYTHON, tests that need it are skipped.
set -u
case=$1
on_gpu=$2
scratch=$3
real_python=${4-}

fail() {
  echo "$case: $*" >&2
  for file in out check summary; do
    for each in "$scratch/$file" "$scratch/results/$file.txt"; do
      [ ! -f "$each" ] || { echo "--- $each" && cat "$each"; } >&2
    done
  done
  exit 1
}
has() { grep -qF -- "$2" "$1" || fail "$1 lacks '$2'"; }
lacks() { ! grep -qF -- "$2" "$1" || fail "$1 has '$2'"; }
is_there() { [ -e "$1" ] || fail "$1 is not there"; }
is_absent() { [ ! -e "$1" ] || fail "$1 is there"; }
equal() { [ "$1" = "$2" ] || fail "'$1' is not '$2'"; }

rm -rf "$scratch"
mkdir -p "$scratch/pack/bin" "$scratch/pack/programs" "$scratch/pack/lib/ddl-oracle" "$scratch/pack/models" "$scratch/stubs" "$scratch/system"
scratch=$(readlink -f "$scratch")
pack=$scratch/pack
results=$scratch/results
calls=$scratch/calls
: >"$calls"
echo 0 >"$scratch/clock"
for script in run.sh check.sh libraries.sh ranks.sh summary.py; do cp "$on_gpu/$script" "$pack"; done
cp "$on_gpu/launch.sh" "$pack/bin/launched"
for each in programs/ddl-oracle programs/contract_cuda programs/launched lib/ddl-oracle/backend-cuda.so step_time.py step_memory.py; do
  echo '#!/bin/sh' >"$pack/$each"
  chmod +x "$pack/$each"
done
echo 'echo "launched $*"' >>"$pack/programs/launched"
for model in resnet50 vgg16; do echo '{"name": "x", "input": [ 3, 224, 224 ], "layers": [{"inputs": ["a"], "input_shapes": [[1]]}]}' >"$pack/models/$model.json"; done
for model in gpt2 bert-large; do echo '{"name": "x", "input": [ 1, 1024 ], "layers": [{"input_shapes": [[3, 4, 5]]}]}' >"$pack/models/$model.json"; done
printf '{\n "name": "x",\n "input": [\n  4,\n  128, 128, 128 ]\n}\n' >"$pack/models/cosmoflow-128.json"
cat >"$pack/pack.txt" <<'END_OF_PACK'
cuda 13.0.88
architectures 75-virtual 80-real 90-real
glibc 2.34
glibcxx 3.4.30
base_glibc 2.36
END_OF_PACK

# A stand-in that takes the seconds of $TAKES, by the clock of this test.
cat >"$scratch/common" <<END_OF_STUB
takes() { [ "\${TAKES-0}" -eq 0 ] || echo \$((\$(cat "$scratch/clock") + TAKES)) >"$scratch/clock"; }
END_OF_STUB
stub() {
  { echo '#!/bin/sh' && cat "$scratch/common" && cat; } >"$1"
  chmod +x "$1"
}
stub "$scratch/stubs/date" <<END_OF_STUB
[ "\$*" = +%s ] || exec /bin/date "\$@"
cat "$scratch/clock"
END_OF_STUB
stub "$scratch/stubs/getconf" <<'END_OF_STUB'
echo "glibc ${GLIBC-2.36}"
END_OF_STUB
stub "$scratch/stubs/ldd" <<'END_OF_STUB'
echo '	linux-vdso.so.1 (0x00007ffd)'
for library in ${MISSING-}; do echo "	$library => not found"; done
END_OF_STUB
stub "$scratch/stubs/ldconfig" <<END_OF_STUB
for library in \${SYSTEM-libstdc++.so.6 libgcc_s.so.1}; do
  echo "	\$library (libc6) => $scratch/system/32/\$library"
  echo "	\$library (libc6,x86-64) => $scratch/system/\$library"
done
END_OF_STUB
stub "$scratch/stubs/nvidia-smi" <<END_OF_STUB
[ "\${SMI-}" != fails ] || { echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." && exit 9; }
gpu="0, NVIDIA H100 80GB HBM3, \${CAPABILITY-9.0}, 81559, \${USED-4}"
case "\$*" in
  -L) i=0 && while [ \$i -lt "\${GPUS-1}" ]; do echo "GPU \$i: NVIDIA H100 80GB HBM3 (UUID: GPU-\$i)" && i=\$((i + 1)); done ;;
  *driver_version*) echo "\${DRIVER-580.95.05}" ;;
  *compute_cap*) echo "\$gpu" ;;
  *mig.mode*) echo "0, \${MIG-Disabled}" ;;
  *query-compute-apps*) echo "\${OTHERS-}" ;;
  *lms*)
    echo \$\$ >"$scratch/clocks.pid"
    echo 'timestamp, index, clocks.current.sm [MHz], clocks.current.memory [MHz], power.draw [W], temperature.gpu, utilization.gpu [%], clocks_event_reasons.active'
    echo '2026/01/01 00:00:00.000, 0, 345, 2619, 70.00, 30, 0, 0x0000000000000001'
    echo '2026/01/01 00:00:00.500, 0, 1980, 2619, 500.00, 50, 99, 0x0000000000000000'
    echo '2026/01/01 00:00:01.000, 0, 1410, 2619, 700.00, 60, 99, 0x0000000000000004'
    exec sleep 1000
    ;;
  *) echo 'stub of nvidia-smi' ;;
esac
END_OF_STUB
stub "$pack/bin/ddl-oracle" <<END_OF_STUB
echo "ddl-oracle \${RANK:+rank \$RANK of \$WORLD_SIZE at \$MASTER_ADDR local \$LOCAL_RANK }\$*" >>"$calls"
case "\$*" in
  'backends --format csv')
    case \${BACKENDS-yes} in
      yes) echo 'cuda,true,NVIDIA H100 80GB HBM3,"compute capability 9.0",,' ;;
      simulated) echo 'simulated,true,simulated device,,,' ;;
      *) echo 'cuda,false,,,"CUDA: cudaErrorInsufficientDriver (CUDA driver version is insufficient)",' ;;
    esac
    exit 0
    ;;
  *--problem*)
    [ "\${KERNELS-}" != sticky ] || { echo 'error: cudaErrorIllegalAddress' >&2 && exit 2; }
    echo '{"rows": [{"problem": "fully_connected precision=bf16 pass=forward", "median_s": 0.0002, "algorithm": "cublaslt", "reason": ""}]}'
    ;;
  profile*)
    takes
    output=\$(echo "\$*" | sed 's/.*--output \\([^ ]*\\).*/\\1/')
    echo rows >>"\$output"
    [ "\${PROFILE-}" != hangs ] || exec sleep 1000
    if [ "\${PROFILE-}" = breaks ]; then
      # As long as one of two problems is among those to be measured.
      for each in 'attention heads=2 in=3' 'norm kind=batch in=4'; do
        case "\$*" in *"--leave-out \$each"*) continue ;; esac
        echo "error: running a kernel: the GPU is unusable: cudaErrorIllegalAddress, at: \$each" >&2
        echo "hint: earlier rows are kept: continue with --resume, or skip it with --leave-out '\$each'" >&2
        exit 2
      done
    fi
    samples=\$(echo "\$*" | sed 's/.*--batch \\([0-9]*\\).*/\\1/')
    echo "{\"sum_check\": [{\"samples\": \$samples, \"parts_s\": 0.033, \"whole_s\": 0.030, \"error\": 0.1}], \"left\": 0, \"slow_share\": 0,"
    echo '"refused": [{"problem": "attention x", "reason": "no engine at 0x12ab"}, {"problem": "attention y", "reason": "no engine at 0x77"}]}'
    ;;
esac
exit 0
END_OF_STUB
stub "$pack/bin/contract_cuda" <<END_OF_STUB
echo "contract_cuda \$*" >>"$calls"
case "\$*" in
  --list-test-names-only) printf 'it computes what the definitions say, in [both] layouts\\nit hangs\\nit steps optimizers\\n' && exit 3 ;;
  *hangs*) [ "\${CONTRACT-}" != hangs ] || exec sleep 1000 ;;
  *optimizers*) [ "\${CONTRACT-}" != fails ] || { echo 'kernel_contract.cpp:7: FAILED: weight[3]' && exit 1; } ;;
esac
[ "\${CONTRACT-}" != 'no GPU' ] || { echo 'not run, CUDA: cudaErrorNoDevice' && exit 77; }
takes
exit 0
END_OF_STUB
stub "$scratch/stubs/python3" <<END_OF_STUB
case "\$*" in
  *torch.version*)
    [ "\${TORCH-13.0}" != none ] || { echo "ModuleNotFoundError: No module named 'torch'" >&2 && exit 1; }
    echo "PyTorch 2.11.0 of CUDA \${TORCH-13.0} with cuDNN 91900" && echo 'NVIDIA H100 80GB HBM3'
    ;;
  *cudnnGetCudartVersion*) echo "\${CUDNN-13}" ;;
  *summary.py*) [ -z "$real_python" ] || exec "$real_python" "\$@" ;;
  *step_time.py*)
    echo "python3 \$*" >>"$calls"
    takes
    echo '{"step": {"median_s": 0.045}}'
    ;;
  *step_memory.py*)
    echo "python3 \$*" >>"$calls"
    echo 'model,batch,precision,memory_format,allocated_bytes,predicted_bytes,error,reserved_bytes,predicted_reserved_bytes,reserved_error,reason'
    echo 'resnet50,8,fp32,channels_last,1073741824,1181116006,+0.100,,,,'
    echo 'resnet50,32,fp32,,,,,,,,does not fit: out of memory'
    ;;
esac
exit 0
END_OF_STUB
printf 'GLIBCXX_3.4\nGLIBCXX_3.4.9\nGLIBCXX_3.4.33\n' >"$scratch/system/libstdc++.so.6"

PATH=$scratch/stubs:$PATH
PYTHONDONTWRITEBYTECODE=1
export PATH PYTHONDONTWRITEBYTECODE
unset LD_LIBRARY_PATH CUDA_HOME DDL_PACK_LIBRARIES BUDGET PART_LIMIT PARTS MODELS PRECISIONS BATCHES OPTIMIZER LIMIT PYTORCH MACHINE RETRY \
  PYTHON MOST

rehearsal=
# runs CODE VARIABLE=VALUE...: runs the script, with few models by default, and checks the exit code.
runs() {
  wanted=$1
  shift
  code=0
  env MODELS='resnet50 gpt2' PRECISIONS=bf16 BATCHES=8 "$@" "$pack/run.sh" $rehearsal "$results" >"$scratch/out" 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || fail "ended with $code, not $wanted"
  is_there "$results/summary.txt"
  is_there "$results.tar.gz"
}
# Names of the parts, in the order in which they were started.
begun() { sed -n '2,$s/^\([^,]*\),.*/\1/p' "$results/summary.csv" | tr '\n' ';'; }
outcome() { sed -n "s/^$1,\([^,]*\),.*/\1/p" "$results/summary.csv" | tail -n 1; }

case $case in
  the_most_telling_first)
    runs 0 PRECISIONS='bf16 fp32' BATCHES=8,2
    expected='kernel floor;kernel products;kernel memory;kernel convolution;kernel attention;'
    expected=$expected'contract it computes what the definitions say  in [both] layouts;contract it hangs;contract it steps optimizers;'
    expected=$expected'pytorch resnet50 bf16 8;profile resnet50 bf16 8;kernel products again;pytorch gpt2 bf16 8;profile gpt2 bf16 8;'
    expected=$expected'operators resnet50 bf16 16;memory resnet50;'
    case $(begun) in "$expected"*) ;; *) fail "begun: $(begun)" ;; esac
    case $(begun) in
      *'largest batch vgg16;sweep on 1 GPUs;pytorch resnet50 fp32 8;profile resnet50 fp32 8;pytorch gpt2 fp32 8;profile gpt2 fp32 8;pytorch resnet50 bf16 2;'*) ;;
      *) fail "begun: $(begun)" ;;
    esac
    # Finished parts are not repeated.
    cp "$results/summary.csv" "$scratch/before"
    : >"$calls"
    runs 0 PRECISIONS='bf16 fp32' BATCHES=8,2
    cmp -s "$scratch/before" "$results/summary.csv" || fail 'the second run did something again'
    lacks "$calls" profile
    lacks "$calls" step_time
    ;;

  a_rehearsal_runs_all_parts_without_a_gpu)
    runs 0
    begun >"$scratch/real"
    rm -rf "$results"
    : >"$calls"
    rehearsal=--rehearse
    printf '#!/bin/sh\nexit 9\n' >"$scratch/stubs/nvidia-smi"
    runs 0 BACKENDS=simulated CONTRACT='no GPU' TORCH=none MISSING='libcudnn.so.9 libnccl.so.2'
    has "$results/check.txt" 'note  libcudnn.so.9 is not found'
    equal "$(outcome 'contract it hangs')" 'not run'
    equal "$(outcome pytorch)" 'not run'
    equal "$(outcome 'simulated sweep')" 'done'
    lacks "$calls" 'backend cuda'
    rm -rf "$results"
    runs 0 BACKENDS=simulated CONTRACT='no GPU'
    has "$calls" 'step_time.py'
    lacks "$calls" '--device cuda'
    equal "$(begun | sed 's/memory of all models;simulated sweep;/GPU;/')" \
      "$(sed 's/memory resnet50;.*sweep on 1 GPUs;/GPU;/' "$scratch/real")"
    # A program that does not start stops the rehearsal.
    rm -rf "$results"
    runs 2 BACKENDS=no TORCH=none
    has "$results/check.txt" 'STOP  the program does not start'
    ;;

  channels_last_is_for_images)
    runs 0 PARTS='pytorch' MODELS='resnet50 gpt2 bert-large cosmoflow-128'
    equal "$(grep -c 'step_time.py.*channels-last' "$calls")" 3 # resnet50 twice, with its operators; cosmoflow-128
    has "$calls" 'models/cosmoflow-128.json --batch 8 --precision bf16 --optimizer momentum --device cuda --benchmark --channels-last'
    ! grep 'gpt2\|bert' "$calls" | grep -q channels-last || fail 'sequences have no channels that could be last'
    equal "$(grep -c 'gpt2.json' "$calls")" 1
    ;;

  an_unfinished_profile_is_resumed)
    runs 0 PARTS=profile MODELS=resnet50
    is_there "$results/resnet50-bf16-8.profile"
    # The previous part was done; this one is not.
    runs 0 PROFILE=hangs PART_LIMIT=1 PARTS=profile MODELS='resnet50 gpt2'
    equal "$(outcome 'profile gpt2 bf16 8')" 'time is up'
    is_there "$results/gpt2-bf16-8.profile.begun"
    is_absent "$results/gpt2-bf16-8.profile"
    # The time is up for all of them: existing results are unchanged.
    runs 0 TAKES=100 BUDGET=50 PARTS='profile pytorch' MODELS=gpt2
    equal "$(outcome 'pytorch gpt2 bf16 8')" 'done'
    is_absent "$results/gpt2-bf16-8.profile"
    : >"$calls"
    runs 0 PARTS=profile MODELS='resnet50 gpt2'
    has "$calls" 'gpt2-bf16-8.profile.begun --resume'
    is_there "$results/gpt2-bf16-8.profile"
    is_absent "$results/gpt2-bf16-8.profile.begun"
    ;;

  a_problem_that_breaks_the_gpu_is_left_out)
    runs 0 PROFILE=breaks PARTS=profile MODELS=resnet50
    equal "$(grep -c '^ddl-oracle profile resnet50' "$calls")" 3
    has "$calls" "--leave-out attention heads=2 in=3 --leave-out norm kind=batch in=4 --resume"
    is_there "$results/resnet50-bf16-8.profile"
    has "$results/resnet50-bf16-8.left-out" 'norm kind=batch in=4'
    ;;
  a_part_that_hangs_is_ended)
    runs 0 CONTRACT=hangs PART_LIMIT=1 PARTS=contract
    equal "$(outcome 'contract it hangs')" 'time is up'
    equal "$(outcome 'contract it steps optimizers')" 'done'
    has "$results/summary.txt" '1 ran out of their time'
    # It is not retried, unless requested.
    : >"$calls"
    runs 0 PARTS=contract
    lacks "$calls" 'contract_cuda it hangs'
    runs 0 RETRY=yes PARTS=contract
    equal "$(outcome 'contract it hangs')" 'done'
    ;;

  the_contract_is_not_done_where_it_did_not_run)
    runs 0 CONTRACT='no GPU' PARTS=contract
    equal "$(outcome 'contract it steps optimizers')" 'not run'
    is_absent "$results/contract-3-it-steps-optimizers.txt"
    lacks "$results/summary.csv" ',done'
    ;;

  the_contract_leaves_time_for_the_first_model)
    # Each part takes 200 s: two cases start within a quarter of 1000 s, the third after the first model.
    runs 0 BUDGET=1000 TAKES=200 PARTS='contract profile' MODELS=resnet50
    expected='contract it computes what the definitions say  in [both] layouts;contract it hangs;profile resnet50 bf16 8;'
    equal "$(begun)" "${expected}contract it steps optimizers;"
    equal "$(outcome 'contract it steps optimizers')" 'done'
    ;;

  names_of_cases_are_no_patterns)
    runs 0 PARTS=contract
    has "$calls" 'contract_cuda it computes what the definitions say\, in \[both\] layouts'
    ;;

  the_pack_has_its_own_libstdcxx_where_the_systems_is_older)
    for library in libstdc++.so.6 libgomp.so.1; do
      mkdir -p "$pack/lib/base/$library"
      : >"$pack/lib/base/$library/$library"
    done
    folders() { sh -c 'here=$1 && . "$1/libraries.sh" && echo "$libraries"' sh "$pack" | tr : '\n'; }
    chosen() { folders | sed -n 's,.*/lib/base/,,p' | tr '\n' ' '; }
    SYSTEM='libstdc++.so.6 libgomp.so.1'
    export SYSTEM
    equal "$(chosen)" ''
    # As in RHEL 8 and Ubuntu 20.04; compared as numbers, not as letters.
    printf 'GLIBCXX_3.4.9\nGLIBCXX_3.4.25\n' >"$scratch/system/libstdc++.so.6"
    equal "$(chosen)" 'libstdc++.so.6 '
    SYSTEM='libgomp.so.1'
    equal "$(chosen)" 'libstdc++.so.6 '
    equal "$("$pack/bin/launched" a b)" 'launched a b'
    # A missing library must not replace another one.
    printf 'GLIBCXX_3.4.30\n' >"$scratch/system/libstdc++.so.6"
    SYSTEM='libstdc++.so.6'
    equal "$(chosen)" 'libgomp.so.1 '
    mkdir -p "$scratch/toolkit/lib64"
    (export CUDA_HOME="$scratch/toolkit" LD_LIBRARY_PATH=/users/own && folders >"$scratch/folders")
    equal "$(sed -n 1p "$scratch/folders")" "$pack/lib"
    equal "$(sed -n 2p "$scratch/folders")" /users/own
    equal "$(sed -n 4p "$scratch/folders")" "$scratch/toolkit/lib64"
    # Its own dependencies are checked, too.
    SYSTEM='' GLIBC=2.35 "$pack/check.sh" >"$scratch/check"
    has "$scratch/check" "the pack's libstdc++ needs glibc 2.36, and here it is 2.35"
    ;;

  an_old_driver_is_named)
    runs 2 DRIVER=550.54.15 BACKENDS=no TORCH=none
    has "$results/check.txt" 'STOP  the driver is 550.54.15, and CUDA 13, which this pack was built with, needs 580.65.06 or newer'
    has "$results/check.txt" 'take a pack built with CUDA 12'
    has "$results/check.txt" cudaErrorInsufficientDriver
    has "$results/summary.txt" '- the driver is 550.54.15'
    lacks "$calls" profile
    # A CUDA compatibility package lets it run all the same.
    runs 0 DRIVER=550.54.15 PARTS=kernels
    has "$results/check.txt" 'yet the program starts'
    lacks "$results/check.txt" STOP
    runs 2 DRIVER=515.10 BACKENDS=no TORCH=none
    lacks "$results/check.txt" 'which runs with this driver'
    sed -i 's/^cuda .*/cuda 12.6.85/' "$pack/pack.txt"
    runs 0 DRIVER=550.54.15 CUDNN=12 PARTS=kernels
    has "$results/check.txt" 'ok    driver 550.54.15; the pack needs 525.60.13'
    ;;

  an_old_glibc_is_named)
    runs 2 GLIBC=2.31 TORCH=none
    has "$results/check.txt" "STOP  glibc is 2.31, and the pack's programs need 2.34"
    # PyTorch can still be timed, and the rest is reported.
    runs 1 GLIBC=2.31 PARTS='profile pytorch' MODELS=resnet50
    equal "$(outcome profile)" 'not run'
    equal "$(outcome 'pytorch resnet50 bf16 8')" 'done'
    ;;

  an_old_gpu_is_named)
    runs 2 CAPABILITY=7.0 TORCH=none BACKENDS=no
    has "$results/check.txt" "has compute capability 7.0, and the pack's kernels are for 75-virtual 80-real 90-real: take a pack built with CUDA 12"
    sed -i 's/^architectures .*/architectures 60-real 70-real 75-virtual 80-real 90-real/' "$pack/pack.txt"
    runs 0 CAPABILITY=7.0 PARTS=kernels
    runs 2 CAPABILITY=5.2 TORCH=none BACKENDS=no
    # Code that drivers compile runs on newer devices; machine code only on its own generation.
    runs 0 CAPABILITY=12.0 PARTS=kernels
    has "$results/check.txt" "the driver compiles the pack's kernels when they are first used"
    runs 0 CAPABILITY=8.9 PARTS=kernels
    has "$results/check.txt" 'ok    GPU 0: NVIDIA H100 80GB HBM3, compute capability 8.9'
    ;;

  missing_libraries_are_named)
    runs 1 MISSING='libcublasLt.so.13 libnccl.so.2' TORCH=12.6 BACKENDS=no PARTS='kernels sweep'
    has "$results/check.txt" 'STOP  libcublasLt.so.13 is not found: it comes with cuBLAS of CUDA 13'
    has "$results/check.txt" "pip install --target $pack/site 'nvidia-cublas==13.*'"
    has "$results/check.txt" 'PyTorch includes libraries of CUDA 12'
    # Without NCCL alone the rest runs.
    runs 0 MISSING=libnccl.so.2 PARTS='kernels sweep'
    has "$results/check.txt" 'runs: kernels pytorch'
    lacks "$calls" calibrate
    # cuDNN has the same name for both CUDAs.
    CUDNN=12 TORCH=none PARTS=kernels "$pack/check.sh" >"$scratch/check"
    has "$scratch/check" 'libcudnn.so.9 is for CUDA 12'
    MISSING=libcudnn.so.9 "$pack/bin/launched" >"$scratch/out" 2>&1 && fail 'it was launched'
    has "$scratch/out" 'error: launched needs libcudnn.so.9, which is not found here'
    has "$scratch/out" "hint: it comes with cuDNN 9 for CUDA 13"
    equal "$("$pack/bin/launched" a b)" 'launched a b'
    ;;

  a_machine_without_a_gpu_is_named)
    runs 2 SMI=fails TORCH=none
    has "$results/check.txt" "STOP  no GPU: nvidia-smi fails: NVIDIA-SMI has failed"
    runs 2 GPUS=0 TORCH=none
    has "$results/check.txt" 'STOP  no GPU: the driver is installed, but lists no GPU'
    lacks "$calls" 'profile'
    lacks "$calls" 'contract_cuda'
    has "$results/summary.txt" 'no GPU'
    ;;

  a_gpu_in_use_is_noted)
    runs 0 MIG=Enabled USED=4000 OTHERS='77, python, 3990 MiB' PARTS=kernels
    has "$results/check.txt" 'GPU 0 is divided (MIG)'
    has "$results/check.txt" '4000 MiB are in use before anything ran'
    has "$results/check.txt" 'another program is on a GPU: 77, python'
    ;;

  the_budget_is_kept)
    # 400 s are available, minus 15 for the end; each profile takes 150 s, and is not started with less than 60.
    runs 0 BUDGET=400 TAKES=150 PARTS=profile MODELS='resnet50 vgg16 gpt2 bert-large'
    equal "$(outcome 'profile resnet50 bf16 8') $(outcome 'profile vgg16 bf16 8')" 'done done'
    equal "$(outcome 'profile gpt2 bf16 8') $(outcome 'profile bert-large bf16 8')" 'done not begun'
    has "$results/summary.txt" '1 are still to do: call this script again with the same folder'
    runs 0 BUDGET=400 TAKES=150 PARTS=profile MODELS='resnet50 vgg16 gpt2 bert-large'
    equal "$(outcome 'profile bert-large bf16 8')" 'done'
    lacks "$results/summary.txt" 'still to do'
    ;;

  a_part_that_the_budget_cut_goes_on)
    # One second is left of the 16, in which no part of the contract is started.
    runs 0 BUDGET=16 PARTS=contract CONTRACT=hangs
    equal "$(outcome 'contract it hangs')" 'not begun'
    # If it were started, it would be interrupted; the next run starts it again, although its time was up.
    sed -i 's/ 120 20 / 120 1 /' "$pack/run.sh"
    runs 0 BUDGET=16 PARTS=contract CONTRACT=hangs
    equal "$(outcome 'contract it hangs')" 'cut short'
    has "$results/summary.txt" '1 are still to do'
    runs 0 PARTS=contract
    equal "$(outcome 'contract it hangs')" 'done'
    ;;

  a_failure_says_what_failed)
    runs 1 CONTRACT=fails KERNELS=sticky PARTS='kernels contract'
    equal "$(outcome 'contract it steps optimizers')" 'failed (1)'
    has "$results/summary.txt" 'kernel-floor.json.log'
    has "$results/summary.txt" '- 7 failed'
    [ -z "$real_python" ] || has "$results/summary.txt" 'cudaErrorIllegalAddress'
    [ -z "$real_python" ] || has "$results/summary.txt" 'FAILED: weight[3]'
    # It is left unchanged, and others are started.
    : >"$calls"
    runs 1 PARTS='kernels contract'
    lacks "$calls" problem
    runs 0 RETRY=yes PARTS='kernels contract'
    ;;

  the_summary_is_one_page)
    [ -n "$real_python" ] || exit 77
    runs 1 CONTRACT=fails
    for text in 'NVIDIA H100 80GB HBM3' 'driver 580.95.05' 'resnet50 bf16 8' '30 ms' '45 ms' '1.50' '+10.0 %' \
      '4 x in gpt2, resnet50: no engine at 0x12ab' 'the first: attention x' '2 of 3 cases passed' 'failed (1): it steps optimizers' \
      'product of 4096 x 4096 matrices, bf16: 0.2 ms, 687 TFLOP/s, +0.0 % later' 'clocks lowered in 50 % of the busy samples by: power cap' \
      'SM clock from 1410 to 1980 MHz' '1.00 GiB' '1.10 GiB' '+10.0 %' 'resnet50 fp32 32: does not fit: out of memory' 'What to do next'; do
      has "$results/summary.txt" "$text"
    done
    has "$scratch/out" 'What to do next'
    # Broken files are named, and the rest is present.
    echo '{' >"$results/resnet50-bf16-8.profile.json"
    echo '[]' >"$results/kernel-memory.json"
    runs 1
    has "$results/summary.txt" 'not read: resnet50-bf16-8.profile.json'
    has "$results/summary.txt" 'gpt2 bf16 8'
    ;;

  without_python_the_summary_says_what_it_lacks)
    rm "$scratch/stubs/python3"
    runs 1 PYTHON=no-python CONTRACT=fails
    has "$results/summary.txt" 'No no-python: this page lacks the times of models'
    has "$results/summary.txt" 'contract it steps optimizers: failed (1): see contract-3-it-steps-optimizers.txt.log'
    has "$results/summary.txt" 'profile resnet50 bf16 8: done'
    equal "$(outcome pytorch)" 'not run'
    ;;

  clocks_are_recorded_until_the_end)
    runs 0 PARTS=kernels
    has "$results/clocks.csv" '1980, 2619, 500.00'
    ! kill -0 "$(cat "$scratch/clocks.pid")" 2>/dev/null || fail 'nvidia-smi still runs'
    rm -r "$results" "$scratch/clocks.pid"
    # Interrupted in the middle: everything is archived as at the end.
    CONTRACT=hangs PARTS=contract MODELS=resnet50 "$pack/run.sh" "$results" >"$scratch/out" 2>&1 &
    script=$!
    tries=0
    until grep -q 'contract_cuda it hangs' "$calls" || [ "$tries" -gt 300 ]; do tries=$((tries + 1)) && sleep 0.1; done
    kill -TERM "$script"
    code=0
    wait "$script" || code=$?
    equal "$code" 143
    ! kill -0 "$(cat "$scratch/clocks.pid")" 2>/dev/null || fail 'nvidia-smi still runs'
    equal "$(outcome 'contract it hangs')" 'cut short'
    is_there "$results/summary.txt"
    has "$scratch/out" 'What to do next'
    is_there "$results.tar.gz"
    ;;

  the_archive_holds_to_its_bound)
    mkdir -p "$results"
    head -c 300000 /dev/urandom >"$results/large.log"
    runs 0 MOST=100000 PARTS=kernels
    [ "$(wc -c <"$results.tar.gz")" -le 100000 ] || fail 'the archive is too large'
    tar -tzf "$results.tar.gz" >"$scratch/listed"
    lacks "$scratch/listed" large.log
    has "$scratch/listed" ./summary.txt
    has "$scratch/listed" ./kernel-products.json
    has "$scratch/out" 'too large for the archive'
    ;;

  each_gpu_has_a_rank_of_the_sweep)
    runs 0 GPUS=2 PARTS=sweep
    has "$calls" 'ddl-oracle rank 0 of 2 at 127.0.0.1 local 0 calibrate live --nccl'
    has "$calls" 'ddl-oracle rank 1 of 2 at 127.0.0.1 local 1 calibrate live --nccl'
    rm -r "$results"
    : >"$calls"
    runs 0 PARTS=sweep
    lacks "$calls" 'ddl-oracle rank'
    has "$calls" 'ddl-oracle calibrate live --nccl'
    ;;

  wrong_arguments_are_refused)
    "$pack/run.sh" >"$scratch/out" 2>&1 && fail 'it ran without a folder'
    has "$scratch/out" 'usage: run.sh [--rehearse] RESULTS'
    BUDGET=long "$pack/run.sh" "$results" >"$scratch/out" 2>&1 && fail 'it took a word for seconds'
    has "$scratch/out" "BUDGET is a whole number, not 'long'"
    PARTS='kernels everything' "$pack/run.sh" "$results" >"$scratch/out" 2>&1 && fail 'it took any word for a part'
    has "$scratch/out" "there is no part 'everything'"
    PRECISIONS='bf16 fp8' "$pack/run.sh" "$results" >"$scratch/out" 2>&1 && fail 'it took any word for a precision'
    has "$scratch/out" "PRECISIONS has no 'fp8'"
    BATCHES=16,0 "$pack/run.sh" "$results" >"$scratch/out" 2>&1 && fail 'it took a batch of none'
    has "$scratch/out" "not '0'"
    LIMIT=abc "$pack/run.sh" "$results" >"$scratch/out" 2>&1 && fail 'it took a word for a limit'
    has "$scratch/out" "LIMIT is a number of seconds, not 'abc'"
    printf '#!/bin/sh\necho "check.sh: broken" >&2\nexit 1\n' >"$scratch/broken"
    mv "$pack/check.sh" "$scratch/check.sh"
    cp "$scratch/broken" "$pack/check.sh"
    chmod +x "$pack/check.sh"
    runs 2
    has "$results/summary.txt" '- the check itself failed: check.sh: broken'
    mv "$scratch/check.sh" "$pack"
    rm "$pack/pack.txt"
    runs 2
    has "$results/check.txt" 'pack.txt does not say'
    ;;

  *) fail 'no such case' ;;
esac
