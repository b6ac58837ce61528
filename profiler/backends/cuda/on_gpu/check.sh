#!/bin/sh
# Checks what the pack can use on this machine: driver, GPUs, libraries, PyTorch. Prints one finding per
# line. A line starts with `ok`, with `note` (a warning), or with `STOP` (what cannot run, and what to
# install). The last line, `runs:`, lists what can run: kernels, nccl, pytorch.
# The exit code is 2 if neither kernels nor PyTorch can run. With BACKEND=simulated, kernels need no GPU,
# and PyTorch runs on the processor.
set -u
here=$(dirname -- "$(readlink -f -- "$0")")
# shellcheck source-path=SCRIPTDIR source=libraries.sh
. "$here/libraries.sh"
backend=${BACKEND-cuda}
# Some containers have the driver's programs in this folder.
PATH=$PATH:/usr/local/nvidia/bin
python=${PYTHON-python3}
kernels=yes
nccl=yes
pytorch=yes
cuda=$(packed cuda)
if [ -z "$cuda" ]; then
  echo "STOP  $here/pack.txt does not say what this pack was built with: make the pack again with ./dev gpu-pack"
  exit 2
fi
major=${cuda%%.*}

ok() { echo "ok    $*"; }
note() { echo "note  $*"; }
stop() { echo "STOP  $*"; }
# lacking FINDING: something that only a GPU needs is missing.
lacking() { if [ "$backend" = cuda ]; then stop "$*"; else note "$*"; fi; }

ok "$(uname -srm), $(nproc 2>/dev/null || echo '?') processors; this pack: CUDA $cuda for $(packed architectures)"

# The minimum driver of a CUDA runtime: CUDA toolkit release notes, "CUDA Toolkit and minimum required driver version for
# CUDA minor version compatibility".
driver_for() {
  case $1 in
    11) echo 450.80.02 ;;
    12) echo 525.60.13 ;;
    *) echo 580.65.06 ;;
  esac
}

check_glibc() {
  known=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc //p')
  needed=$(packed glibc)
  if [ -z "$known" ]; then
    stop "this system has no glibc, but the pack's programs need glibc $needed or newer: use Debian 12, Ubuntu 22.04, RHEL 10 or newer"
    kernels=no
  elif [ -n "$needed" ] && is_older "$known" "$needed"; then
    stop "glibc is $known, and the pack's programs need $needed: use Debian 12, Ubuntu 22.04, RHEL 10 or newer, or a pack built on this system"
    kernels=no
  else
    ok "glibc $known; the pack needs $needed"
  fi
}

check_base() {
  chosen=$(own_base)
  [ -n "$chosen" ] || ok "libstdc++ and libgcc are the system's"
  echo "$chosen" | while read -r line; do
    [ -z "$line" ] || note "the pack's own ${line%%:*} is used: ${line#*: }"
  done
  needed=$(packed base_glibc)
  case $chosen in
    *libstdc++*)
      if [ -n "$known" ] && [ -n "$needed" ] && is_older "$known" "$needed"; then
        stop "the pack's libstdc++ needs glibc $needed, and here it is $known: install a newer libstdc++ from this system's packages, or use another system"
        kernels=no
      fi
      ;;
  esac
}

# query FIELDS: prints one comma-separated line per GPU; nothing if the driver lacks one of the fields.
query() {
  answer=$(nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits 2>/dev/null) || return 0
  case $answer in *'not a valid field'*) ;; *) echo "$answer" | sed 's/, /,/g' ;; esac
}

# compiled_for CAPABILITY: prints which of the pack's code runs on a compute capability such as 9.0:
# `real` for machine code, `compiled` for code that the driver compiles; nothing if none runs.
compiled_for() {
  wanted=$(echo "$1" | tr -d .)
  way=
  for architecture in $(packed architectures); do
    number=${architecture%%-*}
    number=${number%%[!0-9]*}
    [ "$number" -le "$wanted" ] || continue
    case $architecture in
      *-virtual) [ "$way" = real ] || way=compiled ;;
      *)
        # A number without `-real` or `-virtual` stands for both kinds of code.
        if [ $((number / 10)) -eq $((wanted / 10)) ]; then
          way=real
        elif [ "${architecture%-real}" = "$architecture" ] && [ -z "$way" ]; then
          way=compiled
        fi
        ;;
    esac
  done
  echo "$way"
}

check_gpus() {
  if ! command -v nvidia-smi >/dev/null 2>&1; then
    driver=$(grep -o '[0-9][0-9]*\.[0-9][0-9.]*' /proc/driver/nvidia/version 2>/dev/null | head -n 1)
    if [ -z "$driver" ]; then
      lacking "no GPU: there is no NVIDIA driver here, neither nvidia-smi nor /proc/driver/nvidia; start a container with the host's GPUs"
      return
    fi
    note "there is no nvidia-smi: clocks are not recorded, and other programs on the GPU are not detected"
  else
    if ! answer=$(nvidia-smi -L 2>&1); then
      lacking "no GPU: nvidia-smi fails: $(echo "$answer" | head -n 1)"
      return
    fi
    if [ -z "$answer" ] || case $answer in *'No devices'*) true ;; *) false ;; esac; then
      lacking "no GPU: the driver is installed, but lists no GPU"
      return
    fi
    driver=$(query driver_version | head -n 1)
  fi
  needed=$(driver_for "$major")
  if [ -n "$driver" ] && is_older "$driver" "$needed"; then
    old_driver="the driver is $driver, and CUDA $major, which this pack was built with, needs $needed or newer"
    if [ "$major" -ge 13 ] && ! is_older "$driver" "$(driver_for 12)"; then
      old_driver="$old_driver: install a newer driver, or take a pack built with CUDA 12, which runs with this driver"
    else
      old_driver="$old_driver: install a newer driver"
    fi
    for folder in /usr/local/cuda/compat /usr/local/cuda-"$major"*/compat; do
      [ ! -e "$folder/libcuda.so.1" ] ||
        old_driver="$old_driver; or try the installed compatibility package: LD_LIBRARY_PATH=$folder"
    done
  else
    ok "driver $driver; the pack needs $needed"
  fi

  gpus=yes
  ! command -v nvidia-smi >/dev/null 2>&1 || check_each_gpu
}

check_each_gpu() {
  some=
  query index,name,compute_cap,memory.total,memory.used >"$scratch"
  [ -s "$scratch" ] || query index,name >"$scratch"
  while IFS=, read -r index name capability total used; do
    [ -n "$name" ] || continue
    if [ -z "$capability" ]; then
      note "GPU $index: $name; this driver does not report the compute capability"
      some=yes
      continue
    fi
    case $(compiled_for "$capability") in
      real) ok "GPU $index: $name, compute capability $capability, $total MiB" && some=yes ;;
      compiled)
        note "GPU $index: $name, compute capability $capability, $total MiB: the driver compiles the pack's kernels when they are first used"
        some=yes
        ;;
      *)
        advice='no pack has kernels for a GPU of this age'
        [ "$major" -lt 13 ] || advice='take a pack built with CUDA 12, which has kernels for 6.x and 7.0, too'
        stop "GPU $index: $name has compute capability $capability, and the pack's kernels are for $(packed architectures): $advice"
        ;;
    esac
    case $used in
      '' | *[!0-9]*) ;;
      *) [ "$used" -le 1024 ] || note "GPU $index: $used MiB are in use before anything ran: times and largest batches are worthless while other programs use the GPU" ;;
    esac
  done <"$scratch"
  [ -n "$some" ] || kernels=no
  query index,mig.mode.current >"$scratch"
  while IFS=, read -r index mig; do
    [ "$mig" != Enabled ] || note "GPU $index is divided (MIG): times are those of one partition"
  done <"$scratch"
  others=$(nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv,noheader 2>/dev/null | head -n 5)
  [ -z "$others" ] || echo "$others" | while read -r line; do note "another program is on a GPU: $line"; done
}

check_libraries() {
  missing=$(missing_libraries "$here"/programs/* "$here"/lib/ddl-oracle/*.so)
  [ -n "$missing" ] || ok "all libraries of the pack's programs are found"
  for library in $missing; do
    lacking "$library is not found: it comes with $(comes_from "$library")"
    case $library in libnccl*) nccl=no ;; *) [ "$backend" != cuda ] || kernels=no ;; esac
  done
  [ -z "$missing" ] || note "searched folders: $libraries, and the system's library folders"
  case $missing in *libcudnn*) return ;; esac
  # Checks libraries that cuDNN opens itself.
  major_of_cudnn=$(LD_LIBRARY_PATH=$libraries "$python" -c 'import ctypes
print(ctypes.CDLL("libcudnn.so.9").cudnnGetCudartVersion() // 1000)' 2>/dev/null)
  if [ -n "$major_of_cudnn" ] && [ -n "$major" ] && [ "$major_of_cudnn" != "$major" ]; then
    lacking "libcudnn.so.9 is for CUDA $major_of_cudnn, but the pack is built with CUDA $major; install $(comes_from libcudnn)"
    [ "$backend" != cuda ] || kernels=no
  fi
  found=$(system_library "libnvrtc.so.$major")
  old_ifs=$IFS
  IFS=:
  for folder in $libraries; do [ -n "$found" ] || [ ! -e "$folder/libnvrtc.so.$major" ] || found=$folder; done
  IFS=$old_ifs
  [ -n "$found" ] || [ -n "$missing" ] ||
    note "libnvrtc.so.$major is not found, so cuDNN has no kernels for norms, pooling and attention: the library comes with $(comes_from libnvrtc)"
}

check_program() {
  answer=$("$here/bin/ddl-oracle" backends --format csv 2>&1)
  if [ "$backend" != cuda ]; then
    case $answer in
      *simulated,true,*) note 'this is a rehearsal: it tests the pack, and no GPU is measured' ;;
      *)
        stop "the program does not start: $(echo "$answer" | head -n 1)"
        kernels=no
        ;;
    esac
    return
  fi
  case $answer in
    *cuda,true,*)
      ok "the program finds $(echo "$answer" | sed -n 's/^cuda,true,"\{0,1\}\([^,"]*\).*/\1/p' | tr '\n' ' ')"
      [ -z "$old_driver" ] || note "$old_driver; yet the program starts, by a compatibility package"
      return
      ;;
  esac
  kernels=no
  nccl=no
  [ -z "$old_driver" ] || stop "$old_driver"
  line=$(echo "$answer" | grep '^cuda,' | head -n 1)
  stop "the program finds no GPU that it can use: ${line:-$(echo "$answer" | head -n 1)}"
}

check_pytorch() {
  if ! command -v "$python" >/dev/null 2>&1; then
    note "there is no $python: nothing is measured with PyTorch, and the summary is shorter"
    pytorch=no
    return
  fi
  answer=$("$python" -c 'import torch
print("PyTorch", torch.__version__, "of CUDA", torch.version.cuda, "with cuDNN", torch.backends.cudnn.version())
print(torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU")' 2>&1)
  device=$(echo "$answer" | tail -n 1)
  case $answer in
    PyTorch*'no GPU')
      if [ "$backend" != cuda ]; then
        ok "$(echo "$answer" | head -n 1), on the processor"
        return
      fi
      note "$(echo "$answer" | head -n 1): PyTorch finds no GPU, so nothing is measured with PyTorch"
      pytorch=no
      ;;
    *PyTorch*) ok "$(echo "$answer" | grep '^PyTorch' | head -n 1), on $device" ;;
    *)
      note "$python cannot import PyTorch ($device): nothing is measured with PyTorch"
      pytorch=no
      ;;
  esac
  of_torch=$(echo "$answer" | sed -n 's/^PyTorch .* of CUDA \([0-9]*\).*/\1/p')
  if [ -n "$of_torch" ] && [ "$of_torch" != "$major" ] && [ -n "$missing" ]; then
    note "PyTorch includes libraries of CUDA $of_torch: a pack built with CUDA $of_torch would find these libraries"
  fi
}

scratch=$(mktemp) || exit 2
trap 'rm -f "$scratch"' EXIT
gpus=
old_driver=
missing=
check_glibc
check_base
check_gpus
if [ "$backend" = cuda ] && [ -z "$gpus" ]; then
  kernels=no
  nccl=no
fi
check_libraries
if [ "$backend" != cuda ] || [ -n "$gpus" ]; then check_program; fi
check_pytorch
runs=
[ "$kernels" = no ] || runs="$runs kernels"
[ "$kernels" = no ] || { [ "$nccl" = no ] && [ "$backend" = cuda ]; } || runs="$runs nccl"
[ "$pytorch" = no ] || runs="$runs pytorch"
echo "runs:$runs"
case $runs in *kernels* | *pytorch*) exit 0 ;; *) exit 2 ;; esac
